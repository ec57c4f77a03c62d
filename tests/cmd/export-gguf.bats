#!/usr/bin/env bats
# export-gguf: a folder as a GGUF that means the same, what is refused by name, trouble

load lib

LM=$ROOT/fixtures/good/lm

# A tokenizer and a model of four heads over two, made once: `tok` and `model`.
setup_file()
{
	untrained_lm -p nano -l 2 --heads 8 --kv-heads 2 --head-dim 4
}

setup()
{
	scratch
	ln -s "$BATS_FILE_TMPDIR/model" model
	ln -s "$BATS_FILE_TMPDIR/tok" tok
}

# said WORDS...: stderr of a run that worked has them.
said()
{
	[ "$status" = 0 ] || { show "$err"; complain "exit status $status"; return 1; }
	has "$err" "$@"
}

# key FILE NAME: its value, as show-model prints it
key()
{
	show-model -m -n 0 "$1" | awk -F '\t' -v name="$2" '$1 == name { print $3 }'
}

@test 'the page: options and examples' {
	cp -RL model tiny-lm
	options_match_man export-gguf
	man_examples export-gguf
}

@test 'there and back: every tensor, the configuration, the tokenizer' {
	works export-gguf -q -o m.gguf model
	works import-gguf -q -o back m.gguf
	works diff-model -q model back
	for file in model/*; do
		same_bytes "$file" "back/${file#*/}"
	done
	works export-gguf -q -o again.gguf back
	works diff-model -q --no-metadata m.gguf again.gguf
}

@test 'the same bytes each time, and on stdout' {
	works export-gguf -q -o a.gguf model
	works export-gguf -q -o b.gguf model
	same_bytes a.gguf b.gguf
	export-gguf -q -o - model >c.gguf
	same_bytes a.gguf c.gguf
}

@test 'folder and file write the same text' {
	works decode -q -n 20 --temperature 1 -p 'the tokens' model
	cp "$out" folder
	works export-gguf -q -o m.gguf model
	works decode -q -n 20 --temperature 1 -p 'the tokens' m.gguf
	same_bytes folder "$out"
}

