/*
 * lib/model/decoder.c - llama, mistral, smollm3, qwen2, qwen3, gemma3: one decoder with switches
 *
 *	x = embed(ids); every layer: x += attention(norm(x)); x += mlp(norm(x)); norm(x)
 *
 * Touvron et al. 2023 (LLaMA), Jiang et al. 2023 (Mistral), Yang et al. 2024 and 2025 (Qwen2, Qwen3), Bakouch et al. 2025 (SmolLM3), Gemma
 * Team 2025 (Gemma 3). Names are those of transformers. Gemma scales the embedding by sqrt(width), norms by 1 + w, and norms
 * what attention and mlp give before it is added; qwen3 and gemma3 norm q and k per head; smollm3 leaves rope out in some layers.
 * gemma3's attn_logit_softcapping is read by transformers and by llama.cpp, and used by neither.
 */
#include <math.h>

#include "lib/model/lm_parts.h"

struct decoder {
	struct graph *g;
	const struct hf_config *c;
	const struct lm_inputs *in;
	bool gemma;
	struct rope rope[HF_ATTENTION_COUNT]; /* by kind of attention */
};

static struct tensor *norm(const struct decoder *d, struct tensor *x, const char *name,
			   size_t width)
{
	struct tensor *w = param(d->g, name, width);

	return d->gemma ? op_rms_norm_offset(d->g, x, w, d->c->norm_eps, 1)
			: op_rms_norm(d->g, x, w, d->c->norm_eps);
}

static struct tensor *heads(const struct decoder *d, struct tensor *x, const char *name, uint32_t n)
{
	struct tensor *y = lm_linear(d->g, x, name, (size_t)n * d->c->head_dim, d->c->qkv_bias);

	return lm_heads(d->g, y, n, d->c->head_dim);
}

/* q or k: normed per head, then turned. */
static struct tensor *turned(const struct decoder *d, struct tensor *x, const char *norm_name,
			     uint32_t layer)
{
	if (d->c->qk_norm)
		x = norm(d, x, norm_name, d->c->head_dim);
	return d->c->layer_rope[layer] ? op_rope(d->g, x, &d->rope[d->c->layer_attention[layer]])
				       : x;
}

static struct tensor *attention(const struct decoder *d, struct tensor *x, uint32_t layer)
{
	const struct hf_config *c = d->c;
	struct attention a = lm_attention(d->g, d->in);
	struct tensor *q, *k, *v, *h;
	struct lm_keys keys;

	/* The products of one row of x come together: nothing is waited for between them. */
	q = heads(d, x, "self_attn.q_proj", c->n_heads);
	k = heads(d, x, "self_attn.k_proj", c->n_kv_heads);
	v = heads(d, x, "self_attn.v_proj", c->n_kv_heads);
	q = turned(d, q, "self_attn.q_norm.weight", layer);
	k = turned(d, k, "self_attn.k_norm.weight", layer);
	keys = lm_cached(d->g, d->in, layer, k, v);
	a.causal = !c->bidirectional;
	a.window = c->layer_attention[layer] == HF_SLIDING ? c->window : 0;
	if (c->query_pre_attn_scalar > 0)
		a.scale = 1 / sqrt(c->query_pre_attn_scalar);
	h = lm_flat(d->g, op_attention(d->g, q, keys.k, keys.v, &a, NULL));
	h = lm_linear(d->g, h, "self_attn.o_proj", c->hidden_size, c->out_bias);
	return d->gemma ? norm(d, h, "post_attention_layernorm.weight", c->hidden_size) : h;
}

static struct tensor *mlp(const struct decoder *d, struct tensor *x)
{
	const struct hf_config *c = d->c;
	struct tensor *gate = lm_linear(d->g, x, "mlp.gate_proj", c->ffn_size, c->mlp_bias);
	struct tensor *up = lm_linear(d->g, x, "mlp.up_proj", c->ffn_size, c->mlp_bias);
	struct tensor *h = lm_linear(d->g, lm_activation(d->g, c, gate, up), "mlp.down_proj",
				     c->hidden_size, c->mlp_bias);

	return d->gemma ? norm(d, h, "post_feedforward_layernorm.weight", c->hidden_size) : h;
}

/* x: [tokens, width] -> [tokens, width] */
static struct tensor *block(const struct decoder *d, struct tensor *x, uint32_t layer)
{
	struct graph *g = d->g;
	size_t width = d->c->hidden_size;
	struct tensor *h;

	graph_push(g, "layers.%u", layer);
	graph_block(g);
	h = attention(d, norm(d, x, "input_layernorm.weight", width), layer);
	x = op_add(g, op_dropout(g, h, d->in->dropout), x);
	h = mlp(d, norm(d, x,
			d->gemma ? "pre_feedforward_layernorm.weight"
				 : "post_attention_layernorm.weight",
			width));
	x = op_add(g, op_dropout(g, h, d->in->dropout), x);
	graph_pop(g);
	return x;
}

/* The table of frequencies of each kind of attention that a layer has. */
static void make_ropes(struct decoder *d)
{
	const struct hf_config *c = d->c;
	uint64_t context = d->in->context ? d->in->context : c->context;
	float frequencies[LM_PAIRS_MAX];

	for (int kind = 0; kind < HF_ATTENTION_COUNT; kind++) {
		struct rope *r = &d->rope[kind];
		size_t pairs = lm_rope(&c->rope[kind], c->head_dim, c->context, context,
				       frequencies, &r->scale);

		r->positions = d->in->positions;
		r->frequencies = graph_constant(d->g, DTYPE_F32, SHAPE(pairs), frequencies);
		r->interleaved = d->in->rope_paired;
	}
}

struct tensor *decoder_hidden(struct graph *g, const struct hf_config *c,
			      const struct lm_inputs *in)
{
	struct decoder d = { .g = g, .c = c, .in = in, .gemma = c->architecture == HF_GEMMA3 };
	struct tensor *x;

	graph_push(g, "model");
	make_ropes(&d);
	x = embedding(g, in->ids, "embed_tokens", c->vocab_size, c->hidden_size);
	if (d.gemma)
		x = op_scale(g, x, sqrt((double)c->hidden_size), 0);
	x = op_dropout(g, x, in->dropout);
	for (uint32_t i = 0; i < c->n_layers; i++)
		x = block(&d, x, i);
	x = norm(&d, x, "norm.weight", c->hidden_size);
	graph_pop(g);
	return x;
}
