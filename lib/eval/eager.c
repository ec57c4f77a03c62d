/*
 * lib/eval/eager.c - what eager PyTorch moves for a graph
 *
 * A rule an op lists the operators that PyTorch calls for it, forward and backward, in bytes: N elements of what the model
 * computes in are N e. Where a tensor has several readers, the engine of its autograd adds their gradients, one call each.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/eval/census.h"
#include "lib/graph/op_table.h"

#define ROWS_MAX 64

struct eager {
	const struct graph *g;
	struct eager_row *rows;
	size_t n;
	double e;	 /* bytes of an element of what the model computes in */
	bool *gradient;	 /* by a tensor's id: one flows into it */
	size_t *readers; /* by a tensor's id: how many of them give it one */
	bool backward;
};

static void call(struct eager *e, const char *name, double bytes)
{
	size_t i = 0;

	while (i < e->n && strcmp(e->rows[i].name, name) != 0)
		i++;
	if (i == e->n && e->n < ROWS_MAX)
		e->rows[e->n++].name = name;
	e->rows[i].calls++;
	e->rows[i].bytes += bytes;
}

static double elements(const struct tensor *t)
{
	return (double)shape_elements(&t->shape);
}

static double width_of(const struct tensor *t)
{
	return (double)t->shape.at[t->shape.n - 1];
}

/* T without the views that lead to it. */
static const struct tensor *source(const struct tensor *t)
{
	while ((op_info(t->node->op)->flags & OP_VIEW) && t->node->n_in)
		t = t->node->in[0];
	return t;
}

static bool wants(const struct eager *e, const struct tensor *t)
{
	return e->backward && e->gradient[source(t)->id];
}

static bool is_half(const struct eager *e)
{
	return e->e < 4;
}

/* --- rules: the calls of one node, and of its gradient --- */

/* a [M, K] b [K, N], each product reading two of the three matrices and writing the third. */
static void matmul(struct eager *e, const struct node *n)
{
	const struct tensor *bias = n->n_in > 2 ? n->in[2] : NULL;
	double all = elements(n->in[0]) + elements(n->in[1]) + elements(n->out[0]);

	call(e, bias ? "addmm" : "mm", (all + (bias ? elements(bias) : 0)) * e->e);
	if (wants(e, n->in[0]))
		call(e, "mm", all * e->e);
	if (wants(e, n->in[1]))
		call(e, "mm", all * e->e);
	if (bias && wants(e, bias))
		call(e, "sum", (elements(n->out[0]) + elements(bias)) * e->e);
}

static void add(struct eager *e, const struct node *n)
{
	call(e, "add", 3 * elements(n->out[0]) * e->e);
}

/* x (mean(x^2) + eps)^-1/2 w, the middle in f32. */
static void norm_forward(struct eager *e, double n, double rows, double w)
{
	if (is_half(e))
		call(e, "_to_copy", n * (e->e + 4));
	call(e, "pow", 2 * n * 4);
	call(e, "mean", (n + rows) * 4);
	call(e, "add", 2 * rows * 4);
	call(e, "rsqrt", 2 * rows * 4);
	call(e, "mul", (2 * n + rows) * 4);
	if (is_half(e))
		call(e, "_to_copy", n * (e->e + 4));
	call(e, "mul", (2 * n + w) * e->e);
}

static void norm_into_x(struct eager *e, double n, double rows, double w)
{
	call(e, "mul", (2 * n + w) * e->e);
	if (is_half(e))
		call(e, "_to_copy", n * (e->e + 4));
	call(e, "mul", 3 * n * 4);
	call(e, "mul", (2 * n + rows) * 4);
	call(e, "sum", (n + rows) * 4);
	call(e, "pow", 2 * rows * 4);
	call(e, "mul", 2 * rows * 4);
	call(e, "mul", 3 * rows * 4);
	call(e, "div", (n + rows) * 4);
	call(e, "pow", 2 * n * 4);
	call(e, "mul", 2 * n * 4);
	call(e, "mul", 3 * n * 4);
	call(e, "add", 3 * n * 4);
	if (is_half(e))
		call(e, "_to_copy", n * (e->e + 4));
}

