#!/usr/bin/env bats
# Logits in f32 beside transformers in float64 (scripts/peers/logits_of.py): every decoder that we train, and the real models on their dequantized
# weights. After a short prompt none is more than 5e-5 off, over 512 tokens none more than 5e-4, and 64 greedy tokens are the same.
# LOGITS_REAL=1 adds the real models, a minute or more each.

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}
export OMP_NUM_THREADS=1

setup()
{
	scratch
	"$PYTHON" -c 'import transformers, torch' 2>/dev/null || cannot_run peer 'no transformers'
	cat "$ROOT/README.md" "$MAN/tokenize.1" >text
	printf 'The capital of France is' >short
}

# Values for what init-lm leaves at 1 or 0.
fill_vectors()
{
	"$PYTHON" - "$1" <<-'END'
		import sys, torch
		from safetensors.torch import load_file, save_file
		path = sys.argv[1] + "/model.safetensors"
		values, seed = load_file(path), torch.Generator().manual_seed(7)
		for name, v in values.items():
		    if v.ndim == 1:
		        v += 0.2 * torch.randn(v.shape, generator=seed)
		save_file(values, path, {"format": "pt"})
	END
}

peer()
{
	"$PYTHON" "$ROOT/scripts/peers/logits_of.py" "$@" 2>said || fail_showing said
}

# close MODEL LIMIT OPTION...: the logits of text, by make-golden with OPTION..., are that close
close()
{
	local model=$1 limit=$2

	rm -f ours.safetensors theirs.safetensors
	try make-golden -q --raw --cache-dtype f32 -o ours.safetensors "${@:3}" "$model"
	[ "$status" = 0 ] || fail_showing "$err"
	peer transformers "$model" ours.safetensors theirs.safetensors
	compare-logits -q --json --max-kl 1e-5 --max-perplexity 2e-4 theirs.safetensors ours.safetensors >said || fail_showing said
	"$PYTHON" - "$model" "$limit" <<-'END' || fail_showing said
		import json, sys
		found = json.load(open("said"))
		print(f"{sys.argv[1]}: {found['positions']} positions, {found['max_abs']:.2e} apart")
		assert found["nan"] == 0 and found["positions"] >= 4 and found["max_abs"] <= float(sys.argv[2])
	END
}

# greedy MODEL ENDS: 64 tokens after the short prompt, none of them one of ENDS
greedy()
{
	local prompt new n

	prompt=$("$PYTHON" - <<-'END'
		import sys
		sys.argv[1:] = []
		from safetensors.numpy import load_file
		print(*load_file("short.safetensors")["ids"])
	END
	)
	try decode -q -n 64 --ignore-eos --compute f32 --cache-dtype f32 --logprobs 0 -f short "$1"
	[ "$status" = 0 ] || fail_showing "$err"
	new=$(cut -f 2 "$out")
	[ "$(wc -w <<<"$new")" = 64 ] || fail_showing "$out"
	n=$(wc -w <<<"$prompt")
	# shellcheck disable=SC2086
	[ "$(peer greedy "$1" "$n" "$2" $prompt $new)" = 64 ] || fail_showing "$out"
}

# agrees MODEL ENDS
agrees()
{
	close "$1" 5e-5 -d short || return
	mv ours.safetensors short.safetensors
	greedy "$1" "$2" || return
	close "$1" 5e-4 -d text -n 512 -c 512
}

@test 'small random models of every decoder' {
	local a window

	train-tokenizer -q -v 500 --raw --bos '<s>' --eos '</s>' -o tok/ text
	for a in llama mistral qwen2 qwen3 smollm3 gemma3 gpt2; do
		window=
		case $a in mistral | gemma3) window=--window=64 ;; esac
		try init-lm -q -a $a -t tok -p nano -l 7 --context 512 --init mup --init-range 0.5 --seed 5 $window -o $a
		[ "$status" = 0 ] || fail_showing "$err"
		fill_vectors $a || return
		agrees $a "$("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["eos_token_id"])' $a/config.json)" || complain "$a"
	done
}

@test 'SmolLM2 135M, Q4_1' {
	[ -n "${LOGITS_REAL-}" ] || skip 'slow: LOGITS_REAL=1 asks for it'
	[ -e "$MODELS/smollm2-135m-instruct-q4_1.gguf" ] || cannot_run peer 'scripts/peers/models was not run'
	agrees "$MODELS/smollm2-135m-instruct-q4_1.gguf" 0,2
}

@test 'Gemma 3 270M, Q4_K_M' {
	[ -n "${LOGITS_REAL-}" ] || skip 'slow: LOGITS_REAL=1 asks for it'
	[ -e "$MODELS/gemma3-270m-q4_k_m.gguf" ] || cannot_run peer 'scripts/peers/models was not run'
	agrees "$MODELS/gemma3-270m-q4_k_m.gguf" 1,106
}
