#!/usr/bin/env bats
# decode: the greedy tokens of transformers 5 after "The capital of France is", with the same weights dequantized

load ../cmd/lib

MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}

# greedy MODEL ID...: as many tokens as are listed.
greedy()
{
	local path=$MODELS/$1

	[ -e "$path" ] || cannot_run peer 'scripts/peers/models was not run'
	shift
	works decode -q --ignore-eos -n $# --logprobs 0 -p 'The capital of France is' "$path"
	[ "$(cut -f 2 "$out" | tr '\n' ' ')" = "$* " ] || complain "$(cut -f 2 "$out" | tr '\n' ' ')"
}

@test 'SmolLM2 135M, Q4_1' {
	greedy smollm2-135m-instruct-q4_1.gguf 7042 30 198 198 504 2988 314 42 216 34 32 33 40 29 32 33 29 34 34 216 33 34 42 33 34 42 37 35 30 2 198 1
}
