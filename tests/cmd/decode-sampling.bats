#!/usr/bin/env bats
# decode: how a token is chosen: the steps, their order, biases, seeds, samples

load lib

setup_file()
{
	load lib
	untrained_lm --layers 2 --heads 4 --kv-heads 2
}

setup()
{
	scratch
	cp -r "$BATS_FILE_TMPDIR/model" "$BATS_FILE_TMPDIR/tok" .
}

# drawn ARG...: 20 tokens at temperature 2
drawn()
{
	works decode -q -n 20 --temperature 2 "$@" -p the model
}

other()
{
	if cmp -s "$1" "$2"; then complain "$1 and $2 are the same"; fi
}

@test 'seeds: the same text for the same one, another for another, whatever the threads (L12)' {
	drawn --seed 1 -j 1
	cp "$out" a
	drawn --seed 1 -j 8
	same_bytes a "$out"
	drawn --seed 2
	other a "$out"
	drawn
	cp "$out" c
	drawn --seed 0
	same_bytes c "$out"
	works decode -q -n 5 --temperature 2 -p the model
	head -c "$(($(wc -c <"$out") - 1))" "$out" >short
	head -c "$(wc -c <short)" c | cmp - short
}

@test 'of one token to draw from there is nothing to draw' {
	works decode -q -n 20 -p the model
	cp "$out" greedy
	drawn
	other greedy "$out"
	drawn --top-k 1
	same_bytes greedy "$out"
	drawn --top-p 0.000001
	same_bytes greedy "$out"
	drawn --min-p 1
	same_bytes greedy "$out"
	drawn --top-n-sigma 0.0001
	same_bytes greedy "$out"
}

@test 'top-k 0 is no cut (L03)' {
	drawn
	cp "$out" all
	drawn --top-k 0
	same_bytes all "$out"
	drawn --top-k 0 --samplers top-k,temperature
	same_bytes all "$out"
}

@test 'the steps are said in their order, and another order is another text' {
	try decode -n 5 -p the model
	has "$err" 'decode: sampling: greedy'
	try decode -n 5 --temperature 0.8 --min-p 0.1 --top-p 0.9 --top-k 40 --dry-multiplier 0.5 --frequency-penalty 0.25 --repetition-penalty 1.1 -p the model
	has "$err" 'sampling: penalties (repetition 1.1, frequency 0.25 of the last 64), dry (multiplier 0.5, base 1.75, allowed 2 of all), top-k 40, top-p 0.9, min-p 0.1, temperature 0.8'
	try decode -n 5 --samplers temperature,top-p --temperature 3 --top-p 0.5 -p the model
	has "$err" 'sampling: temperature 3, top-p 0.5'
	cp "$out" first
	try decode -n 5 --temperature 3 --top-p 0.5 -p the model
	has "$err" 'sampling: top-p 0.5, temperature 3'
	other first "$out"
	misused decode --samplers top_k -p the model
	has "$err" "'top_k' is not one of penalties"
	misused decode --samplers top-k,top-k -p the model
	misused decode --samplers top-k --top-p 0.5 -p the model
	has "$err" 'leaves out top-p'
}

@test 'biases: an id, a text that is one token, never; nothing left is an error (L08)' {
	local id ids

	works decode -q -n 1 --logprobs 1 -p the model
	read -r _ id _ <"$out"
	works decode -q -n 8 --logprobs 0 --logit-bias "$id=-inf" -p the model
	[ "$(cut -f 2 "$out" | grep -cx "$id")" = 0 ]
	works decode -q -n 8 --logprobs 0 --logit-bias '"e"=100' -p the model
	[ "$(cut -f 3 "$out" | sort -u)" = '"e"' ]
	works decode -q -n 8 --logprobs 0 --logit-bias e=100 -p the model
	[ "$(cut -f 3 "$out" | sort -u)" = '"e"' ]
	misused decode --logit-bias 'the tokens of a text=1' -p the model
	has "$err" 'name an id'
	misused decode --logit-bias 400000=1 -p the model
	misused decode --logit-bias the -p the model
	misused decode --logit-bias the=much -p the model
	mapfile -t ids < <(seq -f '--logit-bias=%.0f=-inf' 0 399)
	refuses decode -q "${ids[@]}" -p the model
	one_line_error 'no legal token'
	refuses decode -q --temperature 1 "${ids[@]}" -p the model
	one_line_error 'no legal token'
}

@test 'penalties: what came comes less' {
	works decode -q -n 40 --logprobs 0 --ignore-eos -p the model
	cut -f 2 "$out" | sort | uniq -d >often
	[ -s often ] || skip 'native: the model repeats nothing'
	works decode -q -n 40 --logprobs 0 --ignore-eos --presence-penalty 100 --penalty-last 0 -p the model
	[ -z "$(cut -f 2 "$out" | sort | uniq -d)" ]
	works decode -q -n 40 --logprobs 0 --ignore-eos --dry-multiplier 100 --dry-allowed-length 1 --dry-breaker '@@' -p the model
	# no pair of tokens comes twice
	[ -z "$(cut -f 2 "$out" | awk 'NR > 1 { print last, $0 } { last = $0 }' | sort | uniq -d)" ]
}

@test 'samples: the first is the text without the option, the others are others, all are labelled' {
	drawn
	cp "$out" one
	drawn --samples 3
	cp "$out" three
	{ echo '== sample 1 of 3 =='; cat one; } >want
	head -c "$(wc -c <want)" three | cmp - want
	[ "$(grep -c '^== sample [123] of 3 ==$' three)" = 3 ]
	[ "$(awk '/^== sample/ { n++; next } { text[n] = text[n] $0 "\n" } END { print (text[1] != text[2] && text[2] != text[3] && text[1] != text[3]) }' three)" = 1 ]
	drawn --samples 2
	head -c "$(wc -c <"$out")" three | sed 's/of 3 ==$/of 2 ==/' | cmp - "$out"
	works decode -q -n 20 --samples 2 -p the model
	[ "$(grep -v '^== sample' "$out" | sort | uniq -c | awk '$1 % 2' | wc -l)" = 0 ]
	misused decode --samples 2 --chat model
}
