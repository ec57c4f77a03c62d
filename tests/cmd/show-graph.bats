#!/usr/bin/env bats
# show-graph: nodes, memory, graphviz's text, pictures, runs, trouble

load lib

# column N: of the table, without the headings.
column() { sed 1d "$out" | cut -f "$1"; }

small='--example block -n 32 --width 64 --heads 2 --ffn 96'

@test 'nodes in the order in which they run' {
	works show-graph --example mlp -n 3 --width 5 --ffn 7
	[ "$(column 3 | paste -sd ' ')" = 'matmul matmul' ]
	[ "$(column 8)" = $'f32[3, 7]\nf32[3, 5]' ]
	# the gelu is the first product's epilogue
	works show-graph --example mlp -n 3 --width 5 --ffn 7 --without epilogue
	[ "$(column 3 | paste -sd ' ')" = 'matmul gelu matmul' ]
	# shellcheck disable=SC2086
	works show-graph $small --train
	[ "$(column 2 | uniq | paste -sd ' ')" = 'forward backward' ]
	has "$out" '	attention	model.layers.0	cpu/' '	swiglu_grad	model.layers.0	'
}

@test 'a gradient is added to its sum as soon as it is whole' {
	works show-graph --example mlp --train -l 3
	[ "$(column 3 | grep -n matmul_acc | head -n1 | cut -d: -f1)" -lt "$(column 3 | grep -n unary_grad | tail -n1 | cut -d: -f1)" ]
}

@test 'chains of row-wise nodes, and without them' {
	works show-graph --example block --train -n 4096
	[ "$(column 10 | grep -c '^[0-9]')" -ge 2 ]
	works show-graph --example block --train -n 4096 --json
	has "$out" '"op":"square","scope":"loss"' '"chain":0,'
	works show-graph --example block --train -n 4096 --without segments
	[ "$(column 10 | sort -u)" = - ]
}

@test 'devices and levels' {
	local level

	# shellcheck disable=SC2086
	works show-graph $small --device ref
	[ "$(column 5 | sort -u)" = ref/ref ]
	for level in generic avx2; do
		# shellcheck disable=SC2086
		try env NNUTILS_ISA=$level show-graph $small
		[ "$status" != 0 ] || [ "$(column 5 | cut -d/ -f1 | sort -u)" = cpu ]
	done
	# shellcheck disable=SC2086
	works env NNUTILS_STRICT_DEVICE=1 show-graph $small --strict-device
}

@test 'memory: kinds, and their sum' {
	# shellcheck disable=SC2086
	works show-graph $small --optimizer adamw --dtype bf16 --memory-plan
	[ "$(awk -F '\t' '$1 == "all" { all = $2; next } { sum += $2 } END { print sum - all }' "$out")" = 0 ]
	# 4 of width x width, 3 of width x ffn, two norms, in f32; the forms in bf16 are of the matrices alone
	n=$((4 * 64 * 64 + 3 * 64 * 96))
	has "$out" "weights	$(((n + 128) * 4))" "derived forms	$((n * 2))" "optimizer and state	$(((n + 128) * 8))"
	# shellcheck disable=SC2086
	works show-graph $small --memory-plan --json
	has "$out" '{"memory":"weights","bytes":'
}

@test 'recomputation needs less memory, and no bit less of weights' {
	local bytes

	works show-graph --example block -n 256 --width 64 -l 6 --train -m
	bytes=$(awk -F '\t' '$1 == "activations" { print $2 }' "$out")
	works show-graph --example block -n 256 --width 64 -l 6 --train -m --recompute
	[ "$((3 * $(awk -F '\t' '$1 == "activations" { print $2 }' "$out")))" -lt "$((2 * bytes))" ] || fail_showing "$out"
}

# What lives at the same time lies apart.
@test 'the arena: no two tensors in one place' {
	# shellcheck disable=SC2086
	works show-graph $small -l 2 --train --arena
	sed 1d "$out" | awk -F '\t' '
		{ first[NR] = $3; last[NR] = $4; from[NR] = $5; to[NR] = $5 + $6; name[NR] = $1 }
		END {
			for (i = 1; i <= NR; i++)
				for (j = i + 1; j <= NR; j++)
					if (first[i] <= last[j] && first[j] <= last[i] && from[i] < to[j] && from[j] < to[i])
						print name[i], name[j]
			if (NR < 20) print "only", NR
		}' >clashes
	[ ! -s clashes ] || fail_showing clashes
	has "$out" '	kept for the backward half	' '	gradients	' 'x	inputs	0	'
	# shellcheck disable=SC2086
	works show-graph $small --arena --json
	has "$out" '{"tensor":"x","kind":"inputs","scope":"","first":0,'
}

