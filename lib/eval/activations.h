/*
 * lib/eval/activations.h - how large the values are that each weight is multiplied with: sums of squares, column by column
 *
 * For every product x Wᵀ of a model with a parameter W [out, in], the sum over all tokens of the square of each element of x. What
 * quantization weighs its errors by (llama.cpp's importance matrix). The head is left out, as there: its input is the same for all of it.
 */
#ifndef LIB_EVAL_ACTIVATIONS_H
#define LIB_EVAL_ACTIVATIONS_H

#include "lib/graph/plan.h"
#include "lib/model/lm.h"

struct activations_options {
	const struct backend *backend;
	struct team *team;
	uint32_t context; /* tokens of a window */
	bool rope_paired; /* of the weights: struct lm's */
	uint64_t memory;  /* bytes at most; 0: no limit */
	unsigned without; /* passes of the plan */
	bool strict;
};

struct activations;

/* C and S outlive it. -1 with the error set: a model that does not continue text, memory. */
int activations_new(struct activations **out, const struct hf_config *c, struct store *s,
		    const struct activations_options *o);
void activations_free(struct activations *a); /* NULL is allowed */

/* A text, in windows. -1: an id that the vocabulary does not have. */
int activations_add(struct activations *a, const uint32_t *ids, size_t n);
uint64_t activations_tokens(const struct activations *a);
uint64_t activations_windows(const struct activations *a);

struct activations_sum {
	const char *name; /* of the parameter, as lm_hidden has it; once for each */
	size_t n;	  /* columns */
	const double *squares;
};
size_t activations_n(const struct activations *a);
/* Valid until the next activations_add. */
struct activations_sum activations_at(const struct activations *a, size_t i);

#endif
