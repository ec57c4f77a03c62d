/* kernels/cpu/reduce_rows.h - reductions of what lies side by side: a result is made of runs of it */
#ifndef KERNELS_CPU_REDUCE_ROWS_H
#define KERNELS_CPU_REDUCE_ROWS_H

#include "kernels/cpu/reduce.h"

#define CHAINS 4

SIMD_INLINE void fold_run(enum fold f, enum dtype t, const uint8_t *p, size_t n, vf32 shift,
			  vf32 *chain)
{
	size_t i = 0;

	for (; i + CHAINS * SIMD_WIDTH <= n; i += CHAINS * SIMD_WIDTH)
		SIMD_UNROLL
	for (size_t k = 0; k < CHAINS; k++)
		chain[k] =
			fold(f, chain[k],
			     vector_load(t, p + operand_bytes(t, (ptrdiff_t)(i + k * SIMD_WIDTH))),
			     shift);
	for (; i < n; i += SIMD_WIDTH)
		chain[0] =
			fold(f, chain[0],
			     vector_some(t, p + operand_bytes(t, (ptrdiff_t)i), n - i, rest_of(f)),
			     shift);
}

SIMD_INLINE float fold_stretch(enum fold f, enum dtype t, const struct kernel_call *c,
			       const struct reduction *r, const struct stretch *s, float shift)
{
	vf32 chain[CHAINS], from = simd_f32(shift);
	float lane[SIMD_WIDTH];

	for (size_t k = 0; k < CHAINS; k++)
		chain[k] = simd_f32(start_of(f));
	for (size_t i = 0; i < s->count; i++)
		fold_run(f, t,
			 operand_at(&c->in[0], s->at + place(r->folded, r->n_folded, s->first + i)),
			 s->n, from, chain);
	for (size_t k = 1; k < CHAINS; k++)
		chain[0] = fold(f == FOLD_MOST ? f : FOLD_SUM, chain[0], chain[k], from);
	if (f != FOLD_MOST)
		return rows_sum(chain[0]);
	simd_store(lane, chain[0]);
	for (size_t i = 1; i < SIMD_WIDTH; i++)
		lane[0] = isnan(lane[i]) || lane[i] > lane[0] ? lane[i] : lane[0];
	return lane[0];
}

static float fold_rows(enum fold f, const struct kernel_call *c, const struct reduction *r,
		       const struct stretch *s, float shift)
{
#define EACH(f)                                                                \
 (c->in[0].dtype == DTYPE_F32	 ? fold_stretch(f, DTYPE_F32, c, r, s, shift)  \
  : c->in[0].dtype == DTYPE_BF16 ? fold_stretch(f, DTYPE_BF16, c, r, s, shift) \
				 : fold_stretch(f, DTYPE_F16, c, r, s, shift))
	return f == FOLD_SUM ? EACH(FOLD_SUM) : f == FOLD_MOST ? EACH(FOLD_MOST) : EACH(FOLD_EXP);
#undef EACH
}

static struct result row_piece(const struct kernel_call *c, const struct reduction *r,
			       size_t result, size_t piece)
{
	size_t from = piece % r->cuts * RUN;
	struct stretch s = { .at = place(r->kept, r->n_kept, result) + (ptrdiff_t)from,
			     .n = r->width - from < RUN ? r->width - from : RUN,
			     .first = piece / r->cuts * r->runs_a_piece };
	struct result x = { 0 };

	s.count = r->runs - s.first < r->runs_a_piece ? r->runs - s.first : r->runs_a_piece;
	if (r->what == SUM || r->what == MEAN) {
		x.sum = fold_rows(FOLD_SUM, c, r, &s, 0);
		return x;
	}
	x.most = fold_rows(FOLD_MOST, c, r, &s, 0);
	if (r->what == LOGSUMEXP && isfinite(x.most))
		x.sum = fold_rows(FOLD_EXP, c, r, &s, (float)x.most);
	return x;
}

static void rows(const struct kernel_call *c, const struct reduction *r)
{
	struct result *left = c->scratch;
	size_t from, to;

	kernel_share(r->results * r->pieces, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct result x = row_piece(c, r, i / r->pieces, i % r->pieces);
		float y;

		if (r->pieces > 1) {
			left[i] = x;
			continue;
		}
		y = value(r, x, folded_elements(r));
		put(c, i, &y, 1);
	}
}

static void add_rows(const struct kernel_call *c, const struct reduction *r)
{
	const struct result *left = c->scratch;
	size_t from, to;

	kernel_share(r->results, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct result x = nothing();
		float y;

		for (size_t j = 0; j < r->pieces; j++)
			add(r, &x, left[i * r->pieces + j]);
		y = value(r, x, folded_elements(r));
		put(c, i, &y, 1);
	}
}

#endif
