/*
 * kernels/ref/dequant_ternary.c - TQ1_0 and TQ2_0 to f32: -d, 0 or d
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

/*
 * A byte is a fraction of 256 whose digits in base 3 are the values + 1. Multiplying by a power
 * of 3 leaves the digits after the first ones in the low 8 bits; three times that, over 256, is the next.
 */
static float *digits(const uint8_t *qs, int bytes, int n_digits, float d, float *dst)
{
	for (int digit = 0, power = 1; digit < n_digits; digit++, power *= 3)
		for (int j = 0; j < bytes; j++)
			*dst++ = d * (float)(((qs[j] * power & 255) * 3 >> 8) - 1);
	return dst;
}

void dequant_tq1_0(const void *src, float *dst, size_t n)
{
	const struct block_tq1_0 *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));

		dst = digits(b->qs, 32, 5, d, dst);
		dst = digits(b->qs + 32, 16, 5, d, dst);
		dst = digits(b->qh, 4, 4, d, dst);
	}
}

/* Two bits a value, + 1: 3 would be 2 d, which no encoder writes. */
void dequant_tq2_0(const void *src, float *dst, size_t n)
{
	const struct block_tq2_0 *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));

		for (int run = 0; run < 8; run++, dst += 32)
			for (int j = 0; j < 32; j++)
				dst[j] = d *
					 (float)((b->qs[run / 4 * 32 + j] >> run % 4 * 2 & 3) - 1);
	}
}
