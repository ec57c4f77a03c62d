/*
 * lib/text/bpe_spm_direct.c - merging by SentencePiece's rules without a table of merges
 *
 * A large vocabulary has half a million merges, and to find them all takes longer than to read a model's first prompt. Two symbols merge when
 * their joined text is a piece, and that can be looked up as it comes: slower by the pair, with nothing to make before.
 */
#include <string.h>

#include "lib/text/bpe_heap.h"
#include "lib/text/bpe_spm_parts.h"

struct direct {
	const struct text_model *m;
	const struct bpe_spm *b;
	struct bpe_scratch *s;
	const char *text;
	bool unused; /* one could be made */
};

/* Falls as the score rises; -0 is below 0. The scores are finite, so that it is not RANK_NONE. */
static uint32_t rank_of(double score)
{
	const float value = (float)score;
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 31 ? bits : ~(bits | UINT32_C(1) << 31);
}

/* What the pair that begins at AT makes. */
static void look(struct direct *d, uint32_t at)
{
	const struct vocabulary *v = &d->m->vocabulary;
	struct bpe_node *node = &d->s->nodes[at];
	const struct bpe_node *next = node->next == NODE_NONE ? NULL : &d->s->nodes[node->next];
	uint32_t place;

	node->rank = RANK_NONE;
	if (!next || node->id == SYMBOL_BROKEN || next->id == SYMBOL_BROKEN)
		return;
	place = vocabulary_place(v, d->text + d->s->starts[at], (size_t)node->size + next->size);
	if (place == TOKEN_NONE)
		return;
	node->result = v->pieces[place].id;
	d->unused |= d->b->types[node->result] == PIECE_UNUSED;
	if (d->b->types[node->result] == PIECE_NORMAL)
		node->rank = rank_of(d->m->spec.pieces[place].score);
}

static int reserve(struct bpe_scratch *s)
{
	if (mem_grow(&s->nodes, &s->nodes_capacity, s->n, sizeof(*s->nodes)) < 0 ||
	    mem_grow(&s->starts, &s->starts_capacity, s->n, sizeof(*s->starts)) < 0)
		return -1;
	/* As in bpe_heap.c: a merge takes an entry and adds two. */
	return mem_grow(&s->heap, &s->heap_capacity, 2 * s->n, sizeof(*s->heap));
}

static void push(struct bpe_scratch *s, size_t *n, uint32_t at)
{
	if (s->nodes[at].rank != RANK_NONE)
		heap_push(s->heap, n, bpe_pair(s->nodes[at].rank, at));
}

static size_t begin(struct direct *d)
{
	struct bpe_scratch *s = d->s;
	const uint32_t last = (uint32_t)s->n - 1;
	uint32_t start = 0;
	size_t n = 0;

	for (uint32_t i = 0; i <= last; i++) {
		const uint32_t size = s->symbols[i].size;

		s->starts[i] = start;
		s->nodes[i] = (struct bpe_node){ .id = s->symbols[i].id,
						 .size = size,
						 .previous = i ? i - 1 : NODE_NONE,
						 .next = i < last ? i + 1 : NODE_NONE };
		d->unused |=
			s->nodes[i].id < d->b->size && d->b->types[s->nodes[i].id] == PIECE_UNUSED;
		start += size;
	}
	for (uint32_t i = 0; i <= last; i++) {
		look(d, i);
		push(s, &n, i);
	}
	return n;
}

static void join(struct direct *d, uint64_t entry, size_t *n)
{
	const uint32_t at = (uint32_t)entry;
	struct bpe_node *node = &d->s->nodes[at];

	if (node->size == 0 || node->rank != entry >> 32)
		return;
	bpe_node_join(d->s->nodes, at);
	if (node->previous != NODE_NONE) {
		look(d, node->previous);
		push(d->s, n, node->previous);
	}
	look(d, at);
	push(d->s, n, at);
}

int bpe_spm_merge_direct(const struct text_model *m, const struct bpe_spm *b, struct bpe_scratch *s,
			 struct bytes piece, size_t at)
{
	struct direct d = { m, b, s, piece.data + at, false };
	size_t n;

	if (s->n == 0)
		return 1;
	if (reserve(s) < 0)
		return -1;
	n = begin(&d);
	while (n > 0 && !d.unused)
		join(&d, heap_pop(s->heap, &n), &n);
	bpe_heap_end(s);
	return !d.unused;
}
