/*
 * lib/text/word_counts.h - how often each word occurs, in bounded memory
 *
 * What trainers of vocabularies learn from. Each thread adds to a table of its own; a table that outgrows its share of the
 * memory is sorted and spilled to a temporary file without a name, and reading merges tables and files. Words come back in the
 * order of their bytes, each once, with 64-bit counts: the result depends on what was added only, not on the
 * memory, the threads or the order.
 *
 * Memory in all: what the options say, or twice the longest word where that is more.
 */
#ifndef LIB_TEXT_WORD_COUNTS_H
#define LIB_TEXT_WORD_COUNTS_H

#include <stdint.h>

#include "lib/base/bytes.h"

#define WORD_BYTES_MAX ((size_t)1 << 30)

struct word_counts;

struct word_counts_options {
	int parts;	    /* threads that add; 1 or more */
	uint64_t memory;    /* bytes for all tables; at least 1 MiB a part is taken all the same */
	const char *folder; /* of temporary files; NULL: TMPDIR, else /tmp */
};

/* 0, or -1 with the error set. */
int word_counts_new(struct word_counts **out, const struct word_counts_options *o);
void word_counts_free(struct word_counts *w); /* NULL is allowed */

/* Adds COUNT (1 or more) occurrences of WORD (not empty). One thread a part. All occurrences together past 64 bits
 are ERR_LIMIT, here or where reading begins. */
int word_counts_add(struct word_counts *w, int part, struct bytes word, uint64_t count);

/* After the last word was added: begins to read (again). No more can be added. */
int word_counts_begin(struct word_counts *w);
/* 1 and the next word, valid until the next call; 0 after the last; -1 with the error set. */
int word_counts_next(struct word_counts *w, struct bytes *word, uint64_t *count);

/* After word_counts_begin: of all words together, and bytes that were written to temporary files. */
uint64_t word_counts_occurrences(const struct word_counts *w);
uint64_t word_counts_spilled(const struct word_counts *w);

#endif
