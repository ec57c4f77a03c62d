/*
 * lib/text/bytelevel.h - GPT-2's alphabet: a printable character for each byte
 *
 * The 188 bytes that are printable in Latin-1 (33-126, 161-172, 174-255) stand for themselves, the other 68 are,
 * in order, U+0100 to U+0143. tokenizer.json and GGUF spell the pieces of byte-level models in it.
 * Source: `bytes_to_unicode` of GPT-2's encoder.
 */
#ifndef LIB_TEXT_BYTELEVEL_H
#define LIB_TEXT_BYTELEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"

#define BYTELEVEL_END 0x144 /* past the last code point of the alphabet */

/* The code point that stands for BYTE. */
uint32_t bytelevel_code_point(uint8_t byte);
/* The byte that CODE_POINT stands for; -1 when it is not in the alphabet. */
int bytelevel_byte(uint32_t code_point);

/* Appends RAW, any bytes, spelled in the alphabet. */
void bytelevel_encode(struct buffer *out, struct bytes raw);
/*
 * Appends the bytes that TEXT spells. False, and nothing is appended, when TEXT has anything that is not in the
 * alphabet (or is not UTF-8).
 */
bool bytelevel_decode(struct buffer *out, struct bytes text);

#endif
