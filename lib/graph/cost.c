/* lib/graph/cost.c - operations of each op */

#include "lib/graph/cost.h"

#include "lib/graph/graph_parts.h"

static double elements(const struct tensor *t)
{
	return (double)shape_elements(&t->shape);
}

double cost_elements(const struct node *n)
{
	return elements(n->out[0]);
}

double cost_input(const struct node *n)
{
	return elements(n->in[0]);
}

double cost_matmul(const struct node *n)
{
	const struct shape *a = &n->in[0]->shape;

	return 2 * elements(n->out[0]) * (double)a->at[a->n - 1];
}

double cost_matmul_acc(const struct node *n)
{
	return 2 * elements(n->out[0]) * (double)n->in[1]->shape.at[1];
}

double cost_grouped_matmul(const struct node *n)
{
	return 2 * elements(n->out[0]) * (double)n->in[0]->shape.at[1];
}

double cost_grouped_matmul_dw(const struct node *n)
{
	return 2 * elements(n->in[0]) * (double)n->in[1]->shape.at[1];
}

double cost_norm(const struct node *n)
{
	return 4 * elements(n->in[0]);
}

/* Pairs of a query and a key that it sees: a causal query those up to its own place from the end, a window the last of them. */
static double attended(const struct attention_attributes *a, const struct tensor *q,
		       const struct tensor *k)
{
	double rows = (double)q->shape.at[0], keys = (double)k->shape.at[0];
	double window = a->window ? (double)a->window : keys, first = keys - rows + 1, growing;

	if (!a->causal)
		return rows * (window < keys ? window : keys);
	if (first < 1) { /* those before the first key see none */
		rows -= 1 - first;
		first = 1;
	}
	if (rows <= 0)
		return 0;
	if (first >= window)
		return rows * window;
	/* Rows first, first + 1, ... until the window is full. */
	growing = window - first < rows ? window - first : rows;
	return growing * (2 * first + growing - 1) / 2 + (rows - growing) * window;
}

double cost_attention(const struct node *n)
{
	const struct tensor *q = n->in[0], *v = n->in[2];

	return 2 * attended(n->attributes, q, n->in[1]) * (double)q->shape.at[1] *
	       (double)(q->shape.at[2] + v->shape.at[2]);
}

/* The scores again, and four more products of their size. */
double cost_attention_grad(const struct node *n)
{
	const struct tensor *q = n->in[3], *v = n->in[5];

	return 2 * attended(n->attributes, q, n->in[4]) * (double)q->shape.at[1] *
	       (3 * (double)q->shape.at[2] + 2 * (double)v->shape.at[2]);
}

double cost_linear_ce(const struct node *n)
{
	return 2 * elements(n->in[0]) * (double)n->in[1]->shape.at[0];
}

double cost_linear_ce_sum(const struct node *n)
{
	return 3 * cost_linear_ce(n);
}

double cost_linear_ce_grad(const struct node *n)
{
	return 3 * cost_linear_ce(n);
}

static double taps(const struct shape *w)
{
	return (double)w->at[1] * (double)w->at[2] * (double)w->at[3];
}

double cost_conv2d(const struct node *n)
{
	return 2 * elements(n->out[0]) * taps(&n->in[1]->shape);
}

double cost_conv2d_dx(const struct node *n)
{
	return 2 * elements(n->in[0]) * taps(&n->in[1]->shape);
}

double cost_conv2d_dw(const struct node *n)
{
	return 2 * elements(n->in[1]) * taps(&n->out[0]->shape);
}

double cost_pool(const struct node *n)
{
	const struct pool_attributes *a = n->attributes;
	double in = elements(n->in[0]), out = elements(n->out[0]);

	return (in < out ? in : out) * a->kernel[0] * a->kernel[1];
}

double cost_resize(const struct node *n)
{
	const struct resize_attributes *a = n->attributes;
	double in = elements(n->in[0]), out = elements(n->out[0]);

	return (in > out ? in : out) * (a->mode == RESIZE_NEAREST    ? 1
					: a->mode == RESIZE_BILINEAR ? 8
								     : 32);
}

double cost_optimizer(const struct node *n)
{
	return 12 * elements(n->in[0]);
}

/* The rows, not the cache. */
double cost_kv_write(const struct node *n)
{
	return elements(n->in[1]);
}

static double operand_bytes(const struct tensor *t)
{
	size_t size;

	/* What broadcasting repeats is there once. */
	size_t n = 1;

	for (int i = 0; i < t->shape.n; i++)
		if (t->stride[i] != 0)
			n *= t->shape.at[i];
	return dtype_size(t->dtype, n, &size) ? (double)size : 0;
}

/* Of a table that is used by index, the rows that the indices name: as many elements as ROWS has. */
static double rows_bytes(const struct tensor *table, const struct tensor *rows)
{
	size_t size;

	return dtype_size(table->dtype, shape_elements(&rows->shape), &size) ? (double)size : 0;
}

double cost_in_bytes(const struct node *n, int i)
{
	if ((n->op == OP_GATHER_ROWS || n->op == OP_TAKE_ALONG) && i == 0)
		return rows_bytes(n->in[0], n->out[0]);
	if ((n->op == OP_SCATTER_ACC || n->op == OP_KV_WRITE) && i == 0)
		return n->op == OP_KV_WRITE ? 0 : rows_bytes(n->in[0], n->in[1]);
	return n->in[i] ? operand_bytes(n->in[i]) : 0;
}

double cost_out_bytes(const struct node *n, int i)
{
	if (n->op == OP_SCATTER_ACC || n->op == OP_KV_WRITE)
		return rows_bytes(n->out[i], n->in[1]);
	return operand_bytes(n->out[i]);
}

double cost_bytes(const struct node *n)
{
	double bytes = 0;

	if (op_info(n->op)->flags & OP_VIEW)
		return 0;
	for (int i = 0; i < n->n_in; i++)
		bytes += cost_in_bytes(n, i);
	for (int i = 0; i < n->n_out; i++)
		bytes += cost_out_bytes(n, i);
	return bytes;
}
