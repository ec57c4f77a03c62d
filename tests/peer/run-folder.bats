#!/usr/bin/env bats
# A checkpoint of a run beside transformers and safetensors (scripts/peers/requirements.txt)

load ../cmd/lib

PYTHON=${NNUTILS_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/nnutils/peers}/bin/python

setup()
{
	scratch
	[ -x "$PYTHON" ] || cannot_run peer 'scripts/peers/setup was not run'
	"$PYTHON" -c 'import transformers, torch' 2>/dev/null || cannot_run peer 'no transformers'
	"$BUILD/tests/peer/run-folder" run 7
}

@test 'transformers opens it through the link, with every value, and writes the same tensors' {
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import torch, transformers
		from safetensors.torch import load_file
		model, told = transformers.AutoModelForCausalLM.from_pretrained("run/last", output_loading_info=True)
		assert not any(told[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), told
		assert type(model).__name__ == "LlamaForCausalLM", type(model)
		assert model.dtype == torch.float32, model.dtype
		ours, theirs = load_file("run/last/model.safetensors"), model.state_dict()
		assert len(ours) == 20, len(ours)
		for name, value in ours.items():
		    assert torch.equal(value, theirs[name]), name
		assert torch.equal(theirs["lm_head.weight"], ours["model.embed_tokens.weight"])
		assert model(torch.tensor([[1, 2, 3]])).logits.shape == (1, 3, 40)
		state = load_file("run/last/optimizer.safetensors")
		assert len(state) == 60, len(state)
		assert state["model.norm.weight.v"].dtype == torch.uint8
		print("fine")
	END
	has "$out" fine
}

@test 'run.json is JSON to Python, and complete has the sizes' {
	"$PYTHON" - >"$out" 2>"$err" <<-'END' || { show "$err"; return 1; }
		import json, os
		state = json.load(open("run/step-7/run.json"))
		assert state["step"] == 7 and state["best_loss"] is None and state["settings"]["lr"] == "3e-4"
		lines = [line.split(" ") for line in open("run/step-7/complete").read().splitlines()]
		names = sorted(os.listdir("run/step-7"))
		names.remove("complete")
		assert [name for _, _, name in lines] == names, names
		for _, size, name in lines:
		    assert os.path.getsize("run/step-7/" + name) == int(size), name
		print("fine")
	END
	has "$out" fine
}
