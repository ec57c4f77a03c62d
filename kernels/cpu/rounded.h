/*
 * kernels/cpu/rounded.h - products of integers of 8 bits, which sums of several lines of a weight at once are made of
 *
 * A line is a row of w (a column of the result). ROUNDED_LINES of them go together, a lane each, so that a result is one chain over
 * the blocks of k, whatever else is computed beside it. A unit says, before it includes this, that it has an instruction for four
 * products at once: ROUNDED_DOT(sum, w, x), for bytes of w without a sign (x86) or with one (NEON).
 */
#ifndef KERNELS_CPU_ROUNDED_H
#define KERNELS_CPU_ROUNDED_H

#include "kernels/cpu/quants.h"
#include "kernels/rounding.h"

#if SIMD_WIDTH >= 8
# define ROUNDED_LINES 8
#else
# define ROUNDED_LINES 4
#endif

typedef float rfloat __attribute__((vector_size(4 * ROUNDED_LINES)));
typedef int32_t rint32 __attribute__((vector_size(4 * ROUNDED_LINES)));
typedef int16_t rint16 __attribute__((vector_size(4 * ROUNDED_LINES)));
typedef uint8_t rbytes __attribute__((vector_size(4 * ROUNDED_LINES)));

#define ROUNDED_BYTES ((size_t)4 * ROUNDED_LINES)

/* Where four products are one instruction or two; elsewhere the code would be ten times as large, and no faster. */
#if ROUNDED_LINES == 8 || defined(SIMD_NEON)
# define ROUNDED_UNROLL SIMD_UNROLL
#else
# define ROUNDED_UNROLL
#endif

/*
 * A sum that is made before what comes after it: left to itself gcc makes all products first, and has no registers for them.
 */
#if defined(__x86_64__)
# define ROUNDED_HERE(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
# define ROUNDED_HERE(v) __asm__("" : "+w"(v))
#else
# define ROUNDED_HERE(v) (void)(v)
#endif

