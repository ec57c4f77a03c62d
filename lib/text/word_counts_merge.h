/*
 * lib/text/word_counts_merge.h - many sorted sources of words as one
 *
 * A heap of sources; a word that several have comes once, its counts added.
 */
#ifndef LIB_TEXT_WORD_COUNTS_MERGE_H
#define LIB_TEXT_WORD_COUNTS_MERGE_H

#include "lib/text/word_counts_hash.h"
#include "lib/text/word_counts_run.h"

struct word_merge;

/* For at most MOST sources. */
int word_merge_new(struct word_merge **out, size_t most);
void word_merge_free(struct word_merge *m); /* NULL is allowed */

/* A table that was sorted, or a run that is read through BUFFER bytes. All before the first next. */
int word_merge_add_table(struct word_merge *m, const struct word_hash *h);
int word_merge_add_run(struct word_merge *m, struct word_spill *s, struct word_run run,
		       size_t buffer);

/* 1 and the next word, valid until the next call; 0 after the last; -1 with the error set. */
int word_merge_next(struct word_merge *m, struct bytes *word, uint64_t *count);

#endif
