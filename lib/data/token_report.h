/*
 * lib/data/token_report.h - the statistics of tokens, written out
 */
#ifndef LIB_DATA_TOKEN_REPORT_H
#define LIB_DATA_TOKEN_REPORT_H

#include "lib/base/buffer.h"
#include "lib/data/token_stats.h"

/* For people: lines of `name value`, a histogram, the TOP most used tokens. 0, or -1 with the error set. */
int token_report_text(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
		      size_t top);
/* One JSON object with all of it. */
int token_report_json(struct buffer *b, const struct token_stats *s, const struct tokenizer *t,
		      size_t top);

#endif
