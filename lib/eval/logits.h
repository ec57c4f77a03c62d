/*
 * lib/eval/logits.h - the logits that follow each token of a window, and what nodes on the way came to
 *
 * A window of tokens is read at once, by one plan; its logits come in slices of rows, by another, so that a vocabulary of any size
 * takes little memory. With a cache of a narrower type keys and values go through it, as they do in decoding.
 */
#ifndef LIB_EVAL_LOGITS_H
#define LIB_EVAL_LOGITS_H

#include "lib/graph/plan.h"
#include "lib/model/lm.h"

#define LOGITS_SLICE 32 /* rows */

struct logits_options {
	const struct backend *backend;
	struct team *team;
	enum dtype compute; /* F32 or BF16 */
	bool round; /* activations that block-quantized weights multiply, to 8 bits (kernels/rounding.h) */
	enum dtype cache; /* of keys and values; 0: as they are computed */
	uint32_t context; /* tokens of a window */
	bool rope_paired; /* of the weights: struct lm's */
	uint64_t memory;  /* bytes at most; 0: no limit */
	unsigned without; /* passes of the plan */
	bool strict;
	/* Shell patterns: nodes of these names are kept (logits_tap). The store outlives them all. */
	const char *const *taps;
	size_t n_taps;
};

struct logits;

/* C and S outlive it. -1 with the error set: a model that does not continue text, a context that it does not have, memory. */
int logits_new(struct logits **out, const struct hf_config *c, struct store *s,
	       const struct logits_options *o);
void logits_free(struct logits *l); /* NULL is allowed */

/* Reads N tokens, 1 to the context. -1: an id that the vocabulary does not have. */
int logits_read(struct logits *l, const uint32_t *ids, size_t n);
/* Rows FIRST to FIRST + N - 1 of that window, N at most LOGITS_SLICE: f32 [N, vocab_size], valid until the next call. NULL with the error set. */
const float *logits_rows(struct logits *l, size_t first, size_t n);

/*
 * Nodes that match the patterns and have a row for each token, in the order of the graph. Names are `SCOPE/OP`, with `#2` and so on behind
 * those that come again in their scope. Values are of the last window: its tokens are the first rows.
 */
struct logits_tap {
	const char *name;
	enum dtype dtype;
	const void *data; /* dense */
	size_t row;	  /* elements of a token */
};
size_t logits_n_taps(const struct logits *l);
/* False with the error set when there is no memory. */
bool logits_tap(struct logits *l, size_t i, struct logits_tap *out);

struct plan *logits_plan(struct logits *l); /* for --op-stats */

#endif
