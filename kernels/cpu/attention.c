/*
 * kernels/cpu/attention.c - attention in tiles, with the running softmax of Milakov and Gimelshein 2018 and Dao et al. 2022
 *
 * Scores are held with keys down and columns (queries of all heads of a group) across, so that the largest score, the sum and the
 * rescaling are vectors over columns. For each tile of columns and of keys:
 *
 *	s = k q^T,  m' = max(m, max s),  p = 2^(s - m'),  l = l 2^(m - m') + sum p,  o = o 2^(m - m') + p^T v
 *
 * with q times log2 e, and out = o / l, log-sum-exp = m ln 2 + log l. Of these q is turned once; k, p and v are multiplied as they lie. Floor: the
 * multiply-adds of the two products; an exponential a score.
 *
 * Phase 0 finds where keys stand and, when more than one tile of columns wants them, brings K and V of all heads to f32, row by
 * row; with one (decoding) each tile is brought where it is used. Phase 1: tiles of columns, each summed by one part over
 * the keys in order.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention_seen.h"

/* --- scratch: positions and documents of keys, keys and values, then rooms of parts --- */

struct sizes {
	size_t value_step;
	size_t key, value; /* floats of a tile; behind the values, whether they are finite */
	size_t keys, shared, room;
};

/* What a part works on. */
struct room {
	float *rows, *key, *value, *q, *out, *scores, *added;
	float *most, *sum, *factor; /* of each column */
};

static bool is_shared(const struct attention *t)
{
	return t->blocks > 1;
}

/* Rows of queries, or of what is added to scores: floats of each of ATTENTION_TILE. */
static size_t longest_row(const struct attention *t)
{
	return t->dim > GEMM_COLUMNS ? t->dim : GEMM_COLUMNS;
}

static struct sizes sizes_of(const struct attention *t)
{
	struct sizes s = { .value_step = attention_up(t->value_dim, GEMM_COLUMNS) };

	s.key = ATTENTION_TILE * t->dim;
	s.value = ATTENTION_TILE * s.value_step + 16;
	s.keys = attention_keys_size(t);
	s.shared = is_shared(t) ? t->heads * t->tiles * (s.key + s.value) : 0;
	s.room = 2 * s.key + 2 * s.value +
		 ATTENTION_TILE * (longest_row(t) + ATTENTION_TILE + GEMM_COLUMNS + 3);
	s.room = attention_up(s.room, 16);
	return s;
}

static size_t scratch(const struct kernel_call *c)
{
	struct attention t = attention_of(c, 0);
	struct sizes s = sizes_of(&t);

	return (s.keys + s.shared + (size_t)c->parts * s.room) * sizeof(float);
}

static struct room room_at(const struct kernel_call *c, const struct attention *t)
{
	struct sizes s = sizes_of(t);
	struct room r;

	r.rows = (float *)c->scratch + s.keys + s.shared + (size_t)c->part * s.room;
	r.key = r.rows + ATTENTION_TILE * longest_row(t);
	r.value = r.key + s.key;
	r.q = r.value + s.value;
	r.out = r.q + s.key;
	r.scores = r.out + s.value;
	r.added = r.scores + ATTENTION_SQUARE;
	r.most = r.added + ATTENTION_TILE * GEMM_COLUMNS;
	r.sum = r.most + ATTENTION_TILE;
	r.factor = r.sum + ATTENTION_TILE;
	return r;
}

/* --- keys and values as f32 --- */

static size_t keys_in(const struct attention *t, size_t tile)
{
	size_t left = t->keys - tile * ATTENTION_TILE;

	return left < ATTENTION_TILE ? left : ATTENTION_TILE;
}

static int32_t *is_finite_at(const struct attention *t, float *value)
{
	return (int32_t *)(value + sizes_of(t).value) - 1;
}

static void load_tile(const struct attention *t, const struct attention_keys *k, size_t head,
		      size_t tile, float *key, float *value)
{
	size_t n = keys_in(t, tile), step = sizes_of(t).value_step;

	attention_load_keys(t, t->k, k, head, tile, n, t->dim, key);
	attention_load_keys(t, t->v, k, head, tile, n, step, value);
	*is_finite_at(t, value) = attention_scaled(value, ATTENTION_TILE * step, 1);
}

static float *shared_at(const struct kernel_call *c, const struct attention *t, size_t head,
			size_t tile)
{
	struct sizes s = sizes_of(t);

	return (float *)c->scratch + s.keys + (head * t->tiles + tile) * (s.key + s.value);
}

