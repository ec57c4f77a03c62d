/*
 * lib/base/random.h - random numbers by place, not by order
 *
 * Every number is a function of (seed, step, scope, row, element) alone, through Philox
 * 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): the key is the
 * first 64 bits of philox(counter = step | scope << 64, key = seed); the counter of a draw is
 * (element / 4) | row << 64, and element % 4 says which of its four words. So any thread can
 * draw any number, and leaving some out changes no other.
 */
#ifndef LIB_BASE_RANDOM_H
#define LIB_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random_stream {
	uint32_t key[2];
};

/* SCOPE tells uses apart: hash_short() of a name, e.g. a node's scope. */
struct random_stream random_at(uint64_t seed, uint64_t step, uint64_t scope);

uint32_t random_u32(const struct random_stream *r, uint64_t row, uint64_t element);
/* Words 2 x element (the low half) and 2 x element + 1. */
uint64_t random_u64(const struct random_stream *r, uint64_t row, uint64_t element);

/* [0, 1), 24 bits: the top of random_u32. */
float random_uniform(const struct random_stream *r, uint64_t row, uint64_t element);
/* [0, 1), 53 bits: the top of random_u64. */
double random_uniform53(const struct random_stream *r, uint64_t row, uint64_t element);
/* An integer in [0, n), n > 0, without bias worth naming: the high half of random_u64 times n. */
uint64_t random_below(const struct random_stream *r, uint64_t row, uint64_t element, uint64_t n);
/*
 * Mean 0, deviation 1, by Box and Muller in double on the words of element & ~1 (the radius) and
 * its neighbour (the angle); logarithm, sine and cosine are our own polynomials (kernels/random.h),
 * so the bits are the same on every machine. At most 6.77 from 0.
 */
float random_normal(const struct random_stream *r, uint64_t row, uint64_t element);
/* N of them, from element FIRST on. */
void random_normals(const struct random_stream *r, uint64_t row, uint64_t first, float *out,
		    size_t n);

/* Fisher-Yates from the end: item i trades places with item random_below(i + 1), element i of ROW. */
void random_shuffle_u32(const struct random_stream *r, uint64_t row, uint32_t *items, size_t n);

/*
 * Where a keyed shuffle of 0..n-1 puts I: a bijection, found without a table. A Feistel network of
 * twelve rounds, each a Philox draw, over the next even number of bits, a last draw that may swap 0
 * and 1, and walking the cycle back into range: less than four walks on average. n > 0, i < n. Its
 * draws are apart from all others of ROW. Small ranges get every order alike often.
 */
uint64_t random_permute(const struct random_stream *r, uint64_t row, uint64_t n, uint64_t i);

#endif
