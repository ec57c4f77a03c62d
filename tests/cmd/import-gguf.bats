#!/usr/bin/env bats
# import-gguf: folders of GGUFs, ours and others', what is guessed and what is refused, trouble

load lib

LM=$ROOT/fixtures/good/lm
GGUF=$ROOT/fixtures/good/gguf

# `tok` and `model`, made once, and the GGUF of it.
setup_file()
{
	untrained_lm -p nano -l 2
	export-gguf -q -o m.gguf model
}

setup()
{
	scratch
	ln -s "$BATS_FILE_TMPDIR/model" model
	ln -s "$BATS_FILE_TMPDIR/m.gguf" m.gguf
}

said()
{
	[ "$status" = 0 ] || { show "$err"; complain "exit status $status"; return 1; }
	has "$err" "$@"
}

@test 'the page: options and examples' {
	cp "$BATS_FILE_TMPDIR/m.gguf" tiny-lm.gguf
	options_match_man import-gguf
	man_examples import-gguf
}

@test 'every architecture, there and back' {
	local m all=window,rope,attention_scale,bias,no_rope_layers,head,no-tokenizer

	for m in llama mistral qwen2 qwen3 smollm3 gpt2 gpt2-bare; do
		works export-gguf -q --allow $all -o $m.gguf "$LM/$m"
		works import-gguf -q -o $m $m.gguf
		same_bytes "$LM/$m/config.json" $m/config.json
		copy-model -q --join "$LM/$m" joined-$m
		works diff-model -q joined-$m/model.safetensors $m/model.safetensors
	done
	# Norms of random f32 lose a bit on their way.
	try export-gguf --allow $all -o gemma3.gguf "$LM/gemma3"
	said 'values of norms with 1 added are not exact'
	works import-gguf -q -o gemma3 gemma3.gguf
	works diff-model -q --atol 1e-6 "$LM/gemma3/model.safetensors" gemma3/model.safetensors
	works diff-model -q --except '*norm*' "$LM/gemma3/model.safetensors" gemma3/model.safetensors
}

@test 'a file that says less: what is guessed is said' {
	works export-gguf -q --plain -o plain.gguf model
	try import-gguf -o folder plain.gguf
	said 'tokenizer.json: made of the vocabulary gpt2, pre gpt-2' 'config.json: what GGUF has no key for'
	works diff-model -q --only '*.weight' model/model.safetensors folder/model.safetensors
	tokenize -q -t model --raw "$ROOT/README.md" | detokenize -q -t model >a
	tokenize -q -t folder --raw "$ROOT/README.md" | detokenize -q -t folder >b
	same_bytes a b
	works decode -q -n 8 -p 'the tokens' model
	cp "$out" want
	works decode -q -n 8 -p 'the tokens' folder
	same_bytes want "$out"
}

@test 'types' {
	works import-gguf -q -d f32 -o f m.gguf
	works diff-model -q model f
	try import-gguf -d f16 -o h m.gguf
	said 'values of the others were rounded'
	has h/config.json '"dtype": "float16"'
	works diff-model -q --rtol 1e-3 --atol 1e-6 --ignore-dtype --no-metadata model/model.safetensors h/model.safetensors
	init-lm -q -t "$BATS_FILE_TMPDIR/tok" -p nano -l 1 --dtype bf16 -o wide
	printf '\x89\x47' | dd of=wide/model.safetensors bs=1 conv=notrunc status=none \
		seek=$((8 + $(od -An -N8 -tu8 wide/model.safetensors)))
	works export-gguf -q -o wide.gguf wide
	refuses import-gguf -d f16 -o x wide.gguf
	has "$err" 'past the range of f16' '--clamp'
	[ ! -e x ]
	try import-gguf -q -d f16 --clamp -o x wide.gguf
	said 'past the range'
}

@test 'without a tokenizer, of a model that is not known, of what is no GGUF' {
	try import-gguf -o g "$GGUF/model-gpt2.gguf"
	[ "$status" = 2 ] || said 'no tokenizer'
	refuses import-gguf -o x "$GGUF/types.gguf"
	[ ! -e x ]
	refuses import-gguf -o x model
	has "$err" 'no GGUF'
	refuses import-gguf -o x "$ROOT/README.md"
	refuses import-gguf -o x nowhere.gguf
	has "$err" 'No such file'
	misused import-gguf m.gguf
	has "$err" '-o'
	mkdir full && : >full/file
	refuses import-gguf -o full m.gguf
	has "$err" full
	refuses import-gguf --allow windows -o x m.gguf
	misused import-gguf
	[ ! -e x ]
}

@test 'a split pattern that no one knows, tensors that no one knows, biases that config.json cannot say' {
	works export-gguf -q --plain -o plain.gguf model
	LC_ALL=C sed 's/gpt-2/gpt-X/' plain.gguf >odd.gguf
	refuses import-gguf -o x odd.gguf
	has "$err" 'no split pattern is known for "gpt-X"'
	try import-gguf --allow tokenizer -o x odd.gguf
	said 'no tokenizer, as allowed'
	[ ! -e x/tokenizer.json ]
	sed 's/_bias": false/_bias": true/' model/config.json >c.json
	init-lm -q -c c.json -t "$BATS_FILE_TMPDIR/tok" -o biased
	works export-gguf -q --plain -o l.gguf biased
	copy-model -q --rename 'blk.0.attn_q.bias=blk.0.extra.weight' l.gguf e.gguf
	refuses import-gguf -o y e.gguf
	has "$err" '6 tensors' 'blk.0.' '--allow tensors'
	refuses import-gguf --allow tensors -o y e.gguf
	has "$err" 'biases'
	copy-model -q --rename 'blk.0.attn_output.bias=blk.0.other' e.gguf f.gguf
	try import-gguf --allow tensors -o y f.gguf
	said 'tensor blk.0.extra.weight: is left out, as allowed'
	[ ! -e z ]
}

@test 'a split model' {
	copy-model -q --shard-size 20k m.gguf parts.gguf
	works import-gguf -q -o s parts-00001-of-*.gguf
	works diff-model -q model s
}

@test 'bad files' {
	local file

	for file in "$ROOT"/fixtures/bad/gguf/*.gguf; do
		refuses import-gguf -q -o x "$file"
		[ ! -e x ] || complain "$file: a folder"
	done
}

@test 'a hundred damaged files are refused, or make a folder' {
	local n size folder

	size=$(stat -Lc %s m.gguf)
	for n in $(seq 100); do
		cp -L m.gguf bad.gguf
		# the header, where nothing may be wrong
		printf '%b' "\\x$(printf %02x $((n * 37 % 256)))" | dd of=bad.gguf bs=1 seek="$((n * 7919 % (n < 80 ? 4000 : size)))" conv=notrunc status=none
		folder=d$n
		try import-gguf -q -o "$folder" bad.gguf
		[ "$status" = 0 ] || { one_line_error && [ ! -e "$folder" ]; } || complain "$n"
	done
}

@test 'no half-written folder' {
	after_fault()
	{
		[ "$(find . -name '.*tmp*')" = '' ] || complain 'a temporary is left'
		[ "$status" = 0 ] || [ ! -e t ] || complain 'half a folder'
		rm -rf t
	}
	each_fault write ENOSPC import-gguf -q -o t m.gguf
}
