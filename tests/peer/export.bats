#!/usr/bin/env bats
# export-gguf beside llama.cpp: it loads every decoder that we train, and has our logits from the same file with a cache of f32; import-gguf
# beside transformers: what it makes of a downloaded GGUF has the ids and logits of the file

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
LLAMA=${NNUTILS_LLAMA:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/llama}/bin/python
MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}
LOGITS=$BUILD/tests/peer/lm-logits
ids='5 17 300 42 7 7 250 100 3 499 80'

setup()
{
	scratch
	[ -x "$LOGITS" ] || cannot_run peer 'tests/peer/lm-logits was not built'
}

with_llama()
{
	"$LLAMA" -c 'import llama_cpp, numpy' 2>/dev/null || cannot_run peer 'scripts/peers/setup-llama was not run'
	cat "$ROOT/README.md" "$MAN/tokenize.1" >text
	train-tokenizer -q -v 500 --raw --bos '<s>' --eos '</s>' -o tok/ text
}

# agrees FOLDER [OPTION...]: the GGUF of it: largest difference 1e-3 of the largest logit, the same first everywhere.
agrees()
{
	local folder=$1

	shift
	works export-gguf -q -o m.gguf "$@" "$folder"
	# shellcheck disable=SC2086
	"$LLAMA" "$ROOT/scripts/peers/llama_logits.py" m.gguf $ids >theirs 2>said || { show said; complain "$folder: llama.cpp"; return 1; }
	# shellcheck disable=SC2086
	"$LOGITS" -a m.gguf $ids >ours
	"$LLAMA" - "$folder" <<-'END'
		import sys, numpy
		ours, theirs = (numpy.fromfile(name, numpy.float32).reshape(11, -1) for name in ("ours", "theirs"))
		apart, largest = abs(ours - theirs).max(), abs(ours).max()
		print(f"{sys.argv[1]}: {apart:.2e} apart, the largest is {largest:.2f}")
		assert ours.std() > 0.05, "nothing to compare"
		assert apart <= 1e-3 * largest and (ours.argmax(1) == theirs.argmax(1)).all()
	END
	# The order of sums of q and k is the folder's, once they are turned: then every bit is.
	# shellcheck disable=SC2086
	"$LOGITS" -a "$folder" $ids >straight
	# shellcheck disable=SC2086
	"$LOGITS" -ap m.gguf $ids >turned
	cmp straight turned
}

# model NAME ARCHITECTURE [OPTION...]: values so wide that logits differ by more than they round
model()
{
	local folder=$1 a=$2

	shift 2
	try init-lm -q -a "$a" -t tok -p nano -l 7 --init mup --init-range 0.5 "$@" -o "$folder"
	[ "$status" = 0 ] || fail_showing "$err"
}

@test 'every decoder that we train' {
	local a

	with_llama
	for a in llama qwen2 qwen3 smollm3 gpt2; do
		model $a $a
		agrees $a
	done
	model mistral mistral --window 256 --context 256
	agrees mistral
	model gemma3 gemma3 --window 4
	agrees gemma3
	model free llama --no-tie --heads 6 --kv-heads 2 --head-dim 20
	agrees free
}

# varied NAME FROM JSON: NAME is FROM with other keys, drawn anew; a key of null is taken out.
varied()
{
	"$LLAMA" - "$2" "$3" >varied.json <<-'END'
		import sys, json
		c = json.load(open(sys.argv[1] + "/config.json"))
		c.update(json.loads(sys.argv[2]))
		json.dump({k: v for k, v in c.items() if v != "-"}, sys.stdout)
	END
	try init-lm -q -c varied.json -t tok --init mup --init-range 0.5 -o "$1"
	[ "$status" = 0 ] || fail_showing "$err"
}

@test 'ropes, biases, windows' {
	local no='"rope_theta": "-", "rope_scaling": "-", "rope_local_base_freq": "-", "rope_parameters":'

	with_llama
	model llama llama
	model qwen3 qwen3
	model gemma3 gemma3 --window 4
	varied llama3 llama "{$no {\"rope_type\": \"llama3\", \"rope_theta\": 500.0, \"factor\": 4.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 64}}"
	agrees llama3
	varied yarn llama "{$no {\"rope_type\": \"yarn\", \"rope_theta\": 1000.0, \"factor\": 4.0, \"original_max_position_embeddings\": 16}}"
	agrees yarn
	# llama.cpp takes the short factors for a context up to the original one, and its least context is 256.
	varied longrope llama "{$no {\"rope_type\": \"longrope\", \"rope_theta\": 1000.0, \"factor\": 4.0, \"original_max_position_embeddings\": 384, \"short_factor\": $(seq -s ,  -f '%g.5' 0 31 | sed 's/^0.5/1.0/; s/.*/[&]/'), \"long_factor\": $(seq -s , -f '%g.0' 1 32 | sed 's/.*/[&]/')}}"
	agrees longrope
	varied linear qwen3 "{$no {\"rope_type\": \"linear\", \"rope_theta\": 1000.0, \"factor\": 4.0}}"
	agrees linear
	varied two gemma3 "{$no {\"full_attention\": {\"rope_type\": \"linear\", \"rope_theta\": 1000.0, \"factor\": 4.0}, \"sliding_attention\": {\"rope_type\": \"default\", \"rope_theta\": 300.0}}}"
	agrees two
	varied bias llama '{"attention_bias": true, "mlp_bias": true}'
	agrees bias
	varied thirds gemma3 '{"sliding_window_pattern": 3, "layer_types": "-", "final_logit_softcapping": 20.0}'
	agrees thirds
}

