/*
 * kernels/cpu/line_scales.h - the scales of a block of each of several lines, a lane each, wherever their words come from
 *
 * A value of a K type is d x the group's scale x q - dmin x the group's minimum (kernels/blocks.h); of a block of 32 it is d x q + m.
 */
#ifndef KERNELS_CPU_LINE_SCALES_H
#define KERNELS_CPU_LINE_SCALES_H

#include "kernels/cpu/rounded.h"

/* What every group of a block makes its scale of: byte j of scales[i] belongs to group 4 i + j. */
struct line_scales {
	rfloat d, m; /* of blocks of 32 the scale and the offset themselves */
	rint32 scales[4], minima[4];
	rint32 fifths; /* of q5_0 and q5_1 */
};

/* 8 scales and 8 minima of 6 bits in 12 bytes: kernels/ref/dequant_k.c. */
SIMD_INLINE void line_scales_k4(const rint32 *word, struct line_scales *s)
{
	s->scales[0] = word[0] & 0x3f3f3f3f;
	s->scales[1] = (word[2] & 0x0f0f0f0f) | ((word[0] >> 2) & 0x30303030);
	s->minima[0] = word[1] & 0x3f3f3f3f;
	s->minima[1] = ((word[2] >> 4) & 0x0f0f0f0f) | ((word[1] >> 2) & 0x30303030);
}

/* 16 of 6 bits, less 32: four bits in 8 bytes, two in the 4 that follow. */
SIMD_INLINE void line_scales_k3(const rint32 *word, struct line_scales *s)
{
	s->scales[0] = (word[0] & 0x0f0f0f0f) | ((word[2] << 4) & 0x30303030);
	s->scales[1] = (word[1] & 0x0f0f0f0f) | ((word[2] << 2) & 0x30303030);
	s->scales[2] = ((word[0] >> 4) & 0x0f0f0f0f) | (word[2] & 0x30303030);
	s->scales[3] = ((word[1] >> 4) & 0x0f0f0f0f) | ((word[2] >> 2) & 0x30303030);
	for (size_t i = 0; i < 4; i++)
		s->scales[i] = (rint32)((rbytes)s->scales[i] - 32);
}

/* WORD: the quant_scale_words(t) words of a K type's scales. D and M of S are there, as the block has them. T is a constant here and below. */
SIMD_INLINE void line_scales_k(enum dtype t, const rint32 *word, struct line_scales *s)
{
	switch (t) {
	case DTYPE_Q2_K:
		for (size_t i = 0; i < 4; i++) {
			s->scales[i] = word[i] & 0x0f0f0f0f;
			s->minima[i] = (word[i] >> 4) & 0x0f0f0f0f;
		}
		break;
	case DTYPE_Q3_K: line_scales_k3(word, s); break;
	case DTYPE_Q6_K:
		for (size_t i = 0; i < 4; i++)
			s->scales[i] = word[i];
		break;
	default: line_scales_k4(word, s); break;
	}
	s->m = -s->m;
}

SIMD_INLINE rfloat line_byte(rint32 word, size_t j)
{
	return rounded_floats((word << (24 - 8 * (int)j)) >> 24);
}

SIMD_INLINE rfloat line_scale(enum dtype t, const struct line_scales *s, size_t g)
{
	return quant_is_k(t) ? s->d * line_byte(s->scales[g / 4], g % 4) : s->d;
}

SIMD_INLINE rfloat line_offset(enum dtype t, const struct line_scales *s, size_t g)
{
	if (!quant_has_offset(t))
		return s->m;
	return quant_is_k(t) ? s->m * line_byte(s->minima[g / 4], g % 4) : s->m;
}

#endif
