/*
 * lib/base/memory.h - allocation that says what it could not get
 *
 * NULL with the error set when the product overflows or memory is refused; a size of 0
 * gives a pointer that can be freed. Free with free().
 */
#ifndef LIB_BASE_MEMORY_H
#define LIB_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

void *mem_new(size_t n, size_t size); /* zeroed */
/* The same for a table that is looked into here and there: in huge pages, when it fills one and the system has them. */
void *mem_table(size_t n, size_t size);
/* N bytes of anything, in huge pages under the same conditions: they are faster to come by. */
void *mem_pages(size_t n);
char *mem_copy(const void *p, size_t n); /* N bytes and a NUL after them */

/*
 * Makes room for at least NEED items in *ITEMS, which has *CAPACITY of SIZE bytes each,
 * doubling. 0, or -1 with the error set and *ITEMS as it was.
 */
int mem_grow(void *items, size_t *capacity, size_t need, size_t size);

/* printf into a new string. */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
