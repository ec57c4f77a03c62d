/*
 * kernels/cpu/attention_scores.c - of a panel of columns and a tile of keys: the probabilities, and the running softmax
 *
 *	s = k q^T,  m' = max(m, max s),  p = 2^(s - m'),  l = l 2^(m - m') + sum p
 *
 * with the soft cap, the bias and the bits of the mask between s and m', and -inf where a column does not see a key. What o is to be
 * multiplied by, 2^(m - m'), is left for the product with the values.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention_work.h"

/* s = k q^T */
static void score(const struct attention_work *w, size_t panel)
{
	size_t dim = w->t->dim, c = panel * GEMM_COLUMNS;
	struct attention_matrix q = { w->r.q + c * dim, GEMM_COLUMNS };

	for (size_t j = w->seen[panel].from; j < w->seen[panel].to; j += GEMM_ROWS)
		LEVEL_NAME(attention_set)
	((struct attention_matrix){ w->key + j * dim, dim }, q, dim,
	 w->r.scores + j * ATTENTION_TILE + c, ATTENTION_TILE);
}

#define EACH_SCORE(w, panel, j, v)                                    \
 for (size_t j = (w)->seen[panel].from; j < (w)->seen[panel].to; j++) \
  for (size_t v = 0; v < ATTENTION_VECTORS; v++)

static void cap_scores(const struct attention_work *w, size_t panel)
{
	vf32 cap = simd_f32((float)(w->t->a->soft_cap * ATTENTION_LOG2_E));

	EACH_SCORE(w, panel, j, v)
	{
		float *s = attention_score_at(w, j, panel, v);

		simd_store(s, cap * simd_tanh(simd_load(s) / cap));
	}
}

/* Bias and bits are read along the keys and turned. -inf, not what is there: that may be NaN. */
static void add_to_scores(const struct attention_work *w, size_t panel)
{
	const struct attention *t = w->t;
	const vf32 never = simd_f32(-INFINITY), unit = simd_f32((float)ATTENTION_LOG2_E);
	size_t to = w->seen[panel].to;

	for (size_t c = 0; c < GEMM_COLUMNS; c++) {
		size_t column = panel * GEMM_COLUMNS + c, at;

		at = w->first + (column < w->n ? column : w->n - 1);
		attention_added(t, at / t->group, w->head * t->group + at % t->group,
				w->tile * ATTENTION_TILE, to, w->r.rows + c * ATTENTION_TILE);
	}
	LEVEL_NAME(gemm_turn)
	(w->r.rows, GEMM_COLUMNS, to, ATTENTION_TILE, w->r.added, GEMM_COLUMNS);
	EACH_SCORE(w, panel, j, v)
	{
		float *at = attention_score_at(w, j, panel, v);
		vf32 added = simd_load(w->r.added + j * GEMM_COLUMNS + v * SIMD_WIDTH);
		vf32 sum = simd_fma(added, unit, simd_load(at));

		simd_store(at, simd_select(added == never, sum, never));
	}
}

static vi32 load_integers(const int32_t *p)
{
	return (vi32)simd_load(p);
}

static void hide(const struct attention_work *w, size_t panel)
{
	const vf32 never = simd_f32(-INFINITY);

	for (size_t v = 0; v < ATTENTION_VECTORS; v++) {
		size_t c = panel * GEMM_COLUMNS + v * SIMD_WIDTH;
		vi32 low = load_integers(w->columns.low + c);
		vi32 high = load_integers(w->columns.high + c);
		vi32 document = load_integers(w->columns.document + c);

		for (size_t j = w->seen[panel].from; j < w->seen[panel].to; j++) {
			float *s = attention_score_at(w, j, panel, v);
			size_t key = w->tile * ATTENTION_TILE + j;
			vi32 at = (vi32){ 0 } + w->k.position[key];
			vi32 hidden = (at < low) | (at > high) | (document != w->k.document[key]);

			simd_store(s, simd_select(hidden, simd_load(s), never));
		}
	}
}

/* The largest scores of both vectors of the panel, and those so far. */
static void find_most(const struct attention_work *w, size_t panel, vf32 most[2])
{
	const float *s = attention_score_at(w, w->seen[panel].from, panel, 0);
	size_t n = w->seen[panel].to - w->seen[panel].from;

	for (size_t j = 0; j < n; j++, s += ATTENTION_TILE) {
		most[0] = simd_max(most[0], simd_load(s));
		most[1] = simd_max(most[1], simd_load(s + SIMD_WIDTH));
	}
}

/*
 * p = 2^(s - m) to where s is; their sums. Two keys at a time, and a last one. A loop over vectors that is left as one passes them
 * through memory: 6.9 cycles a vector on Zen 3 in the place of 4.7.
 */
static void raise_scores(const struct attention_work *w, size_t panel, const vf32 m[2], vf32 sum[2])
{
	float *s = attention_score_at(w, w->seen[panel].from, panel, 0);
	size_t n = w->seen[panel].to - w->seen[panel].from;
	vf32 x[4];

	for (; n >= 2; n -= 2, s += 2 * ATTENTION_TILE) {
		SIMD_UNROLL
		for (size_t i = 0; i < 4; i++)
			x[i] = simd_load(s + i / 2 * ATTENTION_TILE + i % 2 * SIMD_WIDTH) -
			       m[i % 2];
		attention_powers(x, 4);
		SIMD_UNROLL
		for (size_t i = 0; i < 4; i++) {
			simd_store(s + i / 2 * ATTENTION_TILE + i % 2 * SIMD_WIDTH, x[i]);
			sum[i % 2] += x[i];
		}
	}
	for (size_t i = 0; i < 2 * n; i++) {
		x[0] = simd_load(s + i * SIMD_WIDTH) - m[i];
		attention_powers(x, 1);
		simd_store(s + i * SIMD_WIDTH, x[0]);
		sum[i] += x[0];
	}
}

/* p = 2^(s - m'); the running m and l of the panel; what o is to be multiplied by. */
static void exponentials(const struct attention_work *w, size_t panel)
{
	size_t c = panel * GEMM_COLUMNS;
	vf32 most[2], safe[2], factor[2], sum[2] = { { 0 } };

	for (size_t v = 0; v < 2; v++)
		most[v] = simd_load(w->r.most + c + v * SIMD_WIDTH);
	find_most(w, panel, most);
	for (size_t v = 0; v < 2; v++) {
		/* No key seen yet: any number that is not infinite. */
		safe[v] = simd_select(most[v] == simd_f32(-INFINITY), most[v], (vf32){ 0 });
		factor[v] = simd_load(w->r.most + c + v * SIMD_WIDTH) - safe[v];
	}
	attention_powers(factor, 2);
	raise_scores(w, panel, safe, sum);
	for (size_t v = 0; v < 2; v++, c += SIMD_WIDTH) {
		simd_store(w->r.sum + c, simd_fma(simd_load(w->r.sum + c), factor[v], sum[v]));
		simd_store(w->r.most + c, most[v]);
		simd_store(w->r.factor + c, factor[v]);
	}
}

void LEVEL_NAME(attention_scores)(const struct attention_work *w, size_t panel)
{
	size_t c = panel * GEMM_COLUMNS, tile = w->tile * ATTENTION_TILE;

	score(w, panel);
	if (w->t->a->soft_cap)
		cap_scores(w, panel);
	if (w->t->bias || w->t->mask)
		add_to_scores(w, panel);
	if (!w->whole && !attention_all_see(&w->columns, c, c + GEMM_COLUMNS, &w->k,
					    tile + w->seen[panel].from, tile + w->seen[panel].to))
		hide(w, panel);
	exponentials(w, panel);
}
