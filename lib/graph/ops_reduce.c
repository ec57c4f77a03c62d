/* lib/graph/ops_reduce.c - ops over axes: sums, maxima, orders */

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

#define ALL_AXES(x) ((1u << (x)->shape.n) - 1)

/* --- shapes --- */

int shape_reduce(struct graph *g, struct node *n)
{
	const struct axes_attributes *a = n->attributes;
	const struct tensor *x = n->in[0];
	struct shape s = { 0 };
	struct tensor *t;

	if (a->axes >> x->shape.n)
		return node_error(g, n, "axes of %s that are not there", shape_string(&x->shape));
	for (int i = 0; i < x->shape.n; i++) {
		bool reduced = a->axes >> i & 1;

		if (!reduced || a->keep)
			s.at[s.n++] = reduced ? 1 : x->shape.at[i];
	}
	t = node_output(g, n, a->out_dtype ? (enum dtype)a->out_dtype : x->dtype, &s);
	if (t && !(a->axes & 1))
		t->rows = x->rows;
	return t ? 0 : -1;
}

static int last_axis(struct graph *g, struct node *n)
{
	if (n->in[0]->shape.n == 0)
		return node_error(g, n, "a scalar has no last axis");
	return 0;
}

int shape_argmax(struct graph *g, struct node *n)
{
	struct shape s = n->in[0]->shape;
	struct tensor *t;

	if (last_axis(g, n) < 0)
		return -1;
	s.n--;
	t = node_output(g, n, DTYPE_I32, &s);
	if (t && s.n)
		t->rows = n->in[0]->rows;
	return t ? 0 : -1;
}

int shape_argsort(struct graph *g, struct node *n)
{
	if (last_axis(g, n) < 0)
		return -1;
	return node_output(g, n, DTYPE_I32, &n->in[0]->shape) ? 0 : -1;
}

int shape_top_k(struct graph *g, struct node *n)
{
	const struct axis_attributes *a = n->attributes;
	struct shape s = n->in[0]->shape;

	if (last_axis(g, n) < 0)
		return -1;
	if (a->n == 0 || a->n > s.at[s.n - 1])
		return node_error(g, n, "the %u largest of %zu", a->n, s.at[s.n - 1]);
	s.at[s.n - 1] = a->n;
	if (!node_output(g, n, n->in[0]->dtype, &s))
		return -1;
	return node_output(g, n, DTYPE_I32, &s) ? 0 : -1;
}

int shape_histogram(struct graph *g, struct node *n)
{
	const struct axis_attributes *a = n->attributes;

	if (n->in[0]->dtype != DTYPE_I32)
		return node_error(g, n, "ids of %s, not i32", dtype_name(n->in[0]->dtype));
	return node_output(g, n, DTYPE_I32, &SHAPE(a->n)) ? 0 : -1;
}

int shape_scalar(struct graph *g, struct node *n)
{
	return node_output(g, n, graph_sum_dtype(n->in[0]->dtype), &SHAPE(1)) ? 0 : -1;
}

int shape_count(struct graph *g, struct node *n)
{
	return node_output(g, n, DTYPE_I32, &SHAPE(1)) ? 0 : -1;
}

/* --- builders --- */

static struct tensor *reduce(struct graph *g, enum op op, struct tensor *x, uint32_t axes,
			     bool keep)
{
	struct axes_attributes a = { .axes = axes, .keep = keep };

	if (!x)
		return NULL;
	if (axes == 0)
		a.axes = ALL_AXES(x);
	return graph_append(g, op, &x, 1, &a);
}

struct tensor *op_sum(struct graph *g, struct tensor *x, uint32_t axes, bool keep)
{
	return reduce(g, OP_SUM, x, axes, keep);
}

struct tensor *op_sum_as(struct graph *g, struct tensor *x, uint32_t axes, bool keep,
			 enum dtype dtype)
{
	struct axes_attributes a = { .axes = axes, .keep = keep, .out_dtype = dtype };

	return graph_append(g, OP_SUM, &x, 1, &a);
}

struct tensor *op_mean(struct graph *g, struct tensor *x, uint32_t axes, bool keep)
{
	return reduce(g, OP_MEAN, x, axes, keep);
}

struct tensor *op_amax(struct graph *g, struct tensor *x, uint32_t axes, bool keep)
{
	return reduce(g, OP_AMAX, x, axes, keep);
}

struct tensor *op_logsumexp(struct graph *g, struct tensor *x, uint32_t axes, bool keep)
{
	return reduce(g, OP_LOGSUMEXP, x, axes, keep);
}

static struct tensor *along(struct graph *g, enum op op, struct tensor *x, struct axis_attributes a)
{
	return x ? graph_append(g, op, &x, 1, &a) : NULL;
}

struct tensor *op_argmax(struct graph *g, struct tensor *x)
{
	return along(g, OP_ARGMAX, x, (struct axis_attributes){ 0 });
}

struct tensor *op_cumsum(struct graph *g, struct tensor *x, int axis, bool reverse, bool exclusive)
{
	if (!x)
		return NULL;
	if (axis < 0)
		axis += x->shape.n;
	if (axis < 0 || axis >= x->shape.n) {
		graph_error(g, "cumsum: axis %d of %s", axis, shape_string(&x->shape));
		return NULL;
	}
	return along(g, OP_CUMSUM, x,
		     (struct axis_attributes){
			     .axis = (uint32_t)axis, .reverse = reverse, .exclusive = exclusive });
}

struct tensor *op_softmax(struct graph *g, struct tensor *x)
{
	return graph_append(g, OP_SOFTMAX, &x, 1, NULL);
}

struct tensor *op_log_softmax(struct graph *g, struct tensor *x)
{
	return graph_append(g, OP_LOG_SOFTMAX, &x, 1, NULL);
}

struct tensor *op_argsort(struct graph *g, struct tensor *x, bool falling)
{
	return along(g, OP_ARGSORT, x, (struct axis_attributes){ .reverse = falling });
}

struct tensor *op_top_k(struct graph *g, struct tensor *x, size_t k, struct tensor **places)
{
	struct tensor *t = along(g, OP_TOP_K, x,
				 (struct axis_attributes){ .n = k < UINT32_MAX ? (uint32_t)k : 0 });

	if (places)
		*places = t ? t->node->out[1] : NULL;
	return t;
}

struct tensor *op_histogram(struct graph *g, struct tensor *ids, size_t bins)
{
	return along(g, OP_HISTOGRAM, ids, (struct axis_attributes){ .n = (uint32_t)bins });
}

struct tensor *op_sum_to_as(struct graph *g, struct tensor *x, const struct shape *s,
			    enum dtype dtype)
{
	uint32_t axes = 0;
	int more;

	if (!x || shape_equal(&x->shape, s))
		return op_cast(g, x, dtype);
	more = x->shape.n - s->n;
	for (int i = 0; i < x->shape.n; i++)
		if (i < more || (s->at[i - more] == 1 && x->shape.at[i] != 1))
			axes |= 1u << i;
	if (axes)
		x = op_sum_as(g, x, axes, true, dtype);
	return op_reshape(g, x, *s);
}

struct tensor *op_sum_to(struct graph *g, struct tensor *x, const struct shape *s)
{
	return x ? op_sum_to_as(g, x, s, x->dtype) : NULL;
}