static void rms_norm(struct eager *e, const struct node *node)
{
	double n = elements(node->in[0]), w = width_of(node->in[0]), rows = n / w;

	norm_forward(e, n, rows, w);
	if (node->n_in > 1 && wants(e, node->in[1])) {
		call(e, "mul", 3 * n * e->e);
		call(e, "sum", (n + w) * e->e);
	}
	if (wants(e, node->in[0]))
		norm_into_x(e, n, rows, w);
}

/* x cos + rotate_half(x) sin, with a table of cosines [T, D]; the gradient's layout is mended by a clone. */
static void rope(struct eager *e, const struct node *node)
{
	const struct shape *s = &node->in[0]->shape;
	double n = elements(node->in[0]), table = n / (double)s->at[1];

	call(e, "mul", (2 * n + table) * e->e);
	call(e, "neg", n * e->e);
	call(e, "cat", 2 * n * e->e);
	call(e, "mul", (2 * n + table) * e->e);
	call(e, "add", 3 * n * e->e);
	if (!wants(e, node->in[0]))
		return;
	call(e, "mul", (2 * n + table) * e->e);
	call(e, "neg", n * e->e);
	call(e, "slice_backward", 1.5 * n * e->e);
	call(e, "slice_backward", 1.5 * n * e->e);
	call(e, "add", 3 * n * e->e);
	call(e, "mul", (2 * n + table) * e->e);
	call(e, "add", 3 * n * e->e);
	if (s->at[1] > 1)
		call(e, "clone", 2 * n * e->e);
}

static void attention(struct eager *e, const struct node *n)
{
	double kv = elements(n->in[1]) + elements(n->in[2]), q = elements(n->in[0]);
	double out = elements(n->out[0]), lse = q / width_of(n->in[0]) * 4;

	call(e, "_scaled_dot_product_flash_attention_for_cpu", (q + kv + out) * e->e + lse);
	if (wants(e, n->in[0]) || wants(e, n->in[1]) || wants(e, n->in[2]))
		call(e, "_scaled_dot_product_flash_attention_for_cpu_backward",
		     2 * (q + kv + out) * e->e + lse);
}

static void swiglu(struct eager *e, const struct node *node)
{
	double n = elements(node->out[0]) * e->e;

	call(e, "silu", 2 * n);
	call(e, "mul", 3 * n);
	if (!wants(e, node->in[0]))
		return;
	call(e, "mul", 3 * n);
	call(e, "mul", 3 * n);
	call(e, "silu_backward", 3 * n);
}

static void gelu(struct eager *e, const struct node *node)
{
	double n = elements(node->out[0]) * e->e;

	call(e, "gelu", 2 * n);
	if (wants(e, node->in[0]))
		call(e, "gelu_backward", 3 * n);
}

/* The table is in what the model computes in, so that the cast after it is none of PyTorch's. */
static void gather_rows(struct eager *e, const struct node *n)
{
	double ids = elements(n->in[1]) * 8, out = elements(n->out[0]) * e->e;

	call(e, "embedding", 2 * out + ids);
	if (wants(e, n->in[0]))
		call(e, "embedding_dense_backward", out + ids + elements(n->in[0]) * e->e);
}

static void cast(struct eager *e, const struct node *n)
{
	enum op from = n->in[0]->node->op;
	double bytes = elements(n->out[0]) * (e->e + 4);

	if (from == OP_INPUT || from == OP_GATHER_ROWS)
		return;
	call(e, "_to_copy", bytes);
	if (wants(e, n->in[0]))
		call(e, "_to_copy", bytes);
}

/* Logits of the whole batch in f32, their log-softmax, and of that one number a row. */
static void linear_ce(struct eager *e, const struct node *n)
{
	double rows = elements(n->in[2]), logits = rows * (double)n->in[1]->shape.at[0];
	double product = (elements(n->in[0]) + elements(n->in[1]) + logits) * e->e;

	call(e, "mm", product);
	if (is_half(e))
		call(e, "_to_copy", logits * (e->e + 4));
	call(e, "_log_softmax", 2 * logits * 4);
	call(e, "nll_loss_forward", rows * 12 + 8);
	if (!e->backward)
		return;
	call(e, "ones_like", 8);
	call(e, "nll_loss_backward", logits * 4 + rows * 8 + 8);
	call(e, "_log_softmax_backward_data", 3 * logits * 4);
	if (is_half(e))
		call(e, "_to_copy", logits * (e->e + 4));
	call(e, "mm", product);
	call(e, "mm", product);
}

