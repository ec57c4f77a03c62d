/*
 * lib/eval/perplexity.h - how well a model foretells texts
 *
 * A text of n tokens has n - 1 that are scored: each but the first, once. Windows of CONTEXT tokens begin every STRIDE tokens; a window scores
 * those that the one before did not reach, so that with a stride below the context a token sees at least context - stride tokens before
 * it. Windows of several texts are computed together and do not see each other. Losses are natural logarithms.
 *
 * A model that was trained with a token before each text (bos) is given it before each window: in the place of the window's first input,
 * which only told what the window before had scored already. A text that has none of its own gets it too, and then all of its tokens are scored.
 */
#ifndef LIB_EVAL_PERPLEXITY_H
#define LIB_EVAL_PERPLEXITY_H

#include "lib/graph/plan.h"
#include "lib/graph/store.h"
#include "lib/model/lm.h"

struct perplexity_options {
	const struct backend *backend;
	struct team *team;
	enum dtype compute;
	bool rope_paired;
	uint32_t context; /* tokens that a window reads */
	uint32_t stride;  /* 1 to context */
	bool has_bos;
	uint32_t bos;	  /* what each window begins with, where has_bos */
	size_t rows;	  /* computed at a time, at least CONTEXT: less is not taken; 0: chosen */
	uint64_t memory;  /* bytes at most; 0: no limit */
	unsigned without; /* passes of the plan */
	bool strict;
};

struct perplexity_sum {
	uint64_t tokens, scored;
	double loss, squares; /* sums of losses and of their squares */
};

struct perplexity;

/* C and S outlive it. -1: a model that does not continue text, a context that it does not have, memory. */
int perplexity_new(struct perplexity **out, const struct hf_config *c, struct store *s,
		   const struct perplexity_options *o);
void perplexity_free(struct perplexity *p); /* NULL is allowed */

/* Takes a text of N tokens; what it sums to is there after the last one (perplexity_end). -1: an id that the vocabulary does not have. */
int perplexity_add(struct perplexity *p, const uint32_t *ids, size_t n);
int perplexity_end(struct perplexity *p);
/* Texts so far, and what is known of text I; all of it once perplexity_end was called. */
size_t perplexity_n(const struct perplexity *p);
struct perplexity_sum perplexity_text(const struct perplexity *p, size_t i);
/* Scored so far, for progress. */
uint64_t perplexity_scored(const struct perplexity *p);

struct plan *perplexity_plan(struct perplexity *p); /* for --op-stats */

struct perplexity_result {
	uint64_t texts, tokens, scored;
	double loss; /* a scored token */
	/*
	 * Of LOSS, its standard error: tokens of one text are not independent, so it is that of a ratio of sums over texts; with one text
	 * alone it is over tokens, and too small.
	 */
	double error;
};
struct perplexity_result perplexity_result(const struct perplexity *p);

#endif
