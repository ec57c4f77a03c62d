/*
 * kernels/ref/quantize_weighted.c - f32 to Q4_0, Q4_1, Q5_0, Q5_1 with importance, and to IQ4_NL with and without, by searches
 *
 * The weight of an error is its column's importance times the root of (the row's mean square + x * x); for IQ4_NL, twice the block's.
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/quantize.h"

#define PIECE 32 /* blocks worked on together */

struct piece {
	const struct quantize_search *search;
	const float *x, *w;
	size_t blocks;
	float scale[PIECE], min[PIECE], sum[PIECE];
	uint8_t l[32 * PIECE];
};

static void put_half(uint8_t *at, float x)
{
	store_u16(at, half_from_f32(x));
}

static void put_q4_0(struct piece *p, void *out)
{
	static const struct quantize_symmetric s = { 32, 8 };
	struct block_q4_0 *b = out;

	p->search->symmetric(&s, p->x, p->w, p->blocks, p->scale, NULL, p->l);
	for (size_t i = 0; i < p->blocks; i++) {
		put_half(b[i].d, p->scale[i]);
		quantize_pack_4(p->l + 32 * i, b[i].qs);
	}
}

static void put_q5_0(struct piece *p, void *out)
{
	static const struct quantize_symmetric s = { 32, 16 };
	struct block_q5_0 *b = out;

	p->search->symmetric(&s, p->x, p->w, p->blocks, p->scale, NULL, p->l);
	for (size_t i = 0; i < p->blocks; i++) {
		put_half(b[i].d, p->scale[i]);
		quantize_pack_5(p->l + 32 * i, b[i].qh, b[i].qs);
	}
}

static void search_affine(struct piece *p, int most)
{
	struct quantize_affine a = { 32, most, -0.9f, 0.05f, 36, false, WEIGHTS_GIVEN };

	p->search->affine(&a, p->x, p->w, p->blocks, p->scale, p->min, p->sum, p->l);
}

static void put_q4_1(struct piece *p, void *out)
{
	struct block_q4_1 *b = out;

	search_affine(p, 15);
	for (size_t i = 0; i < p->blocks; i++) {
		put_half(b[i].d, p->scale[i]);
		put_half(b[i].m, -p->min[i]);
		quantize_pack_4(p->l + 32 * i, b[i].qs);
	}
}

static void put_q5_1(struct piece *p, void *out)
{
	struct block_q5_1 *b = out;

	search_affine(p, 31);
	for (size_t i = 0; i < p->blocks; i++) {
		put_half(b[i].d, p->scale[i]);
		put_half(b[i].m, -p->min[i]);
		quantize_pack_5(p->l + 32 * i, b[i].qh, b[i].qs);
	}
}

static void put_iq4_nl(struct piece *p, void *out)
{
	struct block_iq4_nl *b = out;

	p->search->table(p->x, p->w, p->blocks, p->scale, p->l);
	for (size_t i = 0; i < p->blocks; i++) {
		put_half(b[i].d, p->scale[i]);
		quantize_pack_4(p->l + 32 * i, b[i].qs);
	}
}

static void put_piece(struct piece *p, enum dtype t, void *out)
{
	switch (t) {
	case DTYPE_Q4_0: put_q4_0(p, out); break;
	case DTYPE_Q4_1: put_q4_1(p, out); break;
	case DTYPE_Q5_0: put_q5_0(p, out); break;
	case DTYPE_Q5_1: put_q5_1(p, out); break;
	default: put_iq4_nl(p, out);
	}
}

static float squares(const float *x, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sum;
}

/* What is added to x * x: of the row, or of each block. */
static void fill_added(enum dtype t, const float *x, size_t blocks, float row, float *added)
{
	for (size_t i = 0; i < blocks; i++)
		added[i] = t == DTYPE_IQ4_NL ? squares(x + 32 * i, 32) * (2.0f / 32) : row;
}

void quantize_weighted(const struct quantize_search *s, enum dtype t, const float *x,
		       const float *importance, size_t n, void *out)
{
	float row = importance && t != DTYPE_IQ4_NL ? squares(x, n) / (float)n : 0, added[PIECE];
	size_t bytes = dtype_info(t)->bytes, blocks = n / 32;
	_Alignas(64) float w[32 * PIECE];
	struct piece p = { .search = s };

	for (size_t at = 0; at < blocks; at += p.blocks) {
		p.x = x + 32 * at;
		p.blocks = blocks - at < PIECE ? blocks - at : PIECE;
		if (importance) {
			fill_added(t, p.x, p.blocks, row, added);
			s->weigh(p.x, importance + 32 * at, added, p.blocks, 32, w);
			p.w = w;
		}
		put_piece(&p, t, (uint8_t *)out + at * bytes);
	}
}