/* mean(square(a - b)); the mean after linear_ce is within PyTorch's loss. */
static int mean(struct eager *e, const struct node *n)
{
	const struct node *square = source(n->in[0])->node, *sub;
	double elements_of_a;

	if (square->op == OP_LINEAR_CE)
		return 0;
	sub = square->op == OP_SQUARE ? source(square->in[0])->node : NULL;
	if (!sub || sub->op != OP_SUB)
		return -1;
	elements_of_a = elements(sub->in[0]) * 4;
	call(e, "mse_loss", 2 * elements_of_a + 4);
	if (!wants(e, n->in[0]))
		return 0;
	call(e, "ones_like", 8);
	call(e, "mse_loss_backward", 3 * elements_of_a + 4);
	return 0;
}

static int rule(struct eager *e, const struct node *n)
{
	switch (n->op) {
	case OP_MATMUL: matmul(e, n); return 0;
	case OP_ADD: add(e, n); return 0;
	case OP_RMS_NORM: rms_norm(e, n); return 0;
	case OP_ROPE: rope(e, n); return 0;
	case OP_ATTENTION: attention(e, n); return 0;
	case OP_SWIGLU: swiglu(e, n); return 0;
	case OP_GELU: gelu(e, n); return 0;
	case OP_GATHER_ROWS: gather_rows(e, n); return 0;
	case OP_CAST: cast(e, n); return 0;
	case OP_LINEAR_CE: linear_ce(e, n); return 0;
	case OP_MEAN: return mean(e, n);
	case OP_SUB:
	case OP_SQUARE:		  /* told by the mean after them */
	case OP_ARANGE: return 0; /* of rope: tables are made once */
	default: return op_info(n->op)->flags & OP_VIEW ? 0 : -1;
	}
}

/* --- the graph --- */

static bool is_trained(const struct tensor *t)
{
	return t->node->op == OP_PARAMETER;
}

/* Gradients flow into what leads from a parameter; each reader of such a tensor adds one to it. */
static void mark(struct eager *e, const struct node *n)
{
	bool flows = false;

	for (int i = 0; i < n->n_in; i++) {
		const struct tensor *t = n->in[i] ? source(n->in[i]) : NULL;

		if (!t || !(e->gradient[t->id] || is_trained(t)))
			continue;
		e->gradient[t->id] = flows = true;
		if (!(op_info(n->op)->flags & OP_VIEW))
			e->readers[t->id]++;
	}
	for (int i = 0; i < n->n_out; i++)
		e->gradient[n->out[i]->id] = flows;
}

static void sums_of_gradients(struct eager *e, const struct node *n)
{
	if (op_info(n->op)->flags & OP_VIEW)
		return;
	for (int i = 0; i < n->n_out; i++)
		for (size_t k = 1; k < e->readers[n->out[i]->id]; k++)
			call(e, "add", 3 * elements(n->out[i]) * e->e);
}

static int collect(struct eager *e, size_t forward)
{
	for (size_t i = 0; i < forward; i++)
		mark(e, graph_node(e->g, i));
	for (size_t i = 0; i < forward; i++) {
		const struct node *n = graph_node(e->g, i);

		if (rule(e, n) < 0)
			return err_set(ERR_UNSUPPORTED,
				       "%s: what eager PyTorch does for it is not known",
				       op_info(n->op)->name);
		if (e->backward)
			sums_of_gradients(e, n);
	}
	return 0;
}

int eager_collect(const struct graph *g, size_t forward, bool gradients, struct eager_row **rows,
		  size_t *n)
{
	enum dtype compute = graph_options(g)->compute;
	struct eager e = {
		.g = g,
		.rows = mem_new(ROWS_MAX, sizeof(*e.rows)),
		.e = compute == DTYPE_BF16 || compute == DTYPE_F16 ? 2 : 4,
		.gradient = mem_new(graph_n_tensors(g) + 1, sizeof(*e.gradient)),
		.readers = mem_new(graph_n_tensors(g) + 1, sizeof(*e.readers)),
		.backward = gradients,
	};
	int result = e.rows && e.gradient && e.readers ? collect(&e, forward) : -1;

	free(e.gradient);
	free(e.readers);
	if (result < 0) {
		free(e.rows);
		e.rows = NULL;
	}
	*rows = e.rows;
	*n = result < 0 ? 0 : e.n;
	return result;
}