SIMD_INLINE rfloat rounded_load(const void *p)
{
	rfloat v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD_INLINE void rounded_store(void *p, rfloat v)
{
	memcpy(p, &v, sizeof(v));
}

SIMD_INLINE rfloat rounded_all(float f)
{
	return f - (rfloat){ 0 };
}

SIMD_INLINE rint32 rounded_all_int(int32_t i)
{
	return i + (rint32){ 0 };
}

/* x * y + z, rounded as simd_fma rounds it. */
SIMD_INLINE rfloat rounded_fma(rfloat x, rfloat y, rfloat z)
{
#if ROUNDED_LINES == 8
	return (rfloat)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#elif defined(SIMD_NEON)
	return (rfloat)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
#else
	return x * y + z;
#endif
}

SIMD_INLINE rfloat rounded_floats(rint32 x)
{
	return __builtin_convertvector(x, rfloat);
}

/* A group more (rounded_products.h): SCALE of the lines, BY of x, SUM of the integers' products. */
SIMD_INLINE rfloat rounded_step(rfloat acc, rfloat scale, float by, rint32 sum)
{
	return rounded_fma(scale * rounded_all(by), rounded_floats(sum), acc);
}

/* The f16 at each of the lines' P + AT. */
SIMD_INLINE rfloat rounded_halves(const uint8_t *const *p, size_t at)
{
#if ROUNDED_LINES == 8
	__m128i h = _mm_setr_epi16((short)load_u16(p[0] + at), (short)load_u16(p[1] + at),
				   (short)load_u16(p[2] + at), (short)load_u16(p[3] + at),
				   (short)load_u16(p[4] + at), (short)load_u16(p[5] + at),
				   (short)load_u16(p[6] + at), (short)load_u16(p[7] + at));

	return (rfloat)_mm256_cvtph_ps(h);
#else
	return (rfloat){ half_to_f32(load_u16(p[0] + at)), half_to_f32(load_u16(p[1] + at)),
			 half_to_f32(load_u16(p[2] + at)), half_to_f32(load_u16(p[3] + at)) };
#endif
}

/* --- four products a lane: of 4 bytes of w of each line by 4 of x, which are the same for all --- */

/*
 * How bytes of w are given: without a sign, at most so large that 2, 4 or 8 sums of two products fit 16 bits (x86 without an
 * instruction for four); or with a sign.
 */
enum rounded_kind {
	ROUNDED_SIGNED,
	ROUNDED_SIX_BITS,
	ROUNDED_FIVE_BITS,
	ROUNDED_FOUR_BITS,
	ROUNDED_EIGHT_BITS
};

#if defined(ROUNDED_DOT) && !defined(SIMD_NEON)
# define ROUNDED_UNSIGNED 1
#elif ROUNDED_LINES == 8
# define ROUNDED_PAIRS 1
#endif

/* What kind runs of T are brought to, and by how much their bytes are too large then. */
SIMD_INLINE enum rounded_kind rounded_kind(enum dtype t)
{
#if defined(ROUNDED_UNSIGNED)
	return ROUNDED_EIGHT_BITS;
#elif defined(ROUNDED_PAIRS)
	switch (t) {
	case DTYPE_Q4_0:
	case DTYPE_Q4_1:
	case DTYPE_Q2_K:
	case DTYPE_Q3_K:
	case DTYPE_Q4_K: return ROUNDED_FOUR_BITS;
	case DTYPE_Q5_0:
	case DTYPE_Q5_1:
	case DTYPE_Q5_K: return ROUNDED_FIVE_BITS;
	case DTYPE_Q6_K: return ROUNDED_SIX_BITS;
	default: return ROUNDED_SIGNED;
	}
#else
	return ROUNDED_SIGNED;
#endif
}

SIMD_INLINE int rounded_bias(enum dtype t)
{
#if defined(ROUNDED_UNSIGNED)
	return quant_bias(t) || quant_has_offset(t) ? quant_bias(t) : 128;
#elif defined(ROUNDED_PAIRS)
	return quant_bias(t);
#else
	return 0;
#endif
}

/* Bytes of a block of T: a constant, as dtype_info's is not. */
SIMD_INLINE size_t block_bytes(enum dtype t)
{
	switch (t) {
	case DTYPE_Q4_0: return sizeof(struct block_q4_0);
	case DTYPE_Q4_1: return sizeof(struct block_q4_1);
	case DTYPE_Q5_0: return sizeof(struct block_q5_0);
	case DTYPE_Q5_1: return sizeof(struct block_q5_1);
	case DTYPE_Q2_K: return sizeof(struct block_q2_k);
	case DTYPE_Q3_K: return sizeof(struct block_q3_k);
	case DTYPE_Q4_K: return sizeof(struct block_q4_k);
	case DTYPE_Q5_K: return sizeof(struct block_q5_k);
	case DTYPE_Q8_0: return sizeof(struct block_q8_0);
	default: return sizeof(struct block_q6_k);
	}
}

/* Bytes of run RUN, in that kind. */
SIMD_INLINE vbytes rounded_run(enum dtype t, const uint8_t *p, int run, int at)
{
	return quant_run(t, p, run, at) + (uint8_t)(rounded_bias(t) - quant_bias(t));
}

/* Sums of two neighbours: of products of one kind but SIGNED, and of what those are. */
#if ROUNDED_LINES == 8
SIMD_INLINE rint16 rounded_pairs(rbytes w, rbytes x)
{
	return (rint16)_mm256_maddubs_epi16((__m256i)w, (__m256i)x);
}

SIMD_INLINE rint32 rounded_widen(rint16 x)
{
	return (rint32)_mm256_madd_epi16((__m256i)x, _mm256_set1_epi16(1));
}
#endif

#if ROUNDED_LINES == 8
SIMD_INLINE rint32 rounded_fours(enum rounded_kind kind, rbytes w, rbytes x, rint32 sum)
{
# if defined(ROUNDED_UNSIGNED)
	return (rint32)ROUNDED_DOT((__m256i)sum, (__m256i)w, (__m256i)x);
# else
	if (kind == ROUNDED_SIGNED)
		return sum + rounded_widen(rounded_pairs(
				     (rbytes)_mm256_abs_epi8((__m256i)w),
				     (rbytes)_mm256_sign_epi8((__m256i)x, (__m256i)w)));
	return sum + rounded_widen(rounded_pairs(w, x));
# endif
}
#elif defined(SIMD_NEON)
SIMD_INLINE rint32 rounded_fours(enum rounded_kind kind, rbytes w, rbytes x, rint32 sum)
{
# if defined(ROUNDED_DOT)
	return (rint32)ROUNDED_DOT((int32x4_t)sum, (int8x16_t)w, (int8x16_t)x);
# else
	int16x8_t low = vmull_s8(vget_low_s8((int8x16_t)w), vget_low_s8((int8x16_t)x));
	int16x8_t high = vmull_s8(vget_high_s8((int8x16_t)w), vget_high_s8((int8x16_t)x));

	return sum + (rint32)vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
# endif
}
#else
SIMD_INLINE rint32 rounded_fours(enum rounded_kind kind, rbytes w, rbytes x, rint32 sum)
{
	for (int i = 0; i < 4; i++) {
		/* Byte i of each four, its sign kept. */
		rint32 a = (rint32)w << (24 - 8 * i) >> 24, b = (rint32)x << (24 - 8 * i) >> 24;

		sum += a * b;
	}
	return sum;
}
#endif

SIMD_INLINE rbytes rounded_spread(const int8_t *x)
{
	int32_t four;

	memcpy(&four, x, sizeof(four));
	return (rbytes)rounded_all_int(four);
}

SIMD_INLINE rbytes rounded_bytes(const uint8_t *p)
{
	rbytes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* What lies under MASK after a shift by RIGHT bits, or by -RIGHT to the left. */
SIMD_INLINE rbytes rounded_field(rbytes v, int right, uint8_t mask)
{
	typedef uint16_t rshorts __attribute__((vector_size(4 * ROUNDED_LINES)));

	if (right == 0)
		return v & mask;
	return (rbytes)(right > 0 ? (rshorts)v >> right : (rshorts)v << -right) & mask;
}

/* Whether sums of pairs may be added in 16 bits. */
SIMD_INLINE bool rounded_is_narrow(enum rounded_kind kind)
{
#if defined(ROUNDED_PAIRS)
	return kind != ROUNDED_SIGNED;
#else
	return false;
#endif
}

/* How many of them fit: 127 x 2 times 15, 31 and 63 is 3,810, 7,874 and 16,002. Sums that are not narrow have no such limit. */
SIMD_INLINE size_t rounded_fit(enum rounded_kind kind)
{
	return kind == ROUNDED_SIX_BITS ? 2 : kind == ROUNDED_FIVE_BITS ? 4 : 8;
}

/* Fours more, to a sum that is narrow or not, as KIND has it; FIRST: nothing was there before. KIND and FIRST are constants. */
SIMD_INLINE rint32 rounded_more(enum rounded_kind kind, bool first, rint32 sum, rbytes w, rbytes x)
{
#if defined(ROUNDED_PAIRS)
	if (rounded_is_narrow(kind)) {
		rint16 both = rounded_pairs(w, x);

		return first ? (rint32)both : (rint32)((rint16)sum + both);
	}
#endif
	return rounded_fours(kind, w, x, first ? (rint32){ 0 } : sum);
}

/* What at most rounded_fit() such steps made, added to TOTAL. */
SIMD_INLINE rint32 rounded_total(enum rounded_kind kind, bool first, rint32 total, rint32 sum)
{
#if defined(ROUNDED_PAIRS)
	if (rounded_is_narrow(kind))
		sum = rounded_widen((rint16)sum);
#endif
	return first ? sum : total + sum;
}

#endif
