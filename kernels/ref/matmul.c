/*
 * kernels/ref/matmul.c - matrix products
 *
 * [..., M, K] by [..., K, N], leading axes broadcast; grouped: the rows of each group by a matrix of its own.
 */
#include <math.h>

#include "kernels/ref/ref.h"
#include "kernels/rounding.h"

/* The sum over K of a row of A, which begins at AT_A, and a column of B. */
static double dot(const struct kernel_tensor *a, ptrdiff_t at_a, ptrdiff_t step_a,
		  const struct kernel_tensor *b, ptrdiff_t at_b, ptrdiff_t step_b, size_t k)
{
	double sum = 0;

	for (size_t i = 0; i < k; i++)
		sum += ref_get(a, at_a + (ptrdiff_t)i * step_a) *
		       ref_get(b, at_b + (ptrdiff_t)i * step_b);
	return sum;
}

/* The same with the row of A rounded. */
static double rounded_dot(const struct kernel_tensor *a, ptrdiff_t at_a, ptrdiff_t step_a,
			  const struct kernel_tensor *b, ptrdiff_t at_b, ptrdiff_t step_b, size_t k)
{
	double sum = 0;

	for (size_t i = 0; i < k; i += ROUNDING_BLOCK) {
		size_t n = k - i < ROUNDING_BLOCK ? k - i : ROUNDING_BLOCK;
		float x[ROUNDING_BLOCK], scale;
		int8_t q[ROUNDING_BLOCK];
		double part = 0;

		for (size_t j = 0; j < n; j++)
			x[j] = (float)ref_get(a, at_a + (ptrdiff_t)(i + j) * step_a);
		scale = rounding_block(x, n, q);
		for (size_t j = 0; j < n; j++)
			part += q[j] * ref_get(b, at_b + (ptrdiff_t)(i + j) * step_b);
		sum += scale * part;
	}
	return sum;
}

/* Where the matrix of T begins that belongs to the leading axes of INDEX, an index of N_AXES axes. */
static ptrdiff_t matrix_at(const struct kernel_tensor *t, const struct ref_index *index, int n_axes)
{
	ptrdiff_t at = 0;

	for (int i = 0; i < t->n_axes - 2; i++) {
		size_t x = index->at[i + n_axes - t->n_axes];

		at += t->shape[i] == 1 ? 0 : (ptrdiff_t)x * t->stride[i];
	}
	return at;
}

static double product(const struct kernel_tensor *a, const struct kernel_tensor *b,
		      const struct ref_index *index, int n_axes, bool rounded)
{
	int ra = a->n_axes - 2, rb = b->n_axes - 2;
	ptrdiff_t at_a =
		matrix_at(a, index, n_axes) + (ptrdiff_t)index->at[n_axes - 2] * a->stride[ra];
	ptrdiff_t at_b =
		matrix_at(b, index, n_axes) + (ptrdiff_t)index->at[n_axes - 1] * b->stride[rb + 1];

	return (rounded ? rounded_dot : dot)(a, at_a, a->stride[ra + 1], b, at_b, b->stride[rb],
					     a->shape[ra + 1]);
}

double ref_activation(double x, uint32_t activation)
{
	switch (activation) {
	case ACTIVATION_RELU: return x > 0 || isnan(x) ? x : 0;
	case ACTIVATION_RELU2: return x > 0 || isnan(x) ? x * x : 0;
	case ACTIVATION_SILU: return x / (1 + exp(-x));
	case ACTIVATION_GELU: return 0.5 * x * (1 + erf(x / sqrt(2)));
	case ACTIVATION_GELU_TANH:
		return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
	case ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
	case ACTIVATION_TANH: return tanh(x);
	default: return x;
	}
}

/* Each part of the epilogue is rounded as its node would have been. */
static void run_matmul(const struct kernel_call *c)
{
	const struct matmul_attributes *m = c->attributes;
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		double x;

		ref_index(out, i, &at);
		x = product(&c->in[0], &c->in[1], &at, out->n_axes, m->round);
		if (ref_has(c, 2))
			x += ref_get(&c->in[2],
				     (ptrdiff_t)at.at[out->n_axes - 1] * c->in[2].stride[0]);
		if (m->activation)
			x = ref_activation(ref_rounded(out->dtype, x), m->activation);
		if (ref_has(c, 3))
			x = ref_rounded(out->dtype, x) +
			    ref_get(&c->in[3], ref_offset(&c->in[3], &at));
		ref_put(out, ref_offset(out, &at), x);
	}
}
REF_KERNEL(matmul, run_matmul);

static void run_matmul_acc(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		double x;

		ref_index(out, i, &at);
		x = ref_rounded(out->dtype, product(&c->in[1], &c->in[2], &at, 2, false));
		ref_put(out, ref_offset(out, &at), ref_get(out, ref_offset(out, &at)) + x);
	}
}
REF_KERNEL(matmul_acc, run_matmul_acc);

/* --- grouped --- */

static int64_t offset_of(const struct kernel_tensor *offsets, size_t group)
{
	return (int64_t)ref_get(offsets, (ptrdiff_t)group * offsets->stride[0]);
}

/* The group of a row, or how many groups there are. */
static size_t group_of(const struct kernel_tensor *offsets, size_t row)
{
	size_t groups = offsets->shape[0] - 1;

	for (size_t g = 0; g < groups; g++)
		if ((int64_t)row >= offset_of(offsets, g) &&
		    (int64_t)row < offset_of(offsets, g + 1))
			return g;
	return groups;
}

static void run_grouped_matmul(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *w = &c->in[1], *offsets = &c->in[2];
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		size_t row = i / out->shape[1], column = i % out->shape[1];
		size_t g = group_of(offsets, row);
		double sum = 0;

		if (g < offsets->shape[0] - 1)
			sum = dot(x, (ptrdiff_t)row * x->stride[0], x->stride[1], w,
				  (ptrdiff_t)g * w->stride[0] + (ptrdiff_t)column * w->stride[2],
				  w->stride[1], x->shape[1]);
		ref_put(out, (ptrdiff_t)row * out->stride[0] + (ptrdiff_t)column * out->stride[1],
			sum);
	}
}
REF_KERNEL(grouped_matmul, run_grouped_matmul);

static void run_grouped_matmul_dw(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *dy = &c->in[1], *offsets = &c->in[2];
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		int64_t first, last, rows = (int64_t)x->shape[0];
		double sum = 0;

		ref_index(out, i, &at);
		first = offset_of(offsets, at.at[0]);
		last = offset_of(offsets, at.at[0] + 1);
		for (int64_t row = first < 0 ? 0 : first; row < last && row < rows; row++)
			sum += ref_get(x, row * x->stride[0] + (ptrdiff_t)at.at[1] * x->stride[1]) *
			       ref_get(dy,
				       row * dy->stride[0] + (ptrdiff_t)at.at[2] * dy->stride[1]);
		ref_put(out, ref_offset(out, &at), sum);
	}
}
REF_KERNEL(grouped_matmul_dw, run_grouped_matmul_dw);
