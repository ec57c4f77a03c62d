/*
 * kernels/cpu/attention.h - what attention and its gradient share: who sees whom, and rows brought to f32
 *
 * Queries of all heads that share a head of keys are one list of columns: column c is query c / group of head c % group. Columns
 * and keys are cut into tiles of ATTENTION_TILE. What a query may see of causal order, window, and positions is one range of
 * positions, from LOW to HIGH; a key that is not there (its page is missing, its position negative or past all ranges) has the
 * position -1, which no range holds, and its row counts as zeros, whatever lies in the cache.
 */
#ifndef KERNELS_CPU_ATTENTION_H
#define KERNELS_CPU_ATTENTION_H

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/dequant.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"

#define ATTENTION_TILE \
 96 /* a multiple of every GEMM_ROWS and GEMM_COLUMNS, and of 8 bits of a mask */
#define ATTENTION_PANELS  (ATTENTION_TILE / GEMM_COLUMNS)
#define ATTENTION_VECTORS (GEMM_COLUMNS / SIMD_WIDTH)
#define ATTENTION_SQUARE  ((size_t)ATTENTION_TILE * ATTENTION_TILE) /* scores of two tiles */
#define ATTENTION_LOG2_E  1.4426950408889634
#define ATTENTION_LN_2	  0.69314718055994531

struct attention {
	const struct attention_attributes *a;
	const struct kernel_tensor *q, *k, *v;
	const struct kernel_tensor *bias, *mask, *q_documents, *k_documents, *q_positions,
		*k_positions, *pages; /* NULL: not there */
	size_t rows, keys, heads /* of keys */, group, dim, value_dim;
	size_t columns, blocks,
		tiles; /* of a head of keys: columns, and tiles of columns, of keys */
	float scale;
};

SIMD_INLINE size_t attention_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

SIMD_INLINE const struct kernel_tensor *attention_operand(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].n_axes ? &c->in[i] : NULL;
}

/* The operands of attention from FIRST on, in the order of ops.def. */
SIMD_INLINE struct attention attention_of(const struct kernel_call *c, int first)
{
	struct attention t = { .a = c->attributes };

	t.q = &c->in[first];
	t.k = &c->in[first + 1];
	t.v = &c->in[first + 2];
	t.bias = attention_operand(c, first + 3);
	t.mask = attention_operand(c, first + 4);
	t.q_documents = attention_operand(c, first + 5);
	t.k_documents = attention_operand(c, first + 6);
	t.q_positions = attention_operand(c, first + 7);
	t.k_positions = attention_operand(c, first + 8);
	t.pages = attention_operand(c, first + 9);
	if (!t.q_documents || !t.k_documents)
		t.q_documents = t.k_documents = NULL;
	t.rows = t.q->shape[0];
	t.keys = t.pages ? t.pages->shape[0] * t.a->page : t.k->shape[0];
	if (t.k_positions && t.k_positions->shape[0] < t.keys)
		t.keys = t.k_positions->shape[0];
	t.heads = t.k->shape[1];
	t.group = t.q->shape[1] / t.heads;
	t.dim = t.q->shape[2];
	t.value_dim = t.v->shape[2];
	t.columns = t.rows * t.group;
	t.blocks = (t.columns + ATTENTION_TILE - 1) / ATTENTION_TILE;
	t.tiles = (t.keys + ATTENTION_TILE - 1) / ATTENTION_TILE;
	t.scale = (float)(t.a->scale == 0 ? 1 / sqrt((double)t.dim) : t.a->scale);
	return t;
}

SIMD_INLINE int32_t attention_integer(const struct kernel_tensor *t, size_t at)
{
	return ((const int32_t *)t->data)[(ptrdiff_t)at * t->stride[0]];
}

/* --- what a query sees --- */

/* Without positions the last query stands at the last key. */
SIMD_INLINE int64_t attention_position(const struct attention *t, size_t i)
{
	return t->q_positions ? attention_integer(t->q_positions, i)
			      : (int64_t)(i + t->keys) - (int64_t)t->rows;
}

SIMD_INLINE void attention_range(const struct attention *t, size_t i, int32_t *low, int32_t *high)
{
	int64_t at = attention_position(t, i), from = 0, to = INT32_MAX;
	int64_t window = t->a->window < INT32_MAX ? (int64_t)t->a->window : 0;

	if (t->a->causal)
		to = at;
	if (window) {
		from = at - window + 1;
		to = t->a->causal ? at : at + window - 1;
	}
	*low = from < 0 ? 0 : from > INT32_MAX ? INT32_MAX : (int32_t)from;
	*high = to < -1 ? -1 : to > INT32_MAX ? INT32_MAX : (int32_t)to;
}

