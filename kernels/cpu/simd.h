/*
 * kernels/cpu/simd.h - vectors of the width of the level that is being compiled
 *
 * A thin layer over the vector extensions that gcc and clang share: 4 floats on the generic
 * level (SSE2, NEON), 8 on AVX2, 16 on AVX-512. Arithmetic is written with the operators of C. Here
 * is what they lack, and only what is used. Vectors live in registers and locals, never in structs
 * that cross files.
 */
#ifndef KERNELS_CPU_SIMD_H
#define KERNELS_CPU_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/dtype.h"
#include "kernels/half.h"

#if defined(__x86_64__)
# include <immintrin.h>
#elif defined(__ARM_NEON)
# include <arm_neon.h>
#endif

#if defined(__AVX512F__)
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
		vf32 v[4];

		memcpy(v, x + i, sizeof(v));
		memcpy(y + i, v, sizeof(v));
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
#else
	vi32 more = x > y;

	return (vf32)((more & (vi32)x) | (~more & (vi32)y));
#endif
}

/* 16-bit integers, the lesser or the greater of each pair. */
#if SIMD_WIDTH == 16
# define SIMD_PICK(name, wide, narrow, type, compare) \
  SIMD_INLINE type name(type x, type y)               \
  {                                                   \
   return (type)wide((__m512i)x, (__m512i)y);         \
  }
#elif SIMD_WIDTH == 8
# define SIMD_PICK(name, wide, narrow, type, compare) \
  SIMD_INLINE type name(type x, type y)               \
  {                                                   \
   return (type)narrow((__m256i)x, (__m256i)y);       \
  }
#else
# define SIMD_PICK(name, wide, narrow, type, compare) \
  SIMD_INLINE type name(type x, type y)               \
  {                                                   \
   type pick = (type)(x compare y);                   \
   return (pick & x) | (~pick & y);                   \
  }
#endif
SIMD_PICK(simd_min_i16, _mm512_min_epi16, _mm256_min_epi16, vi16, <)
SIMD_PICK(simd_max_i16, _mm512_max_epi16, _mm256_max_epi16, vi16, >)
SIMD_PICK(simd_min_u16, _mm512_min_epu16, _mm256_min_epu16, vu16, <)
SIMD_PICK(simd_max_u16, _mm512_max_epu16, _mm256_max_epu16, vu16, >)

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
#elif defined(__aarch64__)
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
#elif defined(__aarch64__)
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
#else
	uint64_t parts[2];

	memcpy(parts, &x, sizeof(parts));
	return (parts[0] | parts[1]) != 0;
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
#if SIMD_WIDTH == 16
	__m512i v = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));

	simd_store(out, (vf32)_mm512_slli_epi32(v, 16));
#elif SIMD_WIDTH == 8
	/* Unpacking, with zeros below, works within each half of 16 bytes. */
	__m256i v = _mm256_loadu_si256((const __m256i *)p);

	simd_store(out, (vf32)_mm256_unpacklo_epi16(_mm256_setzero_si256(), v));
	simd_store(out + 32, (vf32)_mm256_unpackhi_epi16(_mm256_setzero_si256(), v));
#else
	for (int i = 0; i < 16; i++)
		store_u32(out + 4 * i, f32_bits(brain_to_f32(load_u16(p + 2 * i))));
#endif
}

SIMD_INLINE void simd_f16_to_f32(const uint8_t *p, uint8_t *out)
{
#if SIMD_WIDTH == 16
	simd_store(out, (vf32)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)));
#elif SIMD_WIDTH == 8
	simd_store(out, (vf32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)));
	simd_store(out + 32, (vf32)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 16))));
#else
	for (int i = 0; i < 16; i++)
		store_u32(out + 4 * i, f32_bits(half_to_f32(load_u16(p + 2 * i))));
#endif
}

SIMD_INLINE void simd_to_f32(enum dtype t, const uint8_t *p, uint8_t *out)
{
	if (t == DTYPE_BF16)
		simd_bf16_to_f32(p, out);
	else
		simd_f16_to_f32(p, out);
}

#endif
