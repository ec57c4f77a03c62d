/*
 * kernels/cpu/avx512_bf16/matmul.c - matrix products of bf16 by vdpbf16ps
 *
 * 12 rows by 2 vectors of columns in 24 registers of sums, as gemm.h's tile. Intel's manual, volume 2, VDPBF16PS: to each sum the
 * product of the odd elements of the pair is added first, then that of the even ones, each rounded once. Subnormals, of
 * operands and of sums, are zeros.
 *
 * A pair of k takes 24 products, 12 cycles of a processor that starts two a cycle, and 14 loads.
 */
#include "kernels/cpu/level.h"

#define PAIRS_ROWS  12
#define PAIRS_STEP  1
#define PAIRS_BLOCK 96
#define PAIRS_NAME  "bf16 pairs"

#include "kernels/cpu/pairs.h"

static void pairs_begin(void)
{
}

static void pairs_end(void)
{
}

/* Pair J of a row of the left panel, in every lane. */
SIMD_INLINE __m512bh broadcast_pair(const uint8_t *p)
{
	int32_t pair;

	memcpy(&pair, p, sizeof(pair));
	return (__m512bh)_mm512_set1_epi32(pair);
}

static void pairs_tile(const uint8_t *left, size_t left_panel, const uint8_t *right,
		       size_t right_panel, size_t pieces, float *c, size_t rows, bool first,
		       uintptr_t ahead)
{
	__m512 sum[PAIRS_ROWS][2];

	SIMD_UNROLL
	for (int r = 0; r < PAIRS_ROWS; r++)
		for (int v = 0; v < 2; v++)
			sum[r][v] = first ? (__m512)simd_f32(0)
					  : (__m512)simd_load(c + r * PAIRS_STRIDE + v * 16);
	for (size_t i = 0; i < pieces; i++, left += PAIRS_LEFT, right += PAIRS_RIGHT) {
		for (int j = 0; j < 4; j++)
			_mm_prefetch((const char *)(ahead + i * PAIRS_RIGHT + j * PAIRS_LINE),
				     _MM_HINT_T1);
		for (size_t j = 0; j < PAIRS_LINE; j += 4) {
			__m512bh b0 = (__m512bh)_mm512_loadu_si512(right + j * 16);
			__m512bh b1 = (__m512bh)_mm512_loadu_si512(right + right_panel + j * 16);

			SIMD_UNROLL
			for (int r = 0; r < PAIRS_ROWS; r++) {
				__m512bh a = broadcast_pair(left + r * PAIRS_LINE + j);

				sum[r][0] = _mm512_dpbf16_ps(sum[r][0], a, b0);
				sum[r][1] = _mm512_dpbf16_ps(sum[r][1], a, b1);
			}
		}
	}
	SIMD_UNROLL
	for (int r = 0; r < PAIRS_ROWS; r++)
		for (int v = 0; v < 2; v++)
			simd_store(c + r * PAIRS_STRIDE + v * 16, (vf32)sum[r][v]);
}
