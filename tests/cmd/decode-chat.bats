#!/usr/bin/env bats
# decode --chat, --messages, --step: conversations and an outside chooser

load lib

setup_file()
{
	load lib
	cd "$BATS_FILE_TMPDIR" || return
	cat "$ROOT/README.md" "$MAN/eval-lm.1" >text
	train-tokenizer -q -v 400 --raw --chat-template chatml -o tok/ text
	init-lm -q -t tok --width 64 --ffn 96 --context 256 --layers 2 --heads 4 --kv-heads 2 --seed 3 -o model
}

setup()
{
	scratch
	cp -r "$BATS_FILE_TMPDIR/model" "$BATS_FILE_TMPDIR/tok" .
}

said()
{
	try "$@"
	[ "$status" = 0 ] || complain "$(cat "$err")"
}

# talk ARG...: a conversation of the lines on stdin, drawn so that answers have text
talk()
{
	said decode --chat -n 10 --temperature 1 "$@" model
}

@test 'a conversation: only what is new is read, and nothing is lost' {
	talk <<<$'hello\nand then?\nyes'
	[ "$(grep -c 'tokens read' "$err")" = 3 ]
	# What is held after an answer is what was held before, what was read and what was said; but the last token of an answer that was
	# cut is read with the next message.
	sed -nE 's/^decode: ([0-9]+) tokens read, ([0-9]+) said, ([0-9]+) of.*/\1 \2 \3/p' "$err" >counts
	awk '{ late = held + $1 + $2 - $3; if (late != 0 && late != 1) exit 1; held = $3 } END { exit NR != 3 }' counts
	# The third message is less than half of what there is then.
	awk 'NR == 3 && $1 * 2 > $3 { exit 1 }' counts
}

@test 'an answer is that of --messages; of a prompt that is told what it said' {
	talk <<<'hello there'
	cp "$out" chat
	printf '%s\n' '{"messages":[{"role":"user","content":"hello there"}]}' >one
	works decode -q --messages one -n 10 --temperature 1 model
	same_bytes chat "$out"
	works decode -q --messages - -n 10 --temperature 1 model <one
	same_bytes chat "$out"
	works decode -q --messages one --step=1 model <<<end
	# the place of the first token: as many as the template gives
	n=$(tokenize -q -t tok --messages --generation-prompt --ids one | wc -w)
	[ "$(cut -f 1 "$out")" = "$n" ]
}

@test 'lines: a backslash goes on, two slashes are one, empty ones are none' {
	talk <<<$'one\\\ntwo\n\n/save a.jsonl'
	[ "$(grep -c 'tokens read' "$err")" = 1 ]
	has a.jsonl '{"role":"user","content":"one\ntwo"}'
	talk <<<$'//help me\n/save a.jsonl'
	has a.jsonl '"content":"/help me"'
	talk <<<$'last\\'
	[ "$(grep -c 'tokens read' "$err")" = 1 ]
}

@test 'commands: help, reset, regen, save, quit' {
	talk --system 'be kind' <<<$'hello\n/save a.jsonl\n/regen\n/save b.jsonl\n/reset\n/save c.jsonl\n/quit\nnever'
	[ "$(grep -c 'tokens read' "$err")" = 2 ]
	has a.jsonl '{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hello"},{"role":"assistant","content":"'
	[ "$(wc -l <a.jsonl)" = 1 ]
	if cmp -s a.jsonl b.jsonl; then complain '/regen gave the same answer'; fi
	printf '%s\n' '{"messages":[{"role":"system","content":"be kind"}]}' | cmp - c.jsonl
	# what was saved goes on
	said decode --messages <(sed 's/]}$/,{"role":"user","content":"so?"}]}/' a.jsonl) -n 3 model
	talk <<<'/help'
	has "$out" '/regen' '/save FILE' '/quit'
	tool=decode
	try decode -q --chat model <<<'/nothing'
	one_line_error '/nothing is no command'
	try decode -q --chat model <<<'/regen'
	one_line_error 'no answer yet'
	try decode -q --chat model <<<$'/save /dev/full'
	one_line_error 'No space left'
}

@test 'no message is a special token (A22), and stops stop answers' {
	talk <<<$'hi<|im_end|>\n/save a.jsonl'
	has a.jsonl 'hi<|im_end|>'
	talk --stop e <<<$'hello\nand?'
	lacks "$out" e
}

@test 'a full context: told what to do, or the oldest turns go' {
	tool=decode
	try decode -q --chat --ctx 40 -n 10 --temperature 1 model <<<$'a few words to begin with\nmore words'
	one_line_error '/reset begins anew' '--context-shift forgets'
	talk --ctx 80 --context-shift <<<$'a few words to begin with\nmore words\nand more\nand more of them\n/save a.jsonl'
	[ "$(grep -c 'tokens read' "$err")" = 4 ]
	lacks a.jsonl 'to begin with'
	has a.jsonl 'and more of them'
}

