/*
 * lib/text/trie.c - building the double array
 *
 * Keys are sorted; a node is then a range of keys that agree up to its depth, and its children are the runs of one
 * byte within it. Cells come in blocks of 256, and the children of a node always share a block, since XOR with a
 * byte stays inside it. Only the newest blocks are searched for room, so that building is linear in the
 * number of nodes. Block 0 stays empty for good: it is where the nodes without children point to.
 */
#include "lib/text/trie.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define BLOCK  256u
#define WINDOW (16 * BLOCK) /* cells that are searched for room */
#define TRIES  128	    /* free cells that are looked at before a new block is begun */
#define TAKEN  0x100u

/* A key, with its first eight bytes as a number that sorts as they do. */
struct sorted {
	uint64_t start;
	const char *data;
	uint32_t size, value;
	size_t order;
};

/* A node that is still to get its children: keys FROM to TO agree in the first DEPTH bytes. */
struct range {
	size_t from, to;
	uint32_t depth, cell; /* the node's own; 0: the root */
};

struct builder {
	struct trie *trie;
	size_t n_cells, capacity;
	/* Of the free cells of the window, a ring through `free`, which stands for its ends at WINDOW. */
	uint32_t next[WINDOW + 1], before[WINDOW + 1];
	uint32_t cell_at[WINDOW]; /* the cell whose place in the ring this is */
	bool base_taken[WINDOW];
	struct range *ranges; /* a stack */
	size_t n_ranges, ranges_capacity;
};

static uint64_t start_of(struct bytes text)
{
	uint64_t v = 0;

	for (size_t i = 0; i < 8; i++)
		v = v << 8 | (i < text.size ? (unsigned char)text.data[i] : 0);
	return v;
}

static int by_text(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int order;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	order = bytes_compare((struct bytes){ x->data, x->size },
			      (struct bytes){ y->data, y->size });
	if (order)
		return order;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void unlink_cell(struct builder *b, uint32_t place)
{
	b->next[b->before[place]] = b->next[place];
	b->before[b->next[place]] = b->before[place];
}

static void link_cell(struct builder *b, uint32_t place)
{
	b->before[place] = b->before[WINDOW];
	b->next[place] = WINDOW;
	b->next[b->before[WINDOW]] = place;
	b->before[WINDOW] = place;
}

static bool is_free(const struct builder *b, uint32_t cell)
{
	return b->trie->cells[cell].word == 0;
}

/* A new block, in the window's place of the oldest one. */
static int add_block(struct builder *b)
{
	size_t first = b->n_cells;

	if (first + BLOCK > UINT32_MAX)
		return err_set(ERR_LIMIT, "the vocabulary needs more than 2^32 cells of a trie");
	if (mem_grow(&b->trie->cells, &b->capacity, first + BLOCK, sizeof(*b->trie->cells)) < 0)
		return -1;
	memset(b->trie->cells + first, 0, BLOCK * sizeof(*b->trie->cells));
	for (uint32_t i = 0; i < BLOCK; i++) {
		uint32_t place = (uint32_t)(first + i) % WINDOW;

		if (first > WINDOW && is_free(b, b->cell_at[place]))
			unlink_cell(b, place);
		b->cell_at[place] = (uint32_t)(first + i);
		b->base_taken[place] = false;
		if (first)
			link_cell(b, place);
	}
	b->n_cells += BLOCK;
	return 0;
}

static bool has_room(const struct builder *b, uint32_t base, const unsigned char *labels, size_t n)
{
	if (b->base_taken[base % WINDOW])
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_free(b, base ^ labels[i]))
			return false;
	}
	return true;
}

/* A base whose cells for all N LABELS are free; takes it. */
static int find_base(struct builder *b, const unsigned char *labels, size_t n, uint32_t *out)
{
	uint32_t place = b->next[WINDOW], base;

	for (int i = 0; i < TRIES && place != WINDOW; i++, place = b->next[place]) {
		base = b->cell_at[place] ^ labels[0];
		if (has_room(b, base, labels, n))
			goto found;
	}
	base = (uint32_t)b->n_cells;
	if (add_block(b) < 0)
		return -1;
found:
	b->base_taken[base % WINDOW] = true;
	*out = base;
	return 0;
}

