/* kernels/cpu/reduce_columns.h - reductions that keep what lies side by side: a row of results is made of rows */
#ifndef KERNELS_CPU_REDUCE_COLUMNS_H
#define KERNELS_CPU_REDUCE_COLUMNS_H

#include "kernels/cpu/reduce.h"

#define ACROSS 512 /* columns at a time */

/* ROWS_AT_ONCE rows are added on to each vector of sums while it is there. */
#define ROWS_AT_ONCE 4

SIMD_INLINE void fold_four(enum fold f, enum dtype t, const uint8_t *const *p, size_t rows,
			   size_t n, const float *shift, float *sums)
{
	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 sum = simd_load(sums + j), from = shift ? simd_load(shift + j) : sum;

		for (size_t k = 0; k < rows; k++)
			sum = fold(f, sum,
				   vector_some(t, p[k] + operand_bytes(t, (ptrdiff_t)j), n - j,
					       rest_of(f)),
				   from);
		simd_store(sums + j, sum);
	}
}

SIMD_INLINE void fold_block(enum fold f, enum dtype t, const struct kernel_call *c,
			    const struct reduction *r, const struct stretch *s, const float *shift,
			    float *sums)
{
	size_t i = 0;

	for (size_t j = 0; j < rows_room(s->n); j++)
		sums[j] = start_of(f);
	while (i < s->count) {
		const uint8_t *p[ROWS_AT_ONCE];
		size_t many = s->count - i < ROWS_AT_ONCE ? s->count - i : ROWS_AT_ONCE;

		for (size_t k = 0; k < many; k++)
			p[k] = operand_at(&c->in[0],
					  s->at + place(r->folded, r->n_folded, s->first + i + k));
		if (many == ROWS_AT_ONCE)
			fold_four(f, t, p, ROWS_AT_ONCE, s->n, shift, sums);
		else
			fold_four(f, t, p, many, s->n, shift, sums);
		i += many;
	}
}

static void fold_columns(enum fold f, const struct kernel_call *c, const struct reduction *r,
			 const struct stretch *s, const float *shift, float *sums)
{
#define EACH(f)                                     \
 do {                                               \
  if (c->in[0].dtype == DTYPE_F32)                  \
   fold_block(f, DTYPE_F32, c, r, s, shift, sums);  \
  else if (c->in[0].dtype == DTYPE_BF16)            \
   fold_block(f, DTYPE_BF16, c, r, s, shift, sums); \
  else                                              \
   fold_block(f, DTYPE_F16, c, r, s, shift, sums);  \
 } while (0)
	if (f == FOLD_SUM)
		EACH(FOLD_SUM);
	else if (f == FOLD_MOST)
		EACH(FOLD_MOST);
	else
		EACH(FOLD_EXP);
#undef EACH
}

/* What a piece of a block of columns comes to. */
struct block {
	float most[ACROSS], sum[ACROSS];
};

static void column_piece(const struct kernel_call *c, const struct reduction *r,
			 const struct stretch *s, struct block *b)
{
	float shift[ACROSS];

	if (r->what == SUM || r->what == MEAN) {
		fold_columns(FOLD_SUM, c, r, s, NULL, b->sum);
		return;
	}
	fold_columns(FOLD_MOST, c, r, s, NULL, b->most);
	if (r->what != LOGSUMEXP)
		return;
	for (size_t j = 0; j < s->n; j += SIMD_WIDTH)
		simd_store(shift + j, shift_of(simd_load(b->most + j)));
	fold_columns(FOLD_EXP, c, r, s, shift, b->sum);
}

static struct result column_result(const struct reduction *r, const float *most, const float *sum,
				   size_t j)
{
	return (struct result){ .most = r->what == AMAX || r->what == LOGSUMEXP ? most[j] : 0,
				.sum = r->what == AMAX ? 0 : sum[j] };
}

/* Where phase 0 leaves the sums of a piece; the largest lie beyond all of these. */
static float *left_at(const struct kernel_call *c, const struct reduction *r, bool most,
		      size_t result, size_t piece)
{
	size_t all = r->results * r->pieces * r->width;

	return (float *)c->scratch + (most ? all : 0) + (result * r->pieces + piece) * r->width;
}

static void give_block(const struct kernel_call *c, const struct reduction *r, size_t result,
		       size_t piece, size_t column, size_t n, const struct block *b)
{
	float y[ACROSS];

	if (r->pieces > 1) {
		if (r->what != AMAX)
			memcpy(left_at(c, r, false, result, piece) + column, b->sum,
			       n * sizeof(float));
		if (r->what == AMAX || r->what == LOGSUMEXP)
			memcpy(left_at(c, r, true, result, piece) + column, b->most,
			       n * sizeof(float));
		return;
	}
	for (size_t j = 0; j < n; j++)
		y[j] = value(r, column_result(r, b->most, b->sum, j), folded_elements(r));
	put(c, result * r->width + column, y, n);
}

static void columns(const struct kernel_call *c, const struct reduction *r)
{
	size_t across = ceiling(r->width, ACROSS), from, to;

	kernel_share(r->results * r->pieces * across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t result = i / across / r->pieces, piece = i / across % r->pieces;
		size_t column = i % across * ACROSS;
		struct stretch s = { .first = piece * PIECE };
		struct block b;

		s.at = place(r->kept, r->n_kept, result) + (ptrdiff_t)column;
		s.n = r->width - column < ACROSS ? r->width - column : ACROSS;
		s.count = r->runs - s.first < PIECE ? r->runs - s.first : PIECE;
		column_piece(c, r, &s, &b);
		give_block(c, r, result, piece, column, s.n, &b);
	}
}

#define TOGETHER 64

static void add_columns(const struct kernel_call *c, const struct reduction *r)
{
	size_t across = ceiling(r->width, TOGETHER), from, to;

	kernel_share(r->results * across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t result = i / across, column = i % across * TOGETHER;
		size_t n = r->width - column < TOGETHER ? r->width - column : TOGETHER;
		struct result x[TOGETHER];
		float y[TOGETHER];

		for (size_t j = 0; j < n; j++)
			x[j] = nothing();
		for (size_t k = 0; k < r->pieces; k++) {
			const float *sum = left_at(c, r, false, result, k) + column;
			const float *most = left_at(c, r, true, result, k) + column;

			for (size_t j = 0; j < n; j++)
				add(r, &x[j], column_result(r, most, sum, j));
		}
		for (size_t j = 0; j < n; j++)
			y[j] = value(r, x[j], folded_elements(r));
		put(c, result * r->width + column, y, n);
	}
}

#endif
