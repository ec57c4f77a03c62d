/*
 * lib/graph/grad_elementwise.c - gradients of elementwise ops and of views
 *
 * What broadcasting repeated is summed (op_sum_to). Derivatives of one variable that are no products of what is there are the
 * op unary_grad.
 */
#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

static bool wants(const struct node *n, int i)
{
	return n->in[i] && n->in[i]->wanted;
}

/* X's gradient from D, which may be broadcast or of another dtype. */
static struct tensor *give(struct graph *g, const struct node *n, int i, struct tensor *d)
{
	return op_sum_to_as(g, d, &n->in[i]->shape, n->in[i]->dtype);
}

void grad_add(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	for (int i = 0; i < 2; i++)
		if (wants(n, i))
			dx[i] = give(g, n, i, dy[0]);
}

void grad_sub(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	if (wants(n, 0))
		dx[0] = give(g, n, 0, dy[0]);
	if (wants(n, 1))
		dx[1] = op_neg(g, give(g, n, 1, dy[0]));
}

void grad_mul(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	for (int i = 0; i < 2; i++)
		if (wants(n, i))
			dx[i] = give(g, n, i, op_mul(g, dy[0], n->in[1 - i]));
}

/* d(a / b) = da / b - (a / b) db / b */
void grad_div(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *over = op_div(g, dy[0], n->in[1]);

	if (wants(n, 0))
		dx[0] = give(g, n, 0, over);
	if (wants(n, 1))
		dx[1] = op_neg(g, give(g, n, 1, op_mul(g, over, n->out[0])));
}

/* All to the one that was taken, half to each of equal ones. */
static void grad_choice(struct graph *g, struct node *n, struct tensor *dy, struct tensor **dx)
{
	struct tensor *half = op_scale(g, dy, 0.5, 0), *zero = op_scale(g, dy, 0, 0);
	struct tensor *equal = op_compare(g, COMPARE_EQ, n->in[0], n->in[1]);

	for (int i = 0; i < 2; i++) {
		struct tensor *mine = op_compare(g, COMPARE_EQ, n->in[i], n->out[0]);

		if (wants(n, i))
			dx[i] = give(g, n, i,
				     op_where(g, equal, half, op_where(g, mine, dy, zero)));
	}
}

void grad_min(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	grad_choice(g, n, dy[0], dx);
}

void grad_max(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	grad_choice(g, n, dy[0], dx);
}

/* d(a^b) = b a^(b - 1) da + a^b ln a db */
void grad_pow(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *a = n->in[0], *b = n->in[1];

	if (wants(n, 0)) {
		struct tensor *slope = op_mul(g, op_pow(g, a, op_scale(g, b, 1, -1)), b);

		dx[0] = give(g, n, 0, op_mul(g, dy[0], slope));
	}
	if (wants(n, 1))
		dx[1] = give(g, n, 1, op_mul(g, dy[0], op_mul(g, n->out[0], op_log(g, a))));
}

void grad_where(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *zero = op_scale(g, dy[0], 0, 0);

	if (wants(n, 1))
		dx[1] = give(g, n, 1, op_where(g, n->in[0], dy[0], zero));
	if (wants(n, 2))
		dx[2] = give(g, n, 2, op_where(g, n->in[0], zero, dy[0]));
}

/* --- of one variable: dx = dy f'(x) --- */

void grad_neg(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_neg(g, dy[0]);
}

void grad_exp(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_mul(g, dy[0], n->out[0]);
}

void grad_log(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_div(g, dy[0], n->in[0]);
}

void grad_sqrt(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_scale(g, op_div(g, dy[0], n->out[0]), 0.5, 0);
}

/* -1/2 x^(-3/2) = -1/2 y / x */
void grad_rsqrt(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_scale(g, op_mul(g, dy[0], op_div(g, n->out[0], n->in[0])), -0.5, 0);
}

void grad_square(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_scale(g, op_mul(g, dy[0], n->in[0]), 2, 0);
}

void grad_abs(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_mul(g, dy[0], op_sign(g, n->in[0]));
}

