/*
 * kernels/cpu/linear_ce_rows.h - linear_ce_sum's rows: what a block of words knows of one, its loss, and its slopes
 *
 * z_w: the logit of word w; lse = log sum e^z. The loss of target t is (1 - s) (lse - z_t) + s (lse - mean z) + z_loss lse^2, where s
 * is the smoothing (Szegedy et al. 2016, "Rethinking the Inception Architecture", section 7; z_loss: Chowdhery et al. 2022,
 * "PaLM", section 5); its slope over z_w stands at make_slopes.
 */
#ifndef KERNELS_CPU_LINEAR_CE_ROWS_H
#define KERNELS_CPU_LINEAR_CE_ROWS_H

#include "kernels/cpu/head_blocks.h"

#define GROUP_BYTES ((size_t)128 << 20)
#define GROUP_LEAST 60	/* rows, whatever they take */
#define GROUP_ROWS  960 /* at most; more was not measured */

/* What a block of words knows of a row. */
struct seen {
	float most;
	double sum, total, picked; /* of exp(z - most); of z; the target's z */
};

struct sum {
	const struct kernel_call *c;
	const struct cross_entropy_attributes *a;
	const struct kernel_tensor *x, *w, *bias; /* bias: NULL when there is none */
	size_t rows, vocab, width, columns;	  /* columns: width in whole panels */
	size_t blocks, ranges, group;
};

SIMD_INLINE struct sum sum_of(const struct kernel_call *c)
{
	struct sum s = { .c = c, .a = c->attributes, .x = &c->in[0], .w = &c->in[1] };
	size_t most, groups;

	s.rows = s.x->shape[0];
	s.width = s.x->shape[1];
	s.vocab = s.w->shape[0];
	if (c->n_in > 4 && c->in[4].n_axes)
		s.bias = &c->in[4];
	s.columns = head_round_up(s.width, GEMM_COLUMNS);
	s.blocks = (s.vocab + HEAD_WORDS - 1) / HEAD_WORDS;
	s.ranges = head_least(8, head_most(s.blocks, 1));
	most = GROUP_BYTES / (head_most(s.blocks, 1) * HEAD_WORDS * sizeof(float));
	most = head_least(head_most(most, GROUP_LEAST), GROUP_ROWS);
	groups = head_most((s.rows + most - 1) / most, 1);
	s.group = head_round_up(head_most((s.rows + groups - 1) / groups, 1), GEMM_ROWS);
	return s;
}

SIMD_INLINE int64_t target_of(const struct sum *s, size_t row)
{
	return head_id(&s->c->in[2], (ptrdiff_t)row * s->c->in[2].stride[0]);
}

SIMD_INLINE bool is_live(const struct sum *s, size_t row)
{
	int64_t target = target_of(s, row);

	return target != s->a->ignore && target >= 0 && (size_t)target < s->vocab;
}

SIMD_INLINE float weight_of(const struct sum *s, size_t row)
{
	return head_get(&s->c->in[3], (ptrdiff_t)row * s->c->in[3].stride[0]);
}

/* Words of block B. */
SIMD_INLINE size_t block_words(const struct sum *s, size_t b)
{
	return head_least(HEAD_WORDS, s->vocab - b * HEAD_WORDS);
}

/* Without a cap z becomes e^(z - most) of the block, from which its slopes are a product away; with one they need z itself. */
SIMD_INLINE bool keeps_powers(const struct sum *s)
{
	return s->a->soft_cap == 0;
}

SIMD_INLINE void see_row(const struct sum *s, size_t row, size_t b, float *z, const float *bias,
			 struct seen *out)
{
	size_t n = block_words(s, b);
	int64_t at = target_of(s, row) - (int64_t)(b * HEAD_WORDS);
	vf32 sum = { 0 };
	float shift;

