/* lib/graph/ops_training.c - what a training step updates in place, and Muon's orthogonalisation */

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

/* Inputs FROM to TO have the shape of the first. */
static int same_shapes(struct graph *g, struct node *n, int from, int to)
{
	for (int i = from; i <= to; i++)
		if (!shape_equal(&n->in[i]->shape, &n->in[0]->shape))
			return node_error(g, n, "%s and %s", shape_string(&n->in[0]->shape),
					  shape_string(&n->in[i]->shape));
	return 0;
}

/* Input I is f32 [MANY]. */
static int check_scalars(struct graph *g, struct node *n, int i, size_t many)
{
	const struct tensor *h = n->in[i];

	if (h->dtype != DTYPE_F32 || h->shape.n != 1 || h->shape.at[0] < many)
		return node_error(g, n, "h is %s %s, not f32 [%zu]", dtype_name(h->dtype),
				  shape_string(&h->shape), many);
	return 0;
}

static int updated(struct graph *g, struct node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if ((op_info(n->op)->in_place >> i & 1) && !node_output_in_place(g, n, i))
			return -1;
	return 0;
}

int shape_accumulate(struct graph *g, struct node *n)
{
	return same_shapes(g, n, 1, 1) < 0 ? -1 : updated(g, n);
}

int shape_accumulate_scalar(struct graph *g, struct node *n)
{
	return check_scalars(g, n, 1, 1) < 0 ? -1 : updated(g, n);
}

int shape_ema(struct graph *g, struct node *n)
{
	if (same_shapes(g, n, 1, 1) < 0 || check_scalars(g, n, 2, 1) < 0)
		return -1;
	return updated(g, n);
}

/* parameter, momentum, gradient, h */
int shape_optimizer1(struct graph *g, struct node *n)
{
	if (same_shapes(g, n, 1, 2) < 0 || check_scalars(g, n, 3, 2) < 0)
		return -1;
	return updated(g, n);
}

/* parameter, two moments, gradient, h */
int shape_optimizer2(struct graph *g, struct node *n)
{
	if (same_shapes(g, n, 1, 3) < 0 || check_scalars(g, n, 4, 4) < 0)
		return -1;
	return updated(g, n);
}

/* parameter, two moments of 8 bits, their scales, gradient, h */
int shape_adamw8(struct graph *g, struct node *n)
{
	size_t blocks = (shape_elements(&n->in[0]->shape) + 255) / 256;

	if (same_shapes(g, n, 1, 2) < 0 || same_shapes(g, n, 5, 5) < 0 ||
	    check_scalars(g, n, 3, blocks) < 0 || check_scalars(g, n, 4, blocks) < 0 ||
	    check_scalars(g, n, 6, 4) < 0)
		return -1;
	if (n->in[1]->dtype != DTYPE_I8 || n->in[2]->dtype != DTYPE_U8)
		return node_error(g, n, "moments of %s and %s, not i8 and u8",
				  dtype_name(n->in[1]->dtype), dtype_name(n->in[2]->dtype));
	return updated(g, n);
}

/* --- builders --- */

struct tensor *op_accumulate(struct graph *g, struct tensor *sum, struct tensor *x)
{
	return graph_append(g, OP_ACCUMULATE, (struct tensor *[]){ sum, x }, 2, NULL);
}

struct tensor *op_scale_by(struct graph *g, struct tensor *x, struct tensor *h)
{
	return graph_append(g, OP_SCALE_BY, (struct tensor *[]){ x, h }, 2, NULL);
}

struct tensor *op_sum_squares(struct graph *g, struct tensor *x)
{
	return graph_append(g, OP_SUM_SQUARES, &x, 1, NULL);
}

struct tensor *op_count_nonfinite(struct graph *g, struct tensor *x)
{
	return graph_append(g, OP_COUNT_NONFINITE, &x, 1, NULL);
}

struct tensor *op_ema(struct graph *g, struct tensor *average, struct tensor *x, struct tensor *h)
{
	return graph_append(g, OP_EMA, (struct tensor *[]){ average, x, h }, 3, NULL);
}

/* The caller's attributes with a scope for the draws of stochastic rounding. */
static struct tensor *optimize(struct graph *g, enum op op, struct tensor *const *in, int n,
			       const struct optimizer_attributes *o)
{
	struct optimizer_attributes a = *o;

	a.scope = graph_draw_scope(g);
	return graph_append(g, op, in, n, &a);
}

struct tensor *op_sgd(struct graph *g, struct tensor *p, struct tensor *momentum, struct tensor *dp,
		      struct tensor *h, const struct optimizer_attributes *o)
{
	return optimize(g, OP_SGD, (struct tensor *[]){ p, momentum, dp, h }, 4, o);
}

struct tensor *op_lion(struct graph *g, struct tensor *p, struct tensor *momentum,
		       struct tensor *dp, struct tensor *h, const struct optimizer_attributes *o)
{
	return optimize(g, OP_LION, (struct tensor *[]){ p, momentum, dp, h }, 4, o);
}

struct tensor *op_adamw(struct graph *g, struct tensor *p, struct tensor *first,
			struct tensor *second, struct tensor *dp, struct tensor *h,
			const struct optimizer_attributes *o)
{
	return optimize(g, OP_ADAMW, (struct tensor *[]){ p, first, second, dp, h }, 5, o);
}

struct tensor *op_adamw8(struct graph *g, struct tensor *p, const struct adamw8_state *s,
			 struct tensor *dp, struct tensor *h, const struct optimizer_attributes *o)
{
	return optimize(g, OP_ADAMW8,
			(struct tensor *[]){ p, s->first, s->second, s->first_scale,
					     s->second_scale, dp, h },
			7, o);
}

/* X := a X + (b A + c A A) X with A = X Xᵀ, on the side that is short, after division by the norm. */
static struct tensor *newton_schulz(struct graph *g, struct tensor *x)
{
	const double a = 3.4445, b = -4.7750, c = 2.0315;
	struct tensor *square = op_matmul(g, x, op_transpose(g, x));
	struct tensor *fourth = op_matmul(g, square, square);
	struct tensor *both = op_add(g, op_scale(g, square, b, 0), op_scale(g, fourth, c, 0));

	return op_add(g, op_scale(g, x, a, 0), op_matmul(g, both, x));
}

struct tensor *op_orthogonalize(struct graph *g, struct tensor *x, int steps)
{
	bool tall;
	struct tensor *norm;

	if (!x || graph_failed(g))
		return NULL;
	if (x->shape.n != 2) {
		graph_error(g, "orthogonalize: %s is no matrix", shape_string(&x->shape));
		return NULL;
	}
	tall = x->shape.at[0] > x->shape.at[1];
	norm = op_scale(g, op_sqrt(g, op_sum_squares(g, x)), 1, 1e-7);
	x = op_div(g, x, norm);
	if (tall)
		x = op_transpose(g, x);
	for (int i = 0; i < steps; i++)
		x = newton_schulz(g, x);
	return tall ? op_transpose(g, x) : x;
}
