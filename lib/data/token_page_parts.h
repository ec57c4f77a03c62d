/* lib/data/token_page_parts.h - what the files of the page share */
#ifndef LIB_DATA_TOKEN_PAGE_PARTS_H
#define LIB_DATA_TOKEN_PAGE_PARTS_H

#include "lib/base/buffer.h"
#include "lib/data/token_page.h"
#include "lib/data/token_stats.h"

extern const char token_page_style[];

/* TEXT between tags or in an attribute in double quotes; it is printable already (quote_text). */
void html_escape(struct buffer *b, struct bytes text);
/* Any bytes, as they are to be read: white space marked up, what cannot be seen named. */
void html_text(struct buffer *b, struct bytes text);
/* 1,234,567 */
void html_number(struct buffer *b, uint64_t n);

/* Everything before the documents, and everything after them. */
int token_page_head(struct buffer *b, const struct token_page_options *o,
		    const struct token_stats *s, const struct tokenizer *t, bool more);
int token_page_tail(struct buffer *b, const struct token_page_options *o,
		    const struct token_stats *s, const struct tokenizer *t);

#endif
