/*
 * kernels/ref/quantize_k.c - f32 to Q2_K, Q3_K, Q4_K, Q5_K and Q6_K
 *
 * A block's groups get scales (and minima) by a search; these become small integers times an f16 of the block, and the values are
 * then quantized anew with the scales as they came out. With importance an error is weighted by it and by the root of (the block's mean
 * square + x * x), and the scales of groups by the sums of that. The layouts are those of kernels/blocks.h.
 */
#include <math.h>

#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/quantize.h"

#define PIECE  8 /* blocks worked on together */
#define GROUPS (16 * PIECE)

struct piece {
	const struct quantize_search *search;
	const float *x, *importance; /* importance: NULL for none */
	size_t blocks;
	float *weights; /* of the values, where there is importance */
	float scale[GROUPS], min[GROUPS], sum[GROUPS];
	uint8_t l[BLOCK_K * PIECE];
};

/* --- importance --- */

/* FACTOR times the mean square of each block, once for each of its groups; blocks are added up side by side, each in its order. */
static void mean_squares(const struct piece *p, float factor, size_t per_block, float *out)
{
	float sum[PIECE] = { 0 };

	for (size_t i = 0; i < BLOCK_K; i++)
		for (size_t b = 0; b < p->blocks; b++)
			sum[b] += p->x[b * BLOCK_K + i] * p->x[b * BLOCK_K + i];
	for (size_t g = 0; g < p->blocks * per_block; g++)
		out[g] = factor * sum[g / per_block] / BLOCK_K;
}

static const float *weights(struct piece *p, float factor, size_t length)
{
	float added[GROUPS];
	size_t per_block = BLOCK_K / length;

	if (!p->importance)
		return NULL;
	mean_squares(p, factor, per_block, added);
	p->search->weigh(p->x, p->importance, added, p->blocks * per_block, length, p->weights);
	return p->weights;
}

/* --- scales that are never negative --- */

