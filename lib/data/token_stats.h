/*
 * lib/data/token_stats.h - what the tokens of many documents are like
 *
 * Memory goes by the vocabulary, never by the input. Characters are bytes that begin one in UTF-8; words are runs without
 * white space of ASCII. Where only tokens are known, their text is what they decode to.
 */
#ifndef LIB_DATA_TOKEN_STATS_H
#define LIB_DATA_TOKEN_STATS_H

#include "formats/token_header.h"
#include "lib/text/token_kind.h"

/* Tokens of 0, 1, 2, ... bytes; the last row is of this many and more. */
#define TOKEN_LENGTHS 17

struct token_totals {
	uint64_t documents, tokens;
	uint64_t bytes, characters, words; /* of text */
	uint64_t kinds[N_TOKEN_KINDS];	   /* tokens of each */
	uint64_t partial;		   /* tokens that are no whole characters */
	uint64_t roles[N_ROLES];	   /* tokens of each; ROLE_TEXT: those of no run */
	uint64_t lengths[TOKEN_LENGTHS];   /* tokens of so many bytes */
	uint64_t vocabulary, used;	   /* ids that there are, and that came */
};

struct token_stats;

/*
 * T must outlive it. HAS_TEXT: the text comes by token_stats_text; else it is what the tokens decode to.
 */
int token_stats_new(struct token_stats **out, const struct tokenizer *t, bool has_text);
void token_stats_free(struct token_stats *s); /* NULL is allowed */

/* The parts of a document in any order, then its end. 0, or -1 with the error set. */
int token_stats_add(struct token_stats *s, const uint32_t *ids, size_t n);
int token_stats_text(struct token_stats *s, struct bytes text);
void token_stats_role(struct token_stats *s, const struct token_run *run);
int token_stats_end_document(struct token_stats *s);

/* After the end of a document. */
void token_stats_totals(const struct token_stats *s, struct token_totals *out);
uint64_t token_stats_count(const struct token_stats *s, uint32_t id);
/*
 * The number of tokens that a share Q, in [0, 1], of the documents do not pass: exact up to 256 and at both ends, else at most 1 %
 * too low. 0 when there are none.
 */
uint64_t token_stats_quantile(const struct token_stats *s, double q);
/* Up to N ids that came, the most used first, equal ones by id; how many there are, or -1 with the error set. */
int64_t token_stats_top(const struct token_stats *s, uint32_t *ids, size_t n);

#endif
