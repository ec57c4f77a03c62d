/* lib/text/train_unigram_parts.h - what the files of the training of Unigram share */
#ifndef LIB_TEXT_TRAIN_UNIGRAM_PARTS_H
#define LIB_TEXT_TRAIN_UNIGRAM_PARTS_H

#include "lib/text/train_unigram.h"
#include "lib/text/trie.h"

#define TRAIN_SHARES \
 4 /* the words are cut into so many, whatever the threads, so sums do not depend on them */

/* A piece, which is bytes of some word. Piece 0 is the unknown one, and is in no trie. */
struct train_piece {
	const char *text;
	uint32_t size;
	double score; /* the logarithm of its probability */
};

struct train_pieces {
	struct train_piece *items; /* owned */
	size_t n, capacity;
};

/* A piece that can stand at bytes FROM to TO of a word. */
struct train_edge {
	uint32_t from, to, piece;
};

/* One share's memory. */
struct train_scratch {
	struct train_edge *edges; /* by FROM, then by length */
	size_t n_edges, edges_capacity;
	double *ahead, *behind; /* a value a byte of the word, and one more */
	uint32_t *via;		/* the edge of the best way to each byte */
	size_t places;
	double *sums; /* a value a piece */
	int result;
};

struct training {
	struct train_unigram_options options;
	struct train_word *words; /* owned; sorted by text, none past the limit */
	size_t n_words;
	struct train_piece *characters; /* owned; by falling count */
	size_t n_characters;
	struct train_pieces pieces;
	double *chances; /* owned; exp(score) */
	size_t chances_capacity;
	double unknown_score;
	struct trie trie;
	struct train_scratch scratch[TRAIN_SHARES];
};

/* Fills t->characters, and t->pieces with the seed, scores set. */
int train_unigram_seed(struct training *t);

/* Makes the trie of t->pieces, the unknown score, and room for sums, which become 0. */
int train_unigram_prepare(struct training *t);

/* The edges of TEXT into S, and its places made ready. */
int train_unigram_edges(const struct training *t, struct train_scratch *s, struct bytes text);

/* The best way through S's edges but BARRED: via[i] is the last edge to byte I. Its score; -INFINITY: there is none. */
double train_unigram_best(const struct training *t, struct train_scratch *s, size_t size,
			  uint32_t barred);

/* Runs FN for each share of the words: LOW to HIGH. What it puts in its sums is added up in OUT, a value a piece. */
typedef int train_share_fn(const struct training *t, struct train_scratch *s, size_t low,
			   size_t high);
int train_unigram_run(struct training *t, train_share_fn *fn, double *out);

/* One step of expectation and maximisation: t->pieces get new scores, and those that are hardly used go. */
int train_unigram_step(struct training *t);

/* Drops pieces down to t's share of them, but not below ENOUGH. */
int train_unigram_prune(struct training *t, size_t enough);

#endif
