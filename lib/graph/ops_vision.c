/* lib/graph/ops_vision.c - convolutions, pools, resizing: [N, C, H, W] */

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

static struct tensor *operand(const struct node *n, int i)
{
	return i < n->n_in ? n->in[i] : NULL;
}

static int check_image(struct graph *g, struct node *n, int i)
{
	if (n->in[i]->shape.n != 4)
		return node_error(g, n, "%s is not [N, C, H, W]", shape_string(&n->in[i]->shape));
	return 0;
}

/* How many windows of SIZE, STRIDE apart, DILATION between taps, fit in LENGTH with PAD in all; 0: none. */
static size_t windows(size_t length, size_t pad, size_t size, size_t stride, size_t dilation)
{
	size_t span = dilation * (size - 1) + 1;

	return length + pad < span ? 0 : (length + pad - span) / stride + 1;
}

/* --- convolutions --- */

static int check_conv(struct graph *g, struct node *n, const struct conv_attributes *a,
		      const struct shape *image, const struct shape *w)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && dtype_info(n->in[i]->dtype)->block > 1)
			return node_error(g, n, "an operand of %s: blocks are not convolved",
					  dtype_name(n->in[i]->dtype));
	if (a->groups == 0 || a->stride[0] == 0 || a->stride[1] == 0 || a->dilation[0] == 0 ||
	    a->dilation[1] == 0)
		return node_error(g, n, "groups, stride and dilation are 1 or more");
	if (w->n != 4 || image->at[1] % a->groups || w->at[0] % a->groups ||
	    w->at[1] != image->at[1] / a->groups || w->at[2] == 0 || w->at[3] == 0)
		return node_error(g, n, "%s by a kernel of %s in %u groups", shape_string(image),
				  shape_string(w), a->groups);
	return 0;
}

static int check_bias(struct graph *g, struct node *n, size_t channels)
{
	const struct tensor *b = operand(n, 2);

	if (b && (b->shape.n != 1 || b->shape.at[0] != channels))
		return node_error(g, n, "a bias of %s for %zu channels", shape_string(&b->shape),
				  channels);
	return 0;
}

static struct shape conv_result(const struct conv_attributes *a, const struct shape *x,
				const struct shape *w)
{
	return SHAPE(x->at[0], w->at[0],
		     windows(x->at[2], (size_t)a->pad[0] + a->pad[2], w->at[2], a->stride[0],
			     a->dilation[0]),
		     windows(x->at[3], (size_t)a->pad[1] + a->pad[3], w->at[3], a->stride[1],
			     a->dilation[1]));
}

