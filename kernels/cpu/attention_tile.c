/*
 * kernels/cpu/attention_tile.c - products of matrices that are in the cache, from where they lie
 *
 * Functions of their own: inside a larger one the compiler keeps what addresses the operands in memory.
 */
#include "kernels/cpu/attention_tile.h"

struct sums {
	vf32 at[GEMM_ROWS][2];
};

SIMD_INLINE void multiply(struct attention_matrix left, struct attention_matrix right, size_t depth,
			  bool across, struct sums *sums)
{
	vf32 sum[GEMM_ROWS][2];
	const float *b = right.at, *a[GEMM_ROWS / 3];

	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS / 3; i++)
		a[i] = left.at + (across ? 3 * i : 3 * i * left.step);
	SIMD_UNROLL
	for (int i = 0; i < GEMM_ROWS; i++)
		sum[i][0] = sum[i][1] = (vf32){ 0 };
	_Pragma("GCC unroll 4") for (size_t k = 0; k < depth; k++, b += right.step)
	{
		vf32 b0 = simd_load(b), b1 = simd_load(b + SIMD_WIDTH);

		SIMD_UNROLL
		for (size_t i = 0; i < GEMM_ROWS; i++) {
			size_t row = across ? i % 3 : i % 3 * left.step;
			vf32 x = simd_broadcast(a[i / 3] + row);

			sum[i][0] = simd_fma(x, b0, sum[i][0]);
			sum[i][1] = simd_fma(x, b1, sum[i][1]);
		}
		SIMD_UNROLL
		for (size_t i = 0; i < GEMM_ROWS / 3; i++)
			a[i] += across ? left.step : 1;
	}
	memcpy(sums->at, sum, sizeof(sum));
}

void LEVEL_NAME(attention_set)(struct attention_matrix left, struct attention_matrix right,
			       size_t depth, float *c, size_t step)
{
	struct sums s;

	multiply(left, right, depth, false, &s);
	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS; i++) {
		simd_store(c + i * step, s.at[i][0]);
		simd_store(c + i * step + SIMD_WIDTH, s.at[i][1]);
	}
}

SIMD_INLINE void put_sums(const struct sums *s, const float *factor, float *c, size_t step)
{
	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS; i++)
		for (size_t v = 0; v < 2; v++) {
			float *at = c + i * step + v * SIMD_WIDTH;
			vf32 old = simd_load(at);

			simd_store(at,
				   factor ? simd_fma(old, simd_broadcast(factor + i), s->at[i][v])
					  : old + s->at[i][v]);
		}
}

void LEVEL_NAME(attention_add)(struct attention_matrix left, struct attention_matrix right,
			       size_t depth, float *c, size_t step)
{
	struct sums s;

	multiply(left, right, depth, false, &s);
	put_sums(&s, NULL, c, step);
}

void LEVEL_NAME(attention_add_across)(struct attention_matrix left, struct attention_matrix right,
				      size_t depth, const float *factor, float *c, size_t step)
{
	struct sums s;

	multiply(left, right, depth, true, &s);
	if (factor)
		put_sums(&s, factor, c, step);
	else
		put_sums(&s, NULL, c, step);
}
