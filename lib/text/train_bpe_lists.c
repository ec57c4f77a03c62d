/*
 * lib/text/train_bpe_lists.c - memory for the places of pairs
 *
 * Lists are made at their final size and freed when their pair is merged. Sizes are rounded up to two classes for each
 * doubling; each class keeps what was freed. Large lists are the allocator's.
 */
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_bpe_parts.h"

#define SLAB_SIZE ((size_t)1 << 20)
#define LARGE	  16384 /* places */

struct slab {
	struct slab *next;
	uint64_t align; /* lists begin at a multiple of 16 */
};

/* Classes hold 4, 6, 8, 12, 16, 24... places. */
static int class_of(uint32_t n)
{
	int log = 31 - __builtin_clz(n - 1); /* n > 2: 2^log < n <= 2^(log + 1) */
	bool low = log > 1 && n <= 3u << (log - 1);

	return 2 * (log - 1) - low;
}

static size_t class_bytes(int class)
{
	return sizeof(uint32_t) *
	       (class % 2 ? (size_t)3 << ((class + 1) / 2) : (size_t)4 << (class / 2));
}

static void *from_slab(struct train_lists *l, size_t size)
{
	void *p;

	if (size > (size_t)(l->end - l->at)) {
		struct slab *s;

		if (train_memory_take(l->memory, SLAB_SIZE) < 0)
			return NULL;
		s = malloc(SLAB_SIZE);
		if (!s) {
			err_memory(SLAB_SIZE);
			return NULL;
		}
		s->next = l->slabs;
		l->slabs = s;
		l->at = (unsigned char *)(s + 1);
		l->end = (unsigned char *)s + SLAB_SIZE;
	}
	p = l->at;
	l->at += size;
	return p;
}

static void *new_large(struct train_lists *l, uint32_t n)
{
	size_t size = (size_t)n * sizeof(uint32_t);
	void *p;

	if (train_memory_take(l->memory, size) < 0)
		return NULL;
	p = malloc(size);
	if (!p)
		err_memory(size);
	return p;
}

int train_lists_new(struct train_lists *l, union train_places *p, uint32_t n)
{
	int class;

	if (n <= TRAIN_INLINE)
		return 0;
	if (n > LARGE) {
		p->many = new_large(l, n);
		return p->many ? 0 : -1;
	}
	class = class_of(n);
	if (l->free[class]) {
		p->many = l->free[class];
		memcpy(&l->free[class], p->many, sizeof(void *));
		return 0;
	}
	p->many = from_slab(l, class_bytes(class));
	return p->many ? 0 : -1;
}

void train_lists_free(struct train_lists *l, union train_places *p, uint32_t n)
{
	int class;

	if (n <= TRAIN_INLINE || !p->many)
		return;
	if (n > LARGE) {
		train_memory_give(l->memory, (uint64_t)n * sizeof(uint32_t));
		free(p->many);
		return;
	}
	class = class_of(n);
	memcpy(p->many, &l->free[class], sizeof(void *));
	l->free[class] = p->many;
}

void train_lists_clear(struct train_lists *l)
{
	struct slab *next;

	for (struct slab *s = l->slabs; s; s = next) {
		next = s->next;
		free(s);
	}
	l->slabs = NULL;
}
