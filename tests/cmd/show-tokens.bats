#!/usr/bin/env bats
# show-tokens: what each input shows, limits, statistics, the vocabulary read back, the page in a browser, trouble

load lib

setup()
{
	scratch
	good=$ROOT/fixtures/good/tokenizers
	cp "$good/byte-level.json" tokenizer.json
	t=(-t tokenizer.json)
	printf '%s\n' '{"text":"Hello w\u00f6rld"}' '{"text":""}' '{"text":"it is\n"}' >docs.jsonl
	tokenize -q -t tokenizer.json -o train.tokens docs.jsonl
	pack-tokens -q -o train.tok train.tokens
}

# show ARG...: with the tokenizer.
show_tokens()
{
	show-tokens -t tokenizer.json "$@"
}

# The columns of the present $out, without the headings.
columns()
{
	sed 1d "$out" | cut -f "$1" | tr '\n' ' '
}

@test 'text, documents, ids, a stream and a packed file show the same tokens' {
	works show_tokens --docs docs.jsonl
	cut -f 1-4,7- "$out" >docs
	[ "$(head -n 1 "$out")" = $'document\tposition\tid\tpiece\tfrom\tto\tkind\trole' ]
	works show_tokens train.tokens
	cut -f 1-4,7- "$out" | cmp - docs >&2
	# The packed file has a separator after each document.
	works show_tokens train.tok
	awk -F '\t' '$7 != "special"' "$out" | cut -f 1-4,7- | cmp - docs >&2
	tokenize -q -t tokenizer.json --ids docs.jsonl | grep . >ids
	works show_tokens --ids ids
	grep '^0' docs >first
	grep '^0' "$out" | cut -f 1-4,7- | cmp - first >&2
	works show_tokens --text 'Hello wörld'
	grep '^0' "$out" | cut -f 1-4,7- | cmp - first >&2
	printf 'Hello wörld' >text
	works show_tokens --raw text
	grep '^0' "$out" | cut -f 1-4,7- | cmp - first >&2
}

@test 'a pipe, and - for it' {
	show_tokens train.tokens >want
	show_tokens <train.tokens | cmp - want >&2
	# shellcheck disable=SC2002
	cat train.tokens | show_tokens - | cmp - want >&2
	show_tokens train.tok >want
	show_tokens - <train.tok | cmp - want >&2
}

@test 'offsets are those that tokenize gives, or places in what the tokens decode to' {
	works show_tokens --text 'aö b'
	[ "$(columns 4)" = '"a\xc3" "\xb6" " " "b" ' ]
	[ "$(columns 5)" = '0 1 3 4 ' ]
	[ "$(columns 6)" = '3 3 4 5 ' ]
	printf 'aö b' | tokenize -q -t tokenizer.json --raw --offsets >offsets
	[ "$(sed 's/.*"offsets"://' offsets)" = '[[0,3],[1,3],[3,4],[4,5]]}' ]
	printf 'aö b' | tokenize -q -t tokenizer.json --raw | show_tokens >"$out"
	[ "$(columns 5)" = '0 2 3 4 ' ]
	[ "$(columns 6)" = '2 3 4 5 ' ]
}

@test 'kinds and bytes' {
	works show_tokens --bytes --text 'b<|endoftext|>ö'
	[ "$(columns 7)" = 'normal special normal normal ' ]
	[ "$(columns 9)" = '62 3c7c656e646f66746578747c3e c3 b6 ' ]
	[ "$(columns 4)" = '"b" "<|endoftext|>" "\xc3" "\xb6" ' ]
	works show_tokens --special plain --text '<|endoftext|>'
	lacks "$out" special
	refuses show-tokens "${t[@]}" --special refuse --text '<|endoftext|>'
	has "$err" 'byte 0' '<|endoftext|>'
	works show-tokens -t "$good/spm-bpe.model" --bytes --text '😀'
	[ "$(columns 4,7,9 | tr '\t' ' ')" = '"▁" normal e29681 "<0xF0>" byte f0 "<0x9F>" byte 9f "<0x98>" byte 98 "<0x80>" byte 80 ' ]
	works show-tokens -t "$good/bert.json" --text '€'
	has "$out" $'"[UNK]"\t0\t3\tunknown'
	works show-tokens -t "$good/llama3.json" --post-process --text 'a'
	[ "$(columns 7)" = 'special normal ' ]
}

@test 'JSON lines' {
	works show_tokens --json --bytes --text 'bö'
	[ "$(sed -n 1p "$out")" = '{"document":0,"position":0,"id":66,"piece":"b","from":0,"to":1,"kind":"normal","bytes":"62"}' ]
	has "$out" '"piece_base64":"ww=="'
	[ "$(wc -l <"$out")" = 3 ]
}

