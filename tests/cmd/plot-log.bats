#!/usr/bin/env bats
# plot-log: pictures, plots of characters, logs that are cut or wrong, trouble

load lib

# log FILE STEPS LOSS: losses fall from LOSS to half of it
log()
{
	mkdir -p "$(dirname "$1")"
	awk -v n="$2" -v loss="$3" 'BEGIN {
		for (s = 1; s <= n; s++) {
			printf "{\"step\":%d,\"tokens\":%d,\"loss\":%.4f,\"lr\":%g,\"grad_norm\":%.3f,\"perf\":{\"tok_s\":%d}}\n",
				s, s * 512, loss * (1 - s / n / 2), 0.001 * s / n, 1 + s % 7 / 10, 20000 + s % 13
			if (s % 10 == 0)
				printf "{\"step\":%d,\"tokens\":%d,\"val_loss\":%.4f}\n", s, s * 512, loss * (1.1 - s / n / 2)
		}
	}' >"$1"
}

setup()
{
	scratch
	log run/log.jsonl 100 8
	log run2/log.jsonl 60 6
}

@test 'the examples of the man page' {
	man_examples plot-log
}

@test 'options are those of the man page' {
	options_match_man plot-log
}

@test 'pictures: a PNG and an SVG, the same bytes each time' {
	works plot-log -o one.png run run2
	works plot-log -o two.png run/ run2/
	same_bytes one.png two.png
	[ "$(head -c 4 one.png | od -An -tx1)" = ' 89 50 4e 47' ]
	works plot-log -o one.svg --log-x --log-y --by tokens run
	has one.svg '<svg' '</svg>'
	works plot-log -o other.png -s 0 run run2
	if cmp -s one.png other.png; then
		complain 'smoothing changes nothing'
	fi
}

@test 'the plot of characters' {
	# 8 until step 1, 0 from step 5 on, a straight line between: two steps are four rows and four columns and a half.
	printf '{"step":%d,"loss":%s}\n' 0 8 1 8 2 6 3 4 4 2 5 0 6 0 7 0 >ramp.jsonl
	works plot-log --text -s 0 --width 25 --height 11 ramp.jsonl
	cat >want <<-'END'
		ramp.jsonl  loss 0.0000
		      8 ┤▀▀▀▄
		      6 ┤    ▚
		        │     ▚
		      4 ┤      ▚▖
		        │       ▝▖
		      2 ┤        ▝▖
		        │         ▝▖
		      0 ┤          ▝▄▄▄▄▄
		        └┬──────────┬────
		         0          5  step
	END
	diff want "$out" >&2
	works plot-log --text run
	has "$out" 'run  loss 4.0000  validation (o) 4.8000, best 4.8000'
	works plot-log --text --width 60 run run2
	[ "$(wc -l <"$out")" = 40 ]
}

@test 'from a pipe, and by tokens' {
	plot-log --text --by tokens - <run/log.jsonl >got
	has got 'tokens' '50k'
}

@test 'a log that goes on: the cut line is passed over; in the middle it is not' {
	printf '{"step":101,"lo' >>run/log.jsonl
	works plot-log --text run
	printf '\n{"step":102,"loss":1}\n' >>run/log.jsonl
	refuses plot-log --text run
	one_line_error 'run/log.jsonl:111: '
}

@test 'a run that went back: its later steps replace the earlier ones' {
	printf '{"step":%d,"loss":%s}\n' 1 5 2 5 3 99 2 4 3 3 >back.jsonl
	works plot-log --text -s 0 back.jsonl
	lacks "$out" 99 100
	has "$out" 'loss 3.0000'
}

@test 'values that are no numbers are passed over' {
	printf '%s\n' '{"step":1,"loss":null,"val_loss":2}' '{"event":"x"}' '{"step":2,"loss":3,"perf":7}' >a.jsonl
	works plot-log --text a.jsonl
	has "$out" 'loss 3.0000  validation (o) 2.0000'
}

@test 'what cannot be drawn' {
	: >empty.jsonl
	refuses plot-log -o x.png empty.jsonl
	one_line_error 'empty.jsonl: no line has a step and a loss'
	refuses plot-log -o x.png nothing
	one_line_error 'nothing: No such file or directory'
	refuses plot-log -o x.jpg run
	one_line_error 'x.jpg: a picture' '.png or .svg'
	printf '{"step":1,"loss":-1}\n' >low.jsonl
	refuses plot-log --text --log-y low.jsonl
	one_line_error 'there is no loss to draw'
	[ ! -e x.png ]
	try plot-log run
	one_usage_line
	has "$err" '--output or --text is needed'
	try plot-log -s 1 --text run
	one_usage_line
}

@test 'a picture of one point' {
	printf '{"step":7,"loss":2.5}\n' >point.jsonl
	works plot-log -o point.png point.jsonl
	works plot-log -o point.svg --log-x --log-y point.jsonl
	works plot-log --text point.jsonl
}

@test 'names that would break a picture or a terminal' {
	local name=$'bad\033[2J\xff'

	cp -r run "$name"
	works plot-log -o x.png --text "$name"
	has "$out" '\x1b[2J\xff'
}

@test 'trouble with stdout and with the disk' {
	on_full_disk plot-log --text run
	closed_stdout plot-log --text run
	broken_pipe plot-log --text run
	each_fault write ENOSPC plot-log -o x.png run
}
