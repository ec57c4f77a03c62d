#!/usr/bin/env bats
# eval-lm: text and tokens give the same loss, windows, joined documents, tables, trouble

load lib

setup_file()
{
	load lib
	untrained_lm --layers 1 --heads 2 --kv-heads 1
}

setup()
{
	scratch
	cp -r "$BATS_FILE_TMPDIR/model" "$BATS_FILE_TMPDIR/tok" "$ROOT/fixtures/good/lm/llama" .
	printf '{"text":"Once upon a time there was a tool that read what stood there."}\n{"text":"It wrote a number, and all were content."}\n' >docs
	tokenize -q -t tok -o stream docs
	pack-tokens -q -o packed stream
}

# number NAME FILE: of a JSON object.
number() { sed -E 's/.*"'"$1"'":([^,}]*).*/\1/' "$2"; }

@test 'documents, a stream and packed tokens give the same numbers' {
	works eval-lm -q --json --docs -d docs model
	cp "$out" a
	works eval-lm -q --json -d stream model
	same_bytes a "$out"
	# those have an end of text behind each document
	tokenize -q -t tok --eos -o ended docs
	works eval-lm -q --json -d ended model
	cp "$out" b
	works eval-lm -q --json -d packed model
	same_bytes b "$out"
	[ "$(number bytes a)" = "$(number bytes b)" ]
	works eval-lm -q --json --docs model <docs
	same_bytes a "$out"
}

@test 'an untrained model is about as good as a guess: e to the loss is near the vocabulary' {
	works eval-lm -q --json --docs -d docs model
	awk -v l="$(number loss "$out")" -v v=400 'BEGIN { exit !(l > log(v) - 0.3 && l < log(v) + 0.3) }'
	# perplexity and bits a byte follow from the loss
	awk -v l="$(number loss "$out")" -v p="$(number perplexity "$out")" -v n="$(number scored "$out")" \
		-v b="$(number bytes "$out")" -v bits="$(number bits_per_byte "$out")" \
		'BEGIN { d = exp(l) - p; e = l * n / log(2) / b - bits; exit !(d * d < 1e-12 * p * p && e * e < 1e-18) }'
}

@test 'a table by document, whose sums are the result' {
	works eval-lm -q -p --docs -d docs model
	[ "$(head -n 1 "$out" | cut -f 1-3)" = "$(printf 'document\ttokens\tscored')" ]
	cp "$out" table
	works eval-lm -q --json --docs -d docs model
	awk -F '\t' -v l="$(number loss "$out")" -v n="$(number scored "$out")" -v b="$(number bytes "$out")" \
		'NF == 7 && $1 != "document" { s += $3 * $5; n2 += $3; b2 += $4; rows++ }
		END { d = s / n2 - l; exit !(rows == 2 && n2 == n && b2 == b && d * d < 1e-10) }' table
	works eval-lm -q -p --json --docs -d docs model
	[ "$(grep -c '"document":' "$out")" = 2 ]
	[ "$(grep -c '"documents":2' "$out")" = 1 ]
}

@test 'windows: each token but the first once, whatever the stride' {
	local n stride

	works eval-lm -q --json --raw -d "$BATS_FILE_TMPDIR/text" model -n 1 -c 64
	n=$(number scored "$out")
	[ "$n" = $(($(number tokens "$out") - 1)) ]
	for stride in 1 7 63 64; do
		head -c 500 "$BATS_FILE_TMPDIR/text" >text
		works eval-lm -q --json --raw -d text -c 64 --stride $stride model
		[ "$(number scored "$out")" = $(($(number tokens "$out") - 1)) ]
	done
}

@test 'joined documents are one text' {
	works eval-lm -q --json --docs --documents joined -d docs model
	[ "$(number documents "$out")" = 1 ]
	[ "$(number scored "$out")" = $(($(number tokens "$out") - 1)) ]
	works eval-lm -q --json --docs -d docs model
	[ "$(number scored "$out")" = $(($(number tokens "$out") - 2)) ]
}

