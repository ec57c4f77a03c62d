/*
 * lib/graph/grad.c - the backward half of a graph
 *
 * Reverse mode: from the loss back, each node's gradient rule (ops.def) says what its inputs get of what its outputs got;
 * what a tensor gets from several places is added in the order of the nodes, last first. A derived form of a parameter hands
 * its gradient to the parameter.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"

struct backward {
	struct graph *g;
	struct tensor **of; /* owned: by a tensor's id, its gradient so far, or NULL */
	size_t n;	    /* tensors before the backward half */
	bool accumulate;    /* gradients of trainable parameters go to the store's sums */
};

/* Marks what a gradient is wanted for: WITH, and every tensor made of a wanted one. */
static void mark_wanted(struct graph *g, struct tensor *const *with, size_t n)
{
	for (size_t i = 0; i < g->n_tensors; i++)
		g->tensors[i]->wanted = false;
	for (size_t i = 0; i < n; i++)
		with[i]->wanted = true;
	for (size_t i = 0; i < g->n_nodes; i++) {
		struct node *node = g->nodes[i];
		const struct store_entry *e =
			node->op == OP_PARAMETER ? tensor_entry(node->out[0]) : NULL;
		bool wanted = e && e->source && g->parameters[e->source->place]->wanted;

		for (int j = 0; j < node->n_in && node->op != OP_STOP; j++)
			wanted |= node->in[j] && node->in[j]->wanted;
		for (int j = 0; j < node->n_out && wanted; j++)
			node->out[j]->wanted = true;
	}
}

static void add_gradient(struct backward *b, const struct tensor *t, struct tensor *gradient)
{
	struct tensor **sum = &b->of[t->id];

	if (gradient)
		*sum = *sum ? op_add(b->g, *sum, gradient) : gradient;
}

/* f32, into the parameter itself. */
static void to_source(struct backward *b, const struct node *n)
{
	const struct store_entry *e = tensor_entry(n->out[0]);
	struct tensor *gradient = b->of[n->out[0]->id];

	if (e->source && gradient)
		add_gradient(b, b->g->parameters[e->source->place],
			     op_cast(b->g, gradient, DTYPE_F32));
}

/*
 * Nothing more comes to the gradient of a parameter whose node is reached, and added here it does not outlive what it was
 * made of: appended at the end, all of them would hold their operands till then.
 */
static void to_sum(struct backward *b, const struct node *n)
{
	struct store_entry *e = tensor_entry(n->out[0]);
	struct tensor *gradient = b->of[n->out[0]->id];
	struct store_entry *sum;

	if (!b->accumulate || !gradient || e->kind != STORE_PARAMETER || !e->trainable)
		return;
	sum = store_sum(b->g->store, e);
	if (sum)
		op_accumulate(b->g, graph_entry(b->g, sum), gradient);
	else
		graph_error(b->g, "%s", err_text());
}

static bool any_gradient(const struct backward *b, const struct node *n)
{
	for (int i = 0; i < n->n_out; i++)
		if (b->of[n->out[i]->id])
			return true;
	return false;
}

static bool any_wanted(const struct node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && n->in[i]->wanted)
			return true;
	return false;
}

static void node_backward(struct backward *b, struct node *n)
{
	struct tensor *dy[KERNEL_TENSORS], *dx[KERNEL_TENSORS] = { 0 };

	if (n->op == OP_PARAMETER) {
		to_source(b, n);
		to_sum(b, n);
	}
	if (!any_wanted(n) || !any_gradient(b, n))
		return;
	if (!op_info(n->op)->grad) {
		node_error(b->g, n, "it has no gradient, and one is wanted through it");
		return;
	}
	if (n->count) {
		node_error(b->g, n,
			   "no gradient through a repetition whose count is known at run time");
		return;
	}
	for (int i = 0; i < n->n_out; i++)
		dy[i] = b->of[n->out[i]->id];
	op_info(n->op)->grad(b->g, n, dy, dx);
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && n->in[i]->wanted)
			add_gradient(b, n->in[i], dx[i]);
}

static int check_loss(struct graph *g, const struct tensor *loss)
{
	if (!loss || graph_failed(g))
		return -1;
	if (shape_elements(&loss->shape) != 1)
		return graph_error(g, "a loss of shape %s: it must be one number",
				   shape_string(&loss->shape));
	return 0;
}

static void run_backward(struct backward *b, struct tensor *loss)
{
	struct graph *g = b->g;
	size_t last = loss->node->id;

	g->backward = true;
	b->of[loss->id] = op_fill(g, loss->dtype, loss->shape, 1);
	for (size_t i = last + 1; i-- > 0 && !graph_failed(g);) {
		struct graph_scope *scope = &g->scopes[g->n_scopes - 1];
		const char *outer = scope->name;

		scope->name = g->nodes[i]->scope;
		node_backward(b, g->nodes[i]);
		scope->name = outer;
	}
	g->backward = false;
}

/* GRADIENTS may be NULL. */
static int backward(struct graph *g, struct tensor *loss, struct tensor *const *with, size_t n,
		    struct tensor **gradients, bool accumulate)
{
	struct backward b = { .g = g, .accumulate = accumulate };

	if (check_loss(g, loss) < 0)
		return graph_check(g);
	mark_wanted(g, with, n);
	b.n = g->n_tensors;
	b.of = mem_new(b.n, sizeof(*b.of));
	if (!b.of)
		return graph_error(g, "out of memory"), graph_check(g);
	run_backward(&b, loss);
	for (size_t i = 0; gradients && i < n; i++)
		gradients[i] = graph_failed(g) ? NULL : b.of[with[i]->id];
	free(b.of);
	return graph_check(g);
}

int graph_grad(struct graph *g, struct tensor *loss, struct tensor *const *with, size_t n,
	       struct tensor **gradients)
{
	return backward(g, loss, with, n, gradients, false);
}

/* The trainable parameters that the graph uses, in the order of the store. */
static size_t find_trainable(struct graph *g, struct tensor **out)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_parameters; i++) {
		struct tensor *t = g->parameters[i];
		const struct store_entry *e = t ? tensor_entry(t) : NULL;

		if (e && e->kind == STORE_PARAMETER && e->trainable)
			out[n++] = t;
	}
	return n;
}

int graph_grad_accumulate(struct graph *g, struct tensor *loss)
{
	struct tensor **with = mem_new(g->n_parameters + 1, sizeof(*with));
	int result;

	if (!with)
		return graph_error(g, "out of memory"), graph_check(g);
	result = backward(g, loss, with, find_trainable(g, with), NULL, true);
	free(with);
	return result;
}

struct tensor *graph_stop(struct graph *g, struct tensor *t)
{
	if (!t || graph_failed(g))
		return NULL;
	return graph_view(g, OP_STOP, t, NULL, 0, &t->shape, t->stride, 0);
}
