/*
 * lib/model/example.c - an MLP and transformer blocks
 *
 * The block is pre-norm: RMS norm, rotary attention with grouped keys and values, residual, RMS norm, SwiGLU, residual
 * (Touvron et al. 2023, "LLaMA"); its parameters carry the names of Hugging Face folders.
 */
#include "lib/model/example.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/ops.h"

#define ROPE_THETA 10000.0
#define NORM_EPS   1e-5
#define PAIRS_MAX  4096

int example_check(const struct example_config *c)
{
	if (!c->tokens || !c->width || !c->ffn || !c->layers)
		return err_set(ERR_ARGUMENT, "tokens, width, ffn and layers are 1 at least");
	if (c->kind == EXAMPLE_MLP)
		return 0;
	if (!c->heads || c->width % c->heads != 0)
		return err_set(ERR_ARGUMENT, "%zu heads do not divide a width of %zu", c->heads,
			       c->width);
	if (!c->kv_heads || c->heads % c->kv_heads != 0)
		return err_set(ERR_ARGUMENT, "%zu heads of keys do not divide %zu of queries",
			       c->kv_heads, c->heads);
	if (c->width / c->heads % 2 != 0)
		return err_set(ERR_ARGUMENT, "heads of %zu elements: rope turns pairs",
			       c->width / c->heads);
	if (c->width / c->heads / 2 > PAIRS_MAX)
		return err_set(ERR_LIMIT, "heads of %zu elements, %d at most", c->width / c->heads,
			       2 * PAIRS_MAX);
	return 0;
}

/* --- the models --- */

static struct tensor *mlp(struct graph *g, const struct example_config *c, struct tensor *x)
{
	size_t hidden = c->layers - (c->vocab == 0);

	for (size_t i = 0; i < hidden; i++) {
		graph_push(g, "mlp.%zu", i);
		graph_block(g);
		x = op_gelu(g, linear_bias(g, x, "fc", c->ffn));
		graph_pop(g);
	}
	if (c->vocab == 0) {
		graph_push(g, "mlp.%zu", hidden);
		x = linear_bias(g, x, "fc", c->width);
		graph_pop(g);
	}
	return x;
}

static struct tensor *heads(struct graph *g, struct tensor *x, const char *name, size_t n,
			    size_t dim)
{
	return op_reshape(g, linear(g, x, name, n * dim), SHAPE(x ? x->shape.at[0] : 0, n, dim));
}

static struct tensor *attention(struct graph *g, const struct example_config *c, struct tensor *x,
				const struct rope *rope)
{
	size_t dim = c->width / c->heads;
	struct tensor *q, *k, *v, *h;

	q = op_rope(g, heads(g, x, "self_attn.q_proj", c->heads, dim), rope);
	k = op_rope(g, heads(g, x, "self_attn.k_proj", c->kv_heads, dim), rope);
	v = heads(g, x, "self_attn.v_proj", c->kv_heads, dim);
	h = op_attention(g, q, k, v, &(struct attention){ .causal = true }, NULL);
	h = op_reshape(g, h, SHAPE(c->tokens, c->width));
	return linear(g, h, "self_attn.o_proj", c->width);
}

/* x: [tokens, width] -> [tokens, width] */
static struct tensor *block(struct graph *g, const struct example_config *c, struct tensor *x,
			    const struct rope *rope, size_t i)
{
	struct tensor *h;

	graph_push(g, "model.layers.%zu", i);
	graph_block(g);
	h = op_rms_norm(g, x, param(g, "input_layernorm.weight", c->width), NORM_EPS);
	x = op_add(g, attention(g, c, h, rope), x);
	h = op_rms_norm(g, x, param(g, "post_attention_layernorm.weight", c->width), NORM_EPS);
	h = op_swiglu(g, linear(g, h, "mlp.gate_proj", c->ffn),
		      linear(g, h, "mlp.up_proj", c->ffn));
	x = op_add(g, linear(g, h, "mlp.down_proj", c->width), x);
	graph_pop(g);
	return x;
}

static struct tensor *blocks(struct graph *g, const struct example_config *c, struct tensor *x)
{
	float frequencies[PAIRS_MAX];
	size_t pairs = c->width / c->heads / 2;
	struct rope rope = { 0 };

	for (size_t i = 0; i < pairs; i++)
		frequencies[i] = (float)pow(ROPE_THETA, -(double)i / (double)pairs);
	rope.frequencies = graph_constant(g, DTYPE_F32, SHAPE(pairs), frequencies);
	rope.positions =
		op_reshape(g, op_arange(g, DTYPE_I32, c->tokens, 0, 1), SHAPE(c->tokens, 1));
	for (size_t i = 0; i < c->layers; i++)
		x = block(g, c, x, &rope, i);
	return x;
}

/* --- what they are given, and what is asked of them --- */

