/*
 * kernels/cpu/quantize_plain.c - f32 to Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, f16 and bf16, a block of 32 at a time
 *
 * With the bits of ref: extremes do not depend on their order, but where the largest size is that of a positive and of a negative value.
 */
#include "kernels/blocks.h"
#include "kernels/cpu/quantize_bytes.h"
#include "kernels/cpu/quantize_level.h"
#include "kernels/cpu/simd_math.h"

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

/* Blocks worked on together: what comes of their extremes takes long, and is done for all at once. */
#define BATCH 16

struct batch {
	size_t n;
	float high[BATCH],
		negated_low[BATCH]; /* the largest value, and the least with the other sign */
	float d[BATCH], inverse[BATCH], min[BATCH];
	uint16_t half[BATCH], half_min[BATCH]; /* of d and min, as they lie in memory */
};

/* The extremes of N blocks. */
SIMD_INLINE void batch_extremes(const float *x, size_t n, struct batch *b)
{
	vf32 v[QUANTIZE_VECTORS];

	b->n = n;
	for (size_t i = 0; i < n; i++, x += 32) {
		vf32 most, least;

		load_block(x, v);
		most = least = v[0];
		SIMD_UNROLL
		for (int k = 1; k < QUANTIZE_VECTORS; k++) {
			most = simd_max(most, v[k]);
			least = simd_min(least, v[k]);
		}
		largest_two(most, -least, &b->high[i], &b->negated_low[i]);
	}
}

static __attribute__((noinline)) float first_of_size(const float *x, float size)
{
	while (*x != size && *x != -size)
		x++;
	return *x;
}

/* D has the values of largest size, with their signs: the first of several. Without branches, which nothing could foretell. */
SIMD_INLINE void batch_signed(const float *x, struct batch *b)
{
	vi32 ties = { 0 };

	for (size_t i = 0; i < BATCH; i += SIMD_WIDTH) {
		vf32 high = simd_load(b->high + i), low = simd_load(b->negated_low + i);

		ties |= (vi32)(high == low);
		simd_store(b->d + i, simd_select((vi32)(high > low), -low, high));
	}
	if (!simd_any(ties))
		return;
	for (size_t i = 0; i < b->n; i++)
		if (b->high[i] == b->negated_low[i])
			b->d[i] = b->high[i] == 0 ? 0 : first_of_size(x + 32 * i, b->high[i]);
}

/* The least values; of several zeros the first. */
SIMD_INLINE void batch_minima(const float *x, struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		b->min[i] = -b->negated_low[i];
		if (__builtin_expect(b->negated_low[i] == 0, 0))
			b->min[i] = first_of_size(x + 32 * i, 0);
	}
	for (size_t i = 0; i < BATCH; i += SIMD_WIDTH)
		simd_store_f16(b->half_min + i, simd_load(b->min + i));
}

/* D over DIVISOR is the scale; one without an inverse gets 0 for it. */
SIMD_INLINE void batch_scales(float divisor, struct batch *b)
{
	for (size_t i = 0; i < BATCH; i += SIMD_WIDTH) {
		vf32 d = simd_load(b->d + i) / simd_f32(divisor), inverse = simd_f32(1) / d;
		vi32 good = (vi32)(simd_abs(inverse) <= simd_f32(0x1.fffffep127f));

		simd_store(b->inverse + i, simd_keep(good, inverse));
		simd_store_f16(b->half + i, d);
	}
}

/* Without a minimum. */
SIMD_INLINE void batch_symmetric(const float *x, size_t n, float half, struct batch *b)
{
	batch_extremes(x, n, b);
	batch_signed(x, b);
	batch_scales(-half, b);
}

SIMD_INLINE void batch_affine(const float *x, size_t n, float most, struct batch *b)
{
	batch_extremes(x, n, b);
	for (size_t i = 0; i < n; i++)
		b->d[i] = b->high[i] + b->negated_low[i];
	batch_minima(x, b);
	batch_scales(most, b);
}

/* (x - least) * inverse + added, its fraction cut off, at most MOST. */
SIMD_INLINE void integers(const float *x, float least, float inverse, float most, uint8_t *l)
{
	vf32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++) {
		vf32 v = simd_load(x + i * SIMD_WIDTH) - simd_f32(least);

		whole[i] = simd_min(v * simd_f32(inverse) + simd_f32(0.5f), simd_f32(most + 0.5f));
	}
	quantize_bytes(whole, false, l);
}