@test 'documents, positions and limits' {
	works show_tokens --document 2 train.tokens
	[ "$(columns 4)" = '"it" " " "is" "\n" ' ]
	works show_tokens --document 2 --from 1 --to 3 train.tok
	[ "$(columns 1-4)" = $'2\t1\t221\t" " 2\t2\t305\t"is" ' ]
	[ "$(columns 5)" = '2 3 ' ]
	works show_tokens -n 13 train.tokens
	[ "$(columns 1)" = '0 0 0 0 0 0 0 0 0 0 0 0 2 ' ]
	works show_tokens --from 11 train.tokens
	[ "$(columns 1,4)" = $'0\t"d" ' ]
	works show_tokens --to 1 train.tokens
	[ "$(columns 1,4)" = $'0\t"H" 2\t"it" ' ]
	for file in train.tokens train.tok; do
		refuses show-tokens "${t[@]}" --document 3 $file
		has "$err" "$file" 'no document 3'
	done
}

@test 'running text' {
	works show_tokens --inline --text 'it is ö'
	[ "$(cat "$out")" = 'it| |is| |ö|\xb6' ]
	works show_tokens --inline train.tokens
	has "$out" 'document 0: 12 tokens, 12 bytes' 'document 1: 0 tokens, 0 bytes' 'it| |is|⏎'
	printf 'x\033[31m\342\200\256y' >hostile
	works show_tokens --raw --inline hostile
	[ "$(cat "$out")" = 'x|\x1b|[|3|1|m|\xe2\x80\xae|\x80|\xae|y' ]
}

@test 'colors: when asked for, on a terminal, and not under NO_COLOR' {
	works show_tokens --inline --text a
	lacks "$out" $'\033'
	works show_tokens --inline --color always --text a
	has "$out" $'\033[38;5;16;48;5;153ma\033[0m'
	command -v script >/dev/null || skip 'tools: no script(1)'
	command="$BIN/show-tokens -t tokenizer.json --text ab"
	TERM=xterm script -qec "$command" /dev/null >typed
	has typed 'document 0: 2 tokens, 2 bytes' $'\033[38;5;16;48;5;153m"a"\033[0m'
	NO_COLOR=1 TERM=xterm script -qec "$command" /dev/null >typed
	has typed '"a"'
	lacks typed $'\033'
	NO_COLOR='' TERM=xterm script -qec "$command" /dev/null >typed
	has typed $'\033['
	TERM=dumb script -qec "$command" /dev/null >typed
	lacks typed $'\033'
	TERM=xterm script -qec "$command --color never" /dev/null >typed
	lacks typed $'\033'
}

@test 'statistics are the same of text and of its tokens, and add up' {
	works show_tokens --stats --json --docs "$ROOT/fixtures/good/text/hard.jsonl"
	sed 's/,"most_used.*//' "$out" >want
	tokenize -q -t tokenizer.json --special parse "$ROOT/fixtures/good/text/hard.jsonl" >hard
	works show_tokens --stats --json hard
	sed 's/,"most_used.*//' "$out" | cmp - want >&2
	[ "$(sed -E 's/.*"tokens":([0-9]+).*/\1/' want)" = "$(show_tokens hard | sed 1d | wc -l)" ]
	works show_tokens --stats --top 2 train.tok
	has "$out" 'documents           3' 'tokens              16' 'bytes               18' 'words               4' 'tokens by their bytes'
	[ "$(sed '1,/most used/d' "$out" | wc -l)" = 2 ]
	works show_tokens --stats --ids - <<<'40 69'
	has "$out" 'tokens              2' 'vocabulary used     2 (0.625 %)' 'never used          318'
}

