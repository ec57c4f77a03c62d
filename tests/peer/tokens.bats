#!/usr/bin/env bats
# Ids and offsets of real text beside `tokenizers`, with SmolLM2's vocabulary from its GGUF file

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
MODEL=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}/smollm2-135m-instruct-q4_1.gguf

setup()
{
	scratch
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	[ -e "$MODEL" ] || cannot_run peer 'scripts/peers/models was not run'
	"$PYTHON" "$ROOT/scripts/peers/smollm_json.py" "$MODEL" smollm.json
}

# Text that every Debian has, and what lies in this tree.
documents()
{
	cat-docs -q --split blank /usr/share/common-licenses "$ROOT/README.md" "$ROOT/lib" "$ROOT/man"
	cat-docs -q --split line "$ROOT"/fixtures/golden/normalize/*.t* "$ROOT/fixtures/good/text"
}

@test 'ids of real text' {
	documents | grep -v '\\u00' >docs.jsonl
	"$PYTHON" "$ROOT/scripts/peers/ids.py" smollm.json docs.jsonl >want
	works tokenize -q -t "$MODEL" --ids docs.jsonl
	cmp want "$out" >&2
	works tokenize -q -t smollm.json --ids docs.jsonl
	cmp want "$out" >&2
	[ "$(wc -l <want)" -gt 5000 ]
}

@test 'offsets of real text' {
	documents | grep -v '\\u00' | head -n 4000 >docs.jsonl
	"$PYTHON" "$ROOT/scripts/peers/ids.py" smollm.json docs.jsonl offsets >want
	works tokenize -q -t "$MODEL" --offsets docs.jsonl
	cmp want "$out" >&2
}

@test 'conversations, by the template in the file, which is recognised' {
	"$PYTHON" "$ROOT/scripts/peers/chat_ids.py" "$MODEL" smollm.json lists.jsonl 1000 >want
	works tokenize -q -t "$MODEL" --messages --ids lists.jsonl
	cmp want "$out" >&2
	[ "$(wc -l <want)" = 1000 ]
}

# The families whose vocabularies need no training; scripts/peers/verify without names does all of them, on much more.
@test 'ids and offsets of random strings, a family each' {
	export NNUTILS_TEXT=$PWD/text
	works "$PYTHON" "$ROOT/scripts/peers/verify" -b "$BUILD" -r 5 -m 0 -o 2 \
		smollm2 qwen-ranks clip minilm cl100k-ranks o200k-ranks gpt2-ranks llama3-ranks tekken-ranks
	[ "$(grep -c '5000 strings .* ids, offsets of *2500: 0 differ$' "$out")" = 12 ]
}
