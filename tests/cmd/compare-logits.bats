#!/usr/bin/env bats
# compare-logits: a model beside itself, beside others, beside what it said before; limits, nodes, trouble

load lib

setup_file()
{
	load lib
	untrained_lm --layers 2 --heads 2 --kv-heads 1
	copy-model -q --dtype bf16 model half
	init-lm -q -t tok --width 64 --ffn 96 --context 64 --layers 2 --heads 2 --kv-heads 1 --seed 4 -o other
}

setup()
{
	scratch
	for f in model half other tok text; do ln -s "$BATS_FILE_TMPDIR/$f" .; done
}

# number NAME: of the last line of $out.
number() { tail -n 1 "$out" | sed -E 's/.*"'"$1"'":([^,}]*).*/\1/'; }

# holds CONDITION NAME...: of awk, over the numbers of these names.
holds()
{
	local condition=$1 name values=()

	shift
	for name; do values+=(-v "$name=$(number "$name")"); done
	awk "${values[@]}" "BEGIN { exit !($condition) }" || fail_showing "$out"
}

@test 'a model beside itself: nothing differs' {
	works compare-logits -q --json --raw -d text -n 150 -c 50 model model
	holds 'positions == 150 && nan == 0 && max_abs == 0 && kl == 0 && variation == 0 && top1 == 1 && overlap == 1' \
		positions nan max_abs kl variation top1 overlap
	# three windows: the last token of each has none after it
	holds 'scored == 147 && perplexity_1 == perplexity_2' scored perplexity_1 perplexity_2
}

@test 'its perplexity is that of eval-lm' {
	head -c 80 text >short
	works compare-logits -q --json --raw -d short model model
	holds 'positions == scored + 1' positions scored
	a=$(number perplexity_1)
	works eval-lm -q --json --raw -d short model
	awk -v a="$a" -v b="$(number perplexity)" 'BEGIN { d = a / b - 1; exit !(d * d < 1e-12) }'
}

@test 'a copy in bf16: a little, and no verdict unless asked for' {
	try compare-logits --json --raw -d text -n 100 -c 50 model half
	[ "$status" = 0 ]
	has "$err" 'weights of f32 and bf16: not judged'
	holds 'max_abs > 0 && max_relative < 0.02 && kl > 0 && kl < 1e-3 && variation < 0.05' \
		max_abs max_relative kl variation
	works compare-logits -q --raw -d text -n 100 -c 50 --max-kl 1e-3 --min-top1 0.5 --max-perplexity 0.01 model half
	try compare-logits -q --raw -d text -n 100 -c 50 --max-kl 1e-12 --min-top1 1 --max-diff 1e-9 model half
	[ "$status" = 1 ]
	has "$err" 'past the limit of 1e-12'
	has "$err" 'largest difference, by the largest logit: '
}

@test 'another model of the same type of weights is past the limit of its type' {
	try compare-logits -q --raw -d text -n 100 -c 50 model other
	[ "$status" = 1 ]
	has "$err" 'past the limit of 0.001'
	try compare-logits -q --raw -d text -n 100 -c 50 --compute bf16 model other
	[ "$status" = 1 ]
	has "$err" 'mean divergence'
	has "$err" 'past the limit of 0.01'
	works compare-logits -q --raw -d text -n 100 -c 50 --max-diff 100 model other
}

@test 'one side in bf16, through a cache, or on the reference' {
	works compare-logits -q --json --raw -d text -n 100 -c 50 --compute-2 bf16 model model
	holds 'max_abs > 0 && kl < 1e-3' max_abs kl
	works compare-logits -q --json --raw -d text -n 100 -c 50 --cache-dtype-2 f16 model model
	holds 'max_abs > 0 && max_relative < 1e-3' max_abs max_relative
	works compare-logits -q --json --raw -d text -n 100 -c 50 --cache-dtype f32 --cache-dtype-2 none model model
	holds 'max_relative < 1e-5' max_relative
	works compare-logits -q --json --raw -d text -n 100 -c 50 --device-2 ref model model
	holds 'max_relative < 1e-5' max_relative
}

