/*
 * lib/text/word_counts_table.h - counted words as an array, for trainers that need them all at once
 */
#ifndef LIB_TEXT_WORD_COUNTS_TABLE_H
#define LIB_TEXT_WORD_COUNTS_TABLE_H

#include "lib/base/arena.h"
#include "lib/text/train_word.h"
#include "lib/text/word_counts.h"

/*
 * All words of W, in the order of their bytes, into ARENA; begins to read W by itself. The array and the texts together
 * take MEMORY bytes at most (0: no limit); more is ERR_LIMIT, and says how much is needed. Words that are not
 * well-formed UTF-8 are ERR_FORMAT. 0, or -1 with the error set.
 */
int word_counts_table(struct word_counts *w, struct arena *arena, uint64_t memory,
		      struct train_word **words, size_t *n);

#endif
