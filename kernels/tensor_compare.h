/*
 * kernels/tensor_compare.h - how two tensors differ
 *
 * Cut into chunks as in tensor_stats.h; the bits are the same for any number of threads and
 * on every level.
 *
 * A pair (a, b) differs when |a - b| > atol + rtol * |b|, and:
 * - a NaN differs from every number. Two NaN are equal here and counted in nan_both, since equal
 *   files must be equal; a caller for whom any NaN is a failure looks at that count and first_nan.
 * - an infinity is equal to itself, and differs from all else by infinity, whatever the tolerance.
 *
 * |a - b| and |a - b| / |b| are computed in f32 where neither type is wide, and the tolerance in
 * double. Wide types are f64 and integers of 32 and 64 bits: a pair with one is computed in double, and
 * two 64-bit integers are subtracted exactly. The sums are over pairs of finite numbers: element i
 * adds to accumulators i % 8, which are doubles, in the order of i, and these are added k + 4 to k, then
 * k + 2, k + 1. Products of two f32 are exact in double.
 */
#ifndef KERNELS_TENSOR_COMPARE_H
#define KERNELS_TENSOR_COMPARE_H

#include "kernels/tensor_stats.h"

#define TENSOR_NOWHERE UINT64_MAX

struct tensor_compare {
	uint64_t n;
	uint64_t n_differ;
	uint64_t first_differ;
	uint64_t nan_one; /* a NaN beside a number: differs */
	uint64_t nan_both;
	uint64_t first_nan;		 /* on either side */
	double max_abs;			 /* over pairs without NaN, whatever the tolerance */
	double max_rel;			 /* as well, where b is not 0 */
	uint64_t max_abs_at, max_rel_at; /* the first of that size; TENSOR_NOWHERE for 0 */
	double dot, a_squares, b_squares;
};

/* Both at least 0. */
struct tensor_tolerance {
	double atol, rtol;
};

void tensor_compare_start(struct tensor_compare *c);

/*
 * N elements, at most TENSOR_CHUNK and a multiple of both blocks, any alignment, each of a type that
 * decodes. Places count from the chunk's start.
 */
void tensor_compare_chunk(enum level level, enum dtype type_a, const void *a, enum dtype type_b,
			  const void *b, size_t n, struct tensor_tolerance tolerance,
			  struct tensor_compare *out);
void tensor_compare_chunk_ref(enum dtype type_a, const void *a, enum dtype type_b, const void *b,
			      size_t n, struct tensor_tolerance tolerance,
			      struct tensor_compare *out);

/* Adds the chunk that follows; its places then count from the start of all. */
void tensor_compare_add(struct tensor_compare *total, const struct tensor_compare *next);

/* dot / (|a| |b|); 1 when both are zero, 0 when one is. */
double tensor_compare_cosine(const struct tensor_compare *c);

#endif
