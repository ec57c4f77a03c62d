/*
 * kernels/cpu/attention_few.c - attention of few queries (decoding), where reading keys and values is the work
 *
 * Every query is alone with its keys: those that it sees of a tile are listed, keys and values are read where they lie, in the dtype
 * of the cache, once for all heads that share them. A tile gives
 *
 *	m = max s,  l = sum exp(s - m),  o = sum exp(s - m) v
 *
 * which are joined tile after tile: M = max(m, m'), and l and o of either times exp(m - M). A query's bits depend on nothing but the
 * keys that it sees, tile by tile. Of one query a (head, tile) is an item of the shares, and phase 1 joins; of more a head is.
 */
#include "kernels/cpu/level.h"

#include "kernels/blocks.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/dequant.h"
#include "kernels/cpu/vector.h"

#define FEW_QUERIES 32
#define TOGETHER    4  /* heads at once */
#define KEYS	    2  /* keys at once */
#define STRETCH	    32 /* of a row: dims are multiples of it */
#define AHEAD	    24 /* rows that are asked for: memory answers in the time of as many */

/* Of all heads of a group, over the keys so far. */
struct state {
	float *most, *sum; /* [group] */
	float *out;	   /* [group, value_dim] */
};

/* What a part works with. */
struct room {
	float *q;      /* [group, dim], times the scale */
	float *scores; /* [group, ATTENTION_TILE] */
	struct state tile, all;
	int32_t *rows;		     /* [ATTENTION_TILE]: of the cache, those that are seen */
	size_t ask_keys, ask_values; /* bytes of a row that are asked for */
	struct attention_bounds
		*tiles; /* of more queries than one: where the keys of each tile stand */
};

static size_t state_floats(const struct attention *t)
{
	return attention_up(t->group * (t->value_dim + 2), 16);
}

static struct state state_at(const struct attention *t, float *p)
{
	return (struct state){ .most = p + t->group * t->value_dim,
			       .sum = p + t->group * (t->value_dim + 1),
			       .out = p };
}

static size_t bounds_floats(const struct attention *t)
{
	return t->rows > 1 ? attention_up(
				     t->tiles * sizeof(struct attention_bounds) / sizeof(float), 16)
			   : 0;
}

static size_t room_floats(const struct attention *t)
{
	return attention_up(t->group * (t->dim + ATTENTION_TILE) + ATTENTION_TILE, 16) +
	       2 * state_floats(t) + bounds_floats(t);
}

static size_t tiles_of(const struct attention *t)
{
	return t->rows == 1 ? t->heads * t->tiles : 0;
}

static size_t scratch(const struct kernel_call *c)
{
	struct attention t = attention_of(c, 0);

	return (t.heads * t.tiles * state_floats(&t) + (size_t)c->parts * room_floats(&t)) *
	       sizeof(float);
}

/* Parts come first: where they lie does not depend on how many keys there are. */
static struct room room_at(const struct kernel_call *c, const struct attention *t)
{
	float *p = (float *)c->scratch + (size_t)c->part * room_floats(t);
	struct room r = { .tile = state_at(t, p), .all = state_at(t, p + state_floats(t)) };

	r.q = p + 2 * state_floats(t);
	r.scores = r.q + t->group * t->dim;
	r.rows = (int32_t *)(r.scores + t->group * ATTENTION_TILE);
	r.tiles = (struct attention_bounds *)(p + room_floats(t) - bounds_floats(t));
	return r;
}

static struct state kept_at(const struct kernel_call *c, const struct attention *t, size_t item)
{
	float *p = (float *)c->scratch + (size_t)c->parts * room_floats(t);

	return state_at(t, p + item * state_floats(t));
}

/* --- which keys --- */

/* Rows of the cache of keys one after the other: attention_row() without its divisions. */
struct walk {
	size_t page, within;
};

static int64_t next_row(const struct attention *t, struct walk *w)
{
	size_t size = t->pages ? t->a->page : SIZE_MAX, within = w->within;
	int64_t page = t->pages ? attention_integer(t->pages, w->page) : 0, row;

	row = page * (int64_t)(t->pages ? size : 0) + (int64_t)within;
	if (++w->within == size)
		*w = (struct walk){ w->page + 1, 0 };
	return page < 0 || row >= (int64_t)t->k->shape[0] ? -1 : row;
}

