#!/usr/bin/env bats
# show-device: the machine as the system tells it, kernels by op and type, trouble

load lib

@test 'the machine' {
	works show-device
	[ "$(cut -c 1-12 "$out" | tr -d ' ' | paste -sd ' ')" = 'devices processor level processors caches memory models optimizers' ]
	has "$out" 'devices     ref, cpu' 'models      llama, mistral, qwen2, qwen3, gemma3, smollm3, gpt2, bert' \
		'optimizers  adamw, lion, muon, sgd, adamw8' ' L2 '
}

@test 'caches are those of sysfs' {
	local dir=/sys/devices/system/cpu/cpu0/cache

	[ -e $dir/index0/size ] || skip 'native: no caches in sysfs'
	works show-device --json
	for index in "$dir"/index*; do
		size=$(cat "$index/size")
		has "$out" "\"level\":$(cat "$index/level"),\"kind\":\"$(tr '[:upper:]' '[:lower:]' <"$index/type")\",\"bytes\":$((${size%K} * 1024)),"
	done
}

@test 'levels, and one that is lower' {
	works env NNUTILS_ISA=generic show-device
	has "$out" 'level       generic; this machine has generic'
	works env NNUTILS_ISA=generic show-device --json
	has "$out" '"level":"generic"'
	try env NNUTILS_ISA=mmx show-device
	tool=show-device one_line_error 'NNUTILS_ISA=mmx: not one of '
}

@test 'threads and the mask' {
	works env NNUTILS_THREADS=3 show-device
	has "$out" '; 3 threads'
	works taskset -c 0 show-device --json
	has "$out" '"allowed":1,'
}

@test 'ops: each of the registry in its order' {
	works show-device --ops
	sed -nE 's/^OP\([A-Z0-9_]+, ([a-z0-9_]+),.*/\1/p' "$ROOT/lib/graph/ops.def" >want
	sed 1d "$out" | cut -f 1 | diff want - >&2
	[ "$(awk -F '\t' '$1 == "matmul" { print $5 }' "$out" | grep -cw q8_0)" = 1 ]
	# A rule that refuses, and one kernel that no level has
	[ "$(awk -F '\t' '$1 == "histogram" { print $5 }' "$out")" = - ]
	# Every cell says something.
	awk -F '\t' 'NF != 5 || $2 == "" || $3 == "" || $4 == "" || $5 == "" { print; bad = 1 } END { exit bad }' "$out"
}

@test 'ops on ref are all served by ref' {
	works show-device --ops --device ref
	[ "$(sed 1d "$out" | cut -f 2-4 | tr '\t' '\n' | sort -u)" = ref ]
	[ "$(awk -F '\t' '$1 == "gather_rows" { print NF, $5 }' "$out" | grep -cw q4_k)" = 1 ]
}

@test 'language models: what can be opened is what is shown' {
	works show-device --models
	[ "$(sed 1d "$out" | cut -f 1 | paste -sd ' ')" = 'llama mistral qwen2 qwen3 gemma3 smollm3 gpt2 bert' ]
	[ "$(awk -F '\t' '$1 == "gemma3" { print $2, $3, $4 }' "$out")" = 'Gemma3ForCausalLM next sliding' ]
	[ "$(awk -F '\t' '$1 == "bert" { print $2, $3, $4 }' "$out")" = 'BertForMaskedLM mlm both ways' ]
	awk -F '\t' '$5 ~ /folder/ { print $1 }' "$out" >families
	[ -s families ]
	while read -r family; do
		works show-graph -n 4 "$ROOT/fixtures/good/lm/$family"
	done <families
	works show-device --models --json
	[ "$(wc -l <"$out")" = 8 ]
	has "$out" '{"model":"qwen3","class":"Qwen3ForCausalLM","objective":"next","looks":"back","folder":true,'
	try show-device --models --ops
	one_usage_line
}

# What is shown is what a plan takes.
@test 'a variant that is shown serves a graph' {
	works show-device --ops
	shown=$(awk -F '\t' '$1 == "rms_norm" { print $3 }' "$out")
	works show-graph --example block --dtype bf16
	[ "$(awk -F '\t' '$3 == "rms_norm" { print $5 }' "$out" | sort -u)" = "cpu/$shown" ]
}

@test 'ops as JSON' {
	works show-device --ops --json
	has "$out" '{"op":"add","f32":"' '"blocks":"q4_0 '
	[ "$(grep -cvE '^\{"op":"[a-z0-9_]+","f32":"[^"]*","bf16":"[^"]*","f16":"[^"]*","blocks":"[a-z0-9_ ]*"\}$' "$out")" = 0 ]
}

@test 'misuse' {
	try show-device x
	one_usage_line
	try show-device --ops --device cuda
	one_line_error 'this build has no such device'
}

@test 'a full disk, a closed stdout, a reader that left' {
	for options in '' --ops --json; do
		# shellcheck disable=SC2086
		on_full_disk show-device $options
		# shellcheck disable=SC2086
		closed_stdout show-device $options
	done
	broken_pipe show-device --ops
}

@test 'faults of memory end in one line' {
	each_fault malloc ENOMEM show-device
}

@test 'the page: options and examples' {
	options_match_man show-device
	man_examples show-device
}
