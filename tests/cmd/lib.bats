#!/usr/bin/env bats
# The helpers of lib.bash catch tools that do wrong. The tools here are made up.
# shellcheck disable=SC2034,SC2154

load lib

setup()
{
	scratch
	PATH=$PWD:$PATH
	MAN=$PWD
	tool_that 'echo data'
}

# Makes `fake`, a shell script.
tool_that()
{
	printf '#!/bin/bash\n%s\n' "$1" >fake
	chmod +x fake
}

# The command fails, as it should.
not()
{
	! "$@" 2>"$BATS_TEST_TMPDIR/said"
}

@test 'works: wants exit 0 and a silent stderr' {
	works fake
	has "$out" data
	lacks "$out" other
	not has "$out" other
	not lacks "$out" data
	tool_that 'echo x >&2'
	not works fake
	tool_that 'exit 1'
	not works fake
}

@test 'refuses: wants exit 2 and one line that starts with the name' {
	tool_that 'echo "fake: a.gguf: byte 8: no" >&2; exit 2'
	refuses fake
	one_line_error 'byte 8'
	not one_line_error 'byte 9'
	tool_that 'echo "fake: no" >&2; exit 1'
	not refuses fake
	tool_that 'echo "fake: no" >&2; echo more >&2; exit 2'
	not refuses fake
	tool_that 'echo "other: no" >&2; exit 2'
	not refuses fake
	tool_that 'printf "fake: \\033[1m no\n" >&2; exit 2'
	not refuses fake
	tool_that 'exit 2'
	not refuses fake
	tool_that 'kill -SEGV $$'
	not refuses fake
}

@test 'one_usage_line: wants exit 2 and the usage' {
	tool_that 'echo "fake: no operand" >&2; echo "usage: fake [options] file" >&2; exit 2'
	try fake
	one_usage_line
	tool_that 'echo "usage: fake [options] file" >&2; exit 1'
	try fake
	not one_usage_line
	tool_that 'echo "fake: no operand" >&2; exit 2'
	try fake
	not one_usage_line
	tool_that 'seq 9 >&2; echo "usage: fake [options] file" >&2; exit 2'
	try fake
	not one_usage_line
}

@test 'on_full_disk: wants the failure of a write told' {
	tool_that 'echo data 2>/dev/null || { echo "fake: stdout: No space left on device" >&2; exit 2; }'
	on_full_disk fake
	tool_that 'echo data 2>/dev/null; exit 0'
	not on_full_disk fake
	tool_that 'echo data 2>/dev/null || { echo "fake: stdout: no" >&2; exit 2; }'
	not on_full_disk fake
}

@test 'closed_stdout: wants it told' {
	tool_that 'echo data 2>/dev/null || { echo "fake: stdout: Bad file descriptor" >&2; exit 2; }'
	closed_stdout fake
	tool_that 'echo data 2>/dev/null; exit 0'
	not closed_stdout fake
}

@test 'broken_pipe: wants death by SIGPIPE' {
	tool_that 'exec cat /bin/sh'
	broken_pipe fake
	tool_that 'trap "" PIPE; cat /bin/sh; exit 0'
	not broken_pipe fake
	tool_that 'trap "" PIPE; cat /bin/sh 2>/dev/null; exit 0'
	not broken_pipe fake
	tool_that 'exit 0'
	not broken_pipe fake
}

@test 'same_bytes' {
	echo a >a
	echo a >b
	same_bytes a b
	echo b >b
	not same_bytes a b
}

@test 'cannot_run: skips, or fails when it is required' {
	skip()
	{
		skipped=$1
	}
	skipped=
	NNUTILS_REQUIRE=gpu,peer not cannot_run peer 'gguf is not there'
	[ -z "$skipped" ]
	NNUTILS_REQUIRE=gpu cannot_run peer 'gguf is not there'
	[ "$skipped" = 'peer gguf is not there' ]
}

@test 'with_fault: the chosen call fails' {
	head -c 1000 /dev/zero >in
	try with_fault write:2:ENOSPC dd if=in of=out bs=100 status=none
	[ "$status" = 1 ]
	has "$err" 'No space left on device'
	[ "$(stat -c %s out)" = 100 ]
	fault_came
	try with_fault write:250b:EIO dd if=in of=out bs=100 status=none
	has "$err" 'Input/output error'
	[ "$(stat -c %s out)" = 250 ]
	try with_fault read:1+:short7 dd if=in of=out bs=100 status=none
	worked
	same_bytes in out
	fault_came
	try with_fault open:1:EMFILE,open:9:EIO dd if=in of=out status=none
	has "$err" 'Too many open files'
	FAULT_PATH=nothing/like/it try with_fault read:1:EIO dd if=in of=out status=none
	worked
	not fault_came
	try with_fault write:2:ENOSUCH dd if=in of=out status=none
	[ "$status" = 99 ]
}

@test 'each_fault: tries every call, and tells the one that goes wrong' {
	head -c 1000 /dev/zero >in
	# dd says two lines and exits 1: not what a tool of ours may do.
	not each_fault write EIO dd if=in of=out bs=500 status=none
	each_fault write short dd if=in of=out bs=100 status=none
	same_bytes in out
	not each_fault sendfile EIO dd if=in of=out bs=100 status=none
}

page()
{
	printf '.Dd January 1, 2026\n.Dt FAKE 1\n.Os\n.Sh NAME\n.Nm fake\n.Nd be made up\n%s\n' "$1" >fake.1
}

@test 'man_examples: runs each, and compares what the page shows' {
	page $'.Sh EXAMPLES\nText.\n.Dl fake >a\n.Bd -literal\n$ cat a\ndata\n$ echo 1 \\e\n2 | wc -c\n4\n.Ed\n.Bd -literal\necho b >b\necho c >>b\n.Ed\n.Sh BUGS\n.Dl false'
	man_examples fake
	[ "$(cat a)" = data ]
	[ "$(cat b)" = $'b\nc' ]
	page $'.Sh EXAMPLES\n.Bd -literal\n$ seq 5\n1\n\\&...\n5\n.Ed'
	man_examples fake
	page $'.Sh EXAMPLES\n.Bd -literal\n$ fake\nother\n.Ed'
	not man_examples fake
	page $'.Sh EXAMPLES\n.Dl false'
	not man_examples fake
	page $'.Sh EXAMPLES\n.Dl false | true'
	not man_examples fake
	page $'.Sh EXAMPLES\n.Dl true\n.Dl false'
	not man_examples fake
	page $'.Sh EXAMPLES\nNone.'
	not man_examples fake
}

help_with()
{
	tool_that "cat <<'X'
usage: fake [options] file
be made up

$1
X"
}

@test 'options_match_man: letters, names and arguments, both ways' {
	page $'.Sh DESCRIPTION\nText.\n.Bl -tag -width Ds\n.It Fl n , -items Ns = Ns Ar N\nTake\n.Fl -json .\n.It Fl -json\nPrint JSON.\n.El'
	help_with $'  -n, --items=N         take N\n      --json            print JSON'
	options_match_man fake
	help_with $'  -n, --items=N         take N'
	not options_match_man fake
	help_with $'  -n, --items=N         take N\n      --json            print JSON\n  -x, --extra           more'
	not options_match_man fake
	help_with $'  -m, --items=N         take N\n      --json            print JSON'
	not options_match_man fake
	help_with $'  -n, --items           take N\n      --json            print JSON'
	not options_match_man fake
	help_with ''
	not options_match_man fake
}