static float largest(const float *x, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

/* N scales as integers up to MOST times what is returned. */
static float plain_scales(const float *x, size_t n, int most, uint8_t *l)
{
	float high = largest(x, n), inverse = high > 0 ? (float)most / high : 0;

	for (size_t i = 0; i < n; i++)
		l[i] = (uint8_t)quantize_round(quantize_hold(inverse * x[i], 0, (float)most));
	return high / (float)most;
}

/* The same of every block, N each, by their weights where there is importance. */
static void scales(const struct piece *p, const float *x, size_t n, int most, float *d, uint8_t *l)
{
	if (p->importance)
		p->search->positive(x, p->sum, p->blocks, n, most, d, l);
	else
		for (size_t b = 0; b < p->blocks; b++)
			d[b] = plain_scales(x + b * n, n, most, l + b * n);
}

static float put_half(uint8_t *at, float x)
{
	store_u16(at, half_from_f32(x));
	return half_to_f32(load_u16(at));
}

/* Scales and minima as they will be read: integers up to a limit, LS and LM, times f16 of the block. */
struct affine_scales {
	float d[PIECE], dmin[PIECE];
	uint8_t ls[GROUPS], lm[GROUPS];
};

static void affine_scales(struct piece *p, size_t n, int most, struct affine_scales *out)
{
	scales(p, p->scale, n, most, out->d, out->ls);
	scales(p, p->min, n, most, out->dmin, out->lm);
}

/* Those of block B go to D and DMIN, and what they come out as takes the place of what was looked for. */
static void put_affine_scales(struct piece *p, const struct affine_scales *s, size_t b, size_t n,
			      uint8_t *d, uint8_t *dmin)
{
	float of_scales = put_half(d, s->d[b]), of_minima = put_half(dmin, s->dmin[b]);

	for (size_t g = b * n; g < (b + 1) * n; g++) {
		p->scale[g] = of_scales * (float)s->ls[g];
		p->min[g] = of_minima * (float)s->lm[g];
	}
}

/* Groups whose scale came out as 0 keep the integers that the search gave them; all others are quantized anew. */
static void affine_values(struct piece *p, const struct quantize_affine *a)
{
	p->search->nearest(p->x, p->scale, p->min, p->blocks * BLOCK_K / a->length, a->length, 0,
			   (float)a->most, p->l);
}

/* Four runs of 32 values of two bits in 32 bytes, twice. */
static void pack_two_bits(const uint8_t *l, uint8_t *qs)
{
	for (int half = 0; half < 2; half++, l += 128, qs += 32)
		for (int j = 0; j < 32; j++)
			qs[j] = (uint8_t)(l[j] | l[j + 32] << 2 | l[j + 64] << 4 | l[j + 96] << 6);
}

/* The searches differ with and without importance. */
static const struct quantize_affine affine_q2_k[] = {
	{ 16, 3, -0.5f, 0.1f, 15, true, WEIGHTS_SIZE },
	{ 16, 3, -0.9f, 0.05f, 36, false, WEIGHTS_GIVEN },
};
static const struct quantize_affine affine_q4_k[] = {
	{ 32, 15, -1.0f, 0.1f, 20, false, WEIGHTS_RMS_SIZE },
	{ 32, 15, -0.9f, 0.05f, 36, false, WEIGHTS_GIVEN },
};
static const struct quantize_affine affine_q5_k[] = {
	{ 32, 31, -0.5f, 0.1f, 15, false, WEIGHTS_RMS_SIZE },
	{ 32, 31, -0.9f, 0.05f, 36, false, WEIGHTS_GIVEN },
};

static void search_affine(struct piece *p, const struct quantize_affine *a, float factor)
{
	p->search->affine(a, p->x, weights(p, factor, a->length), p->blocks * BLOCK_K / a->length,
			  p->scale, p->min, p->sum, p->l);
}

static void put_q2_k(struct piece *p, void *out)
{
	const struct quantize_affine *a = &affine_q2_k[p->importance != NULL];
	struct block_q2_k *blocks = out;
	struct affine_scales s;

	search_affine(p, a, 1);
	affine_scales(p, 16, 15, &s);
	for (size_t i = 0; i < p->blocks; i++) {
		struct block_q2_k *b = &blocks[i];

		put_affine_scales(p, &s, i, 16, b->d, b->dmin);
		for (size_t g = 0; g < 16; g++)
			b->scales[g] = (uint8_t)(s.ls[16 * i + g] | s.lm[16 * i + g] << 4);
	}
	affine_values(p, a);
	for (size_t i = 0; i < p->blocks; i++)
		pack_two_bits(p->l + i * BLOCK_K, blocks[i].qs);
}

/* As q4_scale_min of dequant_k.c reads them. */
static void pack_scales(const uint8_t *ls, const uint8_t *lm, uint8_t *out)
{
	for (int k = 0; k < 4; k++) {
		out[k] = (uint8_t)(ls[k] | (ls[k + 4] >> 4) << 6);
		out[k + 4] = (uint8_t)(lm[k] | (lm[k + 4] >> 4) << 6);
		out[k + 8] = (uint8_t)((ls[k + 4] & 15) | (lm[k + 4] & 15) << 4);
	}
}

/* The low four bits of 256 values: runs of 32, two in each 32 bytes. */
static void pack_four_bits(const uint8_t *l, uint8_t *qs)
{
	for (int run = 0; run < 4; run++, l += 64, qs += 32)
		for (int j = 0; j < 32; j++)
			qs[j] = (uint8_t)((l[j] & 15) | (l[j + 32] & 15) << 4);
}

static void put_q4_k(struct piece *p, void *out)
{
	const struct quantize_affine *a = &affine_q4_k[p->importance != NULL];
	struct block_q4_k *blocks = out;
	struct affine_scales s;

	search_affine(p, a, 2);
	affine_scales(p, 8, 63, &s);
	for (size_t i = 0; i < p->blocks; i++) {
		put_affine_scales(p, &s, i, 8, blocks[i].d, blocks[i].dmin);
		pack_scales(s.ls + 8 * i, s.lm + 8 * i, blocks[i].scales);
	}
	affine_values(p, a);
	for (size_t i = 0; i < p->blocks; i++)
		pack_four_bits(p->l + i * BLOCK_K, blocks[i].qs);
}

static void pack_fifth_bits(const uint8_t *l, uint8_t *qh)
{
	memset(qh, 0, 32);
	for (int run = 0; run < 8; run++, l += 32)
		for (int j = 0; j < 32; j++)
			qh[j] = (uint8_t)(qh[j] | l[j] >> 4 << run);
}

static void put_q5_k(struct piece *p, void *out)
{
	const struct quantize_affine *a = &affine_q5_k[p->importance != NULL];
	struct block_q5_k *blocks = out;
	struct affine_scales s;

	search_affine(p, a, 2);
	affine_scales(p, 8, 63, &s);
	for (size_t i = 0; i < p->blocks; i++) {
		put_affine_scales(p, &s, i, 8, blocks[i].d, blocks[i].dmin);
		pack_scales(s.ls + 8 * i, s.lm + 8 * i, blocks[i].scales);
	}
	affine_values(p, a);
	for (size_t i = 0; i < p->blocks; i++) {
		pack_four_bits(p->l + i * BLOCK_K, blocks[i].qs);
		pack_fifth_bits(p->l + i * BLOCK_K, blocks[i].qh);
	}
}

/* --- scales of either sign --- */

/* As affine_values, with integers from -half. */
static void symmetric_values(struct piece *p, const struct quantize_symmetric *s)
{
	memset(p->min, 0, sizeof(p->min));
	p->search->nearest(p->x, p->scale, p->min, p->blocks * 16, 16, (float)-s->half,
			   (float)(s->half - 1), p->l);
}

/* The scale of largest size, with its sign. */
static float extreme(const float *scale)
{
	float most = 0;

	for (int g = 0; g < 16; g++)
		most = fabsf(scale[g]) > fabsf(most) ? scale[g] : most;
	return most;
}

/* 16 scales as integers of LOW to HIGH, less LOW, such that that of largest size is LOW; what they are to be multiplied by. */
static float signed_scales(const float *scale, float most, int low, int high, uint8_t *l)
{
	float inverse = (float)low / most;

	for (int g = 0; g < 16; g++) {
		float held = quantize_hold(inverse * scale[g], (float)low, (float)high);

		l[g] = (uint8_t)(quantize_round(held) - (float)low);
	}
	return 1 / inverse;
}

/* Of Q3_K. A block of zeros has 0, and scales that are all 0 in the file. */
static void scales_q3_k(const struct piece *p, float *d, uint8_t *l)
{
	static const struct quantize_symmetric of_scales = { 16, 32 };

	if (p->importance) {
		p->search->symmetric(&of_scales, p->scale, p->sum, p->blocks, d, NULL, l);
		return;
	}
	memset(l, 0, p->blocks * 16);
	for (size_t b = 0; b < p->blocks; b++) {
		float most = extreme(p->scale + 16 * b);

		d[b] = most != 0 ? signed_scales(p->scale + 16 * b, most, -32, 31, l + 16 * b) : 0;
	}
}

/* As q3_scale of dequant_k.c reads them. */
static void pack_scales_q3_k(const uint8_t *l, uint8_t *out)
{
	memset(out, 0, 12);
	for (int k = 0; k < 16; k++) {
		out[k % 8] = (uint8_t)(out[k % 8] | (l[k] & 15) << k / 8 * 4);
		out[8 + k % 4] = (uint8_t)(out[8 + k % 4] | l[k] >> 4 << k / 4 * 2);
	}
}

static void pack_third_bits(const uint8_t *l, uint8_t *hmask, uint8_t *low)
{
	memset(hmask, 0, 32);
	for (int run = 0; run < 8; run++, l += 32, low += 32) {
		for (int j = 0; j < 32; j++) {
			hmask[j] = (uint8_t)(hmask[j] | l[j] >> 2 << run);
			low[j] = l[j] & 3;
		}
	}
}

static void search_q3_k(struct piece *p, const struct quantize_symmetric *s)
{
	const float *w = weights(p, 2, 16);

	if (w)
		p->search->symmetric(s, p->x, w, p->blocks * 16, p->scale, p->sum, p->l);
	else
		p->search->descend(s, p->x, p->blocks * 16, p->scale, p->l);
}

static void put_q3_k(struct piece *p, void *out)
{
	static const struct quantize_symmetric of_values = { 16, 4 };
	struct block_q3_k *blocks = out;
	uint8_t l[GROUPS], low[BLOCK_K];
	float d[PIECE];

	search_q3_k(p, &of_values);
	scales_q3_k(p, d, l);
	for (size_t i = 0; i < p->blocks; i++) {
		d[i] = put_half(blocks[i].d, d[i]);
		pack_scales_q3_k(l + 16 * i, blocks[i].scales);
		for (size_t g = 16 * i; g < 16 * (i + 1); g++)
			p->scale[g] = d[i] * (float)(l[g] - 32);
	}
	symmetric_values(p, &of_values);
	for (size_t i = 0; i < p->blocks; i++) {
		pack_third_bits(p->l + i * BLOCK_K, blocks[i].hmask, low);
		pack_two_bits(low, blocks[i].qs);
	}
}

static void pack_six_bits(const uint8_t *l, uint8_t *ql, uint8_t *qh)
{
	for (int half = 0; half < 2; half++, l += 128, ql += 64, qh += 32) {
		for (int j = 0; j < 32; j++) {
			ql[j] = (uint8_t)((l[j] & 15) | (l[j + 64] & 15) << 4);
			ql[j + 32] = (uint8_t)((l[j + 32] & 15) | (l[j + 96] & 15) << 4);
			qh[j] = (uint8_t)(l[j] >> 4 | l[j + 32] >> 4 << 2 | l[j + 64] >> 4 << 4 |
					  l[j + 96] >> 4 << 6);
		}
	}
}

/* Whether block I is of zeros, or so near that its scales are none. */
static bool scales_q6_k(struct piece *p, size_t i, struct block_q6_k *b)
{
	float *scale = p->scale + i * 16, most = extreme(scale), d;
	uint8_t l[16];

	if (fabsf(most) < QUANTIZE_NOTHING)
		return false;
	d = put_half(b->d, signed_scales(scale, most, -128, 127, l));
	for (int g = 0; g < 16; g++) {
		b->scales[g] = (int8_t)(l[g] - 128);
		scale[g] = d * (float)b->scales[g];
	}
	return true;
}

static void put_q6_k(struct piece *p, void *out)
{
	static const struct quantize_symmetric of_values = { 16, 32 };
	struct block_q6_k *blocks = out;
	bool some[PIECE];

	p->search->symmetric(&of_values, p->x, p->importance, p->blocks * 16, p->scale, NULL, p->l);
	for (size_t i = 0; i < p->blocks; i++)
		some[i] = scales_q6_k(p, i, &blocks[i]);
	symmetric_values(p, &of_values);
	for (size_t i = 0; i < p->blocks; i++) {
		if (some[i])
			pack_six_bits(p->l + i * BLOCK_K, blocks[i].ql, blocks[i].qh);
		else
			memset(&blocks[i], 0, sizeof(blocks[i]));
	}
}

/* --- rows --- */

static void put_piece(struct piece *p, enum dtype t, void *out)
{
	switch (t) {
	case DTYPE_Q2_K: put_q2_k(p, out); break;
	case DTYPE_Q3_K: put_q3_k(p, out); break;
	case DTYPE_Q4_K: put_q4_k(p, out); break;
	case DTYPE_Q5_K: put_q5_k(p, out); break;
	default: put_q6_k(p, out);
	}
}

void quantize_k(const struct quantize_search *s, enum dtype t, const float *x,
		const float *importance, size_t n, void *out)
{
	size_t bytes = dtype_info(t)->bytes, blocks = n / BLOCK_K;
	_Alignas(64) float w[BLOCK_K * PIECE];
	struct piece p = { .search = s, .weights = w };

	for (size_t at = 0; at < blocks; at += p.blocks) {
		p.x = x + at * BLOCK_K;
		p.importance = importance ? importance + at * BLOCK_K : NULL;
		p.blocks = blocks - at < PIECE ? blocks - at : PIECE;
		put_piece(&p, t, (uint8_t *)out + at * bytes);
	}
}
