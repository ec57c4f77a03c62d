/*
 * kernels/cpu/quants.h - what blocks of quantized values are made of, as vectors of bytes; layouts in kernels/blocks.h
 *
 * A run is 32 values of a block, in order. They come without a sign, by what quant_bias() says too large, but for Q8_0's, which have one.
 */
#ifndef KERNELS_CPU_QUANTS_H
#define KERNELS_CPU_QUANTS_H

#include "kernels/blocks.h"
#include "kernels/cpu/simd.h"
#include "kernels/half.h"

#if SIMD_WIDTH >= 8
# define QUANT_LANES 32
#else
# define QUANT_LANES 16
#endif

typedef uint8_t vbytes __attribute__((vector_size(QUANT_LANES)));
typedef uint16_t vshorts __attribute__((vector_size(QUANT_LANES)));

SIMD_INLINE vbytes quant_load(const void *p)
{
	vbytes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD_INLINE void quant_store(void *p, vbytes v)
{
	memcpy(p, &v, sizeof(v));
}

/* MASK of what is SHIFT bits up. */
SIMD_INLINE vbytes quant_field(vbytes v, int shift, uint8_t mask)
{
	return (vbytes)((vshorts)v >> shift) & mask;
}

/* 16 bytes hold 32 values of 4 bits, first the low halves: those from AT on. */
SIMD_INLINE vbytes quant_nibbles(const uint8_t *qs, int at)
{
#if QUANT_LANES == 32
	__m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)qs));

	(void)at;
	return (vbytes)_mm256_srlv_epi64(x, _mm256_setr_epi64x(0, 0, 4, 4)) & 15;
#else
	return quant_field(quant_load(qs), at / 4, 15);
#endif
}

/* 16 where the bit of an element is set, from AT on. */
SIMD_INLINE vbytes quant_fifths(uint32_t bits, int at)
{
	const uint64_t each = 0x8040201008040201u, all = 0x0101010101010101u;
#if QUANT_LANES == 32
	const long long one = (long long)all;
	vbytes bit = (vbytes)_mm256_set1_epi64x((long long)each);
	vbytes spread = (vbytes)_mm256_shuffle_epi8(_mm256_set1_epi32((int)bits),
						    _mm256_setr_epi64x(0, one, 2 * one, 3 * one));

	(void)at;
	return (vbytes)((spread & bit) == bit) & 16;
#else
	uint64_t masks[2] = { each, each };
	uint64_t words[2] = { (bits >> at & 255) * all, (bits >> (at + 8) & 255) * all };

	return (vbytes)((quant_load(words) & quant_load(masks)) == quant_load(masks)) & 16;
#endif
}

/* --- runs --- */

/* T is a constant everywhere below. */
SIMD_INLINE int quant_bias(enum dtype t)
{
	switch (t) {
	case DTYPE_Q4_0: return 8;
	case DTYPE_Q5_0: return 16;
	case DTYPE_Q3_K: return 4;
	case DTYPE_Q6_K: return 32;
	default: return 0;
	}
}

/* Of two runs that share 32 bytes: their low and their high halves. */
SIMD_INLINE vbytes quant_half(const uint8_t *qs, int run, int at)
{
	return quant_field(quant_load(qs + run / 2 * 32 + at), run % 2 * 4, 15);
}

/* Four runs that share 32 bytes. */
SIMD_INLINE vbytes quant_quarter(const uint8_t *qs, int run, int at)
{
	return quant_field(quant_load(qs + run / 4 * 32 + at), run % 4 * 2, 3);
}

SIMD_INLINE vbytes quant_q3_k(const struct block_q3_k *b, int run, int at)
{
	vbytes third = quant_field(quant_load(b->hmask + at), run, 1);

	return quant_quarter(b->qs, run, at) + third * 4;
}

SIMD_INLINE vbytes quant_q5_k(const struct block_q5_k *b, int run, int at)
{
	return quant_half(b->qs, run, at) | quant_field(quant_load(b->qh + at), run, 1) << 4;
}

SIMD_INLINE vbytes quant_q6_k(const struct block_q6_k *b, int run, int at)
{
	vbytes low = quant_load(b->ql + run / 4 * 64 + run % 2 * 32 + at);

	return quant_field(low, run % 4 / 2 * 4, 15) | quant_quarter(b->qh, run, at) << 4;
}

