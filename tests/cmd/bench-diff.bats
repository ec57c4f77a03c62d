#!/usr/bin/env bats
# bench-diff: verdicts on made-up times, of files and of builds whose bench prints them

load lib

heading='op	case	dtype	operands	device	level	variant	threads	cache	runs	us	low	high	gflops	gbytes	bound	share	scratch	note'

# row OP US [LOW HIGH]
row()
{
	printf '%s\tc\tf32\t4x4\tcpu\tavx2\tv\t1\twarm\t5\t%s\t%s\t%s\t-\t-\t-\t-\t-\t-\n' "$1" "$2" "${3-$2}" "${4-$2}"
}

# file NAME ROW...: a file as bench writes it
file()
{
	local name=$1 line

	shift
	{
		echo '# bench ops'
		echo "$heading"
		for line; do
			# shellcheck disable=SC2086
			row $line
		done
	} >"$name"
}

# build NAME TIME...: a build whose bench prints one row, with the next of TIME at each call
build()
{
	local name=$1

	shift
	mkdir -p "$name/bin"
	file "$name/row" 'add TIME TIME TIME'
	printf '%s\n' "$@" >"$name/times"
	cat >"$name/bin/bench" <<-X
		#!/bin/sh
		echo "$name \$*" >>calls
		time=\$(sed -n 1p $name/times)
		sed -i '1{\$!d}' $name/times
		sed "s/TIME/\$time/g" $name/row
	X
	chmod +x "$name/bin/bench"
}

# says_no CMD...: exit status 1
says_no()
{
	try "$@"
	[ "$status" = 1 ] || { show "$err"; complain "exit status $status, wanted 1"; }
}

@test 'files: slower, faster, the same' {
	file a 'add 100' 'mul 100' 'sub 100' 'neg 100'
	file b 'add 120' 'mul 50' 'sub 103' 'exp 1'
	says_no bench-diff -q a b
	[ "$(sed -n 2p "$out")" = 'add c f32 4x4 cpu avx2 v 1 warm	100	120	1.200	1.200	1.200	slower' ]
	[ "$(sed -n 3p "$out")" = 'mul c f32 4x4 cpu avx2 v 1 warm	100	50	0.500	0.500	0.500	faster' ]
	[ "$(wc -l <"$out")" = 3 ]
	works bench-diff -q b a -t 100%
	says_no bench-diff -q -a a b
	[ "$(wc -l <"$out")" = 4 ]
	has "$out" 'sub c f32 4x4 cpu avx2 v 1 warm	100	103	1.030	1.030	1.030	same'
}

@test 'files: spreads that meet are parity' {
	file a 'add 100 90 125' 'mul 100 99 101'
	file b 'add 120 110 130' 'mul 120 119 121'
	says_no bench-diff -q a b
	has "$out" 'mul c'
	lacks "$out" 'add c'
	says_no bench-diff a b
	has "$err" '2 compared: 1 slower, 0 faster'
}

@test 'the threshold' {
	file a 'add 100'
	file b 'add 108'
	says_no bench-diff -q a b
	works bench-diff -q -t 10% a b
	says_no bench-diff -q -t 0.07 a b
}

@test 'builds run in turn, who is first changes, and arguments are passed on' {
	build a 100
	build b 100
	works bench-diff -q -n 3 a b -- ops -j1 add
	[ "$(paste -sd , calls)" = 'a ops -j1 add,b ops -j1 add,b ops -j1 add,a ops -j1 add,a ops -j1 add,b ops -j1 add' ]
	rm calls
	works bench-diff -q -n 1 a b
	[ "$(paste -sd , calls)" = 'a ops,b ops' ]
}

@test 'builds: the median of the ratios decides' {
	build a 100
	build b 120 121 122
	says_no bench-diff -q -n 3 a b
	has "$out" '100	121	1.210	1.200	1.220	slower'
}

@test 'what is undecided is measured again, and then called by the median' {
	build a 100
	build b 90 120 120 99 120 120 120 120 120 120 120 120
	says_no bench-diff -q -n 3 --again 3 a b
	# Of 12 ratios the spread leaves two out at each end.
	has "$out" '1.200	1.200	1.200	slower'
	[ "$(wc -l <calls)" = 24 ]
	rm calls
	build b 90 120 120
	works bench-diff -q -n 3 --again 0 a b
	[ "$(wc -l <calls)" = 6 ]
	build b 101 120 120
	says_no bench-diff -q -n 3 --again 0 a b
}

@test 'trouble' {
	file a 'add 100'
	file b 'mul 100'
	refuses bench-diff -q a b
	one_line_error 'nothing in a was measured in b too'
	echo x >bad
	refuses bench-diff a bad
	one_line_error 'bad:1: not the 19 columns'
	mkdir empty
	try bench-diff a empty
	one_usage_line
	try bench-diff a b c
	one_usage_line
	refuses bench-diff empty empty
	one_line_error 'empty/bin/bench'
	build c 100
	printf '#!/bin/sh\nexit 3\n' >empty-bench
	mkdir -p broken/bin
	install -m755 empty-bench broken/bin/bench
	refuses bench-diff c broken
	one_line_error 'broken/bin/bench: exit status 3'
	on_full_disk bench-diff -q -a c c
	closed_stdout bench-diff -q -a c c
}

@test 'the page: options and examples' {
	options_match_man bench-diff
	ln -s "$BUILD" old-build
	ln -s "$BUILD" build
	man_examples bench-diff
}
