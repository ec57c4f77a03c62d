/* lib/graph/ops_norm.c - normalisations */

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

static struct tensor *operand(const struct node *n, int i)
{
	return i < n->n_in ? n->in[i] : NULL;
}

/* A weight or bias of one value for each of CHANNELS. */
static int check_channels(struct graph *g, struct node *n, int i, size_t channels)
{
	const struct tensor *w = operand(n, i);

	if (w && (w->shape.n != 1 || w->shape.at[0] != channels))
		return node_error(g, n, "a weight of shape %s for %s", shape_string(&w->shape),
				  shape_string(&n->in[0]->shape));
	return 0;
}

static int check_last(struct graph *g, struct node *n, int first, int last)
{
	const struct shape *s = &n->in[0]->shape;

	if (s->n == 0)
		return node_error(g, n, "a scalar has no last axis");
	for (int i = first; i <= last; i++)
		if (check_channels(g, n, i, s->at[s->n - 1]) < 0)
			return -1;
	return 0;
}

static int like_input(struct graph *g, struct node *n)
{
	return node_output(g, n, n->in[0]->dtype, &n->in[0]->shape) ? 0 : -1;
}

int shape_rms_norm(struct graph *g, struct node *n)
{
	return check_last(g, n, 1, 1) < 0 ? -1 : like_input(g, n);
}

int shape_layer_norm(struct graph *g, struct node *n)
{
	return check_last(g, n, 1, 2) < 0 ? -1 : like_input(g, n);
}

/* x, dy, ..., w ?: dx, then PARTS gradients of the channels. */
static int norm_grad(struct graph *g, struct node *n, int weight, int parts, size_t channels)
{
	if (!shape_equal(&n->in[0]->shape, &n->in[1]->shape))
		return node_error(g, n, "x %s and dy %s", shape_string(&n->in[0]->shape),
				  shape_string(&n->in[1]->shape));
	if (check_channels(g, n, weight, channels) < 0 || like_input(g, n) < 0)
		return -1;
	for (int i = 0; i < parts; i++)
		if (!node_output(g, n, graph_sum_dtype(n->in[0]->dtype), &SHAPE(channels)))
			return -1;
	return 0;
}

static size_t last_length(const struct node *n)
{
	const struct shape *s = &n->in[0]->shape;

	return s->n ? s->at[s->n - 1] : 1;
}

int shape_rms_norm_grad(struct graph *g, struct node *n)
{
	return norm_grad(g, n, 2, operand(n, 2) ? 1 : 0, last_length(n));
}

int shape_layer_norm_grad(struct graph *g, struct node *n)
{
	return norm_grad(g, n, 2, 2, last_length(n));
}

/* [N, C, ...] */
static int check_images(struct graph *g, struct node *n, int first, int last, size_t groups)
{
	const struct shape *s = &n->in[0]->shape;

	if (s->n < 2)
		return node_error(g, n, "%s has no axis of channels", shape_string(s));
	if (groups == 0 || s->at[1] % groups != 0)
		return node_error(g, n, "%zu channels in %zu groups", s->at[1], groups);
	for (int i = first; i <= last; i++)
		if (check_channels(g, n, i, s->at[1]) < 0)
			return -1;
	return 0;
}

int shape_group_norm(struct graph *g, struct node *n)
{
	const struct norm_attributes *a = n->attributes;

	return check_images(g, n, 1, 2, a->groups) < 0 ? -1 : like_input(g, n);
}

int shape_group_norm_grad(struct graph *g, struct node *n)
{
	const struct norm_attributes *a = n->attributes;

	if (check_images(g, n, 2, 2, a->groups) < 0)
		return -1;
	return norm_grad(g, n, 2, 2, n->in[0]->shape.at[1]);
}

int shape_batch_norm(struct graph *g, struct node *n)
{
	if (check_images(g, n, 1, 2, 1) < 0 || like_input(g, n) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (!node_output(g, n, graph_sum_dtype(n->in[0]->dtype),
				 &SHAPE(n->in[0]->shape.at[1])))
			return -1;
	return 0;
}

int shape_batch_norm_grad(struct graph *g, struct node *n)
{
	if (check_images(g, n, 2, 4, 1) < 0)
		return -1;
	return norm_grad(g, n, 4, 2, n->in[0]->shape.at[1]);
}

/* --- builders --- */

static struct tensor *norm(struct graph *g, enum op op, struct tensor *x, struct tensor *w,
			   struct tensor *b, struct norm_attributes a)
{
	int most = op_info(op)->most, n = b ? 3 : w ? 2 : 1;

	return graph_append(g, op, (struct tensor *[]){ x, w, b }, n < most ? n : most, &a);
}

struct tensor *op_rms_norm(struct graph *g, struct tensor *x, struct tensor *w, double eps)
{
	return op_rms_norm_offset(g, x, w, eps, 0);
}

struct tensor *op_rms_norm_offset(struct graph *g, struct tensor *x, struct tensor *w, double eps,
				  double offset)
{
	return norm(g, OP_RMS_NORM, x, w, NULL,
		    (struct norm_attributes){ .eps = eps, .offset = offset });
}

struct tensor *op_layer_norm(struct graph *g, struct tensor *x, struct tensor *w, struct tensor *b,
			     double eps)
{
	return norm(g, OP_LAYER_NORM, x, w, b, (struct norm_attributes){ .eps = eps });
}

struct tensor *op_group_norm(struct graph *g, struct tensor *x, struct tensor *w, struct tensor *b,
			     size_t groups, double eps)
{
	return norm(g, OP_GROUP_NORM, x, w, b,
		    (struct norm_attributes){ .eps = eps, .groups = groups });
}

struct tensor *op_batch_norm(struct graph *g, struct tensor *x, struct tensor *w, struct tensor *b,
			     double eps, struct tensor **mean, struct tensor **variance)
{
	struct tensor *y = norm(g, OP_BATCH_NORM, x, w, b, (struct norm_attributes){ .eps = eps });

	if (mean)
		*mean = y ? y->node->out[1] : NULL;
	if (variance)
		*variance = y ? y->node->out[2] : NULL;
	return y;
}