/* What some columns see, or where some keys stand. */
struct attention_bounds {
	int32_t low, high, first_document, last_document;
};

/* The columns of a tile; what any of them sees, and the positions that each does. */
struct attention_columns {
	int32_t low[ATTENTION_TILE], high[ATTENTION_TILE], document[ATTENTION_TILE];
	struct attention_bounds all;
	int32_t common_low, common_high;
};

SIMD_INLINE struct attention_bounds attention_bounds_of_columns(const struct attention_columns *q,
								size_t from, size_t to)
{
	struct attention_bounds b = { INT32_MAX, -1, INT32_MAX, INT32_MIN };

	for (size_t c = from; c < to; c++) {
		b.low = q->low[c] < b.low ? q->low[c] : b.low;
		b.high = q->high[c] > b.high ? q->high[c] : b.high;
		b.first_document =
			q->document[c] < b.first_document ? q->document[c] : b.first_document;
		b.last_document =
			q->document[c] > b.last_document ? q->document[c] : b.last_document;
	}
	return b;
}

/* N columns from FIRST on; those past the end are as the last. */
SIMD_INLINE void attention_columns_of(const struct attention *t, size_t first, size_t n,
				      struct attention_columns *out)
{
	for (size_t c = 0; c < ATTENTION_TILE; c++) {
		size_t i = (first + (c < n ? c : n - 1)) / t->group;

		attention_range(t, i, &out->low[c], &out->high[c]);
		out->document[c] = t->q_documents ? attention_integer(t->q_documents, i) : 0;
	}
	out->all = attention_bounds_of_columns(out, 0, ATTENTION_TILE);
	out->common_low = 0;
	out->common_high = INT32_MAX;
	for (size_t c = 0; c < ATTENTION_TILE; c++) {
		out->common_low = out->low[c] > out->common_low ? out->low[c] : out->common_low;
		out->common_high =
			out->high[c] < out->common_high ? out->high[c] : out->common_high;
	}
}

/* --- keys: position and document of each, in whole tiles --- */

struct attention_keys {
	int32_t *position, *document; /* [tiles * ATTENTION_TILE] */
	struct attention_bounds *all; /* [tiles] */
	int32_t *missing;	      /* [tiles]: 1 where some key is not there */
};

/* Their memory, in floats: FIRST points to so many. */
SIMD_INLINE size_t attention_keys_size(const struct attention *t)
{
	return attention_up(t->tiles * (2 * ATTENTION_TILE +
					sizeof(struct attention_bounds) / sizeof(float) + 1),
			    16);
}

SIMD_INLINE struct attention_keys attention_keys_in(const struct attention *t, void *first)
{
	struct attention_keys k = { .position = first };

	k.document = k.position + t->tiles * ATTENTION_TILE;
	k.all = (struct attention_bounds *)(void *)(k.document + t->tiles * ATTENTION_TILE);
	k.missing = (int32_t *)(k.all + t->tiles);
	return k;
}

/* Of the keys that are there. */
SIMD_INLINE struct attention_bounds attention_bounds_of_keys(const struct attention_keys *k,
							     size_t from, size_t to)
{
	struct attention_bounds b = { INT32_MAX, -1, INT32_MAX, INT32_MIN };

	for (size_t j = from; j < to; j++) {
		int32_t at = k->position[j], document = k->document[j];

		if (at < 0)
			continue;
		b.low = at < b.low ? at : b.low;
		b.high = at > b.high ? at : b.high;
		b.first_document = document < b.first_document ? document : b.first_document;
		b.last_document = document > b.last_document ? document : b.last_document;
	}
	return b;
}

/* The row of the cache that key J lies in; -1: its page is not there. */
SIMD_INLINE int64_t attention_row(const struct attention *t, size_t j)
{
	int64_t page, row;

	if (!t->pages)
		return (int64_t)j;
	page = attention_integer(t->pages, j / t->a->page);
	row = page * t->a->page + (int64_t)(j % t->a->page);
	return page < 0 || row >= (int64_t)t->k->shape[0] ? -1 : row;
}

