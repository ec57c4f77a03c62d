/*
 * lib/eval/bench.h - what `bench ops` measures: the limits of this machine, what graphs cost beside their kernels, and each op, and what makes
 * rows narrower, beside the limits
 *
 * Every function measures what is wanted and gives its rows to the caller; -1 with the error set.
 */
#ifndef LIB_EVAL_BENCH_H
#define LIB_EVAL_BENCH_H

#include "lib/eval/bench_rows.h"
#include "lib/eval/op_shapes.h"
#include "lib/eval/roof.h"
#include "lib/graph/backend.h"

#define BENCH_RUNS 1000 /* of a case at most */

struct bench_level {
	enum level level;
	const struct backend *backend;
	struct roof *roof; /* measured with the team */
};

struct bench {
	struct team *team;
	const struct bench_level *levels;
	size_t n_levels;
	const enum dtype *dtypes; /* of the operands that say none */
	size_t n_dtypes;
	const char *const *
		variants; /* kernels instead of the one that is chosen; `all` alone: each that there is */
	size_t n_variants;
	bool cpu, ref;	   /* the devices */
	bool cold;	   /* the caches are emptied before every run */
	size_t least_runs; /* 1 to BENCH_RUNS */
	double seconds;	   /* further runs until a case took so long */
	bool (*wanted)(const char *op, const char *name);
	void (*row)(const struct bench_row *r);
};

int bench_peaks(const struct bench *b);
int bench_memory(const struct bench *b);
int bench_overheads(const struct bench *b);
int bench_quantize(const struct bench *b);
/* The op at the shapes of models, or at the N_OWN that are given as operands. */
int bench_op(const struct bench *b, enum op op, const char *const *own, size_t n_own);

/* A row of level LEVEL with its first cells filled. */
struct bench_row bench_row_of(const struct bench *b, size_t level, const char *op,
			      const char *name);

#endif
