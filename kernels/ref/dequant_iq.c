/*
 * kernels/ref/dequant_iq.c - IQ4_NL and IQ4_XS to f32
 *
 * Four bits choose one of 16 values that lie closer together near zero (ggml's kvalues_iq4nl).
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

static const float values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
				  1,	13,   25,  38,	53,  69,  89,  113 };

/* 32 elements of 16 bytes: first the low halves, then the high ones. */
static void choose(const uint8_t *qs, float scale, float *dst)
{
	for (int j = 0; j < 16; j++) {
		dst[j] = scale * values[qs[j] & 15];
		dst[j + 16] = scale * values[qs[j] >> 4];
	}
}

void dequant_iq4_nl(const void *src, float *dst, size_t n)
{
	const struct block_iq4_nl *b = src;

	for (size_t i = 0; i < n / 32; i++)
		choose(b[i].qs, half_to_f32(load_u16(b[i].d)), dst + 32 * i);
}

void dequant_iq4_xs(const void *src, float *dst, size_t n)
{
	const struct block_iq4_xs *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));
		uint32_t high = load_u16(b->scales_h);

		for (int group = 0; group < 8; group++, dst += 32) {
			int low = b->scales_l[group / 2] >> group % 2 * 4 & 15;
			int scale = (low | (int)(high >> 2 * group & 3) << 4) - 32;

			choose(b->qs + 16 * group, d * (float)scale, dst);
		}
	}
}
