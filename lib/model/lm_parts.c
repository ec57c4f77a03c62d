/* lib/model/lm_parts.c - pieces that the families of language models share */

#include "lib/model/lm_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/graph/op_table.h"

struct tensor *lm_linear(struct graph *g, struct tensor *x, const char *name, size_t out, bool bias)
{
	return bias ? linear_bias(g, x, name, out) : linear(g, x, name, out);
}

struct tensor *lm_heads(struct graph *g, struct tensor *x, size_t heads, size_t dim)
{
	return x ? op_reshape(g, x, SHAPE(x->shape.at[0], heads, dim)) : NULL;
}

struct tensor *lm_flat(struct graph *g, struct tensor *x)
{
	return x ? op_reshape(g, x, SHAPE(x->shape.at[0], x->shape.at[1] * x->shape.at[2])) : NULL;
}

struct tensor *lm_layer_norm(struct graph *g, const struct hf_config *c, struct tensor *x,
			     const char *name)
{
	struct tensor *w, *b;

	graph_push(g, "%s", name);
	w = param(g, "weight", c->hidden_size);
	b = param(g, "bias", c->hidden_size);
	x = op_layer_norm(g, x, w, b, c->norm_eps);
	graph_pop(g);
	return x;
}

struct tensor *lm_positions(struct graph *g, const struct hf_config *c, const struct lm_inputs *in,
			    const char *name)
{
	struct tensor *rows = op_reshape(g, in->positions, SHAPE(in->positions->shape.at[0]));

	return embedding(g, rows, name, c->context, c->hidden_size);
}

/* x sigmoid(1.702 x): Hendrycks and Gimpel 2016, section 2 */
static struct tensor *quick_gelu(struct graph *g, struct tensor *x)
{
	return op_mul(g, x, op_sigmoid(g, op_scale(g, x, 1.702, 0)));
}

static struct tensor *function(struct graph *g, enum hf_activation a, struct tensor *x)
{
	switch (a) {
	case HF_SILU: return op_silu(g, x);
	case HF_GELU: return op_gelu(g, x);
	case HF_QUICK_GELU: return quick_gelu(g, x);
	case HF_RELU: return op_relu(g, x);
	case HF_RELU2: return op_relu2(g, x);
	default: return op_gelu_tanh(g, x);
	}
}

struct tensor *lm_activation(struct graph *g, const struct hf_config *c, struct tensor *gate,
			     struct tensor *up)
{
	if (!up)
		return function(g, c->activation, gate);
	switch (c->activation) {
	case HF_SILU: return op_swiglu(g, gate, up);
	case HF_GELU: return op_geglu(g, gate, up, false);
	case HF_GELU_NEW:
	case HF_GELU_TANH:
	case HF_GELU_FAST: return op_geglu(g, gate, up, true);
	default: return op_mul(g, function(g, c->activation, gate), up);
	}
}

/* The layer's entry of the cache; made when it is first asked for. */
static struct store_entry *cache_entry(struct graph *g, const struct lm_cache *c, const char *name,
				       const struct shape *shape)
{
	struct store_entry *e = store_find(graph_store(g), name);

	if (!e)
		e = store_add(graph_store(g), name, STORE_CACHE, c->dtype, shape);
	if (!e)
		graph_error(g, "%s", err_text());
	else if (e->dtype != c->dtype || !shape_equal(&e->shape, shape))
		graph_error(g, "%s is %s%s, not %s%s", name, dtype_name(e->dtype),
			    shape_string(&e->shape), dtype_name(c->dtype), shape_string(shape));
	return e;
}

/* With ROWS written. */
static struct tensor *written(struct graph *g, const struct lm_cache *c, uint32_t layer,
			      const char *which, struct tensor *rows)
{
	char name[80];
	struct store_entry *e;

	if (!rows || graph_check(g) < 0)
		return NULL;
	snprintf(name, sizeof(name), "%.40s.%" PRIu32 ".%s", c->name ? c->name : "cache", layer,
		 which);
	e = cache_entry(g, c, name, &SHAPE(c->slots, rows->shape.at[1], rows->shape.at[2]));
	if (!e)
		return NULL;
	/* What goes into blocks is rounded where it is written. */
	if (dtype_info(c->dtype)->block == 1)
		rows = op_cast(g, rows, c->dtype);
	return op_kv_write(g, graph_entry(g, e), rows, c->write);
}

struct lm_keys lm_cached(struct graph *g, const struct lm_inputs *in, uint32_t layer,
			 struct tensor *k, struct tensor *v)
{
	if (!in->cache)
		return (struct lm_keys){ k, v };
	return (struct lm_keys){ written(g, in->cache, layer, "k", k),
				 written(g, in->cache, layer, "v", v) };
}

struct attention lm_attention(struct graph *g, const struct lm_inputs *in)
{
	struct attention a = { .q_documents = in->documents, .k_documents = in->documents };

	if (!in->cache)
		return a;
	a.k_documents = in->cache->documents;
	a.q_positions = op_reshape(g, in->positions, SHAPE(in->positions->shape.at[0]));
	a.k_positions = in->cache->positions;
	a.pages = in->cache->pages;
	a.page = in->cache->page;
	return a;
}
