/*
 * lib/text/train_bpe_queue.c - the most frequent pair first
 *
 * Most pairs are rare, and are never merged. So only those whose count reaches a floor are in the heap; the others wait in a
 * plain array, until the heap is empty and the floor is lowered.
 */
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

void train_queue_init(struct train_queue *q, struct train_memory *memory)
{
	*q = (struct train_queue){ .floor = UINT64_MAX, .memory = memory };
}

void train_queue_clear(struct train_queue *q)
{
	free(q->heap);
	free(q->cold);
	train_queue_init(q, q->memory);
}

static inline bool before(const struct train_entry *a, const struct train_entry *b)
{
	if (a->count != b->count)
		return a->count > b->count;
	if (a->left != b->left)
		return a->left < b->left;
	if (a->right != b->right)
		return a->right < b->right;
	return a->step < b->step;
}

static void down(struct train_queue *q, size_t i)
{
	struct train_entry entry = q->heap[i];

	for (;;) {
		size_t first = 4 * i + 1, end = first + 4 < q->n ? first + 4 : q->n, best = first;

		if (first >= q->n)
			break;
		for (size_t k = first + 1; k < end; k++)
			if (before(&q->heap[k], &q->heap[best]))
				best = k;
		if (!before(&q->heap[best], &entry))
			break;
		q->heap[i] = q->heap[best];
		i = best;
	}
	q->heap[i] = entry;
}

static void up(struct train_queue *q, size_t i)
{
	struct train_entry entry = q->heap[i];

	for (; i > 0 && before(&entry, &q->heap[(i - 1) / 4]); i = (i - 1) / 4)
		q->heap[i] = q->heap[(i - 1) / 4];
	q->heap[i] = entry;
}

static struct train_entry entry_of(const struct train_pairs *p, uint32_t record)
{
	const struct train_pair *pair = &p->items[record];

	return (struct train_entry){ pair->queued, pair->left, pair->right, pair->step, record };
}

int train_queue_push(struct train_queue *q, const struct train_pairs *p, uint32_t record)
{
	if (p->items[record].queued < q->floor) {
		if (train_memory_grow(q->memory, &q->cold, &q->cold_capacity, q->n_cold + 1,
				      sizeof(*q->cold)) < 0)
			return -1;
		q->cold[q->n_cold++] = record;
		return 0;
	}
	if (train_memory_grow(q->memory, &q->heap, &q->capacity, q->n + 1, sizeof(*q->heap)) < 0)
		return -1;
	q->heap[q->n] = entry_of(p, record);
	up(q, q->n++);
	return 0;
}

/* Lowers the floor to half of the highest count below it. */
static int lower(struct train_queue *q, const struct train_pairs *p)
{
	uint64_t highest = 0;
	size_t n = 0;

	for (size_t i = 0; i < q->n_cold; i++) {
		uint64_t count = p->items[q->cold[i]].queued;

		highest = count > highest ? count : highest;
	}
	q->floor = highest / 2;
	for (size_t i = 0; i < q->n_cold; i++)
		n += p->items[q->cold[i]].queued >= q->floor;
	if (train_memory_grow(q->memory, &q->heap, &q->capacity, n, sizeof(*q->heap)) < 0)
		return -1;
	n = 0;
	for (size_t i = 0; i < q->n_cold; i++) {
		uint32_t record = q->cold[i];

		if (p->items[record].queued >= q->floor)
			q->heap[q->n++] = entry_of(p, record);
		else
			q->cold[n++] = record;
	}
	q->n_cold = n;
	for (size_t i = q->n; i-- > 0;)
		down(q, i);
	return 0;
}

int train_queue_pop(struct train_queue *q, const struct train_pairs *p, uint32_t *record)
{
	if (q->n == 0) {
		if (q->n_cold == 0)
			return 0;
		if (lower(q, p) < 0)
			return -1;
	}
	*record = q->heap[0].record;
	q->heap[0] = q->heap[--q->n];
	if (q->n > 1)
		down(q, 0);
	return 1;
}
