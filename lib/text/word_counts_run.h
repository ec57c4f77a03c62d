/*
 * lib/text/word_counts_run.h - sorted runs of counted words in files without a name
 *
 * A run is words in the order of their bytes, each as the length, the bytes and the count; numbers are LEB128. A spill is
 * one file of any number of runs, which threads append at once: each says first how long its run will be. Files are
 * read by their own process only.
 */
#ifndef LIB_TEXT_WORD_COUNTS_RUN_H
#define LIB_TEXT_WORD_COUNTS_RUN_H

#include <stdint.h>

#include "lib/base/bytes.h"

struct word_spill;

/* A file in FOLDER, which is copied; it has no name any more. */
int word_spill_new(struct word_spill **out, const char *folder);
void word_spill_free(struct word_spill *s); /* NULL is allowed */

/* Bytes FROM to TO of a spill. */
struct word_run {
	uint64_t from, to;
};

/* Bytes that a word takes in a run. */
uint64_t word_record_size(size_t word, uint64_t count);

/* --- writing --- */

struct word_writer {
	struct word_spill *spill;
	char *buffer; /* borrowed, CAPACITY bytes; 32 or more */
	size_t filled, capacity;
	uint64_t from, at; /* where the run began, and what is in the file */
};

/* A run of SIZE bytes at the end of S; another thread's may follow at once. 0 where only one writes and the size is not known. */
void word_writer_begin(struct word_writer *w, struct word_spill *s, uint64_t size, char *buffer,
		       size_t capacity);
int word_writer_put(struct word_writer *w, struct bytes word, uint64_t count);
/* Writes what is left. The run that was written to *OUT. */
int word_writer_end(struct word_writer *w, struct word_run *out);

/* --- reading --- */

struct word_reader {
	struct word_spill *spill;
	uint64_t at, to; /* of the file: what is to be read still */
	char *buffer;	 /* owned */
	size_t done, filled, capacity;
};

/* Reads RUN through a buffer of CAPACITY bytes, which grows to the longest word. 0, or -1 with the error set. */
int word_reader_new(struct word_reader *r, struct word_spill *s, struct word_run run,
		    size_t capacity);
void word_reader_free(struct word_reader *r); /* what it holds */

/* 1 and a word, valid until the next call; 0 at the end; -1 with the error set. */
int word_reader_next(struct word_reader *r, struct bytes *word, uint64_t *count);

#endif