@test 'a model of some steps: text of the folder and of the file' {
	cat "$ROOT/README.md" "$MAN"/*.1 >text
	tokenize -q -t tok --raw text | pack-tokens -q --split val=0.05 -o data/
	try train-lm -q -d data/train.tok -c 64 -b 8 --steps 40 --lr 3e-3 -o run model
	said
	works export-gguf -q -o m.gguf run/last
	works decode -q -n 40 -p 'The' run/last
	cp "$out" folder
	works decode -q -n 40 -p 'The' m.gguf
	same_bytes folder "$out"
	[ "$(wc -c <folder)" -gt 20 ] || complain 'no text'
}

# rows MODEL TENSOR: a line each
rows()
{
	get-tensor -f text "$1" "$2"
}

@test 'rows of q and k become pairs of neighbours (J03): 0 2 1 3 4 6 5 7' {
	works export-gguf -q -o m.gguf model
	rows model model.layers.0.self_attn.k_proj.weight >here
	rows m.gguf blk.0.attn_k.weight >there
	[ "$(wc -l <here)" = 8 ]
	for i in 1 3 2 4 5 7 6 8; do
		sed -n "${i}p" here
	done >want
	same_bytes want there
	rows model model.layers.0.self_attn.v_proj.weight >here
	rows m.gguf blk.0.attn_v.weight >there
	same_bytes here there
}

@test 'matrices of gpt2 are turned (J12), where they are square too' {
	init-lm -q -a gpt2 -t tok -l 1 --width 16 --heads 2 -o g
	works export-gguf -q -o g.gguf g
	rows g transformer.h.0.attn.c_proj.weight >here
	rows g.gguf blk.0.attn_output.weight >there
	awk '{ for (i = 1; i <= NF; i++) row[i] = row[i] (NR > 1 ? "\t" : "") $i }
		END { for (i = 1; i <= NF; i++) print row[i] }' FS='[ \t]+' here >turned
	sed -E 's/[ \t]+/\t/g' there >want
	same_bytes want turned
}

@test 'types: kept, asked for, vectors f32 (J09)' {
	init-lm -q -t tok -p nano -l 1 --dtype bf16 -o b
	works export-gguf -q -o b.gguf b
	show-model -t b.gguf >list
	grep -q 'blk.0.attn_q.weight.*bf16' list
	grep -q 'blk.0.attn_norm.weight.*f32' list
	[ "$(key b.gguf general.file_type)" = 32 ]
	works import-gguf -q -o back b.gguf
	works diff-model -q b back
	works export-gguf -q -d f16 -o h.gguf b
	grep -q 'blk.0.attn_q.weight.*f16' <(show-model -t h.gguf)
	[ "$(key h.gguf general.file_type)" = 1 ]
	works export-gguf -q -d f32 -o f.gguf b
	works import-gguf -q -d bf16 -o same f.gguf
	works diff-model -q b same
}

# wide TYPE BYTES: a folder whose first value is these bytes
wide()
{
	init-lm -q -t tok -p nano -l 1 --dtype "$1" -o wide
	printf '%b' "$2" | dd of=wide/model.safetensors bs=1 conv=notrunc status=none \
		seek=$((8 + $(od -An -N8 -tu8 wide/model.safetensors)))
	[ "$(get-tensor -f text wide model.embed_tokens.weight | awk '{ print $1; exit }')" = 70144 ]
}

@test 'past the range of f16 (G06): refused by name, clamped and counted' {
	wide bf16 '\x89\x47'
	refuses export-gguf -d f16 -o m.gguf wide
	has "$err" 'tensor token_embd.weight: 70144 is past the range of f16' '--clamp'
	[ ! -e m.gguf ]
	try export-gguf -q -d f16 --clamp -o m.gguf wide
	said 'past the range of f16 and are its largest now'
	[ "$(rows m.gguf token_embd.weight | awk '{ print $1; exit }')" = 65504 ]
	works export-gguf -q -o m.gguf wide
}

@test 'ids beyond the tokenizer, a tokenizer that is too large' {
	init-lm -q -t tok -p nano -l 1 --pad-vocab 64 -o padded
	works export-gguf -q -o m.gguf padded
	has <(show-model -m m.gguf) 'string[448]'
	works decode -q -n 4 -p 'the tokens' m.gguf
	sed 's/"vocab_size": 448/"vocab_size": 300/' padded/config.json >c.json
	init-lm -q -c c.json --vocab 300 -o small
	refuses export-gguf -t tok -o s.gguf small
	has "$err" 'ids up to 399' '300 rows'
}

@test 'every end of a text (J08)' {
	cp -RL model ends
	cat >ends/generation_config.json <<<'{"eos_token_id": [3, 7, 9, 11]}'
	sed -i -E 's/"eos_token_id": [^,]*/"eos_token_id": 7/' ends/config.json
	try export-gguf -o m.gguf ends
	# the tokenizer's own is the first, then those of generation_config.json
	said 'a text ends at the tokens 0, 3, 7, 9, 11' 'token 9: llama.cpp has keys for three' 'token 11: llama.cpp has keys for three'
	[ "$(for role in eos eot eom; do key m.gguf tokenizer.ggml.${role}_token_id; done | tr '\n' ' ')" = '0 3 7 ' ]
	works import-gguf -q -o back m.gguf
	same_bytes ends/config.json back/config.json
	same_bytes ends/generation_config.json back/generation_config.json
	[ -n "$(key m.gguf tokenizer.ggml.add_bos_token)" ] && [ -n "$(key m.gguf tokenizer.ggml.add_eos_token)" ]
}

@test 'a chat template, a license, a name' {
	cat "$ROOT/README.md" >text
	train-tokenizer -q -v 400 --raw --chat-template chatml -o chat/ text
	init-lm -q -t chat -p nano -l 1 -o c
	printf -- '---\nlicense: apache-2.0\ntags: [x]\n---\nlicense: none\n' >c/README.md
	works export-gguf -q -o c.gguf c
	[ "$(key c.gguf general.license)" = '"apache-2.0"' ] || complain "$(key c.gguf general.license)"
	[ "$(key c.gguf general.name)" = '"c"' ]
	has <(show-model -m c.gguf) tokenizer.chat_template
	works import-gguf -q -o back c.gguf
	for file in c/*.json c/*.jinja; do
		[ ! -e "$file" ] || same_bytes "$file" "back/${file#*/}"
	done
	printf '{"messages": [{"role": "user", "content": "the tokens"}]}\n' >chat.jsonl
	tokenize -q --messages -t c chat.jsonl >a.tokens
	tokenize -q --messages -t c.gguf chat.jsonl >b.tokens
	detokenize -q -t c a.tokens >a
	detokenize -q -t c b.tokens >b
	same_bytes a b
}

