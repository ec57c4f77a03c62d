/*
 * kernels/cpu/attention_slopes.c - of a tile of keys and a tile of columns: the probabilities, and the slopes of the scores
 *
 *	s = q k^T,  p = 2^(s - lse),  dp = dout v^T,  ds = p (dp - D)
 *
 * with the slope of the soft cap in ds after it has given dbias. Panels of GEMM_COLUMNS keys; of each the columns from the
 * first to the last that see any. What none sees is 0 in p and ds, in whole GEMM_ROWS of columns and all keys of the tile.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention_grad.h"

/* N values of dbias of query I of head H from KEY on; summed over heads when they share it. */
static void put_bias(const struct attention_grad *g, size_t i, size_t h, size_t key, size_t n,
		     const float *ds)
{
	const struct kernel_tensor *b = &g->c->out[3];
	float *sum = attention_bias_at(g) + i * g->t.keys + key;

	if (!g->shared_bias)
		operand_store(b->dtype, ds,
			      (uint8_t *)b->data +
				      operand_bytes(b->dtype, attention_bias_offset(b, h, i, key)),
			      n);
	for (size_t j = 0; j < n && g->shared_bias; j++)
		sum[j] = h == 0 ? ds[j] : sum[j] + ds[j];
}

/* Which of a vector of keys from KEY on column C does not see. */
SIMD_INLINE vi32 hidden(const struct attention_pair *w, size_t c, size_t key)
{
	const struct attention_columns *q = w->q.columns;
	vi32 at = (vi32)simd_load(w->k.position + key);
	vi32 document = (vi32)simd_load(w->k.document + key);

	return (at < q->low[c]) | (at > q->high[c]) | (document != q->document[c]);
}

/* p = 2^(s - lse) of columns FROM to TO - 1 of the panel, two at a time and a last one. */
static void raise_scores(const struct attention_pair *w, size_t panel, size_t from, size_t to)
{
	float *s = w->r.p + from * ATTENTION_TILE + panel * GEMM_COLUMNS;
	const float *lse = w->q.lse + from, *end = w->q.lse + to;
	vf32 x[4];

	for (; lse + 1 < end; lse += 2, s += 2 * ATTENTION_TILE) {
		SIMD_UNROLL
		for (size_t i = 0; i < 4; i++)
			x[i] = simd_load(s + i / 2 * ATTENTION_TILE + i % 2 * SIMD_WIDTH) -
			       simd_broadcast(lse + i / 2);
		attention_powers(x, 4);
		SIMD_UNROLL
		for (size_t i = 0; i < 4; i++)
			simd_store(s + i / 2 * ATTENTION_TILE + i % 2 * SIMD_WIDTH, x[i]);
	}
	for (size_t i = 0; i < 2 && lse < end; i++) {
		x[0] = simd_load(s + i * SIMD_WIDTH) - simd_broadcast(lse);
		attention_powers(x, 1);
		simd_store(s + i * SIMD_WIDTH, x[0]);
	}
}

/* s and dp of column C to p and ds, whatever is asked; ds before the cap to PLAIN when there is one. */
SIMD_INLINE void slopes_row(const struct attention_pair *w, size_t panel, size_t c, bool added,
			    float *plain)
{
	float *s = w->r.p + c * ATTENTION_TILE + panel * GEMM_COLUMNS;
	float *dp = w->r.ds + c * ATTENTION_TILE + panel * GEMM_COLUMNS;
	vf32 lse = simd_broadcast(w->q.lse + c), d = simd_broadcast(w->q.d + c);
	vf32 cap = simd_f32((float)(w->g->t.a->soft_cap * ATTENTION_LOG2_E));
	bool capped = w->g->t.a->soft_cap != 0;

	for (size_t v = 0; v < GEMM_COLUMNS; v += SIMD_WIDTH) {
		vi32 seen = ~hidden(w, c, w->tile * ATTENTION_TILE + panel * GEMM_COLUMNS + v);
		vf32 x = simd_load(s + v), turn = x, p, ds;

		if (capped) {
			turn = simd_tanh(x / cap);
			x = cap * turn;
		}
		if (added) {
			vf32 more = simd_load(w->r.added + v);

			x = simd_fma(more, simd_f32((float)ATTENTION_LOG2_E), x);
			seen &= more != simd_f32(-INFINITY);
		}
		p = x - lse;
		attention_powers(&p, 1);
		ds = simd_keep(seen, p * (simd_load(dp + v) - d));
		if (plain)
			simd_store(plain + v, ds);
		simd_store(s + v, simd_keep(seen, p));
		simd_store(dp + v, capped ? ds * simd_fma(-turn, turn, simd_f32(1.0f)) : ds);
	}
}

/* With a bias or bits of a mask. */
static void slopes_row_added(const struct attention_pair *w, size_t panel, size_t c)
{
	const struct attention *t = &w->g->t;
	size_t column = w->block * ATTENTION_TILE + c, first = panel * GEMM_COLUMNS;
	size_t n = w->keys - first < GEMM_COLUMNS ? w->keys - first : GEMM_COLUMNS;
	size_t i = column / t->group, h = w->head * t->group + column % t->group;
	float plain[GEMM_COLUMNS];

	first += w->tile * ATTENTION_TILE;
	attention_added(t, i, h, first, n, w->r.added);
	slopes_row(w, panel, c, true, plain);
	if (t->bias)
		put_bias(w->g, i, h, first, n, plain);
}

