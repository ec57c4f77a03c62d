/* lib/text/train_merges.c - every merge that makes a piece */

#include "lib/text/train_merges.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/names.h"

struct merges {
	struct names *places; /* text to place in the list, of the pieces that take part */
	struct names *added;
	struct merge_spec *items;
	size_t n, capacity;
};

static bool is_byte(struct bytes t)
{
	return t.size == 6 && bytes_start_with(t, "<0x") && t.data[5] == '>';
}

static bool takes_part(const struct merges *g, const struct model_spec *m, struct bytes text)
{
	return !(m->byte_fallback && is_byte(text)) && !names_find(g->added, text, NULL);
}

static int index_pieces(struct merges *g, const struct tokenizer_spec *s)
{
	const struct model_spec *m = &s->model;

	if (names_new(&g->places) < 0 || names_new(&g->added) < 0)
		return -1;
	for (size_t i = 0; i < s->n_added; i++)
		if (names_add(g->added, s->added[i].text, 0, NULL) < 0)
			return -1;
	for (size_t i = 0; i < m->n_pieces; i++)
		if (takes_part(g, m, m->pieces[i].text) &&
		    names_add(g->places, m->pieces[i].text, (uint32_t)i, NULL) < 0)
			return -1;
	return 0;
}

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

static int add_merges(struct merges *g, const struct model_spec *m, const struct piece_spec *piece)
{
	struct bytes text = piece->text;
	uint32_t left, right;

	for (size_t at = 1; at < text.size; at++) {
		if (!begins_character(text.data[at]) ||
		    !names_find(g->places, (struct bytes){ text.data, at }, &left) ||
		    !names_find(g->places, (struct bytes){ text.data + at, text.size - at },
				&right))
			continue;
		if (mem_grow(&g->items, &g->capacity, g->n + 1, sizeof(*g->items)) < 0)
			return -1;
		g->items[g->n++] =
			(struct merge_spec){ m->pieces[left].id, m->pieces[right].id, piece->id };
	}
	return 0;
}

static int gather(struct merges *g, const struct tokenizer_spec *s)
{
	const struct model_spec *m = &s->model;

	*g = (struct merges){ 0 };
	if (index_pieces(g, s) < 0)
		return -1;
	for (size_t i = 0; i < m->n_pieces; i++)
		if (names_find(g->places, m->pieces[i].text, NULL) &&
		    add_merges(g, m, &m->pieces[i]) < 0)
			return -1;
	return 0;
}

static void clear(struct merges *g)
{
	names_free(g->places);
	names_free(g->added);
	free(g->items);
}

int train_merges_complete(struct tokenizer_spec *s, struct arena *arena)
{
	struct merge_spec *merges;
	struct merges g;
	int result = -1;

	if (gather(&g, s) == 0 && (merges = arena_alloc(arena, g.n, sizeof(*merges)))) {
		if (g.n)
			memcpy(merges, g.items, g.n * sizeof(*merges));
		s->model.merges = merges;
		s->model.n_merges = g.n;
		result = 0;
	}
	clear(&g);
	return result;
}

static bool same(const struct merge_spec *a, const struct merge_spec *b)
{
	return a->left == b->left && a->right == b->right && a->result == b->result;
}

int train_merges_are_complete(const struct tokenizer_spec *s)
{
	struct merges g;
	int result = -1;

	if (gather(&g, s) == 0) {
		result = g.n == s->model.n_merges;
		for (size_t i = 0; result && i < g.n; i++)
			result = same(&g.items[i], &s->model.merges[i]);
	}
	clear(&g);
	return result;
}
