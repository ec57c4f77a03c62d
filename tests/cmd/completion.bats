#!/usr/bin/env bats
# scripts/completion.bash: what it offers for a made-up tool, for a real one, and how it is loaded.
# shellcheck disable=SC1091

load lib

setup()
{
	scratch
	PATH=$PWD/bin:$PATH
	mkdir bin d
	touch file-a file-b
	cat >bin/fake <<-'X'
		#!/bin/sh
		printf '%s\t%s\t%s\t%s\t%s\n' --dtype -d enum TYPE f32,f16,bf16 --output -o path FILE '' \
			--items -n size N '' --json '' flag '' '' --join '' flag '' ''
	X
	chmod +x bin/fake
	. "$ROOT/scripts/completion.bash" fake
}

# offers WANTED WORD...: what the last word may become, sorted, with spaces between. bash gives the
# words split at =.
offers()
{
	local wanted=$1 got

	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_nnutils "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' ')
	[ "$got" = "$wanted" ] || complain "for '$*': '$got', wanted '$wanted'"
}

@test 'option names; = after those that take an argument' {
	offers '--dtype= --items= --join --json --output=' fake -
	offers '--join --json' fake --j
	offers '--output=' fake --o
	offers '' fake --x
}

@test 'words of an enum' {
	offers 'bf16 f16 f32' fake --dtype = ''
	offers 'bf16 f16 f32' fake --dtype =
	offers 'f16 f32' fake --dtype = f
	offers 'f16 f32' fake --dtype f
	offers 'bf16' fake -d b
}

@test 'file names for a path and for operands, nothing for a number' {
	offers 'file-a file-b' fake --output = f
	offers 'file-a file-b' fake -o f
	offers '' fake --items = ''
	offers '' fake -n ''
	offers 'bin d file-a file-b' fake ''
	offers 'file-a file-b' fake --json f
	offers 'file-a file-b' fake file-a f
	offers '' fake -- --
}

@test 'an option whose letter is empty is not taken for an empty word' {
	offers 'bin d file-a file-b' fake x ''
}

@test 'a real tool' {
	for tool in "$BIN"/*; do
		offers --help "$tool" --hel
	done
}

@test 'under the name of a tool it registers that tool' {
	ln -s "$ROOT/scripts/completion.bash" some-tool
	. ./some-tool
	complete -p some-tool
	complete -p fake
}
