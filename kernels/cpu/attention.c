/*
 * kernels/cpu/attention.c - attention in tiles, with the running softmax of Milakov and Gimelshein 2018 and Dao et al. 2022
 *
 * Scores are held transposed, keys down and columns (queries of all heads of a group) across: the left operand is K, and what
 * gemm_tile writes is, after the exponential, the right panel of the next product, V^T P. Largest score, sum and rescaling are
 * vectors over columns. For each tile of keys and each panel of columns:
 *
 *	s = K q,  m' = max(m, max s),  p = exp(s - m'),  l = l exp(m - m') + sum p,  o = o exp(m - m') + V^T p
 *
 * and out = o / l, log-sum-exp = m + log l. Floor: the multiply-adds of the two products; an exponential a score.
 *
 * Phase 0 finds where keys stand and, when more than one tile of columns wants them, packs K and V of all heads; with one (decoding)
 * each tile is packed where it is used. Phase 1: tiles of columns, each summed by one part over the keys in order. What is
 * not finite in a value reaches all columns of a panel that sees its tile.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/attention.h"

/* --- scratch: positions and documents of keys, packed keys and values, then rooms of parts --- */

struct sizes {
	size_t key, value; /* floats of a tile, packed */
	size_t keys, shared, room;
};

/* What a part works on. */
struct room {
	float *rows, *key, *value, *q, *out, *scores, *added;
	float *most, *sum; /* of each column */
};

static bool is_shared(const struct attention *t)
{
	return t->blocks > 1;
}

/* Rows of keys, values, results, or of what is added to scores: floats of each of ATTENTION_TILE. */
static size_t longest_row(const struct attention *t)
{
	size_t n = attention_up(t->value_dim, GEMM_ROWS);

	n = t->dim > n ? t->dim : n;
	return n > GEMM_COLUMNS ? n : GEMM_COLUMNS;
}

static struct sizes sizes_of(const struct attention *t)
{
	size_t value = attention_up(t->value_dim, GEMM_ROWS);
	struct sizes s = { .key = ATTENTION_TILE * t->dim, .value = ATTENTION_TILE * value };

	s.keys = attention_up(2 * t->tiles * ATTENTION_TILE, 16);
	s.shared = is_shared(t) ? t->heads * t->tiles * (s.key + s.value) : 0;
	s.room = ATTENTION_TILE * (longest_row(t) + 2 * t->dim + 2 * value + 2) +
		 2 * ATTENTION_PANEL;
	s.room = attention_up(s.room, 16);
	return s;
}

static size_t scratch(const struct kernel_call *c)
{
	struct attention t = attention_of(c, 0);
	struct sizes s = sizes_of(&t);

	return (s.keys + s.shared + (size_t)c->parts * s.room) * sizeof(float);
}

static struct attention_keys keys_at(const struct kernel_call *c, const struct attention *t)
{
	struct attention_keys k = { .position = c->scratch };

	k.document = k.position + t->tiles * ATTENTION_TILE;
	return k;
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
	r.added = r.scores + ATTENTION_PANEL;
	r.most = r.added + ATTENTION_PANEL;
	r.sum = r.most + ATTENTION_TILE;
	return r;
}

/* --- packing --- */

static size_t keys_in(const struct attention *t, size_t tile)
{
	size_t left = t->keys - tile * ATTENTION_TILE;

	return left < ATTENTION_TILE ? left : ATTENTION_TILE;
}

static void pack_tile(const struct attention *t, const struct attention_keys *k, size_t head,
		      size_t tile, float *rows, float *key, float *value)
{
	size_t n = keys_in(t, tile);

	attention_load_keys(t, t->k, k, head, tile, n, rows);
	attention_pack(rows, n, t->dim, false, GEMM_ROWS, key);
	attention_load_keys(t, t->v, k, head, tile, n, rows);
	attention_pack(rows, n, t->value_dim, true, GEMM_ROWS, value);
}

static float *shared_at(const struct kernel_call *c, const struct attention *t, size_t head,
			size_t tile)
{
	struct sizes s = sizes_of(t);

	return (float *)c->scratch + s.keys + (head * t->tiles + tile) * (s.key + s.value);
}

/* Each part looks at the keys of its own tiles, so that it needs no other's. */
static void pack_all(const struct kernel_call *c, const struct attention *t)
{
	struct attention_keys k = keys_at(c, t);
	struct sizes s = sizes_of(t);
	struct room r = room_at(c, t);
	size_t from, to;

	attention_keys_make(c, t, &k);
	kernel_share(t->tiles, 1, c->part, c->parts, &from, &to);
	for (size_t head = 0; head < t->heads && is_shared(t); head++)
		for (size_t tile = from; tile < to; tile++) {
			float *key = shared_at(c, t, head, tile);

			pack_tile(t, &k, head, tile, r.rows, key, key + s.key);
		}
}

