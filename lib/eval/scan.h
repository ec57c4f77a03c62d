/*
 * lib/eval/scan.h - one pass over a tensor's data, chunk by chunk, on a team
 */
#ifndef LIB_EVAL_SCAN_H
#define LIB_EVAL_SCAN_H

#include "formats/tensor_info.h"
#include "kernels/cpu/level.h"
#include "kernels/tensor_stats.h"

/* Elements FROM to FROM + N of a tensor, N at most TENSOR_CHUNK, and where their bytes begin. */
struct scan_chunk {
	uint64_t from;
	size_t n;
};

static inline size_t scan_n_chunks(const struct tensor_info *t)
{
	return t->n_elements / TENSOR_CHUNK + (t->n_elements % TENSOR_CHUNK != 0);
}

static inline struct scan_chunk scan_chunk(const struct tensor_info *t, size_t i)
{
	uint64_t from = (uint64_t)i * TENSOR_CHUNK, left = t->n_elements - from;

	return (struct scan_chunk){ from, left < TENSOR_CHUNK ? left : TENSOR_CHUNK };
}

/* FROM is a multiple of the block. */
static inline const unsigned char *scan_data(const struct tensor_info *t, uint64_t from)
{
	const struct dtype_info *info = dtype_info(t->dtype);

	return t->data + from / info->block * info->bytes;
}

/* The level that NNUTILS_ISA and the machine allow; -1 with the error set. */
int scan_level(enum level *out);

#endif
