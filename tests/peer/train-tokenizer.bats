#!/usr/bin/env bats
# What train-tokenizer makes: the vocabularies of the trainers of `tokenizers`, and equal ids in other programs

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
LLAMA=${NNUTILS_LLAMA:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/llama}/bin/python
KINDS='bpe sentencepiece unigram wordpiece'

setup()
{
	scratch
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
}

# Text that every Debian has, and what lies in this tree.
documents()
{
	cat-docs -q --split blank /usr/share/common-licenses "$ROOT/README.md" "$ROOT/lib/base" "$ROOT/man"
}

# The same without texts of special tokens, which are cut here and not there.
plain()
{
	documents | grep -v -e '<s>' -e '</s>' -e '<unk>' -e '<0x' -e '<|endoftext|>' -e '\[[A-Z]*\]'
}

# train KIND SIZE [OPTION...]: on docs.jsonl, into KIND/.
train()
{
	local kind=$1 size=$2

	shift 2
	works train-tokenizer -q -m "$kind" -v "$size" -o "$kind/" "$@" docs.jsonl
}

@test 'the vocabularies of the trainers of tokenizers' {
	local kind size=3000
	local -a all

	plain | head -n 2000 >docs.jsonl
	for kind in $KINDS; do
		all=(--character-coverage 1)
		[ "$kind" != bpe ] || all=()
		# Its Unigram is slow.
		[ "$kind" != unigram ] || size=1500
		train "$kind" "$size" "${all[@]}"
		"$PYTHON" "$ROOT/scripts/peers/train_hf.py" "$kind" "$size" docs.jsonl theirs.json
		"$PYTHON" "$ROOT/scripts/peers/train_same.py" "$kind" "$kind/tokenizer.json" theirs.json >&2
	done
}

@test 'equal ids in tokenizers and in transformers, and the roles' {
	local kind

	documents >docs.jsonl
	{
		head -n 1000 docs.jsonl
		grep -v -e '\\u00' -e '\\u2581' "$ROOT/fixtures/good/text/hard.jsonl"
	} >some.jsonl
	for kind in $KINDS; do
		train "$kind" 2000 --special '<a>'
		works tokenize -q -t "$kind" --ids some.jsonl
		"$PYTHON" "$ROOT/scripts/peers/ids.py" "$kind/tokenizer.json" some.jsonl | cmp - "$out" >&2
		"$PYTHON" "$ROOT/scripts/peers/auto_ids.py" "$kind" some.jsonl 2>/dev/null | cmp - "$out" >&2
		"$PYTHON" "$ROOT/scripts/peers/auto_ids.py" "$kind" some.jsonl roles 2>/dev/null >"$kind.roles"
	done
	has bpe.roles 'eos <|endoftext|>' 'bos None'
	has sentencepiece.roles 'bos <s>' 'eos </s>' 'unk <unk>'
	has wordpiece.roles 'cls [CLS]' 'sep [SEP]' 'mask [MASK]' 'pad [PAD]'
}

@test 'splits, digits and normalizers: equal ids' {
	documents | head -n 1500 >docs.jsonl
	n=0
	for options in '--split llama3' '--split qwen2' '--split o200k' '--split cl100k' '--split tekken' '--split deepseek' \
		'--split none' '--digits single' '--digits three' '--normalizer nfkc,lowercase' \
		'--normalizer nfd,strip-accents' '--prefix-space' '-m unigram --normalizer nmt-nfkc' \
		'-m sentencepiece --no-prefix-space' '-m sentencepiece --digits single --split \S+' \
		'-m unigram --byte-fallback' '-m wordpiece --digits single'; do
		# shellcheck disable=SC2086
		works train-tokenizer -q -v 1000 $options -o t.json docs.jsonl
		works tokenize -q -t t.json --ids docs.jsonl
		"$PYTHON" "$ROOT/scripts/peers/ids.py" t.json docs.jsonl | cmp - "$out" >&2 || complain "$options"
		n=$((n + 1))
	done
	[ $n = 17 ]
}

@test 'chat templates, rendered by transformers' {
	documents | head -n 500 >docs.jsonl
	for name in chatml llama3 gemma mistral qwen; do
		works train-tokenizer -q -v 600 --bos '<bos>' --chat-template "$name" -o "$name/" docs.jsonl
		"$PYTHON" "$ROOT/scripts/peers/auto_ids.py" "$name" docs.jsonl chat 2>/dev/null >rendered
		grep -q Hi rendered || complain "$name: $(cat rendered)"
	done
}

@test 'more pieces for an old tokenizer: equal ids' {
	documents >docs.jsonl
	train bpe 1000
	works train-tokenizer -q --extend bpe -v 1500 --special '<new>' -o more/ "$ROOT/fixtures/good/text/hard.jsonl" docs.jsonl
	works tokenize -q -t more --ids docs.jsonl
	"$PYTHON" "$ROOT/scripts/peers/ids.py" more/tokenizer.json docs.jsonl | cmp - "$out" >&2
}

@test 'equal ids in llama.cpp, from a GGUF with the vocabulary alone' {
	local kind

	[ -x "$LLAMA" ] && [ -x "$BUILD/tests/peer/vocab-gguf" ] ||
		cannot_run peer 'llama-cpp-python or tests/peer/vocab-gguf is not there'
	documents >docs.jsonl
	{
		head -n 1000 docs.jsonl
		echo '{"text":" two  spaces "}'
		echo '{"text":"日本語 é <s> <|endoftext|> [CLS] <0x41>"}'
	} >some.jsonl
	for kind in $KINDS; do
		train "$kind" 2000
		"$BUILD/tests/peer/vocab-gguf" "$kind" "$kind.gguf" 2>&1
		works tokenize -q -t "$kind" --ids some.jsonl
		"$LLAMA" "$ROOT/scripts/peers/llama_ids.py" "$kind.gguf" some.jsonl 2>/dev/null | cmp - "$out" >&2 || complain "$kind"
	done
}
