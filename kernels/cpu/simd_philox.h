/*
 * kernels/cpu/simd_philox.h - kernels/philox.h on vectors: a counter a lane
 */
#ifndef KERNELS_CPU_SIMD_PHILOX_H
#define KERNELS_CPU_SIMD_PHILOX_H

#include "kernels/cpu/simd.h"
#include "kernels/philox.h"

/* The upper and the lower halves of the products of X and M. */
SIMD_INLINE void simd_multiply_u32(vu32 x, uint32_t m, vu32 *high, vu32 *low)
{
#if SIMD_WIDTH == 16
	__m512i factor = _mm512_set1_epi32((int)m);
	__m512i even = _mm512_mul_epu32((__m512i)x, factor);
	__m512i odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)x, 32), factor);

	*high = (vu32)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
	*low = (vu32)_mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
#elif SIMD_WIDTH == 8
	__m256i factor = _mm256_set1_epi32((int)m);
	__m256i even = _mm256_mul_epu32((__m256i)x, factor);
	__m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)x, 32), factor);

	*high = (vu32)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
	*low = (vu32)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
#elif defined(SIMD_NEON)
	uint64x2_t first = vmull_n_u32(vget_low_u32((uint32x4_t)x), m);
	uint64x2_t second = vmull_n_u32(vget_high_u32((uint32x4_t)x), m);

	*high = (vu32)vuzp2q_u32((uint32x4_t)first, (uint32x4_t)second);
	*low = (vu32)vuzp1q_u32((uint32x4_t)first, (uint32x4_t)second);
#else
	for (int i = 0; i < SIMD_WIDTH; i++) {
		uint64_t product = (uint64_t)m * x[i];

		(*high)[i] = (uint32_t)(product >> 32);
		(*low)[i] = (uint32_t)product;
	}
#endif
}

/* The four words of each lane's counter, in place. */
SIMD_INLINE void simd_philox(const uint32_t key[2], vu32 word[4])
{
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < 10; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
		vu32 high0 = { 0 }, low0 = { 0 }, high1 = { 0 }, low1 = { 0 };

		simd_multiply_u32(word[0], PHILOX_M0, &high0, &low0);
		simd_multiply_u32(word[2], PHILOX_M1, &high1, &low1);
		word[0] = high1 ^ word[1] ^ k0;
		word[1] = low1;
		word[2] = high0 ^ word[3] ^ k1;
		word[3] = low0;
	}
}

#endif
