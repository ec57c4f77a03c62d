/*
 * lib/base/arena.h - many small things that die together
 *
 * Allocations are aligned to 16 bytes and zeroed, and are freed only as a whole.
 */
#ifndef LIB_BASE_ARENA_H
#define LIB_BASE_ARENA_H

#include "lib/base/bytes.h"

struct arena;

int arena_new(struct arena **out);
void arena_free(struct arena *a); /* NULL is allowed */

/* N items of SIZE bytes; NULL with the error set. Valid until arena_free. */
void *arena_alloc(struct arena *a, size_t n, size_t size);

/* Takes over BLOCK, which malloc gave or NULL: it is freed with the arena, or at once where there is no memory: NULL with the error set. */
void *arena_keep(struct arena *a, void *block);

/* A copy with a NUL after it, so that it serves as a C string too. */
char *arena_copy(struct arena *a, struct bytes b);

#endif
