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

/* N is 1 to SHORT_KEY_MAX. The loads overlap where N is not a power of two. */
static inline struct short_key short_key(const char *p, size_t n)
{
	struct short_key k = { 0, 0 };
	uint32_t first, last;

	if (n >= 8) {
		memcpy(&k.low, p, 8);
		memcpy(&k.high, p + n - 8, 8);
	} else if (n >= 4) {
		memcpy(&first, p, 4);
		memcpy(&last, p + n - 4, 4);
		k.low = first | (uint64_t)last << 32;
	} else {
		k.low = (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 |
			(uint64_t)(unsigned char)p[n - 1] << 16;
	}
	return k;
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
