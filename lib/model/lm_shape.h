/*
 * lib/model/lm_shape.h - the sizes of a language model that is to be made: by name, by number of parameters, or one by one
 *
 * What is not given follows from the width as in today's models of the llama kind: heads of 64, a third of them for keys and values
 * (Ainslie et al. 2023), a gated feed-forward of 8/3 widths in 64s (Shazeer 2020), so that it has the weights of a plain one of four widths,
 * which gpt2 and bert have, with a head of keys and values for each of queries. Depth: 64 numbers of width a layer, as GPT-2's smallest has it;
 * Kaplan et al. 2020 (section 3.1) find that at a given number of parameters the shape moves the loss by a few percent at most
 * over a wide range of ratios, and wide products run nearer to a machine's peak than narrow ones.
 */
#ifndef LIB_MODEL_LM_SHAPE_H
#define LIB_MODEL_LM_SHAPE_H

#include "formats/hf_config.h"

struct lm_shape {
	uint32_t layers, heads, kv_heads, head_dim; /* 0: follows from the width */
	uint64_t width, ffn;			    /* ffn 0: follows */
};

/* --- by name --- */

struct lm_preset {
	const char *name;
	uint32_t layers;
	uint64_t width, context;
	uint64_t vocabulary; /* where no tokenizer says it */
	const char *use;
};
/* By size; NAME is NULL at the end. */
extern const struct lm_preset lm_presets[];
const struct lm_preset *lm_preset(const char *name); /* or NULL */

/* --- what follows --- */

/* Fills in what is 0 but width and layers. */
void lm_shape_complete(struct lm_shape *s, enum hf_architecture a);
struct lm_shape lm_shape_of(const struct hf_config *c);
/*
 * Gives C the sizes of S, complete. Which layers slide and which have no rope goes on as it begins: by the shortest period that C's layers have.
 * Lists live in ARENA. Sizes that do not fit each other: -1, by hf_config_check.
 */
int lm_shape_apply(const struct lm_shape *s, struct hf_config *c, struct arena *arena);

/* --- by parameters --- */

/*
 * Layers and width of S, where they are 0, such that C with them has about PARAMETERS, embeddings too: of widths in 64s the
 * pair that has the least of
 *
 *	|ln(parameters / wanted)| + |ln(width / (64 layers))| / 10
 *
 * so that two shapes of one ratio differ by the error alone, and a ratio twice too large weighs as 7 % of the parameters; of equals the narrower; heads that
 * can share no keys (5, 7, 11, ...) are passed by. What else is given in S is kept. -1: nothing within a factor of 1.25 (the embedding alone may be more), naming what is nearest.
 */
int lm_shape_solve(struct lm_shape *s, const struct hf_config *c, uint64_t parameters);

/* --- what it costs --- */

struct lm_cost {
	uint64_t parameters;
	uint64_t
		embedding; /* of them: tables of tokens, positions and types, a head that is tied to one of them too */
	uint64_t head; /* of a head that is free */
	/*
	 * Operations of training on a token of a window of CONTEXT: 6 (parameters - embedding + vocabulary x width for the head, where it is tied)
	 * + 12 sum over layers of heads x head_dim x keys, where keys are what a token sees on average: (context + 1) / 2 of a causal layer, fewer where it
	 * slides, all of them of one that looks both ways (Kaplan et al. 2020, table 1; Chowdhery et al. 2022, appendix B).
	 */
	double weights, attention; /* the two summands */
};
/* C must count (hf_config_n_parameters): -1 else. */
int lm_cost_of(struct lm_cost *out, const struct hf_config *c, uint64_t context);

/* Tokens to train on for the least loss at given operations: 20 a parameter (Hoffmann et al. 2022, table 3). */
#define LM_TOKENS_A_PARAMETER 20

#endif
