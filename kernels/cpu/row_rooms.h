/*
 * kernels/cpu/row_rooms.h - rows that are worked on where they lie, or in rooms of f32
 *
 * A file that includes this defines ROOMS, rows of scratch that each part has. T is what rows are taken as: an operand or a result that
 * is not of it passes through a room.
 */
#ifndef KERNELS_CPU_ROW_ROOMS_H
#define KERNELS_CPU_ROW_ROOMS_H

#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector.h"

static float *room(const struct kernel_call *c, int which)
{
	return (float *)c->scratch +
	       ((size_t)c->part * ROOMS + (size_t)which) * rows_room(rows_length(&c->in[0]));
}

static size_t scratch_rows(const struct kernel_call *c)
{
	return (size_t)c->parts * ROOMS * rows_room(rows_length(&c->in[0])) * sizeof(float);
}

/* Row I of OPERAND where it lies, or in room WHICH. */
static const uint8_t *row_in(const struct kernel_call *c, enum dtype t, int operand, size_t i,
			     int which)
{
	const struct kernel_tensor *x = &c->in[operand];

	return t == x->dtype ? operand_at(x, rows_at(x, i))
			     : (const uint8_t *)rows_get(x, i, room(c, which));
}

/* Where to write row I of the result: where it lies, or room WHICH, which row_put then stores. */
static uint8_t *row_out(const struct kernel_call *c, enum dtype t, size_t i, int which)
{
	const struct kernel_tensor *y = &c->out[0];

	return t == y->dtype ? (uint8_t *)y->data + operand_bytes(t, rows_at(y, i))
			     : (uint8_t *)room(c, which);
}

static void row_put(const struct kernel_call *c, enum dtype t, size_t i, const uint8_t *row)
{
	if (t != c->out[0].dtype)
		rows_put(&c->out[0], i, (const float *)(const void *)row);
}

/* --- elements of such a row --- */

SIMD_INLINE const uint8_t *row_at(enum dtype t, const uint8_t *x, size_t i)
{
	return x + operand_bytes(t, (ptrdiff_t)i);
}

/* The vector at element I of N of a row: lanes past the end are REST. */
SIMD_INLINE vf32 row_rest(enum dtype t, const uint8_t *x, size_t i, size_t n, float rest)
{
	return vector_some(t, row_at(t, x, i), n - i, rest);
}

#endif
