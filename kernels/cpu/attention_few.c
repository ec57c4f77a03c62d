/*
 * kernels/cpu/attention_few.c - attention of few queries (decoding), where reading keys and values is the work
 *
 * Every query is alone with its keys: those that it sees of a tile are listed, and read where they lie. What tiles give
 * (attention_few.h) is joined tile after tile: M = max(m, m'), and l and o of either times exp(m - M). A query's bits depend on
 * nothing but the keys that it sees, tile by tile.
 *
 * Of one query a head of keys in a tile is an item of the shares, and phase 1 joins; of more a head of a query is, and tiles are
 * passed one by one, so that queries of one text read the same keys while they are near. What no query sees is not looked at.
 */
#include "kernels/cpu/attention_few.h"

#include "kernels/cpu/attention_few_keys.h"

#define FEW_QUERIES 32

/* What a part works with. */
struct room {
	float *row;	/* [dim] */
	float *q;	/* few_tile's */
	float *scores;	/* [heads of keys, group, FEW_SCORES] */
	float *states;	/* [heads of keys]: of a tile, or what is joined */
	int32_t *rows;	/* [ATTENTION_TILE]: of the cache, those that are seen */
	int32_t *tiles; /* [tiles]: those of which some key may be seen */
	size_t n_tiles;
};

static size_t room_floats(const struct attention *t)
{
	size_t of_heads = t->heads * t->group * (t->dim + FEW_SCORES);

	return attention_up(t->dim + of_heads + ATTENTION_TILE + t->tiles, 16) +
	       t->heads * few_state_floats(t);
}

static size_t items_kept(const struct attention *t)
{
	return t->heads * (t->rows > 1 ? t->rows : t->tiles);
}

static size_t scratch(const struct kernel_call *c)
{
	struct attention t = attention_of(c, 0);

	return (items_kept(&t) * few_state_floats(&t) + (size_t)c->parts * room_floats(&t)) *
	       sizeof(float);
}

/* Parts come first: where they lie does not depend on how many keys there are. */
static struct room room_at(const struct kernel_call *c, const struct attention *t)
{
	float *p = (float *)c->scratch + (size_t)c->part * room_floats(t);
	struct room r = { .states = p, .row = p + t->heads * few_state_floats(t) };

	r.q = r.row + t->dim;
	r.scores = r.q + t->heads * t->group * t->dim;
	r.rows = (int32_t *)(r.scores + t->heads * t->group * FEW_SCORES);
	r.tiles = r.rows + ATTENTION_TILE;
	return r;
}

/* The state of an item, and of those that follow. */
static float *kept_at(const struct kernel_call *c, const struct attention *t, size_t item)
{
	return (float *)c->scratch + (size_t)c->parts * room_floats(t) + item * few_state_floats(t);
}

/* --- states --- */

/* Of N heads: no key yet. */
static void begin(const struct attention *t, float *states, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct few_state s = few_state_at(t, states + i * few_state_floats(t));

		memset(s.out, 0, t->group * t->value_dim * sizeof(float));
		for (size_t h = 0; h < t->group; h++) {
			s.most[h] = -INFINITY;
			s.sum[h] = 0;
		}
	}
}

/* A tile without a key that counts is left out. */
static bool is_empty(const struct attention *t, const struct few_state *s)
{
	for (size_t h = 0; h < t->group; h++)
		if (s->most[h] != -INFINITY || s->sum[h] != 0)
			return false;
	return true;
}

/* Without branches: which largest is the larger cannot be foretold. A NaN comes by the sum. */
static void join(const struct attention *t, struct few_state *all, const struct few_state *s)
{
	if (is_empty(t, s))
		return;
	for (size_t h = 0; h < t->group; h++) {
		vf32 m = simd_f32(all->most[h]), n = simd_f32(s->most[h]), most = simd_max(m, n);
		vf32 safe = simd_keep(most > simd_f32(-INFINITY), most);
		vf32 old = simd_exp_below(m - safe), new = simd_exp_below(n - safe);
		float *o = all->out + h * t->value_dim;
		const float *x = s->out + h * t->value_dim;

		for (size_t e = 0; e < t->value_dim; e += SIMD_WIDTH)
			simd_store(o + e, simd_fma(simd_load(x + e), new, simd_load(o + e) * old));
		all->sum[h] = all->sum[h] * old[0] + s->sum[h] * new[0];
		all->most[h] = most[0];
	}
}

