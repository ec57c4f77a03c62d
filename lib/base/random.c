/*
 * lib/base/random.c - random numbers by place, not by order
 *
 * The keying is that of random.h; the arithmetic is in kernels/philox.h and kernels/random.h.
 */
#include "lib/base/random.h"

#include "kernels/philox.h"
#include "kernels/random.h"

#define FEISTEL_ROUNDS 12

struct random_stream random_at(uint64_t seed, uint64_t step, uint64_t scope)
{
	uint32_t counter[4] = { (uint32_t)step, (uint32_t)(step >> 32), (uint32_t)scope,
				(uint32_t)(scope >> 32) };
	uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };

	philox4x32(counter, key, counter);
	return (struct random_stream){ { counter[0], counter[1] } };
}

uint32_t random_u32(const struct random_stream *r, uint64_t row, uint64_t element)
{
	uint32_t words[4];

	random_block(r->key, row, element / 4, words);
	return words[element % 4];
}

uint64_t random_u64(const struct random_stream *r, uint64_t row, uint64_t element)
{
	uint32_t words[4];
	uint64_t pair = element % 2 * 2;

	random_block(r->key, row, element / 2, words);
	return words[pair] | (uint64_t)words[pair + 1] << 32;
}

float random_uniform(const struct random_stream *r, uint64_t row, uint64_t element)
{
	return random_uniform_of(random_u32(r, row, element));
}

double random_uniform53(const struct random_stream *r, uint64_t row, uint64_t element)
{
	return (double)(random_u64(r, row, element) >> 11) * 0x1p-53;
}

uint64_t random_below(const struct random_stream *r, uint64_t row, uint64_t element, uint64_t n)
{
	return (uint64_t)((unsigned __int128)random_u64(r, row, element) * n >> 64);
}

float random_normal(const struct random_stream *r, uint64_t row, uint64_t element)
{
	uint32_t words[4];
	uint64_t pair = element % 4 & ~UINT64_C(1);
	float even, odd;

	random_block(r->key, row, element / 4, words);
	random_normal_pair(words[pair], words[pair + 1], &even, &odd);
	return element & 1 ? odd : even;
}

void random_normals(const struct random_stream *r, uint64_t row, uint64_t first, float *out,
		    size_t n)
{
	size_t i = 0;

	for (; i < n && (first + i) % 4; i++)
		out[i] = random_normal(r, row, first + i);
	for (; n - i >= 4; i += 4) {
		uint32_t words[4];

		random_block(r->key, row, (first + i) / 4, words);
		random_normal_pair(words[0], words[1], &out[i], &out[i + 1]);
		random_normal_pair(words[2], words[3], &out[i + 2], &out[i + 3]);
	}
	for (; i < n; i++)
		out[i] = random_normal(r, row, first + i);
}

void random_shuffle_u32(const struct random_stream *r, uint64_t row, uint32_t *items, size_t n)
{
	for (size_t i = n; i-- > 1;) {
		size_t j = (size_t)random_below(r, row, i, (uint64_t)i + 1);
		uint32_t kept = items[i];

		items[i] = items[j];
		items[j] = kept;
	}
}

/* Half the bits of the smallest power of 4 that is at least N; at least 1. */
static unsigned half_bits(uint64_t n)
{
	unsigned half = 1;

	while (half < 32 && (n - 1) >> (2 * half))
		half++;
	return half;
}

/* The words of one round; no element's block number (below 2^62) has the top bit. */
static uint32_t round_word(const struct random_stream *r, uint64_t row, uint64_t round,
			   uint32_t right)
{
	uint32_t words[4];

	random_block(r->key, row, (UINT64_C(1) << 63) | round << 32 | right, words);
	return words[0];
}

/*
 * A bijection of the numbers below 4^HALF. With HALF above 1 the rounds make even permutations
 * only; whether 0 and 1 trade places at the end is one more draw, so that small ranges get every
 * order.
 */
static uint64_t feistel(const struct random_stream *r, uint64_t row, unsigned half, uint64_t x)
{
	uint32_t mask = (uint32_t)((UINT64_C(1) << half) - 1);
	uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;

	for (uint64_t round = 0; round < FEISTEL_ROUNDS; round++) {
		uint32_t kept = right;

		right = left ^ (round_word(r, row, round, right) & mask);
		left = kept;
	}
	x = (uint64_t)left << half | right;
	return x < 2 ? x ^ (round_word(r, row, FEISTEL_ROUNDS, 0) & 1) : x;
}

uint64_t random_permute(const struct random_stream *r, uint64_t row, uint64_t n, uint64_t i)
{
	unsigned half = half_bits(n);

	do
		i = feistel(r, row, half, i);
	while (i >= n);
	return i;
}