/* Lists the rows of the cache of the keys of TILE that query I sees; how many. */
static size_t find_keys(const struct attention *t, size_t i, size_t tile, int32_t *rows)
{
	size_t from = tile * ATTENTION_TILE, n = t->keys - from, seen = 0;
	struct walk w = { t->pages ? from / t->a->page : 0, t->pages ? from % t->a->page : from };
	int32_t low, high, document = t->q_documents ? attention_integer(t->q_documents, i) : 0;

	n = n < ATTENTION_TILE ? n : ATTENTION_TILE;
	attention_range(t, i, &low, &high);
	for (size_t j = from; j < from + n; j++) {
		int32_t at = t->k_positions ? attention_integer(t->k_positions, j) : (int32_t)j;
		int64_t row = next_row(t, &w);

		rows[seen] = (int32_t)row;
		seen += row >= 0 && at >= 0 && at >= low && at <= high &&
			(!t->k_documents || attention_integer(t->k_documents, j) == document);
	}
	return seen;
}

/* Where the keys of TILE stand that are there. */
static struct attention_bounds find_bounds(const struct attention *t, size_t tile)
{
	struct attention_bounds b = { INT32_MAX, -1, INT32_MAX, INT32_MIN };
	size_t from = tile * ATTENTION_TILE, n = t->keys - from;

	n = n < ATTENTION_TILE ? n : ATTENTION_TILE;
	for (size_t j = from; j < from + n; j++) {
		int32_t at = t->k_positions ? attention_integer(t->k_positions, j) : (int32_t)j;
		int32_t document = t->k_documents ? attention_integer(t->k_documents, j) : 0;

		b.low = at >= 0 && at < b.low ? at : b.low;
		b.high = at > b.high ? at : b.high;
		b.first_document = document < b.first_document ? document : b.first_document;
		b.last_document = document > b.last_document ? document : b.last_document;
	}
	return b;
}

static struct attention_bounds bounds_of_query(const struct attention *t, size_t i)
{
	struct attention_bounds b;

	attention_range(t, i, &b.low, &b.high);
	b.first_document = t->q_documents ? attention_integer(t->q_documents, i) : 0;
	b.last_document = b.first_document;
	return b;
}

/* --- rows of the cache, two vectors at a time --- */

static const uint8_t *head_of(const struct kernel_tensor *t, size_t head)
{
	return (const uint8_t *)t->data + attention_bytes(t, (ptrdiff_t)head * t->stride[1]);
}

/* Elements I on, I a multiple of two vectors, of the row at P. D is a constant. */
SIMD_INLINE void load_two(enum dtype d, const uint8_t *p, size_t i, vf32 v[2])
{
	if (d == DTYPE_Q8_0) {
		const struct block_q8_0 *b = (const struct block_q8_0 *)p + i / 32;
		vf32 scale = simd_f32(half_to_f32(load_u16(b->d)));

		v[0] = scale * dequant_floats(b->qs + i % 32);
		v[1] = scale * dequant_floats(b->qs + i % 32 + SIMD_WIDTH);
		return;
	}
	v[0] = vector_load(d, p + operand_bytes(d, (ptrdiff_t)i));
	v[1] = vector_load(d, p + operand_bytes(d, (ptrdiff_t)(i + SIMD_WIDTH)));
}

SIMD_INLINE void ask(const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(p + i, 0, 2);
}

/* --- scores --- */

