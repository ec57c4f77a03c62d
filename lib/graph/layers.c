/*
 * lib/graph/layers.c - products with a weight of the store, and with the adapter that the store has for it
 */
#include <stdio.h>

#include "kernels/rounding.h"
#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

/* `NAME.ENDING` in B. */
static const char *join(struct graph *g, char *b, size_t size, const char *name, const char *ending)
{
	if ((size_t)snprintf(b, size, "%s.%s", name, ending) >= size)
		graph_error(g, "%s: a name of more than %zu bytes", name, size - 1);
	return b;
}

static const struct store_adapter *find_adapter(struct graph *g, const char *name)
{
	const char *scope = graph_scope_name(g);
	char whole[512];

	if (graph_failed(g) || !graph_store(g))
		return NULL;
	snprintf(whole, sizeof(whole), "%s%s%s", scope, *scope ? "." : "", name);
	return store_adapter(graph_store(g), whole);
}

/* y + scale B (A x) */
static struct tensor *adapted(struct graph *g, const struct store_adapter *a, struct tensor *x,
			      struct tensor *y)
{
	struct tensor *down = op_matmul(g, x, op_transpose(g, graph_entry_compute(g, a->a)));
	struct tensor *up = op_matmul(g, down, op_transpose(g, graph_entry_compute(g, a->b)));

	return op_add(g, y, op_mul(g, up, graph_entry(g, a->scale)));
}

bool linear_rounds(const struct graph *g, const struct tensor *w)
{
	return w && !graph_failed(g) && graph_options(g)->round && rounding_serves(w->dtype);
}

static struct tensor *product(struct graph *g, struct tensor *x, const char *name, size_t out,
			      bool biased)
{
	const struct store_adapter *adapter;
	struct matmul_operands o = { .a = x };
	struct tensor *y;
	char b[256];

	if (!x || graph_failed(g))
		return NULL;
	o.b = op_transpose(g, graph_param_compute(g, join(g, b, sizeof(b), name, "weight"),
						  SHAPE(out, x->shape.at[x->shape.n - 1])));
	o.round = linear_rounds(g, o.b);
	o.pack = o.round && graph_options(g)->pack;
	if (biased)
		o.bias = graph_param(g, join(g, b, sizeof(b), name, "bias"), SHAPE(out));
	y = op_matmul_with(g, &o);
	adapter = find_adapter(g, name);
	return adapter ? adapted(g, adapter, x, y) : y;
}

struct tensor *linear(struct graph *g, struct tensor *x, const char *name, size_t out)
{
	char b[256];

	return product(g, x, name, out, graph_has_param(g, join(g, b, sizeof(b), name, "bias")));
}

struct tensor *linear_bias(struct graph *g, struct tensor *x, const char *name, size_t out)
{
	return product(g, x, name, out, true);
}

/* A row of the table, and of an adapter: B's columns are the width, A's the ids. */
struct tensor *embedding(struct graph *g, struct tensor *ids, const char *name, size_t vocab,
			 size_t width)
{
	const struct store_adapter *a;
	struct tensor *y, *down;
	char b[256];

	y = op_gather_rows(
		g, graph_param(g, join(g, b, sizeof(b), name, "weight"), SHAPE(vocab, width)), ids);
	if (y)
		y = op_cast(g, y, graph_options(g)->compute);
	a = find_adapter(g, name);
	if (!a)
		return y;
	down = op_gather_rows(g, op_transpose(g, graph_entry_compute(g, a->a)), ids);
	down = op_matmul(g, down, op_transpose(g, graph_entry_compute(g, a->b)));
	return op_add(g, y, op_mul(g, down, graph_entry(g, a->scale)));
}

/* B is a convolution of one place, A one of the layer's own kernel, to RANK channels. */
static struct tensor *conv_adapted(struct graph *g, const struct store_adapter *a, struct tensor *x,
				   struct tensor *y, struct shape kernel, struct conv o)
{
	size_t rank = a->a->shape.at[0], out = kernel.at[0];
	struct tensor *down, *up;

	kernel.at[0] = rank;
	if (shape_elements(&kernel) != shape_elements(&a->a->shape)) {
		graph_error(g, "%s is %s: a kernel of %s is wanted", a->a->name,
			    shape_string(&a->a->shape), shape_string(&kernel));
		return NULL;
	}
	down = op_conv2d(g, x, op_reshape(g, graph_entry_compute(g, a->a), kernel), &o);
	up = op_conv2d(g, down, op_reshape(g, graph_entry_compute(g, a->b), SHAPE(out, rank, 1, 1)),
		       &(struct conv){ 0 });
	return op_add(g, y, op_mul(g, up, graph_entry(g, a->scale)));
}

struct tensor *conv2d(struct graph *g, struct tensor *x, const char *name, size_t out,
		      size_t height, size_t width, const struct conv *o)
{
	const struct store_adapter *adapter;
	struct conv plain = *o;
	struct shape kernel;
	struct tensor *y;
	char b[256];

	if (!x || graph_failed(g))
		return NULL;
	if (x->shape.n != 4) {
		graph_error(g, "conv2d %s: %s is not [N, C, H, W]", name, shape_string(&x->shape));
		return NULL;
	}
	kernel = SHAPE(out, x->shape.at[1] / (o->groups ? o->groups : 1), height, width);
	if (!plain.bias && graph_has_param(g, join(g, b, sizeof(b), name, "bias")))
		plain.bias = graph_param(g, b, SHAPE(out));
	plain.activation = ACTIVATION_NONE;
	y = op_conv2d(g, x, graph_param_compute(g, join(g, b, sizeof(b), name, "weight"), kernel),
		      &plain);
	adapter = find_adapter(g, name);
	plain.bias = NULL;
	if (adapter && plain.groups > 1)
		graph_error(g, "conv2d %s: an adapter of a convolution in groups", name);
	else if (adapter)
		y = conv_adapted(g, adapter, x, y, kernel, plain);
	return op_activation(g, y, o->activation);
}
