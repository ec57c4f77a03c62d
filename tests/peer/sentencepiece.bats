#!/usr/bin/env bats
# Ids and places beside `sentencepiece`: Gemma's vocabulary from its GGUF file, and the small models of fixtures/

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
MODEL=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}/gemma3-270m-q4_k_m.gguf
IDS=$ROOT/scripts/peers/spm_ids.py
TEXT=$ROOT/scripts/peers/spm_text.py

setup()
{
	scratch
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	"$PYTHON" -c 'from sentencepiece import sentencepiece_model_pb2' 2>/dev/null ||
		cannot_run peer 'sentencepiece or its protobuf is not there'
}

# Text that every Debian has, what lies in this tree, and random characters of all planes.
documents()
{
	cat-docs -q --split blank /usr/share/common-licenses "$ROOT/README.md" "$ROOT/lib" "$ROOT/man"
	cat-docs -q --split line "$ROOT"/fixtures/golden/normalize/*.txt "$ROOT/fixtures/good/text"
	"$PYTHON" "$TEXT" 1 5000
}

# same MODEL [offsets]
same()
{
	local how=${2:-ids}

	"$PYTHON" "$IDS" "$1" docs.jsonl ${2:+"$2"} >want
	works tokenize -q -t "$1" --"$how" docs.jsonl
	cmp want "$out" >&2
}

@test 'ids of real and of random text, small models' {
	local model

	documents >docs.jsonl
	[ "$(wc -l <docs.jsonl)" -gt 10000 ]
	for model in "$ROOT"/fixtures/good/spm/*.model "$ROOT"/fixtures/good/tokenizers/spm-*.model \
		"$ROOT"/fixtures/good/tokenizers/spm-*.gguf; do
		same "$model" || return
	done
}

@test 'ids of real and of random text, Gemma' {
	[ -e "$MODEL" ] || cannot_run peer 'scripts/peers/models was not run'
	documents >docs.jsonl
	same "$MODEL"
}

@test 'places of real and of random text' {
	documents | awk 'NR % 10 == 0' >docs.jsonl
	same "$ROOT/fixtures/good/spm/user-spaces.model" offsets
	same "$ROOT/fixtures/good/tokenizers/spm-unigram.model" offsets
	[ ! -e "$MODEL" ] || same "$MODEL" offsets
}