/* The last position that any query sees. */
SIMD_INLINE int32_t attention_last(const struct attention *t)
{
	int32_t low, high, last = -1;

	for (size_t i = 0; i < t->rows; i++) {
		attention_range(t, i, &low, &high);
		last = high > last ? high : last;
	}
	return last;
}

/* This part's share of the keys. */
SIMD_INLINE void attention_keys_make(const struct kernel_call *c, const struct attention *t,
				     const struct attention_keys *k)
{
	int32_t last = attention_last(t);
	size_t from, to;

	kernel_share(t->tiles * ATTENTION_TILE, ATTENTION_TILE, c->part, c->parts, &from, &to);
	for (size_t j = from; j < to; j += ATTENTION_TILE)
		k->missing[j / ATTENTION_TILE] = 0;
	for (size_t j = from; j < to; j++) {
		int64_t at = -1;

		if (j < t->keys && attention_row(t, j) >= 0)
			at = t->k_positions ? attention_integer(t->k_positions, j) : (int64_t)j;
		k->position[j] = at < 0 || at > last ? -1 : (int32_t)at;
		k->missing[j / ATTENTION_TILE] |= k->position[j] < 0;
		k->document[j] =
			j < t->keys && t->k_documents ? attention_integer(t->k_documents, j) : 0;
	}
	for (size_t j = from; j < to; j += ATTENTION_TILE)
		k->all[j / ATTENTION_TILE] = attention_bounds_of_keys(k, j, j + ATTENTION_TILE);
}

/* --- what none or all see --- */

SIMD_INLINE bool attention_may_see(const struct attention_bounds *q,
				   const struct attention_bounds *k)
{
	return k->high >= q->low && k->low <= q->high && k->last_document >= q->first_document &&
	       k->first_document <= q->last_document;
}

/* Whether each column of a tile sees each key of TILE: most pairs of tiles are so, and need no look at each. */
SIMD_INLINE bool attention_whole(const struct attention_columns *q, const struct attention_keys *k,
				 size_t tile)
{
	const struct attention_bounds *b = &k->all[tile];

	return !k->missing[tile] && b->low >= q->common_low && b->high <= q->common_high &&
	       b->first_document == b->last_document &&
	       q->all.first_document == b->first_document &&
	       q->all.last_document == b->last_document;
}

/* Keys FROM to TO - 1 but for those at both ends that no column of Q sees. */
SIMD_INLINE void attention_trim_keys(const struct attention_bounds *q,
				     const struct attention_keys *k, size_t *from, size_t *to)
{
	struct attention_bounds one;

	while (*from < *to &&
	       (one = attention_bounds_of_keys(k, *from, *from + 1), !attention_may_see(q, &one)))
		++*from;
	while (*from < *to &&
	       (one = attention_bounds_of_keys(k, *to - 1, *to), !attention_may_see(q, &one)))
		--*to;
}

/* The same of columns, none of which sees a key of K. */
SIMD_INLINE void attention_trim_columns(const struct attention_columns *q,
					const struct attention_bounds *k, size_t *from, size_t *to)
{
	struct attention_bounds one;

	while (*from < *to && (one = attention_bounds_of_columns(q, *from, *from + 1),
			       !attention_may_see(&one, k)))
		++*from;
	while (*from < *to &&
	       (one = attention_bounds_of_columns(q, *to - 1, *to), !attention_may_see(&one, k)))
		--*to;
}

/* Whether each of columns FROM to TO - 1 sees each of keys FIRST to LAST - 1. */
SIMD_INLINE bool attention_all_see(const struct attention_columns *q, size_t from, size_t to,
				   const struct attention_keys *k, size_t first, size_t last)
{
	bool all = true;
	int32_t low = 0, high = INT32_MAX, document = q->document[from];

	for (size_t c = from; c < to; c++) {
		low = q->low[c] > low ? q->low[c] : low;
		high = q->high[c] < high ? q->high[c] : high;
		all &= q->document[c] == document;
	}
	for (size_t j = first; j < last; j++)
		all &= k->position[j] >= low && k->position[j] <= high &&
		       k->document[j] == document;
	return all;
}

/* --- rows of the operands as f32, one after another --- */

/* N elements of T, which may be a cache of whole blocks of Q8_0. */
SIMD_INLINE size_t attention_bytes(const struct kernel_tensor *t, ptrdiff_t n)
{
	return t->dtype == DTYPE_Q8_0 ? (size_t)n / 32 * 34 : operand_bytes(t->dtype, n);
}

