/*
 * kernels/ref/quantize_plain.c - f32 to Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0, each block by its extremes
 *
 * Of the _0 types with 4 and 5 bits the value of largest size becomes the least integer, so that one more fits on its side; of the _1
 * types the least and the largest values become the least and the largest integers. A scale so small that it has no inverse makes zeros.
 */
#include <math.h>

#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/quantize.h"

static float inverse_of(float d)
{
	float inverse = d != 0 ? 1 / d : 0;

	return fabsf(inverse) <= 0x1.fffffep127f ? inverse : 0;
}

/* X plus a half, its fraction cut off, up to MOST. */
static uint8_t cut(float x, int most)
{
	return (uint8_t)quantize_hold(x, 0, (float)most + 0.5f);
}

static float extreme(const float *x)
{
	float most = 0, size = 0;

	for (int j = 0; j < 32; j++) {
		if (fabsf(x[j]) > size) {
			size = fabsf(x[j]);
			most = x[j];
		}
	}
	return most;
}

/* Integers of a block without a minimum; its scale. */
static float symmetric(const float *x, int half, uint8_t *l)
{
	float d = extreme(x) / (float)-half, inverse = inverse_of(d);

	for (int j = 0; j < 32; j++)
		l[j] = cut(x[j] * inverse + ((float)half + 0.5f), 2 * half - 1);
	return d;
}

static float affine(const float *x, int most, float *min, uint8_t *l)
{
	float low = x[0], high = x[0], d, inverse;

	for (int j = 1; j < 32; j++) {
		low = x[j] < low ? x[j] : low;
		high = x[j] > high ? x[j] : high;
	}
	d = (high - low) / (float)most;
	inverse = inverse_of(d);
	for (int j = 0; j < 32; j++)
		l[j] = cut((x[j] - low) * inverse + 0.5f, most);
	*min = low;
	return d;
}

void quantize_q4_0_ref(const float *x, size_t n, void *out)
{
	struct block_q4_0 *b = out;
	uint8_t l[32];

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		store_u16(b->d, half_from_f32(symmetric(x, 8, l)));
		quantize_pack_4(l, b->qs);
	}
}

void quantize_q4_1_ref(const float *x, size_t n, void *out)
{
	struct block_q4_1 *b = out;
	uint8_t l[32];
	float min;

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		store_u16(b->d, half_from_f32(affine(x, 15, &min, l)));
		store_u16(b->m, half_from_f32(min));
		quantize_pack_4(l, b->qs);
	}
}

void quantize_q5_0_ref(const float *x, size_t n, void *out)
{
	struct block_q5_0 *b = out;
	uint8_t l[32];

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		store_u16(b->d, half_from_f32(symmetric(x, 16, l)));
		quantize_pack_5(l, b->qh, b->qs);
	}
}

void quantize_q5_1_ref(const float *x, size_t n, void *out)
{
	struct block_q5_1 *b = out;
	uint8_t l[32];
	float min;

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		store_u16(b->d, half_from_f32(affine(x, 31, &min, l)));
		store_u16(b->m, half_from_f32(min));
		quantize_pack_5(l, b->qh, b->qs);
	}
}

/* Halves are rounded away from zero here. */
void quantize_q8_0_ref(const float *x, size_t n, void *out)
{
	struct block_q8_0 *b = out;

	for (size_t i = 0; i < n / 32; i++, b++, x += 32) {
		float d = fabsf(extreme(x)) / 127, inverse = inverse_of(d);

		store_u16(b->d, half_from_f32(d));
		for (int j = 0; j < 32; j++)
			b->qs[j] = (int8_t)roundf(x[j] * inverse);
	}
}

void quantize_f16_ref(const float *x, size_t n, void *out)
{
	dtype_from_f32(DTYPE_F16, x, out, n);
}

void quantize_bf16_ref(const float *x, size_t n, void *out)
{
	dtype_from_f32(DTYPE_BF16, x, out, n);
}
