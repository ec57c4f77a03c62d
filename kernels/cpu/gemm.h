/*
 * kernels/cpu/gemm.h - panels of matrices, and the product of two tiles of them
 *
 * Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication": both operands are copied into panels, GEMM_ROWS
 * rows of the left or GEMM_COLUMNS columns of the right, element k of all of them side by side; the innermost product
 * of two panels keeps its GEMM_ROWS x GEMM_COLUMNS sums in registers. Each sum is one chain of multiply-adds in the
 * order of k, or a sum of such of GEMM_CHAIN each, whatever the blocking, so that no cut of the work changes a bit.
 *
 * Registers: 6 x 2 vectors of sums with 2 for the right panel and 1 for the left of 16; 12 x 2 of 32 on AVX-512.
 */
#ifndef KERNELS_CPU_GEMM_H
#define KERNELS_CPU_GEMM_H

#include "kernels/cpu/dequant.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/operand.h"

#if SIMD_WIDTH == 16
# define GEMM_ROWS 12
# define GEMM_LOW  8 /* rows of a low and long tile (conv_tile.h) */
#else
# define GEMM_ROWS 6
# define GEMM_LOW  4
#endif
#define GEMM_COLUMNS (2 * SIMD_WIDTH)
#define GEMM_CHAIN \
 32 /* divides every block of quantized values, so that no cut of k is within one */
#define GEMM_CHUNK \
 256 /* elements that are brought to f32 at a time: a multiple of every block and panel */

/* A matrix seen as N lines (rows of the left, columns of the right operand) of K elements. */
struct gemm_source {
	const struct kernel_tensor *t;
	ptrdiff_t at;	   /* of its first element */
	ptrdiff_t line, k; /* steps */
};

/* Elements side by side from AT on, N at most GEMM_CHUNK, as f32; blocks whole. */
SIMD_INLINE void gemm_run(const struct kernel_tensor *t, ptrdiff_t at, float *out, size_t n)
{
	const struct dtype_info *info;

	if (operand_is_float(t->dtype)) {
		operand_load(t->dtype, operand_at(t, at), out, n);
		return;
	}
	info = dtype_info(t->dtype);
	LEVEL_NAME(dequant_row)
	(t->dtype, (const uint8_t *)t->data + (size_t)at / info->block * info->bytes, out,
	 (n + info->block - 1) / info->block * info->block);
}

/*
 * Lines FIRST to FIRST + N - 1, elements K0 to K0 + KN - 1, into panels of WIDTH lines: line l, element k at
 * OUT[l / WIDTH * STEP + (k - K0) * WIDTH + l % WIDTH]; the last panel is filled up with zeros. One of the steps is 1. WIDTH is
 * GEMM_ROWS, GEMM_LOW or GEMM_COLUMNS.
 */
void LEVEL_NAME(gemm_pack)(const struct gemm_source *s, size_t first, size_t n, size_t k0,
			   size_t kn, size_t width, size_t step, float *out);

/* ROWS x COLUMNS, rows STRIDE apart, the other way round: OUT[column * OUT_STRIDE + row]. */
void LEVEL_NAME(gemm_turn)(const float *in, size_t rows, size_t columns, size_t stride, float *out,
			   size_t out_stride);

/* C, GEMM_ROWS rows STRIDE apart, += A panel by B panel over KN. */
void LEVEL_NAME(gemm_tile)(const float *a, const float *b, size_t kn, float *c, size_t stride);
/*
 * The same, but sums begin with those at FROM (NULL: with 0), and TO becomes PLUS (NULL: 0) + the sums. Rows lie so many elements apart. PLUS
 * may be TO, and FROM too.
 */
struct gemm_ends {
	const float *from, *plus;
	float *to;
	ptrdiff_t from_step, plus_step, to_step;
};

void LEVEL_NAME(gemm_tile_ends)(const float *a, const float *b, size_t kn,
				const struct gemm_ends *e);
/*
 * The same by chains of GEMM_CHAIN, which are summed: of k products the rounding grows as the root of GEMM_CHAIN / 2 + k / GEMM_CHAIN / 2 in
 * the place of k / 2. It takes 7 % longer. K is cut into multiples of GEMM_CHAIN.
 */
void LEVEL_NAME(gemm_tile_chains)(const float *a, const float *b, size_t kn, float *c,
				  size_t stride);

#endif
