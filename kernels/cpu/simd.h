/*
 * kernels/cpu/simd.h - vectors of the width of the level that is being compiled
 *
 * A thin layer over the vector extensions that gcc and clang share: 4 floats on the generic
 * level (SSE2 on x86-64, else portable C) and NEON, 8 on AVX2, 16 on AVX-512. Arithmetic is written with the operators of C. Here
 * is what they lack, and only what is used. Vectors live in registers and locals, never in structs
 * that cross files.
 */
#ifndef KERNELS_CPU_SIMD_H
#define KERNELS_CPU_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/intrinsics.h"
#include "kernels/dtype.h"
#include "kernels/half.h"

#if defined(__AVX512F__) || defined(SIMD_EMULATED)
# define SIMD_WIDTH 16
#elif defined(__AVX2__)
# define SIMD_WIDTH 8
#else
# define SIMD_WIDTH 4
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are loaded as they lie");

typedef float vf32 __attribute__((vector_size(4 * SIMD_WIDTH)));
typedef int32_t vi32 __attribute__((vector_size(4 * SIMD_WIDTH)));
typedef uint32_t vu32 __attribute__((vector_size(4 * SIMD_WIDTH)));
typedef int16_t vi16 __attribute__((vector_size(4 * SIMD_WIDTH))); /* twice as many */
typedef uint16_t vu16 __attribute__((vector_size(4 * SIMD_WIDTH)));
typedef double vf64 __attribute__((vector_size(4 * SIMD_WIDTH))); /* half as many */
typedef int64_t vi64 __attribute__((vector_size(4 * SIMD_WIDTH)));

#define SIMD_INLINE static inline __attribute__((always_inline, unused))
#define SIMD_UNROLL _Pragma("GCC unroll 16")

SIMD_INLINE vf32 simd_f32(float f)
{
	return f - (vf32){ 0 }; /* -0 stays */
}

SIMD_INLINE vf64 simd_f64(double d)
{
	return d - (vf64){ 0 };
}

SIMD_INLINE vf32 simd_load(const void *p)
{
	vf32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD_INLINE void simd_store(void *p, vf32 v)
{
	memcpy(p, &v, sizeof(v));
}

/* To P, a multiple of SIMD_BYTES, past the caches; whoever did so ends with simd_stream_end, before other threads look. */
SIMD_INLINE void simd_stream(void *p, vf32 v)
{
#if SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
	_mm512_stream_ps(p, (__m512)v);
#elif SIMD_WIDTH == 8
	_mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE2__) && SIMD_WIDTH == 4
	_mm_stream_ps(p, (__m128)v);
#else
	memcpy(p, &v, sizeof(v));
#endif
}

SIMD_INLINE void simd_stream_end(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

SIMD_INLINE vf64 simd_load64(const double *p)
{
	vf64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

SIMD_INLINE void simd_store64(double *p, vf64 v)
{
	memcpy(p, &v, sizeof(v));
}

/*
 * memcpy of what is hardly in the cache: from 2 KiB on the library's own may turn to one instruction for all, which ran at half of
 * the bandwidth on Zen 3.
 */
SIMD_INLINE void simd_copy(void *to, const void *from, size_t n)
{
	uint8_t *y = to;
	const uint8_t *x = from;
	size_t i = 0;

	for (; i + 4 * sizeof(vf32) <= n; i += 4 * sizeof(vf32)) {
		/* An array of vectors would pass through memory. */
		vf32 a = simd_load(x + i), b = simd_load(x + i + sizeof(vf32));
		vf32 c = simd_load(x + i + 2 * sizeof(vf32)),
		     d = simd_load(x + i + 3 * sizeof(vf32));

		simd_store(y + i, a);
		simd_store(y + i + sizeof(vf32), b);
		simd_store(y + i + 2 * sizeof(vf32), c);
		simd_store(y + i + 3 * sizeof(vf32), d);
	}
	for (; i + sizeof(vf32) <= n; i += sizeof(vf32))
		simd_store(y + i, simd_load(x + i));
	for (; i < n; i++)
		y[i] = x[i];
}

/*
 * Asks for what lies 3 KiB after P, be it there or not. A step takes long enough that the processor does
 * not look far past it by itself: on Zen 3, statistics of f32 on one thread ran at 0.73 of a plain read
 * without this, at 0.98 with it (scripts/bench-stats.c).
 */
SIMD_INLINE void simd_prefetch(const uint8_t *p)
{
	__builtin_prefetch((const void *)((uintptr_t)p + 3072), 0, 3);
}

/* x < y ? x : y; so Y where either is NaN. */
SIMD_INLINE vf32 simd_min(vf32 x, vf32 y)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_min_ps((__m512)x, (__m512)y);
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_min_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
	return (vf32)_mm_min_ps((__m128)x, (__m128)y);
#elif defined(SIMD_NEON)
	return (vf32)vbslq_f32(vcltq_f32((float32x4_t)x, (float32x4_t)y), (float32x4_t)x,
			       (float32x4_t)y);
#else
	vi32 less = x < y;

	return (vf32)((less & (vi32)x) | (~less & (vi32)y));
#endif
}

/* x > y ? x : y */
SIMD_INLINE vf32 simd_max(vf32 x, vf32 y)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_max_ps((__m512)x, (__m512)y);
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
	return (vf32)_mm_max_ps((__m128)x, (__m128)y);
#elif defined(SIMD_NEON)
	return (vf32)vbslq_f32(vcgtq_f32((float32x4_t)x, (float32x4_t)y), (float32x4_t)x,
			       (float32x4_t)y);
#else
	vi32 more = x > y;

	return (vf32)((more & (vi32)x) | (~more & (vi32)y));
#endif
}

