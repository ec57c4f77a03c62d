/* lib/text/train_bpe_pairs.c - the pairs of neighbours that were ever seen, with their counts */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

#define FEWEST	  4096
#define PAIRS_MAX (UINT32_MAX - 1)

void train_pairs_init(struct train_pairs *p, struct train_memory *memory)
{
	*p = (struct train_pairs){ .spare = TRAIN_NONE, .memory = memory };
}

void train_pairs_clear(struct train_pairs *p)
{
	free(p->items);
	free(p->slots);
	train_pairs_init(p, p->memory);
}

uint32_t train_pairs_find(const struct train_pairs *p, uint32_t left, uint32_t right)
{
	if (!p->slots)
		return TRAIN_NONE;
	for (size_t i = train_pair_hash(left, right) & p->mask; p->slots[i];
	     i = (i + 1) & p->mask) {
		const struct train_pair *pair = &p->items[p->slots[i] - 1];

		if (pair->left == left && pair->right == right)
			return p->slots[i] - 1;
	}
	return TRAIN_NONE;
}

static void fill_slot(struct train_pairs *p, uint32_t record)
{
	const struct train_pair *pair = &p->items[record];
	size_t i = train_pair_hash(pair->left, pair->right) & p->mask;

	while (p->slots[i])
		i = (i + 1) & p->mask;
	p->slots[i] = record + 1;
}

static int grow_slots(struct train_pairs *p)
{
	size_t before = p->slots ? p->mask + 1 : 0, size = before ? 2 * before : FEWEST;
	uint32_t *slots;

	if (p->n + p->n / 2 < before)
		return 0;
	if (p->memory && train_memory_take(p->memory, (size - before) * sizeof(*slots)) < 0)
		return -1;
	slots = mem_new(size, sizeof(*slots));
	if (!slots)
		return -1;
	free(p->slots);
	p->slots = slots;
	p->mask = size - 1;
	for (size_t i = 0; i < p->n; i++)
		if (!p->items[i].extra)
			fill_slot(p, (uint32_t)i);
	return 0;
}

static int add(struct train_pairs *p, struct train_pair pair, uint32_t *record)
{
	if (p->n >= PAIRS_MAX)
		return err_set(ERR_LIMIT, "more than %u pairs of pieces", PAIRS_MAX);
	if (train_memory_grow(p->memory, &p->items, &p->capacity, p->n + 1, sizeof(*p->items)) < 0)
		return -1;
	p->items[p->n] = pair;
	*record = (uint32_t)p->n++;
	return 0;
}

int train_pairs_get(struct train_pairs *p, uint32_t left, uint32_t right, uint32_t *pair)
{
	*pair = train_pairs_find(p, left, right);
	if (*pair != TRAIN_NONE)
		return 0;
	if (grow_slots(p) < 0 ||
	    add(p, (struct train_pair){ .left = left, .right = right }, pair) < 0)
		return -1;
	fill_slot(p, *pair);
	return 0;
}

int train_pairs_extra(struct train_pairs *p, uint32_t pair, uint32_t *extra)
{
	struct train_pair record = { .left = p->items[pair].left,
				     .right = p->items[pair].right,
				     .count = pair,
				     .extra = 1 };

	p->items[pair].several = 1;
	if (p->spare == TRAIN_NONE)
		return add(p, record, extra);
	*extra = p->spare;
	p->spare = p->items[*extra].left;
	p->items[*extra] = record;
	return 0;
}

void train_pairs_release(struct train_pairs *p, uint32_t extra)
{
	p->items[extra].left = p->spare;
	p->items[extra].n = 0;
	p->spare = extra;
}