/* --- one panel of columns and one tile of keys --- */

struct work {
	const struct attention *t;
	struct attention_columns columns;
	size_t head, first, n; /* columns of this tile */
	const float *key, *value;
	struct attention_keys k;
	size_t tile, keys; /* of the tile */
	size_t from, to;   /* those that the panel sees, from a whole GEMM_ROWS on */
	struct room r;
};

/* s = K q */
static void score(const struct work *w, size_t panel)
{
	size_t dim = w->t->dim;

	for (size_t j = w->from; j < w->to; j += GEMM_ROWS) {
		float *s = w->r.scores + j * GEMM_COLUMNS;

		memset(s, 0, (size_t)GEMM_ROWS * GEMM_COLUMNS * sizeof(*s));
		LEVEL_NAME(gemm_tile)
		(w->key + j * dim, w->r.q + panel * GEMM_COLUMNS * dim, dim, s, GEMM_COLUMNS);
	}
}

static void cap_scores(const struct work *w)
{
	vf32 cap = simd_f32((float)w->t->a->soft_cap);

	for (size_t i = w->from * GEMM_COLUMNS; i < w->to * GEMM_COLUMNS; i += SIMD_WIDTH) {
		float *s = w->r.scores + i;

		simd_store(s, cap * simd_tanh(simd_load(s) / cap));
	}
}

/* Bias and bits are read along the keys and turned. -inf, not what is there: that may be NaN. */
static void add_to_scores(const struct work *w, size_t panel)
{
	const struct attention *t = w->t;
	const vf32 never = simd_f32(-INFINITY);

	for (size_t c = 0; c < GEMM_COLUMNS; c++) {
		size_t column = panel * GEMM_COLUMNS + c, at;

		at = w->first + (column < w->n ? column : w->n - 1);
		attention_added(t, at / t->group, w->head * t->group + at % t->group,
				w->tile * ATTENTION_TILE, w->to, w->r.rows + c * ATTENTION_TILE);
	}
	LEVEL_NAME(gemm_turn)
	(w->r.rows, GEMM_COLUMNS, w->to, ATTENTION_TILE, w->r.added, GEMM_COLUMNS);
	for (size_t i = w->from * GEMM_COLUMNS; i < w->to * GEMM_COLUMNS; i += SIMD_WIDTH) {
		vf32 added = simd_load(w->r.added + i), s = simd_load(w->r.scores + i) + added;

		simd_store(w->r.scores + i, simd_select(added == never, s, never));
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

		for (size_t j = w->from; j < w->to; j++) {
			float *s = w->r.scores + j * GEMM_COLUMNS + v * SIMD_WIDTH;
			size_t key = w->tile * ATTENTION_TILE + j;
			vi32 at = (vi32){ 0 } + w->k.position[key];
			vi32 hidden = (at < low) | (at > high) | (document != w->k.document[key]);

			simd_store(s, simd_select(hidden, simd_load(s), never));
		}
	}
}

/* p = exp(s - m'); the running m and l of vector V of the panel; what o is to be multiplied by. */
static vf32 exponentials(const struct work *w, size_t panel, size_t v)
{
	float *s = w->r.scores + v * SIMD_WIDTH;
	float *most = w->r.most + panel * GEMM_COLUMNS + v * SIMD_WIDTH;
	float *sum = w->r.sum + panel * GEMM_COLUMNS + v * SIMD_WIDTH;
	vf32 before = simd_load(most), m = before, safe, factor, l = { 0 };

	for (size_t j = w->from; j < w->to; j++)
		m = simd_max(m, simd_load(s + j * GEMM_COLUMNS));
	/* No key seen yet: any number that is not infinite. */
	safe = simd_select(m == simd_f32(-INFINITY), m, (vf32){ 0 });
	for (size_t j = w->from; j < w->to; j++) {
		vf32 p = simd_exp(simd_load(s + j * GEMM_COLUMNS) - safe);

		simd_store(s + j * GEMM_COLUMNS, p);
		l += p;
	}
	factor = simd_exp(before - safe);
	simd_store(sum, simd_fma(simd_load(sum), factor, l));
	simd_store(most, m);
	return factor;
}

/* o = o factor + V^T p */
static void add_values(const struct work *w, size_t panel, const vf32 *factor)
{
	size_t value = attention_up(w->t->value_dim, GEMM_ROWS);
	float *out = w->r.out + panel * GEMM_COLUMNS * value;
	bool same = true;

	for (size_t v = 0; v < ATTENTION_VECTORS; v++)
		same = same && !simd_any(factor[v] != simd_f32(1.0f));
	for (size_t e = 0; e < value && !same; e++)
		for (size_t v = 0; v < ATTENTION_VECTORS; v++) {
			float *o = out + e * GEMM_COLUMNS + v * SIMD_WIDTH;

			simd_store(o, simd_load(o) * factor[v]);
		}
	for (size_t e = 0; e < value; e += GEMM_ROWS)
		LEVEL_NAME(gemm_tile)
	(w->value + e * w->keys + w->from * GEMM_ROWS, w->r.scores + w->from * GEMM_COLUMNS,
	 w->to - w->from, out + e * GEMM_COLUMNS, GEMM_COLUMNS);
}

