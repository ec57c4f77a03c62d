/*
 * kernels/cpu/dequant.h - stretches of block-quantized values as small integers with scales, and as f32
 *
 * What ggml's common types have in common: a value is scale * q, or scale * q + offset, with q of 8 bits and a scale (and an offset)
 * for every 16 or 32 values. Rows of f32 have the bits of dtype_to_f32(); products may use the parts as they are.
 */
#ifndef KERNELS_CPU_DEQUANT_H
#define KERNELS_CPU_DEQUANT_H

#include "kernels/cpu/level.h"
#include "kernels/cpu/simd.h"

#define DEQUANT_STRETCH 256 /* elements at most: one block of the K types, eight of 32 */
#define DEQUANT_GROUPS	(DEQUANT_STRETCH / 16)

struct dequant_stretch {
	_Alignas(64) int8_t q[DEQUANT_STRETCH];
	_Alignas(64) float scale[DEQUANT_GROUPS]; /* of each group; those beyond the end are any */
	_Alignas(64) float offset[DEQUANT_GROUPS];
};

struct dequant_form {
	int group; /* elements that share a scale: 16 or 32 */
	bool offset;
	/* N elements from P, whole blocks, at most DEQUANT_STRETCH. */
	void (*unpack)(const uint8_t *p, size_t n, struct dequant_stretch *s);
};

/* NULL for types that are not of this kind. */
const struct dequant_form *LEVEL_NAME(dequant_form)(enum dtype t);

/* N elements, whole blocks of any type that decodes, to the bit as dtype_to_f32() gives them. */
void LEVEL_NAME(dequant_row)(enum dtype t, const uint8_t *p, float *out, size_t n);

/* SIMD_WIDTH of them. */
SIMD_INLINE vf32 dequant_floats(const int8_t *q)
{
#if defined(SIMD_EMULATED) && SIMD_WIDTH == 16
	vf32 x;

	for (int i = 0; i < SIMD_WIDTH; i++)
		x[i] = q[i];
	return x;
#elif SIMD_WIDTH == 16
	return (vf32)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)q)));
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)q)));
#else
	return (vf32){ q[0], q[1], q[2], q[3] };
#endif
}

#endif
