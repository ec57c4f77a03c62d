/*
 * kernels/ref/dequant_mx.c - MXFP4 and NVFP4 to f32
 *
 * 4-bit floats (E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6) with a scale a group: a power of two (E8M0) for
 * 32 elements, or an unsigned E4M3 for 16. As in ggml, the table holds twice the values and the
 * scale is halved, which changes no bit.
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

static const float twice[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

/* Half of 2^(e - 127). 255, NaN in the specification, is 2^127 in ggml. */
static float half_e8m0(uint8_t e)
{
	return f32_of_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

void dequant_mxfp4(const void *src, float *dst, size_t n)
{
	const struct block_mxfp4 *b = src;

	for (size_t i = 0; i < n / 32; i++, b++, dst += 32) {
		float d = half_e8m0(b->e);

		for (int j = 0; j < 16; j++) {
			dst[j] = d * twice[b->qs[j] & 15];
			dst[j + 16] = d * twice[b->qs[j] >> 4];
		}
	}
}

/*
 * Half of an unsigned E4M3. Its top bit is not looked at, but for telling what 0x7f is: NaN in the
 * specification, 0 in ggml. 0xff has no such rule there, and is 480.
 */
static float half_e4m3(uint8_t v)
{
	float f = f32_of_bits((uint32_t)(v & 0x7f) << 20) * 0x1p119f;

	return v == 0x7f ? 0 : f;
}

void dequant_nvfp4(const void *src, float *dst, size_t n)
{
	const struct block_nvfp4 *b = src;

	for (size_t i = 0; i < n / 64; i++, b++)
		for (int group = 0; group < 4; group++, dst += 16) {
			const uint8_t *qs = b->qs + 8 * group;
			float d = half_e4m3(b->d[group]);

			for (int j = 0; j < 8; j++) {
				dst[j] = d * twice[qs[j] & 15];
				dst[j + 8] = d * twice[qs[j] >> 4];
			}
		}
}
