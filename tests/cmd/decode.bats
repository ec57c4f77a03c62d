#!/usr/bin/env bats
# decode: the same text however it is asked for, stops, ends, logarithms, trouble

load lib

setup_file()
{
	load lib
	untrained_lm --layers 2 --heads 4 --kv-heads 2
}

setup()
{
	scratch
	cp -r "$BATS_FILE_TMPDIR/model" "$BATS_FILE_TMPDIR/tok" "$ROOT/fixtures/good/lm/llama" .
}

# said ARG...: it works, and has remarks on stderr.
said()
{
	try "$@"
	[ "$status" = 0 ] || complain "$(cat "$err")"
}

other()
{
	if cmp -s "$1" "$2"; then complain "$1 and $2 are the same"; fi
}

@test 'a prompt from the command line, a file and stdin' {
	printf 'the tokens' >prompt
	works decode -q -n 20 -p 'the tokens' model
	cp "$out" a
	[ "$(wc -c <a)" -gt 20 ]
	works decode -q -n 20 -f prompt model
	same_bytes a "$out"
	works decode -q -n 20 model <prompt
	same_bytes a "$out"
	works decode -q -n 20 --echo -f prompt model
	{ cat prompt a; } >b
	same_bytes b "$out"
}

@test 'threads and passes of the planner change no byte; ref writes the same' {
	works decode -q -n 20 -j 1 --temperature 1 -p 'the tokens' model
	cp "$out" a
	works decode -q -n 20 -j 3 --temperature 1 -p 'the tokens' model
	same_bytes a "$out"
	works decode -q -n 20 --without fold,merge,in-place,epilogue,reuse,segments --temperature 1 -p 'the tokens' model
	same_bytes a "$out"
	works decode -q -n 20 --device ref --temperature 1 -p 'the tokens' model
	same_bytes a "$out"
}

@test 'seeds draw other texts; of one token to draw from there is nothing to draw' {
	works decode -q -n 20 --temperature 2 -p the model
	cp "$out" a
	works decode -q -n 20 --temperature 2 --seed 1 -p the model
	other a "$out"
	works decode -q -n 20 -p the model
	cp "$out" greedy
	other a greedy
	works decode -q -n 20 --temperature 2 --top-k 1 -p the model
	same_bytes greedy "$out"
	works decode -q -n 20 --temperature 2 --top-p 0.000001 -p the model
	same_bytes greedy "$out"
	works decode -q -n 20 --temperature 2 --min-p 1 -p the model
	same_bytes greedy "$out"
	works decode -q -n 5 --temperature 2 -p the model
	head -c "$(($(wc -c <"$out") - 1))" "$out" >short
	head -c "$(wc -c <short)" a | cmp - short
}

@test 'stops: any part of the text, over the borders of tokens' {
	local text i stop

	works decode -q -n 30 --temperature 2 -p the model
	text=$(cat "$out")
	for i in 3 7 12 19; do
		stop=${text:i:3}
		works decode -q -n 30 --temperature 2 --stop "$stop" -p the model
		[ "$(cat "$out")" = "${text%%"$stop"*}" ]
	done
	said decode -n 30 --temperature 2 --stop nowhere --stop "${text:5:2}" -p the model
	[ "$(cat "$out")" = "${text%%"${text:5:2}"*}" ]
	has "$err" ': a stop'
	misused decode -p the --stop '' model
}

@test 'the context: what fits, what is refused' {
	said decode -n 0 --ignore-eos -p the model
	has "$err" 'the context is full'
	said decode -n 5 --ignore-eos -p the model
	has "$err" '5 tokens: as many as asked for' 'first token after'
	refuses decode -q --ctx 2 -p 'the tokens of a text that is long' model
	one_line_error '--ctx allows 2'
	refuses decode -q -f "$BATS_FILE_TMPDIR/text" model
	one_line_error "the model's context is 64"
}

@test 'an end of text ends it, unless it is told not to' {
	local eos at

	works decode -q -n 30 --logprobs 0 --ignore-eos --temperature 2 -p the model
	cp "$out" all
	# the first one from the sixth on that did not come before
	at=$(awk -F '\t' 'NR > 5 && !seen[$2] { print NR; exit } { seen[$2] = 1 }' all)
	eos=$(sed -n "${at}p" all | cut -f 2)
	head -n $((at - 1)) all >before
	sed -i -E 's/"eos_token_id": *[0-9]+/"eos_token_id": '"$eos"'/' model/*.json
	said decode -n 30 --logprobs 0 --temperature 2 -p the model
	same_bytes before "$out"
	has "$err" "$((at - 1)) tokens: an end of text"
	works decode -q -n 30 --logprobs 0 --ignore-eos --temperature 2 -p the model
	same_bytes all "$out"
}

@test 'logarithms: greedy takes the first, they are in order, and all of them sum to 1' {
	works decode -q -n 6 --ignore-eos --logprobs 400 -p the model
	[ "$(wc -l <"$out")" = 6 ]
	awk -F '\t' '{ s = 0
		for (i = 7; i <= NF; i += 3) { s += exp($i); if (i > 7 && $i > $(i - 3)) bad = 1 }
		if ($2 != $5 || $4 != $7 || (s - 1) ^ 2 > 1e-8 || NF != 4 + 3 * 400) bad = 1 }
		END { exit bad }' "$out"
	misused decode --echo --logprobs 1 -p the model
}

@test 'what a first-time user does' {
	refuses decode -q -p x llama
	one_line_error '-t FILE names a tokenizer'
	refuses decode -q -p x nowhere
	one_line_error nowhere
	refuses decode -q -f nowhere model
	one_line_error nowhere
	misused decode -q -p x -f y model
	misused decode -q -p x
	refuses decode -q -p x --memory 1000 model
	one_line_error '1000 are allowed'
	try decode -q -t tok -p x "$ROOT/fixtures/good/lm/bert"
	[ "$status" = 2 ]
	has "$err" 'does not continue text'
	works decode -q -n 3 -p '' model
}

@test 'a closed or full output is noticed' {
	closed_stdout decode -q -p the model
	on_full_disk decode -q -p the model
}