	out->total = out->picked = 0;
	out->most = head_logits(z, bias, (float)s->a->soft_cap, n, &out->total);
	if (at >= 0 && at < (int64_t)n)
		out->picked = z[at];
	shift = out->most == -INFINITY ? 0 : out->most;
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 power = simd_exp_below(simd_load(z + i) - simd_f32(shift));

		sum += power;
		if (keeps_powers(s))
			simd_store(z + i, power);
	}
	out->sum = rows_sum(sum);
}

/* The log-sum-exp of row I of the group; the loss too, when LOSS is not NULL. */
SIMD_INLINE double row_lse(const struct sum *s, const struct seen *seen, size_t row, size_t i,
			   double *loss)
{
	double most = -INFINITY, sum = 0, total = 0, picked = 0, e = s->a->smoothing, lse;

	for (size_t b = 0; b < s->blocks; b++) {
		const struct seen *x = &seen[b * s->group + i];

		most = isnan(x->most) || x->most > most ? (double)x->most : most;
		total += x->total;
		picked += x->picked;
	}
	for (size_t b = 0; b < s->blocks; b++) {
		const struct seen *x = &seen[b * s->group + i];

		sum += x->sum * (x->most == -INFINITY ? 0 : exp((double)x->most - most));
	}
	lse = most + log(sum);
	if (!loss)
		return lse;
	*loss = 0;
	if (is_live(s, row))
		*loss = (1 - e) * (lse - picked) + s->a->z_loss * lse * lse +
			(e != 0 ? e * (lse - total / (double)s->vocab) : 0);
	return lse;
}

/* What a row's probabilities are made into: P SCALE - BASE, times WEIGHT. */
struct slope {
	float lse, scale, base, weight, inverse; /* of the cap, or 0 */
};

/* From powers, whose largest is e^MOST. */
SIMD_INLINE void slopes_of_powers(const struct slope *o, float most, const float *e, size_t n,
				  float *dz)
{
	vf32 scale = simd_f32(expf(most - o->lse) * o->scale), base = simd_f32(o->base);

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		simd_store(dz + i, (simd_load(e + i) * scale - base) * simd_f32(o->weight));
}

SIMD_INLINE void slopes_of_logits(const struct slope *o, const float *z, size_t n, float *dz)
{
	vf32 scale = simd_f32(o->scale), base = simd_f32(o->base), one = simd_f32(1.0f);

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = simd_load(z + i), part = v * simd_f32(o->inverse);
		vf32 p = simd_exp_normal(v - simd_f32(o->lse)) * scale - base;

		simd_store(dz + i, p * (simd_f32(o->weight) * (one - part * part)));
	}
}

/* weight (p (1 + 2 z_loss lse) - smoothing / V - (1 - smoothing) [target]) (1 - (z / cap)^2) of ROW at the words of block B. */
SIMD_INLINE void make_slopes(const struct sum *s, size_t row, size_t b, const struct seen *seen,
			     float lse, const float *z, float *dz)
{
	size_t n = block_words(s, b);
	int64_t at = target_of(s, row) - (int64_t)(b * HEAD_WORDS);
	struct slope o = { .lse = lse,
			   .scale = (float)(1 + 2 * s->a->z_loss * (double)lse),
			   .base = (float)(s->a->smoothing / (double)s->vocab),
			   .weight = weight_of(s, row),
			   .inverse = keeps_powers(s) ? 0 : 1 / (float)s->a->soft_cap };

	if (!is_live(s, row)) {
		memset(dz, 0, HEAD_WORDS * sizeof(float));
		return;
	}
	if (keeps_powers(s))
		slopes_of_powers(&o, seen->most, z, n, dz);
	else
		slopes_of_logits(&o, z, n, dz);
	if (at >= 0 && at < (int64_t)n) {
		float share = keeps_powers(s) ? 0 : z[at] * o.inverse;

		dz[at] -= (float)(1 - s->a->smoothing) * (o.weight * (1.0f - share * share));
	}
	memset(dz + n, 0, (HEAD_WORDS - n) * sizeof(float));
}

#endif
