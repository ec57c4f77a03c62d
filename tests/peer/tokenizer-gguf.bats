#!/usr/bin/env bats
# Tokenizers written into GGUF: llama.cpp loads them, and gives the ids that tokenize gives

load ../cmd/lib

LLAMA=${NNUTILS_LLAMA:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/llama}/bin/python
MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}
VOCAB=$BUILD/tests/peer/vocab-gguf
HARD=$ROOT/fixtures/good/text/hard.jsonl

setup()
{
	scratch
	if [ ! -x "$LLAMA" ] || [ ! -x "$VOCAB" ]; then
		cannot_run peer 'llama-cpp-python or tests/peer/vocab-gguf is not there'
	fi
}

llama_ids()
{
	"$LLAMA" "$ROOT/scripts/peers/llama_ids.py" "$@" 2>/dev/null
}

# Hard texts, and what lies in this tree. llama.cpp takes </s> for a control token, whatever its type says.
documents()
{
	cat "$HARD"
	cat-docs -q --split blank "$ROOT/README.md" "$ROOT/lib/text" "$ROOT/man/man5" | grep -v '</s>'
}

@test 'every kind that llama.cpp reads exactly' {
	local name

	documents >docs.jsonl
	for name in gpt-2.gguf smollm.gguf llama-bpe.gguf qwen2.gguf byte-level.json spm-bpe.model spm-plain.model; do
		works "$VOCAB" "$ROOT/fixtures/good/tokenizers/$name" x.gguf
		works tokenize -q -t "$ROOT/fixtures/good/tokenizers/$name" --ids docs.jsonl
		llama_ids x.gguf docs.jsonl >theirs
		cmp theirs "$out" >&2 || complain "$name"
	done
}

# A model's own vocabulary, written anew: the ids of the file that it came from, and ours.
again()
{
	[ -e "$1" ] || cannot_run peer 'scripts/peers/models was not run'
	documents >docs.jsonl
	works "$VOCAB" "$1" again.gguf
	llama_ids "$1" docs.jsonl >before
	llama_ids again.gguf docs.jsonl >after
	cmp before after >&2
	# SmolLM2 lacks some bytes, and says so.
	tokenize -q --unknown drop -t again.gguf --ids docs.jsonl >ours
	cmp after ours >&2
	[ "$(wc -l <after)" -gt 1000 ]
}

@test "SmolLM2's vocabulary" {
	again "$MODELS/smollm2-135m-instruct-q4_1.gguf"
}

@test "Gemma 3's vocabulary" {
	again "$MODELS/gemma3-270m-q4_k_m.gguf"
}
