/*
 * lib/graph/ops_matmul.c - matrix products
 */
#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

/* --- shapes --- */

/* Leading axes of a and b, broadcast, into OUT. */
static int batch_axes(struct graph *g, struct node *n, const struct shape *a, const struct shape *b,
		      struct shape *out)
{
	int na = a->n - 2, nb = b->n - 2, most = na > nb ? na : nb;

	for (int i = 0; i < most; i++) {
		int at_a = i - (most - na), at_b = i - (most - nb);
		size_t x = at_a < 0 ? 1 : a->at[at_a], y = at_b < 0 ? 1 : b->at[at_b];

		if (x != y && x != 1 && y != 1)
			return node_error(g, n, "the leading axes of %s and %s do not broadcast",
					  shape_string(a), shape_string(b));
		out->at[i] = x == 1 ? y : x;
	}
	out->n = most;
	return 0;
}

static int check_matrices(struct graph *g, struct node *n, const struct tensor *a,
			  const struct tensor *b)
{
	if (a->shape.n < 2 || b->shape.n < 2 ||
	    a->shape.at[a->shape.n - 1] != b->shape.at[b->shape.n - 2])
		return node_error(g, n, "%s by %s", shape_string(&a->shape),
				  shape_string(&b->shape));
	if (dtype_info(a->dtype)->block > 1)
		return node_error(g, n, "the left operand is %s: only the right one may be",
				  dtype_name(a->dtype));
	return 0;
}

int shape_matmul(struct graph *g, struct node *n)
{
	const struct matmul_attributes *at = n->attributes;
	const struct tensor *a = n->in[0], *b = n->in[1];
	const struct tensor *bias = n->n_in > 2 ? n->in[2] : NULL;
	const struct tensor *residual = n->n_in > 3 ? n->in[3] : NULL;
	enum dtype dtype = at->out_dtype ? (enum dtype)at->out_dtype : a->dtype;
	struct shape s;
	struct tensor *t;

	if (check_matrices(g, n, a, b) < 0 || batch_axes(g, n, &a->shape, &b->shape, &s) < 0)
		return -1;
	s.at[s.n++] = a->shape.at[a->shape.n - 2];
	s.at[s.n++] = b->shape.at[b->shape.n - 1];
	if (bias && (bias->shape.n != 1 || bias->shape.at[0] != s.at[s.n - 1]))
		return node_error(g, n, "a bias of shape %s for a result of %s",
				  shape_string(&bias->shape), shape_string(&s));
	if (residual && !shape_equal(&residual->shape, &s))
		return node_error(g, n, "a residual of shape %s for a result of %s",
				  shape_string(&residual->shape), shape_string(&s));
	t = node_output(g, n, dtype, &s);
	if (t && (s.n > 2 || b->shape.n > 2 || a->shape.n > 2) && a->rows && a->shape.n == s.n &&
	    a->shape.at[0] == s.at[0])
		t->rows = a->rows;
	return t ? 0 : -1;
}

int shape_matmul_acc(struct graph *g, struct node *n)
{
	const struct tensor *c = n->in[0], *a = n->in[1], *b = n->in[2];

	if (check_matrices(g, n, a, b) < 0)
		return -1;
	if (a->shape.n != 2 || b->shape.n != 2 || c->shape.n != 2 ||
	    c->shape.at[0] != a->shape.at[0] || c->shape.at[1] != b->shape.at[1])
		return node_error(g, n, "%s += %s by %s", shape_string(&c->shape),
				  shape_string(&a->shape), shape_string(&b->shape));
	return node_output_in_place(g, n, 0) ? 0 : -1;
}

static int check_offsets(struct graph *g, struct node *n, int i, const size_t *groups)
{
	const struct tensor *offsets = n->in[i];

	if (offsets->dtype != DTYPE_I32 || offsets->shape.n != 1 || offsets->shape.at[0] < 2 ||
	    (groups && offsets->shape.at[0] != *groups + 1))
		return node_error(g, n, "offsets of %s %s", dtype_name(offsets->dtype),
				  shape_string(&offsets->shape));
	return 0;
}

