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
 * Replaces M's merges, in ARENA: for each piece, in the order of the list, and each way to cut it between two characters
 * into two pieces, a merge; of one piece the shorter left side first. The first N_FIRST pieces take no part: special tokens and
 * bytes.
 */
int train_merges_complete(struct model_spec *m, struct arena *arena, size_t n_first);

#endif
