#!/usr/bin/env bats
# decode --jsonl: requests in, answers out, in their order, the same alone and together

load lib

setup_file()
{
	load lib
	untrained_lm --layers 2 --heads 4 --kv-heads 2 --context 300
}

setup()
{
	scratch
	cp -r "$BATS_FILE_TMPDIR/model" "$BATS_FILE_TMPDIR/tok" .
}

# some N: N requests of uneven length.
some()
{
	local i

	for ((i = 0; i < $1; i++)); do
		printf '{"id": %d, "prompt": "%s the tokens of %d", "max_tokens": %d, "temperature": %d, "seed": %d, "x": [null, %d]}\n' \
			"$i" "$(printf 'word %.0s' $(seq $((i * 7 % 23))))" "$i" $((1 + i * 5 % 17)) $((i % 3)) "$i" "$i"
	done
}

@test 'a line for each request, in their order, with its fields' {
	some 12 >in
	works decode -q --jsonl -f in model
	[ "$(wc -l <"$out")" = 12 ]
	sed -n 's/^{"id":\([0-9]*\),.*"x":\[null, \([0-9]*\)\],"text":".*","finish_reason":"length","usage":{"prompt_tokens":[0-9]*,"completion_tokens":[0-9]*}}$/\1 \2/p' "$out" >got
	for i in $(seq 0 11); do echo "$i $i"; done >want
	same_bytes want got
	works decode -q --jsonl model <in
	cp "$out" again
	works decode -q --jsonl -f in model
	same_bytes again "$out"
}

@test 'the text of one request is that of -p' {
	works decode -q -n 12 --repetition-penalty 7 --penalty-last 0 -p 'the tokens of' model
	cp "$out" want
	[ "$(wc -c <want)" -gt 20 ]
	printf '{"prompt":"the tokens of"}\n{"prompt":"the","n":2}\n' >in
	works decode -q --jsonl -n 12 --repetition-penalty 7 --penalty-last 0 -f in model
	sed -n '1s/.*"text":"\(.*\)","finish_reason".*/\1/p' "$out" >text
	printf '%b\n' "$(cat text)" >got
	same_bytes want got
}

@test 'each line alone, four and sixteen at a time, on any number of threads: the very bytes' {
	some 24 >in
	while IFS= read -r line; do
		printf '%s\n' "$line" | decode -q --jsonl --logprobs 2 --parallel 1 -j 1 model
	done <in >alone
	for how in '-j 1 --parallel 4' '-j 2 --parallel 16' '-j 3 --parallel 5' '-j 2 --parallel 16 --batch-invariant'; do
		# shellcheck disable=SC2086
		works decode -q --jsonl --logprobs 2 $how -f in model
		same_bytes alone "$out"
	done
}

@test 'bad requests are told in their place, the others answered, and the exit status is 2' {
	printf '%s\n' '{"id":1,"prompt":"the"}' 'what?' '{"id":3,"prompt":"a","top_p":2}' '{"id":4}' \
		'{"id":5,"messages":[{"role":"user","content":"a"}]}' '{"id":6,"prompt":"the"}' >in
	try decode -q --jsonl -n 3 -f in model
	[ "$status" = 2 ]
	[ "$(grep -c '"finish_reason":"length"' "$out")" = 2 ]
	[ "$(grep -c '"finish_reason":"error","error":"in:[2345]: ' "$out")" = 4 ] || fail_showing "$out"
	[ "$(sed 's/{"id":\([0-9]\).*/\1/;s/{"finish.*/-/' "$out" | tr -d '\n')" = 1-3456 ]
	[ ! -s "$err" ] || fail_showing "$err"
}

@test 'one at a time, an answer comes before the next request is there' {
	local answer

	mkfifo to from
	decode -q --jsonl --parallel 1 -n 2 model <to >from &
	exec 7>to 8<from
	for i in 1 2 3; do
		printf '{"id":%d,"prompt":"the"}\n' "$i" >&7
		IFS= read -r -t 20 answer <&8
		case $answer in "{\"id\":$i,"*) ;; *) complain "$answer" ;; esac
	done
	exec 7>&- 8<&-
	wait "$!"
}

@test 'what does not fit is refused with what would' {
	some 2 >in
	refuses decode --jsonl --parallel 8 --ctx 300 --memory 400k -f in model
	has "$err" 'a cache of '
	has "$err" 'are allowed: '
	has "$err" '; --parallel and --ctx make it smaller'
}

@test 'a closed or full output is noticed' {
	some 2 >in
	closed_stdout decode -q --jsonl -f in model
	on_full_disk decode -q --jsonl -f in model
}

@test 'a reader that has gone away ends it' {
	some 4 >in
	broken_pipe decode -q --jsonl -f in model
}
