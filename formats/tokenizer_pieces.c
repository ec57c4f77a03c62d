/* formats/tokenizer_pieces.c - a vocabulary and its merges, as readers gather them */

#include "formats/tokenizer_pieces.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/printable.h"
#include "lib/base/utf8.h"

#define REPEATED_BITS 19 /* 512 KiB: of 50,000 merges one in eleven shares a place */

int tokenizer_pieces_new(struct tokenizer_pieces *p, struct arena *arena, const char *file)
{
	*p = (struct tokenizer_pieces){ .file = file, .arena = arena };
	return names_new(&p->ids);
}

void tokenizer_pieces_free(struct tokenizer_pieces *p)
{
	names_free(p->ids);
	free(p->items);
	free(p->merges);
	buffer_free(&p->scratch);
	*p = (struct tokenizer_pieces){ 0 };
}

int tokenizer_pieces_reserve(struct tokenizer_pieces *p, size_t n, size_t n_merges)
{
	if (names_reserve(p->ids, n) < 0 ||
	    mem_grow(&p->items, &p->capacity, n, sizeof(*p->items)) < 0)
		return -1;
	return mem_grow(&p->merges, &p->merges_capacity, n_merges, sizeof(*p->merges));
}

/* ERR_FORMAT `FILE: BEFORE "TEXT"AFTER`. */
static int fail_at(const struct tokenizer_pieces *p, const char *before, struct bytes text,
		   const char *after)
{
	struct buffer quoted = { 0 };

	if (text.size > 100)
		text.size = 100;
	quote_text(&quoted, text);
	if (!buffer_check(&quoted))
		err_set(ERR_FORMAT, "%s: %s " BYTES_FMT "%s", p->file, before, (int)quoted.size,
			quoted.data, after);
	buffer_free(&quoted);
	return -1;
}

int tokenizer_pieces_add(struct tokenizer_pieces *p, struct bytes text, uint64_t id, double score)
{
	int got;

	if (id > TOKENIZER_ID_MAX)
		return fail_at(p, "piece", text, ": its id is past 2147483647");
	if (utf8_valid_prefix(text.data, text.size) != text.size)
		return fail_at(p, "piece", text, " is not UTF-8");
	if (mem_grow(&p->items, &p->capacity, p->n + 1, sizeof(*p->items)) < 0)
		return -1;
	got = names_add(p->ids, text, (uint32_t)id, NULL);
	if (got < 0)
		return -1;
	if (!got)
		return fail_at(p, "piece", text, " is there twice");
	p->items[p->n++] = (struct piece_spec){ text, (uint32_t)id, score };
	return 0;
}

uint32_t tokenizer_pieces_find(const struct tokenizer_pieces *p, struct bytes text)
{
	uint32_t id;

	return names_find(p->ids, text, &id) ? id : TOKEN_NONE;
}

static int add_merge(struct tokenizer_pieces *p, uint32_t left, uint32_t right, uint32_t result)
{
	if (mem_grow(&p->merges, &p->merges_capacity, p->n_merges + 1, sizeof(*p->merges)) < 0)
		return -1;
	p->merges[p->n_merges++] = (struct merge_spec){ left, right, result };
	return 0;
}

/* As tokenizer_pieces_find: pieces mostly stand in the order of the merges that make them. */
static uint32_t find_result(struct tokenizer_pieces *p, struct bytes text)
{
	size_t at = p->next;
	uint32_t id;

	if (at < p->n && bytes_equal(p->items[at].text, text)) {
		p->next++;
		return p->items[at].id;
	}
	id = tokenizer_pieces_find(p, text);
	/* Where ids count up from 0, as they mostly do, this is its place. */
	if (id < p->n && p->items[id].id == id)
		p->next = (size_t)id + 1;
	return id;
}

int tokenizer_pieces_merge(struct tokenizer_pieces *p, struct bytes left, struct bytes right,
			   size_t skip)
{
	uint32_t l = tokenizer_pieces_find(p, left), r = tokenizer_pieces_find(p, right), result;

	if (l == TOKEN_NONE || r == TOKEN_NONE)
		return fail_at(p, "a merge names", l == TOKEN_NONE ? left : right,
			       ", which is no piece");
	if (skip > right.size)
		return fail_at(p, "a merge's right side", right,
			       " is shorter than continuing_subword_prefix");
	buffer_clear(&p->scratch);
	buffer_put(&p->scratch, left.data, left.size);
	buffer_put(&p->scratch, right.data + skip, right.size - skip);
	if (buffer_check(&p->scratch))
		return -1;
	result = find_result(p, buffer_bytes(&p->scratch));
	if (result == TOKEN_NONE)
		return fail_at(p, "a merge makes", buffer_bytes(&p->scratch),
			       ", which is no piece");
	return add_merge(p, l, r, result);
}

int tokenizer_pieces_merge_line(struct tokenizer_pieces *p, struct bytes line, size_t skip)
{
	const char *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
	struct bytes left, right;

	if (!space)
		return fail_at(p, "merge", line, " is not two pieces with a space between");
	left = (struct bytes){ line.data, (size_t)(space - line.data) };
	right = (struct bytes){ space + 1, line.size - left.size - 1 };
	if (right.size && memchr(right.data, ' ', right.size))
		return fail_at(p, "merge", line, " has more than one space");
	return tokenizer_pieces_merge(p, left, right, skip);
}

