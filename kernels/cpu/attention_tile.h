/*
 * kernels/cpu/attention_tile.h - products of matrices that are in the cache, from where they lie
 *
 * A tile is GEMM_ROWS x GEMM_COLUMNS sums in registers, each one chain of multiply-adds in the order of k, which begins at 0.
 * Attention's products are short (a head's dim, a tile of keys), so what surrounds a tile counts: packing, and sums that are cleared in
 * memory and read back (80 of 102 GFLOP/s at a depth of 64 on Zen 3; 96 so). Rows of the right operand lie STEP apart, its
 * columns side by side. The left operand's rows lie a step apart with their elements side by side, or ACROSS: element k
 * of all rows side by side.
 */
#ifndef KERNELS_CPU_ATTENTION_TILE_H
#define KERNELS_CPU_ATTENTION_TILE_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/level.h"

struct attention_matrix {
	const float *at;
	size_t step;
};

/*
 * Asks for share PART of PARTS of N floats at P that come next: what is not in the second level of the cache when its tile begins
 * costs as much as a seventh of the products.
 */
SIMD_INLINE void attention_soon(const float *p, size_t n, size_t part, size_t parts)
{
	size_t lines = n / 16, each = (lines + parts - 1) / parts, from = part * each;
	const float *end = p + 16 * (from + each < lines ? from + each : lines);

	if (p)
		for (p += 16 * from; p < end; p += 16)
			__builtin_prefetch(p, 0, 2);
}

/* C, rows STEP apart, = left right. */
void LEVEL_NAME(attention_set)(struct attention_matrix left, struct attention_matrix right,
			       size_t depth, float *c, size_t step);
/* C = scores (left right - less), element by element: SCORES lie as C, LESS is one a row. */
void LEVEL_NAME(attention_set_slopes)(struct attention_matrix left, struct attention_matrix right,
				      size_t depth, const float *scores, const float *less,
				      float *c, size_t step);
/* C += left right. */
void LEVEL_NAME(attention_add)(struct attention_matrix left, struct attention_matrix right,
			       size_t depth, float *c, size_t step);
/* The same with a left operand that lies across. FACTOR, which may be NULL: C = C factor + left right, one factor a row. */
void LEVEL_NAME(attention_add_across)(struct attention_matrix left, struct attention_matrix right,
				      size_t depth, const float *factor, float *c, size_t step);

#endif
