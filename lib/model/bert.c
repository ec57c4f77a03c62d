/*
 * lib/model/bert.c - bert: an encoder that looks both ways, normed after each addition, with segments
 *
 *	x = norm(word(ids) + type(types) + position(positions)); every layer: x = norm(attention(x) + x); x = norm(mlp(x) + x)
 *
 * Devlin et al. 2019. Names are those of transformers. Its head turns what it is given once more before it meets the embedding.
 */
#include "lib/graph/op_table.h"
#include "lib/model/lm_parts.h"

static struct tensor *attention(struct graph *g, const struct hf_config *c,
				const struct lm_inputs *in, struct tensor *x, uint32_t layer)
{
	struct attention a = lm_attention(g, in);
	size_t width = c->hidden_size, n = c->n_heads, dim = c->head_dim;
	struct tensor *q, *k, *v;
	struct lm_keys keys;

	q = lm_heads(g, lm_linear(g, x, "attention.self.query", width, c->qkv_bias), n, dim);
	k = lm_heads(g, lm_linear(g, x, "attention.self.key", width, c->qkv_bias), n, dim);
	v = lm_heads(g, lm_linear(g, x, "attention.self.value", width, c->qkv_bias), n, dim);
	keys = lm_cached(g, in, layer, k, v);
	a.causal = !c->bidirectional;
	x = lm_flat(g, op_attention(g, q, keys.k, keys.v, &a, NULL));
	return lm_linear(g, x, "attention.output.dense", width, c->out_bias);
}

/* x: [tokens, width] -> [tokens, width] */
static struct tensor *block(struct graph *g, const struct hf_config *c, const struct lm_inputs *in,
			    struct tensor *x, uint32_t layer)
{
	struct tensor *h;

	graph_push(g, "layer.%u", layer);
	graph_block(g);
	h = op_dropout(g, attention(g, c, in, x, layer), in->dropout);
	x = lm_layer_norm(g, c, op_add(g, h, x), "attention.output.LayerNorm");
	h = lm_linear(g, x, "intermediate.dense", c->ffn_size, c->mlp_bias);
	h = lm_linear(g, lm_activation(g, c, h, NULL), "output.dense", c->hidden_size, c->mlp_bias);
	h = op_dropout(g, h, in->dropout);
	x = lm_layer_norm(g, c, op_add(g, h, x), "output.LayerNorm");
	graph_pop(g);
	return x;
}

/* Without segments every row has the first one's. */
static struct tensor *types(struct graph *g, const struct hf_config *c, const struct lm_inputs *in)
{
	static const char name[] = "token_type_embeddings";

	if (in->types)
		return embedding(g, in->types, name, c->type_vocab_size, c->hidden_size);
	return op_slice(g,
			graph_param_compute(g, "token_type_embeddings.weight",
					    SHAPE(c->type_vocab_size, c->hidden_size)),
			0, 0, 1);
}

static struct tensor *embeddings(struct graph *g, const struct hf_config *c,
				 const struct lm_inputs *in)
{
	struct tensor *x;

	graph_push(g, "embeddings");
	x = embedding(g, in->ids, "word_embeddings", c->vocab_size, c->hidden_size);
	x = op_add(g, x, types(g, c, in));
	x = op_add(g, x, lm_positions(g, c, in, "position_embeddings"));
	x = op_dropout(g, lm_layer_norm(g, c, x, "LayerNorm"), in->dropout);
	graph_pop(g);
	return x;
}

struct tensor *bert_hidden(struct graph *g, const struct hf_config *c, const struct lm_inputs *in)
{
	struct tensor *x;

	graph_push(g, "bert");
	if (c->position != HF_POSITION_ABSOLUTE)
		graph_error(g, "position_embedding_type of another kind than absolute");
	x = embeddings(g, c, in);
	graph_push(g, "encoder");
	for (uint32_t i = 0; i < c->n_layers; i++)
		x = block(g, c, in, x, i);
	graph_pop(g);
	graph_pop(g);
	return x;
}

struct tensor *bert_transform(struct graph *g, const struct hf_config *c, struct tensor *hidden)
{
	struct tensor *x;

	graph_push(g, "cls.predictions.transform");
	x = lm_linear(g, hidden, "dense", c->hidden_size, true);
	x = lm_layer_norm(g, c, lm_activation(g, c, x, NULL), "LayerNorm");
	graph_pop(g);
	return x;
}
