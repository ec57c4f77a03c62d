#!/usr/bin/env bats
# What init-lm writes beside transformers: every family opens, with every value and id, and has our logits; the tokenizer opens too

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
LOGITS=$BUILD/tests/peer/lm-logits

setup()
{
	scratch
	[ -x "$LOGITS" ] || cannot_run peer 'tests/peer/lm-logits was not built'
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	"$PYTHON" -c 'import transformers, torch' 2>/dev/null || cannot_run peer 'no transformers'
	cat "$ROOT/README.md" "$MAN/tokenize.1" >text
}

# logits FOLDER CLASS ID...: opens it in transformers without a word of missing or unused tensors; five lines `id<TAB>logit` of the last token.
logits()
{
	"$PYTHON" - "$@" <<-'END'
		import sys, json, torch, transformers
		folder, name, ids = sys.argv[1], sys.argv[2], [int(i) for i in sys.argv[3:]]
		cls = transformers.AutoModelForMaskedLM if "Masked" in name else transformers.AutoModelForCausalLM
		model, told = cls.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
		assert not any(told[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), told
		assert type(model).__name__ == name, type(model)
		keys = json.load(open(folder + "/config.json"))
		for role in ("bos_token_id", "eos_token_id", "pad_token_id"):
		    assert getattr(model.config, role) == keys[role], (role, getattr(model.config, role), keys[role])
		    assert "Masked" in name or getattr(model.generation_config, role) == keys[role], role
		y = model.double()(torch.tensor([ids])).logits[0, -1]
		for v, i in zip(*y.topk(5)):
		    print(f"{int(i)}\t{float(v):.4f}")
	END
}

# same A B: ids in their order, logits to 2e-4
same()
{
	paste "$1" "$2" | awk -F '\t' '$1 != $3 || ($2 - $4) ^ 2 > 4e-8 { bad = 1 } END { exit bad || NR != 5 }' && return
	paste "$1" "$2" >&2
	complain "other logits"
}

@test 'every family: all tensors, all ids, our logits' {
	local pair a window ids='5 17 300 42 7 7 250 100 3 499 80'

	train-tokenizer -q -v 500 --raw --bos '<s>' --eos '</s>' -o tok/ text
	for pair in llama/LlamaForCausalLM mistral/MistralForCausalLM qwen2/Qwen2ForCausalLM qwen3/Qwen3ForCausalLM \
		gemma3/Gemma3ForCausalLM smollm3/SmolLM3ForCausalLM gpt2/GPT2LMHeadModel bert/BertForMaskedLM; do
		a=${pair%/*}
		window=
		case $a in mistral | gemma3) window=--window=4 ;; esac
		# wide values, so that the logits differ by more than they round
		try init-lm -q -a "$a" -t tok -p nano -l 7 --init mup --init-range 0.5 $window -o "$a"
		[ "$status" = 0 ]
		# shellcheck disable=SC2086
		logits "$a" "${pair#*/}" $ids >theirs 2>said || { show said; complain "$a"; return 1; }
		# shellcheck disable=SC2086
		"$LOGITS" "$a" $ids >ours
		same ours theirs || { complain "$a"; return 1; }
	done
}

@test 'a free head, in bf16' {
	works init-lm -q -l 2 --width 64 --vocab 300 --no-tie --init mup --init-range 0.5 --dtype bf16 -o free
	logits free LlamaForCausalLM 5 17 299 >theirs 2>said || { show said; return 1; }
	"$LOGITS" free 5 17 299 >ours
	[ "$(cut -f 1 ours)" = "$(cut -f 1 theirs)" ]
}

@test 'the tokenizer: class, roles, ids, template' {
	train-tokenizer -q -v 500 --raw --eos '<|end|>' --chat-template chatml -o tok/ text
	works init-lm -q -t tok -p nano -o model
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import transformers
		t = transformers.AutoTokenizer.from_pretrained("model")
		assert t.eos_token == "<|end|>" and t.bos_token is None, (t.eos_token, t.bos_token)
		assert len(t) == 500, len(t)
		print(*t("A model is a folder.").input_ids)
		print(repr(t.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)))
	END
	printf 'A model is a folder.' | tokenize -q -t tok --raw --ids >ids
	[ "$(head -n1 "$out")" = "$(cat ids)" ] || fail_showing "$out"
	has "$out" "'<|im_start|>user\\nhi<|im_end|>\\n'"
}

@test 'the tokenizer of every family gives our ids' {
	train-tokenizer -q -v 500 --raw --split qwen2 --normalizer nfc --eos '<|endoftext|>' -o tok/ text
	tokenize -q -t tok --raw --ids text >ids
	for a in llama mistral qwen2 qwen3 gemma3 smollm3 gpt2 bert; do
		works init-lm -q -a "$a" -t tok -p nano -o "$a"
	done
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import transformers
		ours = [int(i) for i in open("ids").read().split()]
		text = open("text").read()
		for a in "llama mistral qwen2 qwen3 gemma3 smollm3 gpt2 bert".split():
		    t = transformers.AutoTokenizer.from_pretrained(a)
		    assert t(text, add_special_tokens=False).input_ids == ours, a
		    assert len(t) == 500 and t.eos_token == "<|endoftext|>", (a, len(t))
		print("fine")
	END
	has "$out" fine
}

@test "bert's: the mask is where it was" {
	train-tokenizer -q -m wordpiece -v 300 --raw -o tok/ text
	works init-lm -q -a bert -t tok -p nano -o model
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import transformers
		t = transformers.AutoTokenizer.from_pretrained("model")
		m = transformers.AutoModelForMaskedLM.from_pretrained("model")
		assert t.mask_token == "[MASK]" and t.cls_token == "[CLS]" and t.sep_token == "[SEP]"
		assert m.config.vocab_size == len(t) and m.config.pad_token_id == t.pad_token_id
		print("fine")
	END
	has "$out" fine
}
