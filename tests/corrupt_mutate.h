/*
 * tests/corrupt_mutate.h - the mutations that tests/corrupt.h lists
 *
 * A mutation depends on the two files, the seed and its number alone, so that any one can be made again.
 */
#ifndef TESTS_CORRUPT_MUTATE_H
#define TESTS_CORRUPT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct corrupt_source {
	struct bytes good, second; /* second may be empty */
	uint64_t seed;
};

/* The most bytes that a mutation of S can have. */
size_t corrupt_capacity(const struct corrupt_source *s);

/*
 * Writes mutation NUMBER into OUT, corrupt_capacity() bytes, and returns its size. Number 0 is
 * the good file itself.
 */
size_t corrupt_mutate(const struct corrupt_source *s, uint64_t number, unsigned char *out);

#endif
