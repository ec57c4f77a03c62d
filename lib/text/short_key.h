/*
 * lib/text/short_key.h - up to 16 bytes as two words, so that short strings compare as integers
 *
 * The bytes with zeros behind them: two strings of one length have the same words only when they are equal.
 */
#ifndef LIB_TEXT_SHORT_KEY_H
#define LIB_TEXT_SHORT_KEY_H

#include <stdint.h>

#include "kernels/bits.h"

#define SHORT_KEY_MAX 16

struct short_key {
	uint64_t low, high;
};

static inline uint64_t short_key_byte(const char *p, size_t at)
{
	return (uint64_t)(unsigned char)p[at] << (8 * at);
}

/* N is 1 to SHORT_KEY_MAX. Nothing past the N bytes is read: parts overlap as N wants it. */
static inline struct short_key short_key(const char *p, size_t n)
{
	if (n < 4)
		return (struct short_key){ short_key_byte(p, 0) | short_key_byte(p, n / 2) |
						   short_key_byte(p, n - 1),
					   0 };
	if (n <= 8)
		return (struct short_key){ load_u32(p) | (uint64_t)load_u32(p + n - 4)
								 << (8 * (n - 4)),
					   0 };
	return (struct short_key){ load_u64(p), load_u64(p + n - 8) >> (8 * (16 - n)) };
}

/* The same where SHORT_KEY_MAX bytes can be read: without a branch, since the lengths of words cannot be foreseen. */
static inline struct short_key short_key_inside(const char *p, size_t n)
{
	uint64_t mask = ~UINT64_C(0) >> (-n & 7) * 8;

	return (struct short_key){ load_u64(p) & (n >= 8 ? ~UINT64_C(0) : mask),
				   n > 8 ? load_u64(p + 8) & mask : 0 };
}

/* All bits of the key and of N reach the upper bits. */
static inline uint64_t short_key_hash(struct short_key k, size_t n, uint64_t seed)
{
	uint64_t h = (k.low ^ seed) * UINT64_C(0x9E3779B97F4A7C15);

	h ^= h >> 32;
	h = (h ^ (k.high + n)) * UINT64_C(0xD6E8FEB86659FD93);
	h ^= h >> 32;
	return h * UINT64_C(0xBF58476D1CE4E5B9);
}

#endif
