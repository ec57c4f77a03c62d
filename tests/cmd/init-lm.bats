#!/usr/bin/env bats
# init-lm: sizes by name, by number and one by one; the tokenizer and its roles; what is written; what is refused

load lib

GOOD=$ROOT/fixtures/good

# value NAME: of a row of --dry-run.
value() { awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$out"; }

# is NAME VALUE ...: rows of --dry-run.
is()
{
	while [ $# -gt 0 ]; do
		[ "$(value "$1")" = "$2" ] || complain "$1 is $(value "$1"), not $2"
		shift 2
	done
}

# key FILE NAME: what stands there on one line.
key() { sed -nE 's/^  "'"$2"'": (.*[^,]),?$/\1/p' "$1"; }

differ() { if cmp -s "$1" "$2"; then complain "$1 and $2 are equal"; fi; }

tokenizer()
{
	cat "$ROOT/README.md" "$MAN/tokenize.1" >text
	train-tokenizer -q -v 500 --raw -o tok/ "$@" text
}

@test 'presets: what they are, and that their parameters are those that are written' {
	works init-lm --preset list
	awk -F '\t' '$1 == "tiny" { print $2, $3, $6, $8, $9 }' "$out" >got
	# 4096 x 256 + 4 (2 x 256 x 256 + 2 x 256 x 128 + 3 x 256 x 704 + 2 x 256) + 256
	[ "$(cat got)" = '4 256 704 4096 4000000' ] || fail_showing got
	awk -F '\t' '$1 == "small" { print $2, $3, $4, $5, $6, $8 }' "$out" >got
	[ "$(cat got)" = '6 384 6 2 1024 8192' ] || fail_showing got
	awk -F '\t' '$1 == "base" { print $2, $3, $4, $5, $6, $8 }' "$out" >got
	[ "$(cat got)" = '12 768 12 4 2048 32000' ] || fail_showing got
	wanted=$(awk -F '\t' '$1 == "nano" { print $9 }' "$out")
	works init-lm -q -p nano -o model
	[ "$(find model -type f | sort | paste -sd ' ')" = 'model/config.json model/generation_config.json model/model.safetensors' ]
	works show-model --json model
	[ "$(sed -nE 's/.*"parameters":([0-9]+).*/\1/p' "$out" | head -n1)" = "$wanted" ] || fail_showing "$out"
}

@test 'every architecture: written, opened, and counted as it was said' {
	local a

	for a in llama mistral qwen2 qwen3 gemma3 smollm3 gpt2 bert; do
		works init-lm -a $a -p nano -n
		parameters=$(value parameters)
		works init-lm -q -a $a -p nano -o "m-$a"
		bytes=$(stat -c %s "m-$a/model.safetensors")
		header=$(od -An -tu8 -N8 "m-$a/model.safetensors" | tr -d ' ')
		[ $((bytes - 8 - header)) = $((4 * parameters)) ] || complain "$a: $bytes bytes for $parameters"
		works show-graph -n 16 "m-$a"
		[ ! -s "$err" ] || complain "$a: $(cat "$err")"
		works init-lm -q -c "m-$a/config.json" -o "again-$a"
		same_bytes "m-$a/config.json" "again-$a/config.json"
		same_bytes "m-$a/model.safetensors" "again-$a/model.safetensors"
	done
}

@test 'the fixtures of every family: begun from config.json, the same configuration' {
	local a

	for a in "$GOOD"/lm/*; do
		a=${a##*/}
		works init-lm -q -c "$GOOD/lm/$a/config.json" -o "new-$a"
		works init-lm -q -c "new-$a/config.json" -o "again-$a"
		same_bytes "new-$a/config.json" "again-$a/config.json"
		works show-graph -n 16 --train "new-$a"
	done
	has new-bert-bare/config.json '"BertForMaskedLM"'
	has new-gpt2-bare/config.json '"GPT2LMHeadModel"'
}

@test 'a number of parameters: shapes near it, and what it cannot be' {
	local wanted

	for wanted in 3000000 12000000 50000000 135000000 360000000 1700000000 7000000000; do
		works init-lm --params $wanted --vocab 8192 -n --ctx 8 --batch 1
		awk -v n="$(value parameters)" -v w=$wanted 'BEGIN { exit !(n > 0.9 * w && n < 1.1 * w) }' ||
			complain "$wanted: $(value parameters)"
		[ $(($(value heads) * 64)) = "$(value width)" ]
		awk -v r="$(($(value width) * 100 / $(value layers)))" 'BEGIN { exit !(r > 3200 && r < 12800) }' ||
			complain "$wanted: $(value layers) x $(value width)"
	done
	works init-lm --params 50M --layers 30 -n --ctx 8 --batch 1
	is layers 30
	works init-lm --params 50M --width 512 -n --ctx 8 --batch 1
	is width 512
	try init-lm --params 1M -n
	one_usage_line
	has "$err" 'no shape has 1000000 parameters with a vocabulary of 32000: the nearest, 1 x 64'
}

@test 'single sizes: what is given changes, and what follows follows' {
	works init-lm -p tiny -n --ctx 8 --batch 1 --width 768
	is width 768 heads 12 kv_heads 4 ffn 2048 layers 4
	works init-lm -p tiny -n --ctx 8 --batch 1 --heads 8
	is width 256 heads 8 kv_heads 4 head_dim 32 ffn 704
	works init-lm -p tiny -n --ctx 8 --batch 1 --kv-heads 1 --ffn 512 --layers 3
	is heads 4 kv_heads 1 ffn 512 layers 3
	works init-lm -l 2 --width 96 --vocab 100 -n --ctx 8 --batch 1
	is layers 2 width 96 heads 1 head_dim 96 context 1024 vocabulary 100
	works init-lm -c "$GOOD/lm/llama/config.json" -n --ctx 8 --batch 1 --layers 5
	is layers 5 width "$(key "$GOOD/lm/llama/config.json" hidden_size)"
	works init-lm -p nano -q -a gemma3 --layers 8 --window 32 -o g
	[ "$(grep -c '"sliding_attention",\?$' g/config.json)" = 7 ]
	has g/config.json '"sliding_window": 32,' '"query_pre_attn_scalar": 64'
	works init-lm -p nano -q -a mistral -o m
	has m/config.json '"sliding_window": null'
	works init-lm -p nano -q -a smollm3 --layers 5 --no-tie --rope-theta 5e5 --norm-eps 1e-5 -o s
	has s/config.json '"tie_word_embeddings": false' '"rope_theta": 500000.0' '"rms_norm_eps": 1e-5'
	grep -A6 no_rope_layers s/config.json | tr -d '\n ' | grep -qF '[1,1,1,0,1]'
}

@test 'the tokenizer: its vocabulary, its files, its roles, its template' {
	tokenizer --eos '<|end|>' --chat-template chatml
	works init-lm -q -t tok -p nano -o model
	[ "$(key model/config.json vocab_size)" = 500 ]
	same_bytes tok/tokenizer.json model/tokenizer.json
	same_bytes tok/tokenizer_config.json model/tokenizer_config.json
	has model/tokenizer_config.json '"tokenizer_class": "PreTrainedTokenizerFast"' chat_template
	end=$(printf '<|end|>' | tokenize -q -t model --raw --ids --special parse)
	[ "$(key model/config.json eos_token_id)" = "$end" ] || fail_showing model/config.json
	[ "$(key model/config.json bos_token_id)" = null ]
	[ "$(key model/config.json pad_token_id)" = null ]
	[ "$(key model/generation_config.json eos_token_id)" = "$end" ]
	works init-lm -q -t tok -p nano --eos '' --bos '<|end|>' --pad '<|end|>' --pad-vocab 64 -o other
	[ "$(key other/config.json eos_token_id)" = null ]
	[ "$(key other/config.json bos_token_id)" = "$end" ]
	[ "$(key other/config.json pad_token_id)" = "$end" ]
	[ "$(key other/config.json vocab_size)" = 512 ]
	has other/tokenizer_config.json '"bos_token": "<|end|>"'
	refuses init-lm -t tok -p nano --bos nothing -o third
	has "$err" "--bos: tok: no token is 'nothing'"
	refuses init-lm -t tok -p nano --vocab 499 -o third
	has "$err" '--vocab 499: tok has ids up to 499'
	[ ! -e third ]
}

@test "bert's tokenizer keeps what only it has" {
	tokenizer -m wordpiece
	works init-lm -q -t tok -a bert -p nano -o model
	same_bytes tok/tokenizer_config.json model/tokenizer_config.json
	has model/tokenizer_config.json '"mask_token": "[MASK]"' '"cls_token": "[CLS]"' '"sep_token": "[SEP]"'
}

@test 'a tokenizer that transformers 5 would open as another one: a warning' {
	tokenizer
	try init-lm -q -t tok -a qwen2 -p nano -o model
	[ "$status" = 0 ]
	has "$err" 'tok: transformers 5 opens the tokenizer of any qwen2 as Qwen2Tokenizer'
	works init-lm -q -t tok -a qwen3 -p nano -o other
	train-tokenizer -q -v 500 --raw --split qwen2 --normalizer nfc --eos '<|endoftext|>' -o qwen/ text
	works init-lm -q -t qwen -a qwen2 -p nano -o third
}

@test 'any file that holds a tokenizer' {
	local file

	for file in spm-bpe.model llama-bpe.gguf bert gpt2 unigram.json bpe_simple_vocab.txt.gz; do
		works init-lm -q -t "$GOOD/tokenizers/$file" -l 1 --width 16 -o "m-$file"
		works tokenize -q -t "m-$file" --raw --ids "$ROOT/README.md"
		cp "$out" got
		works tokenize -q -t "$GOOD/tokenizers/$file" --raw --ids "$ROOT/README.md"
		same_bytes "$out" got
	done
	works init-lm -q -t "$GOOD/tokenizers/ranks.tiktoken" --split cl100k -l 1 --width 16 -o ranks
	refuses init-lm -q -t "$GOOD/tokenizers/ranks.tiktoken" -l 1 --width 16 -o none
	try init-lm -q -t "$GOOD/tokenizers/ranks.tiktoken" --split x -l 1 --width 16 -o none
	one_usage_line
}

@test 'values: by the seed, by the kind, in bf16' {
	works init-lm -q -p nano -o one
	works init-lm -q -p nano -o two -j 1
	same_bytes one/model.safetensors two/model.safetensors
	works init-lm -q -p nano -s 1 -o other
	differ one/model.safetensors other/model.safetensors
	works init-lm -q -p nano --init mup -o mup
	differ one/model.safetensors mup/model.safetensors
	works init-lm -q -p nano --init-range 0.04 -o wide
	has wide/config.json '"initializer_range": 0.04'
	works init-lm -q -p nano --dtype bf16 -o half
	has half/config.json '"dtype": "bfloat16"' '"torch_dtype": "bfloat16"'
	# to bf16's rounding
	try diff-model --ignore-dtype --rtol 0.004 one half
	[ "$(cut -f 1,2 "$out" | paste -sd ' ')" = $'what\tname metadata\ttorch_dtype metadata\tdtype' ] || fail_showing "$out"
}

@test 'what it costs: JSON, memory by optimizer, the length of sequences' {
	works init-lm -p tiny -n --batch 2 --ctx 64
	# 6 x 4,000,000 + 12 x 4 layers x 256 x 65 / 2
	is parameters 4000000 embedding 1048576 non_embedding 2951424 flops 24399360 tokens 80000000
	is memory_weights 16000000 memory_gradients 16000000 memory_optimizer_and_state 32000000
	activations=$(value memory_activations)
	works init-lm -p tiny -n --batch 4 --ctx 64
	[ "$(value memory_activations)" -gt "$activations" ]
	[ "$(value micro_batch)" = 4 ]
	works init-lm -p tiny -n --batch 64 --ctx 512
	[ "$(value micro_batch)" = 8 ] && [ "$(value recomputed)" = 0 ] || fail_showing "$out"
	all=$(value memory)
	works init-lm -p tiny -n --batch 64 --ctx 512 --memory $((all - 1))
	[ "$(value memory)" -lt "$all" ] && [ "$(value recomputed)" -gt 0 ] || fail_showing "$out"
	refuses init-lm -p tiny -n --batch 64 --ctx 512 --memory 50M
	has "$err" 'training needs'
	works init-lm -p tiny -n --batch 2 --ctx 64 --optimizer lion --compute bf16
	is memory_optimizer_and_state 16000000
	works init-lm -p tiny -n --batch 2 --ctx 64 --json
	has "$out" '"architecture":"llama","layers":4,"width":256,' '"parameters":4000000,' '"flops":24399360,'
	# no part of the attention is counted twice where a window is shorter: (4 x 5 / 2 + 60 x 4) / 64 keys
	works init-lm -p tiny -a mistral --window 4 -n --batch 2 --ctx 64
	is flops $((24000000 + 12 * 4 * 256 * 250 / 64))
	[ -z "$(ls)" ] || complain "$(ls)"
}

@test 'misuse, and what cannot be' {
	try init-lm
	one_usage_line
	try init-lm -o model
	one_usage_line
	has "$err" 'layers and width are missing'
	try init-lm -p huge -n
	one_usage_line
	has "$err" "'huge' is none; --preset list shows them"
	try init-lm -p nano --tie --no-tie -n
	one_usage_line
	try init-lm -p nano --params 5M -n
	one_usage_line
	try init-lm -p nano --eos x -n
	one_usage_line
	has "$err" '-t is missing'
	try init-lm -p nano --json -o model
	one_usage_line
	try init-lm -p nano --ctx 1000 -n
	one_usage_line
	has "$err" "--ctx 1000: the model's context is 256"
	try init-lm -c "$GOOD/lm/llama/config.json" -a gpt2 -n
	one_usage_line
	has "$err" 'is a llama, not a gpt2'
	try init-lm -p nano -a gpt2 --rope-theta 5 -n
	one_usage_line
	try init-lm -p nano --window 5 -n
	one_usage_line
	try init-lm -p nano --heads 3 -n
	one_usage_line
	has "$err" '3 heads do not divide a width of 128'
	refuses init-lm -p nano --heads 2 --kv-heads 3 -n
	has "$err" num_key_value_heads
	try init-lm -p nano -a gpt2 --kv-heads 1 -n
	one_usage_line
	try init-lm -p nano -a bert --heads 2 --head-dim 32 -n
	one_usage_line
	has "$err" 'heads that make up the width'
	refuses init-lm -c nothing -n
	has "$err" 'nothing: No such file or directory'
	echo '{"model_type": "mamba"}' >other.json
	refuses init-lm -c other.json -n
	has "$err" 'other.json' mamba
	[ ! -e model ]
}

@test 'a folder that is in the way; a disk that fills; faults: nothing half-written' {
	mkdir full
	touch full/here
	refuses init-lm -p nano -o full
	[ "$(ls full)" = here ]
	refuses init-lm -p nano -o none/model
	rm -r full
	after_fault()
	{
		[ -z "$(ls -A)" ] && return
		[ "$(ls -A)" = model ] && [ "$(find model -type f | wc -l)" = 3 ] || { ls -A . model >&2; return 1; }
		rm -r model
	}
	for call in write fsync rename; do
		each_fault $call ENOSPC init-lm -q -l 1 --width 16 --vocab 30 -o model
		rm -rf model
	done
}

@test 'a full disk, a closed stdout' {
	on_full_disk init-lm -p nano -n
	on_full_disk init-lm -p list
	closed_stdout init-lm -p nano -n --json
}

@test 'the page: options and examples' {
	options_match_man init-lm
	cat "$ROOT/README.md" "$MAN/tokenize.1" >text
	man_examples init-lm
	[ -s half/model.safetensors ]
}