SIMD_INLINE void integers_symmetric(const float *x, float inverse, float half, uint8_t *l)
{
	vf32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++) {
		vf32 v = simd_load(x + i * SIMD_WIDTH) * simd_f32(inverse);

		whole[i] = simd_min(v + simd_f32(half + 0.5f), simd_f32(2 * half - 0.5f));
	}
	quantize_bytes(whole, false, l);
}

SIMD_INLINE void put_five(const uint8_t *l, uint8_t *qh, uint8_t *qs)
{
	store_u32(qh, quantize_fifth_bits(l));
	quantize_nibbles(l, qs);
}

/* FN(x, blocks, out) for every batch of a row. */
#define BATCHES(fn, block)                     \
 for (size_t at = 0; at < n / 32; at += BATCH) \
 fn(x + 32 * at, n / 32 - at < BATCH ? n / 32 - at : BATCH, (struct block *)out + at)

SIMD_INLINE void put_q4_0(const float *x, size_t n, struct block_q4_0 *out)
{
	struct batch b = { 0 };
	uint8_t l[32];

	batch_symmetric(x, n, 8, &b);
	for (size_t i = 0; i < n; i++, out++) {
		integers_symmetric(x + 32 * i, b.inverse[i], 8, l);
		memcpy(out->d, &b.half[i], 2);
		quantize_nibbles(l, out->qs);
	}
}

SIMD_INLINE void put_q5_0(const float *x, size_t n, struct block_q5_0 *out)
{
	struct batch b = { 0 };
	uint8_t l[32];

	batch_symmetric(x, n, 16, &b);
	for (size_t i = 0; i < n; i++, out++) {
		integers_symmetric(x + 32 * i, b.inverse[i], 16, l);
		memcpy(out->d, &b.half[i], 2);
		put_five(l, out->qh, out->qs);
	}
}

SIMD_INLINE void put_q4_1(const float *x, size_t n, struct block_q4_1 *out)
{
	struct batch b = { 0 };
	uint8_t l[32];

	batch_affine(x, n, 15, &b);
	for (size_t i = 0; i < n; i++, out++) {
		integers(x + 32 * i, b.min[i], b.inverse[i], 15, l);
		memcpy(out->d, &b.half[i], 2);
		memcpy(out->m, &b.half_min[i], 2);
		quantize_nibbles(l, out->qs);
	}
}

SIMD_INLINE void put_q5_1(const float *x, size_t n, struct block_q5_1 *out)
{
	struct batch b = { 0 };
	uint8_t l[32];

	batch_affine(x, n, 31, &b);
	for (size_t i = 0; i < n; i++, out++) {
		integers(x + 32 * i, b.min[i], b.inverse[i], 31, l);
		memcpy(out->d, &b.half[i], 2);
		memcpy(out->m, &b.half_min[i], 2);
		put_five(l, out->qh, out->qs);
	}
}

/* Halves are rounded away from zero: the float below a half is added, and the fraction cut off. */
SIMD_INLINE void rounded(const float *x, float inverse, int8_t *out)
{
	const vi32 sign = (vi32)simd_f32(-0.0f);
	vf32 whole[QUANTIZE_VECTORS];

	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++) {
		vf32 v = simd_load(x + i * SIMD_WIDTH) * simd_f32(inverse);

		whole[i] = v + (vf32)(((vi32)v & sign) | (vi32)simd_f32(0x1.fffffep-2f));
	}
	quantize_bytes(whole, true, out);
}

SIMD_INLINE void put_q8_0(const float *x, size_t n, struct block_q8_0 *out)
{
	struct batch b = { 0 };

	batch_extremes(x, n, &b);
	for (size_t i = 0; i < n; i++)
		b.d[i] = __builtin_fabsf(b.high[i] > b.negated_low[i] ? b.high[i]
								      : b.negated_low[i]);
	batch_scales(127, &b);
	for (size_t i = 0; i < n; i++, out++) {
		rounded(x + 32 * i, b.inverse[i], out->qs);
		memcpy(out->d, &b.half[i], 2);
	}
}

void LEVEL_NAME(quantize_q4_0)(const float *x, size_t n, void *out)
{
	BATCHES(put_q4_0, block_q4_0);
}

void LEVEL_NAME(quantize_q4_1)(const float *x, size_t n, void *out)
{
	BATCHES(put_q4_1, block_q4_1);
}

void LEVEL_NAME(quantize_q5_0)(const float *x, size_t n, void *out)
{
	BATCHES(put_q5_0, block_q5_0);
}

void LEVEL_NAME(quantize_q5_1)(const float *x, size_t n, void *out)
{
	BATCHES(put_q5_1, block_q5_1);
}

void LEVEL_NAME(quantize_q8_0)(const float *x, size_t n, void *out)
{
	BATCHES(put_q8_0, block_q8_0);
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
