/*
 * kernels/cpu/norm_row.h - what the norms of rows and their gradients share: weights in the order in which rows are walked
 *
 * A row of T, a constant in what follows, is bf16 where it lies when all rows are; else f32, where it lies or in a room. It is walked in
 * pairs of vectors, whose lanes are in an order of their own (vector_split); what is left is in order, a vector at a time. A file that
 * includes this defines ROOMS (row_rooms.h).
 */
#ifndef KERNELS_CPU_NORM_ROW_H
#define KERNELS_CPU_NORM_ROW_H

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/row_rooms.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

static bool has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

/* Whether those from operand FROM on are vectors. */
static bool weights_serve(const struct kernel_call *c, int from)
{
	for (int i = from; i < c->n_in; i++)
		if (c->in[i].n_axes && !(c->in[i].n_axes == 1 && rows_serve(&c->in[i])))
			return false;
	return true;
}

/*
 * W + OFFSET, in ROOM where that is not W itself, in the order in which rows of T are walked; NULL without. NaN has nothing below its
 * upper half there (vector_join_bare).
 */
SIMD_INLINE const float *weights(const struct kernel_call *c, int operand, enum dtype t,
				 float offset, float *room)
{
	const struct kernel_tensor *w = &c->in[operand];
	size_t i = 0;

	if (!has(c, operand))
		return NULL;
	if (t == DTYPE_F32 && w->dtype == DTYPE_F32 && offset == 0)
		return w->data;
	operand_load(w->dtype, w->data, room, w->shape[0]);
	for (; i + VECTOR_TWO <= w->shape[0]; i += VECTOR_TWO) {
		vf32 v[2] = { simd_load(room + i), simd_load(room + i + SIMD_WIDTH) };

		for (size_t j = 0; j < 2; j++) {
			v[j] += simd_f32(offset);
			v[j] = simd_select(v[j] != v[j], v[j], simd_f32(NAN));
		}
		vector_apart(t, v);
		simd_store(room + i, v[0]);
		simd_store(room + i + SIMD_WIDTH, v[1]);
	}
	for (; i < w->shape[0]; i++)
		room[i] += offset;
	return room;
}

#endif