/* Whether a byte begins a character. */
static bool begins(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

/* Orders the newest merges, from FIRST on, by their two ids: insertion, since they are few. */
static void order_by_rank(struct tokenizer_pieces *p, size_t first)
{
	for (size_t i = first + 1; i < p->n_merges; i++) {
		struct merge_spec m = p->merges[i];
		size_t at = i;

		for (; at > first; at--) {
			const struct merge_spec *before = &p->merges[at - 1];

			if (before->left < m.left ||
			    (before->left == m.left && before->right <= m.right))
				break;
			p->merges[at] = *before;
		}
		p->merges[at] = m;
	}
}

static int split_piece(struct tokenizer_pieces *p, const struct names *raw,
		       const struct piece_spec *piece, enum merge_order order)
{
	size_t first = p->n_merges;
	uint32_t left, right;

	for (size_t at = 1; at < piece->text.size; at++) {
		struct bytes l = { piece->text.data, at };
		struct bytes r = { piece->text.data + at, piece->text.size - at };

		if (order == MERGE_BY_LENGTH && !begins(*r.data))
			continue;
		if (!names_find(raw, l, &left) || !names_find(raw, r, &right))
			continue;
		if (add_merge(p, left, right, piece->id) < 0)
			return -1;
	}
	if (order == MERGE_BY_RANK)
		order_by_rank(p, first);
	return 0;
}

int tokenizer_pieces_splits(struct tokenizer_pieces *p, const struct names *raw,
			    const struct piece_spec *texts, size_t n, enum merge_order order)
{
	for (size_t i = 0; i < n; i++) {
		if (texts[i].text.size > TOKENIZER_PIECE_MAX)
			return err_set(ERR_LIMIT, "%s: piece %" PRIu32 " has %zu bytes, limit %zu",
				       p->file, texts[i].id, texts[i].text.size,
				       TOKENIZER_PIECE_MAX);
		if (split_piece(p, raw, &texts[i], order) < 0)
			return -1;
	}
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct piece_spec *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int order_pieces(struct tokenizer_pieces *p)
{
	bool ordered = true;

	for (size_t i = 1; ordered && i < p->n; i++)
		ordered = p->items[i - 1].id < p->items[i].id;
	if (ordered)
		return 0;
	qsort(p->items, p->n, sizeof(*p->items), compare_ids);
	for (size_t i = 1; i < p->n; i++)
		if (p->items[i - 1].id == p->items[i].id)
			return err_set(ERR_FORMAT, "%s: two pieces have the id %" PRIu32, p->file,
				       p->items[i].id);
	return 0;
}

/* A place for a merge's pair: few pairs share one unless they are equal. */
static size_t pair_place(const struct merge_spec *m)
{
	uint64_t pair = (uint64_t)m->left << 32 | m->right;

	return (size_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> (64 - REPEATED_BITS));
}

/* How many merges have each place, two standing for more. */
static uint8_t *count_pairs(const struct tokenizer_pieces *p)
{
	uint8_t *counts = mem_new((size_t)1 << REPEATED_BITS, 1);

	for (size_t i = 0; counts && i < p->n_merges; i++) {
		uint8_t *n = &counts[pair_place(&p->merges[i])];

		*n = *n ? 2 : 1;
	}
	return counts;
}

/*
 * Marks in DROP the merges whose pair stands elsewhere too, but for the first one met in this direction. COUNTS tells most of
 * those that do not.
 */
static int mark_repeated(const struct tokenizer_pieces *p, const uint8_t *counts, bool backwards,
			 bool *drop)
{
	struct names *seen;
	int got = 0;

	if (names_new(&seen) < 0)
		return -1;
	for (size_t i = 0; i < p->n_merges && got >= 0; i++) {
		size_t at = backwards ? p->n_merges - 1 - i : i;
		struct bytes pair = { (const char *)&p->merges[at], 2 * sizeof(uint32_t) };

		if (counts[pair_place(&p->merges[at])] == 1)
			continue;
		got = names_add(seen, pair, 0, NULL);
		drop[at] = got == 0;
	}
	names_free(seen);
	return got < 0 ? -1 : 0;
}

static int drop_repeated(struct tokenizer_pieces *p, bool keep_last)
{
	bool *drop = mem_new(p->n_merges, sizeof(*drop));
	uint8_t *counts = count_pairs(p);
	size_t n = 0;
	int result = -1;

	if (!drop || !counts || mark_repeated(p, counts, keep_last, drop) < 0)
		goto out;
	for (size_t i = 0; i < p->n_merges; i++)
		if (!drop[i])
			p->merges[n++] = p->merges[i];
	p->n_merges = n;
	result = 0;
out:
	free(drop);
	free(counts);
	return result;
}

/* ITEMS, which are the arena's from now on; something that is not NULL where there are none. */
static const void *give(struct arena *arena, void *items)
{
	return items ? arena_keep(arena, items) : arena_alloc(arena, 1, 1);
}

int tokenizer_pieces_finish(struct tokenizer_pieces *p, struct model_spec *model, bool keep_last)
{
	if (order_pieces(p) < 0 || drop_repeated(p, keep_last) < 0)
		return -1;
	model->pieces = give(p->arena, p->items);
	p->items = NULL;
	model->merges = give(p->arena, p->merges);
	p->merges = NULL;
	model->n_pieces = p->n;
	model->n_merges = p->n_merges;
	return model->pieces && model->merges ? 0 : -1;
}

struct bytes tokenizer_copy(struct arena *arena, struct bytes b)
{
	return (struct bytes){ arena_copy(arena, b), b.size };
}