@test 'words; the context of packed data; the token before each window' {
	works eval-lm -q --json --docs -d docs model
	# All 21 but the one that is the first token of its text.
	[ "$(number words "$out")" = 20 ]
	awk -v l="$(number loss "$out")" -v n="$(number scored "$out")" -v w="$(number words "$out")" -v p="$(number word_perplexity "$out" | tr -d '}')" \
		'BEGIN { d = log(p) - l * n / w; exit !(d * d < 1e-12) }'
	pack-tokens -q --window 16 -o packed16 stream
	works eval-lm -q --json -d packed16 model
	[ "$(number ctx "$out")" = 16 ]
	works eval-lm -q --json -d packed16 -c 8 model
	[ "$(number ctx "$out")" = 8 ]
	misused eval-lm -q --docs -d docs --bos on model
	sed -i 's/"bos_token_id": null/"bos_token_id": 3/' model/config.json
	works eval-lm -q --json --docs -d docs -c 16 model
	cp "$out" without
	works eval-lm -q --json --docs -d docs -c 16 --bos off model
	same_bytes without "$out"
	works eval-lm -q --json --docs -d docs -c 16 --bos on model
	[ "$(number scored "$out")" = "$(number tokens "$out")" ]
	[ "$(number loss "$out")" != "$(number loss without)" ]
}

@test 'threads and passes of the planner change no bit; ref agrees' {
	works eval-lm -q -j 1 --json --docs -d docs model
	cp "$out" a
	works eval-lm -q -j 3 --json --docs -d docs model
	same_bytes a "$out"
	works eval-lm -q --without fold,merge,in-place,epilogue,reuse,segments --json --docs -d docs model
	same_bytes a "$out"
	works eval-lm -q --device ref --ctx 16 --batch-tokens 16 --json --docs -d docs model
	cp "$out" b
	works eval-lm -q --ctx 16 --json --docs -d docs model
	awk -v a="$(number loss b)" -v b="$(number loss "$out")" 'BEGIN { exit !((a - b) ^ 2 < 1e-11) }'
}

@test 'tokens of another tokenizer are refused, naming both' {
	tokenize -q -t "$ROOT/fixtures/good/tokenizers/byte-level.json" -o other docs
	refuses eval-lm -q -d other model
	one_line_error other model
}

@test 'what a first-time user does' {
	refuses eval-lm -q -d docs model
	one_line_error 'text needs --raw or --docs'
	refuses eval-lm -q --docs -d docs llama
	one_line_error '-t FILE names a tokenizer'
	refuses eval-lm -q --docs -d docs nowhere
	one_line_error nowhere
	refuses eval-lm -q --docs -d nowhere model
	one_line_error nowhere
	: >empty
	refuses eval-lm -q --docs -d empty model
	one_line_error 'no token in them has one before it'
	misused eval-lm -q --docs -d docs --ctx 8 --stride 9 model
	misused eval-lm -q --raw --docs -d docs model
	misused eval-lm -q --docs -d docs
	refuses eval-lm -q --docs -d docs --memory 1000 model
	try eval-lm -q --docs -d docs "$ROOT/fixtures/good/lm/bert" -t tok
	[ "$status" = 2 ]
	has "$err" 'a vocabulary of 61, the tokenizer one of' 'does not continue text'
}

@test 'a closed or full output is noticed' {
	closed_stdout eval-lm -q --docs -d docs model
	on_full_disk eval-lm -q --docs -d docs model
}

@test 'importance: the squares of what each weight is multiplied with, under the names of a GGUF' {
	works eval-lm -q --docs -d docs --importance a.gguf model
	[ ! -s "$out" ]
	works show-model --tensors a.gguf
	[ "$(grep -c 'blk\.0\..*\.in_sum2' "$out")" = 7 ]
	has "$out" 'blk.0.ffn_down.weight.counts'
	# q, k and v are multiplied with the same
	for name in q k v; do
		get-tensor --format text a.gguf "blk.0.attn_$name.weight.in_sum2" >"$name"
	done
	same_bytes q k
	same_bytes q v
	[ "$(get-tensor --format text a.gguf blk.0.attn_q.weight.counts)" = "$(tokenize -q -t tok --ids docs | wc -w)" ]
	works eval-lm -q --docs -d docs -j 1 --importance b.gguf model
	same_bytes a.gguf b.gguf
	refuses eval-lm -q --docs -d docs --importance /dev/full model
	: >empty
	refuses eval-lm -q --raw -d empty --importance c.gguf model
	[ ! -e c.gguf ]
}
