/*
 * lib/model/importance.h - how much each column of a weight matters: llama.cpp's importance matrix in a GGUF
 *
 * A file holds, for each tensor NAME that was watched, `NAME.in_sum2` [matrices, columns], sums of squares of what each column was multiplied
 * with, and `NAME.counts` [matrices, 1], how many rows they are sums of; both f32. general.type is `imatrix`; imatrix.datasets,
 * imatrix.chunk_count and imatrix.chunk_size say what was read. The source is llama.cpp's tools/imatrix.
 */
#ifndef LIB_MODEL_IMPORTANCE_H
#define LIB_MODEL_IMPORTANCE_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/outfile.h"

struct importance_tensor {
	struct bytes name;	    /* of the weight: `blk.0.ffn_up.weight` */
	uint64_t columns, matrices; /* matrices: 1, or the number of experts */
	const float *squares;	    /* MATRICES times COLUMNS */
	const float *counts;	    /* MATRICES; 0: that one was not used */
};

struct importance_about {
	struct bytes dataset;	     /* the first, where there are several */
	uint32_t chunks, chunk_size; /* tokens */
};

struct importance;

/* Every value is looked at: one that is NaN, infinite or negative is an error that names tensor and column. */
int importance_open(struct importance **out, const char *path);
void importance_close(struct importance *i); /* NULL is allowed */

size_t importance_n(const struct importance *i);
struct importance_tensor importance_at(const struct importance *i, size_t n);
struct importance_about importance_about(const struct importance *i);

/*
 * What an error in each of COLUMNS costs in matrix MATRIX of MATRICES of the tensor NAME: mean squares to OUT, as quantize_row wants them:
 * divided by a power of two near their mean, and 16 columns (16 k to 16 k + 15) that were never used have a little each. 1; 0 where nothing is
 * known of the tensor, or nothing was ever multiplied with it; -1: the file has it in another shape.
 */
int importance_weights(const struct importance *i, struct bytes name, uint64_t matrices,
		       uint64_t matrix, uint64_t columns, float *out);

/* Writes N tensors, in their order, to F, which stays the caller's. */
int importance_write(struct outfile *f, const struct importance_about *about,
		     const struct importance_tensor *tensors, size_t n);

#endif
