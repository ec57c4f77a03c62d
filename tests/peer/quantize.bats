#!/usr/bin/env bats
# quantize beside llama.cpp's from the same f32 file: every mix, and with an importance matrix that eval-lm made and gguf-py read

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
LLAMA=${NNUTILS_LLAMA:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/llama}/bin/python

setup_file()
{
	load ../cmd/lib
	cd "$BATS_FILE_TMPDIR" || return
	cat "$ROOT/README.md" "$MAN/tokenize.1" >text
	train-tokenizer -q -v 500 --raw -o tok/ text
	init-lm -q -t tok --width 256 --ffn 512 --context 64 --layers 7 --heads 4 --kv-heads 2 -o wide
	quantize -q --type f32 wide wide.gguf
}

setup()
{
	scratch
	"$LLAMA" -c 'import llama_cpp, numpy' 2>/dev/null || cannot_run peer 'scripts/peers/setup-llama was not run'
	wide=$BATS_FILE_TMPDIR/wide.gguf
}

# theirs NUMBER [WEIGHTS]: theirs.gguf
theirs()
{
	"$LLAMA" "$ROOT/scripts/peers/llama_quantize.py" "$wide" theirs.gguf "$1" 1 "${@:2}" >said 2>&1 || fail_showing said
}

# The tensors of ours.gguf have the bytes that theirs.gguf has.
same_tensors()
{
	diff-model -q --no-metadata ours.gguf theirs.gguf >differ 2>&1 || { show differ; complain "$1"; }
}

@test 'every type and mix: the same bytes' {
	local pair

	for pair in q4_0=2 q4_1=3 q8_0=7 q5_0=8 q5_1=9 q2_k=10 q3_k_s=11 q3_k_m=12 q3_k_l=13 q4_k_s=14 q4_k_m=15 q5_k_s=16 q5_k_m=17 q6_k=18 iq4_nl=25 bf16=32; do
		works quantize -q --type "${pair%=*}" "$wide" ours.gguf
		theirs "${pair#*=}"
		same_tensors "$pair"
	done
}

@test 'with importance: the same bytes' {
	local pair

	"$PYTHON" -c 'import gguf' 2>/dev/null || cannot_run peer 'scripts/peers/setup was not run'
	works eval-lm -q --raw -d "$BATS_FILE_TMPDIR/text" --importance im.gguf "$wide"
	"$PYTHON" - <<-'END' || complain 'gguf-py'
		import gguf, numpy
		found = {t.name: t for t in gguf.GGUFReader("im.gguf").tensors}
		sums = {n[:-8]: t for n, t in found.items() if n.endswith(".in_sum2")}
		assert len(sums) >= 7 * 7, sorted(found)
		numpy.savez("im.npz", **{n: (t.data.reshape(-1) / found[n + ".counts"].data.reshape(-1)).astype(numpy.float32) for n, t in sums.items()})
	END
	for pair in q4_0=2 q5_1=9 q2_k=10 q3_k_m=12 q4_k_m=15 q5_k_m=17 q6_k=18 iq4_nl=25; do
		works quantize -q --type "${pair%=*}" --importance im.gguf "$wide" ours.gguf
		theirs "${pair#*=}" im.npz
		same_tensors "$pair, weighted"
		quantize -q --type "${pair%=*}" "$wide" plain.gguf
		! diff-model -q --no-metadata plain.gguf ours.gguf >/dev/null 2>&1 || complain "$pair: importance changes nothing"
	done
}