void grad_sin(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_mul(g, dy[0], op_cos(g, n->in[0]));
}

void grad_cos(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_neg(g, op_mul(g, dy[0], op_sin(g, n->in[0])));
}

void grad_atan(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_div(g, dy[0], op_scale(g, op_square(g, n->in[0]), 1, 1));
}

#define BY_UNARY_GRAD(name, kind)                                                                \
 void grad_##name(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx) \
 {                                                                                               \
  dx[0] = op_unary_grad(g, UNARY_##kind, n->in[0], dy[0]);                                       \
 }
BY_UNARY_GRAD(sigmoid, SIGMOID)
BY_UNARY_GRAD(tanh, TANH)
BY_UNARY_GRAD(relu, RELU)
BY_UNARY_GRAD(relu2, RELU2)
BY_UNARY_GRAD(silu, SILU)
BY_UNARY_GRAD(gelu, GELU)
BY_UNARY_GRAD(gelu_tanh, GELU_TANH)
BY_UNARY_GRAD(softplus, SOFTPLUS)

void grad_scale(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct scalars_attributes *a = n->attributes;

	dx[0] = a->a == 1 ? dy[0] : op_scale(g, dy[0], a->a, 0);
}

void grad_clamp(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *inside = op_compare(g, COMPARE_EQ, n->in[0], n->out[0]);

	dx[0] = op_where(g, inside, dy[0], op_scale(g, dy[0], 0, 0));
}

void grad_cast(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_cast(g, dy[0], n->in[0]->dtype);
}

void grad_copy(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = dy[0];
}

/* The same draws. */
void grad_dropout(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = graph_append(g, OP_DROPOUT, dy, 1, n->attributes);
}

/* --- gates --- */

static void gated(struct graph *g, enum op op, struct node *n, struct tensor *dy,
		  struct tensor **dx)
{
	struct tensor *d = graph_append(g, op, (struct tensor *[]){ n->in[0], n->in[1], dy }, 3,
					n->attributes);

	if (!d)
		return;
	dx[0] = d;
	dx[1] = d->node->out[1];
}

void grad_swiglu(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	gated(g, OP_SWIGLU_GRAD, n, dy[0], dx);
}

void grad_geglu(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	gated(g, OP_GEGLU_GRAD, n, dy[0], dx);
}

/* --- views --- */

void grad_reshape(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_reshape(g, dy[0], n->in[0]->shape);
}

void grad_permute(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct permute_attributes *a = n->attributes;
	int back[GRAPH_AXES];

	for (int i = 0; i < n->in[0]->shape.n; i++)
		back[a->axes[i]] = i;
	dx[0] = op_permute(g, dy[0], back);
}

void grad_expand(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_sum_to(g, dy[0], &n->in[0]->shape);
}

/* Zeros between the elements of AXIS, STEP - 1 of them. */
static struct tensor *spread(struct graph *g, struct tensor *d, int axis, size_t step)
{
	size_t none[GRAPH_AXES] = { 0 }, after[GRAPH_AXES] = { 0 };
	struct shape whole;
	size_t length;

	if (!d || step == 1)
		return d;
	whole = d->shape;
	length = whole.at[axis];
	whole.at[axis] *= step;
	after[axis + 1] = step - 1;
	d = op_pad(g, op_unsqueeze(g, d, axis + 1), none, after, 0);
	return op_slice(g, op_reshape(g, d, whole), axis, 0, (length - 1) * step + 1);
}

void grad_slice(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct slice_attributes *a = n->attributes;
	size_t before[GRAPH_AXES], after[GRAPH_AXES];
	struct tensor *d = dy[0];

	for (int i = 0; d && i < n->in[0]->shape.n; i++)
		if (d->shape.at[i])
			d = spread(g, d, i, a->step[i]);
	for (int i = 0; d && i < n->in[0]->shape.n; i++) {
		before[i] = d->shape.at[i] ? a->from[i] : 0;
		after[i] = n->in[0]->shape.at[i] - before[i] - d->shape.at[i];
	}
	dx[0] = op_pad(g, d, before, after, 0);
}
