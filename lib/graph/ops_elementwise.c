/*
 * lib/graph/ops_elementwise.c - ops that make each element of equally placed ones
 *
 * The result has the dtype of the first operand, but where said; the others are converted as they are read.
 */
#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

/* --- shapes --- */

/* The shape of both, broadcast. -1 when they do not go together. */
static int broadcast(struct shape *out, const struct shape *b)
{
	struct shape a = *out;

	out->n = a.n > b->n ? a.n : b->n;
	for (int i = 0; i < out->n; i++) {
		int at_a = i - (out->n - a.n), at_b = i - (out->n - b->n);
		size_t x = at_a < 0 ? 1 : a.at[at_a], y = at_b < 0 ? 1 : b->at[at_b];

		if (x != y && x != 1 && y != 1)
			return -1;
		out->at[i] = x == 1 ? y : x;
	}
	return 0;
}

static int broadcast_inputs(struct graph *g, struct node *n, struct shape *out)
{
	*out = n->in[0]->shape;
	for (int i = 1; i < n->n_in; i++)
		if (broadcast(out, &n->in[i]->shape) < 0)
			return node_error(g, n, "%s and %s do not broadcast", shape_string(out),
					  shape_string(&n->in[i]->shape));
	return 0;
}

static int made(const struct tensor *t)
{
	return t ? 0 : -1;
}

int shape_same(struct graph *g, struct node *n)
{
	return made(node_output(g, n, n->in[0]->dtype, &n->in[0]->shape));
}

int shape_broadcast(struct graph *g, struct node *n)
{
	struct shape s;

	if (broadcast_inputs(g, n, &s) < 0)
		return -1;
	return made(node_output(g, n, n->in[0]->dtype, &s));
}

int shape_compare(struct graph *g, struct node *n)
{
	struct shape s;

	if (broadcast_inputs(g, n, &s) < 0)
		return -1;
	return made(node_output(g, n, DTYPE_BOOL, &s));
}

int shape_where(struct graph *g, struct node *n)
{
	struct shape s;

	if (n->in[0]->dtype != DTYPE_BOOL)
		return node_error(g, n, "the condition is %s, not bool",
				  dtype_name(n->in[0]->dtype));
	if (broadcast_inputs(g, n, &s) < 0)
		return -1;
	return made(node_output(g, n, n->in[1]->dtype, &s));
}

int shape_cast(struct graph *g, struct node *n)
{
	const struct kind_attributes *a = n->attributes;

	return made(node_output(g, n, (enum dtype)a->kind, &n->in[0]->shape));
}

int shape_fill(struct graph *g, struct node *n)
{
	const struct fill_attributes *a = n->attributes;

	return made(node_output(g, n, (enum dtype)a->dtype, &a->shape));
}

/* gate, up, dy: dgate, dup */
int shape_gated_grad(struct graph *g, struct node *n)
{
	for (int i = 1; i < 3; i++)
		if (!shape_equal(&n->in[0]->shape, &n->in[i]->shape))
			return node_error(g, n, "%s and %s differ", shape_string(&n->in[0]->shape),
					  shape_string(&n->in[i]->shape));
	for (int i = 0; i < 2; i++)
		if (!node_output(g, n, n->in[0]->dtype, &n->in[0]->shape))
			return -1;
	return 0;
}

/* --- builders --- */

static struct tensor *append1(struct graph *g, enum op op, struct tensor *x, const void *attributes)
{
	return graph_append(g, op, (struct tensor *[]){ x }, 1, attributes);
}

static struct tensor *append2(struct graph *g, enum op op, struct tensor *a, struct tensor *b,
			      const void *attributes)
{
	return graph_append(g, op, (struct tensor *[]){ a, b }, 2, attributes);
}

#define UNARY(name, id)                                      \
 struct tensor *op_##name(struct graph *g, struct tensor *x) \
 {                                                           \
  return append1(g, OP_##id, x, NULL);                       \
 }
UNARY(neg, NEG)
UNARY(exp, EXP)
UNARY(log, LOG)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(square, SQUARE)
UNARY(abs, ABS)
UNARY(sign, SIGN)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(atan, ATAN)
UNARY(round, ROUND)
UNARY(sigmoid, SIGMOID)
UNARY(tanh, TANH)
UNARY(relu, RELU)
UNARY(relu2, RELU2)
UNARY(silu, SILU)
UNARY(gelu, GELU)
UNARY(gelu_tanh, GELU_TANH)
UNARY(softplus, SOFTPLUS)
UNARY(copy, COPY)

#define BINARY(name, id)                                                       \
 struct tensor *op_##name(struct graph *g, struct tensor *a, struct tensor *b) \
 {                                                                             \
  return append2(g, OP_##id, a, b, NULL);                                      \
 }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
BINARY(min, MIN)
BINARY(max, MAX)
BINARY(pow, POW)

struct tensor *op_compare(struct graph *g, enum compare_kind kind, struct tensor *a,
			  struct tensor *b)
{
	return append2(g, OP_COMPARE, a, b, &(struct kind_attributes){ kind });
}

struct tensor *op_where(struct graph *g, struct tensor *c, struct tensor *a, struct tensor *b)
{
	return graph_append(g, OP_WHERE, (struct tensor *[]){ c, a, b }, 3, NULL);
}

struct tensor *op_unary_grad(struct graph *g, enum unary_kind kind, struct tensor *x,
			     struct tensor *dy)
{
	return append2(g, OP_UNARY_GRAD, x, dy, &(struct kind_attributes){ kind });
}

struct tensor *op_scale(struct graph *g, struct tensor *x, double a, double b)
{
	return append1(g, OP_SCALE, x, &(struct scalars_attributes){ a, b });
}

struct tensor *op_clamp(struct graph *g, struct tensor *x, double low, double high)
{
	return append1(g, OP_CLAMP, x, &(struct scalars_attributes){ low, high });
}

struct tensor *op_cast(struct graph *g, struct tensor *x, enum dtype dtype)
{
	if (!x || x->dtype == dtype)
		return x;
	return append1(g, OP_CAST, x, &(struct kind_attributes){ dtype });
}

struct tensor *op_dropout(struct graph *g, struct tensor *x, double p)
{
	if (!x || !graph_options(g)->train || p == 0)
		return x;
	if (!(p > 0 && p < 1)) {
		graph_error(g, "dropout: a chance of %g, not from 0 to below 1", p);
		return NULL;
	}
	return append1(g, OP_DROPOUT, x, &(struct dropout_attributes){ graph_draw_scope(g), p });
}

struct tensor *op_fill(struct graph *g, enum dtype dtype, struct shape shape, double value)
{
	struct fill_attributes a = { .a = value, .shape = shape, .dtype = dtype };

	return graph_append(g, OP_FILL, NULL, 0, &a);
}

struct tensor *op_arange(struct graph *g, enum dtype dtype, size_t n, double from, double step)
{
	struct fill_attributes a = { .a = from, .b = step, .shape = SHAPE(n), .dtype = dtype };

	return graph_append(g, OP_ARANGE, NULL, 0, &a);
}

/* As add, but for the gate the sigmoid: both operands have one shape. */
struct tensor *op_swiglu(struct graph *g, struct tensor *gate, struct tensor *up)
{
	return append2(g, OP_SWIGLU, gate, up, NULL);
}

struct tensor *op_geglu(struct graph *g, struct tensor *gate, struct tensor *up, bool tanh)
{
	return append2(g, OP_GEGLU, gate, up, &(struct gated_attributes){ .tanh = tanh });
}
