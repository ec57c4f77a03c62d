#!/usr/bin/env bats
# census beside PyTorch: each operator that eager PyTorch calls for the example models, counted as they are called

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python

setup()
{
	scratch
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	"$PYTHON" -c 'import torch' 2>/dev/null || cannot_run peer 'no torch in the peers environment'
}

# same KIND TOKENS WIDTH FFN LAYERS HEADS KV VOCAB DTYPE TRAIN
same()
{
	local -a options=(--example "$1" -n "$2" --width "$3" --ffn "$4" -l "$5" --heads "$6" --kv-heads "$7" --dtype "$9")

	[ "$8" = 0 ] || options+=(--vocab "$8")
	[ "${10}" = 0 ] || options+=(--train)
	"$PYTHON" "$ROOT/scripts/peers/eager_bytes.py" "$@" calls 2>"$err" | sed 1d | sort >want
	[ -s want ] || { show "$err"; return 1; }
	works census "${options[@]}" --eager
	sed -e 1d -e '/^all	/d' "$out" | cut -f 1-3 | sort | diff -u want - >&2 || complain "$*"
}

@test 'operators, calls and bytes of a block' {
	same block 64 48 128 1 4 4 0 f32 0
	same block 64 48 128 3 4 2 500 f32 1
	same block 64 48 128 2 4 4 0 bf16 1
}

@test 'operators, calls and bytes of an mlp' {
	same mlp 64 48 128 3 1 1 0 bf16 1
	same mlp 64 48 128 2 1 1 500 f32 1
}
