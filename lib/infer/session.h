/*
 * lib/infer/session.h - a language model that reads on: its cache of keys and values, and the logits after the last token
 *
 * A session is one sequence of an engine. Tokens are appended, many at a time or one; what they left in the cache is not computed again. Forks
 * of a session share its engine, and the pages that they have in common. The entries of the cache lie in the model's store (STORE_CACHE), so that a
 * training run may sample from the weights that it trains.
 */
#ifndef LIB_INFER_SESSION_H
#define LIB_INFER_SESSION_H

#include "lib/infer/engine.h"

struct session_options {
	const struct backend *backend;
	struct team *team;
	enum dtype compute; /* F32 or BF16 */
	bool round; /* activations that block-quantized weights multiply, to 8 bits (kernels/rounding.h) */
	bool repack; /* with it: weights are copied into a form that is read faster, where there is one; the same bits */
	enum dtype cache; /* of keys and values: F32, BF16 or F16 */
	size_t context;	  /* tokens at most; 0: the configuration's */
	size_t rows;	  /* appended in one pass at most; 0: chosen */
	size_t forks;	  /* sessions beside it at most, that it is to share its engine with */
	bool rope_paired; /* of the weights: struct lm's */
	uint64_t memory;  /* bytes at most; 0: no limit */
	unsigned without; /* as plan_options */
	bool strict;	  /* as plan_options */
};

struct session;

/*
 * C and S outlive it. Nothing is allocated before the first token. -1 with the error set: a family that does not continue text (bert), a
 * context that the model does not have, more than MEMORY, with what would fit.
 */
int session_new(struct session **out, const struct hf_config *c, struct store *s,
		const struct session_options *o);
/* One that holds the first N tokens of S, and its logits when those are all. -1: there are as many as there can be. */
int session_fork(struct session **out, struct session *s, size_t n);
void session_free(
	struct session
		*s); /* NULL is allowed; with the last fork the cache's memory is given back */

/* Appends N tokens, N at least 1. -1: an id that the vocabulary does not have, or more than the context holds (nothing is appended). */
int session_append(struct session *s, const int32_t *ids, size_t n);
/*
 * Makes it hold these N tokens, and no others: what it has of them already is kept, down to whole pages, the rest is appended. The logits
 * have the bits of a fresh session's.
 */
int session_read(struct session *s, const int32_t *ids, size_t n);
/* After the last token, f32 [vocab_size], soft cap applied; NULL before the first. Valid until the next call, of a fork too. */
const float *session_logits(const struct session *s);
/* Tokens so far, and how many there can be. */
size_t session_length(const struct session *s);
size_t session_context(const struct session *s);
/* Forgets all but the first N tokens; the logits are gone unless nothing was forgotten. */
void session_rewind(struct session *s, size_t n);

/* What it is a sequence of, for several at once and for files, and which. */
struct engine *session_engine(const struct session *s);
int session_sequence(const struct session *s);

/* What appends one token; for its measures. */
struct plan *session_plan(const struct session *s);
uint64_t session_bytes(const struct session *s, enum plan_memory kind);

#endif
