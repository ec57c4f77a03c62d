#!/usr/bin/env bats
# decode: the 64 greedy tokens of transformers 5 after "The capital of France is", in float64 with the same weights dequantized, and with the end of a
# text banned. (llama.cpp rounds what goes into products to 8 bits, and parts from both where two logits are as near as 0.01.)

load ../cmd/lib

MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}

# greedy MODEL ID...: as many tokens as are listed.
greedy()
{
	local path=$MODELS/$1

	[ -e "$path" ] || cannot_run peer 'scripts/peers/models was not run'
	shift
	works decode -q --ignore-eos -n $# --compute f32 --cache-dtype f32 --logprobs 0 -p 'The capital of France is' "$path"
	[ "$(cut -f 2 "$out" | tr '\n' ' ')" = "$* " ] || complain "$(cut -f 2 "$out" | tr '\n' ' ')"
}

@test 'SmolLM2 135M, Q4_1' {
	greedy smollm2-135m-instruct-q4_1.gguf 7042 30 198 198 504 2988 314 42 216 34 32 33 40 29 32 33 29 34 34 216 33 34 42 33 34 42 37 35 30 \
		198 198 504 2988 314 42 216 34 32 33 40 29 32 33 29 34 34 216 33 34 42 33 34 42 37 35 30 198 198 504 2988 314 42 216 34
}

@test 'Gemma 3 270M, Q4_K_M' {
	greedy gemma3-270m-q4_k_m.gguf 506 5279 529 506 2891 529 7001 236761 1030 563 506 7488 3207 528 7001 532 506 1855 7488 3207 528 3879 236761 1030 563 \
		5628 528 506 6029 529 506 2891 532 563 506 5279 529 506 4128 529 506 1638 1463 236761 1030 563 506 7488 3207 528 7001 532 506 1855 7488 3207 \
		528 3879 236761 108 818 5279 529 7001
}