/* 16-bit integers, the lesser or the greater of each pair. */
#if SIMD_WIDTH == 16
# define SIMD_PICK(name, wide, narrow, neon, type, compare) \
  SIMD_INLINE type name(type x, type y)                     \
  {                                                         \
   return (type)wide((__m512i)x, (__m512i)y);               \
  }
#elif SIMD_WIDTH == 8
# define SIMD_PICK(name, wide, narrow, neon, type, compare) \
  SIMD_INLINE type name(type x, type y)                     \
  {                                                         \
   return (type)narrow((__m256i)x, (__m256i)y);             \
  }
#elif defined(SIMD_NEON)
# define SIMD_PICK(name, wide, narrow, neon, type, compare) \
  SIMD_INLINE type name(type x, type y)                     \
  {                                                         \
   return (type)neon(x, y);                                 \
  }
#else
# define SIMD_PICK(name, wide, narrow, neon, type, compare) \
  SIMD_INLINE type name(type x, type y)                     \
  {                                                         \
   type pick = (type)(x compare y);                         \
   return (pick & x) | (~pick & y);                         \
  }
#endif
SIMD_PICK(simd_min_i16, _mm512_min_epi16, _mm256_min_epi16, vminq_s16, vi16, <)
SIMD_PICK(simd_max_i16, _mm512_max_epi16, _mm256_max_epi16, vmaxq_s16, vi16, >)
SIMD_PICK(simd_min_u16, _mm512_min_epu16, _mm256_min_epu16, vminq_u16, vu16, <)
SIMD_PICK(simd_max_u16, _mm512_max_epu16, _mm256_max_epu16, vmaxq_u16, vu16, >)

SIMD_INLINE vf32 simd_abs(vf32 x)
{
	return (vf32)((vi32)x & 0x7fffffff);
}

/* X where MASK is all ones, 0 where it is 0. */
SIMD_INLINE vf32 simd_keep(vi32 mask, vf32 x)
{
	return (vf32)(mask & (vi32)x);
}

/*
 * A vector with the sign bits of x * y - z as if it were exact: + where that is 0. (One rounding of
 * f32 keeps the sign, even of what underflows; without it, two products of f32 are exact in double.)
 */
SIMD_INLINE vi32 simd_sign_fms(vf32 x, vf32 y, vf32 z)
{
#if SIMD_WIDTH == 16
	return (vi32)_mm512_fmsub_ps((__m512)x, (__m512)y, (__m512)z);
#elif SIMD_WIDTH == 8
	return (vi32)_mm256_fmsub_ps((__m256)x, (__m256)y, (__m256)z);
#elif defined(SIMD_NEON)
	return (vi32)vfmaq_f32((float32x4_t)-z, (float32x4_t)x, (float32x4_t)y);
#else
	vi32 out;

	for (int j = 0; j < SIMD_WIDTH; j++)
		out[j] = (int32_t) - ((double)x[j] * y[j] < z[j]);
	return out;
#endif
}

/* x * y + z: rounded once where the level has it, else twice. The bits are those of the level. */
SIMD_INLINE vf32 simd_fma(vf32 x, vf32 y, vf32 z)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#elif defined(SIMD_NEON)
	return (vf32)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
