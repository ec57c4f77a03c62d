/*
 * kernels/tensor_stats.h - what the values of a tensor are like
 *
 * A tensor is cut into chunks of TENSOR_CHUNK elements (the last may be shorter), each is looked
 * at by tensor_stats_chunk, on any thread, and the results are added in the chunks' order. The
 * bits are the same for any number of threads and on every level:
 *
 * Within a chunk, element i adds its value, and its square, to accumulators i % 16, which are
 * doubles, in the order of i. The 16 become one by adding the upper half to the lower half four times:
 * k + 8 to k, then k + 4, k + 2, k + 1. The square of an f32 is exact in double, so it does not matter
 * whether a level has fused multiply and add. f64, and integers of 32 and 64 bits, are taken as doubles,
 * all other types as the f32 that dtype_to_f32 makes of them.
 */
#ifndef KERNELS_TENSOR_STATS_H
#define KERNELS_TENSOR_STATS_H

#include "kernels/cpu/level.h"
#include "kernels/dtype.h"

#define TENSOR_CHUNK ((size_t)1 << 18)

struct tensor_stats {
	uint64_t n;
	uint64_t zeros; /* of either sign */
	uint64_t nans;
	uint64_t positive_infs, negative_infs;
	double min, max;	 /* of all but NaN; a zero is +0. min > max when there are none */
	double sum, sum_squares; /* of finite values */
};

/* No elements: n 0, min +inf, max -inf. */
void tensor_stats_start(struct tensor_stats *s);

/*
 * N elements of DATA, any alignment: at most TENSOR_CHUNK, a multiple of T's block. T must be
 * a type that decodes, and LEVEL available.
 */
void tensor_stats_chunk(enum level level, enum dtype t, const void *data, size_t n,
			struct tensor_stats *out);
/* The definition that every level is held to. */
void tensor_stats_chunk_ref(enum dtype t, const void *data, size_t n, struct tensor_stats *out);

/* Adds the chunk that follows. */
void tensor_stats_add(struct tensor_stats *total, const struct tensor_stats *next);

/* Of the finite values; 0 when there are none. */
double tensor_stats_mean(const struct tensor_stats *s);
double tensor_stats_rms(const struct tensor_stats *s);

#endif
