/*
 * kernels/half.h - f16 and bf16 as f32 and back, one value at a time
 *
 * IEEE 754-2008 binary16; bfloat16 is the upper half of binary32. Without branches, so that
 * loops over them vectorise at every level. Inline for the kernels; f16_to_f32() and its
 * neighbours in dtype.h are these.
 */
#ifndef KERNELS_HALF_H
#define KERNELS_HALF_H

#include "kernels/bits.h"

/*
 * The exponent is moved by a multiplication with 2^112, which is exact and makes subnormals
 * right by itself; what had the highest exponent gets that of f32. A NaN comes out quiet, as the
 * conversion instructions of processors give it.
 */
static inline float half_to_f32(uint16_t h)
{
	uint32_t magnitude = h & 0x7fffu;
	uint32_t bits = f32_bits(f32_of_bits(magnitude << 13) * 0x1p112f);

	bits |= magnitude >= 0x7c00 ? 0x7f800000 : 0;
	bits |= magnitude > 0x7c00 ? 0x00400000 : 0;
	return f32_of_bits(bits | (uint32_t)(h & 0x8000) << 16);
}

static inline uint16_t half_from_f32(float f)
{
	uint32_t sign = f32_bits(f) >> 16 & 0x8000;
	uint32_t magnitude = f32_bits(f) & 0x7fffffff;
	/* Of normal results: move the exponent, add just under half, and the last kept bit. */
	uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
	/* Below 2^-14: 0.5 has its last bit at 2^-24, so the addition rounds as f16 does. */
	uint32_t small = f32_bits(f32_of_bits(magnitude) + 0.5f) - 0x3f000000;
	uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
	uint32_t half = magnitude < 0x38800000 ? small : normal;

	half = magnitude >= 0x47800000 ? 0x7c00 : half;
	half = magnitude > 0x7f800000 ? nan : half;
	return (uint16_t)(sign | half);
}

static inline float brain_to_f32(uint16_t h)
{
	return f32_of_bits((uint32_t)h << 16);
}

static inline uint16_t brain_from_f32(float f)
{
	uint32_t bits = f32_bits(f);
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;

	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

#endif
