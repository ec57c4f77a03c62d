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

@test 'the man page'\''s examples' {
	train-tokenizer -q -v 400 --raw --chat-template chatml -o chat/ "$BATS_FILE_TMPDIR/text"
	mkdir run
	init-lm -q -t chat -p nano --context 512 -o run/last
	export-gguf -q -o model.gguf run/last
	man_examples decode
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

@test 'keys and values of other types: the same text but for their rounding' {
	local type

	works decode -q -n 10 --logprobs 0 --cache-dtype f32 -p 'the tokens of a text' model
	cut -f 4 "$out" >exact
	for type in f16 bf16; do
		works decode -q -n 1 --logprobs 0 --cache-dtype $type -p 'the tokens of a text' model
		paste exact <(cut -f 4 "$out") | awk 'NR == 1 && ($1 - $2) ^ 2 > 1e-3 { exit 1 }'
	done
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

@test 'the context: what fits, what is refused and what to do (L11)' {
	local n

	said decode -n 0 --ignore-eos -p the model
	has "$err" 'the context is full'
	said decode -n 5 --ignore-eos -p the model
	has "$err" '5 tokens: as many as asked for' 'first token after'
	works tokenize -q -t tok --ids --raw - <<<'the tokens of a text'
	n=$(wc -w <"$out")
	# as long as the context: one token, which needs no room; longer: refused
	said decode -n 0 --ignore-eos --ctx "$n" -p $'the tokens of a text\n' model
	has "$err" '1 tokens: the context is full'
	refuses decode -q --ctx $((n - 1)) -p $'the tokens of a text\n' model
	one_line_error "a prompt of $n tokens; --ctx allows $((n - 1))" 'a longer --ctx' 'a shorter prompt'
	refuses decode -q -f "$BATS_FILE_TMPDIR/text" model
	one_line_error "the model's context is 64" 'a shorter prompt'
}

@test 'a full context is shifted when that is asked for; places go on' {
	works decode -q -n 100 --ctx 32 --context-shift --keep 4 --ignore-eos --logprobs 0 -p 'the tokens of' model
	[ "$(wc -l <"$out")" = 100 ]
	awk -F '\t' 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }' "$out"
	said decode -n 100 --ctx 32 --context-shift --ignore-eos -p 'the tokens of' model
	has "$err" 'the context was shifted 5 times'
	misused decode -q -n 100 --ctx 32 --context-shift --keep 31 -p the model
	works decode -q -n 10 --ignore-eos -p 'the tokens of' model
	cp "$out" plain
	works decode -q -n 10 --ctx 32 --context-shift --ignore-eos -p 'the tokens of' model
	same_bytes plain "$out"
}

@test 'a prompt cache: the same text, and what it had is not read again' {
	local prompt

	init-lm -q -t tok --width 64 --ffn 96 --context 512 --layers 2 --heads 4 --kv-heads 2 --seed 4 -o long
	prompt=$(head -c 700 "$BATS_FILE_TMPDIR/text")
	works decode -q -n 20 --temperature 1 -p "$prompt" long
	cp "$out" plain
	said decode -n 20 --temperature 1 --prompt-cache kept -p "$prompt" long
	same_bytes plain "$out"
	has "$err" 'kept: had 0 tokens'
	said decode -n 20 --temperature 1 --prompt-cache kept -p "$prompt" long
	same_bytes plain "$out"
	lacks "$err" 'kept: had 0 tokens'
	init-lm -q -t tok --width 64 --ffn 96 --context 512 --layers 2 --heads 4 --kv-heads 2 --seed 5 -o another
	refuses decode -q --prompt-cache kept -p "$prompt" another
	one_line_error kept
	refuses decode -q --prompt-cache kept --cache-dtype f32 -p "$prompt" long
	one_line_error kept
	misused decode --prompt-cache kept --chat long
}

