#!/usr/bin/env bats
# detokenize: text of streams and of ids, trouble

load lib

setup()
{
	scratch
	cp "$ROOT/fixtures/good/tokenizers/byte-level.json" tokenizer.json
	tokenize -q -t tokenizer.json -o tokens "$ROOT/fixtures/good/text/hard.jsonl"
}

@test 'ids as text' {
	tokenize -q -t tokenizer.json --ids "$ROOT/fixtures/good/text/hard.jsonl" >ids
	grep -v '^$' ids | detokenize -q -t tokenizer.json --ids >got
	grep -v '{"text":""}' "$ROOT/fixtures/good/text/hard.jsonl" | cmp - got >&2
	echo '1 2 99999999' >ids
	refuses detokenize -q -t tokenizer.json --ids ids
	one_line_error 'ids:1'
	echo '1 x' >ids
	refuses detokenize -q -t tokenizer.json --ids ids
}

@test 'special tokens, kept or left out' {
	local special

	special=$(sed -n '/"added_tokens"/,/\]/s/.*"content": "\(.*\)",/\1/p' tokenizer.json | head -n1)
	printf 'x%sy' "$special" | tokenize -q -t tokenizer.json --raw --special parse -o s
	[ "$(detokenize -q -t tokenizer.json --raw s)" = "x${special}y" ]
	[ "$(detokenize -q -t tokenizer.json --raw --skip-special s)" = xy ]
}

@test 'a character whose bytes are several tokens comes out once (A10 A11)' {
	printf '\xf0\x9f\x98\x80\xe2\x82\xac' >text
	works tokenize -q -t tokenizer.json --raw --ids text
	cp "$out" ids
	[ "$(wc -w <ids)" -gt 2 ]
	works detokenize -q -t tokenizer.json --raw --ids ids
	same_bytes text "$out"
}

@test 'a stream that another tokenizer made is refused, naming both' {
	refuses detokenize -q -t "$ROOT/fixtures/good/tokenizers/bert.json" tokens
	one_line_error tokens bert.json
}

@test 'a tokenizer is the same whatever file it comes from' {
	local name good=$ROOT/fixtures/good/tokenizers

	for name in smollm.gguf qwen2.gguf bert.gguf old-bare bpe_simple_vocab.txt.gz; do
		works tokenize -q -t "$good/$name" -o s "$ROOT/fixtures/good/text/hard.jsonl"
		works detokenize -q -t "$good/$name.want.json" s || return
	done
}

@test 'a cut stream, trailing bytes, damage (C07)' {
	head -c $(($(wc -c <tokens) - 5)) tokens >cut.tok
	try detokenize -q -t tokenizer.json cut.tok
	one_line_error cut.tok
	{ cat tokens; printf x; } >more.tok
	try detokenize -q -t tokenizer.json more.tok
	one_line_error more.tok
	: >nothing
	refuses detokenize -q -t tokenizer.json nothing
}

@test 'a full disk, a closed stdout, a reader that left' {
	on_full_disk detokenize -q -t tokenizer.json tokens
	closed_stdout detokenize -q -t tokenizer.json tokens
	broken_pipe detokenize -q -t tokenizer.json tokens
}

@test 'the page: options and examples' {
	options_match_man detokenize
	man_examples detokenize
}

@test 'an id that is none of the vocabulary' {
	local id

	for id in 99999 1k x 18446744073709551616; do
		try detokenize -q -t tokenizer.json --ids <<<"1 $id"
		one_line_error "/dev/stdin:1: '$id' is not an id of the vocabulary, 0 to " || return
	done
}

@test 'what came before the trouble is written (C07)' {
	printf '{"text":"one"}\n{"text":"two"}\n{"text":"three"}\n' | tokenize -q -t tokenizer.json -o three
	head -c -50 three >ended
	try detokenize -q -t tokenizer.json ended
	one_line_error 'ended: byte' 'the stream is cut'
	printf '{"text":"one"}\n{"text":"two"}\n' | cmp - "$out" >&2
	try detokenize -q -t tokenizer.json --raw ended
	one_line_error 'the stream is cut'
	[ "$(head -c 6 "$out")" = onetwo ]
	printf '1 2\n3 x\n' >ids
	try detokenize -q -t tokenizer.json --ids ids
	one_line_error 'ids:2'
	[ "$(wc -l <"$out")" = 1 ]
}
