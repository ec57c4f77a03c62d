/* lib/graph/grad_others.c - gradients of reductions, of ops by index, and of those that move elements */

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

static bool wants(const struct node *n, int i)
{
	return i < n->n_in && n->in[i] && n->in[i]->wanted;
}

/* --- over axes --- */

/* D, which is a reduction's, in a shape that broadcasts to the input's. */
static struct tensor *keep_axes(struct graph *g, const struct node *n, struct tensor *d)
{
	const struct axes_attributes *a = n->attributes;
	struct shape s = n->in[0]->shape;

	for (int i = 0; i < s.n; i++)
		if (a->axes >> i & 1)
			s.at[i] = 1;
	return op_reshape(g, d, s);
}

void grad_sum(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = op_expand(g, op_cast(g, keep_axes(g, n, dy[0]), n->in[0]->dtype), n->in[0]->shape);
}

void grad_mean(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	double many = (double)shape_elements(&n->in[0]->shape);
	double made = (double)shape_elements(&n->out[0]->shape);
	struct tensor *d = keep_axes(g, n, op_scale(g, dy[0], many > 0 ? made / many : 0, 0));

	dx[0] = op_expand(g, op_cast(g, d, n->in[0]->dtype), n->in[0]->shape);
}

/* Shared by all that are equal to the largest. */
void grad_amax(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct axes_attributes *a = n->attributes;
	struct tensor *x = n->in[0], *y = keep_axes(g, n, n->out[0]);
	struct tensor *one = op_cast(g, op_compare(g, COMPARE_EQ, x, y), x->dtype);
	struct tensor *many = op_sum_as(g, one, a->axes, true, DTYPE_UNKNOWN);

	dx[0] = op_mul(g, one, op_div(g, keep_axes(g, n, dy[0]), many));
}

/* exp(x - y) */
void grad_logsumexp(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *share = op_exp(g, op_sub(g, n->in[0], keep_axes(g, n, n->out[0])));

	dx[0] = op_mul(g, share, keep_axes(g, n, dy[0]));
}

void grad_cumsum(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct axis_attributes *a = n->attributes;

	dx[0] = op_cumsum(g, dy[0], (int)a->axis, !a->reverse, a->exclusive);
}

void grad_softmax(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	dx[0] = graph_append(g, OP_SOFTMAX_GRAD, (struct tensor *[]){ n->out[0], dy[0] }, 2, NULL);
}

/* dy - exp(y) sum(dy) */
void grad_log_softmax(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	uint32_t last = 1u << (n->in[0]->shape.n - 1);
	struct tensor *sum = op_sum(g, dy[0], last, true);

	dx[0] = op_sub(g, dy[0], op_mul(g, op_exp(g, n->out[0]), sum));
}

void grad_top_k(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct shape *s = &n->in[0]->shape;

	if (dy[0])
		dx[0] = op_put_along(g, dy[0], n->out[1], s->at[s->n - 1]);
}

/* --- by index --- */

/* The table's gradient has f32 sums when it is a parameter. */
void grad_gather_rows(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *table = n->in[0], *ids = n->in[1];
	size_t rows = shape_elements(&ids->shape);
	struct shape s = table->shape;

	if (!wants(n, 0))
		return;
	s.at[0] = rows;
	dx[0] = op_scatter_add_rows_as(
		g, op_reshape(g, dy[0], s), op_reshape(g, ids, SHAPE(rows)), table->shape.at[0],
		table->base->node->op == OP_PARAMETER ? DTYPE_F32 : table->dtype);
}

void grad_scatter_add_rows(struct graph *g, struct node *n, struct tensor *const *dy,
			   struct tensor **dx)
{
	dx[0] = op_cast(g, op_gather_rows(g, dy[0], n->in[1]), n->in[0]->dtype);
}

void grad_take_along(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct shape *s = &n->in[0]->shape;

	if (wants(n, 0))
		dx[0] = op_put_along(g, dy[0], n->in[1], s->at[s->n - 1]);
}