int shape_grouped_matmul(struct graph *g, struct node *n)
{
	const struct matmul_attributes *at = n->attributes;
	const struct tensor *x = n->in[0], *w = n->in[1];
	struct tensor *t;

	if (x->shape.n != 2 || w->shape.n != 3 || x->shape.at[1] != w->shape.at[1])
		return node_error(g, n, "%s by %s", shape_string(&x->shape),
				  shape_string(&w->shape));
	if (check_offsets(g, n, 2, &w->shape.at[0]) < 0)
		return -1;
	t = node_output(g, n, at->out_dtype ? (enum dtype)at->out_dtype : x->dtype,
			&SHAPE(x->shape.at[0], w->shape.at[2]));
	if (t)
		t->rows = x->rows;
	return t ? 0 : -1;
}

int shape_grouped_matmul_dw(struct graph *g, struct node *n)
{
	const struct tensor *x = n->in[0], *dy = n->in[1];

	if (x->shape.n != 2 || dy->shape.n != 2 || x->shape.at[0] != dy->shape.at[0])
		return node_error(g, n, "%s and %s", shape_string(&x->shape),
				  shape_string(&dy->shape));
	if (check_offsets(g, n, 2, NULL) < 0)
		return -1;
	return node_output(g, n, graph_sum_dtype(n->in[0]->dtype),
			   &SHAPE(n->in[2]->shape.at[0] - 1, x->shape.at[1], dy->shape.at[1]))
		       ? 0
		       : -1;
}

/* --- builders --- */

/*
 * Activation and residual are nodes of their own: the planner makes epilogues of them where no one else needs what lies
 * between, so no gradient rule has to know of them.
 */
struct tensor *op_activation(struct graph *g, struct tensor *x, enum activation activation)
{
	switch (activation) {
	case ACTIVATION_NONE: return x;
	case ACTIVATION_RELU: return op_relu(g, x);
	case ACTIVATION_RELU2: return op_relu2(g, x);
	case ACTIVATION_SILU: return op_silu(g, x);
	case ACTIVATION_GELU: return op_gelu(g, x);
	case ACTIVATION_GELU_TANH: return op_gelu_tanh(g, x);
	case ACTIVATION_SIGMOID: return op_sigmoid(g, x);
	case ACTIVATION_TANH: return op_tanh(g, x);
	}
	graph_error(g, "no activation %d", (int)activation);
	return NULL;
}

struct tensor *op_matmul_with(struct graph *g, const struct matmul_operands *o)
{
	struct matmul_attributes a = { .out_dtype = o->dtype, .round = o->round, .pack = o->pack };
	struct tensor *y = graph_append(g, OP_MATMUL, (struct tensor *[]){ o->a, o->b, o->bias },
					o->bias ? 3 : 2, &a);

	y = op_activation(g, y, o->activation);
	return o->residual ? op_add(g, y, o->residual) : y;
}

struct tensor *op_matmul(struct graph *g, struct tensor *a, struct tensor *b)
{
	return op_matmul_with(g, &(struct matmul_operands){ .a = a, .b = b });
}

struct tensor *op_matmul_acc(struct graph *g, struct tensor *c, struct tensor *a, struct tensor *b)
{
	return graph_append(g, OP_MATMUL_ACC, (struct tensor *[]){ c, a, b }, 3, NULL);
}

struct tensor *op_grouped_matmul(struct graph *g, struct tensor *x, struct tensor *w,
				 struct tensor *offsets)
{
	struct matmul_attributes a = { 0 };

	return graph_append(g, OP_GROUPED_MATMUL, (struct tensor *[]){ x, w, offsets }, 3, &a);
}

struct tensor *op_grouped_matmul_dw(struct graph *g, struct tensor *x, struct tensor *dy,
				    struct tensor *offsets)
{
	return graph_append(g, OP_GROUPED_MATMUL_DW, (struct tensor *[]){ x, dy, offsets }, 3,
			    NULL);
}
