/*
 * tests/guard.c - buffers that end, or start, at a page that cannot be touched
 *
 * Each buffer is a mapping of its own, whole pages between two unreadable ones, so that one byte
 * past the wanted edge is a fault. What was handed out stands in a list, since guard_free is given only
 * the pointer. For tests on one thread.
 */
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/size.h"
#include "tests/corrupt.h"

struct guarded {
	struct guarded *next;
	void *given;
	char *map;
	size_t size;
};

static struct guarded *all;

static _Noreturn void refuse(const char *what, size_t n)
{
	fprintf(stderr, "guard: cannot map %zu bytes: %s\n", n, what);
	abort();
}

/* Whole pages for N bytes between two closed ones; *OPEN is how many bytes are open. */
static struct guarded *map_new(size_t n, size_t *open)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole;
	struct guarded *g = malloc(sizeof(*g));

	if (!g || !size_round_up(n, page, open) || !size_add(*open, 2 * page, &whole))
		refuse("too large", n);
	g->size = whole;
	g->map = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->map == MAP_FAILED)
		refuse("mmap", n);
	if (*open && mprotect(g->map + page, *open, PROT_READ | PROT_WRITE) != 0)
		refuse("mprotect", n);
	g->given = g->map + page;
	g->next = all;
	all = g;
	return g;
}

void *guard_new(size_t n)
{
	size_t open;
	struct guarded *g = map_new(n, &open);

	g->given = (char *)g->given + (open - n);
	return g->given;
}

void *guard_new_before(size_t n)
{
	size_t open;

	return map_new(n, &open)->given;
}

void guard_free(void *p)
{
	struct guarded **at = &all, *g;

	if (!p)
		return;
	while (*at && (*at)->given != p)
		at = &(*at)->next;
	g = *at;
	if (!g) {
		fprintf(stderr, "guard: %p is not a guarded buffer\n", p);
		abort();
	}
	*at = g->next;
	munmap(g->map, g->size);
	free(g);
}