#else
	return x * y + z;
#endif
}

/* The float at P in every lane. */
SIMD_INLINE vf32 simd_broadcast(const float *p)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_set1_ps(*p);
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_broadcast_ss(p);
#elif defined(SIMD_NEON)
	return (vf32)vld1q_dup_f32(p);
#else
	return simd_f32(*p);
#endif
}

/* x * y + z, rounded once where the level can, else twice: only where that changes no result. */
SIMD_INLINE vf64 simd_any_fma64(vf64 x, vf64 y, vf64 z)
{
#if SIMD_WIDTH == 16
	return (vf64)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
#elif SIMD_WIDTH == 8
	return (vf64)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
#elif defined(SIMD_NEON)
	return (vf64)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
#else
	return x * y + z;
#endif
}

/*
 * SIMD_WIDTH / 2 floats at P, any address, as doubles. From memory, since that is where converting
 * is twice as fast as from the halves of a register.
 */
SIMD_INLINE vf64 simd_widen(const void *p)
{
#if SIMD_WIDTH == 16
	return (vf64)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif SIMD_WIDTH == 8
	return (vf64)_mm256_cvtps_pd(_mm_loadu_ps(p));
#elif defined(SIMD_NEON)
	return (vf64)vcvt_f64_f32(vld1_f32(p));
#else
	float f[2];

	memcpy(f, p, sizeof(f));
	return (vf64){ f[0], f[1] };
#endif
}

/* Bytes of a vector, and of half of one: what simd_widen takes. */
#define SIMD_BYTES ((size_t)4 * SIMD_WIDTH)
#define SIMD_HALF  ((size_t)2 * SIMD_WIDTH)

/* Whether any sign bit is set. */
SIMD_INLINE int simd_any_sign(vi32 x)
{
#if SIMD_WIDTH == 16
	return _mm512_movepi32_mask((__m512i)x) != 0;
#elif SIMD_WIDTH == 8
	return _mm256_movemask_ps((__m256)x) != 0;
#elif defined(__SSE2__)
	return _mm_movemask_ps((__m128)x) != 0;
#elif defined(SIMD_NEON)
	return vminvq_s32((int32x4_t)x) < 0;
#else
	return (x[0] | x[1] | x[2] | x[3]) < 0;
#endif
}

/* Whether any bit is set. */
SIMD_INLINE int simd_any(vi32 x)
{
#if SIMD_WIDTH == 16
	return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) != 0;
#elif SIMD_WIDTH == 8
	return !_mm256_testz_si256((__m256i)x, (__m256i)x);
#elif defined(SIMD_NEON)
	return vmaxvq_u32((uint32x4_t)x) != 0;
#else
	uint64_t parts[2];

	memcpy(parts, &x, sizeof(parts));
	return (parts[0] | parts[1]) != 0;
#endif
}

/* --- bf16 and f16: SIMD_WIDTH elements at any address --- */

SIMD_INLINE vf32 simd_load_bf16(const void *p)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16);
#elif defined(SIMD_NEON)
	return (vf32)vshll_n_u16(vld1_u16(p), 16);
#elif defined(__SSE2__)
	return (vf32)_mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64(p));
#else
	vf32 out;

	for (int i = 0; i < SIMD_WIDTH; i++)
		out[i] = brain_to_f32(load_u16((const uint8_t *)p + 2 * i));
	return out;
#endif
}

SIMD_INLINE vf32 simd_load_f16(const void *p)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_cvtph_ps(_mm256_loadu_si256(p));
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_cvtph_ps(_mm_loadu_si128(p));
#elif defined(SIMD_NEON)
	return (vf32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
#else
	vf32 out;

	for (int i = 0; i < SIMD_WIDTH; i++)
		out[i] = half_to_f32(load_u16((const uint8_t *)p + 2 * i));
	return out;
#endif
}

/*
 * What brain_from_f32 gives, in the upper halves; the lower ones are nonsense. The instruction for it, vcvtneps2bf16, takes
 * subnormals for zeros, and is not used.
 */
SIMD_INLINE vu32 simd_round_bf16(vf32 x)
{
	vu32 bits = (vu32)x, rounded = bits + 0x7fff + (bits >> 16 & 1);
#if SIMD_WIDTH == 8
	vf32 nan = (vf32)(x != x);

	return (vu32)_mm256_blendv_ps((__m256)rounded, (__m256)(bits | 0x00400000), (__m256)nan);
#else
	vu32 nan = (vu32)((bits & 0x7fffffff) > 0x7f800000);

	return (nan & (bits | 0x00400000)) | (~nan & rounded);
#endif
}

