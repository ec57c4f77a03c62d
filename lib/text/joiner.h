/*
 * lib/text/joiner.h - tokens back into bytes, for tokenizers whose decoder only joins what each token stands for
 *
 * So do ByteLevel, and Llama's chain: Replace, ByteFallback, Fuse, and a Strip of what the text begins with. All pieces, as
 * they come out, lie side by side in one run of bytes, in the order of their ids, so that the pieces of a large
 * vocabulary stay in the cache: several times as fast as asking for each.
 */
#ifndef LIB_TEXT_JOINER_H
#define LIB_TEXT_JOINER_H

#include "lib/base/buffer.h"
#include "lib/text/tokenizer.h"

struct joiner; /* immutable; any number of threads */

/* As text_decoder_new with RAW. *OUT is NULL, with 0, when T's decoder does more than a joiner can. */
int joiner_new(struct joiner **out, const struct tokenizer *t);
void joiner_free(struct joiner *j); /* NULL is allowed */

/* How many characters are to be dropped at most where a text begins. */
uint32_t joiner_strips(const struct joiner *j);

/*
 * Appends the pieces of N ids to OUT; an id past the vocabulary is nothing. *TO_STRIP is joiner_strips at the start of a text,
 * and the caller keeps it from call to call. 0, or -1 with the error set.
 */
int joiner_put(const struct joiner *j, uint32_t *to_strip, const uint32_t *ids, size_t n,
	       struct buffer *out);

#endif
