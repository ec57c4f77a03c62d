/*
 * lib/text/bpe_merge.c - merging a short word
 *
 * All ranks lie side by side, and the lowest is looked for anew after each merge: for the lengths of words this is
 * faster than any queue. Longer ones go to bpe_heap.c.
 */
#include "lib/text/bpe_parts.h"

#define SHORT_MAX 32

struct short_word {
	uint32_t ranks[SHORT_MAX]; /* of the pair that begins at each symbol */
	uint32_t results[SHORT_MAX];
	struct bpe_symbol *symbols;
	size_t n;
};

static inline void look(const struct bpe_merges *t, struct short_word *w, size_t i)
{
	const struct bpe_merge *m = bpe_merges_find(t, w->symbols[i].id, w->symbols[i + 1].id);

	w->ranks[i] = m ? m->rank : RANK_NONE;
	w->results[i] = m ? m->result : 0;
}

/* The first of the lowest. */
static inline size_t lowest(const struct short_word *w)
{
	size_t at = 0;

	for (size_t i = 1; i + 1 < w->n; i++)
		at = w->ranks[i] < w->ranks[at] ? i : at;
	return at;
}

static inline void join(const struct bpe_merges *t, struct short_word *w, size_t i)
{
	size_t after = w->n - i - 2; /* symbols after the pair */

	w->symbols[i].id = w->results[i];
	w->symbols[i].size += w->symbols[i + 1].size;
	for (size_t k = i + 1; k <= i + after; k++) {
		w->symbols[k] = w->symbols[k + 1];
		w->ranks[k] = w->ranks[k + 1];
		w->results[k] = w->results[k + 1];
	}
	w->n--;
	if (i > 0)
		look(t, w, i - 1);
	if (i + 1 < w->n)
		look(t, w, i);
}

int bpe_merge(const struct bpe_merges *t, struct bpe_scratch *s)
{
	struct short_word w;

	if (s->n > SHORT_MAX)
		return bpe_merge_long(t, s);
	w.symbols = s->symbols;
	w.n = s->n;
	for (size_t i = 0; i + 1 < w.n; i++)
		look(t, &w, i);
	while (w.n > 1) {
		size_t i = lowest(&w);

		if (w.ranks[i] == RANK_NONE)
			break;
		join(t, &w, i);
	}
	s->n = w.n;
	return 0;
}