@test '--plain: no keys of ours; --dry-run: nothing is written' {
	works export-gguf -q --plain -o m.gguf model
	show-model -m m.gguf >keys
	lacks keys nnutils. huggingface
	works decode -q -n 4 -p 'the tokens' m.gguf
	works export-gguf --dry-run -q model
	has "$out" $'blk.1.ffn_down.weight\tf32\t64x96'
	[ "$(wc -l <"$out")" = "$(show-model -t m.gguf | grep -c weight)" ]
	[ ! -e x.gguf ]
}

@test 'names without model. (J02), missing tensors, tensors that no one knows' {
	copy-model -q --join "$LM/llama" l
	copy-model -q --rename 'model.*=*' l/model.safetensors bare.safetensors
	mv bare.safetensors l/model.safetensors
	works export-gguf -q --allow no-tokenizer -o l.gguf l
	works export-gguf -q --allow no-tokenizer -o whole.gguf "$LM/llama"
	works diff-model -q --no-metadata l.gguf whole.gguf
	sed -i 's/"attention_bias": true/"attention_bias": false/' l/config.json
	refuses export-gguf --allow no-tokenizer -o x.gguf l
	has "$err" '8 tensors' 'layers.0.self_attn' '--allow tensors'
	try export-gguf --allow no-tokenizer,tensors -o x.gguf l
	said 'allowed: tensors'
	copy-model -q --except '*.1.mlp.up_proj.weight' l/model.safetensors cut.safetensors
	mv cut.safetensors l/model.safetensors
	refuses export-gguf --allow no-tokenizer,tensors -o x.gguf l
	has "$err" 'layers.1.mlp.up_proj.weight' 'is missing'
}

@test 'what GGUF cannot say is refused by its name' {
	refuses export-gguf --allow no-tokenizer -o m.gguf "$LM/mistral"
	has "$err" 'sliding_window 5' '--allow window'
	try export-gguf --allow no-tokenizer,window -o m.gguf "$LM/mistral"
	said 'allowed: window'
	refuses export-gguf -o m.gguf "$LM/qwen3"
	has "$err" 'tokenizer.json' '-t names one' '--allow no-tokenizer'
	cat "$ROOT/README.md" >text
	train-tokenizer -q -v 400 --raw --split '\w+|\W' -o odd/ text
	init-lm -q -t odd -p nano -l 1 -o o
	refuses export-gguf -o m.gguf o
	has "$err" 'pre_tokenizer' '--allow tokenizer'
	try export-gguf --allow tokenizer -o m.gguf o
	said 'pre_tokenizer'
	# ours reads the exact one all the same
	works decode -q -n 3 -p 'a b' m.gguf
	try export-gguf --allow tokenizer --pre smollm -o m.gguf o
	said 'smollm'
	[ "$(key m.gguf tokenizer.ggml.pre)" = '"smollm"' ]
	refuses export-gguf --pre nonesuch -o m.gguf model
	has "$err" nonesuch
}

@test 'first steps gone wrong' {
	refuses export-gguf -o m.gguf nowhere
	has "$err" 'nowhere: No such file'
	misused export-gguf model
	has "$err" '-o'
	mkdir empty
	refuses export-gguf -o m.gguf empty
	has "$err" 'model.safetensors'
	cp model/model.safetensors empty
	refuses export-gguf -o m.gguf empty
	has "$err" 'config.json'
	sed 's/"model_type": "llama"/"model_type": "mamba"/; s/LlamaForCausalLM/MambaForCausalLM/' model/config.json >empty/config.json
	refuses export-gguf -o m.gguf empty
	has "$err" mamba
	works export-gguf -q -o m.gguf model
	refuses export-gguf -o n.gguf m.gguf
	has "$err" copy-model import-gguf
	refuses export-gguf --allow windows -o n.gguf model
	has "$err" windows
	refuses export-gguf -t nowhere -o n.gguf model
	has "$err" nowhere
	misused export-gguf
	misused export-gguf -d q4_0 -o n.gguf model
	[ ! -e n.gguf ]
}

@test 'no half-written file' {
	refuses export-gguf -q -o /dev/full model
	has "$err" 'No space left'
	on_full_disk export-gguf -q -o - model
	closed_stdout export-gguf -q -o - model
	broken_pipe export-gguf -q -o - model
	after_fault()
	{
		[ "$(find . -name '.*tmp*')" = '' ] || complain 'a temporary is left'
		[ "$status" = 0 ] || [ ! -e t.gguf ] || complain 'half a file'
		rm -f t.gguf
	}
	each_fault write ENOSPC export-gguf -q -o t.gguf model
	each_fault fsync EIO export-gguf -q -o t.gguf model
	each_fault rename EIO export-gguf -q -o t.gguf model
}
