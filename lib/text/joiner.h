/*
 * lib/text/joiner.h - tokens back into bytes, for tokenizers whose decoder only joins them
 *
 * All pieces lie side by side in one run of bytes, in the order of their ids, so that the pieces of a large
 * vocabulary stay in the cache: several times as fast as asking for each.
 */
#ifndef LIB_TEXT_JOINER_H
#define LIB_TEXT_JOINER_H

#include "lib/base/buffer.h"
#include "lib/text/tokenizer.h"

struct joiner; /* immutable; any number of threads */

int joiner_new(struct joiner **out, const struct tokenizer *t);
void joiner_free(struct joiner *j); /* NULL is allowed */

/* Appends the pieces of N ids to OUT; an id past the vocabulary is nothing. 0, or -1 with the error set. */
int joiner_put(const struct joiner *j, const uint32_t *ids, size_t n, struct buffer *out);

#endif
