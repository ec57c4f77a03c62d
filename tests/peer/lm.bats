#!/usr/bin/env bats
# Language models in GGUF: the logits of transformers after "The capital of France is", with the same weights dequantized

load ../cmd/lib

MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}
LOGITS=$BUILD/tests/peer/lm-logits

setup()
{
	scratch
	[ -x "$LOGITS" ] || cannot_run peer 'tests/peer/lm-logits was not built'
}

# same FILE: every line of it against $out, ids in their order, logits to 5e-4
same()
{
	paste "$1" "$out" | awk -F '\t' '$1 != $3 || ($2 - $4) ^ 2 > 25e-8 { bad = 1 } END { exit bad || NR != 5 }' && return
	paste "$1" "$out" >&2
	complain "other logits"
}

model()
{
	[ -e "$MODELS/$1" ] || cannot_run peer 'scripts/peers/models was not run'
}

@test 'SmolLM2 135M, Q4_1: q and k as they lie, and turned' {
	model smollm2-135m-instruct-q4_1.gguf
	printf '%s\t%s\n' 7042 17.3713 260 14.8886 4528 13.2450 2250 13.0095 1315 12.9515 >want
	works "$LOGITS" "$MODELS/smollm2-135m-instruct-q4_1.gguf" 504 3575 282 4649 314
	same want
	[ ! -s "$err" ] || complain "$(cat "$err")"
	works "$LOGITS" -p "$MODELS/smollm2-135m-instruct-q4_1.gguf" 504 3575 282 4649 314
	same want
}

@test 'Gemma 3 270M, Q4_K_M' {
	model gemma3-270m-q4_k_m.gguf
	printf '%s\t%s\n' 506 19.0915 496 18.5476 9079 18.2686 886 18.1130 3224 17.7839 >want
	works "$LOGITS" "$MODELS/gemma3-270m-q4_k_m.gguf" 2 818 5279 529 7001 563
	same want
	[ ! -s "$err" ] || complain "$(cat "$err")"
}