#if SIMD_WIDTH == 8
/* Two vectors as one of bf16, in their order. */
SIMD_INLINE vf32 simd_narrow_two(vf32 a, vf32 b)
{
	vu32 x = simd_round_bf16(a) >> 16, y = simd_round_bf16(b) >> 16;

	return (vf32)_mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)x, (__m256i)y), 0xd8);
}
#endif

SIMD_INLINE void simd_store_bf16(void *p, vf32 x)
{
	vu32 bits = simd_round_bf16(x) >> 16;

#if SIMD_WIDTH == 16
	_mm256_storeu_si256(p, _mm512_cvtepi32_epi16((__m512i)bits));
#elif SIMD_WIDTH == 8
	/* Packing works within each half of 16 bytes. */
	__m256i twice = _mm256_packus_epi32((__m256i)bits, (__m256i)bits);

	_mm_storeu_si128(p, _mm256_castsi256_si128(_mm256_permute4x64_epi64(twice, 0x08)));
#elif defined(SIMD_NEON)
	vst1_u16(p, vmovn_u32((uint32x4_t)bits));
#else
	for (int i = 0; i < SIMD_WIDTH; i++) {
		uint16_t h = (uint16_t)bits[i];

		memcpy((uint8_t *)p + 2 * i, &h, sizeof(h));
	}
#endif
}

SIMD_INLINE void simd_store_f16(void *p, vf32 x)
{
#if SIMD_WIDTH == 16
	_mm256_storeu_si256(p, _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT));
#elif SIMD_WIDTH == 8
	_mm_storeu_si128(p, _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT));
#elif defined(SIMD_NEON)
	vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)x)));
#else
	for (int i = 0; i < SIMD_WIDTH; i++) {
		uint16_t h = half_from_f32(x[i]);

		memcpy((uint8_t *)p + 2 * i, &h, sizeof(h));
	}
#endif
}

SIMD_INLINE vf32 simd_sqrt(vf32 x)
{
#if SIMD_WIDTH == 16
	return (vf32)_mm512_sqrt_ps((__m512)x);
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_sqrt_ps((__m256)x);
#elif defined(SIMD_NEON)
	return (vf32)vsqrtq_f32((float32x4_t)x);
#elif defined(__SSE2__)
	return (vf32)_mm_sqrt_ps((__m128)x);
#else
	for (int i = 0; i < SIMD_WIDTH; i++)
		x[i] = __builtin_sqrtf(x[i]);
	return x;
#endif
}

/*
 * 16 elements of bf16 or f16 (T, a constant), at any address, as f32 in memory, by quarters: number K,
 * elements 4 K to 4 K + 3, goes to OUT + 16 * simd_quarter(T, K). In order, but where that would cost.
 */
SIMD_INLINE int simd_quarter(enum dtype t, int k)
{
	return SIMD_WIDTH == 8 && t == DTYPE_BF16 && k % 3 ? 3 - k : k;
}

SIMD_INLINE void simd_bf16_to_f32(const uint8_t *p, uint8_t *out)
{
#if SIMD_WIDTH == 8
	/* Unpacking, with zeros below, works within each half of 16 bytes. */
	__m256i v = _mm256_loadu_si256((const __m256i *)p);

	simd_store(out, (vf32)_mm256_unpacklo_epi16(_mm256_setzero_si256(), v));
	simd_store(out + 32, (vf32)_mm256_unpackhi_epi16(_mm256_setzero_si256(), v));
#else
	for (int i = 0; i < 16; i += SIMD_WIDTH)
		simd_store(out + 4 * i, simd_load_bf16(p + 2 * i));
#endif
}

SIMD_INLINE void simd_f16_to_f32(const uint8_t *p, uint8_t *out)
{
	for (int i = 0; i < 16; i += SIMD_WIDTH)
		simd_store(out + 4 * i, simd_load_f16(p + 2 * i));
}

SIMD_INLINE void simd_to_f32(enum dtype t, const uint8_t *p, uint8_t *out)
{
	if (t == DTYPE_BF16)
		simd_bf16_to_f32(p, out);
	else
		simd_f16_to_f32(p, out);
}

#endif
