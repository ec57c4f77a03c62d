/*
 * lib/data/token_split.h - which part a document goes to, by its tokens alone
 *
 * The part follows from a hash of the document's ids under a key, so it stays when the corpus grows or
 * comes in another order, and equal documents stay together: XXH3-64 of the ids, 4 bytes each,
 * little-endian, of which the first 65,536 count; the seed is XXH3-64 of the key, seed 0. The hash
 * over 2^64 lies in [0, 1); the first part has the first share of it, the next one the next, and what is
 * left is the last part's.
 */
#ifndef LIB_DATA_TOKEN_SPLIT_H
#define LIB_DATA_TOKEN_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLIT_IDS_MAX 65536

/* IDS are the first min(n, SPLIT_IDS_MAX) of the document. SHARES has N - 1 entries for N parts. */
uint32_t token_split_part(const uint32_t *ids, size_t n_ids, const char *key, const double *shares,
			  uint32_t n);

#endif
