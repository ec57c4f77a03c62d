/*
 * lib/model/gpt2.c - gpt2: learned positions, layer norms, one product for q, k and v
 *
 *	x = wte(ids) + wpe(positions); every layer: x += attention(ln_1(x)); x += mlp(ln_2(x)); ln_f(x)
 *
 * Radford et al. 2019. Names are those of transformers, whose weights lie the other way round in its files.
 */
#include <math.h>

#include "lib/model/lm_parts.h"

/* Scores are divided by the root of the head's width, by the layer's number, by both, or by nothing. */
static double score_scale(const struct hf_config *c, uint32_t layer)
{
	double scale = c->scale_attention ? 1 / sqrt((double)c->head_dim) : 1;

	return c->scale_by_layer ? scale / (layer + 1) : scale;
}

static struct tensor *attention(struct graph *g, const struct hf_config *c,
				const struct lm_inputs *in, struct tensor *x, uint32_t layer)
{
	struct attention a = lm_attention(g, in);
	struct tensor *all, *q, *k, *v;
	struct lm_keys keys;

	/* [tokens, 3 heads, dim]: q, k and v are views of it */
	all = lm_heads(g, lm_linear(g, x, "attn.c_attn", 3 * c->hidden_size, c->qkv_bias),
		       3 * c->n_heads, c->head_dim);
	q = op_slice(g, all, 1, 0, c->n_heads);
	k = op_slice(g, all, 1, c->n_heads, c->n_heads);
	v = op_slice(g, all, 1, 2 * (size_t)c->n_heads, c->n_heads);
	keys = lm_cached(g, in, layer, k, v);
	a.causal = true;
	a.scale = score_scale(c, layer);
	x = lm_flat(g, op_attention(g, q, keys.k, keys.v, &a, NULL));
	return lm_linear(g, x, "attn.c_proj", c->hidden_size, c->out_bias);
}

static struct tensor *mlp(struct graph *g, const struct hf_config *c, struct tensor *x)
{
	struct tensor *h = lm_linear(g, x, "mlp.c_fc", c->ffn_size, c->mlp_bias);

	h = lm_activation(g, c, h, NULL);
	return lm_linear(g, h, "mlp.c_proj", c->hidden_size, c->mlp_bias);
}

/* x: [tokens, width] -> [tokens, width] */
static struct tensor *block(struct graph *g, const struct hf_config *c, const struct lm_inputs *in,
			    struct tensor *x, uint32_t layer)
{
	struct tensor *h;

	graph_push(g, "h.%u", layer);
	graph_block(g);
	h = attention(g, c, in, lm_layer_norm(g, c, x, "ln_1"), layer);
	x = op_add(g, op_dropout(g, h, in->dropout), x);
	h = mlp(g, c, lm_layer_norm(g, c, x, "ln_2"));
	x = op_add(g, op_dropout(g, h, in->dropout), x);
	graph_pop(g);
	return x;
}

struct tensor *gpt2_hidden(struct graph *g, const struct hf_config *c, const struct lm_inputs *in)
{
	struct tensor *x;

	graph_push(g, "transformer");
	x = op_add(g, embedding(g, in->ids, "wte", c->vocab_size, c->hidden_size),
		   lm_positions(g, c, in, "wpe"));
	x = op_dropout(g, x, in->dropout);
	for (uint32_t i = 0; i < c->n_layers; i++)
		x = block(g, c, in, x, i);
	x = lm_layer_norm(g, c, x, "ln_f");
	graph_pop(g);
	return x;
}
