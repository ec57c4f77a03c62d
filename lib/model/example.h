/*
 * lib/model/example.h - two small models to look at, to count and to time: an MLP and transformer blocks
 *
 * They are what the larger builders are made of, without a checkpoint: parameters are declared in the store of the graph and
 * may be filled with made-up values. Without a vocabulary a model is trained towards a given result (mean squared error),
 * with one towards the next token (cross-entropy, no logits in memory).
 */
#ifndef LIB_MODEL_EXAMPLE_H
#define LIB_MODEL_EXAMPLE_H

#include "lib/graph/graph.h"
#include "lib/graph/store.h"

struct plan;

enum example_kind { EXAMPLE_MLP, EXAMPLE_BLOCK };

enum example_optimizer { EXAMPLE_NONE, EXAMPLE_SGD, EXAMPLE_ADAMW, EXAMPLE_LION };

struct example_config {
	enum example_kind kind;
	size_t tokens;	 /* rows */
	size_t width;	 /* of a row */
	size_t ffn;	 /* hidden width */
	size_t layers;	 /* blocks; of the MLP: products, the last of which gives the result */
	size_t heads;	 /* of queries; width / heads elements each, an even number */
	size_t kv_heads; /* of keys and values: divides heads */
	size_t vocab;	 /* 0: no vocabulary */
};

struct example {
	struct tensor *x;      /* [tokens, width], or i32 ids [tokens] */
	struct tensor *target; /* [tokens, width], or i32 ids [tokens]; NULL without a loss */
	struct tensor *y;      /* [tokens, width]; with a vocabulary and a loss, before the head */
	struct tensor *loss;   /* f32 [], or NULL */
};

/* 0, or -1 with the error set: what is 0, what does not divide. */
int example_check(const struct example_config *c);

/*
 * Appends the model to G, whose store is declared: inputs `x`, and with LOSS `target`; outputs `y` or `loss`. Errors stay in
 * the graph. Scopes are `mlp.0`, `model.layers.0` and so on; each is a block that can be recomputed.
 */
void example_build(struct graph *g, const struct example_config *c, bool loss, struct example *out);

/*
 * Appends what differentiates OUT's loss with respect to every parameter. With EXAMPLE_NONE the gradients go to the store's sums;
 * else each parameter is updated by its own, its state kept beside it, and the input `h` holds the step's scalars. 0 or -1.
 */
int example_train(struct graph *g, const struct example *out, enum example_optimizer kind);

/*
 * Values for a run, made of SEED: parameters from a normal distribution with deviation 1 / sqrt(their last axis), norms 1,
 * biases 0; inputs normal, ids below the vocabulary. The store's entries are allocated. 0, or -1 with the error set.
 */
int example_fill_store(struct store *s, uint64_t seed);
int example_fill_inputs(struct plan *p, struct graph *g, const struct example_config *c,
			uint64_t seed);

#endif
