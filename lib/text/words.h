/*
 * lib/text/words.h - a text into the pieces that a model would be given
 *
 * Normalizers and pre-tokenizers without a model: what a trainer counts. As in training with `tokenizers`, added tokens in
 * the text are text.
 */
#ifndef LIB_TEXT_WORDS_H
#define LIB_TEXT_WORDS_H

#include "lib/text/spec.h"

struct words; /* immutable; any number of threads */

/* Looks at SPEC's normalizers and pre-tokenizers only; their bytes must outlive it. */
int words_new(struct words **out, const struct tokenizer_spec *spec);
void words_free(struct words *w); /* NULL is allowed */
/* Pieces are raw bytes, as byte-level models take them (not ByteLevel's alphabet). */
bool words_is_byte_level(const struct words *w);

struct words_scratch; /* one a thread */
int words_scratch_new(struct words_scratch **out, const struct words *w);
void words_scratch_free(struct words_scratch *s); /* NULL is allowed */

/*
 * Calls FN for every piece of DOCUMENT, in order; FN returns 0, or -1 with the error set, which ends it. Bytes that are not
 * UTF-8 are pieces by themselves when byte-level, else ERR_FORMAT with the offset.
 */
int words_cut(const struct words *w, struct words_scratch *s, struct bytes document,
	      int (*fn)(void *arg, struct bytes piece), void *arg);

#endif
