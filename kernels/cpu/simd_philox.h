/*
 * kernels/cpu/simd_philox.h - kernels/philox.h on vectors: a counter in each 64 bits
 *
 * What a product takes and what it gives lie in the same 64 bits: its upper half is shifted down, its lower half is where the next
 * product looks for it. So a word is the lower half of its lane, and what stands above it is nonsense.
 */
#ifndef KERNELS_CPU_SIMD_PHILOX_H
#define KERNELS_CPU_SIMD_PHILOX_H

#include "kernels/cpu/simd.h"
#include "kernels/philox.h"

typedef uint64_t vu64 __attribute__((vector_size(4 * SIMD_WIDTH)));

/* The products of the lower halves of X and M. */
SIMD_INLINE vu64 simd_multiply_u32(vu64 x, uint32_t m)
{
#if SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
	return (vu64)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(m));
#elif SIMD_WIDTH == 8
	return (vu64)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(m));
#elif defined(__SSE2__) && SIMD_WIDTH == 4
	return (vu64)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(m));
#elif defined(SIMD_NEON)
	return (vu64)vmull_n_u32(vmovn_u64((uint64x2_t)x), m);
#else
	return (x & UINT32_MAX) * m;
#endif
}

/* One round of the words of a counter a lane. */
SIMD_INLINE void simd_philox_round(vu64 k0, vu64 k1, vu64 word[4])
{
	vu64 first = simd_multiply_u32(word[0], PHILOX_M0);
	vu64 second = simd_multiply_u32(word[2], PHILOX_M1);

	word[0] = second >> 32 ^ (word[1] ^ k0);
	word[1] = second;
	word[2] = first >> 32 ^ (word[3] ^ k1);
	word[3] = first;
}

/*
 * The four words of each lane's counter, in place; GROUPS such, a constant, in turn, so that none waits for itself. Unrolled, so that what rounds make of
 * words that are the same in every lane and every turn of a loop is made before it.
 */
SIMD_INLINE void simd_philox(const uint32_t key[2], vu64 word[][4], int groups)
{
	SIMD_UNROLL
	for (uint32_t round = 0; round < 10; round++) {
		vu64 k0 = (vu64){ 0 } + (key[0] + round * PHILOX_W0);
		vu64 k1 = (vu64){ 0 } + (key[1] + round * PHILOX_W1);

		SIMD_UNROLL
		for (int i = 0; i < groups; i++)
			simd_philox_round(k0, k1, word[i]);
	}
}

/* Vectors of what A and B have at even places, and at odd ones: within 16 bytes, what unpacking leaves. */
#if SIMD_WIDTH == 16
# define SIMD_PHILOX_EVEN(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
# define SIMD_PHILOX_ODD(a, b)	__builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
# define SIMD_PHILOX_LANES \
  {                        \
   0, 4, 1, 5, 2, 6, 3, 7  \
  }
#elif SIMD_WIDTH == 8
# define SIMD_PHILOX_EVEN(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
# define SIMD_PHILOX_ODD(a, b)	__builtin_shufflevector(a, b, 1, 5, 3, 7)
# define SIMD_PHILOX_LANES \
  {                        \
   0, 2, 1, 3              \
  }
#else
# define SIMD_PHILOX_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2)
# define SIMD_PHILOX_ODD(a, b)	__builtin_shufflevector(a, b, 1, 3)
# define SIMD_PHILOX_LANES \
  {                        \
   0, 1                    \
  }
#endif

/* A's words at even places, B's at odd ones. */
SIMD_INLINE vu64 simd_philox_pair(vu64 a, vu64 b)
{
#if SIMD_WIDTH == 8
	return (vu64)_mm256_blend_epi32((__m256i)a, (__m256i)(b << 32), 0xaa);
#else
	return (a & UINT32_MAX) | b << 32;
#endif
}

/* The words of counters in the order of SIMD_PHILOX_LANES, one counter's four after another's. */
SIMD_INLINE void simd_philox_order(const vu64 word[4], vu32 out[2])
{
	vu64 front = simd_philox_pair(word[0], word[1]), back = simd_philox_pair(word[2], word[3]);

	out[0] = (vu32)SIMD_PHILOX_EVEN(front, back);
	out[1] = (vu32)SIMD_PHILOX_ODD(front, back);
}

/*
 * The words of counters BLOCK to BLOCK + SIMD_PHILOX_BLOCKS - 1 of ROW, four each. BLOCK is a multiple of SIMD_PHILOX_BLOCKS, so that all have
 * its upper half.
 */
#define SIMD_PHILOX_GROUPS  4
#define SIMD_PHILOX_VECTORS (2 * SIMD_PHILOX_GROUPS)
#define SIMD_PHILOX_WORDS   ((size_t)SIMD_PHILOX_VECTORS * SIMD_WIDTH)
#define SIMD_PHILOX_BLOCKS  (SIMD_PHILOX_WORDS / 4)

SIMD_INLINE void simd_philox_words(const uint32_t key[2], uint64_t block, uint64_t row,
				   vu32 out[SIMD_PHILOX_VECTORS])
{
	const vu64 zero = { 0 }, lanes = SIMD_PHILOX_LANES;
	vu64 word[SIMD_PHILOX_GROUPS][4];

	SIMD_UNROLL
	for (uint32_t i = 0; i < SIMD_PHILOX_GROUPS; i++) {
		word[i][0] = lanes + ((uint32_t)block + i * SIMD_WIDTH / 2);
		word[i][1] = zero + (block >> 32);
		word[i][2] = zero + (uint32_t)row;
		word[i][3] = zero + (row >> 32);
	}
	simd_philox(key, word, SIMD_PHILOX_GROUPS);
	SIMD_UNROLL
	for (int i = 0; i < SIMD_PHILOX_GROUPS; i++)
		simd_philox_order(word[i], out + 2 * i);
}

/* N words of ROW, whole vectors, from block BLOCK on as above; OUT has room for SIMD_PHILOX_WORDS more. */
SIMD_INLINE void simd_philox_store(const uint32_t key[2], uint64_t block, uint64_t row, size_t n,
				   uint32_t *out)
{
	for (size_t i = 0; i < n; i += SIMD_PHILOX_WORDS) {
		vu32 word[SIMD_PHILOX_VECTORS];

		simd_philox_words(key, block + i / 4, row, word);
		for (size_t j = 0; j < SIMD_PHILOX_VECTORS; j++)
			simd_store(out + i + j * SIMD_WIDTH, (vf32)word[j]);
	}
}

/* The first words of the first counters of ROW to ROW + SIMD_WIDTH - 1. */
SIMD_INLINE vu32 simd_philox_rows(const uint32_t key[2], uint64_t row)
{
	const vu64 zero = { 0 };
	vu64 word[2][4];

	for (uint64_t i = 0; i < 2; i++) {
		vu64 rows = zero + row + i;

		for (uint64_t j = 0; j < SIMD_WIDTH / 2; j++)
			rows[j] += 2 * j;
		word[i][0] = word[i][1] = zero;
		word[i][2] = rows;
		word[i][3] = rows >> 32;
	}
	simd_philox(key, word, 2);
	return (vu32)simd_philox_pair(word[0][0], word[1][0]);
}

#endif