@test 'every token that ends texts: the configuration, generation_config.json, the tokenizer (L09)' {
	local id

	sed -i -E 's/"eos_token_id": *[0-9]+/"eos_token_id": 100/' model/config.json
	printf '{"eos_token_id": [100, 101]}\n' >model/generation_config.json
	# Whichever of them is by far the most probable: nothing comes. Under --ignore-eos it never does.
	for id in 100 101; do
		said decode -n 40 --logit-bias "$id=1000" -p the model
		has "$err" '0 tokens: an end of text'
		works decode -q -n 40 --logprobs 0 --ignore-eos --logit-bias "$id=1000" -p the model
		[ "$(wc -l <"$out")" = 40 ]
		[ "$(cut -f 2 "$out" | grep -cx "$id")" = 0 ]
	done
	works decode -q -n 40 --logprobs 0 --logit-bias 102=1000 -p the model
	[ "$(cut -f 2 "$out" | sort -u)" = 102 ]
	printf '{"eos_token_id": "x"}\n' >model/generation_config.json
	refuses decode -q -p the model
	one_line_error generation_config.json eos_token_id
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
	misused decode -q -p x --chat model
	misused decode -q --step model
	misused decode -q -p x --system y model
	misused decode -q -p x --chat-template chatml model
	misused decode -q -p x
	refuses decode -q -p x --memory 1000 model
	one_line_error '1000 are allowed'
	try decode -q -t tok -p x "$ROOT/fixtures/good/lm/bert"
	[ "$status" = 2 ]
	has "$err" 'does not continue text'
	works decode -q -n 3 -p '' model
}

@test 'a closed or full output is noticed, a pipe that nobody reads kills' {
	closed_stdout decode -q -p the model
	on_full_disk decode -q -p the model
	on_full_disk decode -q --samples 3 -p the model
	broken_pipe decode -q -p the model
}

@test 'a prompt cache on a disk that is full or that fails: an error, and the one that was there is whole' {
	local prompt

	needs_shim
	init-lm -q -t tok --width 64 --ffn 96 --context 512 --layers 2 --heads 4 --kv-heads 2 --seed 4 -o long
	prompt=$(head -c 700 "$BATS_FILE_TMPDIR/text")
	works decode -q -n 2 --prompt-cache kept -p "${prompt:0:300}" long
	cp kept before
	after_fault()
	{
		[ "$status" = 2 ] || complain "status $status" || return
		# Whole before or whole after, and nothing beside it.
		[ "$(echo kept*)" = kept ] || complain "left: $(echo kept*)" || return
		works decode -q -n 2 --prompt-cache kept -p "${prompt:0:300}" long || return
		cp before kept
	}
	for fault in write:ENOSPC open:EACCES; do
		FAULT_PATH=kept each_fault ${fault/:/ } decode -q -n 2 --prompt-cache kept -p "$prompt" long
	done
}

# endless ARG...: decode on a text without an end, in the background with its output in `text`, until there is some; sets pid
endless()
{
	env --default-signal=INT,TERM decode -q -n 0 --ctx 32 --context-shift --ignore-eos --temperature 1 "$@" -p the model >text 2>"$err" &
	pid=$!
	for _ in {1..200}; do
		[ "$(wc -c <text)" -gt 40 ] && return
		sleep 0.05
	done
	complain 'no text'
}

# killed SIGNAL: the exit status of pid after that signal in $code; it has ten seconds to end.
killed()
{
	code=0
	kill "-$1" "$pid"
	for _ in {1..200}; do
		jobs -rp | grep -qx "$pid" || break
		sleep 0.05
	done
	if jobs -rp | grep -qx "$pid"; then
		kill -KILL "$pid"
		complain "goes on after SIG$1"
	fi
	wait "$pid" || code=$?
}

@test 'SIGINT and SIGTERM: what there is of the text is there, whole, and the tool dies of the signal' {
	local pid code

	for signal in INT TERM; do
		endless --stop 'never that'
		killed $signal
		[ "$code" = $((128 + $(kill -l $signal))) ] || complain "SIG$signal: $code"
		[ "$(tail -c1 text | od -An -c | tr -d ' ')" = '\n' ] || complain 'no line end'
		iconv -f utf-8 -t utf-8 text >/dev/null
	done
	endless --samples 1000000
	killed INT
	[ "$code" = 130 ] || complain "SIGINT among samples: $code"
}

@test 'a limit of memory is an error, not a crash' {
	local limit refused=0

	for limit in 12000 14000 16000 18000 24000; do
		# Where not even the libraries can start there is nothing to see.
		bash -c 'ulimit -v '$limit' && exec decode --version' >libraries 2>&1 || continue
		try bash -c 'ulimit -v '$limit' && exec decode -q -j 1 -n 5 -p the model'
		tool=decode
		[ "$status" = 0 ] || one_line_error memory || complain "at $limit kB"
		[ "$status" != 2 ] || refused=$((refused + 1))
	done
	[ "$refused" -gt 0 ] || [ -n "${NNUTILS_SANITIZED-}" ] || complain 'no limit was too low'
}
