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

/* Writes 1 to 4 bytes; 0 for a surrogate or past U+10FFFF. */
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