@test 'templates: named, unknown ones refused by what they are, tokens that lack' {
	tool=decode
	try decode -q --chat --chat-template nothing model </dev/null
	one_usage_line
	try decode -q --chat --chat-template llama3 model </dev/null
	one_line_error 'the template llama3 needs the special token'
	sed -i 's/"chat_template": *"/&{# #}/' model/tokenizer_config.json
	try decode -q --chat model </dev/null
	one_line_error 'a chat template that is not known here' 'XXH3' '--chat-template'
	said decode -q --chat --chat-template chatml model </dev/null
	sed -i '/"chat_template"/d; s/\("add_eos[^,]*\),$/\1/' model/tokenizer_config.json
	printf '{"messages":[{"role":"user","content":"x"}]}\n{"messages":[]}\n' >two
	try decode -q --messages two --chat-template chatml model
	one_line_error 'two:2: a second conversation'
	try decode -q --messages /dev/null --chat-template chatml model
	one_line_error 'no conversation'
	printf '{"messages":[{"role":"robot","content":"x"}]}\n' >bad
	try decode -q --messages bad --chat-template chatml model
	one_line_error 'bad:1' robot
}

@test 'SIGINT stops an answer; the conversation goes on' {
	local pid

	mkfifo lines
	env --default-signal=INT decode --chat -n 0 --ctx 4000 --temperature 1 --ignore-eos model <lines >spoken 2>notes &
	pid=$!
	exec 7>lines
	echo hello >&7
	for _ in {1..200}; do
		[ "$(wc -c <spoken)" -gt 20 ] && break
		sleep 0.05
	done
	kill -INT $pid
	for _ in {1..200}; do
		grep -q interrupted notes && break
		sleep 0.05
	done
	has notes interrupted
	echo '/save a.jsonl' >&7
	echo '/quit' >&7
	exec 7>&-
	wait $pid
	has a.jsonl '"role":"assistant"'
}

@test 'a terminal: lines are edited, and called back' {
	command -v script >/dev/null || skip 'native: no script(1)'
	# hellp, backspace, o; then the line before once more (control-P)
	{ sleep 1; printf 'hellp\177o\r'; sleep 1; printf '\020\r'; sleep 1; printf '/save a.jsonl\r'; sleep 0.3; printf '/quit\r'; sleep 0.3; } |
		TERM=xterm HOME=. script -qec 'decode -q --chat -n 4 --temperature 1 model' /dev/null >"$out"
	has a.jsonl '"content":"hello"'
	[ "$(grep -o '"role":"user","content":"hello"' a.jsonl | wc -l)" = 2 ]
	has "$out" '> '
}

# --- an outside chooser ---------------------------------------------------------------------------

# The example of the page: the token in the column of $1, twelve times; lines that came go to `steps`.
chooser()
{
	local column=$1 i line fields

	exec 3>chosen
	for ((i = 0; i < 12; i++)); do
		IFS= read -r line
		printf '%s\n' "$line" >>steps
		IFS=$'\t' read -ra fields <<<"$line"
		printf '%s\n' "${fields[column]}" >&3
	done
	echo end >&3
	exec 3>&-
	cat >/dev/null
}

@test 'step: the largest each time is the greedy text' {
	works decode -q -n 12 --logprobs 0 --ignore-eos -p 'the tokens' model
	cut -f 1,2 "$out" >greedy
	mkfifo chosen
	timeout 60 decode -q --step=3 -p 'the tokens' model <chosen | chooser 1
	cut -f 1,2 steps | diff greedy - >&2
	[ "$(awk -F '\t' 'NF != 10 || $3 < $6 || $6 < $9' steps | wc -l)" = 0 ]
	rm steps
	timeout 60 decode -q --step=3 -p 'the tokens' model <chosen | chooser 4
	if cut -f 1,2 steps | cmp -s greedy -; then complain 'the second token each time is the greedy text'; fi
}

@test 'step: another token changes what comes, several go at once, npy' {
	mkfifo chosen
	works decode -q --step=2 -p the model <<<$'5 6 7\nend'
	[ "$(wc -l <"$out")" = 2 ]
	[ $(($(sed -n 2p "$out" | cut -f 1) - $(sed -n 1p "$out" | cut -f 1))) = 3 ]
	sed -n 2p "$out" >together
	works decode -q --step=2 -p the model <<<$'5\n6\n7\nend'
	tail -n 1 "$out" | cut -f 1,2,5 | diff <(cut -f 1,2,5 together) - >&2
	works decode -q --step=0 -p the model <<<end
	[ "$(tr '\t' '\n' <"$out" | wc -l)" = 1201 ]
	works decode -q --step=npy -p the model <<<$'5\nend'
	[ "$(wc -c <"$out")" = $((2 * (128 + 4 * 400))) ]
	head -c $((128 + 1600)) "$out" >one.npy
	[ "$(head -c 6 one.npy | tail -c 5)" = NUMPY ]
	grep -aq "'descr': '<f4'" one.npy
}

@test 'step: what is no choice is refused' {
	tool=decode
	try decode -q --step -p the model </dev/null
	one_line_error 'stdin ended without end'
	try decode -q --step -p the model <<<$'400\nend'
	one_line_error "stdin:1: '400'"
	try decode -q --step -p the model <<<$'5\nfive\nend'
	one_line_error "stdin:2: 'five'"
	try decode -q --step -p the model <<<$'\nend'
	one_line_error 'stdin:1: no id'
	try decode -q --step --ctx 4 -p the model <<<$'5 6 7 8 9\nend'
	one_line_error 'the context of 4 tokens is full'
	misused decode -q --step=many -p the model
	misused decode -q --step --temperature 1 -p the model
	misused decode -q --step --logit-bias 5=1 -p the model
	misused decode -q --step -n 5 -p the model
}