/* Values AT to AT + QUANT_LANES - 1 of run RUN of the block at P. */
SIMD_INLINE vbytes quant_run(enum dtype t, const uint8_t *p, int run, int at)
{
	const void *b = p;

	switch (t) {
	case DTYPE_Q4_0: return quant_nibbles(((const struct block_q4_0 *)b)->qs, at);
	case DTYPE_Q4_1: return quant_nibbles(((const struct block_q4_1 *)b)->qs, at);
	case DTYPE_Q5_0:
		return quant_nibbles(((const struct block_q5_0 *)b)->qs, at) |
		       quant_fifths(load_u32(((const struct block_q5_0 *)b)->qh), at);
	case DTYPE_Q5_1:
		return quant_nibbles(((const struct block_q5_1 *)b)->qs, at) |
		       quant_fifths(load_u32(((const struct block_q5_1 *)b)->qh), at);
	case DTYPE_Q2_K: return quant_quarter(((const struct block_q2_k *)b)->qs, run, at);
	case DTYPE_Q3_K: return quant_q3_k(b, run, at);
	case DTYPE_Q4_K: return quant_half(((const struct block_q4_k *)b)->qs, run, at);
	case DTYPE_Q5_K: return quant_q5_k(b, run, at);
	case DTYPE_Q6_K: return quant_q6_k(b, run, at);
	default: return quant_load(((const struct block_q8_0 *)b)->qs + at);
	}
}

/* --- scales of the K types: value = d scale q - dmin minimum --- */

/* 8 scales and 8 minima of 6 bits in 12 bytes: see kernels/ref/dequant_k.c. */
SIMD_INLINE void quant_scales_k4(const uint8_t *p, int8_t *scale, int8_t *minimum)
{
	uint32_t first = load_u32(p), second = load_u32(p + 4), third = load_u32(p + 8);
	uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
	uint32_t scales[2] = { first & six, (third & four) | (first >> 2 & two) };
	uint32_t minima[2] = { second & six, (third >> 4 & four) | (second >> 2 & two) };

	memcpy(scale, scales, sizeof(scales));
	memcpy(minimum, minima, sizeof(minima));
}

/* 16 of 6 bits, less 32: four bits in 8 bytes, two in the 4 that follow. */
SIMD_INLINE void quant_scales_k3(const uint8_t *p, int8_t *scale)
{
	uint32_t low[2] = { load_u32(p), load_u32(p + 4) }, high = load_u32(p + 8);
	uint32_t four = 0x0f0f0f0f, two = 0x30303030;
	uint32_t out[4] = { (low[0] & four) | (high << 4 & two),
			    (low[1] & four) | (high << 2 & two),
			    (low[0] >> 4 & four) | (high & two),
			    (low[1] >> 4 & four) | (high >> 2 & two) };

	for (int i = 0; i < 4; i++) {
		/* Each byte less 32: the top bit keeps borrows apart. */
		out[i] = ((out[i] | 0x80808080) - 0x20202020) ^ 0x80808080;
	}
	memcpy(scale, out, sizeof(out));
}

/* Of the 16 groups of 16 values, or the 8 of 32. MINIMUM only of the types that have one. */
SIMD_INLINE void quant_scales(enum dtype t, const uint8_t *p, int8_t *scale, int8_t *minimum)
{
	const void *b = p;

	switch (t) {
	case DTYPE_Q2_K:
		for (int i = 0; i < 16; i++) {
			scale[i] = (int8_t)(((const struct block_q2_k *)b)->scales[i] & 15);
			minimum[i] = (int8_t)(((const struct block_q2_k *)b)->scales[i] >> 4);
		}
		return;
	case DTYPE_Q3_K: quant_scales_k3(((const struct block_q3_k *)b)->scales, scale); return;
	case DTYPE_Q4_K:
		quant_scales_k4(((const struct block_q4_k *)b)->scales, scale, minimum);
		return;
	case DTYPE_Q5_K:
		quant_scales_k4(((const struct block_q5_k *)b)->scales, scale, minimum);
		return;
	default: memcpy(scale, ((const struct block_q6_k *)b)->scales, 16); return;
	}
}

/* Where the f16 d of a block of T lies; dmin, or m, comes right after it. */
SIMD_INLINE size_t quant_d_at(enum dtype t)
{
	switch (t) {
	case DTYPE_Q2_K: return offsetof(struct block_q2_k, d);
	case DTYPE_Q3_K: return offsetof(struct block_q3_k, d);
	case DTYPE_Q6_K: return offsetof(struct block_q6_k, d);
	default: return 0;
	}
}

SIMD_INLINE bool quant_has_offset(enum dtype t)
{
	return t == DTYPE_Q4_1 || t == DTYPE_Q5_1 || t == DTYPE_Q2_K || t == DTYPE_Q4_K ||
	       t == DTYPE_Q5_K;
}

/* Values that share a scale. */
SIMD_INLINE size_t quant_group(enum dtype t)
{
	return t == DTYPE_Q2_K || t == DTYPE_Q3_K || t == DTYPE_Q6_K ? 16 : 32;
}

SIMD_INLINE bool quant_is_k(enum dtype t)
{
	return t == DTYPE_Q2_K || t == DTYPE_Q3_K || t == DTYPE_Q4_K || t == DTYPE_Q5_K ||
	       t == DTYPE_Q6_K;
}

#endif
