#!/usr/bin/env bats
# score-lm: beside lm-evaluation-harness's definition over transformers in float64 (scripts/gen-fixtures-score); sums; trouble

load lib

setup()
{
	scratch
	cp -r "$ROOT/fixtures/good/score" model
	cp model/records.jsonl .
}

# flat FILE: what was found, a value a line, with the keys before them.
flat()
{
	sed -E 's/.*("logprobs":)/\1/; s/\}$//; s/("[a-z_]+":)/\n\1\n/g; s/[][,]/\n/g; s/true/1/g; s/false/0/g' "$1" | grep -v '^$'
}

# as GOLDEN: $out agrees with it, numbers to 1e-5 of their size.
as()
{
	flat "$out" >got
	flat <(sed 's/: /:/g; s/, /,/g' "$ROOT/fixtures/golden/score/$1") >want
	[ "$(wc -l <got)" = "$(wc -l <want)" ] || { diff want got >&2; return 1; }
	paste want got | awk -F '\t' '$1 ~ /^"/ ? $1 != $2 : ($1 - $2) ^ 2 > 1e-10 * (1 + $1 ^ 2) { print; bad = 1 } END { exit bad }' >&2
}

@test 'the examples of the man page' {
	man_examples score-lm
}

@test 'options are those of the man page' {
	options_match_man score-lm
}

@test 'log-probabilities, greedy tokens and answers are those of lm-evaluation-harness' {
	works score-lm -q model records.jsonl
	as off.jsonl
	works score-lm -q --bos on model <records.jsonl
	as on.jsonl
	works score-lm -q --bos off -j 3 model records.jsonl
	as off.jsonl
	works score-lm -q --batch-tokens 128 --without fold,segments model records.jsonl
	as off.jsonl
}

@test 'a context that is too long loses its front, and that is told' {
	try score-lm -q -c 50 model records.jsonl
	[ "$status" = 0 ]
	as short.jsonl
	has "$err" 'the context lost its front to fit into 50 tokens'
	refuses score-lm -q -c 20 model records.jsonl
	one_line_error 'records.jsonl:5: choice 1: 44 tokens' 'the context holds 20'
}

@test 'the same bits on any number of threads; alone a record has the same scores' {
	works score-lm -q -j 1 model records.jsonl
	cp "$out" one
	works score-lm -q -j 3 model records.jsonl
	same_bytes one "$out"
	while IFS= read -r line; do
		printf '%s\n' "$line" | score-lm -q model
	done <records.jsonl >"$out"
	as off.jsonl
}

@test 'fields are passed on as they were; earlier results are replaced' {
	works score-lm -q model records.jsonl
	has "$out" '{"id":"a","context":"The sky is","choices":[" blue", " green", " made of old cheese"],"gold":0,"logprobs":[' \
		'"doc":{"n": [1, 2.5]},"logprobs":'
	cp "$out" once
	works score-lm -q model once
	same_bytes once "$out"
}

@test 'the sums: shares and their standard errors' {
	works score-lm -q -s model records.jsonl
	# of golden/score/off.jsonl
	right=$(grep -c '"acc_norm": 1' "$ROOT/fixtures/golden/score/off.jsonl")
	awk -v right="$right" '{ n = $0; sub(/.*"acc_norm":/, "", n); e = n; sub(/.*"acc_norm_stderr":/, "", e)
		share = right / 7; d = n + 0 - share; f = e + 0 - sqrt(share * (1 - share) / 6); exit !(d * d < 1e-20 && f * f < 1e-20) }' "$out"
	has "$out" '{"records":10,"continuations":24,"cut":0,"judged":7,"acc":' '"completions":2,"greedy":'
	try score-lm model records.jsonl
	has "$err" '"judged":7'
}

@test 'what stands between, and greedy continuations' {
	printf '%s\n' '{"context":"The sky is","choices":["blue"],"gold":0}' >a
	printf '%s\n' '{"context":"The sky is","choices":[" blue"],"gold":0}' >b
	score-lm -q --between ' ' model a | sed 's/.*"logprobs"/"logprobs"/; s/,"bits.*//' >one
	score-lm -q model b | sed 's/.*"logprobs"/"logprobs"/; s/,"bits.*//' >two
	same_bytes one two
	# the best of all single characters is greedy
	printf '{"context":"The sky is","choices":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q","r","s","t","u","v"]}\n' >c
	works score-lm -q model c
	[ "$(grep -o true "$out" | wc -l)" -le 1 ]
}

@test 'records that are none' {
	local record

	while IFS='|' read -r record what; do
		printf '%s\n' '{"context":"a","choices":["b"]}' "$record" >bad
		try score-lm -q model bad
		one_line_error 'bad:2: ' "$what"
	done <<-'END'
		{"context":"a"}|neither choices nor completion
		{"choices":["a"]}|neither context nor prompt
		{"context":"a","prompt":"b","choices":["c"]}|context and prompt
		{"context":"a","completion":"b","choices":["c"]}|choices and completion
		{"context":"a","choices":[]}|no choices
		{"context":"a","choices":["b",""]}|choice 1: it has no token of its own
		{"context":"a","choices":["b"],"gold":1}|gold is 1, and there are 1 choices
		{"context":"a","choices":["b"],"gold":"c"}|gold is none of the choices
		{"context":"a","choices":["b"],"gold":-1}|byte
		{"context":1,"choices":["b"]}|byte
		[1]|byte
		{"context":"a","choices":["b"]|byte
	END
}

@test 'what a first-time user does' {
	refuses score-lm -q nowhere records.jsonl
	one_line_error nowhere
	refuses score-lm -q model nowhere
	one_line_error nowhere
	: >empty
	refuses score-lm -q model empty
	one_line_error 'no records'
	refuses score-lm -q "$ROOT/fixtures/good/lm/llama" records.jsonl
	one_line_error '-t FILE names a tokenizer'
	refuses score-lm -q -c 1000 model records.jsonl
	one_line_error 'the model has positions for 128'
	refuses score-lm -q --memory 1000 model records.jsonl
}

@test 'a closed or full output is noticed' {
	closed_stdout score-lm -q model records.jsonl
	on_full_disk score-lm -q model records.jsonl
}
