/*
 * lib/text/train_merges.h - every merge that makes a piece, for vocabularies like SentencePiece's
 *
 * SentencePiece, and llama.cpp with it, has no list of merges: two neighbours merge when joined they are a piece, the piece
 * of the lower id first. A trainer knows only the pairs that it merged itself; this gives the whole list, so that all
 * programs come to the same ids.
 */
#ifndef LIB_TEXT_TRAIN_MERGES_H
#define LIB_TEXT_TRAIN_MERGES_H

#include "lib/text/spec.h"

/*
 * Replaces S's merges, in ARENA: for each piece, in the order of the list, and each way to cut it between two characters
 * into two pieces, a merge; of one piece the shorter left side first. Added tokens and the bytes of byte fallback take no part.
 */
int train_merges_complete(struct tokenizer_spec *s, struct arena *arena);

/* Whether S's merges are those that train_merges_complete would give: 1, 0, or -1 with the error set. */
int train_merges_are_complete(const struct tokenizer_spec *s);

#endif