void grad_put_along(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	if (wants(n, 0))
		dx[0] = op_take_along(g, dy[0], n->in[1]);
}

/* --- layout --- */

void grad_concat(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct axis_attributes *a = n->attributes;
	size_t at = 0;

	for (int i = 0; i < n->n_in; i++) {
		size_t length = n->in[i]->shape.at[a->axis];

		if (wants(n, i))
			dx[i] = op_slice(g, dy[0], (int)a->axis, at, length);
		at += length;
	}
}

void grad_pad(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	const struct pad_attributes *a = n->attributes;
	struct tensor *d = dy[0];

	for (int i = 0; d && i < n->in[0]->shape.n; i++)
		d = op_slice(g, d, i, a->before[i], n->in[0]->shape.at[i]);
	dx[0] = d;
}

/* --- products --- */

static bool is_parameter(const struct tensor *t)
{
	return t->base->node->op == OP_PARAMETER;
}

/* All leading axes as rows: [..., M, K] -> [rows, K]. */
static struct tensor *as_rows(struct graph *g, struct tensor *x)
{
	size_t width;

	if (!x || x->shape.n == 2)
		return x;
	width = x->shape.at[x->shape.n - 1];
	return op_reshape(g, x, SHAPE(width ? shape_elements(&x->shape) / width : 0, width));
}

/* aᵀ dy, or for a transposed b the transpose of dyᵀ a: then the gradient of what b is a view of lies side by side. */
static struct tensor *right_gradient(struct graph *g, struct tensor *a, struct tensor *b,
				     struct tensor *d, enum dtype dtype)
{
	struct matmul_operands o = { .dtype = dtype };
	bool flat = b->shape.n == 2, transposed = b->node->op == OP_PERMUTE;

	a = flat ? as_rows(g, a) : a;
	d = flat ? as_rows(g, d) : d;
	o.a = op_transpose(g, transposed ? d : a);
	o.b = transposed ? a : d;
	d = op_matmul_with(g, &o);
	return transposed ? op_transpose(g, d) : d;
}

/* y = a b: da = dy bᵀ, db = aᵀ dy (f32 for a parameter), dbias = the sum of the rows of dy. */
void grad_matmul(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *a = n->in[0], *b = n->in[1], *d = dy[0];
	struct matmul_operands left = { .a = d, .dtype = a->dtype };
	const struct matmul_attributes *m = n->attributes;

	if (m->activation || n->n_in > 3) {
		node_error(g, n, "an epilogue is the planner's, who comes after the gradient");
		return;
	}
	if (m->round) {
		node_error(g, n, "a product that rounds its left operand has no gradient");
		return;
	}
	if (wants(n, 0)) {
		left.b = op_transpose(g, b);
		dx[0] = op_sum_to(g, op_matmul_with(g, &left), &a->shape);
	}
	if (wants(n, 1)) {
		enum dtype dtype = is_parameter(b) ? graph_sum_dtype(b->dtype) : b->dtype;

		dx[1] = op_sum_to_as(g, right_gradient(g, a, b, d, dtype), &b->shape, dtype);
	}
	if (wants(n, 2))
		dx[2] = op_sum_to_as(g, d, &n->in[2]->shape, graph_sum_dtype(d->dtype));
}

void grad_grouped_matmul(struct graph *g, struct node *n, struct tensor *const *dy,
			 struct tensor **dx)
{
	struct tensor *w = n->in[1], *offsets = n->in[2];

	if (wants(n, 0))
		dx[0] = op_grouped_matmul(g, dy[0], op_transpose(g, w), offsets);
	if (wants(n, 1)) {
		dx[1] = op_grouped_matmul_dw(g, n->in[0], dy[0], offsets);
		if (!is_parameter(w))
			dx[1] = op_cast(g, dx[1], w->dtype);
	}
}

/* --- fused: one op gives all --- */

/* Appends OP on IN and hands its outputs to the inputs whose places are in TO. */
static struct node *fused(struct graph *g, enum op op, struct tensor *const *in, int n_in,
			  const struct node *n)
{
	struct tensor *d = graph_append(g, op, in, n_in, n->attributes);

	return d ? d->node : NULL;
}

