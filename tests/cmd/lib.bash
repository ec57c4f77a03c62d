# tests/cmd/lib.bash - what the bats files of the tools share
#
#	load lib
#	@test 'a good file' { try show-model good.gguf; [ "$status" = 0 ]; has "$out" 'q4_0'; }
#	@test 'a bad file'  { refuses show-model "$ROOT/fixtures/bad/x.gguf"; has "$err" 'byte 8'; }
#
# Each test starts in an empty folder of its own. ROOT is the tree, BUILD the build folder (from the
# environment, else build/), and BUILD/bin is first in PATH. `try` leaves the exit status in
# $status, and in $out and $err the names of the files that hold stdout and stderr.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
BIN=$BUILD/bin
MAN=${MAN:-$ROOT/man/man1}
SHIM=$BUILD/tests/shim/faults.so
PATH=$BIN:$PATH
export LC_ALL=C.UTF-8

# A test that has a setup of its own calls this from it.
scratch()
{
	mkdir -p "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	out=$BATS_TEST_TMPDIR/out
	err=$BATS_TEST_TMPDIR/err
	fault_log=$BATS_TEST_TMPDIR/faults
}

setup()
{
	scratch
}

# Fails the test with a message.
complain()
{
	printf '%s\n' "$*" >&2
	return 1
}

# Prints the start of a file, each line after a bar.
show()
{
	sed -n '1,20s/^/  | /p' "$1" >&2
}

# Fails the test, and shows the start of a file.
fail_showing()
{
	show "$1"
	return 1
}

# cannot_run LANE REASON, as in cannot_run peer 'no gguf package': skips, or fails if NNUTILS_REQUIRE
# lists the lane. For a test that has found out that it cannot run.
cannot_run()
{
	case ",${NNUTILS_REQUIRE-}," in
	*,"$1",*) complain "required by NNUTILS_REQUIRE: $1 $2" ;;
	*) skip "$1 $2" ;;
	esac
}

# --- running ---------------------------------------------------------------------------------

