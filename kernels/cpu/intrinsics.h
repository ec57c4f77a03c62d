/*
 * kernels/cpu/intrinsics.h - the processor's vector instructions by name, or what stands in for them
 *
 * With SIMD_EMULATED (the Makefile's emulated library) AVX-512 and the units built on it are computed on AVX2, so that the code
 * of the wide levels is tested on any x86-64: by SIMDe (https://github.com/simd-everywhere/simde), by a few functions here for
 * what its packaged version lacks; AMX's tiles are in tiles.h. It is slow, and of no use but for tests.
 */
#ifndef KERNELS_CPU_INTRINSICS_H
#define KERNELS_CPU_INTRINSICS_H

#if defined(SIMD_EMULATED)
# define SIMDE_ENABLE_NATIVE_ALIASES
# include <simde/x86/avx512.h>

# include <immintrin.h>
# include <string.h>

static inline __attribute__((always_inline, unused)) __m512i emulated_join(__m256i low,
									   __m256i high)
{
	__m512i out;

	memcpy(&out, &low, sizeof(low));
	memcpy((char *)&out + sizeof(low), &high, sizeof(high));
	return out;
}

/* From here on, as the manual's volume 2 has them; what a mask leaves out is not read or written. */
# define EMULATED static inline __attribute__((always_inline, unused))

EMULATED __m512i emulated_cvtepu16_epi32(__m256i x)
{
	return emulated_join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(x)),
			     _mm256_cvtepu16_epi32(_mm256_extracti128_si256(x, 1)));
}

EMULATED __m256i emulated_cvtepi32_epi16(__m512i x)
{
	int32_t from[16];
	int16_t to[16];
	__m256i out;

	memcpy(from, &x, sizeof(from));
	for (int i = 0; i < 16; i++)
		to[i] = (int16_t)from[i];
	memcpy(&out, to, sizeof(out));
	return out;
}

EMULATED __m512 emulated_cvtph_ps(__m256i x)
{
	__m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(x));
	__m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1));
	__m512 out;

	memcpy(&out, &low, sizeof(low));
	memcpy((char *)&out + sizeof(low), &high, sizeof(high));
	return out;
}

EMULATED __m256i emulated_cvtps_ph(__m512 x)
{
	__m256 half[2];

	memcpy(half, &x, sizeof(half));
	return _mm256_set_m128i(_mm256_cvtps_ph(half[1], _MM_FROUND_TO_NEAREST_INT),
				_mm256_cvtps_ph(half[0], _MM_FROUND_TO_NEAREST_INT));
}

EMULATED __m512d emulated_cvtps_pd(__m256 x)
{
	__m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
	__m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
	__m512d out;

	memcpy(&out, &low, sizeof(low));
	memcpy((char *)&out + sizeof(low), &high, sizeof(high));
	return out;
}

EMULATED __m512i emulated_maskz_loadu_epi16(uint32_t mask, const void *p)
{
	uint16_t x[32];
	__m512i out;

	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			memcpy(&x[i], (const char *)p + 2 * i, 2);
		else
			x[i] = 0;
	memcpy(&out, x, sizeof(out));
	return out;
}

EMULATED __m256i emulated_mask_loadu_half(uint16_t mask, const void *p)
{
	uint16_t x[16] = { 0 };
	__m256i out;

	for (int i = 0; i < 16; i++)
		if (mask >> i & 1)
			memcpy(&x[i], (const char *)p + 2 * i, 2);
	memcpy(&out, x, sizeof(out));
	return out;
}

EMULATED void emulated_store(void *p, __m512 x)
{
	memcpy(p, &x, sizeof(x));
}

/* A subnormal as the zero of its sign. */
EMULATED __m512i emulated_flush(__m512i x)
{
	__m512i exponent = _mm512_and_si512(x, _mm512_set1_epi32(0x7f800000));
	__mmask16 some = _mm512_test_epi32_mask(exponent, exponent);

	return _mm512_mask_blend_epi32(some,
				       _mm512_and_si512(x, _mm512_set1_epi32((int)0x80000000)), x);
}

/* SIMDe's keeps subnormals and rounds products. */
EMULATED __m512 emulated_dpbf16_ps(__m512 c, __m512i a, __m512i b)
{
	const __m512i high = _mm512_set1_epi32((int)0xffff0000);
	__m512i sum = emulated_flush((__m512i)c);

	sum = (__m512i)_mm512_fmadd_ps((__m512)emulated_flush(_mm512_and_si512(a, high)),
				       (__m512)emulated_flush(_mm512_and_si512(b, high)),
				       (__m512)sum);
	sum = (__m512i)_mm512_fmadd_ps((__m512)emulated_flush(_mm512_slli_epi32(a, 16)),
				       (__m512)emulated_flush(_mm512_slli_epi32(b, 16)),
				       (__m512)emulated_flush(sum));
	return (__m512)emulated_flush(sum);
}

/* Fours of A, without a sign, by those of B; SIMDe's of 32 bytes has another name. */
EMULATED __m256i emulated_dpbusd(__m256i sum, __m256i a, __m256i b)
{
	return _mm256_dpbusd_epi32(sum, a, b);
}

EMULATED uint16_t emulated_neps_pbh(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	if ((bits & 0x7f800000) == 0)
		return (uint16_t)(bits >> 16 & 0x8000);
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

EMULATED __m512i emulated_cvtne2ps_pbh(__m512 high, __m512 low)
{
	float from[32];
	uint16_t to[32];
	__m512i out;

	memcpy(from, &low, sizeof(low));
	memcpy(from + 16, &high, sizeof(high));
	for (int i = 0; i < 32; i++)
		to[i] = emulated_neps_pbh(from[i]);
	memcpy(&out, to, sizeof(out));
	return out;
}

# undef _mm512_dpbf16_ps
# undef _mm512_cvtne2ps_pbh
# undef _mm256_maskz_loadu_epi16
# undef _mm256_dpbusd_avx_epi32
# undef _mm512_cvtps_ph
# define _mm512_dpbf16_ps(c, a, b)	   emulated_dpbf16_ps(c, (__m512i)(a), (__m512i)(b))
# define _mm256_dpbusd_avx_epi32(c, a, b)  emulated_dpbusd(c, a, b)
# define _mm512_cvtne2ps_pbh(high, low)	   (__m512bh) emulated_cvtne2ps_pbh(high, low)
# define _mm256_maskz_loadu_epi16(mask, p) emulated_mask_loadu_half(mask, p)
# define _mm512_stream_ps(p, x)		   emulated_store(p, x)
# define _mm512_cvtepu16_epi32(x)	   emulated_cvtepu16_epi32(x)
# define _mm512_cvtepi32_epi16(x)	   emulated_cvtepi32_epi16(x)
# define _mm512_cvtph_ps(x)		   emulated_cvtph_ps(x)
# define _mm512_cvtps_ph(x, rounding)	   emulated_cvtps_ph(x)
# define _mm512_cvtps_pd(x)		   emulated_cvtps_pd(x)
# define _mm512_maskz_loadu_epi16(mask, p) emulated_maskz_loadu_epi16(mask, p)

#elif defined(__x86_64__)
# include <immintrin.h>
#elif defined(SIMD_NEON)
# include <arm_neon.h>
#endif

#endif
