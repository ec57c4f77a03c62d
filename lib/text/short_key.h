/*
 * lib/text/short_key.h - up to 16 bytes as two words, so that short strings compare as integers
 *
 * Two strings of one length have the same words only when they are equal. Nothing past the N bytes is read.
 */
#ifndef LIB_TEXT_SHORT_KEY_H
#define LIB_TEXT_SHORT_KEY_H

#include <stdint.h>
#include <string.h>

#define SHORT_KEY_MAX 16

struct short_key {
	uint64_t low, high;
};

static inline uint64_t short_key_part(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* N is 1 to SHORT_KEY_MAX. Four parts that overlap as N wants it, so that lengths need few branches. */
static inline struct short_key short_key(const char *p, size_t n)
{
	size_t step = n / 8 * 4;

	if (n < 4)
		return (struct short_key){ (uint64_t)(unsigned char)p[0] |
						   (uint64_t)(unsigned char)p[n / 2] << 8 |
						   (uint64_t)(unsigned char)p[n - 1] << 16,
					   0 };
	return (struct short_key){ short_key_part(p) | short_key_part(p + step) << 32,
				   short_key_part(p + n - 4 - step) | short_key_part(p + n - 4)
									      << 32 };
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