static struct tensor *mean_squared_error(struct graph *g, struct tensor *y, struct tensor *target)
{
	struct tensor *d = op_sub(g, y, target);

	return op_mean(g, op_square(g, d), 0, false);
}

static struct tensor *loss_of(struct graph *g, const struct example_config *c, struct example *out)
{
	enum dtype compute = graph_options(g)->compute;
	size_t width = c->kind == EXAMPLE_MLP ? c->ffn : c->width;
	struct tensor *loss;

	if (c->vocab == 0) {
		out->target = graph_input(g, "target", DTYPE_F32, SHAPE(c->tokens, c->width));
		return mean_squared_error(g, op_cast(g, out->y, DTYPE_F32), out->target);
	}
	out->target = graph_input(g, "target", DTYPE_I32, SHAPE(c->tokens));
	loss = op_linear_ce(g, op_cast(g, out->y, compute),
			    param_compute(g, "lm_head.weight", c->vocab, width), out->target,
			    &(struct cross_entropy){ .ignore = -100 });
	return op_mean(g, loss, 0, false);
}

static struct tensor *input(struct graph *g, const struct example_config *c, struct example *out)
{
	if (c->vocab == 0) {
		out->x = graph_input(g, "x", DTYPE_F32, SHAPE(c->tokens, c->width));
		return op_cast(g, out->x, graph_options(g)->compute);
	}
	out->x = graph_input(g, "x", DTYPE_I32, SHAPE(c->tokens));
	return embedding(g, out->x, "model.embed_tokens", c->vocab, c->width);
}

void example_build(struct graph *g, const struct example_config *c, bool loss, struct example *out)
{
	struct tensor *x;

	*out = (struct example){ 0 };
	x = input(g, c, out);
	out->y = c->kind == EXAMPLE_MLP ? mlp(g, c, x) : blocks(g, c, x);
	if (!loss) {
		graph_output(g, out->y, "y");
		return;
	}
	graph_push(g, "loss");
	out->loss = loss_of(g, c, out);
	graph_pop(g);
	graph_output(g, out->loss, "loss");
}

/* --- updates --- */

static struct tensor *beside(struct graph *g, struct store_entry *e, const char *suffix)
{
	struct store_entry *made = store_beside(graph_store(g), e, suffix, DTYPE_F32);

	return made ? graph_param(g, made->name, made->shape) : NULL;
}

static void update(struct graph *g, enum example_optimizer kind, struct store_entry *e,
		   struct tensor *p, struct tensor *dp, struct tensor *h)
{
	struct optimizer_attributes o = { .beta1 = 0.9,
					  .beta2 = kind == EXAMPLE_LION ? 0.99 : 0.95,
					  .eps = 1e-8,
					  .weight_decay = 0.1 };
	struct tensor *first = beside(g, e, "first");

	if (kind == EXAMPLE_SGD)
		op_sgd(g, p, first, dp, h, &o);
	else if (kind == EXAMPLE_LION)
		op_lion(g, p, first, dp, h, &o);
	else
		op_adamw(g, p, first, beside(g, e, "second"), dp, h, &o);
}

/* The store's parameters, whose number is N, their tensors and their gradients. */
struct trained {
	struct store_entry **entry;
	struct tensor **p, **dp;
	size_t n;
};

static int train(struct graph *g, struct tensor *loss, enum example_optimizer kind,
		 struct trained *t)
{
	struct store *s = graph_store(g);
	struct tensor *h;

	for (size_t i = 0; i < store_n(s); i++) {
		if (store_at(s, i)->kind != STORE_PARAMETER)
			continue;
		t->entry[t->n] = store_at(s, i);
		t->p[t->n] = graph_param(g, store_at(s, i)->name, store_at(s, i)->shape);
		t->n++;
	}
	if (graph_grad(g, loss, t->p, t->n, t->dp) < 0)
		return -1;
	h = graph_input(g, "h", DTYPE_F32, SHAPE(kind == EXAMPLE_ADAMW ? 4 : 2));
	for (size_t i = 0; i < t->n; i++)
		if (t->dp[i])
			update(g, kind, t->entry[i], t->p[i], t->dp[i], h);
	return graph_check(g);
}

int example_train(struct graph *g, const struct example *out, enum example_optimizer kind)
{
	size_t n = store_n(graph_store(g));
	struct trained t;
	int result = -1;

	if (kind == EXAMPLE_NONE)
		return graph_grad_accumulate(g, out->loss);
	t = (struct trained){ mem_new(n + 1, sizeof(*t.entry)), mem_new(n + 1, sizeof(*t.p)),
			      mem_new(n + 1, sizeof(*t.dp)), 0 };
	if (t.entry && t.p && t.dp)
		result = train(g, out->loss, kind, &t);
	free(t.entry);
	free(t.p);
	free(t.dp);
	return result;
}