/* HEADS of them by N keys, at ROW bytes from P: SCORES[h * ATTENTION_TILE + k]. D, HEADS and N are constants. */
SIMD_INLINE void key_scores(enum dtype d, size_t heads, size_t n, const uint8_t *const *p,
			    const float *q, size_t dim, float *scores)
{
	vf32 sum[TOGETHER * KEYS];

	SIMD_UNROLL
	for (size_t i = 0; i < heads * n; i++)
		sum[i] = (vf32){ 0 };
	for (size_t i = 0; i < dim; i += 2 * SIMD_WIDTH) {
		vf32 k[KEYS][2];

		SIMD_UNROLL
		for (size_t j = 0; j < n; j++)
			load_two(d, p[j], i, k[j]);
		SIMD_UNROLL
		for (size_t h = 0; h < heads; h++)
			SIMD_UNROLL
		for (size_t v = 0; v < 2; v++) {
			vf32 x = simd_load(q + h * dim + i + v * SIMD_WIDTH);

			SIMD_UNROLL
			for (size_t j = 0; j < n; j++)
				sum[h * n + j] = simd_fma(x, k[j][v], sum[h * n + j]);
		}
	}
	SIMD_UNROLL
	for (size_t h = 0; h < heads; h++)
		SIMD_UNROLL
	for (size_t j = 0; j < n; j++)
		scores[h * ATTENTION_TILE + j] = rows_sum(sum[h * n + j]);
}

SIMD_INLINE void scores_of(enum dtype d, size_t heads, const struct attention *t,
			   const struct room *r, size_t head, size_t first, size_t n)
{
	const uint8_t *k = head_of(t->k, head), *v = head_of(t->v, head);
	size_t key_step = attention_bytes(t->k, t->k->stride[0]);
	size_t value_step = attention_bytes(t->v, t->v->stride[0]);
	const float *q = r->q + first * t->dim;
	float *scores = r->scores + first * ATTENTION_TILE;
	size_t j = 0;

	for (; j < n; j += KEYS) {
		const uint8_t *p[KEYS];

		for (size_t i = 0; i < KEYS; i++) {
			size_t at = j + i < n ? j + i : n - 1, later = at + AHEAD;

			p[i] = k + (size_t)r->rows[at] * key_step;
			if (first == 0 && later < n)
				ask(k + (size_t)r->rows[later] * key_step, r->ask_keys);
			/* Values come next. */
			if (first == 0)
				ask(v + (size_t)r->rows[at] * value_step, r->ask_values);
		}
		if (j + KEYS <= n)
			key_scores(d, heads, KEYS, p, q, t->dim, scores + j);
		else
			key_scores(d, heads, 1, p, q, t->dim, scores + j);
	}
}

/* --- what follows --- */

/* exp of the scores less their largest, of one head; zeros behind. */
static void exponentials(const struct attention *t, float *s, size_t n, float *most, float *sum)
{
	vf32 cap = simd_f32((float)t->a->soft_cap), m = simd_f32(-INFINITY), l = { 0 };
	size_t whole = (n + SIMD_WIDTH - 1) / SIMD_WIDTH * SIMD_WIDTH;
	float lane[SIMD_WIDTH], largest = -INFINITY;
	vf32 safe;

	for (size_t j = n; j < whole; j++)
		s[j] = -INFINITY;
	for (size_t j = 0; j < n && t->a->soft_cap != 0; j += SIMD_WIDTH) {
		vf32 x = cap * simd_tanh(simd_load(s + j) / cap);
		vi32 there = simd_load(s + j) > simd_f32(-INFINITY);

		/* What stands behind stays -inf; NaN stays. */
		there |= simd_load(s + j) != simd_load(s + j);
		simd_store(s + j,
			   j + SIMD_WIDTH <= n ? x : simd_select(there, simd_load(s + j), x));
	}
	for (size_t j = 0; j < whole; j += SIMD_WIDTH)
		m = simd_max(m, simd_load(s + j));
	simd_store(lane, m);
	for (size_t i = 0; i < SIMD_WIDTH; i++)
		largest = lane[i] > largest || lane[i] != lane[i] ? lane[i] : largest;
	safe = simd_f32(largest == -INFINITY ? 0 : largest);
	for (size_t j = 0; j < whole; j += SIMD_WIDTH) {
		vf32 p = simd_exp_below(simd_load(s + j) - safe);

		simd_store(s + j, p);
		l += p;
	}
	*most = largest;
	*sum = rows_sum(l);
}

