/*
 * lib/infer/answers.h - requests answered several at a time
 *
 * Requests are taken in their order, each as soon as there is a place and room in the cache for as many tokens as it may come to; the place of a
 * text that ends is the next one's (continuous batching, Yu et al. 2022). What goes into a step depends on the order of the requests and on
 * numbers of tokens, never on time. Whole pages of a prompt that another one, or an answer, began with are not computed again,
 * and a prompt of several answers is computed once. None of this changes an answer (lib/infer/engine.h), and draws are keyed
 * by (seed, sample, place): a request gives the same text alone and among others.
 */
#ifndef LIB_INFER_ANSWERS_H
#define LIB_INFER_ANSWERS_H

#include "lib/infer/engine.h"
#include "lib/infer/requests.h"

struct answers_options {
	struct engine
		*engine; /* of answers_sequences(parallel) sequences, and answers_tokens of them */
	const struct hf_config *config;
	const struct tokenizer *tokenizer;
	const uint32_t *ends; /* tokens that end a text and are no part of it */
	size_t n_ends;
	size_t parallel; /* texts at a time */
};

/* What an engine needs for PARALLEL texts of CONTEXT tokens. */
size_t answers_sequences(size_t parallel);
size_t answers_tokens(size_t parallel, size_t context);

struct answers_counts {
	uint64_t requests, failed; /* that answers_next gave */
	uint64_t prompt_tokens;	   /* of all prompts that were begun */
	uint64_t shared_tokens;	   /* of these: not computed again */
	uint64_t tokens;	   /* new ones */
	uint64_t steps;
};

struct answers;

/* What O points to outlives it. */
int answers_new(struct answers **out, const struct answers_options *o);
void answers_free(struct answers *b); /* NULL is allowed */

/* Whether it is time for another request: fewer are under way and waiting than there are places. */
bool answers_wants(const struct answers *b);
/* Takes R, which answers_next gives back. -1: no memory. */
int answers_add(struct answers *b, struct request *r);
/* A token for every text that is under way. 1; 0: there is none any more, nor a request that waits; -1 with the error set. */
int answers_step(struct answers *b);
/* The next request whose answers are there, in the order of answers_add; the caller's to free. NULL: it is not yet ready, or there is none. */
struct request *answers_next(struct answers *b);

const struct answers_counts *answers_counts(const struct answers *b);

#endif
