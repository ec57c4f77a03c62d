/*
 * lib/eval/op_bench.h - one op at one shape, run by itself
 *
 * A plan with the op's node alone, whose time is taken from the meeting of all threads before it to the meeting after it, so that
 * neither the waking of threads nor the plan counts.
 */
#ifndef LIB_EVAL_OP_BENCH_H
#define LIB_EVAL_OP_BENCH_H

#include "lib/eval/op_shapes.h"
#include "lib/eval/roof.h"
#include "lib/graph/plan.h"

struct op_bench_options {
	const struct backend *backend;
	const char *variant; /* of the backend's kernels; NULL: what it chooses */
	struct roof *roof;   /* whose team runs it, and which empties the caches */
	struct team *team;
	bool cold; /* operands are out of the caches before every run */
};

struct op_bench;

/* FLOATS: the dtype of operands that say none. -1 with the error set: a shape, a variant that is not there or does not claim it. */
int op_bench_new(struct op_bench **out, const struct op_shape *s, enum dtype floats,
		 const struct op_bench_options *o);
void op_bench_free(struct op_bench *b); /* NULL is allowed */

/* Whether FLOATS makes a difference. */
bool op_bench_takes_dtype(const struct op_shape *s);

/* Seconds of one run of the op_bench at ARG. */
double op_bench_run(void *arg);

struct op_bench_facts {
	double operations;
	struct roof_bytes bytes; /* that must move at least */
	double scratch;		 /* bytes that the kernel works in */
	const char *backend;	 /* `ref` when the backend does not claim it */
	const char *variant;
	enum dtype
		dtype; /* FLOATS where that makes a difference; else of the first operand that is a float, or the first */
};
struct op_bench_facts op_bench_facts(const struct op_bench *b);

/* The variants that BACKEND has for the op, claimed or not: number I of them, or NULL. */
const char *op_bench_variant(const struct backend *b, enum op op, size_t i);

#endif