# Each line is one of the statements that there are, braces match, and edges join what has a statement.
valid_dot()
{
	awk '
		/^digraph plan \{$/ || /^\tsubgraph cluster_[0-9]+ \{$/ { depth++; next }
		/^\t?\}$/ { depth--; next }
		/^\t(graph|node|edge) \[.*\];$/ || /^\t\tlabel="([^"\\]|\\.)*";$/ { next }
		match($0, /^\t+[ns][0-9]+ \[([^"\]]|"([^"\\]|\\.)*")*\];$/) { there[$1] = 1; next }
		match($0, /^\t[ns][0-9]+ -> n[0-9]+ \[label="[^"]*"(, dir=both)?\];$/) { edge[++n] = $1 " " $3; next }
		{ print "line " NR ": " $0 }
		END {
			if (depth) print "braces"
			if (!n) print "no edge"
			for (i = 1; i <= n; i++) {
				split(edge[i], end, " ")
				if (!there[end[1]] || !there[end[2]]) print "edge " edge[i]
			}
		}' "$1" >wrong
	[ ! -s wrong ] || { show wrong; return 1; }
	! command -v dot >/dev/null || dot -Tcanon "$1" >/dev/null
}

@test 'graphviz: the text is valid, and has every node and operand' {
	# shellcheck disable=SC2086
	works show-graph $small --train --optimizer sgd --vocab 100 --dot
	valid_dot "$out"
	cp "$out" dot.txt
	# shellcheck disable=SC2086
	works show-graph $small --train --optimizer sgd --vocab 100
	[ "$(grep -cE '^		n[0-9]+ ' dot.txt)" = "$(column 1 | wc -l)" ]
	[ "$(grep -c -- '->' dot.txt)" = "$(column 9 | grep -o '\[' | wc -l)" ]
	has dot.txt 'label="model.layers.0.self_attn.q_proj.weight"' 'dir=both'
}

@test 'pictures: a PNG and an SVG, the same bytes each time' {
	# shellcheck disable=SC2086
	works show-graph $small --train --picture one.png
	# shellcheck disable=SC2086
	works show-graph $small --train --picture two.png
	same_bytes one.png two.png
	[ "$(head -c 8 one.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
	# width and height
	[ "$(head -c 24 one.png | tail -c 8 | od -An -tx1 | tr -d ' ')" = 00000500000002f8 ]
	# shellcheck disable=SC2086
	works show-graph $small --train -p one.svg
	has one.svg '<svg ' '</svg>'
	# the peak's red, and the colors of what is kept and of gradients
	grep -q 'rgb(0%,44.7' one.svg
	grep -q 'rgb(90.1' one.svg
	grep -q 'rgb(81.5' one.svg
	[ ! -s "$out" ]
}

@test 'a picture that cannot be' {
	# shellcheck disable=SC2086
	try show-graph $small -p arena.jpg
	one_line_error 'arena.jpg: a picture' '.png or .svg'
	# shellcheck disable=SC2086
	try show-graph $small -p none/arena.png
	one_line_error none/arena.png
	[ -z "$(ls)" ]
}

@test 'a picture on a disk that fills, with faults: the old one stays' {
	# Nothing else is left; what came last may have failed when the new one was there.
	after_fault()
	{
		[ "$(ls -A)" = old.png ] || { ls -A >&2; return 1; }
		[ "$(head -c 3 old.png)" = old ] || tail -c 12 old.png | grep -qa IEND || return 1
		echo old >old.png
	}
	for call in write fsync rename; do
		echo old >old.png
		# shellcheck disable=SC2086
		each_fault $call ENOSPC show-graph $small -p old.png
	done
}

@test 'a run: the table of what ran' {
	# shellcheck disable=SC2086
	try show-graph $small --train --op-stats --runs 2 --dtype bf16 --memory-plan
	[ "$status" = 0 ]
	has "$err" 'op                  half     on   variant' 'attention_grad ' 'in all '
	[ "$(awk '/^in all/ { print $3 }' "$err")" = "$(awk 'NR > 1 && !/^in all/ { n += $5 } END { print n }' "$err")" ]
	has "$out" weights
	# shellcheck disable=SC2086
	try show-graph $small --op-stats --device ref --runs 1
	[ "$(awk 'NR > 1 && !/^in all/ { print $3 }' "$err" | sort -u)" = ref ]
}

@test 'misuse' {
	try show-graph
	one_usage_line
	# shellcheck disable=SC2086
	try show-graph $small --dot --arena
	one_usage_line
	# shellcheck disable=SC2086
	try show-graph $small --device cuda
	one_line_error 'this build has no such device'
}

@test 'a full disk, a closed stdout, a reader that left' {
	# shellcheck disable=SC2086
	for options in '' --dot --arena --memory-plan; do
		on_full_disk show-graph $small $options
		closed_stdout show-graph $small $options
	done
	# shellcheck disable=SC2086
	broken_pipe show-graph $small
}

@test 'faults of memory end in one line' {
	for options in --dot '--arena --train'; do
		# shellcheck disable=SC2086
		each_fault malloc ENOMEM show-graph --example mlp -n 2 --width 2 $options
	done
}

@test 'the page: options and examples' {
	options_match_man show-graph
	ln -s "$ROOT/fixtures/good/lm/qwen3" model
	man_examples show-graph
	[ -s arena.png ]
}

@test 'language models of every family, from their folders' {
	local family models=$ROOT/fixtures/good/lm

	for family in llama mistral smollm3 qwen2 qwen3 gemma3 gpt2 bert; do
		works show-graph -n 16 "$models/$family"
		[ ! -s "$err" ] || fail_showing "$err"
		[ "$(column 8 | tail -n1)" = 'f32[16, 61]' ] || fail_showing "$out"
		works show-graph -n 16 --optimizer adamw --recompute "$models/$family"
		[ "$(column 2 | sort -u | paste -sd ' ')" = 'again backward forward update' ] || fail_showing "$out"
	done
	has "$out" '	attention	bert.encoder.layer.1	'
}

@test 'a language model: rows, what is not used, its own values, options that do not fit' {
	local models=$ROOT/fixtures/good/lm

	# no more rows than its context of 48
	works show-graph "$models/gpt2"
	has "$out" 'f32[48, 61]'
	try show-graph "$models/bert-bare"
	[ "$status" = 0 ]
	has "$err" 'bert-bare: 2 tensors not used: bert.pooler.dense.bias, bert.pooler.dense.weight'
	try show-graph -n 8 --op-stats --runs 1 "$models/llama"
	[ "$status" = 0 ]
	has "$err" 'attention' 'in all'
	refuses show-graph --train "$models/bert-bare"
	has "$err" 'bert-bare: a BertModel has no head, and so no loss'
	try show-graph --width 32 "$models/llama"
	one_usage_line
	has "$err" 'only -n, --batch and --ctx may be given'
	try show-graph --example mlp "$models/llama"
	one_usage_line
	has "$err" 'either --example or a model'
	refuses show-graph "$ROOT/fixtures/good/lm/qwen3/model.safetensors"
	has "$err" 'no configuration; give the folder'
	refuses show-graph nothing
	has "$err" 'nothing: No such file or directory'
}

@test 'a language model: several sequences, which do not see each other' {
	local models=$ROOT/fixtures/good/lm family one=

	for family in llama gemma3 gpt2 bert; do
		works show-graph --batch 3 --ctx 16 "$models/$family"
		[ "$(column 8 | tail -n1)" = 'f32[48, 61]' ] || fail_showing "$out"
		works show-graph --batch 3 --ctx 16 --optimizer adamw "$models/$family"
		[ "$(column 2 | sort -u | paste -sd ' ')" = 'backward forward update' ] || fail_showing "$out"
	done
	# attention is told whose each row is
	works show-graph --batch 3 --ctx 16 "$models/llama"
	[ "$(awk -F '\t' '$3 == "attention" { print $9 }' "$out" | grep -c 'i32\[48\] i32\[48\]$')" = 2 ] || fail_showing "$out"
	# no more activations than one sequence of as many rows
	works show-graph --batch 2 --ctx 16 --train -m "$models/llama"
	several=$(awk -F '\t' '$1 == "activations" { print $2 }' "$out")
	works show-graph -n 32 --train -m "$models/llama"
	one=$(awk -F '\t' '$1 == "activations" { print $2 }' "$out")
	[ $((10 * several)) -le $((11 * one)) ] || complain "$several $one"
	try show-graph --batch 2 --ctx 16 --op-stats --runs 1 "$models/qwen3"
	[ "$status" = 0 ]
	try show-graph --ctx 1000 "$models/llama"
	one_usage_line
	has "$err" "--ctx 1000: the model's context is "
	try show-graph --ctx 16 -n 16 "$models/llama"
	one_usage_line
	try show-graph --batch 1000000000 --ctx 16 "$models/llama"
	one_usage_line
	try show-graph --example mlp --batch 2
	one_usage_line
	has "$err" 'are of language models'
}