/* Whether a column sees a key, and which columns see those of each panel; all, where dbias is wanted of all. */
static bool find_spans(struct attention_pair *w)
{
	bool any = false;

	memset(w->seen, 0, sizeof(w->seen));
	w->whole = attention_whole(w->q.columns, &w->k, w->tile);
	for (size_t p = 0; p < ATTENTION_PANELS && w->whole; p++)
		w->seen[p] = (struct attention_span){ 0, w->columns };
	if (w->whole || !attention_may_see(&w->q.columns->all, &w->k.all[w->tile]))
		return w->whole;
	for (size_t p = 0; p * GEMM_COLUMNS < w->keys; p++) {
		size_t first = w->tile * ATTENTION_TILE + p * GEMM_COLUMNS, from = 0;
		size_t to = w->columns;
		struct attention_bounds k =
			attention_bounds_of_keys(&w->k, first, first + GEMM_COLUMNS);

		attention_trim_columns(w->q.columns, &k, &from, &to);
		any = any || from < to;
		if (w->g->t.bias)
			w->seen[p] = (struct attention_span){ 0, w->columns };
		else if (from < to)
			w->seen[p] = (struct attention_span){ from / GEMM_ROWS * GEMM_ROWS, to };
	}
	return any;
}

/* No column sees any key: dbias is 0 there. */
static void no_bias(const struct attention_pair *w)
{
	const struct attention *t = &w->g->t;
	const float none[ATTENTION_TILE] = { 0 };

	for (size_t c = 0; c < w->columns && t->bias; c++) {
		size_t column = w->block * ATTENTION_TILE + c;

		put_bias(w->g, column / t->group, w->head * t->group + column % t->group,
			 w->tile * ATTENTION_TILE, w->keys, none);
	}
}

/* Of the next tile of columns, what this tile of a panel's asks for. */
static void ask_ahead(const struct attention_pair *w, size_t panel, size_t c)
{
	size_t parts = ATTENTION_PANELS * (ATTENTION_TILE / GEMM_ROWS);
	size_t part = panel * (ATTENTION_TILE / GEMM_ROWS) + c / GEMM_ROWS;

	attention_soon(w->next, ATTENTION_TILE * (w->g->step + w->g->value_step), part, parts);
	attention_soon(w->next_dq, ATTENTION_TILE * w->g->step, part, parts);
}

/* s of the panel. */
static void set_scores(const struct attention_pair *w, size_t panel)
{
	size_t dim = w->g->t.dim, step = w->g->step;
	struct attention_matrix right = { w->r.key_across + panel * GEMM_COLUMNS * dim,
					  GEMM_COLUMNS };

	for (size_t c = w->seen[panel].from; c < w->seen[panel].to; c += GEMM_ROWS) {
		ask_ahead(w, panel, c);
		LEVEL_NAME(attention_set)
		((struct attention_matrix){ w->q.q + c * step, step }, right, dim,
		 w->r.p + c * ATTENTION_TILE + panel * GEMM_COLUMNS, ATTENTION_TILE);
	}
}

/* dp of the panel; ds where p is there. */
static void set_slopes(const struct attention_pair *w, size_t panel, bool raised)
{
	size_t dim = w->g->t.value_dim, step = w->g->value_step;
	struct attention_matrix right = { w->r.value_across + panel * GEMM_COLUMNS * dim,
					  GEMM_COLUMNS };

	for (size_t c = w->seen[panel].from; c < w->seen[panel].to; c += GEMM_ROWS) {
		struct attention_matrix left = { w->q.dout + c * step, step };
		size_t at = c * ATTENTION_TILE + panel * GEMM_COLUMNS;

		if (raised)
			LEVEL_NAME(attention_set_slopes)
		(left, right, dim, w->r.p + at, w->q.d + c, w->r.ds + at, ATTENTION_TILE);
		else LEVEL_NAME(attention_set)(left, right, dim, w->r.ds + at, ATTENTION_TILE);
	}
}

/* p and ds of a panel are 0 in columns FROM to TO - 1. */
static void clear(const struct attention_pair *w, size_t panel, size_t from, size_t to)
{
	for (size_t c = from; c < to; c++) {
		size_t at = c * ATTENTION_TILE + panel * GEMM_COLUMNS;

		memset(w->r.p + at, 0, GEMM_COLUMNS * sizeof(float));
		memset(w->r.ds + at, 0, GEMM_COLUMNS * sizeof(float));
	}
}

/* Whether each column from FROM on sees each key of the panel, and a score is but a product. */
static bool is_plain(const struct attention_pair *w, size_t panel, size_t from, size_t to)
{
	const struct attention *t = &w->g->t;
	size_t key = w->tile * ATTENTION_TILE + panel * GEMM_COLUMNS;

	if (t->bias || t->mask || t->a->soft_cap != 0)
		return false;
	return w->whole ||
	       attention_all_see(w->q.columns, from, to, &w->k, key, key + GEMM_COLUMNS);
}

static void slopes_panel(const struct attention_pair *w, size_t panel)
{
	const struct attention *t = &w->g->t;
	size_t c = w->seen[panel].from, to = w->seen[panel].to;

	set_scores(w, panel);
	if (is_plain(w, panel, c, to)) {
		raise_scores(w, panel, c, to);
		set_slopes(w, panel, true);
		return;
	}
	set_slopes(w, panel, false);
	for (; c < to; c++)
		if (t->bias || t->mask)
			slopes_row_added(w, panel, c);
		else
			slopes_row(w, panel, c, false, NULL);
}

bool LEVEL_NAME(attention_slopes)(struct attention_pair *w)
{
	size_t end = attention_up(w->columns, GEMM_ROWS);

	if (!find_spans(w)) {
		no_bias(w);
		return false;
	}
	for (size_t p = 0; p < ATTENTION_PANELS; p++) {
		if (w->seen[p].from < w->seen[p].to)
			slopes_panel(w, p);
		clear(w, p, 0, w->seen[p].from);
		clear(w, p, w->seen[p].to, end);
	}
	return true;
}
