/*
 * lib/data/count_words.h - documents cut into words and counted, by a team
 *
 * What a trainer of vocabularies reads. Each thread takes the next run of records in turn, cuts it and adds to its own part
 * of the counts, so that documents, however many, are never held together. A document is cut by one thread.
 * The result depends on the documents only, not on their order nor on the threads.
 */
#ifndef LIB_DATA_COUNT_WORDS_H
#define LIB_DATA_COUNT_WORDS_H

#include "lib/base/progress.h"
#include "lib/base/team.h"
#include "lib/text/word_counts.h"
#include "lib/text/words.h"

/* What an input is: */
enum count_words_kind {
	COUNT_WORDS_JSON, /* JSON lines whose FIELD holds a document (or FIELD_base64) */
	COUNT_WORDS_TEXT, /* one document of plain text */
	/*
	 * Words that are counted already, one a line, taken as they are: the word, a TAB or white space, the count. What
	 * stands before the count is a TAB: the word is all before it, else all before the last run of spaces and TABs;
	 * so words may hold spaces, and where a TAB is used begin and end with them.
	 */
	COUNT_WORDS_COUNTED,
};

struct count_words_options {
	enum count_words_kind kind;
	const char *field;   /* of COUNT_WORDS_JSON; NULL: text */
	size_t max_document; /* the longest line or plain text in bytes; 0: 1 GiB */
	/* Longer words are cut into several of at most so many bytes, at the borders of characters; 0: no limit. */
	size_t max_word;
	struct team *team;	   /* or NULL: the calling thread alone */
	struct progress *progress; /* bytes of documents; or NULL */
};

struct count_words_totals {
	uint64_t documents;   /* or lines of counted words */
	uint64_t bytes;	      /* of documents; of counted words: of the words, each once a line */
	uint64_t occurrences; /* of words, as they were counted */
	uint64_t cut;	      /* occurrences of words that were longer than max_word */
};

/*
 * Adds the words of the N inputs at PATHS to COUNTS, which has a part for each thread of the team (one without a team), and
 * what was read to TOTALS. Bytes that are not UTF-8 are refused unless W is byte-level. 0, or -1 with the error of the
 * first record, in the order of the inputs, that failed: `PATH:LINE: what`, of a plain text `PATH: what`; COUNTS is then not
 * to be read.
 */
int count_words(struct word_counts *counts, const struct words *w, const char *const *paths,
		size_t n, const struct count_words_options *o, struct count_words_totals *totals);

#endif