/* OUT[h] = sum of p v over N keys, of HEADS heads from FIRST on. */
SIMD_INLINE void values_of(enum dtype d, size_t heads, const struct attention *t,
			   const struct room *r, size_t head, size_t first, size_t n)
{
	const uint8_t *base = head_of(t->v, head);
	size_t step = attention_bytes(t->v, t->v->stride[0]);
	const float *p = r->scores + first * ATTENTION_TILE;
	float *out = r->tile.out + first * t->value_dim;

	for (size_t e = 0; e < t->value_dim; e += 2 * SIMD_WIDTH) {
		vf32 sum[TOGETHER][2];

		SIMD_UNROLL
		for (size_t h = 0; h < heads; h++)
			sum[h][0] = sum[h][1] = (vf32){ 0 };
		for (size_t j = 0; j < n; j++) {
			vf32 v[2];

			load_two(d, base + (size_t)r->rows[j] * step, e, v);
			SIMD_UNROLL
			for (size_t h = 0; h < heads; h++) {
				vf32 by = simd_broadcast(p + h * ATTENTION_TILE + j);

				sum[h][0] = simd_fma(by, v[0], sum[h][0]);
				sum[h][1] = simd_fma(by, v[1], sum[h][1]);
			}
		}
		SIMD_UNROLL
		for (size_t h = 0; h < heads; h++) {
			simd_store(out + h * t->value_dim + e, sum[h][0]);
			simd_store(out + h * t->value_dim + e + SIMD_WIDTH, sum[h][1]);
		}
	}
}

#define EACH_DTYPE(X) X(F32) X(F16) X(BF16) X(Q8_0)

/* HEADS is a constant. */
SIMD_INLINE void some_scores(size_t heads, const struct attention *t, const struct room *r,
			     size_t head, size_t first, size_t n)
{
	switch (t->k->dtype) {
#define SCORES(d) \
 case DTYPE_##d: scores_of(DTYPE_##d, heads, t, r, head, first, n); return;
		EACH_DTYPE(SCORES)
#undef SCORES
	default: return;
	}
}

SIMD_INLINE void some_values(size_t heads, const struct attention *t, const struct room *r,
			     size_t head, size_t first, size_t n)
{
	switch (t->v->dtype) {
#define VALUES(d) \
 case DTYPE_##d: values_of(DTYPE_##d, heads, t, r, head, first, n); return;
		EACH_DTYPE(VALUES)
#undef VALUES
	default: return;
	}
}

static void heads_together(bool values, const struct attention *t, const struct room *r,
			   size_t head, size_t first, size_t n)
{
	switch (t->group - first) {
	case 1:
		values ? some_values(1, t, r, head, first, n)
		       : some_scores(1, t, r, head, first, n);
		return;
	case 2:
		values ? some_values(2, t, r, head, first, n)
		       : some_scores(2, t, r, head, first, n);
		return;
	case 3:
		values ? some_values(3, t, r, head, first, n)
		       : some_scores(3, t, r, head, first, n);
		return;
	default:
		values ? some_values(4, t, r, head, first, n)
		       : some_scores(4, t, r, head, first, n);
		return;
	}
}

static void begin(const struct attention *t, struct state *s)
{
	memset(s->out, 0, t->group * t->value_dim * sizeof(float));
	for (size_t h = 0; h < t->group; h++) {
		s->most[h] = -INFINITY;
		s->sum[h] = 0;
	}
}

/* All heads that share HEAD, over the N keys that are listed, to r->tile. */
static void attend(const struct attention *t, const struct room *r, size_t head, size_t n)
{
	struct state none = r->tile;

	if (n == 0) {
		begin(t, &none);
		return;
	}
	for (size_t h = 0; h < t->group; h += TOGETHER)
		heads_together(false, t, r, head, h, n);
	for (size_t h = 0; h < t->group; h++)
		exponentials(t, r->scores + h * ATTENTION_TILE, n, r->tile.most + h,
			     r->tile.sum + h);
	for (size_t h = 0; h < t->group; h += TOGETHER)
		heads_together(true, t, r, head, h, n);
}

/* --- joining --- */

static float exp_of(float x)
{
	return simd_exp_below(simd_f32(x))[0];
}