static void attend(const struct work *w, size_t panel)
{
	size_t c = panel * GEMM_COLUMNS, tile = w->tile * ATTENTION_TILE;
	vf32 factor[ATTENTION_VECTORS];

	score(w, panel);
	if (w->t->a->soft_cap)
		cap_scores(w);
	if (w->t->bias || w->t->mask)
		add_to_scores(w, panel);
	if (!attention_all_see(&w->columns, c, c + GEMM_COLUMNS, &w->k, tile + w->from,
			       tile + w->to))
		hide(w, panel);
	for (size_t v = 0; v < ATTENTION_VECTORS; v++)
		factor[v] = exponentials(w, panel, v);
	add_values(w, panel, factor);
}

/* --- a tile of columns --- */

static void begin(const struct work *w, const struct attention *t)
{
	size_t value = attention_up(t->value_dim, GEMM_ROWS);

	attention_load_columns(t, t->q, w->head, w->first, w->n, t->scale, w->r.rows);
	attention_pack(w->r.rows, w->n, t->dim, false, GEMM_COLUMNS, w->r.q);
	memset(w->r.out, 0, ATTENTION_TILE * value * sizeof(float));
	for (size_t c = 0; c < ATTENTION_TILE; c++) {
		w->r.most[c] = -INFINITY;
		w->r.sum[c] = 0;
	}
}

/* out = o / l; 0 where no key was seen. */
static void finish(const struct kernel_call *c, const struct work *w, const struct attention *t)
{
	const struct kernel_tensor *out = &c->out[0], *lse = &c->out[1];
	size_t value = attention_up(t->value_dim, GEMM_ROWS), dim = t->value_dim;

	for (size_t p = 0; p * GEMM_COLUMNS < w->n; p++)
		LEVEL_NAME(gemm_turn)
	(w->r.out + p * GEMM_COLUMNS * value, value, GEMM_COLUMNS, GEMM_COLUMNS,
	 w->r.rows + p * GEMM_COLUMNS * value, value);
	for (size_t i = 0; i < w->n; i++) {
		size_t row = (w->first + i) / t->group;
		size_t head = w->head * t->group + (w->first + i) % t->group;
		float *o = w->r.rows + i * value, sum = w->r.sum[i], factor = 1 / sum;
		ptrdiff_t at = (ptrdiff_t)row * out->stride[0] + (ptrdiff_t)head * out->stride[1];

		for (size_t e = 0; e < dim; e++)
			o[e] = sum == 0 ? 0 : o[e] * factor;
		operand_store(out->dtype, o, (uint8_t *)out->data + operand_bytes(out->dtype, at),
			      dim);
		((float *)lse->data)[(ptrdiff_t)row * lse->stride[0] +
				     (ptrdiff_t)head * lse->stride[1]] = w->r.most[i] + logf(sum);
	}
}

/* Whether any column of PANEL sees a key of the tile, and which. */
static bool find_span(struct work *w, size_t panel)
{
	size_t c = panel * GEMM_COLUMNS, first = w->tile * ATTENTION_TILE;
	struct attention_bounds q = attention_bounds_of_columns(&w->columns, c, c + GEMM_COLUMNS);
	size_t from = first, to = first + w->keys;

	attention_trim_keys(&q, &w->k, &from, &to);
	w->from = (from - first) / GEMM_ROWS * GEMM_ROWS;
	w->to = to - first;
	return from < to;
}

static void attend_tile(const struct kernel_call *c, struct work *w)
{
	const struct attention *t = w->t;

	w->keys = keys_in(t, w->tile);
	w->key = w->value = NULL;
	for (size_t p = 0; p * GEMM_COLUMNS < w->n; p++) {
		if (!find_span(w, p))
			continue;
		if (!w->key && is_shared(t)) {
			w->key = shared_at(c, t, w->head, w->tile);
			w->value = w->key + sizes_of(t).key;
		} else if (!w->key) {
			pack_tile(t, &w->k, w->head, w->tile, w->r.rows, w->r.key, w->r.value);
			w->key = w->r.key;
			w->value = w->r.value;
		}
		attend(w, p);
	}
}

/* Taken in turn, so that parts have as much of causal work. */
static void run_blocks(const struct kernel_call *c, const struct attention *t)
{
	for (size_t i = (size_t)c->part; i < t->heads * t->blocks; i += (size_t)c->parts) {
		struct work w = { .t = t, .head = i / t->blocks, .r = room_at(c, t) };

		w.k = keys_at(c, t);
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
		pack_all(c, &t);
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
