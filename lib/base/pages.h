/*
 * lib/base/pages.h - memory straight from the system: zero, aligned to pages, and huge pages where the system gives them
 *
 * What is large is cut from rooms that begin at a huge page, one after another: a matrix of a megabyte or two then lies in huge pages too,
 * which it would not fill by itself.
 */
#ifndef LIB_BASE_PAGES_H
#define LIB_BASE_PAGES_H

#include <stddef.h>

/* The rest of the present room; zeroed to begin with. */
struct pages {
	char *at;
	size_t left;
};

/* NULL with the error set when the system refuses. A SIZE of 0 is given a page. */
void *pages_take(struct pages *p, size_t size);
/* Gives back what pages_take gave for SIZE. */
void pages_give(void *data, size_t size);
/* Gives back what is not taken yet. */
void pages_end(struct pages *p);

#endif
