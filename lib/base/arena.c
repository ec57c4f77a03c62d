/*
 * lib/base/arena.c - many small things that die together
 *
 * A list of chunks, each twice as large as the one before, up to a limit; what does not fit the
 * newest gets a chunk of at least its size. calloc gives them zeroed, so nothing is cleared twice.
 */
#include "lib/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"

#define ALIGNMENT   ((size_t)16)
#define FIRST_CHUNK ((size_t)4096)
#define LARGE_CHUNK ((size_t)1 << 20)

struct chunk {
	struct chunk *before;
	unsigned char *at, *end; /* free bytes; AT is aligned */
};

/* In the arena itself. */
struct kept {
	struct kept *before;
	void *block;
};

struct arena {
	struct chunk *newest; /* NULL at first */
	size_t next_size;
	struct kept *kept;
};

int arena_new(struct arena **out)
{
	struct arena *a = mem_new(1, sizeof(*a));

	if (!a)
		return -1;
	a->next_size = FIRST_CHUNK;
	*out = a;
	return 0;
}

void arena_free(struct arena *a)
{
	struct chunk *before;

	if (!a)
		return;
	for (struct kept *k = a->kept; k; k = k->before)
		free(k->block);
	for (struct chunk *c = a->newest; c; c = before) {
		before = c->before;
		free(c);
	}
	free(a);
}

/* A chunk with room for SIZE bytes, which is a multiple of ALIGNMENT. */
static struct chunk *chunk_new(size_t size)
{
	struct chunk *c;
	size_t total, skip;

	if (!size_add(size, sizeof(*c) + ALIGNMENT, &total)) {
		err_memory(size);
		return NULL;
	}
	c = mem_new(1, total);
	if (!c)
		return NULL;
	c->at = (unsigned char *)(c + 1);
	skip = (uintptr_t)c->at % ALIGNMENT;
	c->at += skip ? ALIGNMENT - skip : 0;
	c->end = c->at + size;
	return c;
}

static int add_chunk(struct arena *a, size_t need)
{
	struct chunk *c = chunk_new(need > a->next_size ? need : a->next_size);

	if (!c)
		return -1;
	c->before = a->newest;
	a->newest = c;
	if (a->next_size < LARGE_CHUNK)
		a->next_size *= 2;
	return 0;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	size_t total;
	void *p;

	if (!size_mul(n, size, &total) || !size_round_up(total ? total : 1, ALIGNMENT, &total)) {
		err_set(ERR_MEMORY, "out of memory: %zu items of %zu bytes refused", n, size);
		return NULL;
	}
	if (!a->newest || total > (size_t)(a->newest->end - a->newest->at)) {
		if (add_chunk(a, total))
			return NULL;
	}
	p = a->newest->at;
	a->newest->at += total;
	return p;
}

void *arena_keep(struct arena *a, void *block)
{
	struct kept *k = arena_alloc(a, 1, sizeof(*k));

	if (!k) {
		free(block);
		return NULL;
	}
	*k = (struct kept){ a->kept, block };
	a->kept = k;
	return block;
}

char *arena_copy(struct arena *a, struct bytes b)
{
	size_t total;
	char *copy;

	if (!size_add(b.size, 1, &total)) {
		err_memory(b.size);
		return NULL;
	}
	copy = arena_alloc(a, total, 1);
	if (copy && b.size)
		memcpy(copy, b.data, b.size);
	return copy;
}
