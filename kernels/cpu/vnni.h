/*
 * kernels/cpu/vnni.h - VPDPBUSD: to each sum four bytes without a sign times four with one
 *
 * Emulated here in a few instructions of AVX2: what SIMDe has for it is exact too, but a product made of it compiles for minutes.
 */
#ifndef KERNELS_CPU_VNNI_H
#define KERNELS_CPU_VNNI_H

#include "kernels/cpu/simd.h"

SIMD_INLINE __m256i vnni_fours(__m256i sum, __m256i w, __m256i x)
{
#if defined(SIMD_EMULATED)
	__m256i even = _mm256_and_si256(w, _mm256_set1_epi16(255));

	sum = _mm256_add_epi32(
		sum, _mm256_madd_epi16(even, _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8)));
	return _mm256_add_epi32(
		sum, _mm256_madd_epi16(_mm256_srli_epi16(w, 8), _mm256_srai_epi16(x, 8)));
#elif defined(__AVX512VNNI__)
	return _mm256_dpbusd_epi32(sum, w, x);
#else
	return _mm256_dpbusd_avx_epi32(sum, w, x);
#endif
}

#endif
