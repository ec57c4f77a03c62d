/* kernels/cpu/quantize_bytes.h - numbers of 0 to 255 in vectors of f32, or -128 to 127, as bytes */
#ifndef KERNELS_CPU_QUANTIZE_BYTES_H
#define KERNELS_CPU_QUANTIZE_BYTES_H

#include "kernels/cpu/simd.h"

#define QUANTIZE_VECTORS (32 / SIMD_WIDTH)

/* The whole numbers nearest to X, halves to even, or with the fractions cut off. */
SIMD_INLINE vi32 quantize_whole(vf32 x, bool nearest)
{
#if SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
	return (vi32)(nearest ? _mm512_cvtps_epi32((__m512)x) : _mm512_cvttps_epi32((__m512)x));
#elif SIMD_WIDTH == 8
	return (vi32)(nearest ? _mm256_cvtps_epi32((__m256)x) : _mm256_cvttps_epi32((__m256)x));
#elif defined(__SSE2__) && SIMD_WIDTH == 4
	return (vi32)(nearest ? _mm_cvtps_epi32((__m128)x) : _mm_cvttps_epi32((__m128)x));
#else
	const vf32 magic = simd_f32(0x1.8p23f);

	return __builtin_convertvector(nearest ? x + magic - magic : x, vi32);
#endif
}

/* 32 values; SIGNED: of -128 to 127, else of 0 to 255. What is past the range is the caller's mistake. */
SIMD_INLINE void quantize_bytes(const vf32 *v, bool is_signed, bool nearest, void *out)
{
	vi32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++)
		whole[i] = quantize_whole(v[i], nearest);
#if SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
	for (int i = 0; i < 2; i++)
		_mm_storeu_si128((__m128i *)out + i, _mm512_cvtepi32_epi8((__m512i)whole[i]));
#elif SIMD_WIDTH == 8
	/* Packing works within halves of 16 bytes. */
	__m256i ab = _mm256_packs_epi32((__m256i)whole[0], (__m256i)whole[1]);
	__m256i cd = _mm256_packs_epi32((__m256i)whole[2], (__m256i)whole[3]);
	__m256i all = is_signed ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);

	all = _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
	_mm256_storeu_si256(out, all);
#elif defined(__SSE2__) && SIMD_WIDTH == 4
	for (int i = 0; i < 2; i++) {
		const vi32 *w = whole + 4 * i;
		__m128i ab = _mm_packs_epi32((__m128i)w[0], (__m128i)w[1]);
		__m128i cd = _mm_packs_epi32((__m128i)w[2], (__m128i)w[3]);

		_mm_storeu_si128((__m128i *)out + i,
				 is_signed ? _mm_packs_epi16(ab, cd) : _mm_packus_epi16(ab, cd));
	}
#else
	uint8_t *bytes = out;

	(void)is_signed;
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)whole[i / SIMD_WIDTH][i % SIMD_WIDTH];
#endif
}

/* 32 bytes; those past MOST become it. */
SIMD_INLINE void quantize_at_most(uint8_t most, uint8_t *l)
{
#if SIMD_WIDTH == 8 || (SIMD_WIDTH == 16 && !defined(SIMD_EMULATED))
	__m256i all = _mm256_loadu_si256((const __m256i *)l);

	_mm256_storeu_si256((__m256i *)l, _mm256_min_epu8(all, _mm256_set1_epi8((char)most)));
#elif defined(__SSE2__) && SIMD_WIDTH == 4
	for (int i = 0; i < 32; i += 16) {
		__m128i some = _mm_loadu_si128((const __m128i *)(l + i));

		_mm_storeu_si128((__m128i *)(l + i), _mm_min_epu8(some, _mm_set1_epi8((char)most)));
	}
#else
	for (int i = 0; i < 32; i++)
		l[i] = l[i] < most ? l[i] : most;
#endif
}

/* As quantize_pack_4. */
SIMD_INLINE void quantize_nibbles(const uint8_t *l, uint8_t *qs)
{
#if defined(__SSE2__)
	const __m128i four = _mm_set1_epi8(15);
	__m128i low = _mm_and_si128(_mm_loadu_si128((const __m128i *)l), four);
	__m128i high = _mm_and_si128(_mm_loadu_si128((const __m128i *)l + 1), four);

	_mm_storeu_si128((__m128i *)qs, _mm_or_si128(low, _mm_slli_epi16(high, 4)));
#else
	for (int j = 0; j < 16; j++)
		qs[j] = (uint8_t)((l[j] & 15) | (l[j + 16] & 15) << 4);
#endif
}

/* Bit 4 of each of 32 bytes. */
SIMD_INLINE uint32_t quantize_fifth_bits(const uint8_t *l)
{
#if SIMD_WIDTH == 8 || (SIMD_WIDTH == 16 && !defined(SIMD_EMULATED))
	return (uint32_t)_mm256_movemask_epi8(
		_mm256_slli_epi16(_mm256_loadu_si256((const __m256i *)l), 3));
#elif defined(__SSE2__) && SIMD_WIDTH == 4
	__m128i low = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)l), 3);
	__m128i high = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)l + 1), 3);

	return (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16;
#else
	uint32_t bits = 0;

	for (int j = 0; j < 32; j++)
		bits |= (uint32_t)(l[j] >> 4 & 1) << j;
	return bits;
#endif
}

#endif
