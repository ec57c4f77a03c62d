#!/usr/bin/env bats
# bench: what it measures, in which columns; what it refuses. No time is judged.

load lib

# quick ARG...: bench ops, once each.
quick()
{
	works bench ops -n1 --time=0 -j1 "$@"
}

# column NAME: of the rows on stdout.
column()
{
	grep -v '^#' "$out" | awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }'
}

@test 'an op at a shape of one'\''s own' {
	quick -d f32 -s '8x16 16x4T' matmul
	[ "$(column op)" = matmul ]
	[ "$(column operands)" = '8x16 16x4T' ]
	[ "$(column dtype)" = f32 ]
	[ "$(column threads)" = 1 ]
	[ "$(column cache)" = warm ]
	column us | awk '!($1 > 0) { exit 1 }'
	column share | awk '!($1 > 0) { exit 1 }'
	[ "$(grep -v '^#' "$out" | awk -F '\t' 'NF != 19' | wc -l)" = 0 ]
}

@test 'types, threads, devices, levels and variants: a row each' {
	works bench ops -n1 --time=0 -j1,2 -d f32,bf16 -s 8x16 -s 16x8 neg
	[ "$(column dtype | paste -sd ' ')" = 'f32 bf16 f32 bf16 f32 bf16 f32 bf16' ]
	[ "$(column threads | sort | uniq -c | tr -s ' ')" = $' 4 1\n 4 2' ]
	quick -d f32 --device cpu,ref -s 8x16 neg
	[ "$(column device | paste -sd ' ')" = 'cpu ref' ]
	[ "$(column level | tail -n1)" = - ]
	quick -d f32 --level generic -s 8x16 neg
	[ "$(column level)" = generic ]
	quick -d f32 --variant all -s 8x16 neg
	name=$(column variant | head -n1)
	quick -d f32 --variant "$name" -s 8x16 neg
	[ "$(column variant)" = "$name" ]
	quick -d f32 --cold -s 8x16 neg
	[ "$(column cache)" = cold ]
	quick -d bf16 -s 'f32:8x16 8x16' accumulate
	[ "$(column dtype)" = bf16 ]
	# One whose operands all have types of their own is measured once.
	quick -s 'i32:64<4' histogram
	[ "$(column dtype)" = i32 ]
}

@test 'NNUTILS_ISA lowers the level' {
	NNUTILS_ISA=generic quick -d f32 -s 8x16 neg
	[ "$(column level)" = generic ]
	has "$out" 'level generic'
	NNUTILS_ISA=nope try bench ops -s 8x16 neg
	one_usage_line
	has "$err" nope
}

@test 'the machine: what multiplies, what there is not' {
	quick peak
	[ "$(column case | paste -sd ' ')" = 'fma bf16-dot int8-dot' ]
	column gflops | head -n1 | awk '!($1 > 0) { exit 1 }'
	quick --level generic peak/bf16-dot
	[ "$(column note)" = 'not on this machine' ]
	[ "$(column us)" = - ]
}

@test 'nodes that do nothing, and planning' {
	quick overhead
	[ "$(column case | wc -l)" = 4 ]
	column us | awk '!($1 > 0) { exit 1 }'
}

@test 'rows made narrower: those of plain types beside their bytes' {
	quick 'quantize/q[45]_[1k]'
	[ "$(column op | sort -u)" = quantize ]
	[ "$(column case | paste -sd ' ')" = 'q4_1 q5_1 q4_k q5_k' ]
	[ "$(column bound | paste -sd ' ')" = 'bytes bytes - -' ]
	# 2^25 values: 4 bytes in, 5 bits out
	paste <(column us) <(column gbytes) | head -n1 | awk '{ x = 1e3 * $1 * $2 / (2 ^ 25 * 4.625) } !(x > 0.999 && x < 1.001) { exit 1 }'
}

@test 'JSON holds the same' {
	quick -d f32 --json -s 8x16 neg
	[ "$(wc -l <"$out")" = 1 ]
	has "$out" '{"op":"neg","case":"-","dtype":"f32","operands":"8x16","device":"cpu","level":"'
}

@test 'every op has a shape' {
	works bench ops --list
	lacks "$out" 'no shape'
	ops=$(sed -nE 's/^OP\([A-Z0-9_]+, ([a-z0-9_]+),.*/\1/p' "$ROOT/lib/graph/ops.def" | sort)
	[ -n "$ops" ]
	diff <(echo "$ops") <(sed 's,/.*,,' "$out" | sort -u)
}

@test 'misuse' {
	try bench
	one_usage_line
	try bench opps
	one_usage_line
	has "$err" "no command 'opps'"
	for bad in --dtype=q8_0 --level=avx9 --threads=0 --threads=x --device=gpu --shape=4x4; do
		try bench ops "$bad"
		one_usage_line || complain "$bad"
	done
	try bench ops no-such-op
	one_line_error "nothing is named 'no-such-op'"
	try bench ops -n1 --time=0 -s '4x5 6x7' matmul
	one_line_error '[4, 5] by [6, 7]'
	try bench ops -n1 --time=0 -s '4x' matmul
	one_line_error "operand '4x'"
	try bench ops -n1 --time=0 -s '4x5' matmul
	one_line_error 'matmul takes 2 to 4 operands, not 1'
	try bench ops -n1 --time=0 --variant none -s '4x5 5x4' matmul
	one_line_error "matmul has no variant 'none'"
}

@test 'trouble with stdout' {
	on_full_disk bench ops --list
	closed_stdout bench ops --list
	on_full_disk bench ops -n1 --time=0 -j1 -d f32 -s 8x16 neg
}

@test 'the page: options and examples' {
	options_match_man bench
	man_examples bench
}