# try CMD [ARG...]: runs it; never fails itself.
try()
{
	status=0
	tool=${1##*/}
	"$@" >"$out" 2>"$err" || status=$?
}

# has FILE TEXT...: each TEXT stands somewhere in FILE, as it is.
has()
{
	local file=$1 text

	shift
	for text; do
		grep -qF -e "$text" "$file" && continue
		show "$file"
		complain "no \"$text\" in it"
		return 1
	done
}

# lacks FILE TEXT...: none does.
lacks()
{
	local file=$1 text

	shift
	for text; do
		grep -qF -e "$text" "$file" || continue
		show "$file"
		complain "\"$text\" is in it"
		return 1
	done
}

# After try: exit 0 and nothing on stderr.
worked()
{
	[ "$status" = 0 ] && [ ! -s "$err" ] && return
	show "$err"
	complain "$tool: exit status $status, wanted 0 and an empty stderr"
}

works()
{
	try "$@"
	worked
}

# After try: exit 2, and on stderr one line that starts with `tool: ` and holds no control
# characters and each TEXT given.
one_line_error()
{
	local lines

	lines=$(wc -l <"$err")
	if [ "$status" != 2 ] || [ "$lines" != 1 ]; then
		show "$err"
		complain "$tool: exit status $status, $lines lines on stderr; wanted 2 and 1"
		return 1
	fi
	if ! LC_ALL=C grep -qaE "^$tool: [^[:cntrl:]]+\$" "$err"; then
		show "$err"
		complain "$tool: the line does not start with '$tool: ', or holds control characters"
		return 1
	fi
	has "$err" "$@"
}

# refuses CMD [ARG...]: it ends with a one-line error.
refuses()
{
	try "$@"
	one_line_error
}

# After try: exit 2 and one `usage: tool …` line, perhaps after one that says what was wrong.
one_usage_line()
{
	if [ "$status" = 2 ] && grep -q "^usage: $tool" "$err" &&
		[ "$(grep -cv "^$tool: " "$err")" = 1 ] && [ "$(wc -l <"$err")" -le 2 ]; then
		return
	fi
	show "$err"
	complain "$tool: exit status $status; wanted 2 and one usage line"
}

# misused CMD [ARG...]: it tells how it is used.
misused()
{
	try "$@"
	one_usage_line || complain "in: $*"
}

same_bytes()
{
	cmp -- "$1" "$2" >&2
}

# --- trouble with stdout -----------------------------------------------------------------------

on_full_disk()
{
	status=0
	tool=${1##*/}
	"$@" >/dev/full 2>"$err" || status=$?
	one_line_error 'No space left on device'
}

closed_stdout()
{
	status=0
	tool=${1##*/}
	"$@" >&- 2>"$err" || status=$?
	one_line_error
}

# A pipe that nobody reads any more: the tool dies of SIGPIPE, without a word.
broken_pipe()
{
	local pipe=$BATS_TEST_TMPDIR/pipe

	rm -f "$pipe"
	mkfifo "$pipe"
	exec 8<>"$pipe"
	exec 9>"$pipe"
	exec 8>&-
	status=0
	tool=${1##*/}
	env --default-signal=PIPE "$@" >&9 2>"$err" 8>&- 9>&- || status=$?
	exec 9>&-
	[ "$status" = 141 ] && [ ! -s "$err" ] && return
	show "$err"
	complain "$tool: exit status $status, wanted death by SIGPIPE (141) and an empty stderr"
}

# --- faults (tests/shim/faults.c) ----------------------------------------------------------------

# A tool built with a sanitizer cannot be run so: both replace the same calls. For a test that sets
# LD_PRELOAD=$SHIM itself; with_fault does it.
needs_shim()
{
	[ -z "${NNUTILS_SANITIZED-}" ] || skip 'native: the fault shim does not go with a sanitizer'
}

# with_fault SPEC CMD [ARG...]: FAULT_PATH may be set too. `fault_came` tells whether one did.
with_fault()
{
	local spec=$1

	needs_shim

	shift
	tool=${1##*/}
	rm -f "$fault_log"
	FAULT=$spec FAULT_LOG=$fault_log LD_PRELOAD=$SHIM "$@"
}

fault_came()
{
	[ -s "$fault_log" ]
}

# each_kill NAME COMMAND...: stopped before what it writes has its NAME, a signal that can be caught leaves the folder as it
# was, and after one that cannot be there is nothing of that name.
each_kill()
{
	local name=$1 signal pid code before

	shift
	needs_shim
	before=$(ls -A)
	for signal in TERM INT HUP KILL; do
		env --default-signal=INT FAULT=fsync:1:stop FAULT_LOG="$fault_log" LD_PRELOAD="$SHIM" "$@" &
		pid=$!
		until [ "$(sed -E 's/.*\) //; s/ .*//' "/proc/$pid/stat")" = T ]; do sleep 0.02; done
		kill -"$signal" "$pid"
		kill -CONT "$pid" || [ "$signal" = KILL ]
		code=0
		wait "$pid" || code=$?
		[ "$code" = $((128 + $(kill -l "$signal"))) ] || complain "SIG$signal: exit status $code"
		[ ! -e "$name" ] || complain "SIG$signal left $name"
		[ "$signal" = KILL ] || [ "$(ls -A)" = "$before" ] || complain "SIG$signal left: $(ls -A)"
	done
}

# each_fault CALL WHAT CMD [ARG...]: WHAT at the first CALL, the second, ... until there is none
# left. Every run ends in success or in a one-line error; a function after_fault, where the test has
# one, looks at what a run left. Fails if no run met a fault.
each_fault()
{
	local call=$1 what=$2 n

	shift 2
	for ((n = 1; n <= 1000; n++)); do
		try with_fault "$call:$n:$what" "$@"
		fault_came || break
		if [ "$status" != 0 ] && ! one_line_error; then
			complain "with FAULT=$call:$n:$what"
			return 1
		fi
		if declare -F after_fault >/dev/null && ! after_fault; then
			complain "after FAULT=$call:$n:$what"
			return 1
		fi
	done
	[ "$n" -gt 1 ] || complain "$tool makes no call of $call"
}

# --- the man page ---------------------------------------------------------------------------------

# The literal lines of a page's EXAMPLES, a command or a line of output each; an empty line between
# displays.
example_lines()
{
	awk '
		/^\.S[hH] / { inside = /EXAMPLES/; next }
		!inside { next }
		/^\.(Dl|D1) / { sub(/^\.D[l1] +/, ""); print; print ""; next }
		/^\.(Bd|EX|nf)/ { literal = 1; next }
		/^\.(Ed|EE|fi)/ { literal = 0; print ""; next }
		literal && !/^\./
	' "$1" | sed 's/\\-/-/g; s/\\(aq/'\''/g; s/\\(dq/"/g; s/\\(ti/~/g; s/\\(ha/^/g; s/\\(ga/`/g
		s/\\&//g; s/\\e/\\/g'
}

# run_example COMMAND WANTED: exit 0, and where WANTED is not empty, that output. A line `...` in
# WANTED (`\&...` in the page) stands for any lines.
run_example()
{
	local got pattern code=0

	got=$(bash -e -o pipefail -c "$1" 2>"$err" </dev/null) || code=$?
	if [ "$code" != 0 ]; then
		show "$err"
		complain "example: $1: exit status $code"
		return 1
	fi
	[ -n "$2" ] || return 0
	pattern=$(printf '%s' "$2" | sed 's/[][*?\\]/\\&/g; s/^\.\.\.$/*/')
	# shellcheck disable=SC2053
	[[ $got == $pattern ]] && return
	complain "example: $1: prints"$'\n'"$got"$'\n'"and the page says"$'\n'"$2"
}

# Whether COMMAND is one that the shell would run, and not the first lines of one.
is_whole()
{
	[[ $1 != *\\ ]] && bash -n -c "$1" 2>/dev/null
}

# Runs the EXAMPLES of a tool's page, in order, in the present folder, where the test has put the files
# that they name. In a display with `$ ` lines those are the commands, and the others what they
# print; in one without, every line is a command, or as many lines as the shell takes for one.
man_examples()
{
	local line command='' wanted='' dollars='' more='' n=0

	while IFS= read -r line || [ -n "$line" ]; do
		if [ -n "$more" ]; then
			command+=$'\n'$line
		elif [[ $line == '$ '* ]] || { [ -z "$dollars" ] && [ -n "$line" ]; } || [ -z "$line" ]; then
			if [ -n "$command" ]; then
				run_example "$command" "$wanted" || return
				n=$((n + 1))
			fi
			wanted=
			[[ $line == '$ '* ]] && dollars=1
			[ -n "$line" ] || dollars=
			command=${line#\$ }
		else
			wanted+=${wanted:+$'\n'}$line
		fi
		more=
		[ -n "$wanted" ] || is_whole "$command" || more=1
	done < <(example_lines "$MAN/$1.1"; echo)
	[ "$n" -gt 0 ] || complain "man/man1/$1.1 has no example that could be run"
}

# Of the lines on stdin that start with BEFORE (a regular expression) and an option: its letter, its
# name, and = where it takes an argument.
list_options()
{
	sed -nE "s/^($1)-/-/p" |
		sed -nE 's/^(-([[:alnum:]]), *)?--([a-z0-9-]+)(\[?=)?.*/\2 \3 \4/p' | sort
}

# --help and the page name the same options: letters, names, and which take an argument (=).
options_match_man()
{
	local help=$BATS_TEST_TMPDIR/help page=$BATS_TEST_TMPDIR/page text=$BATS_TEST_TMPDIR/text indent

	"$1" --help | list_options '  (    )?' >"$help"
	mandoc -Tascii -Owidth=200 "$MAN/$1.1" | sed "s/.$(printf '\b')//g" >"$text"
	# Options stand where the body's text does; what is said of them stands deeper.
	indent=$(sed -nE 's/^( +)[^ ].*/\1/p' "$text" | sort | head -n1)
	list_options "$indent" <"$text" >"$page"
	[ -s "$help" ] || complain "$1 --help lists no options" || return
	diff --label "$1 --help" --label "man/man1/$1.1" -u "$help" "$page" >&2
}

# --- language models ------------------------------------------------------------------------------

# untrained_lm OPTIONS...: the folders `tok`, a small tokenizer, and `model`, of random weights that are always the same; for setup_file.
untrained_lm()
{
	cd "$BATS_FILE_TMPDIR" || return
	cat "$ROOT/README.md" "$MAN/eval-lm.1" >text
	train-tokenizer -q -v 400 --raw -o tok/ text
	init-lm -q -t tok --width 64 --ffn 96 --context 64 --seed 3 -o model "$@"
}
