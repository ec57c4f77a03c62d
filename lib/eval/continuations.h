/*
 * lib/eval/continuations.h - how likely given continuations of a context are, and whether a model would write them by itself
 *
 * A context is read once for all of its continuations: keys and values of its tokens lie in pages of a cache, which are listed anew for each
 * continuation, under a document number of its own. Several contexts share a pass. Of what a continuation adds only its own rows are computed,
 * all but its last token.
 */
#ifndef LIB_EVAL_CONTINUATIONS_H
#define LIB_EVAL_CONTINUATIONS_H

#include "lib/graph/plan.h"
#include "lib/model/lm.h"

struct continuation {
	const uint32_t *ids;
	size_t n; /* at least 1 */
	/* Results, there after the next continuations_flush: natural logarithms summed over the tokens; each token is the likeliest one. */
	double logprob;
	bool greedy;
};

struct continuations_options {
	const struct backend *backend;
	struct team *team;
	enum dtype compute; /* F32 or BF16 */
	size_t context; /* tokens of a context and a continuation, the last not counted, at most */
	size_t rows;	/* of a pass, at least CONTEXT: less is not taken; 0: chosen */
	bool rope_paired; /* of the weights: struct lm's */
	unsigned without; /* passes of the plan that are turned off */
	bool strict;
	uint64_t memory; /* bytes at most; 0: no limit */
};

struct continuations;

/* C and S outlive it. -1 with the error set: a model that does not continue text, a context that it does not have, memory. */
int continuations_new(struct continuations **out, const struct hf_config *c, struct store *s,
		      const struct continuations_options *o);
void continuations_free(struct continuations *c); /* NULL is allowed */

/*
 * N continuations of the context, which has at least one token. All of it must stay where it is until the next continuations_flush. -1 with the error
 * set: an id that the vocabulary does not have, more tokens than the context holds.
 */
int continuations_add(struct continuations *c, const uint32_t *context, size_t n_context,
		      struct continuation *items, size_t n);
int continuations_flush(struct continuations *c);

/* Rows that were computed so far, for progress. */
uint64_t continuations_rows(const struct continuations *c);
struct plan *continuations_plan(struct continuations *c); /* for --op-stats */

#endif