SIMD_INLINE void attention_load(const struct kernel_tensor *t, int64_t row, size_t head, float *out)
{
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)head * t->stride[1];

	if (t->dtype == DTYPE_Q8_0)
		LEVEL_NAME(dequant_row)
	(t->dtype, (const uint8_t *)t->data + attention_bytes(t, at), out, t->shape[2]);
	else operand_load(t->dtype, operand_at(t, at), out, t->shape[2]);
}

/* A head's rows lie far apart: asked for some rows before they are loaded. */
#define ATTENTION_AHEAD 6
SIMD_INLINE void attention_ask(const struct kernel_tensor *t, int64_t row, size_t head)
{
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)head * t->stride[1];
	const uint8_t *p = (const uint8_t *)t->data + attention_bytes(t, at);

	for (size_t i = 0; i < attention_bytes(t, (ptrdiff_t)t->shape[2]); i += 64)
		__builtin_prefetch(p + i, 0, 3);
}

/* Row ROW of HEAD, or zeros when it is negative; with zeros up to STEP. */
SIMD_INLINE void attention_load_row(const struct kernel_tensor *t, int64_t row, size_t head,
				    size_t step, float *out)
{
	size_t n = row < 0 ? 0 : t->shape[2];

	if (n)
		attention_load(t, row, head, out);
	memset(out + n, 0, (step - n) * sizeof(*out));
}

/* Keys (or values) of TILE, STEP apart; N of them, and zeros for the rest of the tile. */
SIMD_INLINE void attention_load_keys(const struct attention *t, const struct kernel_tensor *x,
				     const struct attention_keys *k, size_t head, size_t tile,
				     size_t n, size_t step, float *out)
{
	for (size_t j = 0; j < n; j++) {
		size_t key = tile * ATTENTION_TILE + j;

		if (j + ATTENTION_AHEAD < n && k->position[key + ATTENTION_AHEAD] >= 0)
			attention_ask(x, attention_row(t, key + ATTENTION_AHEAD), head);
		attention_load_row(x, k->position[key] < 0 ? -1 : attention_row(t, key), head, step,
				   out + j * step);
	}
	memset(out + n * step, 0, (ATTENTION_TILE - n) * step * sizeof(*out));
}

/* Columns of HEAD from FIRST on out of X, which has q's rows and heads, times FACTOR, likewise. */
SIMD_INLINE void attention_load_columns(const struct attention *t, const struct kernel_tensor *x,
					size_t head, size_t first, size_t n, float factor,
					size_t step, float *out)
{
	for (size_t c = 0; c < n; c++) {
		size_t next = first + c + ATTENTION_AHEAD;

		if (c + ATTENTION_AHEAD < n)
			attention_ask(x, (int64_t)(next / t->group),
				      head * t->group + next % t->group);
		attention_load_row(x, (int64_t)((first + c) / t->group),
				   head * t->group + (first + c) % t->group, step, out + c * step);
	}
	for (size_t i = 0; i < n * step && factor != 1; i++)
		out[i] *= factor;
	memset(out + n * step, 0, (ATTENTION_TILE - n) * step * sizeof(*out));
}

/* The DIM elements of a tile's rows, STEP apart, across: panels of GEMM_COLUMNS rows, element k of all side by side. */
SIMD_INLINE void attention_turn(const float *rows, size_t dim, size_t step, float *out)
{
	for (size_t p = 0; p < ATTENTION_PANELS; p++)
		LEVEL_NAME(gemm_turn)
	(rows + p * GEMM_COLUMNS * step, GEMM_COLUMNS, dim, step, out + p * GEMM_COLUMNS * dim,
	 GEMM_COLUMNS);
}

/* Work is taken to and fro, so that parts have as much of what grows: the item of PART in ROUND. */
SIMD_INLINE size_t attention_turn_of(const struct kernel_call *c, size_t round)
{
	size_t part = (size_t)c->part, parts = (size_t)c->parts;

	return round * parts + (round % 2 ? parts - 1 - part : part);
}

/* --- probabilities --- */

/*
 * N vectors of 2^x where x is at most 127, side by side: one waits for itself at every step. 2^f, |f| <= 1/2, by the
 * polynomial of simd_exp_below. Below -126.5, where results would be subnormal: 0. NaN stays.
 */
