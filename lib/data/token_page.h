/*
 * lib/data/token_page.h - tokens as a page for a browser: one HTML file that needs nothing else
 *
 * Colored tokens over the running text, what is known of each on hover and on focus, a legend, counts, the most used tokens.
 * No scripts: CSS does everything, and the page's own policy forbids the rest. Text is escaped; characters that cannot be seen,
 * or would turn the direction of what follows, are shown by name, bytes that are no UTF-8 as numbers.
 */
#ifndef LIB_DATA_TOKEN_PAGE_H
#define LIB_DATA_TOKEN_PAGE_H

#include "lib/base/buffer.h"
#include "lib/data/token_document.h"

struct token_page_options {
	struct bytes source, tokenizer; /* names, for the title */
	size_t top;			/* most used tokens to list */
};

struct token_page;

/* T and what O points to must outlive it. */
int token_page_new(struct token_page **out, const struct tokenizer *t,
		   const struct token_page_options *o);
void token_page_free(struct token_page *p); /* NULL is allowed */

/* Tokens FROM to TO of a document. */
int token_page_add(struct token_page *p, const struct token_document *d, size_t from, size_t to);

/* Appends the whole page. MORE: the input goes on after what was added. 0, or -1 with the error set. */
int token_page_end(struct token_page *p, bool more, struct buffer *out);

#endif
