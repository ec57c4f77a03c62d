/*
 * kernels/cpu/attention_few_tile.c - one query by a tile of keys, where they lie in the cache
 *
 * Rows are read as they lie one after another, all heads of a row together, in the dtype of the cache, once for the heads that share
 * them. A score is one chain of multiply-adds over the dims, a sum of values one over the keys: neither depends on what stands
 * beside it. Several keys at once fill the chains of scores, several vectors those of values.
 *
 * Floor: two multiply-adds for each element of a key and a value and head, and the bytes of the cache.
 */
#include "kernels/cpu/attention_few.h"

#include "kernels/blocks.h"
#include "kernels/cpu/vector.h"

#define KEYS	4 /* keys at once, of scores */
#define VECTORS 4 /* at once, of values */

/* Heads and keys whose sums are in registers together, with the elements of the heads. */
SIMD_INLINE size_t keys_for(size_t heads)
{
	return heads < FEW_TOGETHER ? KEYS : KEYS - 1;
}

/* Likewise heads and vectors of values. */
SIMD_INLINE size_t vectors_for(size_t heads)
{
	size_t most = FEW_STRETCH / SIMD_WIDTH, n = heads * VECTORS > 12 ? VECTORS / 2 : VECTORS;

	return n < most ? n : most;
}

/* --- elements of a row; D is a constant --- */

SIMD_INLINE size_t stretch_bytes(enum dtype d)
{
	return d == DTYPE_Q8_0 ? sizeof(struct block_q8_0) : operand_bytes(d, FEW_STRETCH);
}

/* What the stretch at P is scaled by. */
SIMD_INLINE vf32 stretch_scale(enum dtype d, const uint8_t *p)
{
	if (d != DTYPE_Q8_0)
		return (vf32){ 0 };
#if SIMD_WIDTH == 16
	return (vf32)_mm512_cvtph_ps(_mm256_set1_epi16((short)load_u16(p)));
#elif SIMD_WIDTH == 8
	return (vf32)_mm256_cvtph_ps(_mm_set1_epi16((short)load_u16(p)));
#else
	return simd_f32(half_to_f32(load_u16(p)));
#endif
}

/* The vector at element I of the stretch at P, not scaled. */
SIMD_INLINE vf32 stretch_load(enum dtype d, const uint8_t *p, size_t i)
{
	if (d == DTYPE_Q8_0)
		return dequant_floats((const int8_t *)p + offsetof(struct block_q8_0, qs) + i);
	return vector_load(d, p + operand_bytes(d, (ptrdiff_t)i));
}

/* --- what comes next ---
 *
 * Memory answers as fast as it can only when it is asked all the time, in its order: the values of a tile are asked for while its
 * scores are made, the next tile's keys while values are summed. What is asked for in bursts is dropped (Zen 3: more than 24 lines).
 */

SIMD_INLINE void ask(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; p && i < bytes; i += 64)
		__builtin_prefetch(p + i, 0, 2);
}

SIMD_INLINE const uint8_t *later(const uint8_t *p, size_t bytes)
{
	return p ? p + bytes : NULL;
}

/* --- scores --- */

#if SIMD_WIDTH == 8
SIMD_INLINE vf32 pairs_of(vf32 a, vf32 b)
{
	return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) +
	       __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
#endif

/* Of each the sum of its lanes. */
SIMD_INLINE void sums_of_four(vf32 a, vf32 b, vf32 c, vf32 d, float *out)
{
#if SIMD_WIDTH == 8
	vf32 ab = pairs_of(a, b), cd = pairs_of(c, d), all;

	all = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
	      __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
	_mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128((__m256)all),
				      _mm256_extractf128_ps((__m256)all, 1)));
#elif defined(SIMD_NEON)
	vst1q_f32(out, vpaddq_f32(vpaddq_f32((float32x4_t)a, (float32x4_t)b),
				  vpaddq_f32((float32x4_t)c, (float32x4_t)d)));
#else
	out[0] = rows_sum(a);
	out[1] = rows_sum(b);
	out[2] = rows_sum(c);
	out[3] = rows_sum(d);
#endif
}

/*
 * HEADS of queries by as many keys as go together, at byte AT from P: SCORES[head * FEW_SCORES + key]. What comes at SOON is asked
 * for, as many bytes.
 */
