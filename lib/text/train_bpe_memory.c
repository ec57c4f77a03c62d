/* lib/text/train_bpe_memory.c - what the byte-pair trainer holds, against its limit */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

int train_memory_take(struct train_memory *m, uint64_t size)
{
	if (m->limit && (m->used > m->limit || size > m->limit - m->used))
		return err_set(ERR_LIMIT,
			       "training needs more than the %.1f MB of memory that it may take: "
			       "%.1f MB so far",
			       (double)m->limit / 1e6, ((double)m->used + (double)size) / 1e6);
	m->used += size;
	return 0;
}

void train_memory_give(struct train_memory *m, uint64_t size)
{
	m->used -= size;
}

int train_memory_grow(struct train_memory *m, void *items, size_t *capacity, size_t need,
		      size_t size)
{
	size_t before = *capacity;

	if (need <= before)
		return 0;
	if (m && train_memory_take(m, (need - before) * (uint64_t)size) < 0)
		return -1;
	if (mem_grow(items, capacity, need, size) < 0)
		return -1;
	/* The half of a doubled array that no one has touched takes no memory yet, but will. */
	if (m)
		m->used += (*capacity - need) * (uint64_t)size;
	return 0;
}
