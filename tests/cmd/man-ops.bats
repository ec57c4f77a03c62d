#!/usr/bin/env bats
# man/man7/nnutils-ops.7: it is what the registry says now

load lib

page=$ROOT/man/man7/nnutils-ops.7

@test 'the page is current' {
	works "$ROOT/scripts/gen-man-ops"
	diff -u "$page" "$out" >&2 || complain 'scripts/gen-man-ops >man/man7/nnutils-ops.7'
}

@test 'every op and every heading of the registry, in order' {
	sed -nE 's/^(OP|VIEW)\([A-Z0-9_]+, ([a-z0-9_]+),.*/\2/p; s/^\/\* --- (.*) --- \*\/$/# \1/p' "$ROOT/lib/graph/ops.def" |
		tr '[:upper:]' '[:lower:]' >want
	[ "$(grep -c '^#' want)" -gt 8 ]
	sed -nE 's/^\.It Sy ([a-z0-9_]+) No .*/\1/p; s/^\.Ss (.*)/# \1/p' "$page" | tr '[:upper:]' '[:lower:]' | diff want - >&2
}

@test 'what is said of some of them' {
	has "$page" '.It Sy add No (2 inputs; gradient; row by row; elementwise; tolerance 1)' \
		'.It Sy matmul No (2 to 4 inputs; attributes matmul; gradient; row by row in inputs 1 and 4; tolerance 1)' \
		'.It Sy adamw No (5 inputs; attributes optimizer; updates inputs 1, 2 and 3; no gradient; draws; tolerance 4)' \
		'.It Sy reshape No (a view; gradient)' '.It Sy sign No (1 input; no gradient; row by row; elementwise; tolerance 0: exact)'
}

@test 'every attribute that an op names is described' {
	sed -nE 's/^\.It Sy .*; attributes ([a-z0-9_]+);.*/\1/p' "$page" | sort -u >named
	[ -s named ]
	sed -n '/^\.Sh ATTRIBUTES/,$p' "$page" | sed -nE 's/^\.It Sy ([a-z0-9_]+)$/\1/p' | sort >there
	comm -23 named there >lost
	[ ! -s lost ] || { show lost; return 1; }
	# attention's: a comment of the field, and one of several fields
	has "$page" '.It Va stride[2], pad[4], dilation[2]' 'of q . k; 0: 1 / sqrt(dim of q)'
}
