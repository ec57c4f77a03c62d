/*
 * lib/data/hash_set.h - which 128-bit hashes were there before
 *
 * Sixteen bytes a place, at most three quarters of the places taken. Two texts with one hash are taken for
 * the same: by chance once in 2^64 texts. The hash is not made against people who want that.
 */
#ifndef LIB_DATA_HASH_SET_H
#define LIB_DATA_HASH_SET_H

#include <stdbool.h>

#include "lib/base/hash.h"

struct hash_set {
	struct hash128 *places; /* owned; all zeros: free */
	size_t n_places, n;
	bool has_zero;
};

void hash_set_free(struct hash_set *s); /* and makes it empty again */
size_t hash_set_bytes(const struct hash_set *s);
/* 1 when it was added, 0 when it was there, -1. */
int hash_set_add(struct hash_set *s, const struct hash128 *h);

#endif
