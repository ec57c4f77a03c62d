/*
 * lib/data/token_lines.h - tokens as lines for people and for programs
 *
 * Everything goes to the end of a buffer. What is not printable is escaped, so that no text can break a line or drive a
 * terminal; pieces are quoted as C strings, and can be read back.
 */
#ifndef LIB_DATA_TOKEN_LINES_H
#define LIB_DATA_TOKEN_LINES_H

#include "lib/base/buffer.h"
#include "lib/data/token_document.h"

struct token_line_style {
	bool bytes; /* also the token's bytes, in hexadecimal */
	bool color; /* for a terminal: backgrounds that alternate */
};

/* A line of headings, and then one for token I: tabs between, `-` for a role that is none. */
void token_line_headings(struct buffer *b, const struct token_line_style *style);
void token_line(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
		size_t i, const struct token_line_style *style);
/* The same as a JSON object; `piece_base64` for a piece that is not UTF-8. */
void token_line_json(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
		     size_t i, const struct token_line_style *style);
/* For a terminal: columns side by side, the piece last. */
void token_line_aligned(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
			size_t i, const struct token_line_style *style);
/* `document 3: 120 tokens, 512 bytes`. */
void token_line_title(struct buffer *b, const struct token_document *d);

/*
 * The running text of tokens FROM to TO, each with its color; without colors a bar stands between tokens. A token that
 * shows nothing of the text (part of a character, or added to it) shows its piece.
 */
void token_inline(struct buffer *b, const struct tokenizer *t, const struct token_document *d,
		  size_t from, size_t to, bool color);

#endif
