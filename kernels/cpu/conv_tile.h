/*
 * kernels/cpu/conv_tile.h - the innermost products of convolutions
 *
 * Both sum over a slice of N terms in registers and add that to what slices before gave (FIRST: there are none). A chain is never
 * longer than CONV_SLICE, which bounds the error of f32; slices are cut by shape, so that no cut of the work changes a bit.
 *
 * flat: on vectors of places that lie side by side, a few rows of the result. spread: on vectors of rows of the result, a few places (or
 * what else a number is broadcast from) wherever they lie: no place is computed for nothing where rows of an image are short, and
 * steps cost nothing.
 *
 * Registers: 4 x 3 vectors of sums with 3 and 1 of 16, or 6 x 2 with 2 and 1; 8 x 3 and 8 x 2 of 32 on AVX-512.
 */
#ifndef KERNELS_CPU_CONV_TILE_H
#define KERNELS_CPU_CONV_TILE_H

#include "kernels/cpu/gemm.h"

#define CONV_SLICE	  288 /* a left panel of it stays in L1 */
#define CONV_FLAT_ROWS	  GEMM_LOW
#define CONV_FLAT_COLUMNS (3 * SIMD_WIDTH)
#define CONV_SPREAD	  (SIMD_WIDTH == 16 ? 8 : 6) /* places */
#define CONV_LANES	  GEMM_COLUMNS

/* How many terms a slice of K has: nearly equal ones, whole multiples of STEP where that is possible. */
SIMD_INLINE size_t conv_slice(size_t k, size_t step)
{
	size_t n = (k + CONV_SLICE - 1) / CONV_SLICE, each = n ? (k + n - 1) / n : 1;

	if (step && step <= CONV_SLICE) {
		each = (each + step - 1) / step * step;
		each = each > CONV_SLICE ? CONV_SLICE / step * step : each;
	}
	return each;
}

SIMD_INLINE void conv_put(float *c, vf32 sum, bool first)
{
	simd_store(c, first ? sum : simd_load(c) + sum);
}

/* C, CONV_FLAT_ROWS rows STEP apart: panel A [n][CONV_FLAT_ROWS] by CONV_FLAT_COLUMNS places at X + OFFSET[k]. */
SIMD_INLINE void conv_flat(const float *a, const float *x, const size_t *offset, size_t n,
			   bool first, float *c, size_t step)
{
	vf32 sum[CONV_FLAT_ROWS][3] = { 0 };

	for (size_t k = 0; k < n; k++, a += CONV_FLAT_ROWS) {
		const float *p = x + offset[k];
		vf32 x0 = simd_load(p), x1 = simd_load(p + SIMD_WIDTH);
		vf32 x2 = simd_load(p + 2 * SIMD_WIDTH);

		SIMD_UNROLL
		for (int i = 0; i < CONV_FLAT_ROWS; i++) {
			vf32 w = simd_broadcast(a + i);

			sum[i][0] = simd_fma(w, x0, sum[i][0]);
			sum[i][1] = simd_fma(w, x1, sum[i][1]);
			sum[i][2] = simd_fma(w, x2, sum[i][2]);
		}
	}
	SIMD_UNROLL
	for (size_t i = 0; i < CONV_FLAT_ROWS; i++)
		for (size_t j = 0; j < 3; j++)
			conv_put(c + i * step + j * SIMD_WIDTH, sum[i][j], first);
}

/* C [CONV_SPREAD][CONV_LANES]: the numbers at X + AT[i] + OFFSET[k] by panel W [n][CONV_LANES]. */
SIMD_INLINE void conv_spread(const float *x, const size_t *at, const size_t *offset, const float *w,
			     size_t n, bool first, float *c)
{
	vf32 sum[CONV_SPREAD][2] = { 0 };
	const float *p[CONV_SPREAD];

	SIMD_UNROLL
	for (int i = 0; i < CONV_SPREAD; i++)
		p[i] = x + at[i];
	for (size_t k = 0; k < n; k++, w += CONV_LANES) {
		vf32 w0 = simd_load(w), w1 = simd_load(w + SIMD_WIDTH);
		size_t o = offset[k];

		SIMD_UNROLL
		for (int i = 0; i < CONV_SPREAD; i++) {
			vf32 y = simd_broadcast(p[i] + o);

			sum[i][0] = simd_fma(y, w0, sum[i][0]);
			sum[i][1] = simd_fma(y, w1, sum[i][1]);
		}
	}
	SIMD_UNROLL
	for (size_t i = 0; i < CONV_SPREAD; i++)
		for (size_t j = 0; j < 2; j++)
			conv_put(c + i * CONV_LANES + j * SIMD_WIDTH, sum[i][j], first);
}

#endif