/* Each part looks at the keys of its own tiles, so that it needs no other's. */
static void load_all(const struct kernel_call *c, const struct attention *t)
{
	struct attention_keys k = attention_keys_in(t, c->scratch);
	struct sizes s = sizes_of(t);
	size_t from, to;

	attention_keys_make(c, t, &k);
	kernel_share(t->tiles, 1, c->part, c->parts, &from, &to);
	for (size_t head = 0; head < t->heads && is_shared(t); head++)
		for (size_t tile = from; tile < to; tile++) {
			float *key = shared_at(c, t, head, tile);

			load_tile(t, &k, head, tile, key, key + s.key);
		}
}

/* --- one panel of columns and one tile of keys --- */

struct work {
	const struct attention *t;
	struct attention_columns columns;
	size_t head, first, n, value_step; /* columns of this tile */
	const float *key, *value, *next;   /* of the tile; those of the next, or NULL */
	struct attention_keys k;
	size_t tile, keys;			      /* of the tile */
	bool whole;				      /* all columns see all of them */
	bool finite;				      /* all values are */
	struct attention_span seen[ATTENTION_PANELS]; /* keys that the panel sees */
	struct room r;
};

/* s = k q^T */
static void score(const struct work *w, size_t panel)
{
	size_t dim = w->t->dim, c = panel * GEMM_COLUMNS;
	struct attention_matrix q = { w->r.q + c * dim, GEMM_COLUMNS };

	for (size_t j = w->seen[panel].from; j < w->seen[panel].to; j += GEMM_ROWS) {
		attention_soon(w->next, ATTENTION_TILE * (dim + w->value_step),
			       panel * (ATTENTION_TILE / GEMM_ROWS) + j / GEMM_ROWS,
			       ATTENTION_PANELS * (ATTENTION_TILE / GEMM_ROWS));
		LEVEL_NAME(attention_set)
		((struct attention_matrix){ w->key + j * dim, dim }, q, dim,
		 w->r.scores + j * ATTENTION_TILE + c, ATTENTION_TILE);
	}
}

/* The scores of key J and a vector of columns. */
static float *score_at(const struct work *w, size_t j, size_t panel, size_t v)
{
	return w->r.scores + j * ATTENTION_TILE + panel * GEMM_COLUMNS + v * SIMD_WIDTH;
}

#define EACH_SCORE(w, panel, j, v)                                    \
 for (size_t j = (w)->seen[panel].from; j < (w)->seen[panel].to; j++) \
  for (size_t v = 0; v < ATTENTION_VECTORS; v++)

static void cap_scores(const struct work *w, size_t panel)
{
	vf32 cap = simd_f32((float)(w->t->a->soft_cap * ATTENTION_LOG2_E));

	EACH_SCORE(w, panel, j, v)
	{
		float *s = score_at(w, j, panel, v);

		simd_store(s, cap * simd_tanh(simd_load(s) / cap));
	}
}

/* Bias and bits are read along the keys and turned. -inf, not what is there: that may be NaN. */
static void add_to_scores(const struct work *w, size_t panel)
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
		float *at = score_at(w, j, panel, v);
		vf32 added = simd_load(w->r.added + j * GEMM_COLUMNS + v * SIMD_WIDTH);
		vf32 sum = simd_fma(added, unit, simd_load(at));

		simd_store(at, simd_select(added == never, sum, never));
	}
}

static vi32 load_integers(const int32_t *p)
{
	return (vi32)simd_load(p);
}

static void hide(const struct work *w, size_t panel)
{
	const vf32 never = simd_f32(-INFINITY);

	for (size_t v = 0; v < ATTENTION_VECTORS; v++) {
		size_t c = panel * GEMM_COLUMNS + v * SIMD_WIDTH;
		vi32 low = load_integers(w->columns.low + c);
		vi32 high = load_integers(w->columns.high + c);
		vi32 document = load_integers(w->columns.document + c);

		for (size_t j = w->seen[panel].from; j < w->seen[panel].to; j++) {
			float *s = score_at(w, j, panel, v);
			size_t key = w->tile * ATTENTION_TILE + j;
			vi32 at = (vi32){ 0 } + w->k.position[key];
			vi32 hidden = (at < low) | (at > high) | (document != w->k.document[key]);

			simd_store(s, simd_select(hidden, simd_load(s), never));
		}
	}
}

