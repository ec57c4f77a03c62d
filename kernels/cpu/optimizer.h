/*
 * kernels/cpu/optimizer.h - runs of what is updated in place, and a step of adam
 *
 * Tensors of f32 are worked on where they lie, those of 16 bits in rooms of f32.
 */
#ifndef KERNELS_CPU_OPTIMIZER_H
#define KERNELS_CPU_OPTIMIZER_H

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/simd_philox.h"

#define OPTIMIZER_RUN 256 /* elements at a time; a block of adamw8 */

/* Whether N elements of T can be worked on where they lie: whole vectors. */
SIMD_INLINE bool optimizer_in_place(const struct kernel_tensor *t, size_t n)
{
	return t->dtype == DTYPE_F32 && n % SIMD_WIDTH == 0;
}

/* N elements from AT on: in place, or as f32 in ROOM, with zeros up to a whole vector. */
SIMD_INLINE float *optimizer_get(const struct kernel_tensor *t, size_t at, size_t n, float *room)
{
	if (optimizer_in_place(t, n))
		return (float *)t->data + at;
	operand_load(t->dtype, operand_at(t, (ptrdiff_t)at), room, n);
	for (; n % SIMD_WIDTH; n++)
		room[n] = 0;
	return room;
}

SIMD_INLINE void optimizer_put(const struct kernel_tensor *t, size_t at, const float *x, size_t n)
{
	if (!optimizer_in_place(t, n))
		operand_store(t->dtype, x,
			      (uint8_t *)t->data + operand_bytes(t->dtype, (ptrdiff_t)at), n);
}

SIMD_INLINE float optimizer_scalar(const struct kernel_call *c, int i, size_t at)
{
	return ((const float *)c->in[i].data)[(ptrdiff_t)at * c->in[i].stride[0]];
}

/* --- rounding of a parameter --- */

/* The words that OPTIMIZER_RUN elements of ROW from AT, a multiple of OPTIMIZER_RUN, on draw. */
SIMD_INLINE void optimizer_draw(const uint32_t key[2], uint32_t row, size_t at, uint32_t *out)
{
	simd_philox_store(key, at / 4, row, OPTIMIZER_RUN, out);
}

/* The bits of f32 below those of bf16 are added to as many random ones; what is not finite stays. */
SIMD_INLINE void optimizer_put_stochastic(const struct kernel_call *c, size_t at, float *x,
					  size_t n)
{
	uint32_t bits[OPTIMIZER_RUN];

	optimizer_draw(c->key, 0, at, bits);
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = simd_load(x + i);
		vi32 below = (vi32)((vu32)simd_load(bits + i) >> 16);
		vi32 sum = ((vi32)v + below) & (int32_t)0xffff0000;
		vi32 finite = ((vi32)v & 0x7f800000) != 0x7f800000;

		simd_store(x + i, simd_select(finite, v, (vf32)sum));
	}
	optimizer_put(&c->out[0], at, x, n);
}

SIMD_INLINE void optimizer_put_parameter(const struct kernel_call *c, size_t at, float *x, size_t n)
{
	const struct optimizer_attributes *a = c->attributes;

	if (a->stochastic & STOCHASTIC_PARAMETER && c->out[0].dtype == DTYPE_BF16)
		optimizer_put_stochastic(c, at, x, n);
	else
		optimizer_put(&c->out[0], at, x, n);
}

/* --- adam --- */

/* What adamw and adamw8 share. */
struct adam {
	vf32 lr, scale, beta1, beta2, rest1, rest2, first, second, eps, decay;
};

/* H is operand AT; 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) are multiplied by. */
SIMD_INLINE struct adam adam_of(const struct kernel_call *c, int at)
{
	const struct optimizer_attributes *a = c->attributes;

	return (struct adam){ .lr = simd_f32(optimizer_scalar(c, at, 0)),
			      .scale = simd_f32(optimizer_scalar(c, at, 1)),
			      .first = simd_f32((float)(1 / (double)optimizer_scalar(c, at, 2))),
			      .second = simd_f32(
				      (float)(1 / sqrt((double)optimizer_scalar(c, at, 3)))),
			      .beta1 = simd_f32((float)a->beta1),
			      .beta2 = simd_f32((float)a->beta2),
			      .rest1 = simd_f32((float)(1 - a->beta1)),
			      .rest2 = simd_f32((float)(1 - a->beta2)),
			      .eps = simd_f32((float)a->eps),
			      .decay = simd_f32((float)a->weight_decay) };
}

/* How far to go by the first moment M and the root R of the second, and P after it. */
SIMD_INLINE vf32 adam_quotient(const struct adam *a, vf32 m, vf32 r)
{
	return m * a->first / simd_fma(r, a->second, a->eps);
}

SIMD_INLINE vf32 adam_moved(const struct adam *a, vf32 p, vf32 quotient)
{
	return p - a->lr * simd_fma(a->decay, p, quotient);
}

SIMD_INLINE vf32 adam_step(const struct adam *a, vf32 p, vf32 m, vf32 r)
{
	return adam_moved(a, p, adam_quotient(a, m, r));
}

SIMD_INLINE bool optimizer_dense(const struct kernel_tensor *t)
{
	return operand_is_float(t->dtype) && kernel_dense(t);
}

#endif