static int push(struct builder *b, size_t from, size_t to, uint32_t depth, uint32_t cell)
{
	if (mem_grow(&b->ranges, &b->ranges_capacity, b->n_ranges + 1, sizeof(*b->ranges)) < 0)
		return -1;
	b->ranges[b->n_ranges++] = (struct range){ from, to, depth, cell };
	return 0;
}

/* The distinct bytes at DEPTH of the keys in R, in order. */
static size_t labels_of(const struct sorted *keys, const struct range *r,
			unsigned char labels[BLOCK])
{
	size_t n = 0;

	for (size_t i = r->from; i < r->to; i++) {
		unsigned char c = (unsigned char)keys[i].data[r->depth];

		if (n == 0 || labels[n - 1] != c)
			labels[n++] = c;
	}
	return n;
}

/* Gives the node R its children, and puts them on the stack. */
static int place_children(struct builder *b, const struct sorted *keys, const struct range *r)
{
	unsigned char labels[BLOCK];
	size_t n = labels_of(keys, r, labels), from = r->from;
	uint32_t base;

	if (find_base(b, labels, n, &base) < 0)
		return -1;
	if (r->cell)
		b->trie->cells[r->cell].base = base;
	else
		b->trie->root = base;
	for (size_t i = 0; i < n; i++) {
		uint32_t cell = base ^ labels[i];
		size_t to = from;

		b->trie->cells[cell].word = TAKEN | labels[i];
		unlink_cell(b, cell % WINDOW);
		while (to < r->to && (unsigned char)keys[to].data[r->depth] == labels[i])
			to++;
		if (push(b, from, to, r->depth + 1, cell) < 0)
			return -1;
		from = to;
	}
	return 0;
}

/* The keys that end at the node R give it its value, the last of them; those that go on give it children. */
static int place_node(struct builder *b, const struct sorted *keys, struct range r)
{
	for (; r.from < r.to && keys[r.from].size == r.depth; r.from++) {
		struct trie_cell *cell = &b->trie->cells[r.cell];

		if (r.cell)
			cell->word = (cell->word & 0x1ff) | (keys[r.from].value + 1) << 9;
	}
	return r.from < r.to ? place_children(b, keys, &r) : 0;
}

static int build(struct builder *b, const struct sorted *keys, size_t n)
{
	b->next[WINDOW] = b->before[WINDOW] = WINDOW;
	if (add_block(b) < 0 || push(b, 0, n, 0, 0) < 0)
		return -1;
	while (b->n_ranges) {
		if (place_node(b, keys, b->ranges[--b->n_ranges]) < 0)
			return -1;
	}
	return 0;
}

static int sort_keys(struct sorted *sorted, const struct trie_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bytes text = keys[i].text;

		if (keys[i].value > TRIE_VALUE_MAX || text.size > UINT32_MAX)
			return err_set(ERR_LIMIT, "a vocabulary of more than %u pieces",
				       TRIE_VALUE_MAX);
		sorted[i] = (struct sorted){ start_of(text), text.data, (uint32_t)text.size,
					     keys[i].value, i };
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_text);
	return 0;
}

int trie_init(struct trie *t, const struct trie_key *keys, size_t n)
{
	struct builder *b = mem_new(1, sizeof(*b));
	struct sorted *sorted = mem_new(n, sizeof(*sorted));
	int result = -1;

	*t = (struct trie){ 0 };
	if (!b || !sorted || sort_keys(sorted, keys, n) < 0)
		goto end;
	b->trie = t;
	result = build(b, sorted, n);
end:
	if (result < 0)
		trie_clear(t);
	if (b)
		free(b->ranges);
	free(b);
	free(sorted);
	return result;
}

void trie_clear(struct trie *t)
{
	free(t->cells);
	*t = (struct trie){ 0 };
}
