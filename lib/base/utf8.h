/*
 * lib/base/utf8.h - UTF-8 as Unicode 15 section 3.9, table 3-7 defines it
 *
 * Well-formed means: no overlong form, no surrogate, nothing past U+10FFFF.
 */
#ifndef LIB_BASE_UTF8_H
#define LIB_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"

/* Bytes before the first one that is not part of a well-formed sequence; N when all are. */
size_t utf8_valid_prefix(const void *data, size_t n);

/* Length (1 to 4) of the well-formed sequence at the start of N bytes, its code point to *OUT; 0
   when there is none. */
size_t utf8_decode(const void *data, size_t n, uint32_t *out);

/* The same, for text that is mostly of characters of three bytes. */
static inline size_t utf8_decode_fast(const void *data, size_t n, uint32_t *out)
{
	const unsigned char *s = data;

	if (n >= 3 && (s[0] & 0xF0) == 0xE0 && (s[1] & 0xC0) == 0x80 && (s[2] & 0xC0) == 0x80) {
		uint32_t c = (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u);

		*out = c;
		return c < 0x800 || (c & 0xF800) == 0xD800 ? 0 : 3;
	}
	return utf8_decode(data, n, out);
}

/* Writes 1 to 4 bytes; 0 for a surrogate or past U+10FFFF. */
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