/* A tile without a key that counts is left out. */
static bool is_empty(const struct attention *t, const struct state *s)
{
	for (size_t h = 0; h < t->group; h++)
		if (s->most[h] != -INFINITY || s->sum[h] != 0)
			return false;
	return true;
}

static void join(const struct attention *t, struct state *all, const struct state *s)
{
	if (is_empty(t, s))
		return;
	for (size_t h = 0; h < t->group; h++) {
		float m = all->most[h], n = s->most[h], most = n > m || n != n ? n : m;
		float safe = most == -INFINITY ? 0 : most;
		vf32 old = simd_f32(exp_of(m - safe)), new = simd_f32(exp_of(n - safe));
		float *o = all->out + h * t->value_dim;
		const float *x = s->out + h * t->value_dim;

		for (size_t e = 0; e < t->value_dim; e += SIMD_WIDTH)
			simd_store(o + e, simd_fma(simd_load(x + e), new, simd_load(o + e) * old));
		all->sum[h] = all->sum[h] * old[0] + s->sum[h] * new[0];
		all->most[h] = most;
	}
}

/* out = o / l; 0 where no key was seen. */
static void finish(const struct kernel_call *c, const struct attention *t, size_t i, size_t head,
		   const struct state *s)
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

static void load_query(const struct attention *t, size_t i, size_t head, const struct room *r)
{
	for (size_t h = 0; h < t->group; h++)
		attention_load(t->q, (int64_t)i, head * t->group + h, r->q + h * t->dim);
	for (size_t e = 0; e < t->group * t->dim; e++)
		r->q[e] *= t->scale;
}

/*
 * One query: tiles are kept apart. Without a key: the sum 0. All heads of a tile follow each other, the first of them asks for
 * whole rows: so memory is read in its order.
 */
static void run_tiles(const struct kernel_call *c, const struct attention *t)
{
	struct room r = room_at(c, t);
	size_t from, to, n = 0;

	kernel_share(tiles_of(t), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t head = i % t->heads;

		/* The keys of a tile are those of all heads. */
		if (i == from || head == 0)
			n = find_keys(t, 0, i / t->heads, r.rows);
		load_query(t, 0, head, &r);
		r.tile = kept_at(c, t, i);
		r.ask_keys = head ? 0 : attention_bytes(t->k, t->k->stride[0]);
		r.ask_values = head ? 0 : attention_bytes(t->v, t->v->stride[0]);
		attend(t, &r, head, n);
	}
}

static void run_joins(const struct kernel_call *c, const struct attention *t)
{
	struct room r = room_at(c, t);
	size_t from, to;

	kernel_share(t->heads, 1, c->part, c->parts, &from, &to);
	for (size_t head = from; head < to; head++) {
		begin(t, &r.all);
		for (size_t tile = 0; tile < t->tiles; tile++) {
			struct state s = kept_at(c, t, tile * t->heads + head);

			join(t, &r.all, &s);
		}
		finish(c, t, 0, head, &r.all);
	}
}

/* More: what lies in other documents' tiles is not looked at. */
static void run_queries(const struct kernel_call *c, const struct attention *t)
{
	struct room r = room_at(c, t);
	size_t from, to;

	r.ask_keys = attention_bytes(t->k, (ptrdiff_t)t->dim);
	r.ask_values = attention_bytes(t->v, (ptrdiff_t)t->value_dim);
	kernel_share(t->rows * t->heads, 1, c->part, c->parts, &from, &to);
	for (size_t tile = 0; tile < t->tiles; tile++)
		r.tiles[tile] = find_bounds(t, tile);
	for (size_t item = from; item < to; item++) {
		size_t i = item / t->heads, head = item % t->heads;
		struct attention_bounds q = bounds_of_query(t, i);

		load_query(t, i, head, &r);
		begin(t, &r.all);
		for (size_t tile = 0; tile < t->tiles; tile++) {
			if (!attention_may_see(&q, &r.tiles[tile]))
				continue;
			attend(t, &r, head, find_keys(t, i, tile, r.rows));
			join(t, &r.all, &r.tile);
		}
		finish(c, t, i, head, &r.all);
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
	       t->stride[2] == 1 && t->shape[2] % STRETCH == 0 && kernel_elements(t) > 0 &&
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
