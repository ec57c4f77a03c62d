/*
 * kernels/cpu/rounded_rows.h - rows of x as integers of 8 bits with scales, and what weights with offsets ask of them
 */
#ifndef KERNELS_CPU_ROUNDED_ROWS_H
#define KERNELS_CPU_ROUNDED_ROWS_H

#include "kernels/cpu/operand.h"
#include "kernels/rounding.h"

/* Each of M rows of K elements, K a multiple of ROUNDING_BLOCK: Q has K a row, the others one for each 16 or 32. */
struct rounded_rows {
	int8_t *q;
	float *scale; /* of each block */
	int32_t *
		excess; /* what BIAS, by which the weight's integers are too large, adds to each GROUP: BIAS x their sum */
	float *sum; /* of each GROUP: the scale x the sum of its integers */
	size_t k, group;
	int bias;
	bool sums; /* SUM is asked for */
};

SIMD_INLINE size_t rounded_row_bytes(size_t k)
{
	return k + k / ROUNDING_BLOCK * 4 + k / 16 * 8;
}

/* In memory aligned to 64, for M rows. */
SIMD_INLINE struct rounded_rows rounded_rows_at(void *memory, size_t m, size_t k)
{
	struct rounded_rows r = { .q = memory, .k = k };

	r.scale = (float *)(r.q + m * k);
	r.excess = (int32_t *)(r.scale + m * (k / ROUNDING_BLOCK));
	r.sum = (float *)(r.excess + m * (k / 16));
	return r;
}

#if SIMD_WIDTH >= 8
/* The bits of the largest magnitude of a block. */
SIMD_INLINE int32_t rounded_most(const float *x)
{
	const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
	__m256i v[4];
	__m128i most;

	for (int i = 0; i < 4; i++)
		v[i] = _mm256_and_si256(_mm256_loadu_si256((const void *)(x + 8 * i)), magnitude);
	v[0] = _mm256_max_epi32(_mm256_max_epi32(v[0], v[1]), _mm256_max_epi32(v[2], v[3]));
	most = _mm_max_epi32(_mm256_castsi256_si128(v[0]), _mm256_extracti128_si256(v[0], 1));
	most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4e));
	most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0xb1));
	return _mm_cvtsi128_si32(most);
}

/* Q = X times BY, to the nearest: what is added to MIDDLE, 1.5 x 2^23, is rounded to an integer. */
SIMD_INLINE void rounded_integers(const float *x, float by, float middle, int8_t *q)
{
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
	__m256i whole[4];

	for (int i = 0; i < 4; i++) {
		__m256 y = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(by));

		y = _mm256_add_ps(y, _mm256_set1_ps(middle));
		whole[i] = _mm256_sub_epi32(_mm256_castps_si256(y), _mm256_set1_epi32(0x4b400000));
	}
	whole[0] = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]),
				      _mm256_packs_epi32(whole[2], whole[3]));
	_mm256_storeu_si256((void *)q, _mm256_permutevar8x32_epi32(whole[0], order));
}

SIMD_INLINE int32_t rounded_sixteen(const int8_t *q)
{
	__m128i above = _mm_xor_si128(_mm_loadu_si128((const void *)q), _mm_set1_epi8(-128));
	__m128i sum = _mm_sad_epu8(above, _mm_setzero_si128());

	return _mm_cvtsi128_si32(sum) + _mm_extract_epi16(sum, 4) - 16 * 128;
}
#else
SIMD_INLINE int32_t rounded_most(const float *x)
{
	vi32 most = { 0 };
	int32_t lanes[SIMD_WIDTH], bits = 0;

	for (size_t i = 0; i < ROUNDING_BLOCK; i += SIMD_WIDTH) {
		vi32 size = (vi32)simd_load(x + i) & 0x7fffffff;
		vi32 more = size > most;

		most = (more & size) | (~more & most);
	}
	memcpy(lanes, &most, sizeof(lanes));
	for (size_t i = 0; i < SIMD_WIDTH; i++)
		bits = lanes[i] > bits ? lanes[i] : bits;
	return bits;
}

SIMD_INLINE void rounded_integers(const float *x, float by, float middle, int8_t *q)
{
	for (size_t i = 0; i < ROUNDING_BLOCK; i++) {
		float y = x[i] * by + middle;
		int32_t whole;

		memcpy(&whole, &y, sizeof(whole));
		q[i] = (int8_t)(whole - 0x4b400000);
	}
}

SIMD_INLINE int32_t rounded_sixteen(const int8_t *q)
{
	int32_t total = 0;

	for (size_t i = 0; i < 16; i++)
		total += q[i];
	return total;
}
#endif

/* kernels/rounding.h's rule for a whole block. Of magnitudes the larger has the larger bits, and NaN the largest. */
SIMD_INLINE float rounded_block(const float *x, int8_t *q)
{
	const int32_t bits = rounded_most(x);
	float largest, scale;

	memcpy(&largest, &bits, sizeof(largest));
	scale = largest / 127;
	if (bits >= 0x7f800000 || scale < 0x1p-126f) {
		memset(q, 0, ROUNDING_BLOCK);
		return bits >= 0x7f800000 ? NAN : 0;
	}
	rounded_integers(x, 127 / largest, 0x1.8p23f, q);
	return scale;
}

SIMD_INLINE void rounded_totals(const struct rounded_rows *r, size_t row)
{
	const int8_t *q = r->q + row * r->k;
	const float *scale = r->scale + row * (r->k / ROUNDING_BLOCK);
	size_t groups = r->k / r->group;

	for (size_t g = 0; g < groups; g++, q += r->group) {
		int32_t total = rounded_sixteen(q);

		if (r->group > 16)
			total += rounded_sixteen(q + 16);
		r->excess[row * groups + g] = r->bias * total;
		if (r->sums)
			r->sum[row * groups + g] =
				scale[g * r->group / ROUNDING_BLOCK] * (float)total;
	}
}

/* Row ROW from K elements of T at P. */
SIMD_INLINE void rounded_row(const struct rounded_rows *r, size_t row, enum dtype t,
			     const uint8_t *p)
{
	float x[ROUNDING_BLOCK];

	for (size_t i = 0; i < r->k; i += ROUNDING_BLOCK) {
		const float *at = (const float *)(const void *)p + i;

		if (t != DTYPE_F32) {
			operand_load(t, p + 2 * i, x, ROUNDING_BLOCK);
			at = x;
		}
		r->scale[(row * r->k + i) / ROUNDING_BLOCK] =
			rounded_block(at, r->q + row * r->k + i);
	}
	if (r->bias || r->sums)
		rounded_totals(r, row);
}

#endif