/* The largest scores of both vectors of the panel, and those so far. */
static void find_most(const struct work *w, size_t panel, vf32 most[2])
{
	const float *s = score_at(w, w->seen[panel].from, panel, 0);
	size_t n = w->seen[panel].to - w->seen[panel].from;

	for (size_t j = 0; j < n; j++, s += ATTENTION_TILE) {
		most[0] = simd_max(most[0], simd_load(s));
		most[1] = simd_max(most[1], simd_load(s + SIMD_WIDTH));
	}
}

/* p = 2^(s - m) to where s is; their sums. Two keys at a time, and a last one. */
static void raise_scores(const struct work *w, size_t panel, const vf32 m[2], vf32 sum[2])
{
	float *s = score_at(w, w->seen[panel].from, panel, 0);
	size_t n = w->seen[panel].to - w->seen[panel].from;
	vf32 x[4];

	for (; n >= 2; n -= 2, s += 2 * ATTENTION_TILE) {
		for (size_t i = 0; i < 4; i++)
			x[i] = simd_load(s + i / 2 * ATTENTION_TILE + i % 2 * SIMD_WIDTH) -
			       m[i % 2];
		attention_powers(x, 4);
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
static void exponentials(const struct work *w, size_t panel)
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

static void attend(const struct work *w, size_t panel)
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

/* What a panel did not see of keys FROM to TO - 1 is 0. */
static void clear_rest(const struct work *w, size_t panel, struct attention_span all)
{
	struct attention_span seen = w->seen[panel];

	if (w->whole)
		return;
	for (size_t j = all.from; j < all.to; j++)
		if (j < seen.from || j >= seen.to)
			memset(score_at(w, j, panel, 0), 0, GEMM_COLUMNS * sizeof(float));
	for (size_t c = panel * GEMM_COLUMNS;
	     seen.from == seen.to && c < (panel + 1) * GEMM_COLUMNS; c++)
		w->r.factor[c] = 1;
}

/* o = o factor + p^T v of columns C to C + GEMM_ROWS - 1, over the keys that their panels see. */
static void add_values_to(const struct work *w, size_t c, struct attention_span s)
{
	size_t step = w->value_step;
	struct attention_matrix p = { w->r.scores + c + s.from * ATTENTION_TILE, ATTENTION_TILE };
	const float *value = w->value + s.from * step;

	for (size_t e = 0; e < step; e += GEMM_COLUMNS)
		LEVEL_NAME(attention_add_across)
	(p, (struct attention_matrix){ value + e, step }, s.to - s.from, w->r.factor + c,
	 w->r.out + c * step + e, step);
}

/* The same where what is hidden is not finite. */
static void add_values_seen(const struct work *w)
{
	const struct attention_sight sight = { w->t,	 &w->columns, &w->k,
					       w->first, w->n,	      w->tile * ATTENTION_TILE,
					       w->keys };
	const struct attention_product p = { w->r.scores, 1,	    ATTENTION_TILE,
					     w->value,	  w->r.out, w->value_step };

	LEVEL_NAME(attention_seen_keys)(&sight, &p, w->r.factor);
}

static void add_values(const struct work *w)
{
	struct attention_span s = { 0, w->keys };

	for (size_t c = 0; c < w->n; c += GEMM_ROWS) {
		if (!w->whole)
			s = attention_union(w->seen, c, c + GEMM_ROWS);
		if (s.from < s.to)
			add_values_to(w, c, s);
	}
}

/* --- a tile of columns --- */

static void begin(const struct work *w, const struct attention *t)
{
	attention_load_columns(t, t->q, w->head, w->first, w->n,
			       (float)(t->scale * ATTENTION_LOG2_E), t->dim, w->r.rows);
	attention_turn(w->r.rows, t->dim, t->dim, w->r.q);
	memset(w->r.out, 0, ATTENTION_TILE * w->value_step * sizeof(float));
	for (size_t c = 0; c < ATTENTION_TILE; c++) {
		w->r.most[c] = -INFINITY;
		w->r.sum[c] = 0;
	}
}

/* out = o / l; 0 where no key was seen. */
static void finish(const struct kernel_call *c, const struct work *w, const struct attention *t)
{
	const struct kernel_tensor *out = &c->out[0], *lse = &c->out[1];

	for (size_t i = 0; i < w->n; i++) {
		size_t row = (w->first + i) / t->group;
		size_t head = w->head * t->group + (w->first + i) % t->group;
		float *o = w->r.out + i * w->value_step, sum = w->r.sum[i], factor = 1 / sum;
		ptrdiff_t at = (ptrdiff_t)row * out->stride[0] + (ptrdiff_t)head * out->stride[1];

		for (size_t e = 0; e < t->value_dim; e++)
			o[e] = sum == 0 ? 0 : o[e] * factor;
		operand_store(out->dtype, o, (uint8_t *)out->data + operand_bytes(out->dtype, at),
			      t->value_dim);
		((float *)lse->data)[(ptrdiff_t)row * lse->stride[0] +
				     (ptrdiff_t)head * lse->stride[1]] =
			w->r.most[i] * (float)ATTENTION_LN_2 + logf(sum);
	}
}

/* Which keys of the tile a panel sees. */
static struct attention_span find_span(const struct work *w, size_t panel)
{
	size_t c = panel * GEMM_COLUMNS, first = w->tile * ATTENTION_TILE;
	struct attention_bounds q = attention_bounds_of_columns(&w->columns, c, c + GEMM_COLUMNS);
	size_t from = first, to = first + w->keys;

	if (w->whole)
		return (struct attention_span){ 0, w->keys };
	attention_trim_keys(&q, &w->k, &from, &to);
	if (from == to)
		return (struct attention_span){ 0, 0 };
	return (struct attention_span){ (from - first) / GEMM_ROWS * GEMM_ROWS, to - first };
}

static void find_tile(const struct kernel_call *c, struct work *w)
{
	const struct attention *t = w->t;
	float *key = w->r.key, *value = w->r.value;

	w->next = NULL;
	if (is_shared(t)) {
		key = shared_at(c, t, w->head, w->tile);
		value = key + sizes_of(t).key;
		if (w->tile + 1 < t->tiles)
			w->next = shared_at(c, t, w->head, w->tile + 1);
	} else {
		load_tile(t, &w->k, w->head, w->tile, key, value);
	}
	w->key = key;
	w->value = value;
	w->finite = *is_finite_at(t, value);
}

static void attend_tile(const struct kernel_call *c, struct work *w)
{
	size_t panels = attention_up(w->n, GEMM_COLUMNS) / GEMM_COLUMNS;
	struct attention_span all;

	if (!attention_may_see(&w->columns.all, &w->k.all[w->tile]))
		return;
	w->keys = keys_in(w->t, w->tile);
	w->whole = attention_whole(&w->columns, &w->k, w->tile);
	memset(w->seen, 0, sizeof(w->seen));
	for (size_t p = 0; p < panels; p++)
		w->seen[p] = find_span(w, p);
	all = attention_union(w->seen, 0, ATTENTION_TILE);
	if (all.from == all.to)
		return;
	find_tile(c, w);
	for (size_t p = 0; p < panels; p++) {
		if (w->seen[p].from < w->seen[p].to)
			attend(w, p);
		clear_rest(w, p, all);
	}
	if (w->finite || (w->whole && !w->t->mask))
		add_values(w);
	else
		add_values_seen(w);
}

static void run_blocks(const struct kernel_call *c, const struct attention *t)
{
	size_t all = t->heads * t->blocks;

	for (size_t round = 0; round * (size_t)c->parts < all; round++) {
		size_t i = attention_turn_of(c, round);
		struct work w = { .t = t, .head = i / t->blocks, .r = room_at(c, t) };

		if (i >= all)
			continue;
		w.k = attention_keys_in(t, c->scratch);
		w.value_step = sizes_of(t).value_step;
		w.first = i % t->blocks * ATTENTION_TILE;
		w.n = t->columns - w.first < ATTENTION_TILE ? t->columns - w.first : ATTENTION_TILE;
		attention_columns_of(t, w.first, w.n, &w.columns);
		begin(&w, t);
		for (w.tile = 0; w.tile < t->tiles; w.tile++)
			attend_tile(c, &w);
		finish(c, &w, t);
	}
}

static void run_attention(const struct kernel_call *c)
{
	struct attention t = attention_of(c, 0);

	if (c->phase == 0)
		load_all(c, &t);
	else
		run_blocks(c, &t);
}

static bool claims(const struct kernel_call *c)
{
	return attention_serves(c, 0) && attention_side_by_side(&c->out[0]) &&
	       c->out[1].dtype == DTYPE_F32;
}

const struct kernel LEVEL_NAME(attention_tiles);
const struct kernel LEVEL_NAME(attention_tiles) = {
	.op = "attention",
	.variant = "tiles",
	.claims = claims,
	.scratch = scratch,
	.phases = 2,
	.run = run_attention,
};
