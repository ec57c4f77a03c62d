/* lib/infer/cache_pages.c - who has which page of a cache of keys and values */

#include "lib/infer/cache_pages.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

struct cache_pages {
	size_t n, slots;
	uint32_t *holders; /* owned: how many tables list each page */
	int32_t *left;	   /* owned: those that none lists; the last is taken first */
	size_t n_left;
};

int cache_pages_new(struct cache_pages **out, size_t n, size_t slots)
{
	struct cache_pages *p = mem_new(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return -1;
	p->n = p->n_left = n;
	p->slots = slots;
	p->holders = mem_new(n, sizeof(*p->holders));
	p->left = mem_new(n, sizeof(*p->left));
	if (!p->holders || !p->left) {
		cache_pages_free(p);
		return -1;
	}
	/* The first ones first: memory that was not needed yet stays untouched. */
	for (size_t i = 0; i < n; i++)
		p->left[i] = (int32_t)(n - 1 - i);
	*out = p;
	return 0;
}

void cache_pages_free(struct cache_pages *p)
{
	if (!p)
		return;
	free(p->holders);
	free(p->left);
	free(p);
}

size_t cache_pages_left(const struct cache_pages *p)
{
	return p->n_left;
}

static int32_t take(struct cache_pages *p)
{
	int32_t page = p->left[--p->n_left];

	p->holders[page] = 1;
	return page;
}

static void give_back(struct cache_pages *p, int32_t page)
{
	if (--p->holders[page] == 0)
		p->left[p->n_left++] = page;
}

static size_t pages_for(const struct cache_pages *p, size_t rows)
{
	return (rows + p->slots - 1) / p->slots;
}

/* Whether the next row goes into a page that others have too. */
static bool writes_into_shared(const struct cache_pages *p, const struct cache_table *t)
{
	return t->length % p->slots && p->holders[t->pages[t->length / p->slots]] > 1;
}

size_t cache_table_need(const struct cache_pages *p, const struct cache_table *t, size_t n)
{
	if (n == 0)
		return 0;
	return pages_for(p, t->length + n) - t->n + writes_into_shared(p, t);
}

int cache_table_extend(struct cache_pages *p, struct cache_table *t, size_t n,
		       struct cache_copy *copy)
{
	size_t need = cache_table_need(p, t, n), after = pages_for(p, t->length + n);

	*copy = (struct cache_copy){ .from = -1 };
	if (need > p->n_left)
		return err_set(ERR_LIMIT, "the cache of keys and values is full: %zu pages of %zu",
			       p->n, p->slots);
	if (mem_grow(&t->pages, &t->capacity, after, sizeof(*t->pages)) < 0)
		return -1;
	if (n && writes_into_shared(p, t)) {
		int32_t *last = &t->pages[t->n - 1];

		*copy = (struct cache_copy){ .from = *last, .rows = t->length % p->slots };
		give_back(p, *last);
		copy->to = *last = take(p);
	}
	while (t->n < after)
		t->pages[t->n++] = take(p);
	t->length += n;
	return 0;
}

void cache_table_cut(struct cache_pages *p, struct cache_table *t, size_t n)
{
	if (n >= t->length)
		return;
	t->length = n;
	while (t->n > pages_for(p, n))
		give_back(p, t->pages[--t->n]);
}

int cache_table_share(struct cache_pages *p, struct cache_table *to, const struct cache_table *from,
		      size_t n)
{
	size_t pages = pages_for(p, n);

	if (mem_grow(&to->pages, &to->capacity, pages, sizeof(*to->pages)) < 0)
		return -1;
	for (size_t i = 0; i < pages; i++) {
		to->pages[i] = from->pages[i];
		p->holders[to->pages[i]]++;
	}
	to->n = pages;
	to->length = n;
	return 0;
}

void cache_table_free(struct cache_pages *p, struct cache_table *t)
{
	cache_table_cut(p, t, 0);
	free(t->pages);
	*t = (struct cache_table){ 0 };
}

int32_t cache_table_slot(const struct cache_pages *p, const struct cache_table *t, size_t i)
{
	return t->pages[i / p->slots] * (int32_t)p->slots + (int32_t)(i % p->slots);
}
