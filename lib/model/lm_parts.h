/* lib/model/lm_parts.h - what the families share; users include lm.h */
#ifndef LIB_MODEL_LM_PARTS_H
#define LIB_MODEL_LM_PARTS_H

#include "lib/model/lm.h"

/* The families' builders. */
struct tensor *decoder_hidden(struct graph *g, const struct hf_config *c,
			      const struct lm_inputs *in);
struct tensor *gpt2_hidden(struct graph *g, const struct hf_config *c, const struct lm_inputs *in);
struct tensor *bert_hidden(struct graph *g, const struct hf_config *c, const struct lm_inputs *in);

/* What bert's head makes of HIDDEN before the product with the embedding. */
struct tensor *bert_transform(struct graph *g, const struct hf_config *c, struct tensor *hidden);

/* linear or linear_bias: where a model has no bias none is asked for. */
struct tensor *lm_linear(struct graph *g, struct tensor *x, const char *name, size_t out,
			 bool bias);
/* The function of GATE times UP; with UP NULL the function alone. */
struct tensor *lm_activation(struct graph *g, const struct hf_config *c, struct tensor *gate,
			     struct tensor *up);

/* [tokens, heads x dim] as [tokens, heads, dim], and back. */
struct tensor *lm_heads(struct graph *g, struct tensor *x, size_t heads, size_t dim);
struct tensor *lm_flat(struct graph *g, struct tensor *x);
/* With the parameters NAME.weight and NAME.bias. */
struct tensor *lm_layer_norm(struct graph *g, const struct hf_config *c, struct tensor *x,
			     const char *name);
/* Learned positions: a row of the table NAME for each. */
struct tensor *lm_positions(struct graph *g, const struct hf_config *c, const struct lm_inputs *in,
			    const char *name);

/* Keys and values of this layer as attention is to see them: these rows, or the cache with them written into it. */
struct lm_keys {
	struct tensor *k, *v;
};
struct lm_keys lm_cached(struct graph *g, const struct lm_inputs *in, uint32_t layer,
			 struct tensor *k, struct tensor *v);
/* Attention's operands that come of documents and cache; what the layer decides is the caller's. */
struct attention lm_attention(struct graph *g, const struct lm_inputs *in);

#endif
