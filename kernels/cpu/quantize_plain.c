/*
 * kernels/cpu/quantize_plain.c - f32 to Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, f16 and bf16, a block of 32 at a time
 *
 * With the bits of ref: extremes do not depend on their order, but where the largest size is that of a positive and of a negative value.
 */
#include "kernels/blocks.h"
#include "kernels/cpu/quantize_bytes.h"
#include "kernels/cpu/quantize_level.h"

SIMD_INLINE void load_block(const float *x, vf32 *v)
{
	__builtin_prefetch((const void *)((uintptr_t)x + 3072), 0, 3);
	__builtin_prefetch((const void *)((uintptr_t)x + 3072 + 64), 0, 3);
	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++)
		v[i] = simd_load(x + i * SIMD_WIDTH);
}

/* The largest lanes of A and B. */
SIMD_INLINE void largest_two(vf32 a, vf32 b, float *of_a, float *of_b)
{
#if SIMD_WIDTH >= 8 && !(SIMD_WIDTH == 16 && defined(SIMD_EMULATED))
# if SIMD_WIDTH == 16
	__m256 wide_a = _mm256_max_ps(_mm512_castps512_ps256((__m512)a),
				      _mm512_extractf32x8_ps((__m512)a, 1));
	__m256 wide_b = _mm256_max_ps(_mm512_castps512_ps256((__m512)b),
				      _mm512_extractf32x8_ps((__m512)b, 1));
# else
	__m256 wide_a = (__m256)a, wide_b = (__m256)b;
# endif
	__m128 x = _mm_max_ps(_mm256_castps256_ps128(wide_a), _mm256_extractf128_ps(wide_a, 1));
	__m128 y = _mm_max_ps(_mm256_castps256_ps128(wide_b), _mm256_extractf128_ps(wide_b, 1));
	__m128 both = _mm_max_ps(_mm_unpacklo_ps(x, y), _mm_unpackhi_ps(x, y));

	both = _mm_max_ps(both, _mm_movehl_ps(both, both));
	*of_a = _mm_cvtss_f32(both);
	*of_b = _mm_cvtss_f32(_mm_shuffle_ps(both, both, 1));
#else
	*of_a = a[0];
	*of_b = b[0];
	for (int j = 1; j < SIMD_WIDTH; j++) {
		*of_a = a[j] > *of_a ? a[j] : *of_a;
		*of_b = b[j] > *of_b ? b[j] : *of_b;
	}
#endif
}

/* The largest value, and the least with the other sign. */
SIMD_INLINE void extremes(const vf32 *v, float *high, float *negated_low)
{
	vf32 most = v[0], least = v[0];

	SIMD_UNROLL
	for (int i = 1; i < QUANTIZE_VECTORS; i++) {
		most = simd_max(most, v[i]);
		least = simd_min(least, v[i]);
	}
	largest_two(most, -least, high, negated_low);
}

static __attribute__((noinline)) float first_of_size(const float *x, float size)
{
	while (*x != size && *x != -size)
		x++;
	return *x;
}

/* The least value; the first zero, where that is it. */
SIMD_INLINE float least_of(const float *x, float negated_low)
{
	return __builtin_expect(negated_low == 0, 0) ? first_of_size(x, 0) : -negated_low;
}

/* The value of largest size, with its sign; the first of several. */
SIMD_INLINE float extreme(const float *x, const vf32 *v)
{
	float high, negated_low;

	extremes(v, &high, &negated_low);
	if (__builtin_expect(high == negated_low, 0))
		return high == 0 ? 0 : first_of_size(x, high);
	return high > negated_low ? high : -negated_low;
}

SIMD_INLINE float inverse_of(float d)
{
	float inverse = 1 / d;

	return __builtin_fabsf(inverse) <= 0x1.fffffep127f ? inverse : 0;
}

/* Of what is no NaN. */
SIMD_INLINE void put_half(uint8_t *at, float x)
{
#if defined(__F16C__)
	store_u16(at, (uint16_t)_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
#else
	store_u16(at, half_from_f32(x));
#endif
}

/* (x - least) * inverse + added, its fraction cut off, at most MOST. */
SIMD_INLINE void integers(const vf32 *v, float least, float inverse, float added, float most,
			  uint8_t *l)
{
	vf32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++)
		whole[i] = simd_min((v[i] - simd_f32(least)) * simd_f32(inverse) + simd_f32(added),
				    simd_f32(most + 0.5f));
	quantize_bytes(whole, false, l);
}

