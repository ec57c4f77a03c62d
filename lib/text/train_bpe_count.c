/*
 * lib/text/train_bpe_count.c - all pairs of neighbours, and where they stand
 *
 * Each part of the cells is gone through twice: its pairs are counted, then, when the lists have their sizes, their
 * places are written. The parts follow each other, so the places of a pair are in order.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

#define RECENT_BITS 13

/* The pairs that were met last, by a hash. */
struct recent {
	uint32_t left, right, record;
};

struct part {
	struct train_pairs
		pairs; /* of this part; later `places.many` is where the next place goes */
	struct recent *recent;
	size_t from, to;
	bool failed;
};

struct counting {
	struct train_bpe *t;
	struct part *parts;
	int n;
};

static inline struct recent *recent_slot(struct part *p, uint32_t left, uint32_t right)
{
	uint32_t h = (left * UINT32_C(0x9E3779B1)) ^ (right * UINT32_C(0x85EBCA77));

	return &p->recent[h >> (32 - RECENT_BITS)];
}

/* The record of a pair; TRAIN_NONE: no memory. */
static inline uint32_t record_of(struct part *p, uint32_t left, uint32_t right)
{
	struct recent *r = recent_slot(p, left, right);

	if (r->left == left && r->right == right)
		return r->record;
	*r = (struct recent){ left, right, TRAIN_NONE };
	if (train_pairs_get(&p->pairs, left, right, &r->record) < 0)
		p->failed = true;
	return r->record;
}

static void forget(struct part *p)
{
	memset(p->recent, 0xFF, sizeof(*p->recent) << RECENT_BITS);
}

static void count_part(void *arg, int number, int parts)
{
	struct counting *c = arg;
	struct part *p = &c->parts[number];
	const struct train_cells *cells = &c->t->cells;

	forget(p);
	for (size_t at = p->from; at < p->to && !p->failed;) {
		uint32_t left = cells->cells[at], after, right, record;

		if (left == TRAIN_MARK) {
			at++;
			continue;
		}
		after = train_after(cells->cells, (uint32_t)at);
		right = cells->cells[after];
		if (right != TRAIN_MARK && train_fits(c->t, left, right)) {
			record = record_of(p, left, right);
			if (record == TRAIN_NONE)
				break;
			p->pairs.items[record].count += cells->counts[at >> TRAIN_BLOCK];
			p->pairs.items[record].n++;
		}
		at = after;
	}
}

static void place_part(void *arg, int number, int parts)
{
	struct counting *c = arg;
	struct part *p = &c->parts[number];
	const uint32_t *cells = c->t->cells.cells;

	forget(p);
	for (size_t at = p->from; at < p->to;) {
		uint32_t left = cells[at], after, right;

		if (left == TRAIN_MARK) {
			at++;
			continue;
		}
		after = train_after(cells, (uint32_t)at);
		right = cells[after];
		if (right != TRAIN_MARK && train_fits(c->t, left, right))
			*p->pairs.items[record_of(p, left, right)].places.many++ = (uint32_t)at;
		at = after;
	}
}

static void run(struct counting *c, void (*fn)(void *arg, int part, int parts))
{
	if (c->n > 1)
		team_run(c->t->options.team, fn, c);
	else
		fn(c, 0, 1);
}

static int cut(struct counting *c)
{
	const struct train_cells *cells = &c->t->cells;
	size_t at = 0;

	for (int i = 0; i < c->n; i++) {
		struct part *p = &c->parts[i];

		train_pairs_init(&p->pairs, NULL);
		p->recent = mem_new((size_t)1 << RECENT_BITS, sizeof(*p->recent));
		if (!p->recent)
			return -1;
		p->from = at;
		at = cells->n / (size_t)c->n * (size_t)(i + 1);
		at = at < p->from || i + 1 == c->n ? cells->n : at;
		while (at < cells->n && cells->cells[at] != TRAIN_MARK)
			at++;
		p->to = at;
	}
	return 0;
}

/* Adds a part's pairs to all; `step` of a part's pair is the number of its places in the parts before. */
static int add_part(struct train_bpe *t, struct part *p)
{
	if (p->failed)
		return err_memory(p->pairs.n * sizeof(*p->pairs.items));
	for (size_t i = 0; i < p->pairs.n; i++) {
		struct train_pair *mine = &p->pairs.items[i], *all;
		uint32_t record;

		if (train_pairs_get(&t->pairs, mine->left, mine->right, &record) < 0)
			return -1;
		all = &t->pairs.items[record];
		all->count += mine->count;
		mine->queued = all->n;
		all->n += mine->n;
	}
	return 0;
}

static int make_lists(struct train_bpe *t)
{
	for (size_t i = 0; i < t->pairs.n; i++) {
		struct train_pair *p = &t->pairs.items[i];
		uint32_t n = p->n;

		p->n = 0;
		if (train_lists_new(&t->lists, &p->places, n) < 0)
			return -1;
		p->n = n;
		p->queued = p->count;
		p->listed = 1;
		if (train_queue_push(&t->queue, &t->pairs, (uint32_t)i) < 0)
			return -1;
	}
	return 0;
}

static void aim(struct train_bpe *t, struct part *p)
{
	for (size_t i = 0; i < p->pairs.n; i++) {
		struct train_pair *mine = &p->pairs.items[i];
		struct train_pair *all =
			&t->pairs.items[train_pairs_find(&t->pairs, mine->left, mine->right)];

		mine->places.many = train_places(&all->places, all->n) + mine->queued;
	}
}

static int count_all(struct counting *c)
{
	if (cut(c) < 0)
		return -1;
	run(c, count_part);
	for (int i = 0; i < c->n; i++)
		if (add_part(c->t, &c->parts[i]) < 0)
			return -1;
	if (make_lists(c->t) < 0)
		return -1;
	for (int i = 0; i < c->n; i++)
		aim(c->t, &c->parts[i]);
	run(c, place_part);
	return 0;
}

int train_count(struct train_bpe *t)
{
	struct counting c = { .t = t, .n = t->options.team ? team_size(t->options.team) : 1 };
	int result;

	c.parts = mem_new((size_t)c.n, sizeof(*c.parts));
	if (!c.parts)
		return -1;
	result = count_all(&c);
	for (int i = 0; i < c.n; i++) {
		train_pairs_clear(&c.parts[i].pairs);
		free(c.parts[i].recent);
	}
	free(c.parts);
	return result;
}
