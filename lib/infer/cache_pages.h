/*
 * lib/infer/cache_pages.h - who has which page of a cache of keys and values
 *
 * A pool of pages of SLOTS rows each, and tables that list the pages of a sequence in their order. Sequences that begin alike have pages in
 * common; what is written lies in pages that one table alone has, so the last page of several, when it is not full, is copied before one of them
 * goes on (Kwon et al. 2023). Only numbers are kept here: the rows themselves are the caller's.
 */
#ifndef LIB_INFER_CACHE_PAGES_H
#define LIB_INFER_CACHE_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct cache_pages;

/* N pages of SLOTS rows, none of them taken. -1: no memory. */
int cache_pages_new(struct cache_pages **out, size_t n, size_t slots);
void cache_pages_free(struct cache_pages *p); /* NULL is allowed */
size_t cache_pages_left(const struct cache_pages *p);

/* A zeroed table is empty. */
struct cache_table {
	int32_t *pages; /* owned */
	size_t n, capacity;
	size_t length; /* rows; the pages have room for them, and for less than a page more */
};

/* Rows FROM the first of one page on go to another. */
struct cache_copy {
	int32_t from, to; /* pages; FROM below 0: nothing is to be copied */
	size_t rows;
};

/* Pages that N more rows take. */
size_t cache_table_need(const struct cache_pages *p, const struct cache_table *t, size_t n);
/* Makes room for N more rows, and the table so much longer. -1 with the error set, and nothing changed: no page is left, or no memory. */
int cache_table_extend(struct cache_pages *p, struct cache_table *t, size_t n,
		       struct cache_copy *copy);
/* Forgets all but the first N rows, and gives back the pages that held the others alone. */
void cache_table_cut(struct cache_pages *p, struct cache_table *t, size_t n);
/* Makes TO, an empty table, the first N rows of FROM. -1: no memory. */
int cache_table_share(struct cache_pages *p, struct cache_table *to, const struct cache_table *from,
		      size_t n);
/* Empty, without memory. */
void cache_table_free(struct cache_pages *p, struct cache_table *t);
/* The slot of row I. */
int32_t cache_table_slot(const struct cache_pages *p, const struct cache_table *t, size_t i);

#endif
