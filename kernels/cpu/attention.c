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

#include "kernels/cpu/attention_work.h"

/* --- scratch: positions and documents of keys, keys and values, then rooms of parts --- */

struct sizes {
	size_t value_step;
	size_t key, value; /* floats of a tile; behind the values, whether they are finite */
	size_t keys, shared, room;
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

static struct attention_work_room room_at(const struct kernel_call *c, const struct attention *t)
{
	struct sizes s = sizes_of(t);
	struct attention_work_room r;

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

/* --- one tile of keys --- */

/* What a panel did not see of keys FROM to TO - 1 is 0. */
static void clear_rest(const struct attention_work *w, size_t panel, struct attention_span all)
{
	struct attention_span seen = w->seen[panel];

	if (w->whole)
		return;
	for (size_t j = all.from; j < all.to; j++)
		if (j < seen.from || j >= seen.to)
			memset(attention_score_at(w, j, panel, 0), 0, GEMM_COLUMNS * sizeof(float));
	for (size_t c = panel * GEMM_COLUMNS;
	     seen.from == seen.to && c < (panel + 1) * GEMM_COLUMNS; c++)
		w->r.factor[c] = 1;
}

/* o = o factor + p^T v of columns C to C + GEMM_ROWS - 1, over the keys that their panels see. */
static void add_values_to(const struct attention_work *w, size_t c, struct attention_span s)
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
static void add_values_seen(const struct attention_work *w)
{
	const struct attention_sight sight = { w->t,	 &w->columns, &w->k,
					       w->first, w->n,	      w->tile * ATTENTION_TILE,
					       w->keys };
	const struct attention_product p = { w->r.scores, 1,	    ATTENTION_TILE,
					     w->value,	  w->r.out, w->value_step };

	LEVEL_NAME(attention_seen_keys)(&sight, &p, w->r.factor);
}

static void add_values(const struct attention_work *w)
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

static void begin(const struct attention_work *w, const struct attention *t)
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
static void finish(const struct kernel_call *c, const struct attention_work *w,
		   const struct attention *t)
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
static struct attention_span find_span(const struct attention_work *w, size_t panel)
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

static void find_tile(const struct kernel_call *c, struct attention_work *w)
{
	const struct attention *t = w->t;
	float *key = w->r.key, *value = w->r.value;

	if (is_shared(t)) {
		key = shared_at(c, t, w->head, w->tile);
		value = key + sizes_of(t).key;
	} else {
		load_tile(t, &w->k, w->head, w->tile, key, value);
	}
	w->key = key;
	w->value = value;
	w->finite = *is_finite_at(t, value);
}

static void attend_tile(const struct kernel_call *c, struct attention_work *w)
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
			LEVEL_NAME(attention_scores)(w, p);
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
		struct attention_work w = { .t = t, .head = i / t->blocks, .r = room_at(c, t) };

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
