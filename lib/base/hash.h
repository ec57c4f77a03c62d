/*
 * lib/base/hash.h - the 128-bit hash of wholeness and fingerprints
 *
 * The data is cut into pieces of 1 MiB (the last may be shorter; no data is no piece). Each
 * piece is hashed with XXH3-128, seed 0; the result is XXH3-128, seed 0, of the pieces'
 * digests, each in its canonical form (16 bytes, big-endian), in order. So a stream, a
 * map and any number of threads give the same. Not a cryptographic hash: it finds damage
 * and mix-ups, not forgery.
 */
#ifndef LIB_BASE_HASH_H
#define LIB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/team.h"

#define HASH_PIECE ((size_t)1 << 20)
#define HASH_HEX   33 /* 32 digits and the NUL */

struct hash128 {
	unsigned char digest[16]; /* canonical, big-endian */
};

struct hasher;

int hasher_new(struct hasher **out);
void hasher_free(struct hasher *h); /* NULL is allowed */
void hasher_add(struct hasher *h, const void *data, size_t n);
struct hash128 hasher_value(const struct hasher *h); /* of all that was added; more may follow */

/* Of memory, on a team; T may be NULL for the caller alone. */
int hash_memory(struct team *t, const void *data, size_t n, struct hash128 *out);

/* Lower-case hexadecimal digits, most significant first. */
void hash_hex(const struct hash128 *h, char out[HASH_HEX]);
/* 0, or -1 with the error set when TEXT is not 32 hexadecimal digits. */
int hash_parse(const char *text, struct hash128 *out);

/* XXH3-64 of a short string, for table lookups and the scopes of random draws. */
uint64_t hash_short(const void *data, size_t n, uint64_t seed);

#endif