/* Without a minimum: nothing is subtracted, so that -0 stays. */
SIMD_INLINE void integers_symmetric(const vf32 *v, float inverse, float half, uint8_t *l)
{
	vf32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++)
		whole[i] = simd_min(v[i] * simd_f32(inverse) + simd_f32(half + 0.5f),
				    simd_f32(2 * half - 0.5f));
	quantize_bytes(whole, false, l);
}

SIMD_INLINE void put_five(const uint8_t *l, uint8_t *qh, uint8_t *qs)
{
	store_u32(qh, quantize_fifth_bits(l));
	quantize_nibbles(l, qs);
}

void LEVEL_NAME(quantize_q4_0)(const float *x, size_t n, void *out)
{
	struct block_q4_0 *b = out;
	vf32 v[QUANTIZE_VECTORS];
	uint8_t l[32];

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		load_block(x, v);
		float d = extreme(x, v) * -0.125f;

		integers_symmetric(v, inverse_of(d), 8, l);
		put_half(b->d, d);
		quantize_nibbles(l, b->qs);
	}
}

void LEVEL_NAME(quantize_q5_0)(const float *x, size_t n, void *out)
{
	struct block_q5_0 *b = out;
	vf32 v[QUANTIZE_VECTORS];
	uint8_t l[32];

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		load_block(x, v);
		float d = extreme(x, v) * -0.0625f;

		integers_symmetric(v, inverse_of(d), 16, l);
		put_half(b->d, d);
		put_five(l, b->qh, b->qs);
	}
}

void LEVEL_NAME(quantize_q4_1)(const float *x, size_t n, void *out)
{
	struct block_q4_1 *b = out;
	vf32 v[QUANTIZE_VECTORS];
	float high, negated_low;
	uint8_t l[32];

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		load_block(x, v);
		extremes(v, &high, &negated_low);
		float d = (high + negated_low) / 15;

		integers(v, -negated_low, inverse_of(d), 0.5f, 15, l);
		put_half(b->d, d);
		put_half(b->m, least_of(x, negated_low));
		quantize_nibbles(l, b->qs);
	}
}

void LEVEL_NAME(quantize_q5_1)(const float *x, size_t n, void *out)
{
	struct block_q5_1 *b = out;
	vf32 v[QUANTIZE_VECTORS];
	float high, negated_low;
	uint8_t l[32];

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		load_block(x, v);
		extremes(v, &high, &negated_low);
		float d = (high + negated_low) / 31;

		integers(v, -negated_low, inverse_of(d), 0.5f, 31, l);
		put_half(b->d, d);
		put_half(b->m, least_of(x, negated_low));
		put_five(l, b->qh, b->qs);
	}
}

/* Halves are rounded away from zero: the float below a half is added, and the fraction cut off. */
SIMD_INLINE void rounded(const vf32 *v, float inverse, int8_t *out)
{
	const vi32 sign = (vi32)simd_f32(-0.0f);
	vf32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++) {
		vf32 x = v[i] * simd_f32(inverse);

		whole[i] = x + (vf32)(((vi32)x & sign) | (vi32)simd_f32(0x1.fffffep-2f));
	}
	quantize_bytes(whole, true, out);
}

void LEVEL_NAME(quantize_q8_0)(const float *x, size_t n, void *out)
{
	struct block_q8_0 *b = out;
	vf32 v[QUANTIZE_VECTORS];
	float high, negated_low;

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		load_block(x, v);
		extremes(v, &high, &negated_low);
		float d = __builtin_fabsf(high > negated_low ? high : negated_low) / 127;

		rounded(v, inverse_of(d), b->qs);
		put_half(b->d, d);
	}
}

void LEVEL_NAME(quantize_f16)(const float *x, size_t n, void *out)
{
	size_t whole = n & ~(size_t)31;
	uint8_t *y = out;

	for (size_t i = 0; i < whole; i += SIMD_WIDTH)
		simd_store_f16(y + 2 * i, simd_load(x + i));
	dtype_from_f32(DTYPE_F16, x + whole, y + 2 * whole, n - whole);
}

void LEVEL_NAME(quantize_bf16)(const float *x, size_t n, void *out)
{
	size_t whole = n & ~(size_t)31;
	uint8_t *y = out;

	for (size_t i = 0; i < whole; i += SIMD_WIDTH)
		simd_store_bf16(y + 2 * i, simd_load(x + i));
	dtype_from_f32(DTYPE_BF16, x + whole, y + 2 * whole, n - whole);
}
