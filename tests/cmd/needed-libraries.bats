#!/usr/bin/env bats
# Which libraries each tool is linked with: what is listed here, and none that it does not use.

load lib

setup()
{
	scratch
	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: a sanitizer adds libraries of its own'
	mapfile -t tools < <(cd "$BIN" && ls)
}

# What any tool may need. A tool that needs more has a line of its own in allowed().
common='libc libm libgomp libomp libxxhash libcjson ld-linux-x86-64 ld-linux-aarch64'

allowed()
{
	case $1 in
	cat-docs) echo "$common libarchive libz libzstd" ;;
	tokenize | detokenize | show-tokens | train-tokenizer | train-lm | init-lm | eval-lm | score-lm | compare-logits | make-golden | export-gguf | import-gguf | quantize) echo "$common libpcre2-8 libz" ;;
	decode) echo "$common libpcre2-8 libz libedit" ;;
	show-graph | plot-log) echo "$common libcairo" ;;
	*) echo "$common" ;;
	esac
}

@test 'no tool needs a library that it is not known to need' {
	for tool in "${tools[@]}"; do
		needed=$(readelf -d "$BIN/$tool" | sed -nE 's/.*\(NEEDED\).*\[([^]]*)\.so.*/\1/p')
		[ -n "$needed" ] || complain "$tool: readelf finds no library at all"
		for library in $needed; do
			case " $(allowed "$tool") " in
			*" $library "*) ;;
			*) complain "$tool needs $library" ;;
			esac
		done
	done
}

@test 'no tool is linked with a library that it does not use' {
	for tool in "${tools[@]}"; do
		unused=$(ldd -u -r "$BIN/$tool" | sed -n 's/^[[:space:]]\{1,\}\(\/.*\)/\1/p')
		[ -z "$unused" ] || complain "$tool: $unused"
	done
}

# The linker would take either of two, and say nothing.
@test 'no name is defined twice in the library' {
	nm -g --defined-only "$BIN/../libcore.a" | sed -nE 's/^[0-9a-f]+ [A-Z] //p' | sort >names
	[ -s names ] || complain 'nm finds no names'
	twice=$(uniq -d names)
	[ -z "$twice" ] || complain "twice: $twice"
}
