/*
 * lib/infer/token_text.h - tokens that come one by one, as text
 *
 * Special tokens have no text. Bytes of a character that is not whole yet are held over to the next token.
 */
#ifndef LIB_INFER_TOKEN_TEXT_H
#define LIB_INFER_TOKEN_TEXT_H

#include "lib/base/buffer.h"
#include "lib/text/tokenizer.h"

struct token_text;

/* Goes on after the N tokens of BEFORE, as far as they matter to how the next ones read (a space before the first word). T outlives it. */
int token_text_new(struct token_text **out, const struct tokenizer *t, const int32_t *before,
		   size_t n);
void token_text_free(struct token_text *x); /* NULL is allowed */
/* Appends to OUT what ID makes certain. */
int token_text_add(struct token_text *x, int32_t id, struct buffer *out);
/* No more tokens come: appends what was held back. */
int token_text_end(struct token_text *x, struct buffer *out);

#endif
