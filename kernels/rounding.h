/*
 * kernels/rounding.h - the rounding of activations that a product may be told to make (matmul_attributes.round)
 *
 * Each row of the left operand is cut into blocks of ROUNDING_BLOCK along k, from its beginning on; the last may be shorter. With
 * `most` the largest magnitude of a block, in f32 (wider operands are made f32 first, to nearest even),
 *
 *	scale = most / 127,	q = round(x (127 / most)), halves to even,	and x becomes scale q
 *
 * every operation of it rounded to f32 once, so that all kernels have the same integers. A block whose scale would be less than the
 * least normal number (all zeros, say) has scale 0 and integers 0. A block with an infinity or a NaN has the scale NaN: it does not
 * vanish, every result that the row has is NaN.
 *
 * This is what makes products of block-quantized weights small integers times small integers: a choice that changes results (by
 * half a step of 1/127 of the largest of 32 at most), so it is an attribute and never a kernel's own idea.
 */
#ifndef KERNELS_ROUNDING_H
#define KERNELS_ROUNDING_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"

#define ROUNDING_BLOCK 32

/* The integers of N values, at most ROUNDING_BLOCK, and their scale. */
static inline float rounding_block(const float *x, size_t n, int8_t *q)
{
	float most = 0, scale, by;

	for (size_t i = 0; i < n; i++) {
		float size = fabsf(x[i]);

		most = size > most || isnan(size) ? size : most;
		q[i] = 0;
	}
	if (!isfinite(most))
		return NAN;
	scale = most / 127;
	if (scale < 0x1p-126f)
		return 0;
	by = 127 / most;
	for (size_t i = 0; i < n; i++)
		q[i] = (int8_t)rintf(x[i] * by);
	return scale;
}

/* Whether rounding serves weights of T: blocks of small integers with scales. */
static inline int rounding_serves(enum dtype t)
{
	switch (t) {
	case DTYPE_Q4_0:
	case DTYPE_Q4_1:
	case DTYPE_Q5_0:
	case DTYPE_Q5_1:
	case DTYPE_Q8_0:
	case DTYPE_Q2_K:
	case DTYPE_Q3_K:
	case DTYPE_Q4_K:
	case DTYPE_Q5_K:
	case DTYPE_Q6_K:
	case DTYPE_IQ4_NL:
	case DTYPE_IQ4_XS:
	case DTYPE_MXFP4:
	case DTYPE_TQ2_0: return 1;
	default: return 0;
	}
}

#endif
