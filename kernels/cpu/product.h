/*
 * kernels/cpu/product.h - what a matrix product is asked for: matrices, batches, and where each lies
 *
 * matmul and matmul_acc as every kernel of products sees them: the leading axes of the result are batches, but when b has none
 * and the rows of all batches step evenly, those of the residual too, they are rows of one matrix.
 */
#ifndef KERNELS_CPU_PRODUCT_H
#define KERNELS_CPU_PRODUCT_H

#include "kernels/attributes.h"
#include "kernels/cpu/operand.h"

struct product {
	const struct kernel_tensor *a, *b, *out;
	size_t m, n, k;
	size_t batches;	  /* matrices of the result */
	size_t b_batches; /* right operands: 1 when all share one */
	int row_axis;	  /* of a */
};

/* Whether axes 0 to the row axis of T step evenly, as the rows of one matrix. */
SIMD_INLINE bool product_rows_are_one(const struct kernel_tensor *t)
{
	for (int i = t->n_axes - 3; i >= 0; i--)
		if (t->shape[i] != 1 && t->shape[i + 1] != 1 &&
		    t->stride[i] != t->stride[i + 1] * (ptrdiff_t)t->shape[i + 1])
			return false;
	return true;
}

SIMD_INLINE size_t product_leading(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = 0; i < t->n_axes - 2; i++)
		n *= t->shape[i];
	return n;
}

/* matmul's, whose shape is that of the result. */
SIMD_INLINE const struct kernel_tensor *product_residual(const struct kernel_call *c)
{
	return c->n_in > 3 && c->in[3].n_axes ? &c->in[3] : NULL;
}

/* matmul's: the rows of a are taken as they are. */
SIMD_INLINE bool product_is_exact(const struct kernel_call *c)
{
	return !((const struct matmul_attributes *)c->attributes)->round;
}

/* Of operands FIRST (0 in matmul, 1 in matmul_acc) and the one after it. */
SIMD_INLINE struct product product_of(const struct kernel_call *c, int first)
{
	struct product p = { .a = &c->in[first], .b = &c->in[first + 1], .out = &c->out[0] };
	const struct kernel_tensor *residual = first == 0 ? product_residual(c) : NULL;

	p.m = p.a->shape[p.a->n_axes - 2];
	p.k = p.a->shape[p.a->n_axes - 1];
	p.n = p.b->shape[p.b->n_axes - 1];
	p.batches = product_leading(p.out);
	p.b_batches = product_leading(p.b);
	p.row_axis = p.a->n_axes - 2;
	if (p.b_batches == 1 && p.a->n_axes == p.out->n_axes && product_rows_are_one(p.a) &&
	    product_rows_are_one(p.out) && (!residual || product_rows_are_one(residual))) {
		p.m *= p.batches;
		p.batches = 1;
	}
	return p;
}

/* Where matrix BATCH of the result finds its own in T: a, out, or a residual. */
SIMD_INLINE ptrdiff_t product_at(const struct product *p, const struct kernel_tensor *t,
				 size_t batch)
{
	ptrdiff_t at = 0;

	for (int i = p->out->n_axes - 3; i >= 0 && p->batches > 1; i--) {
		size_t x = batch % p->out->shape[i];
		int axis = i + t->n_axes - p->out->n_axes;

		batch /= p->out->shape[i];
		if (axis >= 0 && t->shape[axis] != 1)
			at += (ptrdiff_t)x * t->stride[axis];
	}
	return at;
}

/* Which of b's matrices, in b's own order, that of the result takes. */
SIMD_INLINE size_t product_right(const struct product *p, size_t batch)
{
	size_t place = 0, scale = 1;

	if (p->b_batches == 1)
		return 0;
	for (int i = p->out->n_axes - 3; i >= 0; i--) {
		size_t x = batch % p->out->shape[i];
		int axis = i + p->b->n_axes - p->out->n_axes;

		batch /= p->out->shape[i];
		if (axis < 0)
			continue;
		place += (p->b->shape[axis] == 1 ? 0 : x) * scale;
		scale *= p->b->shape[axis];
	}
	return place;
}

/* Where that one begins. */
SIMD_INLINE ptrdiff_t product_right_at(const struct product *p, size_t which)
{
	ptrdiff_t at = 0;

	for (int i = p->b->n_axes - 3; i >= 0; i--) {
		at += (ptrdiff_t)(which % p->b->shape[i]) * p->b->stride[i];
		which /= p->b->shape[i];
	}
	return at;
}

/* Where ROW of matrix BATCH begins in T, which has the shape of the result. */
SIMD_INLINE ptrdiff_t product_row(const struct product *p, const struct kernel_tensor *t,
				  size_t batch, size_t row)
{
	return product_at(p, t, batch) + (ptrdiff_t)row * t->stride[t->n_axes - 2];
}

#endif
