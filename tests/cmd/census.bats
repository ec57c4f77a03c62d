#!/usr/bin/env bats
# census: counts that are known by hand, sums, eager PyTorch's share, options of graphs, trouble

load lib

# sum COLUMN: of all rows but the last two, the sum and the comparison.
sum()
{
	sed -e 1d -e '/^all/d' -e '/^#/d' "$out" | awk -F '\t' -v c="$1" '{ s += $c } END { printf "%.0f\n", s }'
}

# all COLUMN: of the row of sums.
all() { awk -F '\t' -v c="$1" '$1 == "all" { print $c }' "$out"; }

@test 'products of an mlp, by hand' {
	works census --example mlp -n 3 --width 5 --ffn 7
	# 2 (3 5 7) + 2 (3 7 5) operations; x W b y in f32, twice
	[ "$(all 4)" = 420 ]
	[ "$(all 6)" = "$((4 * (15 + 35 + 7 + 21 + 21 + 35 + 5 + 15)))" ]
	[ "$(all 3)" = 2 ]
}

@test 'the row of sums is the sum of the rows' {
	for part in '' --train '--optimizer adamw'; do
		# shellcheck disable=SC2086
		works census --example block -n 64 --width 64 -l 2 $part
		[ "$(sum 3) $(sum 4) $(sum 6)" = "$(all 3) $(all 4) $(all 6)" ] || fail_showing "$out"
	done
	grep -q "^update	adamw	18	" "$out" || fail_showing "$out"
}

@test 'a causal attention takes half of the operations' {
	works census --example block -n 100 --width 64 --heads 1
	[ "$(awk -F '\t' '$2 == "attention" { print $4 }' "$out")" = $((2 * 5050 * 128)) ]
}

@test 'of an embedding the rows that are read' {
	works census --example block -n 8 --width 64 --vocab 50000
	[ "$(awk -F '\t' '$2 == "gather_rows" { print $6 }' "$out")" = $((8 * 4 + 2 * 8 * 64 * 4)) ]
}

@test 'what eager PyTorch moves for a block (scripts/peers/eager_bytes.py, torch 2.15)' {
	works census --example block --train
	tail -n1 "$out" | grep -qE '^# eager PyTorch: 435792912 bytes in 91 calls; here [0-9]+: 0\.[0-9]{3} of it$' || fail_showing "$out"
	works census --example block --train --eager
	has "$out" 'mm	21	174587904	' '_scaled_dot_product_flash_attention_for_cpu_backward	1	12607488	'
	works census --example block --eager
	has "$out" 'all	34	148953088	100.0%'
	works census --example block -n 64 --width 48 --ffn 128 -l 2 --heads 4 --dtype bf16 --train --eager
	has "$out" 'all	208	3973680	100.0%'
}

@test 'the same figures as JSON' {
	works census --example block --train --json
	[ "$(grep -c '^{"part":".*","op":.*,"nodes":[0-9]*,"operations":[0-9]*,"bytes":[0-9]*}$' "$out")" = $(($(wc -l <"$out") - 1)) ]
	has "$out" '{"part":"forward","op":"attention","nodes":1,"operations":403439616,"bytes":6316032}'
	tail -n1 "$out" | grep -qE '^\{"eager":\{"calls":91,"bytes":435792912\},"bytes":[0-9]+,"ratio":0\.[0-9]{4}\}$' || fail_showing "$out"
	works census --example block --eager --json
	has "$out" '{"operator":"all","calls":34,"bytes":148953088}'
}

@test 'recomputation costs operations, fusion saves bytes' {
	works census --example block --train
	local bytes operations

	bytes=$(all 6) operations=$(all 4)
	works census --example block --train --recompute
	[ "$(all 4)" -gt "$operations" ]
	works census --example block --train --without epilogue
	[ "$(all 6)" -gt "$bytes" ]
	[ "$(all 4)" -ge "$operations" ]
}

@test 'a model of any size needs no memory' {
	works census --example block -l 96 --width 12288 -n 2048 --vocab 50257 --optimizer adamw
	[ "$(all 4)" -gt 1000000000000000 ]
}

@test 'devices' {
	works census --example mlp --device ref
	works census --example mlp --device cpu
	try census --example mlp --device cuda
	one_line_error '--device cuda: this build has no such device'
	try census --example mlp --device gpu
	one_usage_line
	has "$err" --device
	try env NNUTILS_ISA=mmx census --example mlp
	tool=census one_line_error NNUTILS_ISA
}

@test 'passes that are turned off by name' {
	works census --example mlp --without fold,merge,in-place,epilogue,reuse
	try census --example mlp --without fold,fuse
	one_usage_line
	has "$err" "--without: 'fuse' is not one of fold, merge, in-place, epilogue"
}

@test 'a limit of memory is kept before anything is allocated' {
	try census --example block --memory 1M
	one_line_error 'are needed, 1000000 allowed'
	works census --example block --memory 1G
}

@test 'shapes that make no model' {
	local options

	for options in '' '--example block --width 100 --heads 3' '--example block --heads 12 --kv-heads 5' \
		'--example block --width 9 --heads 3' '--example block --width 131072 --heads 1'; do
		# shellcheck disable=SC2086
		try census $options
		one_usage_line || return
	done
	try census --example mlp --width 1000000000 --ffn 1000000000 -n 1000000000
	[ "$status" = 0 ] || one_line_error
	try census one two
	one_usage_line
	refuses census nothing
	has "$err" 'census: nothing: No such file or directory'
}

@test 'a full disk, a closed stdout, a reader that left' {
	on_full_disk census --example block
	closed_stdout census --example block
	broken_pipe census --example block
}

@test 'faults of memory end in one line' {
	each_fault malloc ENOMEM census --example mlp --train
}

@test 'the page: options and examples' {
	options_match_man census
	man_examples census
}

@test 'a language model from its folder: products by hand' {
	local layer head

	# q k v o, then gate up down; two layers; the head
	layer=$((32 * 40 + 2 * 32 * 20 + 40 * 32 + 3 * 32 * 44))
	head=$((32 * 61))
	works census "$ROOT/fixtures/good/lm/llama" -n 16
	[ "$(awk -F '\t' '$2 == "matmul" { print $3, $4 }' "$out")" = "15 $((2 * 16 * (2 * layer + head)))" ] || fail_showing "$out"
	tail -n1 "$out" | grep -qE '^# eager PyTorch: [0-9]+ bytes in [0-9]+ calls; here [0-9]+: 0\.[0-9]{3} of it$' || fail_showing "$out"
	works census "$ROOT/fixtures/good/lm/llama" --batch 3 --ctx 16
	[ "$(awk -F '\t' '$2 == "matmul" { print $3, $4 }' "$out")" = "15 $((3 * 2 * 16 * (2 * layer + head)))" ] || fail_showing "$out"
	tail -n1 "$out" | grep -q '^all	' || fail_showing "$out"
	works census "$ROOT/fixtures/good/lm/gemma3" -n 16 --train
	tail -n1 "$out" | grep -q '^all	' || fail_showing "$out"
	refuses census --eager "$ROOT/fixtures/good/lm/gemma3"
	has "$err" 'fixtures/good/lm/gemma3: what eager PyTorch calls is known of folders of llama alone'
}
