/*
 * lib/data/token_bytes.h - the bytes of tokens in text and in JSON, and the vocabulary line by line
 */
#ifndef LIB_DATA_TOKEN_BYTES_H
#define LIB_DATA_TOKEN_BYTES_H

#include "lib/base/buffer.h"
#include "lib/text/tokenizer.h"

/* What the token stands for, two digits a byte: `e6ad`. */
void token_bytes_hex(struct buffer *b, const struct tokenizer *t, uint32_t id);
/* A member KEY, or KEY_base64 when VALUE is not UTF-8. */
void token_bytes_json(struct buffer *b, const char *key, struct bytes value);

/*
 * The vocabulary: of each id its kind, its score (or `-`), its bytes in hexadecimal, the same as a C string, and the piece as the
 * tokenizer's file spells it, as a C string too.
 */
struct vocab_lines;
int vocab_lines_new(struct vocab_lines **out, const struct tokenizer *t);
void vocab_lines_free(struct vocab_lines *v); /* NULL is allowed */

void vocab_line_headings(struct buffer *b);
/* False, and nothing, when there is no such id. */
bool vocab_line(struct buffer *b, const struct vocab_lines *v, uint32_t id);
bool vocab_line_json(struct buffer *b, const struct vocab_lines *v, uint32_t id);

#endif