@test 'a row for each position' {
	works compare-logits -q -p --raw -d text -n 30 -c 20 model half
	[ "$(head -n 1 "$out" | cut -f 1-4)" = "$(printf 'position\tid\tmax_abs\tkl')" ]
	[ "$(grep -c -E '^[0-9]' "$out")" = 30 ]
	tokenize -q -t tok --raw --ids text | tr ' ' '\n' | head -n 30 >ids
	grep -E '^[0-9]' "$out" | cut -f 2 >got
	same_bytes ids got
	works compare-logits -q -p --json --raw -d text -n 30 -c 20 model half
	[ "$(grep -c '"position":' "$out")" = 30 ]
}

@test 'nodes: each layer, and the first that is off' {
	works compare-logits -q --raw -d text -n 40 --taps '*/rms_norm*,*/attention' model model
	[ "$(grep -c '^model\.layers\.[01]/attention' "$out")" = 2 ]
	[ "$(grep -c '^model\.layers\.[01]/rms_norm' "$out")" = 4 ]
	try compare-logits -q --raw -d text -n 40 --max-diff 9 --taps '*/attention' model other
	[ "$status" = 1 ]
	has "$err" 'model.layers.0/attention: the first node past the limit of 1e-05'
	works compare-logits -q --raw -d text -n 40 --taps '*/attention' --tap-limit 0.1 model half
	refuses compare-logits -q --raw -d text -n 40 --taps nothing model model
	has "$err" 'no node that both models have'
}

@test 'a layer that is off is the first that is named' {
	cp -rL model changed
	# the names of two tensors of one shape of the second layer, in the place of each other
	sed -i 's/layers\.1\.mlp\.gate_proj/layers.1.mlp.XXXX_proj/; s/layers\.1\.mlp\.up_proj/layers.1.mlp.gate_proj/; s/layers\.1\.mlp\.XXXX_proj/layers.1.mlp.up_proj/' changed/model.safetensors
	try compare-logits -q --raw -d text -n 40 --max-diff 9 --taps '*/attention,*/swiglu' model changed
	[ "$status" = 1 ]
	has "$err" 'model.layers.1/swiglu: the first node past the limit'
}

@test 'kept logits: the same model, and its copy on either side' {
	make-golden -q --raw -d text -n 100 -c 50 -o kept.safetensors model
	works compare-logits -q --json kept.safetensors model
	holds 'positions == 100 && max_abs == 0' positions max_abs
	works compare-logits -q --json half kept.safetensors
	holds 'max_abs > 0 && kl < 1e-3' max_abs kl
}

@test 'kept logits in f16, on stdout, and two of them' {
	make-golden -q --raw -d text -n 60 --dtype f16 -o a.safetensors model
	make-golden -q --raw -d text -n 60 -o - model >b.safetensors
	works compare-logits -q --json a.safetensors b.safetensors
	holds 'max_abs > 0 && max_relative < 1e-3' max_abs max_relative
	make-golden -q --raw -d text -n 61 -o c.safetensors model
	refuses compare-logits -q a.safetensors c.safetensors
	has "$err" 'different tokens'
	misused compare-logits -q -d text a.safetensors model
	misused compare-logits -q --taps '*' a.safetensors model
}

@test 'what does not belong together' {
	mkdir tok2
	train-tokenizer -q -v 400 --raw --split none -o tok2/ "$ROOT/README.md"
	init-lm -q -t tok2 --width 64 --ffn 96 --context 64 --layers 1 --heads 2 --kv-heads 1 -o strange
	refuses compare-logits -q --raw -d text model strange
	has "$err" 'tokenizers give different ids'
	: >empty
	refuses compare-logits -q --raw -d empty model model
	refuses compare-logits -q -d text model model
	has "$err" 'text needs --raw or --docs'
	refuses compare-logits -q --raw -d text model missing
}

@test 'a closed stdout, a broken file' {
	make-golden -q --raw -d text -n 60 -o a.safetensors model
	head -c 20000 a.safetensors >cut.safetensors
	refuses compare-logits -q cut.safetensors model
	sed 's/nnutils-logits/nnutils-log1ts/' a.safetensors >kind.safetensors
	refuses compare-logits -q kind.safetensors model
	has "$err" 'holds no logits'
	try bash -c 'compare-logits -q --raw -d text -n 60 model model >/dev/full'
	[ "$status" = 2 ]
}

@test 'examples of the page' {
	man_examples compare-logits
}
