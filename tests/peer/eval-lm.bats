#!/usr/bin/env bats
# eval-lm, score-lm: a real model, SmolLM2 135M, beside transformers in f32 on the same weights and the same tokens

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python
MODELS=${NNUTILS_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/models}

setup()
{
	scratch
	[ -e "$MODELS/smollm2-135m-instruct-q4_1.gguf" ] || cannot_run peer 'scripts/peers/models was not run'
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	"$PYTHON" -c 'import transformers, torch' 2>/dev/null || cannot_run peer 'no transformers'
	works import-gguf -q --dtype f32 -o smol "$MODELS/smollm2-135m-instruct-q4_1.gguf"
}

# near A B TOLERANCE: relative.
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; exit !(d < 0 ? -d <= t * b : d <= t * b) }' || complain "$1, transformers $2"; }

number() { sed -E 's/.*"'"$1"'":([^,}]*).*/\1/' "$2"; }

@test 'the loss of windows, whole, apart, and with a stride, and with a token before each' {
	local how loss

	head -c 2000 "$ROOT/man/man1/train-lm.1" >text
	works tokenize -q --raw --ids -t smol -o ids text
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import torch, transformers
		torch.set_grad_enabled(False)
		model = transformers.AutoModelForCausalLM.from_pretrained("smol", dtype=torch.float32)
		ids = [int(x) for x in open("ids").read().split()]
		for context, stride, bos in (2048, 2048, None), (256, 256, None), (256, 160, None), (128, 128, 1):
		    row = ids if bos is None else [bos] + ids
		    total, reached, at = 0.0, 0, 0
		    while reached < len(row) - 1:
		        to = min(at + context, len(row) - 1)
		        window = row[at:to]
		        if bos is not None:
		            window[0] = bos
		        logits = model(input_ids=torch.tensor([window])).logits[0].double()
		        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(row[at + 1:to + 1]), reduction="none")
		        total += float(loss[reached - at:].sum())
		        reached, at = to, at + stride
		    print(context, stride, "off" if bos is None else "on", len(row) - 1, total / (len(row) - 1))
	END
	cp "$out" theirs
	[ "$(wc -l <theirs)" = 4 ]
	while read -r context stride how scored loss; do
		works eval-lm -q --json --raw -d text -c "$context" --stride "$stride" --bos "$how" smol
		[ "$(number scored "$out")" = "$scored" ]
		near "$(number loss "$out")" "$loss" 1e-5
	done <theirs
}

@test 'choices: the sums of lm-evaluation-harness, token by token' {
	cat >records <<-'END'
		{"context":"The capital of France is","choices":[" Paris"," London"," a city in Germany"],"gold":0}
		{"context":"Question: what is 2 + 2?\nAnswer: ","choices":["4","five","a number of some kind"],"gold":0}
		{"context":"Water boils at a temperature of","choices":[" 100 degrees"," three apples"],"gold":0}
	END
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import json, tokenizers, torch, transformers
		torch.set_grad_enabled(False)
		model = transformers.AutoModelForCausalLM.from_pretrained("smol", dtype=torch.float32)
		tok = tokenizers.Tokenizer.from_file("smol/tokenizer.json")
		encode = lambda s: tok.encode(s, add_special_tokens=False).ids
		for line in open("records"):
		    r = json.loads(line)
		    for choice in r["choices"]:
		        context = r["context"]
		        left = context.rstrip()
		        choice, context = context[len(left):] + choice, left
		        whole, start = encode(context + choice), len(encode(context))
		        logs = model(input_ids=torch.tensor([whole[:-1]])).logits[0].double().log_softmax(-1)
		        print(sum(float(logs[i - 1, whole[i]]) for i in range(start, len(whole))))
	END
	cp "$out" theirs
	works score-lm -q smol records
	sed -E 's/.*"logprobs":\[([^]]*)\].*/\1/' "$out" | tr ',' '\n' >ours
	[ "$(wc -l <ours)" = 8 ] && [ "$(wc -l <theirs)" = 8 ]
	paste ours theirs | awk '{ d = $1 - $2; if (d * d > 1e-8 * $2 * $2) { print; bad = 1 } } END { exit bad }' >&2
}