/* out = o / l; 0 where no key was seen. */
static void finish(const struct kernel_call *c, const struct attention *t, size_t i, size_t head,
		   const struct few_state *s)
{
	const struct kernel_tensor *out = &c->out[0], *lse = &c->out[1];

	for (size_t h = 0; h < t->group; h++) {
		ptrdiff_t to = (ptrdiff_t)(head * t->group + h);
		ptrdiff_t at = (ptrdiff_t)i * out->stride[0] + to * out->stride[1];
		float *o = s->out + h * t->value_dim, factor = 1 / s->sum[h];

		for (size_t e = 0; e < t->value_dim; e++)
			o[e] = s->sum[h] == 0 ? 0 : o[e] * factor;
		operand_store(out->dtype, o, (uint8_t *)out->data + operand_bytes(out->dtype, at),
			      t->value_dim);
		((float *)lse->data)[(ptrdiff_t)i * lse->stride[0] + to * lse->stride[1]] =
			s->most[h] + logf(s->sum[h]);
	}
}

/* --- shares --- */

/* Heads FROM to TO - 1 of the keys: those of query I that share each. */
static void load_query(const struct attention *t, size_t i, size_t from, size_t to,
		       const struct room *r)
{
	for (size_t h = from * t->group; h < to * t->group; h++) {
		size_t at = h % t->group, first = at / FEW_TOGETHER * FEW_TOGETHER;
		size_t heads = t->group - first < FEW_TOGETHER ? t->group - first : FEW_TOGETHER;
		float *q = r->q + (h - at + first) * t->dim + (at - first) * SIMD_WIDTH;

		attention_load(t->q, (int64_t)i, h, r->row);
		for (size_t e = 0; e < t->dim; e += SIMD_WIDTH)
			simd_store(q + e * heads, simd_load(r->row + e) * simd_f32(t->scale));
	}
}

/* Lists the tiles of which some query from FIRST to LAST may see a key. */
static void find_tiles(const struct attention *t, size_t first, size_t last, struct room *r)
{
	r->n_tiles = 0;
	for (size_t tile = 0; tile < t->tiles; tile++) {
		struct attention_bounds b = few_bounds(t, tile);
		bool seen = false;

		for (size_t i = first; i <= last && !seen; i++) {
			struct few_sight s = few_sight_of(t, i);

			seen = few_may_see(&s, &b);
		}
		r->tiles[r->n_tiles] = (int32_t)tile;
		r->n_tiles += seen;
	}
}

/* Where the keys of the tile after number AT of the list lie; NULL: none, or not side by side. */
static const uint8_t *keys_ahead(const struct attention *t, const struct room *r, size_t at)
{
	int64_t row;

	if (at + 1 >= r->n_tiles || (t->pages && t->a->page % ATTENTION_TILE != 0))
		return NULL;
	row = attention_row(t, (size_t)r->tiles[at + 1] * ATTENTION_TILE);
	return row < 0 ? NULL
		       : (const uint8_t *)t->k->data +
				 (size_t)row * attention_bytes(t->k, t->k->stride[0]);
}

/* Query I, which sees S, by number AT of the tiles, with heads FROM to TO - 1; the states follow each other. */
static void attend(const struct attention *t, const struct room *r, const struct few_sight *s,
		   size_t at, size_t from, size_t to, float *states)
{
	struct few_tile f = { t, from, to, r->q, r->rows, 0, r->scores, keys_ahead(t, r, at) };

	f.n = few_list(t, s, (size_t)r->tiles[at], r->rows);
	if (f.n)
		LEVEL_NAME(attention_few_tile)(&f, states);
	else
		begin(t, states, to - from);
}

/* Heads of I's query or tile that are among the items up to TO: the last, excluded. */
static size_t heads_to(const struct attention *t, size_t i, size_t to)
{
	size_t head = i % t->heads, left = to - i;

	return left < t->heads - head ? head + left : t->heads;
}