SIMD_INLINE void key_scores(enum dtype d, size_t heads, const uint8_t *const *p, size_t at,
			    const float *q, size_t dim, const uint8_t *soon, float *scores)
{
	const size_t keys = keys_for(heads);
	vf32 sum[FEW_TOGETHER][KEYS];

	SIMD_UNROLL
	for (size_t h = 0; h < heads; h++)
		SIMD_UNROLL
	for (size_t j = 0; j < keys; j++)
		sum[h][j] = (vf32){ 0 };
	for (size_t s = 0; s < dim; s += FEW_STRETCH, at += stretch_bytes(d)) {
		float scale[KEYS];

		ask(soon, keys * stretch_bytes(d));
		soon = later(soon, keys * stretch_bytes(d));
		SIMD_UNROLL
		for (size_t j = 0; j < keys; j++)
			scale[j] = stretch_scale(d, p[j] + at)[0];
		SIMD_UNROLL
		for (size_t i = 0; i < FEW_STRETCH; i += SIMD_WIDTH) {
			vf32 x[FEW_TOGETHER];

			SIMD_UNROLL
			for (size_t h = 0; h < heads; h++)
				x[h] = simd_load(q + (s + i) * heads + h * SIMD_WIDTH);
			SIMD_UNROLL
			for (size_t j = 0; j < keys; j++) {
				vf32 k = stretch_load(d, p[j] + at, i);

				if (d == DTYPE_Q8_0)
					k *= simd_broadcast(scale + j);
				SIMD_UNROLL
				for (size_t h = 0; h < heads; h++)
					sum[h][j] = simd_fma(x[h], k, sum[h][j]);
			}
		}
	}
	/* Behind the scores of three keys anything comes. */
	SIMD_UNROLL
	for (size_t h = 0; h < heads; h++)
		sums_of_four(sum[h][0], sum[h][1], sum[h][2], sum[h][keys - 1],
			     scores + h * FEW_SCORES);
}

/* Where the values of the tile lie, if side by side. */
static const uint8_t *values_ahead(const struct few_tile *f)
{
	const struct attention *t = f->t;

	return (size_t)(f->rows[f->n - 1] - f->rows[0]) == f->n - 1
		       ? (const uint8_t *)t->v->data +
				 (size_t)f->rows[0] * attention_bytes(t->v, t->v->stride[0])
		       : NULL;
}

/* Of heads FIRST to FIRST + HEADS - 1 of each group. HEADS is a constant. */
SIMD_INLINE void scores_of(enum dtype d, size_t heads, const struct few_tile *f, size_t first)
{
	const struct attention *t = f->t;
	const uint8_t *base = t->k->data;
	size_t row_bytes = attention_bytes(t->k, t->k->stride[0]);
	size_t head_bytes = attention_bytes(t->k, t->k->stride[1]);
	const uint8_t *soon = first == 0 ? values_ahead(f) : NULL;
	size_t soon_bytes = keys_for(heads) * attention_bytes(t->v, (ptrdiff_t)t->value_dim);

	for (size_t j = 0; j < f->n; j += keys_for(heads)) {
		const uint8_t *p[KEYS];

		for (size_t i = 0; i < keys_for(heads); i++)
			p[i] = base + (size_t)f->rows[j + i < f->n ? j + i : f->n - 1] * row_bytes;
		for (size_t head = f->from; head < f->to; head++) {
			size_t at = head * t->group + first;

			key_scores(d, heads, p, head * head_bytes, f->q + at * t->dim, t->dim, soon,
				   f->scores + at * FEW_SCORES + j);
			soon = later(soon, soon_bytes);
		}
	}
}

/* --- what follows of scores --- */

/* What stands behind N stays -inf; NaN stays. */
static void cap_scores(float by, float *s, size_t n)
{
	vf32 cap = simd_f32(by);

	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 old = simd_load(s + j), x = cap * simd_tanh(old / cap);
		vi32 there = old > simd_f32(-INFINITY);

		there |= old != old;
		simd_store(s + j, j + SIMD_WIDTH <= n ? x : simd_select(there, old, x));
	}
}

/* NaN may be left out. */
static float largest_of(vf32 x)
{
	float lane[SIMD_WIDTH];

	simd_store(lane, x);
	for (int n = SIMD_WIDTH / 2; n > 0; n /= 2)
		for (int i = 0; i < n; i++)
			lane[i] = lane[i] > lane[n + i] ? lane[i] : lane[n + i];
	return lane[0];
}

/* exp of the scores less their largest, of one head. A NaN comes into the sum, if not into the largest. */
static void exponentials(const struct attention *t, float *s, size_t n, float *most, float *sum)
{
	vf32 m = simd_f32(-INFINITY), l = { 0 }, safe;
	size_t whole = attention_up(n, SIMD_WIDTH);

	for (size_t j = n; j < whole; j++)
		s[j] = -INFINITY;
	if (t->a->soft_cap != 0)
		cap_scores((float)t->a->soft_cap, s, n);
	for (size_t j = 0; j < whole; j += SIMD_WIDTH)
		m = simd_max(m, simd_load(s + j));
	*most = largest_of(m);
	safe = simd_f32(*most == -INFINITY ? 0 : *most);
	for (size_t j = 0; j < whole; j += SIMD_WIDTH) {
		vf32 p = simd_exp_below(simd_load(s + j) - safe);

		simd_store(s + j, p);
		l += p;
	}
	*sum = rows_sum(l);
}

/* --- values --- */

/*
 * OUT[h], VALUE_DIM apart, = sum of p v over N keys at P, of as many vectors as go together from I of the stretch at AT on.
 * What comes at SOON is asked for, as many bytes.
 */
