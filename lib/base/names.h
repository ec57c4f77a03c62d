/*
 * lib/base/names.h - which number a name has
 *
 * A hash table from byte strings to 32-bit numbers, with linear time for any input: the hash
 * is seeded at random per process, so that no file can be written to collide. Nothing is
 * ever listed from it, so the seed never shows. Names are borrowed, not copied.
 */
#ifndef LIB_BASE_NAMES_H
#define LIB_BASE_NAMES_H

#include <stdint.h>

#include "lib/base/bytes.h"

struct names;

int names_new(struct names **out);
void names_free(struct names *n);  /* NULL is allowed */
void names_clear(struct names *n); /* forgets every name, keeps the memory */

/* Makes room for COUNT names in all, so that adding them need not. 0, or -1 with the error set. */
int names_reserve(struct names *n, size_t count);

/*
 * Adds NAME with VALUE. 1 when added, 0 when it was there (its value goes to *OLD when OLD is
 * not NULL, and stays), -1 with the error set. NAME's bytes must outlive the table.
 */
int names_add(struct names *n, struct bytes name, uint32_t value, uint32_t *old);

/* Whether NAME is there; its value to *VALUE when that is not NULL. */
bool names_find(const struct names *n, struct bytes name, uint32_t *value);

#endif
