/*
 * tests/op_cases.h - operands with which every op is tested
 *
 * ops.def names for each op a function cases_X of op_cases*.c, which adds cases: shapes, how operands are filled, and the
 * attributes. The same cases serve gradients against differences, levels against ref, threads, guard pages, and the known
 * answers of PyTorch (fixtures/golden/ops). Values come from a counter-based generator: the same on every machine.
 */
#ifndef TESTS_OP_CASES_H
#define TESTS_OP_CASES_H

#include "lib/graph/op_table.h"

enum operand_fill {
	FILL_NORMAL,   /* normal, deviation 1 */
	FILL_POSITIVE, /* from 0.2 to 2.2 */
	FILL_APART, /* a shuffle of evenly spread values: no two near each other (maxima, orders) */
	FILL_IDS,   /* integers from LOW to HIGH - 1 */
	FILL_COUNT, /* 0, 1, 2, ...: positions */
	FILL_BOOL,
	FILL_OFFSETS, /* rising from 0 to HIGH */
	FILL_BITS,    /* bytes of a mask, none of whose rows is empty */
	FILL_LOGS,    /* log-probabilities: rows whose exp sum to 1 */
	FILL_GIVEN,   /* the values of the case's GIVEN */
};

#define CASE_GIVEN 8

struct op_operand {
	bool there;
	bool exact; /* its dtype is DTYPE and stays so; else it is whatever float the test runs in */
	enum dtype dtype;
	struct shape shape;
	enum operand_fill fill;
	int64_t low, high;
	double given[CASE_GIVEN];
	bool gradient; /* differentiable */
};

struct op_case {
	enum op op;
	char name[64]; /* `matmul/2` */
	struct op_operand in[KERNEL_TENSORS];
	int n_in;
	_Alignas(16) unsigned char attributes[256];
	uint64_t seed;
	/*
	 * With an operand that is not finite a kernel gives what is not finite exactly where ref does; NaN where ref does. ENDS, or
	 * NULL: why it may give NaN for ref's infinity, or the infinity of the other sign: the order of a sum decides, as IEEE 754
	 * leaves it. SPREADS, or NULL: why it may give NaN where ref is finite: ref leaves a factor 0 out, which the kernel
	 * multiplies. A number where ref gives NaN is always wrong.
	 */
	const char *ends, *spreads;
};

struct op_cases {
	struct op_case *items; /* owned */
	size_t n, capacity;
	enum op op; /* whose are made */
};

/* All cases of OP; none when NNUTILS_OPS (names, with commas between) is set and does not name it. */
void op_cases_make(struct op_cases *c, enum op op);
void op_cases_free(struct op_cases *c);

/* Values of operand I in double. */
void op_case_values(const struct op_case *c, int i, double *out);

/* How the operands that are floats lie in memory. */
enum op_layout {
	LAYOUT_DENSE,
	LAYOUT_GAPS,	   /* part of a larger tensor, along the last axis */
	LAYOUT_TRANSPOSED, /* the last two axes are the other way round */
	LAYOUT_COUNT
};

/*
 * The case as a node on inputs of a graph, in FLOATS where operands are not exact. NULL after an error. INPUTS gets the
 * operands, which may be views of inputs.
 */
struct node *op_case_node(const struct op_case *c, struct graph *g, enum dtype floats,
			  enum op_layout layout, struct tensor **inputs);
/* Writes the operands' values, rounded to ROUNDED where they are not exact, and NaN into the gaps between them. */
struct plan;
int op_case_fill(const struct op_case *c, struct plan *p, struct tensor *const *inputs,
		 enum dtype rounded);

/* --- for cases_X --- */
struct op_case *case_new(struct op_cases *c, const void *attributes);
void case_floats(struct op_case *c, struct shape shape, enum operand_fill fill);
void case_fixed(struct op_case *c, struct shape shape,
		enum operand_fill fill); /* floats without gradient */
void case_exact(struct op_case *c, enum dtype dtype, struct shape shape, enum operand_fill fill,
		int64_t low, int64_t high);
void case_given(struct op_case *c, enum dtype dtype, size_t n, const double *values);
/* Of every case so far. */
void cases_end(struct op_cases *c, const char *ends);
void cases_spread(struct op_cases *c, const char *spreads);
void case_none(struct op_case *c); /* an optional operand that is not there */

#define OP(id, op, low, high, places, attr, shape_rule, grad_rule, rows, flags, cost, tol, cases, \
	   text)                                                                                  \
 void cases_##cases(struct op_cases *c);
#define VIEW(...)
#include "lib/graph/ops.def"
#undef OP
#undef VIEW

#endif