int shape_conv2d(struct graph *g, struct node *n)
{
	const struct conv_attributes *a = n->attributes;
	struct shape s;

	if (check_image(g, n, 0) < 0 ||
	    check_conv(g, n, a, &n->in[0]->shape, &n->in[1]->shape) < 0 ||
	    check_bias(g, n, n->in[1]->shape.at[0]) < 0)
		return -1;
	s = conv_result(a, &n->in[0]->shape, &n->in[1]->shape);
	if (s.at[2] == 0 || s.at[3] == 0)
		return node_error(g, n, "a kernel of %s is larger than %s",
				  shape_string(&n->in[1]->shape), shape_string(&n->in[0]->shape));
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

/* dy, w: the image whose convolution has the shape of dy, of the size that the attributes say. */
int shape_conv2d_dx(struct graph *g, struct node *n)
{
	const struct conv_attributes *a = n->attributes;
	const struct shape *dy = &n->in[0]->shape, *w = &n->in[1]->shape;
	struct shape s, back;

	if (check_image(g, n, 0) < 0)
		return -1;
	if (w->n != 4)
		return node_error(g, n, "a kernel of %s", shape_string(w));
	s = SHAPE(dy->at[0], w->at[1] * a->groups, a->size[0], a->size[1]);
	if (check_conv(g, n, a, &s, w) < 0 || check_bias(g, n, s.at[1]) < 0)
		return -1;
	back = conv_result(a, &s, w);
	if (!shape_equal(&back, dy))
		return node_error(g, n, "%s convolved with %s is %s, not %s", shape_string(&s),
				  shape_string(w), shape_string(&back), shape_string(dy));
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

int shape_conv2d_dw(struct graph *g, struct node *n)
{
	const struct conv_attributes *a = n->attributes;
	const struct shape *x = &n->in[0]->shape, *dy = &n->in[1]->shape;
	struct shape s, result;

	if (check_image(g, n, 0) < 0 || check_image(g, n, 1) < 0)
		return -1;
	s = SHAPE(dy->at[1], a->groups ? x->at[1] / a->groups : 0, a->size[0], a->size[1]);
	if (check_conv(g, n, a, x, &s) < 0)
		return -1;
	result = conv_result(a, x, &s);
	if (!shape_equal(&result, dy))
		return node_error(g, n, "%s convolved with %s is %s, not %s", shape_string(x),
				  shape_string(&s), shape_string(&result), shape_string(dy));
	return node_output(g, n, graph_sum_dtype(n->in[0]->dtype), &s) ? 0 : -1;
}

struct tensor *op_conv2d_with(struct graph *g, struct tensor *x, struct tensor *w,
			      struct tensor *bias, const struct conv_attributes *o)
{
	struct conv_attributes a = *o;
	struct tensor *y;

	a.activation = ACTIVATION_NONE; /* an epilogue again when the planner can: ops_matmul.c */
	y = graph_append(g, OP_CONV2D, (struct tensor *[]){ x, w, bias }, bias ? 3 : 2, &a);
	return op_activation(g, y, o->activation);
}

static struct conv_attributes conv_attributes(const struct conv *o)
{
	uint32_t stride = o->stride ? (uint32_t)o->stride : 1, pad = (uint32_t)o->pad;
	uint32_t dilation = o->dilation ? (uint32_t)o->dilation : 1;

	return (struct conv_attributes){
		.stride = { stride, stride },
		.pad = { pad, pad, pad, pad },
		.dilation = { dilation, dilation },
		.groups = o->groups ? (uint32_t)o->groups : 1,
		.activation = o->activation,
	};
}

struct tensor *op_conv2d(struct graph *g, struct tensor *x, struct tensor *w, const struct conv *o)
{
	struct conv_attributes a = conv_attributes(o);

	return op_conv2d_with(g, x, w, o->bias, &a);
}

static uint32_t transposed_length(size_t length, uint32_t stride, uint32_t pad, uint32_t dilation,
				  size_t kernel, size_t output_pad)
{
	size_t whole = (length - 1) * stride + dilation * (kernel - 1) + output_pad + 1;

	return length == 0 || whole < 2 * (size_t)pad ? 0 : (uint32_t)(whole - 2 * (size_t)pad);
}

struct tensor *op_conv_transpose2d(struct graph *g, struct tensor *x, struct tensor *w,
				   const struct conv *o, size_t output_pad)
{
	struct conv_attributes a = conv_attributes(o);

	if (!x || !w || graph_failed(g))
		return NULL;
	if (x->shape.n != 4 || w->shape.n != 4) {
		graph_error(g, "conv_transpose2d: %s by %s", shape_string(&x->shape),
			    shape_string(&w->shape));
		return NULL;
	}
	for (int i = 0; i < 2; i++)
		a.size[i] = transposed_length(x->shape.at[2 + i], a.stride[i], a.pad[i],
					      a.dilation[i], w->shape.at[2 + i], output_pad);
	return graph_append(g, OP_CONV2D_DX, (struct tensor *[]){ x, w, o->bias }, o->bias ? 3 : 2,
			    &a);
}

/* --- pools --- */

static int pool_result(struct graph *g, struct node *n, const struct shape *x, struct shape *out)
{
	const struct pool_attributes *a = n->attributes;

	*out = *x;
	for (int i = 0; i < 2; i++) {
		if (a->kernel[i] == 0 || a->stride[i] == 0 || 2 * a->pad[i] > a->kernel[i])
			return node_error(g, n, "windows of %ux%u, stride %ux%u, padding %ux%u",
					  a->kernel[0], a->kernel[1], a->stride[0], a->stride[1],
					  a->pad[0], a->pad[1]);
		out->at[2 + i] =
			windows(x->at[2 + i], 2 * (size_t)a->pad[i], a->kernel[i], a->stride[i], 1);
		if (out->at[2 + i] == 0)
			return node_error(g, n, "windows of %ux%u are larger than %s", a->kernel[0],
					  a->kernel[1], shape_string(x));
	}
	return 0;
}

int shape_avg_pool(struct graph *g, struct node *n)
{
	struct shape s;

	if (check_image(g, n, 0) < 0 || pool_result(g, n, &n->in[0]->shape, &s) < 0)
		return -1;
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

int shape_max_pool(struct graph *g, struct node *n)
{
	if (shape_avg_pool(g, n) < 0)
		return -1;
	return node_output(g, n, DTYPE_I32, &n->out[0]->shape) ? 0 : -1;
}

int shape_avg_pool_grad(struct graph *g, struct node *n)
{
	const struct pool_attributes *a = n->attributes;
	struct shape s, result;

	if (check_image(g, n, 0) < 0)
		return -1;
	s = n->in[0]->shape;
	s.at[2] = a->size[0];
	s.at[3] = a->size[1];
	if (pool_result(g, n, &s, &result) < 0)
		return -1;
	if (!shape_equal(&result, &n->in[0]->shape))
		return node_error(g, n, "%s pooled is %s, not %s", shape_string(&s),
				  shape_string(&result), shape_string(&n->in[0]->shape));
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

int shape_max_pool_grad(struct graph *g, struct node *n)
{
	if (n->in[1]->dtype != DTYPE_I32 || !shape_equal(&n->in[0]->shape, &n->in[1]->shape))
		return node_error(g, n, "places %s %s for %s", dtype_name(n->in[1]->dtype),
				  shape_string(&n->in[1]->shape), shape_string(&n->in[0]->shape));
	return shape_avg_pool_grad(g, n);
}

struct tensor *op_max_pool(struct graph *g, struct tensor *x, const struct pool_attributes *o,
			   struct tensor **places)
{
	struct tensor *t = graph_append(g, OP_MAX_POOL, &x, 1, o);

	if (places)
		*places = t ? t->node->out[1] : NULL;
	return t;
}

struct tensor *op_avg_pool(struct graph *g, struct tensor *x, const struct pool_attributes *o)
{
	return graph_append(g, OP_AVG_POOL, &x, 1, o);
}

/* --- resizing --- */

int shape_resize(struct graph *g, struct node *n)
{
	const struct resize_attributes *a = n->attributes;
	struct shape s;

	if (check_image(g, n, 0) < 0)
		return -1;
	s = n->in[0]->shape;
	if (s.at[2] == 0 || s.at[3] == 0 || a->size[0] == 0 || a->size[1] == 0)
		return node_error(g, n, "%s to %u x %u", shape_string(&s), a->size[0], a->size[1]);
	s.at[2] = a->size[0];
	s.at[3] = a->size[1];
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

/* The same arithmetic: SIZE is the input's then. */
int shape_resize_grad(struct graph *g, struct node *n)
{
	return shape_resize(g, n);
}

struct tensor *op_resize(struct graph *g, struct tensor *x, enum resize_mode mode,
			 bool align_corners, size_t height, size_t width)
{
	struct resize_attributes a = { mode, align_corners, { (uint32_t)height, (uint32_t)width } };

	if (height > UINT32_MAX || width > UINT32_MAX) {
		graph_error(g, "resize: to %zu x %zu", height, width);
		return NULL;
	}
	return graph_append(g, OP_RESIZE, &x, 1, &a);
}
