/*
 * kernels/cpu/attention_few_keys.h - which keys of a tile a query sees, and where they lie in the cache
 */
#ifndef KERNELS_CPU_ATTENTION_FEW_KEYS_H
#define KERNELS_CPU_ATTENTION_FEW_KEYS_H

#include "kernels/cpu/attention.h"

/* What one query sees. */
struct few_sight {
	int32_t low, high, document;
};

SIMD_INLINE struct few_sight few_sight_of(const struct attention *t, size_t i)
{
	struct few_sight s = { .document =
				       t->q_documents ? attention_integer(t->q_documents, i) : 0 };

	attention_range(t, i, &s.low, &s.high);
	return s;
}

SIMD_INLINE size_t few_keys_in(const struct attention *t, size_t tile)
{
	size_t n = t->keys - tile * ATTENTION_TILE;

	return n < ATTENTION_TILE ? n : ATTENTION_TILE;
}

/* Keys whose positions (and documents) are vectors in memory: those of whole tiles of a cache. */
SIMD_INLINE bool few_keys_lie_well(const struct attention *t, size_t tile)
{
	return few_keys_in(t, tile) == ATTENTION_TILE && t->k_positions &&
	       t->k_positions->stride[0] == 1 &&
	       (!t->k_documents || t->k_documents->stride[0] == 1);
}

SIMD_INLINE vi32 few_integers(const struct kernel_tensor *t, size_t at)
{
	return t ? (vi32)simd_load((const int32_t *)t->data + at) : (vi32){ 0 };
}

SIMD_INLINE vi32 few_pick(vi32 mask, vi32 x, vi32 y)
{
	return (mask & x) | (~mask & y);
}

/* --- where the keys of a tile stand that are there --- */

SIMD_INLINE void few_bounds_add(struct attention_bounds *b, int32_t at, int32_t document)
{
	b->low = at >= 0 && at < b->low ? at : b->low;
	b->high = at > b->high ? at : b->high;
	b->first_document = document < b->first_document ? document : b->first_document;
	b->last_document = document > b->last_document ? document : b->last_document;
}

SIMD_INLINE struct attention_bounds few_bounds_well(const struct attention *t, size_t from)
{
	struct attention_bounds b = { INT32_MAX, -1, INT32_MAX, INT32_MIN };
	vi32 low = (vi32){ 0 } + INT32_MAX, high = (vi32){ 0 } - 1;
	vi32 first = few_integers(t->k_documents, from), last = first;

	for (size_t j = from; j < from + ATTENTION_TILE; j += SIMD_WIDTH) {
		vi32 at = few_integers(t->k_positions, j);
		vi32 document = few_integers(t->k_documents, j);

		low = few_pick((at >= 0) & (at < low), at, low);
		high = few_pick(at > high, at, high);
		first = few_pick(document < first, document, first);
		last = few_pick(document > last, document, last);
	}
	for (size_t i = 0; i < SIMD_WIDTH; i++) {
		few_bounds_add(&b, low[i], first[i]);
		few_bounds_add(&b, high[i], last[i]);
	}
	return b;
}

/* Documents are those of the whole tile. */
SIMD_INLINE struct attention_bounds few_bounds(const struct attention *t, size_t tile)
{
	struct attention_bounds b = { INT32_MAX, -1, INT32_MAX, INT32_MIN };
	size_t from = tile * ATTENTION_TILE;

	if (few_keys_lie_well(t, tile))
		return few_bounds_well(t, from);
	for (size_t j = from; j < from + few_keys_in(t, tile); j++)
		few_bounds_add(&b,
			       t->k_positions ? attention_integer(t->k_positions, j) : (int32_t)j,
			       t->k_documents ? attention_integer(t->k_documents, j) : 0);
	return b;
}

SIMD_INLINE bool few_may_see(const struct few_sight *s, const struct attention_bounds *keys)
{
	const struct attention_bounds q = { s->low, s->high, s->document, s->document };

	return attention_may_see(&q, keys);
}

/* --- those that a query sees --- */

/* Rows of the cache of keys one after the other: attention_row() without its divisions. */
struct few_walk {
	size_t page, within;
};

SIMD_INLINE int64_t few_next_row(const struct attention *t, struct few_walk *w)
{
	size_t size = t->pages ? t->a->page : SIZE_MAX, within = w->within;
	int64_t page = t->pages ? attention_integer(t->pages, w->page) : 0, row;

	row = page * (int64_t)(t->pages ? size : 0) + (int64_t)within;
	if (++w->within == size)
		*w = (struct few_walk){ w->page + 1, 0 };
	return page < 0 || row >= (int64_t)t->k->shape[0] ? -1 : row;
}

SIMD_INLINE size_t few_list_some(const struct attention *t, const struct few_sight *s, size_t tile,
				 int32_t *rows)
{
	size_t from = tile * ATTENTION_TILE, seen = 0;
	struct few_walk w = { t->pages ? from / t->a->page : 0,
			      t->pages ? from % t->a->page : from };

	for (size_t j = from; j < from + few_keys_in(t, tile); j++) {
		int32_t at = t->k_positions ? attention_integer(t->k_positions, j) : (int32_t)j;
		int64_t row = few_next_row(t, &w);

		rows[seen] = (int32_t)row;
		seen += row >= 0 && at >= s->low && at <= s->high &&
			(!t->k_documents || attention_integer(t->k_documents, j) == s->document);
	}
	return seen;
}

/* Whether S sees all keys of TILE, which lie well. */
SIMD_INLINE bool few_sees_all(const struct attention *t, const struct few_sight *s, size_t tile)
{
	size_t from = tile * ATTENTION_TILE;
	vi32 unseen = { 0 };

	for (size_t j = from; j < from + ATTENTION_TILE; j += SIMD_WIDTH) {
		vi32 at = few_integers(t->k_positions, j);

		unseen |= (at < s->low) | (at > s->high);
		if (t->k_documents)
			unseen |= few_integers(t->k_documents, j) != s->document;
	}
	return !simd_any(unseen);
}

/* Lists the rows of the cache of the keys of TILE that S sees; how many. No position that it sees is negative. */
SIMD_INLINE size_t few_list(const struct attention *t, const struct few_sight *s, size_t tile,
			    int32_t *rows)
{
	size_t from = tile * ATTENTION_TILE;
	int64_t first = attention_row(t, from);

	if (!few_keys_lie_well(t, tile) || !few_sees_all(t, s, tile) ||
	    (t->pages && t->a->page % ATTENTION_TILE != 0) || first < 0 ||
	    first + ATTENTION_TILE > (int64_t)t->k->shape[0])
		return few_list_some(t, s, tile, rows);
	for (int32_t j = 0; j < ATTENTION_TILE; j++)
		rows[j] = (int32_t)first + j;
	return ATTENTION_TILE;
}

#endif
