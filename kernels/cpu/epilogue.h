/*
 * kernels/cpu/epilogue.h - what follows the sums of a product: bias, activation, residual, or accumulation
 *
 * Shared by all kernels of matmul and matmul_acc. A stretch of a row of sums goes in, in f32, and is rounded between the parts of
 * the epilogue as nodes of their own would round it, so that fusion changes no bit.
 */
#ifndef KERNELS_CPU_EPILOGUE_H
#define KERNELS_CPU_EPILOGUE_H

#include "kernels/cpu/activation.h"
#include "kernels/cpu/product.h"

#define EPILOGUE_COLUMNS \
 512 /* at most, of a stretch; X may be written up to the next whole vector */

/* N values of operand T from AT on, STEP apart, as f32. */
SIMD_INLINE const float *epilogue_values(const struct kernel_tensor *t, ptrdiff_t at,
					 ptrdiff_t step, size_t n, float *room)
{
	if (step == 1 && t->dtype == DTYPE_F32)
		return (const float *)t->data + at;
	if (step == 1)
		operand_load(t->dtype, operand_at(t, at), room, n);
	else
		for (size_t i = 0; i < n; i++)
			operand_load(t->dtype, operand_at(t, at + (ptrdiff_t)i * step), room + i,
				     1);
	return room;
}

SIMD_INLINE void epilogue_add(const float *y, size_t n, float *x)
{
	for (size_t j = 0; j < n; j++)
		x[j] += y[j];
}

SIMD_INLINE bool epilogue_has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

/* Columns COLUMN to COLUMN + N - 1 of ROW of matrix BATCH: the sums X become the result, and are stored. */
SIMD_INLINE void epilogue_row(const struct kernel_call *c, const struct product *p, size_t batch,
			      size_t row, size_t column, size_t n, float *x)
{
	const struct matmul_attributes *m = c->attributes;
	const struct kernel_tensor *out = p->out, *t;
	ptrdiff_t at = product_row(p, out, batch, row) + (ptrdiff_t)column;
	float room[EPILOGUE_COLUMNS];

	if (epilogue_has(c, 2)) {
		t = &c->in[2];
		epilogue_add(
			epilogue_values(t, (ptrdiff_t)column * t->stride[0], t->stride[0], n, room),
			n, x);
	}
	if (m->activation) {
		operand_round(out->dtype, x, n);
		activation_row(x, n, m->activation);
	}
	if (epilogue_has(c, 3)) {
		ptrdiff_t step;

		t = &c->in[3];
		step = t->stride[t->n_axes - 1];
		operand_round(out->dtype, x, n);
		epilogue_add(
			epilogue_values(t, product_row(p, t, batch, row) + (ptrdiff_t)column * step,
					step, n, room),
			n, x);
	}
	operand_store(out->dtype, x, (uint8_t *)out->data + operand_bytes(out->dtype, at), n);
}

/* matmul_acc: the result, of f32, += the sums X. */
SIMD_INLINE void epilogue_accumulate(const struct product *p, size_t row, size_t column, size_t n,
				     const float *x)
{
	epilogue_add(x, n, (float *)p->out->data + product_row(p, p->out, 0, row) + column);
}

/* Whether bias and residual are floats, and the result's rows floats side by side. */
SIMD_INLINE bool epilogue_serves(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	for (int i = 2; i < c->n_in; i++)
		if (c->in[i].n_axes && !operand_is_float(c->in[i].dtype))
			return false;
	return operand_is_float(out->dtype) &&
	       (out->shape[out->n_axes - 1] == 1 || out->stride[out->n_axes - 1] == 1);
}

SIMD_INLINE bool epilogue_accumulates(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	return out->dtype == DTYPE_F32 && (out->shape[1] == 1 || out->stride[1] == 1);
}

#endif
