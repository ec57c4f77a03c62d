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

/* One round of the words of a counter a lane. */
SIMD_INLINE void simd_philox_round(vu32 k0, vu32 k1, vu32 word[4])
{
	vu32 high0 = { 0 }, low0 = { 0 }, high1 = { 0 }, low1 = { 0 };

	simd_multiply_u32(word[0], PHILOX_M0, &high0, &low0);
	simd_multiply_u32(word[2], PHILOX_M1, &high1, &low1);
	word[0] = high1 ^ word[1] ^ k0;
	word[1] = low1;
	word[2] = high0 ^ word[3] ^ k1;
	word[3] = low0;
}

/* The four words of each lane's counter, in place; GROUPS of them, a constant, in turn, so that none waits for itself. */
SIMD_INLINE void simd_philox(const uint32_t key[2], vu32 word[][4], int groups)
{
	vu32 k0 = (vu32){ 0 } + key[0], k1 = (vu32){ 0 } + key[1];

	for (int round = 0; round < 10; round++, k0 += PHILOX_W0, k1 += PHILOX_W1)
		SIMD_UNROLL
	for (int i = 0; i < groups; i++)
		simd_philox_round(k0, k1, word[i]);
}

/* The order in which unpacking, which works within 16 bytes, leaves what is in neighbouring lanes side by side. */
#if SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
# define SIMD_PHILOX_LANES                              \
  {                                                     \
   0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 \
  }
#elif SIMD_WIDTH == 16
# define SIMD_PHILOX_LANES                              \
  {                                                     \
   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 \
  }
#elif SIMD_WIDTH == 8
# define SIMD_PHILOX_LANES \
  {                        \
   0, 2, 4, 6, 1, 3, 5, 7  \
  }
#else
# define SIMD_PHILOX_LANES \
  {                        \
   0, 1, 2, 3              \
  }
#endif

/* The counters BLOCK to BLOCK + SIMD_WIDTH - 1 of ROW, in that order. */
SIMD_INLINE void simd_philox_count(uint64_t block, uint64_t row, vu32 word[4])
{
	const vu32 lanes = SIMD_PHILOX_LANES, zero = { 0 };

	word[0] = lanes + (uint32_t)block;
	word[1] = zero + (uint32_t)(block >> 32) - (vu32)(word[0] < lanes); /* what was carried */
	word[2] = zero + (uint32_t)row;
	word[3] = zero + (uint32_t)(row >> 32);
}

/* The first counters of ROW to ROW + SIMD_WIDTH - 1, a row a lane. */
SIMD_INLINE void simd_philox_rows(uint64_t row, vu32 word[4])
{
	const vu32 zero = { 0 };
	uint32_t lanes[SIMD_WIDTH];
	vu32 each;

	for (uint32_t j = 0; j < SIMD_WIDTH; j++)
		lanes[j] = j;
	memcpy(&each, lanes, sizeof(each));
	word[0] = word[1] = zero;
	word[2] = each + (uint32_t)row;
	word[3] = zero + (uint32_t)(row >> 32) - (vu32)(word[2] < each);
}

/* The words of what simd_philox_count counted, one counter's four after another's. */
SIMD_INLINE void simd_philox_store(const vu32 word[4], uint32_t *out)
{
#if SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
# define WIDE(f, x, y) _mm512_##f((__m512i)(x), (__m512i)(y))
# define PUT(i, x)     _mm512_storeu_si512(out + 16 * (i), x)
	__m512i a, b, c, d;
#elif SIMD_WIDTH == 8
# define WIDE(f, x, y) _mm256_##f((__m256i)(x), (__m256i)(y))
# define PUT(i, x)     _mm256_storeu_si256((__m256i *)(void *)(out + 8 * (i)), x)
	__m256i a, b, c, d;
#elif defined(__SSE2__) && SIMD_WIDTH == 4
# define WIDE(f, x, y) _mm_##f((__m128i)(x), (__m128i)(y))
# define PUT(i, x)     _mm_storeu_si128((__m128i *)(void *)(out + 4 * (i)), x)
	__m128i a, b, c, d;
#endif
#ifdef WIDE
	a = WIDE(unpacklo_epi32, word[0], word[1]);
	b = WIDE(unpackhi_epi32, word[0], word[1]);
	c = WIDE(unpacklo_epi32, word[2], word[3]);
	d = WIDE(unpackhi_epi32, word[2], word[3]);
	PUT(0, WIDE(unpacklo_epi64, a, c));
	PUT(1, WIDE(unpackhi_epi64, a, c));
	PUT(2, WIDE(unpacklo_epi64, b, d));
	PUT(3, WIDE(unpackhi_epi64, b, d));
# undef WIDE
# undef PUT
#else
	for (size_t k = 0; k < 4; k++) {
		uint32_t each[SIMD_WIDTH];

		memcpy(each, &word[k], sizeof(each));
		for (size_t j = 0; j < SIMD_WIDTH; j++)
			out[4 * j + k] = each[j];
	}
#endif
}

/* The words of counters BLOCK to BLOCK + SIMD_PHILOX_BLOCKS - 1 of ROW, four each, to OUT. */
#define SIMD_PHILOX_BLOCKS (2 * SIMD_WIDTH)

SIMD_INLINE void simd_philox_words(const uint32_t key[2], uint64_t block, uint64_t row,
				   uint32_t *out)
{
	vu32 word[2][4];

	simd_philox_count(block, row, word[0]);
	simd_philox_count(block + SIMD_WIDTH, row, word[1]);
	simd_philox(key, word, 2);
	simd_philox_store(word[0], out);
	simd_philox_store(word[1], out + 4 * SIMD_WIDTH);
}

#endif
