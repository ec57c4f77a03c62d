#!/usr/bin/env bats
# What holds for every tool, whatever it does: misuse, numbers, stdout that fails, files that are not there.

load lib

setup()
{
	scratch
	mapfile -t tools < <(cd "$BIN" && ls)
}

# The long names of a tool's options of one kind, a pattern.
options_of()
{
	"$1" --complete | awk -F '\t' -v kind="^($2)\$" '$3 ~ kind { print $1 }'
}

@test 'an option that is not there' {
	for tool in "${tools[@]}"; do
		misused "$tool" --no-such-option x y
		misused "$tool" -@ x y
		misused "$tool" --=x
	done
}

@test 'a slip in an option: the nearest is named' {
	for tool in "${tools[@]}"; do
		option=$("$tool" --complete | awk -F '\t' 'length($1) > 7 { print $1; exit }')
		[ -n "$option" ] || continue
		misused "$tool" "${option:0:4}${option:5:1}${option:4:1}${option:6}" x y # two letters change places
		has "$err" "the nearest is $option"
		misused "$tool" "${option:0:4}${option:5}=1" x y
		has "$err" "the nearest is $option"
		misused "$tool" --qqqqqqqqqq x y
		lacks "$err" nearest
	done
	misused decode --top x
	has "$err" "'--top' could be --top-k, --top-p, --top-n-sigma"
}

@test 'a text in the place of a model: said so' {
	yes 'no model is written like this' | head -c 1000 >text
	for command in show-model show-graph census 'train-lm -d x -o y' 'decode -p x' 'eval-lm -d x' score-lm 'make-golden -d x -o y' \
		'quantize --type q8_0 -o y' 'import-gguf -o y' 'diff-model text'; do
		read -ra words <<<"$command"
		try "${words[@]}" text
		[ "$status" = 2 ]
		has "$err" 'text: is neither a safetensors file nor a GGUF'
	done
	[ ! -e y ]
}

@test 'an option without its argument, and a flag with one' {
	for tool in "${tools[@]}"; do
		for option in $(options_of "$tool" 'text|path|size|int|real|ratio|enum|list'); do
			misused "$tool" "$option"
			has "$err" "$option needs an argument"
		done
		for option in $(options_of "$tool" flag); do
			misused "$tool" "$option=x"
		done
	done
}

# refuses_values TOOL KINDS VALUE...: every option of these kinds, and is named.
refuses_values()
{
	local tool=$1 kinds=$2 option value

	shift 2
	for option in $(options_of "$tool" "$kinds"); do
		for value; do
			misused "$tool" "$option=$value" x y || return
			has "$err" "$option" || return
		done
	done
}

@test 'numbers and words that are none: the option is named' {
	for tool in "${tools[@]}"; do
		refuses_values "$tool" 'size|int|real|ratio|enum' x '' 1x nan 0x10 '1 ' ' 1' 1,5
		refuses_values "$tool" 'size|int' 99999999999999999999999 1e30
		refuses_values "$tool" 'size' -1
		refuses_values "$tool" 'real|ratio' 1e999 inf
	done
}

@test 'no operand where one is needed' {
	for tool in "${tools[@]}"; do
		case $("$tool" --help | head -n1) in
		*'[options]' | *'[options] ['*) ;;
		*) misused "$tool" ;;
		esac
	done
}

@test 'files that are not there end in one line' {
	for tool in "${tools[@]}"; do
		for operands in none 'none none' 'none none none'; do
			# shellcheck disable=SC2086
			try "$tool" $operands
			one_usage_line 2>/dev/null || one_line_error 'none'
		done
		[ -z "$(ls -A)" ] || complain "$tool left: $(ls -A)"
	done
}

@test 'a name with a line break and escapes does not break the line' {
	for tool in "${tools[@]}"; do
		name=$'no\nsuch\e[31m'
		try "$tool" "$name"
		one_usage_line 2>/dev/null || one_line_error
		try "$tool" "$name" "$name"
		one_usage_line 2>/dev/null || one_line_error
	done
}

@test 'a full disk under stdout' {
	for tool in "${tools[@]}"; do
		for option in --help --version --complete; do
			on_full_disk "$tool" "$option"
		done
	done
}

@test 'a closed stdout' {
	for tool in "${tools[@]}"; do
		for option in --help --version --complete; do
			closed_stdout "$tool" "$option"
		done
	done
}

@test 'a pipe that nobody reads' {
	for tool in "${tools[@]}"; do
		broken_pipe "$tool" --help
		broken_pipe "$tool" --version
	done
}

@test 'closed stdin and stderr are no trouble' {
	for tool in "${tools[@]}"; do
		"$tool" --help <&- >/dev/null
		"$tool" --help 2>&- >/dev/null
	done
}

@test '--complete lists the options of --help' {
	for tool in "${tools[@]}"; do
		"$tool" --help | sed -nE 's/^  (-., |    )(--[a-z0-9-]+).*/\2/p' | sort >help
		"$tool" --complete | cut -f1 | sort >complete
		diff help complete
		"$tool" --complete | awk -F '\t' 'NF != 5 { print; bad = 1 } END { exit bad }'
	done
}
