/*
 * kernels/cpu/vector.h - a vector of f32 straight from memory of any float dtype
 *
 * Where DTYPE is a constant nothing is left to choose at run time.
 */
#ifndef KERNELS_CPU_VECTOR_H
#define KERNELS_CPU_VECTOR_H

#include "kernels/cpu/operand.h"

/* SIMD_WIDTH elements at P, any address. */
SIMD_INLINE vf32 vector_load(enum dtype t, const uint8_t *p)
{
	if (t == DTYPE_F32)
		return simd_load(p);
	return t == DTYPE_BF16 ? simd_load_bf16(p) : simd_load_f16(p);
}

/* The same, but only LEFT elements are there: the lanes beyond are REST. */
SIMD_INLINE vf32 vector_some(enum dtype t, const uint8_t *p, size_t left, float rest)
{
	float x[SIMD_WIDTH];

	if (left >= SIMD_WIDTH)
		return vector_load(t, p);
	for (size_t i = 0; i < SIMD_WIDTH; i++)
		x[i] = rest;
	operand_load(t, p, x, left);
	return simd_load(x);
}

#endif
