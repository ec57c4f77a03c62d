/*
 * kernels/cpu/attention_tile.c - products of matrices that are in the cache, from where they lie
 *
 * Functions of their own: inside a larger one the compiler keeps what addresses the operands in memory. What begins and ends a tile
 * goes between its multiply-adds. Twelve stores in a row, behind sums that are not ready and before sums that are cleared,
 * held up those of the next tile: 28 cycles beyond the 384 of a depth of 64 on Zen 3. So a tile begins with
 * products, and the sums of a row are stored while those of the next are finished: 10 cycles.
 */
#include "kernels/cpu/attention_tile.h"

/* Where step k of a product stands: three rows of the left operand a pointer. */
struct place {
	const float *left[GEMM_ROWS / 3], *right;
	size_t row, left_step, right_step; /* from row to row, from k to k */
};

SIMD_INLINE struct place first_place(struct attention_matrix left, struct attention_matrix right,
				     bool across)
{
	struct place p = { .right = right.at, .right_step = right.step };

	p.row = across ? 1 : left.step;
	p.left_step = across ? left.step : 1;
	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS / 3; i++)
		p.left[i] = left.at + 3 * i * p.row;
	return p;
}

SIMD_INLINE void go_on(struct place *p)
{
	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS / 3; i++)
		p->left[i] += p->left_step;
	p->right += p->right_step;
}

SIMD_INLINE vf32 left_of(const struct place *p, size_t i)
{
	return simd_broadcast(p->left[i / 3] + i % 3 * p->row);
}

/* Sums over all but the last k, which P then stands at. */
SIMD_INLINE void multiply(struct place *p, size_t depth, vf32 sum[GEMM_ROWS][2])
{
	vf32 b0 = simd_load(p->right), b1 = simd_load(p->right + SIMD_WIDTH);

	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS; i++) {
		sum[i][0] = depth > 1 ? left_of(p, i) * b0 : (vf32){ 0 };
		sum[i][1] = depth > 1 ? left_of(p, i) * b1 : (vf32){ 0 };
	}
	if (depth > 1)
		go_on(p);
	_Pragma("GCC unroll 1") for (size_t k = 2; k < depth; k++)
	{
		b0 = simd_load(p->right);
		b1 = simd_load(p->right + SIMD_WIDTH);
		SIMD_UNROLL
		for (size_t i = 0; i < GEMM_ROWS; i++) {
			sum[i][0] = simd_fma(left_of(p, i), b0, sum[i][0]);
			sum[i][1] = simd_fma(left_of(p, i), b1, sum[i][1]);
		}
		go_on(p);
	}
}

/* What becomes of a sum, with the vector that lies where C does and with one value a row. */
enum ending { SET, SLOPE, ADD, ADD_TIMES };

SIMD_INLINE vf32 ended(enum ending ending, vf32 sum, const float *other, const float *of_row)
{
	switch (ending) {
	case SLOPE: return simd_load(other) * (sum - simd_broadcast(of_row));
	case ADD: return simd_load(other) + sum;
	case ADD_TIMES: return simd_fma(simd_load(other), simd_broadcast(of_row), sum);
	default: return sum;
	}
}

SIMD_INLINE void product(struct place p, size_t depth, enum ending ending, const float *other,
			 const float *of_row, float *c, size_t step)
{
	vf32 sum[GEMM_ROWS][2], b0, b1;

	multiply(&p, depth, sum);
	b0 = simd_load(p.right);
	b1 = simd_load(p.right + SIMD_WIDTH);
	SIMD_UNROLL
	for (size_t i = 0; i <= GEMM_ROWS; i++) {
		float *at = c + i * step;
		const float *o = other + i * step, *r = of_row + i;

		if (i < GEMM_ROWS) {
			vf32 x = left_of(&p, i);

			sum[i][0] = ended(ending, simd_fma(x, b0, sum[i][0]), o, r);
			sum[i][1] = ended(ending, simd_fma(x, b1, sum[i][1]), o + SIMD_WIDTH, r);
		}
		if (i > 0) {
			simd_store(at - step, sum[i - 1][0]);
			simd_store(at - step + SIMD_WIDTH, sum[i - 1][1]);
		}
	}
}

void LEVEL_NAME(attention_set)(struct attention_matrix left, struct attention_matrix right,
			       size_t depth, float *c, size_t step)
{
	product(first_place(left, right, false), depth, SET, c, c, c, step);
}

void LEVEL_NAME(attention_set_slopes)(struct attention_matrix left, struct attention_matrix right,
				      size_t depth, const float *scores, const float *less,
				      float *c, size_t step)
{
	product(first_place(left, right, false), depth, SLOPE, scores, less, c, step);
}

void LEVEL_NAME(attention_add)(struct attention_matrix left, struct attention_matrix right,
			       size_t depth, float *c, size_t step)
{
	product(first_place(left, right, false), depth, ADD, c, c, c, step);
}

void LEVEL_NAME(attention_add_across)(struct attention_matrix left, struct attention_matrix right,
				      size_t depth, const float *factor, float *c, size_t step)
{
	if (factor)
		product(first_place(left, right, true), depth, ADD_TIMES, c, factor, c, step);
	else
		product(first_place(left, right, true), depth, ADD, c, c, c, step);
}
