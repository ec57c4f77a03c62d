/*
 * lib/eval/bench_rows.h - the lines that bench writes and bench-diff reads
 */
#ifndef LIB_EVAL_BENCH_ROWS_H
#define LIB_EVAL_BENCH_ROWS_H

#include <stdio.h>

#include "lib/base/buffer.h"
#include "lib/eval/timing.h"

/* Words may be NULL: `-`. */
struct bench_row {
	const char *op, *name, *dtype, *operands, *device, *level, *variant, *cache;
	int threads;
	struct spread seconds;	  /* n 0: was not measured */
	double operations, moved; /* of one run; 0: none */
	double scratch;		  /* bytes */
	const char *bound;	  /* by what */
	double roof;		  /* seconds that the bound allows; 0: none */
	const char *note;
};

/* Ends with NULL; those of numbers start with `>`, as cmd_table has them. */
extern const char *const bench_headings[];
/* The text of a cell, or `-`. */
void bench_cell(const struct bench_row *r, size_t column, struct buffer *out);
/* The row as one JSON object and a line end; what is not there is left out. */
void bench_json(const struct bench_row *r, struct buffer *out);

/* What is read back: KEY says what was measured (all columns before `runs`, tabs between). */
struct bench_time {
	char *key;
	struct spread seconds;
};
struct bench_times {
	struct bench_time *items; /* in the order of the file */
	size_t n, capacity;
};

/* Adds the measured rows of F, whose NAME is for messages. -1 with the error set: line, and what is wrong. */
int bench_times_read(struct bench_times *t, FILE *f, const char *name);
void bench_times_free(struct bench_times *t);
/* The row with this key, or NULL. */
const struct bench_time *bench_times_find(const struct bench_times *t, const char *key);

#endif
