/*
 * lib/train/feed.h - which rows a step trains on, from the numbers alone
 *
 * A step has `sequences` windows of a packed token file or a mix; step s (from 1) has the places (s - 1) x sequences to
 * s x sequences - 1 of the mix's endless order, moved on by `skip` places (the spike guard's rollbacks). A window is `length` rows: ids, the
 * target of each (-1: none), positions that begin anew with each document where documents are told apart, and document numbers
 * that no other window of the step has. So a step's data depend on the files, the options and the step alone.
 */
#ifndef LIB_TRAIN_FEED_H
#define LIB_TRAIN_FEED_H

#include "lib/data/mix.h"
#include "lib/train/trainer.h"

struct feed_options {
	uint32_t length;  /* rows of a window */
	size_t sequences; /* windows of a step */
	uint64_t seed;
	enum token_fit fit;
	bool apart; /* attention stays inside a document */
};

struct feed;

/* PATH is a mix or a packed token file. -1 with the error set: a part has no window, among others. */
int feed_open(struct feed **out, const char *path, const struct feed_options *o);
/*
 * The same from a stream of tokens, read once and in its order (`-`: stdin): documents end to end, cut into windows; the windows of a
 * span of SHUFFLE rows (0: of one step) are shuffled, and that is all the shuffling there is. Steps must be asked for in rising order; what lies
 * before the first one asked for is read and passed over, so that a run resumes when it is given the same stream again. A stream that ends before the
 * step is full is an error that says so (feed_ended). feed_pass and feed_epoch are of files alone.
 */
int feed_open_stream(struct feed **out, const char *path, const struct feed_options *o,
		     uint64_t shuffle);
bool feed_ended(const struct feed *f); /* the last feed_step failed since the stream had no more */
void feed_close(struct feed *f);       /* NULL is allowed */

const struct mix *feed_mix(const struct feed *f);
/* Of what decides the ids of plain text, as the files say it. */
const struct token_header *feed_header(const struct feed *f);
/* Of the tokens of every part, in their order: what a run must find again. */
struct hash128 feed_hash(const struct feed *f);
/* Places of one pass over the first part: what an epoch is. */
uint64_t feed_epoch(const struct feed *f);

/* Reads the windows of STEP; *TARGETS: how many places have one. 0 or -1. */
int feed_step(struct feed *f, uint64_t step, uint64_t skip, uint64_t *targets);
/* Reads windows FIRST to FIRST + n - 1 of the first part in the file's order, n at most `sequences`: for evaluation. *N: how many there are. */
int feed_pass(struct feed *f, uint64_t first, size_t *n, uint64_t *targets);
/*
 * Windows FROM to FROM + N - 1 of those read into the rows of B, `length` each; those past what was read have no targets. TOKENS rows
 * in all are filled, TOKENS at least N x length.
 */
void feed_fill(const struct feed *f, size_t from, size_t n, size_t tokens,
	       const struct trainer_batch *b);

#endif
