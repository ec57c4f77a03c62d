/*
 * kernels/cpu/head_blocks.h - blocks of states by words: products of panels, and products into logits
 *
 * What head.c and linear_ce_sum.c share.
 */
#ifndef KERNELS_CPU_HEAD_BLOCKS_H
#define KERNELS_CPU_HEAD_BLOCKS_H

#include <math.h>

#include "kernels/cpu/gemm_blocks.h"
#include "kernels/cpu/head.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"

SIMD_INLINE size_t head_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

SIMD_INLINE size_t head_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

SIMD_INLINE size_t head_tiles(size_t rows)
{
	return (rows + GEMM_ROWS - 1) / GEMM_ROWS;
}

SIMD_INLINE size_t head_most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* A product of panels over DEPTH. */
struct head_product {
	const float *left, *right;
	size_t rows, columns, depth;
	size_t panel; /* lines of a right panel, of which DEPTH are taken; 0: it has no more */
	bool first;   /* sums begin with 0, else with what is there */
	float *sums;
	size_t step; /* from row to row */
};

/* Tile I of the rows and the right panel of column J over KN from K on; lines that the next tile needs are asked for. */
SIMD_INLINE void head_tile(const struct head_product *p, size_t i, size_t j, size_t k, size_t kn)
{
	float *sums = p->sums + i * p->step + j;
	struct gemm_ends e = { .from = p->first && k == 0 ? NULL : sums,
			       .from_step = (ptrdiff_t)p->step,
			       .to = sums,
			       .to_step = (ptrdiff_t)p->step };
	const size_t panel = p->panel ? p->panel : p->depth;
	const float *right = p->right + j * panel + k * GEMM_COLUMNS;

	if (i + GEMM_ROWS < p->rows)
		for (size_t r = GEMM_ROWS; r < 2 * GEMM_ROWS; r++)
			__builtin_prefetch(sums + r * p->step, 1, 3);
	gemm_ask(right + panel * GEMM_COLUMNS, kn, i / GEMM_ROWS, head_tiles(p->rows));
	LEVEL_NAME(gemm_tile_ends)(p->left + i * p->depth + k * GEMM_ROWS, right, kn, &e);
}

/* Of no depth too, whose sums are 0. CACHES as gemm_depth takes them. */
SIMD_INLINE void head_multiply(const struct kernel_caches *caches, const struct head_product *p)
{
	const size_t slice = gemm_depth(caches, p->depth, 1);
	size_t k = 0;

	do {
		for (size_t j = 0; j < p->columns; j += GEMM_COLUMNS)
			for (size_t i = 0; i < p->rows; i += GEMM_ROWS)
				head_tile(p, i, j, k, head_least(slice, p->depth - k));
		k += slice;
	} while (k < p->depth);
}

/* Rows FIRST to FIRST + N - 1 of T, a matrix, as panels of WIDTH rows over all its columns. */
SIMD_INLINE void head_pack_rows(const struct kernel_tensor *t, size_t first, size_t n, size_t width,
				float *out)
{
	struct gemm_source s = { .t = t, .line = t->stride[0], .k = t->stride[1] };

	LEVEL_NAME(gemm_pack)(&s, first, n, 0, t->shape[1], width, width * t->shape[1], out);
}

/* The same rows as the depth of a right operand, whose columns are T's. */
SIMD_INLINE void head_pack_across(const struct kernel_tensor *t, size_t first, size_t n, float *out)
{
	struct gemm_source s = { .t = t,
				 .at = (ptrdiff_t)first * t->stride[0],
				 .line = t->stride[1],
				 .k = t->stride[0] };

	LEVEL_NAME(gemm_pack)(&s, 0, t->shape[1], 0, n, GEMM_COLUMNS, GEMM_COLUMNS * n, out);
}

/* Of such an operand of N rows, row ROW: what has no gradient takes no part in dw, even where it is not finite. */
SIMD_INLINE void head_leave_out(float *right, size_t columns, size_t n, size_t row)
{
	for (size_t j = 0; j < columns; j += GEMM_COLUMNS)
		memset(right + j * n + row * GEMM_COLUMNS, 0, GEMM_COLUMNS * sizeof(float));
}

SIMD_INLINE vf32 head_logit(vf32 product, const float *bias, float cap)
{
	vf32 z = product + simd_load(bias);

	return cap == 0 ? z : simd_f32(cap) * simd_tanh(z / simd_f32(cap));
}

/* V, of which LEFT lanes count: the others are PAD. */
SIMD_INLINE vf32 head_padded(vf32 v, size_t left, float pad)
{
	float lane[SIMD_WIDTH];

	if (left >= SIMD_WIDTH)
		return v;
	simd_store(lane, v);
	for (size_t i = left; i < SIMD_WIDTH; i++)
		lane[i] = pad;
	return simd_load(lane);
}

SIMD_INLINE float head_largest(vf32 v)
{
	float lane[SIMD_WIDTH], most;

	simd_store(lane, v);
	most = lane[0];
	for (int i = 1; i < SIMD_WIDTH; i++)
		most = lane[i] > most ? lane[i] : most;
	return most;
}

/* Products into logits: their largest, and their sum. What fills the last vector is so low that it counts nothing. */
SIMD_INLINE float head_logits(float *z, const float *bias, float cap, size_t n, double *total)
{
	vf32 most = simd_f32(-INFINITY), sum = { 0 };

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = head_padded(head_logit(simd_load(z + i), bias + i, cap), n - i, 0);

		sum += v;
		most = simd_max(head_padded(v, n - i, -INFINITY), most);
		simd_store(z + i, head_padded(v, n - i, -1e30f));
	}
	*total += rows_sum(sum);
	return head_largest(most);
}

#endif
