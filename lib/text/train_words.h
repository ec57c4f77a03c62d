/*
 * lib/text/train_words.h - words as they may be learnt from: no piece becomes a special token's text
 *
 * Text that spells a special token is text, in training as later. Were it learnt as a whole, the piece would be that
 * token, and any text could make it. So words are cut within such texts, after their first character.
 */
#ifndef LIB_TEXT_TRAIN_WORDS_H
#define LIB_TEXT_TRAIN_WORDS_H

#include <stddef.h>

#include "lib/base/bytes.h"

struct train_words;

/*
 * FIRST are the N texts as the vocabulary spells them, which must outlive W. Of byte-level vocabularies a text of one
 * character that stands for a byte is ERR_ARGUMENT.
 */
int train_words_new(struct train_words **out, const struct bytes *first, size_t n, bool byte_level);
void train_words_free(struct train_words *w); /* NULL is allowed */

/*
 * How many bytes of WORD (not empty) are to be learnt from by themselves: all of it, mostly. ERR_ARGUMENT when WORD has a
 * character that is a whole special token, which nothing can cut.
 */
int train_words_part(const struct train_words *w, struct bytes word, size_t *size);

#endif