SIMD_INLINE void sum_values(enum dtype d, size_t heads, const uint8_t *const *p, size_t at,
			    size_t i, size_t n, const float *weights, size_t value_dim,
			    const uint8_t *soon, float *out)
{
	const size_t vectors = vectors_for(heads);
	const bool scales_weights = heads < vectors; /* what is fewer */
	const size_t bytes = stretch_bytes(d) * vectors * SIMD_WIDTH / FEW_STRETCH;
	vf32 sum[FEW_TOGETHER][VECTORS];

	SIMD_UNROLL
	for (size_t h = 0; h < heads; h++)
		SIMD_UNROLL
	for (size_t v = 0; v < vectors; v++)
		sum[h][v] = (vf32){ 0 };
	for (size_t j = 0; j < n; j++) {
		vf32 by[FEW_TOGETHER], scale = stretch_scale(d, p[j] + at);

		ask(soon, bytes);
		soon = later(soon, bytes);
		SIMD_UNROLL
		for (size_t h = 0; h < heads; h++) {
			by[h] = simd_broadcast(weights + h * FEW_SCORES + j);
			if (d == DTYPE_Q8_0 && scales_weights)
				by[h] *= scale;
		}
		SIMD_UNROLL
		for (size_t v = 0; v < vectors; v++) {
			vf32 x = stretch_load(d, p[j] + at, i + v * SIMD_WIDTH);

			if (d == DTYPE_Q8_0 && !scales_weights)
				x *= scale;

			SIMD_UNROLL
			for (size_t h = 0; h < heads; h++)
				sum[h][v] = simd_fma(by[h], x, sum[h][v]);
		}
	}
	SIMD_UNROLL
	for (size_t h = 0; h < heads; h++)
		SIMD_UNROLL
	for (size_t v = 0; v < vectors; v++)
		simd_store(out + h * value_dim + v * SIMD_WIDTH, sum[h][v]);
}

/* To OUT, where the states of all heads lie. */
SIMD_INLINE void values_of(enum dtype d, size_t heads, const struct few_tile *f, size_t first,
			   float *out)
{
	const struct attention *t = f->t;
	const size_t step = vectors_for(heads) * SIMD_WIDTH, n_dims = t->value_dim;
	size_t head_bytes = attention_bytes(t->v, t->v->stride[1]),
	       row_bytes = attention_bytes(t->v, t->v->stride[0]);
	const uint8_t *p[ATTENTION_TILE], *soon = first == 0 ? f->next : NULL;
	size_t soon_bytes = f->n * stretch_bytes(d) * step / FEW_STRETCH;

	for (size_t j = 0; j < f->n; j++)
		p[j] = (const uint8_t *)t->v->data + (size_t)f->rows[j] * row_bytes;
	for (size_t head = f->from; head < f->to; head++) {
		const float *w = f->scores + (head * t->group + first) * FEW_SCORES;
		float *o = out + (head - f->from) * few_state_floats(t) + first * n_dims;

		for (size_t i = 0; i < n_dims; i += step, soon = later(soon, soon_bytes))
			sum_values(d, heads, p,
				   head * head_bytes + i / FEW_STRETCH * stretch_bytes(d),
				   i % FEW_STRETCH, f->n, w, n_dims, soon, o + i);
	}
}

/* --- the types, and as many heads as there are --- */

#define EACH_DTYPE(X) X(F32) X(F16) X(BF16) X(Q8_0)

/* HEADS is a constant. */
SIMD_INLINE void some_scores(size_t heads, const struct few_tile *f, size_t first)
{
	switch (f->t->k->dtype) {
#define SCORES(d) \
 case DTYPE_##d: scores_of(DTYPE_##d, heads, f, first); return;
		EACH_DTYPE(SCORES)
#undef SCORES
	default: return;
	}
}

SIMD_INLINE void some_values(size_t heads, const struct few_tile *f, size_t first, float *out)
{
	switch (f->t->v->dtype) {
#define VALUES(d) \
 case DTYPE_##d: values_of(DTYPE_##d, heads, f, first, out); return;
		EACH_DTYPE(VALUES)
#undef VALUES
	default: return;
	}
}

static void scores(const struct few_tile *f, size_t first)
{
	switch (f->t->group - first) {
	case 1: some_scores(1, f, first); return;
	case 2: some_scores(2, f, first); return;
	case 3: some_scores(3, f, first); return;
	default: some_scores(4, f, first); return;
	}
}

static void values(const struct few_tile *f, size_t first, float *out)
{
	switch (f->t->group - first) {
	case 1: some_values(1, f, first, out); return;
	case 2: some_values(2, f, first, out); return;
	case 3: some_values(3, f, first, out); return;
	default: some_values(4, f, first, out); return;
	}
}

void LEVEL_NAME(attention_few_tile)(const struct few_tile *f, float *states)
{
	const struct attention *t = f->t;

	for (size_t first = 0; first < t->group; first += FEW_TOGETHER)
		scores(f, first);
	for (size_t head = f->from; head < f->to; head++) {
		struct few_state s =
			few_state_at(t, states + (head - f->from) * few_state_floats(t));

		for (size_t h = 0; h < t->group; h++)
			exponentials(t, f->scores + (head * t->group + h) * FEW_SCORES, f->n,
				     s.most + h, s.sum + h);
	}
	for (size_t first = 0; first < t->group; first += FEW_TOGETHER)
		values(f, first, states);
}
