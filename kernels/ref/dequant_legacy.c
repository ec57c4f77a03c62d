/*
 * kernels/ref/dequant_legacy.c - Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and Q1_0 to f32
 *
 * Blocks with one f16 scale, and one f16 minimum in the _1 types (blocks.h). Of 4 and 5 bits,
 * element j has the low half of byte j and element j + 16 the high half.
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

void dequant_q4_0(const void *src, float *dst, size_t n)
{
	const struct block_q4_0 *b = src;

	for (size_t i = 0; i < n / 32; i++, b++, dst += 32) {
		float d = half_to_f32(load_u16(b->d));

		for (int j = 0; j < 16; j++) {
			dst[j] = d * (float)((b->qs[j] & 15) - 8);
			dst[j + 16] = d * (float)((b->qs[j] >> 4) - 8);
		}
	}
}

void dequant_q4_1(const void *src, float *dst, size_t n)
{
	const struct block_q4_1 *b = src;

	for (size_t i = 0; i < n / 32; i++, b++, dst += 32) {
		float d = half_to_f32(load_u16(b->d));
		float m = half_to_f32(load_u16(b->m));

		for (int j = 0; j < 16; j++) {
			dst[j] = d * (float)(b->qs[j] & 15) + m;
			dst[j + 16] = d * (float)(b->qs[j] >> 4) + m;
		}
	}
}

void dequant_q5_0(const void *src, float *dst, size_t n)
{
	const struct block_q5_0 *b = src;

	for (size_t i = 0; i < n / 32; i++, b++, dst += 32) {
		float d = half_to_f32(load_u16(b->d));
		uint32_t high = load_u32(b->qh);

		for (int j = 0; j < 16; j++) {
			int low_fifth = (int)(high >> j & 1) << 4;
			int high_fifth = (int)(high >> (j + 16) & 1) << 4;

			dst[j] = d * (float)(((b->qs[j] & 15) | low_fifth) - 16);
			dst[j + 16] = d * (float)((b->qs[j] >> 4 | high_fifth) - 16);
		}
	}
}

void dequant_q5_1(const void *src, float *dst, size_t n)
{
	const struct block_q5_1 *b = src;

	for (size_t i = 0; i < n / 32; i++, b++, dst += 32) {
		float d = half_to_f32(load_u16(b->d));
		float m = half_to_f32(load_u16(b->m));
		uint32_t high = load_u32(b->qh);

		for (int j = 0; j < 16; j++) {
			int low_fifth = (int)(high >> j & 1) << 4;
			int high_fifth = (int)(high >> (j + 16) & 1) << 4;

			dst[j] = d * (float)((b->qs[j] & 15) | low_fifth) + m;
			dst[j + 16] = d * (float)(b->qs[j] >> 4 | high_fifth) + m;
		}
	}
}

void dequant_q8_0(const void *src, float *dst, size_t n)
{
	const struct block_q8_0 *b = src;

	for (size_t i = 0; i < n / 32; i++, b++, dst += 32) {
		float d = half_to_f32(load_u16(b->d));

		for (int j = 0; j < 32; j++)
			dst[j] = (float)b->qs[j] * d;
	}
}

/* Element j is bit j % 8 of byte j / 8. */
void dequant_q1_0(const void *src, float *dst, size_t n)
{
	const struct block_q1_0 *b = src;

	for (size_t i = 0; i < n / 128; i++, b++, dst += 128) {
		float d = half_to_f32(load_u16(b->d));

		for (int j = 0; j < 128; j++)
			dst[j] = b->qs[j / 8] >> j % 8 & 1 ? d : -d;
	}
}
