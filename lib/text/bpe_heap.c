/*
 * lib/text/bpe_heap.c - merging a word of any length in n log n
 *
 * A merge makes at most two new pairs, and each waits in a heap. A pair that has changed since is
 * told by its rank, which its first symbol keeps.
 */
#include "lib/text/bpe_heap.h"

static void look(const struct bpe_merges *t, struct bpe_node *nodes, uint32_t at)
{
	struct bpe_node *node = &nodes[at];
	const struct bpe_merge *m = NULL;

	if (node->next != NODE_NONE)
		m = bpe_merges_find(t, node->id, nodes[node->next].id);
	node->rank = m ? m->rank : RANK_NONE;
	node->result = m ? m->result : 0;
}

static int reserve(struct bpe_scratch *s)
{
	/* A merge takes one node away and adds at most two entries, and one was taken for it. */
	if (mem_grow(&s->nodes, &s->nodes_capacity, s->n, sizeof(*s->nodes)) < 0 ||
	    mem_grow(&s->heap, &s->heap_capacity, 2 * s->n, sizeof(*s->heap)) < 0)
		return -1;
	return 0;
}

int bpe_heap_begin(const struct bpe_merges *t, struct bpe_scratch *s, size_t *n)
{
	uint32_t last = (uint32_t)s->n - 1;

	if (reserve(s) < 0)
		return -1;
	*n = 0;
	for (uint32_t i = 0; i <= last; i++)
		s->nodes[i] = (struct bpe_node){ s->symbols[i].id,
						 s->symbols[i].size,
						 i ? i - 1 : NODE_NONE,
						 i < last ? i + 1 : NODE_NONE,
						 RANK_NONE,
						 0 };
	for (uint32_t i = 0; i <= last; i++) {
		look(t, s->nodes, i);
		if (s->nodes[i].rank != RANK_NONE)
			s->heap[(*n)++] = bpe_pair(s->nodes[i].rank, i);
	}
	for (size_t i = *n / 4 + 1; i-- > 0 && *n > 1;)
		heap_down(s->heap, *n, i);
	return 0;
}

bool bpe_heap_join(const struct bpe_merges *t, struct bpe_scratch *s, uint64_t entry, size_t *n)
{
	uint32_t at = (uint32_t)entry, rank = (uint32_t)(entry >> 32);
	struct bpe_node *node = &s->nodes[at];

	if (node->size == 0 || node->rank != rank)
		return false;
	bpe_node_join(s->nodes, at);
	if (node->previous != NODE_NONE) {
		look(t, s->nodes, node->previous);
		if (s->nodes[node->previous].rank != RANK_NONE)
			heap_push(s->heap, n,
				  bpe_pair(s->nodes[node->previous].rank, node->previous));
	}
	look(t, s->nodes, at);
	if (node->rank != RANK_NONE)
		heap_push(s->heap, n, bpe_pair(node->rank, at));
	return true;
}

void bpe_heap_end(struct bpe_scratch *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->nodes[i].size > 0)
			s->symbols[n++] = (struct bpe_symbol){ s->nodes[i].id, s->nodes[i].size };
	s->n = n;
}

int bpe_merge_long(const struct bpe_merges *t, struct bpe_scratch *s)
{
	size_t n;

	if (bpe_heap_begin(t, s, &n) < 0)
		return -1;
	while (n > 0)
		bpe_heap_join(t, s, heap_pop(s->heap, &n), &n);
	bpe_heap_end(s);
	return 0;
}
