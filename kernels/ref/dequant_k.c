/*
 * kernels/ref/dequant_k.c - Q2_K, Q3_K, Q4_K, Q5_K and Q6_K to f32
 *
 * Blocks of 256 with an f16 scale (and minimum) of small integer scales (and minima) of groups of
 * 16 or 32 (blocks.h). A run of 32 bytes of 2-bit values holds four groups of 32: first all the
 * lowest pairs of bits, then the next ones.
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

void dequant_q2_k(const void *src, float *dst, size_t n)
{
	const struct block_q2_k *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));
		float dmin = half_to_f32(load_u16(b->dmin));

		for (int group = 0; group < 16; group++, dst += 16) {
			const uint8_t *qs = b->qs + group / 8 * 32 + group % 2 * 16;
			int shift = group / 2 % 4 * 2;
			float scale = d * (float)(b->scales[group] & 15);
			float min = dmin * (float)(b->scales[group] >> 4);

			for (int j = 0; j < 16; j++)
				dst[j] = scale * (float)(qs[j] >> shift & 3) - min;
		}
	}
}

/*
 * 16 scales of 6 bits in 12 bytes: the low four bits of scale k are half a byte of the first 8
 * (low halves are scales 0 to 7), its two high bits lie in byte 8 + k % 4 at 2 (k / 4).
 */
static int q3_scale(const uint8_t *scales, int k)
{
	int low = scales[k % 8] >> k / 8 * 4 & 15;
	int high = scales[8 + k % 4] >> k / 4 * 2 & 3;

	return (low | high << 4) - 32;
}

void dequant_q3_k(const void *src, float *dst, size_t n)
{
	const struct block_q3_k *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));

		for (int group = 0; group < 16; group++, dst += 16) {
			const uint8_t *qs = b->qs + group / 8 * 32 + group % 2 * 16;
			const uint8_t *hmask = b->hmask + group % 2 * 16;
			int shift = group / 2 % 4 * 2;
			float scale = d * (float)q3_scale(b->scales, group);

			for (int j = 0; j < 16; j++) {
				int off = hmask[j] >> group / 2 & 1 ? 0 : 4;

				dst[j] = scale * (float)((qs[j] >> shift & 3) - off);
			}
		}
	}
}

/*
 * 8 scales and 8 minima of 6 bits in 12 bytes. Those of groups 0 to 3 are the low six bits of
 * bytes 0 to 3 and 4 to 7; of group 4 + k the low four bits are the halves of byte 8 + k, the two
 * high ones the top of byte k, or 4 + k.
 */
static void q4_scale_min(const uint8_t *scales, int group, int *scale, int *min)
{
	int k = group % 4;

	if (group < 4) {
		*scale = scales[k] & 63;
		*min = scales[k + 4] & 63;
	} else {
		*scale = (scales[k + 8] & 15) | (scales[k] >> 6) << 4;
		*min = scales[k + 8] >> 4 | (scales[k + 4] >> 6) << 4;
	}
}

void dequant_q4_k(const void *src, float *dst, size_t n)
{
	const struct block_q4_k *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));
		float dmin = half_to_f32(load_u16(b->dmin));

		for (int group = 0; group < 8; group++, dst += 32) {
			const uint8_t *qs = b->qs + group / 2 * 32;
			int shift = group % 2 * 4, scale, min;

			q4_scale_min(b->scales, group, &scale, &min);
			float scaled = d * (float)scale, offset = dmin * (float)min;

			for (int j = 0; j < 32; j++)
				dst[j] = scaled * (float)(qs[j] >> shift & 15) - offset;
		}
	}
}

void dequant_q5_k(const void *src, float *dst, size_t n)
{
	const struct block_q5_k *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));
		float dmin = half_to_f32(load_u16(b->dmin));

		for (int group = 0; group < 8; group++, dst += 32) {
			const uint8_t *qs = b->qs + group / 2 * 32;
			int shift = group % 2 * 4, scale, min;

			q4_scale_min(b->scales, group, &scale, &min);
			float scaled = d * (float)scale, offset = dmin * (float)min;

			for (int j = 0; j < 32; j++) {
				int fifth = (b->qh[j] >> group & 1) << 4;

				dst[j] = scaled * (float)((qs[j] >> shift & 15) | fifth) - offset;
			}
		}
	}
}

void dequant_q6_k(const void *src, float *dst, size_t n)
{
	const struct block_q6_k *b = src;

	for (size_t i = 0; i < n / BLOCK_K; i++, b++) {
		float d = half_to_f32(load_u16(b->d));

		for (int group = 0; group < 16; group++, dst += 16) {
			int run = group / 2 % 4; /* of 32, within a half block */
			int at = group % 2 * 16;
			const uint8_t *ql = b->ql + group / 8 * 64 + run % 2 * 32 + at;
			const uint8_t *qh = b->qh + group / 8 * 32 + at;
			float scale = d * (float)b->scales[group];

			for (int j = 0; j < 16; j++) {
				int low = ql[j] >> run / 2 * 4 & 15;
				int high = qh[j] >> run * 2 & 3;

				dst[j] = scale * (float)((low | high << 4) - 32);
			}
		}
	}
}
