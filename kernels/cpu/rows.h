/*
 * kernels/cpu/rows.h - rows of f32 out of operands of any float dtype
 *
 * A row is the last axis, side by side; rows are counted over all axes before it. What is 16 bits wide passes through a row of
 * scratch that the kernel asked for.
 */
#ifndef KERNELS_CPU_ROWS_H
#define KERNELS_CPU_ROWS_H

#include "kernels/cpu/operand.h"

/* The vector at P, of which LEFT elements are there: the others are 0. */
SIMD_INLINE vf32 rows_load(const float *p, size_t left)
{
	float some[SIMD_WIDTH] = { 0 };

	if (left >= SIMD_WIDTH)
		return simd_load(p);
	memcpy(some, p, left * sizeof(float));
	return simd_load(some);
}

SIMD_INLINE void rows_store(float *p, vf32 x, size_t left)
{
	float some[SIMD_WIDTH];

	if (left >= SIMD_WIDTH) {
		simd_store(p, x);
		return;
	}
	simd_store(some, x);
	memcpy(p, some, left * sizeof(float));
}

/* The sum of the lanes, neighbours first. */
SIMD_INLINE float rows_sum(vf32 x)
{
#if SIMD_WIDTH == 8
	x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
	x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
	return x[0] + x[4];
#else
	float lane[SIMD_WIDTH];

	simd_store(lane, x);
	for (int n = SIMD_WIDTH; n > 1; n /= 2)
		for (int i = 0; i < n / 2; i++)
			lane[i] = lane[2 * i] + lane[2 * i + 1];
	return lane[0];
#endif
}

SIMD_INLINE size_t rows_length(const struct kernel_tensor *t)
{
	return t->shape[t->n_axes - 1];
}

SIMD_INLINE size_t rows_count(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = 0; i < t->n_axes - 1; i++)
		n *= t->shape[i];
	return n;
}

/* The first element of row I. */
SIMD_INLINE ptrdiff_t rows_at(const struct kernel_tensor *t, size_t i)
{
	ptrdiff_t at = 0;

	for (int axis = t->n_axes - 2; axis >= 0; axis--) {
		at += (ptrdiff_t)(i % t->shape[axis]) * t->stride[axis];
		i /= t->shape[axis];
	}
	return at;
}

/* Row I where it lies, or in ROOM. */
SIMD_INLINE const float *rows_get(const struct kernel_tensor *t, size_t i, float *room)
{
	ptrdiff_t at = rows_at(t, i);

	if (t->dtype == DTYPE_F32)
		return (const float *)t->data + at;
	operand_load(t->dtype, operand_at(t, at), room, rows_length(t));
	return room;
}

/* Where to write row I: in place, or in ROOM, which rows_put then stores. */
SIMD_INLINE float *rows_new(const struct kernel_tensor *t, size_t i, float *room)
{
	return t->dtype == DTYPE_F32 ? (float *)t->data + rows_at(t, i) : room;
}

SIMD_INLINE void rows_put(const struct kernel_tensor *t, size_t i, const float *row)
{
	if (t->dtype != DTYPE_F32)
		operand_store(t->dtype, row,
			      (uint8_t *)t->data + operand_bytes(t->dtype, rows_at(t, i)),
			      rows_length(t));
}

/* A vector operand (a weight) as f32. */
SIMD_INLINE const float *rows_vector(const struct kernel_tensor *t, float *room)
{
	if (t->dtype == DTYPE_F32)
		return t->data;
	operand_load(t->dtype, t->data, room, t->shape[0]);
	return room;
}

/* Floats whose last axis lies side by side. */
SIMD_INLINE bool rows_serve(const struct kernel_tensor *t)
{
	return operand_is_float(t->dtype) && t->n_axes > 0 &&
	       (t->stride[t->n_axes - 1] == 1 || t->shape[t->n_axes - 1] == 1);
}

/* Room for a row, in whole vectors. */
SIMD_INLINE size_t rows_room(size_t length)
{
	return (length + 15) / 16 * 16;
}

#endif
