#!/usr/bin/env bats
# Models beside the formats' own packages: gguf-py, safetensors, transformers, NumPy (scripts/peers/requirements.txt), on
# the two real models (scripts/peers/models) and on the tiny folders of fixtures/good/hf

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}
PEERS=$ROOT/scripts/peers

setup()
{
	scratch
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	[ -e "$MODELS/gemma3-270m-q4_k_m.gguf" ] || cannot_run peer 'scripts/peers/models was not run'
}

peer() { "$PYTHON" "$PEERS/$1" "${@:2}" 2>"$err" || { show "$err"; return 1; }; }

@test 'tensors and keys are what gguf-py says' {
	local model

	for model in "$MODELS"/*.gguf; do
		peer listing.py tensors "$model" >want || return
		works show-model -t "$model"
		diff want "$out" >&2 || return
		peer listing.py metadata "$model" >want || return
		works show-model -m -n 0 "$model"
		diff want "$out" >&2 || return
	done
}

@test 'values are what gguf-py decodes, to the bit' {
	local model

	for model in "$MODELS"/*.gguf; do
		works copy-model -q -d f32 "$model" f32.gguf
		peer values.py "$model" f32.gguf >&2 || return
		rm f32.gguf
	done
}

@test 'split into parts that gguf-py reads, and joined to the same bytes' {
	local model part

	for model in "$MODELS"/*.gguf; do
		works copy-model -q --shard-size 40M "$model" part.gguf
		for part in part-*.gguf; do
			peer listing.py tensors "$part" >want || return
			cut -f 1 want | sed 1d >>names
		done
		show-model -t "$model" | cut -f 1 | sed 1d | diff names - >&2 || return
		works copy-model -q part-00001-of-*.gguf joined.gguf
		same_bytes "$model" joined.gguf
		rm part-* joined.gguf names
	done
}

@test 'transformers opens folders that were cut into shards, with equal weights' {
	local model pairs=()

	for model in "$ROOT"/fixtures/good/hf/*; do
		works copy-model -q --shard-size 3k "$model" "shards-${model##*/}"
		works copy-model -q --join "shards-${model##*/}" "joined-${model##*/}"
		pairs+=("$model" "shards-${model##*/}" "$model" "joined-${model##*/}")
	done
	peer opens.py folder "${pairs[@]}"
}

@test 'transformers opens a converted folder, in the type that its config.json says' {
	works copy-model -q -d bf16 "$ROOT/fixtures/good/hf/qwen3" half
	peer opens.py folder half half
	"$PYTHON" -c "
import transformers
m = transformers.AutoModel.from_pretrained('half', dtype='auto')
assert str(m.dtype) == 'torch.bfloat16', m.dtype" 2>"$err"
}

@test 'safetensors writes the bytes that we write' {
	local model

	for model in "$ROOT"/fixtures/good/hf/*; do
		works copy-model -q --rename nothing=nowhere "$model" "${model##*/}.safetensors"
		works copy-model -q --shard-size 3k "$model" "${model##*/}"
	done
	peer opens.py safetensors ./*.safetensors ./*/*.safetensors
}

@test 'NumPy reads what get-tensor writes' {
	local model=$ROOT/fixtures/good/hf/gpt2 name sum

	name=$(show-model -t "$model" | awk '$3 ~ /x/ { print $1; exit }')
	sum=$(get-tensor -f raw -s 1:3 "$model" "$name" | sha256sum | cut -d ' ' -f 1)
	works get-tensor -s 1:3 "$model" "$name"
	peer opens.py npy "$out" "(2, $(show-model -t "$model" | awk -v n="$name" '$1 == n { sub(/.*x/, "", $3); print $3 }'))" '<f4' "$sum"
}