/* One query: tiles are kept apart. */
static void run_tiles(const struct kernel_call *c, const struct attention *t)
{
	struct few_sight s = few_sight_of(t, 0);
	struct room r = room_at(c, t);
	size_t from, to, last;

	find_tiles(t, 0, 0, &r);
	kernel_share(r.n_tiles * t->heads, 1, c->part, c->parts, &from, &to);
	load_query(t, 0, 0, t->heads, &r);
	for (size_t i = from; i < to; i += last - i % t->heads) {
		last = heads_to(t, i, to);
		attend(t, &r, &s, i / t->heads, i % t->heads, last, kept_at(c, t, i));
	}
}

static void run_joins(const struct kernel_call *c, const struct attention *t)
{
	struct room r = room_at(c, t);
	struct few_state all = few_state_at(t, r.states);
	size_t from, to;

	find_tiles(t, 0, 0, &r);
	kernel_share(t->heads, 1, c->part, c->parts, &from, &to);
	for (size_t head = from; head < to; head++) {
		begin(t, all.out, 1);
		for (size_t i = 0; i < r.n_tiles; i++) {
			struct few_state s = few_state_at(t, kept_at(c, t, i * t->heads + head));

			join(t, &all, &s);
		}
		finish(c, t, 0, head, &all);
	}
}

/* Items FROM to TO - 1, as far as they see number AT of the tiles. */
static void pass_tile(const struct kernel_call *c, const struct attention *t, const struct room *r,
		      size_t at, size_t from, size_t to)
{
	struct attention_bounds b = few_bounds(t, (size_t)r->tiles[at]);
	size_t last;

	for (size_t i = from; i < to; i += last - i % t->heads) {
		size_t query = i / t->heads, head = i % t->heads;
		struct few_sight s = few_sight_of(t, query);

		last = heads_to(t, i, to);
		if (!few_may_see(&s, &b))
			continue;
		load_query(t, query, head, last, r);
		attend(t, r, &s, at, head, last, r->states);
		for (size_t h = head; h < last; h++) {
			struct few_state all = few_state_at(t, kept_at(c, t, i + h - head));
			struct few_state one =
				few_state_at(t, r->states + (h - head) * few_state_floats(t));

			join(t, &all, &one);
		}
	}
}

static void run_queries(const struct kernel_call *c, const struct attention *t)
{
	struct room r = room_at(c, t);
	size_t from, to;

	kernel_share(t->rows * t->heads, 1, c->part, c->parts, &from, &to);
	if (from == to)
		return;
	find_tiles(t, from / t->heads, (to - 1) / t->heads, &r);
	begin(t, kept_at(c, t, from), to - from);
	for (size_t at = 0; at < r.n_tiles; at++)
		pass_tile(c, t, &r, at, from, to);
	for (size_t i = from; i < to; i++) {
		struct few_state all = few_state_at(t, kept_at(c, t, i));

		finish(c, t, i / t->heads, i % t->heads, &all);
	}
}

static void run(const struct kernel_call *c)
{
	struct attention t = attention_of(c, 0);

	if (t.rows == 0)
		return;
	if (t.rows > 1)
		run_queries(c, &t);
	else if (c->phase == 0)
		run_tiles(c, &t);
	else
		run_joins(c, &t);
}

static int phases(const struct kernel_call *c)
{
	return c->in[0].shape[0] > 1 ? 1 : 2;
}

/* --- what is claimed --- */

static bool cache_serves(const struct kernel_tensor *t)
{
	return (operand_is_float(t->dtype) || t->dtype == DTYPE_Q8_0) && t->n_axes == 3 &&
	       t->stride[2] == 1 && t->shape[2] % FEW_STRETCH == 0 && kernel_elements(t) > 0 &&
	       t->stride[0] >= 0 && t->stride[1] >= 0;
}

static bool claims(const struct kernel_call *c)
{
	struct attention t;

	if (!attention_side_by_side(&c->in[0]) || kernel_elements(&c->in[0]) == 0 ||
	    !cache_serves(&c->in[1]) || !cache_serves(&c->in[2]) ||
	    !attention_side_by_side(&c->out[0]) || c->out[1].dtype != DTYPE_F32)
		return false;
	t = attention_of(c, 0);
	return t.rows <= FEW_QUERIES && !t.bias && !t.mask;
}

const struct kernel LEVEL_NAME(attention_few);
const struct kernel LEVEL_NAME(attention_few) = {
	.op = "attention",
	.variant = "few-queries",
	.claims = claims,
	.scratch = scratch,
	.phases_of = phases,
	.run = run,
};