# opens FILE DTYPE LOGITS ID...: the folder made of it, in transformers: the ids of "The capital of France is", and five lines `id<TAB>logit`
opens()
{
	[ -e "$MODELS/$1" ] || cannot_run peer 'scripts/peers/models was not run'
	"$PYTHON" -c 'import transformers, torch' 2>/dev/null || cannot_run peer 'no transformers'
	try import-gguf -q -d f32 -o folder "$MODELS/$1"
	[ "$status" = 0 ] || fail_showing "$err"
	"$PYTHON" - "$2" >got 2>said <<-'END' || { show said; complain transformers; return 1; }
		import sys, torch
		from transformers import AutoModelForCausalLM, AutoTokenizer
		ids = AutoTokenizer.from_pretrained("folder")("The capital of France is").input_ids
		assert ids == [int(i) for i in sys.argv[1].split()], ids
		y = AutoModelForCausalLM.from_pretrained("folder", dtype=torch.float32)(torch.tensor([ids])).logits[0, -1]
		for v, i in zip(*y.topk(5)):
		    print(f"{int(i)}\t{float(v):.4f}")
	END
	paste want got | awk -F '\t' '$1 != $3 || ($2 - $4) ^ 2 > 25e-8 { bad = 1 } END { exit bad || NR != 5 }' || fail_showing got
}

@test 'SmolLM2 135M as a folder' {
	printf '%s\t%s\n' 7042 17.3713 260 14.8886 4528 13.2450 2250 13.0095 1315 12.9515 >want
	opens smollm2-135m-instruct-q4_1.gguf '504 3575 282 4649 314'
}

@test 'Gemma 3 270M as a folder' {
	printf '%s\t%s\n' 506 19.0915 496 18.5476 9079 18.2686 886 18.1130 3224 17.7839 >want
	opens gemma3-270m-q4_k_m.gguf '2 818 5279 529 7001 563'
}

@test 'a chat template and special ids in llama.cpp are those of the folder' {
	with_llama
	train-tokenizer -q -v 600 --raw --chat-template chatml -o chat/ text
	try init-lm -q -p nano -t chat -o c
	[ "$status" = 0 ] || fail_showing "$err"
	works export-gguf -q -o c.gguf c
	"$LLAMA" - <<-'END' || complain 'other metadata'
		import json, llama_cpp
		model = llama_cpp.Llama("c.gguf", verbose=False)
		template = json.load(open("c/tokenizer_config.json")).get("chat_template") or open("c/chat_template.jinja").read()
		assert model.metadata["tokenizer.chat_template"] == template
		config = json.load(open("c/config.json"))
		assert model.token_eos() == config["eos_token_id"], model.token_eos()
		for key in ("tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id"):
		    assert key in model.metadata, key
	END
}

@test 'a model of our own, of some steps: the same greedy tokens in llama.cpp' {
	with_llama
	cat "$ROOT"/README.md "$MAN"/*.1 >corpus
	tokenize -q -t tok --raw corpus | pack-tokens -q --split val=0.05 -o data/
	try init-lm -q -p nano -t tok --context 128 -o m0
	[ "$status" = 0 ] || fail_showing "$err"
	try train-lm -q -d data/train.tok -c 64 -b 8 --steps 120 --lr 3e-3 -o run m0
	[ "$status" = 0 ] || fail_showing "$err"
	works export-gguf -q -o own.gguf run/last
	works decode -q -n 48 -p 'The tokens of' own.gguf
	"$LLAMA" - >theirs 2>said <<-'END' || { show said; complain llama.cpp; return 1; }
		import sys, llama_cpp
		model = llama_cpp.Llama("own.gguf", n_ctx=128, verbose=False, type_k=0, type_v=0, flash_attn=False)
		out = model("The tokens of", max_tokens=48, temperature=0, top_k=1, repeat_penalty=1.0)
		sys.stdout.write(out["choices"][0]["text"])
	END
	# decode ends its text with a line's end
	diff <(cat "$out") <(cat theirs; [ -z "$(tail -c1 theirs)" ] || echo) || complain 'other texts'
	[ "$(wc -c <theirs)" -gt 40 ] || complain 'no text'
}