static struct tensor *operand(const struct node *n, int i)
{
	return i < n->n_in ? n->in[i] : NULL;
}

static void norm(struct graph *g, enum op op, struct node *n, struct tensor *dy, struct tensor **dx)
{
	struct tensor *w = operand(n, 1);
	struct node *d = fused(g, op, (struct tensor *[]){ n->in[0], dy, w }, w ? 3 : 2, n);

	for (int i = 0; d && i < n->n_in && i < d->n_out; i++)
		if (wants(n, i))
			dx[i] = d->out[i];
}

void grad_rms_norm(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	norm(g, OP_RMS_NORM_GRAD, n, dy[0], dx);
}

void grad_layer_norm(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	norm(g, OP_LAYER_NORM_GRAD, n, dy[0], dx);
}

void grad_group_norm(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	norm(g, OP_GROUP_NORM_GRAD, n, dy[0], dx);
}

/* Mean and variance are for the running statistics: no gradient goes through them. */
void grad_batch_norm(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *w = operand(n, 1);
	struct node *d;

	if (dy[1] || dy[2] || !dy[0]) {
		node_error(g, n, "no gradient through the batch's mean and variance");
		return;
	}
	d = fused(g, OP_BATCH_NORM_GRAD,
		  (struct tensor *[]){ n->in[0], dy[0], n->out[1], n->out[2], w }, w ? 5 : 4, n);
	for (int i = 0; d && i < n->n_in; i++)
		if (wants(n, i))
			dx[i] = d->out[i];
}

void grad_rope(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct rope_attributes a = *(const struct rope_attributes *)n->attributes;
	struct tensor *in[4] = { dy[0], n->in[1], n->in[2], operand(n, 3) };

	a.inverse = !a.inverse;
	if (wants(n, 0))
		dx[0] = graph_append(g, OP_ROPE, in, n->n_in, &a);
}

void grad_attention(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *in[KERNEL_TENSORS] = { dy[0], n->out[0], n->out[1] };
	struct node *d;

	if (dy[1] || !dy[0] || 3 + n->n_in > KERNEL_TENSORS) {
		node_error(g, n, "no gradient through the log-sum-exp, nor through pages");
		return;
	}
	for (int i = 0; i < n->n_in; i++)
		in[3 + i] = n->in[i];
	d = fused(g, OP_ATTENTION_GRAD, in, 3 + n->n_in, n);
	for (int i = 0; d && i < d->n_out; i++)
		if (wants(n, i))
			dx[i] = d->out[i];
}

/* dx, dw, dbias of a head, whose bias is operand BIAS; w's stays f32 when it is a parameter. */
static void head(struct graph *g, enum op op, struct node *n, struct tensor *const *in, int n_in,
		 int bias, struct tensor **dx)
{
	struct node *d = fused(g, op, in, n_in, n);

	if (!d)
		return;
	dx[0] = d->out[0];
	dx[1] = is_parameter(n->in[1]) ? d->out[1] : op_cast(g, d->out[1], n->in[1]->dtype);
	if (wants(n, bias))
		dx[bias] = d->out[2];
}

void grad_linear_ce(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *bias = operand(n, 3);

	if (!dy[0] || dy[1] || (n->n_out > 2 && dy[2])) {
		node_error(g, n, "a gradient goes through the loss only");
		return;
	}
	head(g, OP_LINEAR_CE_GRAD, n,
	     (struct tensor *[]){ n->in[0], n->in[1], n->in[2], n->out[1], dy[0], bias },
	     bias ? 6 : 5, 3, dx);
}

/* Whether T is 1 everywhere: of the loss itself. */
static bool is_one(const struct tensor *t)
{
	const struct fill_attributes *a = t->node->attributes;

	return t->node->op == OP_FILL && a->a == 1;
}

