#!/usr/bin/env bats
# train-lm beside transformers: what it opens of a run, models that come from it, a real model that goes on

load ../cmd/lib

export NNUTILS_THREADS=1

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}
LOGITS=$BUILD/tests/peer/lm-logits

setup()
{
	scratch
	[ -x "$LOGITS" ] || cannot_run peer 'tests/peer/lm-logits was not built'
}

needs_transformers()
{
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	"$PYTHON" -c 'import transformers, torch' 2>/dev/null || cannot_run peer 'no transformers'
}

tokens()
{
	awk 'BEGIN {
		srand(5)
		for (d = 0; d < 200; d++) {
			x = int(rand() * 61)
			line = ""
			for (i = 0; i < 60; i++)
				line = line (x = (x * 7 + int(rand() * 2) + 3) % 61) " "
			print line
		}
	}' | pack-tokens -q --from ids --vocab 61 --separator none -o data.tok -
}

@test 'the same weights and batches as PyTorch: losses agree to 1e-4 for 200 steps at 3e-4' {
	needs_transformers
	"$PYTHON" - "$ROOT"/man/man?/* >text.jsonl <<-'END'
		import json, sys
		for path in sys.argv[1:]:
		    for section in open(path).read().split("\n.Sh "):
		        print(json.dumps({"text": section}))
	END
	works "$PYTHON" "$ROOT/scripts/peers/train-losses" -b "$BUILD" -m 128 -v 2048 -s 2 -c 128 -j 1 text.jsonl
	has "$out" 'largest relative difference of 200 steps at 0.0003'
}

@test 'a random model of each architecture comes from transformers, is trained, and goes back: every tensor, and the logits' {
	local name more fall

	needs_transformers
	tokens
	"$PYTHON" - 2>"$err" <<-'END' || { show "$err"; return 1; }
		import torch, transformers as t
		common = dict(vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
		              max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
		grouped = dict(common, num_key_value_heads=2, head_dim=8)
		torch.manual_seed(1)
		for name, config, make in [
		    ("llama", t.LlamaConfig(**grouped), t.LlamaForCausalLM),
		    ("mistral", t.MistralConfig(**grouped, sliding_window=16), t.MistralForCausalLM),
		    ("smollm3", t.SmolLM3Config(**grouped), t.SmolLM3ForCausalLM),
		    ("qwen2", t.Qwen2Config(**common, num_key_value_heads=2), t.Qwen2ForCausalLM),
		    ("qwen3", t.Qwen3Config(**grouped), t.Qwen3ForCausalLM),
		    ("gemma3", t.Gemma3TextConfig(**grouped, sliding_window=16, query_pre_attn_scalar=8), t.Gemma3ForCausalLM),
		    ("gpt2", t.GPT2Config(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2), t.GPT2LMHeadModel),
		    ("bert", t.BertConfig(**common), t.BertForMaskedLM),
		]:
		    make(config).save_pretrained("from-" + name)
	END
	for name in llama mistral smollm3 qwen2 qwen3 gemma3 gpt2 bert; do
		more='--steps 30' fall=0.2
		# A small one learns slowly from what is masked.
		[ $name != bert ] || more='--steps 400 --mask-id 3' fall=0.04
		# shellcheck disable=SC2086
		works train-lm -q -d data.tok -v data.tok --val-tokens 512 --val-every 10 -c 32 -b 8 --lr 5e-3 $more -o "$name" "from-$name"
		sed -nE 's/.*"val_loss":([^,}]*).*/\1/p' "$name/log.jsonl" |
			awk -v fall=$fall 'NR == 1 { first = $1 } END { exit !($1 < first - fall) }' || complain "$name: the loss does not fall"
		works "$LOGITS" "$name/last" 5 4 3 8 9 10
		[ ! -s "$err" ]
		cp "$out" "$name.logits"
	done
	"$PYTHON" - llama mistral smollm3 qwen2 qwen3 gemma3 gpt2 bert >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import sys, torch, transformers
		from safetensors.torch import load_file
		for name in sys.argv[1:]:
		    auto = transformers.AutoModelForMaskedLM if name == "bert" else transformers.AutoModelForCausalLM
		    before = auto.from_pretrained("from-" + name)
		    model, told = auto.from_pretrained(name + "/last", output_loading_info=True)
		    assert not any(told[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), (name, told)
		    assert type(model) is type(before) and model.dtype == torch.float32, name
		    ours = load_file(name + "/last/model.safetensors")
		    assert set(ours) == set(load_file("from-" + name + "/model.safetensors")), name
		    moved = [k for k, v in before.state_dict().items() if not torch.equal(v, model.state_dict()[k])]
		    assert len(moved) > 10, (name, moved)
		    with torch.no_grad():
		        logits = model.eval()(torch.tensor([[5, 4, 3, 8, 9, 10]])).logits[0, -1]
		    top = torch.topk(logits, 5)
		    lines = [line.split() for line in open(name + ".logits")]
		    assert [int(a) for a, _ in lines] == top.indices.tolist(), (name, lines, top)
		    for (_, ours), theirs in zip(lines, top.values.tolist()):
		        assert abs(float(ours) - theirs) < 1e-4, (name, ours, theirs)
		    print(name)
	END
	[ "$(wc -l <"$out")" = 8 ]
}

@test 'the validation loss is what transformers gives for the same windows' {
	needs_transformers
	tokens
	works train-lm -q -d data.tok -v data.tok -c 40 -b 8 --steps 20 --lr 5e-3 --documents joined -o run "$ROOT/fixtures/good/lm/llama"
	pack-tokens -q --from packed --to llmc -o data.bin data.tok
	"$PYTHON" - "$(sed -nE 's/.*"val_loss":([^,}]*).*/\1/p' run/log.jsonl)" >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import sys, numpy, torch, transformers
		model = transformers.AutoModelForCausalLM.from_pretrained("run/last").double().eval()
		ids = torch.from_numpy(numpy.fromfile("data.bin", dtype="<u2")[512:].astype("int64"))
		total = count = 0
		with torch.no_grad():
		    for at in range(0, len(ids) - 1, 40):
		        window = ids[at : at + 41]
		        logits = model(window[None, :-1]).logits[0]
		        total += torch.nn.functional.cross_entropy(logits, window[1:], reduction="sum").item()
		        count += len(window) - 1
		print(total / count, float(sys.argv[1]))
		assert abs(total / count - float(sys.argv[1])) < 1e-5 * total / count
	END
}

@test 'SmolLM2 135M goes on from its GGUF for 20 steps, and the loss falls' {
	local gguf=$MODELS/smollm2-135m-instruct-q4_1.gguf

	[ -e "$gguf" ] || cannot_run peer 'scripts/peers/models was not run'
	cat-docs -q --split blank "$MAN"/t*.1 "$MAN"/p*.1 | tokenize -q -t "$gguf" | pack-tokens -q -o text.tok -
	works train-lm -q -d text.tok -v text.tok --val-tokens 1024 --val-every 19 -c 64 -b 4 --steps 20 --warmup 2 --lr 1e-4 \
		--checkpoint-every 0 -o run "$gguf"
	sed -nE 's/.*"loss":([0-9.]*),.*/\1/p' run/log.jsonl |
		awk '{ sum[NR <= 5 ? 0 : NR > 15 ? 2 : 1] += $1 } END { print sum[0] / 5, sum[2] / 5; exit !(sum[2] < sum[0] - 1) }' >&2
	printf 'The capital of France' >text
	same_bytes <(tokenize -q --ids --raw -t run/last text) <(tokenize -q --ids --raw -t "$gguf" text)
	works "$LOGITS" run/last 504 3575 282 4649 314
	[ ! -s "$err" ]
}