SIMD_INLINE void attention_powers(vf32 *x, int n)
{
	const vf32 magic =
		simd_f32(0x1.8p23f + 127); /* rounds, and leaves n + 127 in the low bits */
	static const float terms[] = { 0.009671566164f, 0.05550734584f, 0.2402224118f, 0.693146974f,
				       1.0f };
	vf32 whole[4], p[4];

	SIMD_UNROLL
	for (int i = 0; i < n; i++)
		x[i] = simd_max(simd_f32(-127.0f), x[i]); /* NaN stays */
	SIMD_UNROLL
	for (int i = 0; i < n; i++)
		whole[i] = x[i] + magic;
	SIMD_UNROLL
	for (int i = 0; i < n; i++)
		x[i] = x[i] - (whole[i] - magic);
	SIMD_UNROLL
	for (int i = 0; i < n; i++)
		p[i] = simd_f32(0.001326465918f);
	SIMD_UNROLL
	for (int t = 0; t < 5; t++)
		SIMD_UNROLL
	for (int i = 0; i < n; i++)
		p[i] = simd_fma(p[i], x[i], simd_f32(terms[t]));
	SIMD_UNROLL
	for (int i = 0; i < n; i++)
		x[i] = p[i] * (vf32)((vi32)whole[i] << 23);
}

/* --- parts of a tile --- */

/* From a whole GEMM_ROWS on; none: FROM is TO. */
struct attention_span {
	size_t from, to;
};

/* What the panels of columns FIRST to LAST - 1 (of keys, or of columns) see, together. */
SIMD_INLINE struct attention_span attention_union(const struct attention_span *panels, size_t first,
						  size_t last)
{
	struct attention_span all = { ATTENTION_TILE, 0 };

	for (size_t p = first / GEMM_COLUMNS; p * GEMM_COLUMNS < last && p < ATTENTION_PANELS;
	     p++) {
		if (panels[p].from == panels[p].to)
			continue;
		all.from = panels[p].from < all.from ? panels[p].from : all.from;
		all.to = panels[p].to > all.to ? panels[p].to : all.to;
	}
	return all.to ? all : (struct attention_span){ 0, 0 };
}

/* --- bias and bits --- */

/*
 * What is added to the scores of query I of head H (of all heads) with N keys from KEY, a multiple of 8, on: the bias, and -inf
 * where the mask says no.
 */
SIMD_INLINE void attention_added(const struct attention *t, size_t i, size_t h, size_t key,
				 size_t n, float *out)
{
	if (t->bias) {
		const struct kernel_tensor *b = t->bias;
		ptrdiff_t at = (b->shape[0] == 1 ? 0 : (ptrdiff_t)h * b->stride[0]) +
			       (ptrdiff_t)i * b->stride[1] + (ptrdiff_t)key;

		operand_load(b->dtype, operand_at(b, at), out, n);
	} else {
		memset(out, 0, n * sizeof(*out));
	}
	if (t->mask) {
		const uint8_t *bits =
			(const uint8_t *)t->mask->data + (ptrdiff_t)i * t->mask->stride[0];

		for (size_t j = 0; j < n; j++)
			if (!(bits[(ptrdiff_t)((key + j) / 8) * t->mask->stride[1]] >> (j % 8) & 1))
				out[j] = -INFINITY;
	}
}

/* --- what is claimed --- */

SIMD_INLINE bool attention_side_by_side(const struct kernel_tensor *t)
{
	return operand_is_float(t->dtype) && t->n_axes == 3 &&
	       (t->stride[2] == 1 || t->shape[2] <= 1);
}

/* Keys or values of a cache of Q8_0. */
SIMD_INLINE bool attention_is_blocks(const struct kernel_tensor *t)
{
	return t->dtype == DTYPE_Q8_0 && t->n_axes == 3 && t->stride[2] == 1 && t->stride[0] >= 0 &&
	       t->stride[1] >= 0;
}

SIMD_INLINE bool attention_serves(const struct kernel_call *c, int first)
{
	for (int i = first; i < first + 3; i++)
		if (kernel_elements(&c->in[i]) == 0 ||
		    (!attention_side_by_side(&c->in[i]) &&
		     !(first == 0 && i > 0 && attention_is_blocks(&c->in[i]))))
			return false;
	return first + 3 >= c->n_in || c->in[first + 3].n_axes == 0 ||
	       attention_side_by_side(&c->in[first + 3]);
}

#endif
