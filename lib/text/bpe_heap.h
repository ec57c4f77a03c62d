/*
 * lib/text/bpe_heap.h - a heap of merges by rank and place, and the linked symbols that they join
 *
 * An entry is rank << 32 | place, so that integers compare as the merges do.
 */
#ifndef LIB_TEXT_BPE_HEAP_H
#define LIB_TEXT_BPE_HEAP_H

#include "lib/text/bpe_parts.h"

#define NODE_NONE UINT32_MAX

struct bpe_node {
	uint32_t id, size;	 /* size 0: joined to a symbol before it */
	uint32_t previous, next; /* NODE_NONE at the ends */
	uint32_t rank, result;	 /* of the pair that begins here */
};

/* The symbol at AT takes in the one after it, which is gone from then on. What the pairs around it make is to be looked for anew. */
static inline void bpe_node_join(struct bpe_node *nodes, uint32_t at)
{
	struct bpe_node *node = &nodes[at], *right = &nodes[node->next];

	node->id = node->result;
	node->size += right->size;
	node->next = right->next;
	right->size = 0;
	right->rank = RANK_NONE;
	if (node->next != NODE_NONE)
		nodes[node->next].previous = at;
}

static inline void heap_down(uint64_t *heap, size_t n, size_t i)
{
	uint64_t entry = heap[i];

	for (;;) {
		size_t first = 4 * i + 1, end = first + 4 < n ? first + 4 : n, least = first;

		if (first >= n)
			break;
		for (size_t k = first + 1; k < end; k++)
			least = heap[k] < heap[least] ? k : least;
		if (heap[least] >= entry)
			break;
		heap[i] = heap[least];
		i = least;
	}
	heap[i] = entry;
}

static inline void heap_up(uint64_t *heap, size_t i)
{
	uint64_t entry = heap[i];

	while (i > 0 && heap[(i - 1) / 4] > entry) {
		heap[i] = heap[(i - 1) / 4];
		i = (i - 1) / 4;
	}
	heap[i] = entry;
}

static inline uint64_t heap_pop(uint64_t *heap, size_t *n)
{
	uint64_t top = heap[0];

	heap[0] = heap[--*n];
	if (*n > 1)
		heap_down(heap, *n, 0);
	return top;
}

static inline void heap_push(uint64_t *heap, size_t *n, uint64_t entry)
{
	heap[*n] = entry;
	heap_up(heap, (*n)++);
}

/* Nodes and a heap of all pairs that merge, from the symbols of S; the number of heap entries to *N. */
int bpe_heap_begin(const struct bpe_merges *t, struct bpe_scratch *s, size_t *n);
/* Joins node AT and the next, if ENTRY is not out of date, and pushes what that makes possible. */
bool bpe_heap_join(const struct bpe_merges *t, struct bpe_scratch *s, uint64_t entry, size_t *n);
/* The nodes that are left become the symbols of S. */
void bpe_heap_end(struct bpe_scratch *s);

#endif
