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

/* What lies under MASK after a shift by RIGHT bits, or by -RIGHT to the left. */
SIMD_INLINE vbytes quant_field(vbytes v, int right, uint8_t mask)
{
	return (vbytes)(right > 0 ? (vshorts)v >> right : (vshorts)v << -right) & mask;
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

/* A piece of each of some values: what MASK leaves of the bytes from AT of the block on, RIGHT bits down, or -RIGHT up. */
struct quant_piece {
	size_t at;
	int right;
	uint8_t mask; /* 0: there is no such piece */
};

/* Where the bytes of the values' low bits begin. */
SIMD_INLINE size_t quant_low_at(enum dtype t)
{
	switch (t) {
	case DTYPE_Q4_1: return offsetof(struct block_q4_1, qs);
	case DTYPE_Q5_0: return offsetof(struct block_q5_0, qs);
	case DTYPE_Q5_1: return offsetof(struct block_q5_1, qs);
	case DTYPE_Q2_K: return offsetof(struct block_q2_k, qs);
	case DTYPE_Q3_K: return offsetof(struct block_q3_k, qs);
	case DTYPE_Q4_K: return offsetof(struct block_q4_k, qs);
	case DTYPE_Q5_K: return offsetof(struct block_q5_k, qs);
	case DTYPE_Q6_K: return offsetof(struct block_q6_k, ql);
	default: return 2; /* after d: of q4_0 and q8_0 */
	}
}

/* Where the low bits of the values from E of run RUN on lie. */
SIMD_INLINE struct quant_piece quant_low(enum dtype t, int run, size_t e)
{
	const size_t at = quant_low_at(t), quarter = (size_t)(run / 4), half = (size_t)(run / 2);

	switch (t) {
	case DTYPE_Q4_0:
	case DTYPE_Q4_1:
	case DTYPE_Q5_0:
	case DTYPE_Q5_1: return (struct quant_piece){ at + e % 16, e < 16 ? 0 : 4, 15 };
	case DTYPE_Q2_K:
	case DTYPE_Q3_K: return (struct quant_piece){ at + 32 * quarter + e, run % 4 * 2, 3 };
	case DTYPE_Q4_K:
	case DTYPE_Q5_K: return (struct quant_piece){ at + 32 * half + e, run % 2 * 4, 15 };
	case DTYPE_Q6_K:
		return (struct quant_piece){ at + 64 * quarter + 32 * (size_t)(run % 2) + e,
					     run % 4 / 2 * 4, 15 };
	default: return (struct quant_piece){ at + e, 0, 255 };
	}
}

/* And their high bits, of the K types that keep them apart. */
SIMD_INLINE struct quant_piece quant_high(enum dtype t, int run, size_t e)
{
	const size_t quarter = (size_t)(run / 4);

	switch (t) {
	case DTYPE_Q3_K:
		return (struct quant_piece){ offsetof(struct block_q3_k, hmask) + e, run - 2, 4 };
	case DTYPE_Q5_K:
		return (struct quant_piece){ offsetof(struct block_q5_k, qh) + e, run - 4, 16 };
	case DTYPE_Q6_K:
		return (struct quant_piece){ offsetof(struct block_q6_k, qh) + 32 * quarter + e,
					     run % 4 * 2 - 4, 48 };
	default: return (struct quant_piece){ 0 };
	}
}

SIMD_INLINE vbytes quant_piece(const uint8_t *p, struct quant_piece from)
{
	return quant_field(quant_load(p + from.at), from.right, from.mask);
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
	case DTYPE_Q2_K:
	case DTYPE_Q4_K: return quant_piece(p, quant_low(t, run, (size_t)at));
	case DTYPE_Q3_K:
	case DTYPE_Q5_K:
	case DTYPE_Q6_K:
		return quant_piece(p, quant_low(t, run, (size_t)at)) |
		       quant_piece(p, quant_high(t, run, (size_t)at));
	default: return quant_load(((const struct block_q8_0 *)b)->qs + at);
	}
}

/* --- scales --- */

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

/* Where the scales of the groups of a K type lie, and how many words of four bytes they are. */
SIMD_INLINE size_t quant_scales_at(enum dtype t)
{
	switch (t) {
	case DTYPE_Q2_K: return offsetof(struct block_q2_k, scales);
	case DTYPE_Q3_K: return offsetof(struct block_q3_k, scales);
	case DTYPE_Q6_K: return offsetof(struct block_q6_k, scales);
	default: return offsetof(struct block_q4_k, scales);
	}
}

SIMD_INLINE size_t quant_scale_words(enum dtype t)
{
	return t == DTYPE_Q2_K || t == DTYPE_Q6_K ? 4 : 3;
}

SIMD_INLINE bool quant_has_offset(enum dtype t)
{
	return t == DTYPE_Q4_1 || t == DTYPE_Q5_1 || t == DTYPE_Q2_K || t == DTYPE_Q4_K ||
	       t == DTYPE_Q5_K;
}

/* Whether a word of the block has the fifth bits of all its values. */
SIMD_INLINE bool quant_has_fifths(enum dtype t)
{
	return t == DTYPE_Q5_0 || t == DTYPE_Q5_1;
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