@test 'the vocabulary: all of it, and read back (A25)' {
	works show_tokens --vocab
	[ "$(sed 1d "$out" | cut -f 1 | tr '\n' ' ')" = "$(seq -s ' ' 0 319) " ]
	# Each line's bytes in hexadecimal are those of its C string.
	sed 1d "$out" | while IFS=$'\t' read -r _ _ _ hex text _; do
		text=${text#\"}
		text=${text%\"}
		[ "$(printf '%b' "${text//\\\"/\"}" | od -An -v -tx1 | tr -d ' \n')" = "$hex" ] || complain "$hex: $text"
	done
	works show-tokens -t "$good/spm-unigram.model" --vocab
	has "$out" $'5\tnormal\t-2.8531711101531982\te29681746865\t"▁the"\t"▁the"'
	works show_tokens --vocab --find '|end'
	[ "$(columns 1)" = '0 ' ]
	works show_tokens --vocab --json --find ö
	[ ! -s "$out" ]
}

@test 'a page, and how much of the input it has' {
	works show_tokens --html --docs docs.jsonl
	has "$out" '<!doctype html>' '<title>Tokens of docs.jsonl</title>' 'Document 2' '<dt>tokens</dt><dd>16</dd>'
	lacks "$out" 'goes on' '<script'
	works show_tokens --html -n 3 train.tok
	has "$out" 'its first 3 tokens are shown' '<dt>tokens</dt><dd>3</dd>'
	works show_tokens --html -n 16 --docs docs.jsonl
	lacks "$out" 'goes on'
	yes '{"text":""}' | head -n 30 >empty
	works show_tokens --html -n 4 --docs empty
	[ "$(grep -c '<section>' "$out")" = 4 ]
	yes 'it is so' | head -n 5000 >long
	works show_tokens --html --raw long
	has "$out" 'its first 20,000 tokens are shown'
	show_tokens --html --raw long | cmp - "$out" >&2
}

@test 'a page in a browser, light and dark' {
	local browser

	browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
		cannot_run browser 'no chromium (scripts/install-deps check-slow installs it)'
	printf '{"text":"Hello <script>alert(1)</script> w\\u00f6rld \\u202e \\u0000 <|endoftext|>\\n"}\n' >>docs.jsonl
	show_tokens --html --docs docs.jsonl >page.html
	works "$ROOT/scripts/check-html" page.html
	# What it looks at: a script that is stopped, colors that are the same, no picture to speak of.
	export SIZES='1280 400'
	sed 's/<body>/<body><script>alert(1)<\/script>/' page.html >script.html
	try "$ROOT/scripts/check-html" script.html
	[ "$status" = 1 ]
	has "$out" 'the console says'
	sed 's/@media (prefers-color-scheme: dark)/@media (max-width: 1px)/' page.html >light.html
	try "$ROOT/scripts/check-html" light.html
	[ "$status" = 1 ]
	has "$out" 'dark 1280'
	lacks "$out" 'light 1280'
	sed 's/<body>/<body hidden>/' page.html >blank.html
	try "$ROOT/scripts/check-html" blank.html
	[ "$status" = 1 ]
	has "$out" 'blank'
}

@test 'tokens of another tokenizer, naming both; a cut file; text without its option' {
	for file in train.tokens train.tok; do
		for how in --json --stats --html --inline; do
			refuses show-tokens -t "$good/bert.json" $how $file
			has "$err" $file bert.json
		done
	done
	head -c $(($(wc -c <train.tokens) - 5)) train.tokens >cut.tokens
	head -c $(($(wc -c <train.tok) - 5)) train.tok >cut.tok
	for how in --json --stats --html --inline; do
		for file in cut.tokens cut.tok; do
			try show-tokens "${t[@]}" $how $file
			one_line_error $file
		done
	done
	printf 'this is no stream of tokens, but text' >text
	refuses show-tokens "${t[@]}" text
	has "$err" text '--raw'
	refuses show-tokens "${t[@]}" --stats text
	printf '{"text":1}\n' >bad.jsonl
	refuses show-tokens "${t[@]}" --docs bad.jsonl
	has "$err" 'bad.jsonl:1'
	printf '{"other":"x"}\n' >bad.jsonl
	refuses show-tokens "${t[@]}" --docs bad.jsonl
	has "$err" 'bad.jsonl:1' 'text'
	printf '1 2 99999\n' >ids
	refuses show-tokens "${t[@]}" --ids ids
	has "$err" 'ids:1'
	printf 'a\377' >text
	refuses show-tokens -t "$good/bert.json" --raw text
	has "$err" text 'byte 1'
}

@test 'every damaged file of tokens ends in one line or is shown' {
	for file in "$ROOT"/fixtures/bad/tokens/*; do
		for how in --json --stats --html; do
			try show-tokens "${t[@]}" $how "$file"
			[ "$status" = 0 ] || one_line_error
			[ "$how" = --json ] || [ "$status" = 2 ] || complain "$how $file"
		done
	done
}

@test 'misuse' {
	for args in '--ids --raw' '--html --stats' '--inline --vocab' '--json --html' '--stats -n 3' '--find x' \
		'--vocab --document 1' '--from 3 --to 2' '--text a file' '--vocab --raw'; do
		# shellcheck disable=SC2086
		try show-tokens -t tokenizer.json $args
		one_usage_line
	done
	try show-tokens train.tok
	one_usage_line
}

@test 'a full disk, a closed stdout, a reader that left' {
	for how in '' --json --html --stats --vocab --inline; do
		file=train.tokens
		[ "$how" != --vocab ] || file=
		# shellcheck disable=SC2086
		on_full_disk show-tokens -t tokenizer.json $how $file
		# shellcheck disable=SC2086
		closed_stdout show-tokens -t tokenizer.json $how $file
		# shellcheck disable=SC2086
		broken_pipe show-tokens -t tokenizer.json $how $file
	done
}

@test 'the page of the manual: options and examples' {
	options_match_man show-tokens
	cp "$ROOT/README.md" corpus.txt
	man_examples show-tokens
}

@test 'what came before the trouble is shown' {
	printf '1 2\n3 x\n' >ids
	try show-tokens -t tokenizer.json --ids ids
	one_line_error 'ids:2'
	[ "$(wc -l <"$out")" = 3 ]
	try show-tokens -t tokenizer.json --ids --html ids
	one_line_error 'ids:2'
	[ ! -s "$out" ]
}
