/* lib/text/train_merges.c - every merge that makes a piece */

#include "lib/text/train_merges.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/names.h"

struct merges {
	struct names *places; /* text to place in the list */
	struct merge_spec *items;
	size_t n, capacity;
};

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

static int keep(struct model_spec *m, struct arena *arena, const struct merges *g)
{
	struct merge_spec *merges = arena_alloc(arena, g->n, sizeof(*merges));

	if (!merges)
		return -1;
	if (g->n)
		memcpy(merges, g->items, g->n * sizeof(*merges));
	m->merges = merges;
	m->n_merges = g->n;
	return 0;
}

int train_merges_complete(struct model_spec *m, struct arena *arena, size_t n_first)
{
	struct merges g = { 0 };
	int result = -1;

	if (names_new(&g.places) < 0)
		return -1;
	for (size_t i = n_first; i < m->n_pieces; i++)
		if (names_add(g.places, m->pieces[i].text, (uint32_t)i, NULL) < 0)
			goto end;
	for (size_t i = n_first; i < m->n_pieces; i++)
		if (add_merges(&g, m, &m->pieces[i]) < 0)
			goto end;
	result = keep(m, arena, &g);
end:
	names_free(g.places);
	free(g.items);
	return result;
}