/* What came with the sum, times the sum's own gradient. */
void grad_linear_ce_sum(struct graph *g, struct node *n, struct tensor *const *dy,
			struct tensor **dx)
{
	if (!dy[0] || dy[1] || dy[2] || wants(n, 3)) {
		node_error(g, n, "a gradient goes through the sum only, and not to the weights");
		return;
	}
	for (int i = 0; i < n->n_in; i++) {
		struct tensor *d;

		if (i == 2 || i == 3 || !wants(n, i))
			continue;
		d = n->out[i == 4 ? 5 : 3 + i];
		if (!is_one(dy[0]))
			d = op_mul(g, d, op_cast(g, dy[0], d->dtype));
		dx[i] = i == 0 || is_parameter(n->in[i]) ? d : op_cast(g, d, n->in[i]->dtype);
	}
}

void grad_linear_kl(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct tensor *bias = operand(n, 4);

	if (!dy[0] || dy[1]) {
		node_error(g, n, "a gradient goes through the loss only");
		return;
	}
	head(g, OP_LINEAR_KL_GRAD, n,
	     (struct tensor *[]){ n->in[0], n->in[1], n->in[2], n->in[3], n->out[1], dy[0], bias },
	     bias ? 7 : 6, 4, dx);
}

/* --- images --- */

static void set_size(uint32_t size[2], const struct shape *s)
{
	size[0] = (uint32_t)s->at[2];
	size[1] = (uint32_t)s->at[3];
}

#define CHANNELS_ONLY 13u /* axes 0, 2, 3 */

static void conv_weights(struct graph *g, struct node *n, struct tensor *x, struct tensor *dy,
			 struct tensor *bias_from, struct tensor **dx)
{
	struct conv_attributes a = *(const struct conv_attributes *)n->attributes;

	if (wants(n, 1)) {
		set_size(a.size, &n->in[1]->shape);
		dx[1] = graph_append(g, OP_CONV2D_DW, (struct tensor *[]){ x, dy }, 2, &a);
		if (!is_parameter(n->in[1]))
			dx[1] = op_cast(g, dx[1], n->in[1]->dtype);
	}
	if (wants(n, 2))
		dx[2] = op_sum_as(g, bias_from, CHANNELS_ONLY, false,
				  graph_sum_dtype(bias_from->dtype));
}

void grad_conv2d(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct conv_attributes a = *(const struct conv_attributes *)n->attributes;

	if (a.activation) {
		node_error(g, n, "an epilogue is the planner's, who comes after the gradient");
		return;
	}
	set_size(a.size, &n->in[0]->shape);
	if (wants(n, 0))
		dx[0] = graph_append(g, OP_CONV2D_DX, (struct tensor *[]){ dy[0], n->in[1] }, 2,
				     &a);
	conv_weights(g, n, n->in[0], dy[0], dy[0], dx);
}

/* It is linear in its image, whose part dy plays in the gradient of the kernel. */
void grad_conv2d_dx(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct conv_attributes a = *(const struct conv_attributes *)n->attributes;

	a.size[0] = a.size[1] = 0;
	if (wants(n, 0))
		dx[0] = graph_append(g, OP_CONV2D, (struct tensor *[]){ dy[0], n->in[1] }, 2, &a);
	conv_weights(g, n, dy[0], n->in[0], dy[0], dx);
}

void grad_max_pool(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct pool_attributes a = *(const struct pool_attributes *)n->attributes;

	set_size(a.size, &n->in[0]->shape);
	if (dy[0])
		dx[0] = graph_append(g, OP_MAX_POOL_GRAD, (struct tensor *[]){ dy[0], n->out[1] },
				     2, &a);
}

void grad_avg_pool(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct pool_attributes a = *(const struct pool_attributes *)n->attributes;

	set_size(a.size, &n->in[0]->shape);
	dx[0] = graph_append(g, OP_AVG_POOL_GRAD, dy, 1, &a);
}

void grad_resize(struct graph *g, struct node *n, struct tensor *const *dy, struct tensor **dx)
{
	struct resize_attributes a = *(const struct resize_attributes *)n->attributes;

	set_size(a.size, &n->in[0]->shape);
	dx[0] = graph_append(g, OP_RESIZE_GRAD, dy, 1, &a);
}
