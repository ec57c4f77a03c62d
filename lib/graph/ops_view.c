/*
 * lib/graph/ops_view.c - the same memory seen in another way
 */
#include <string.h>

#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"

static bool ready(const struct graph *g, const struct tensor *x)
{
	return x && !graph_failed(g);
}

/* AXIS from the front, or -1 with the error told. */
static int find_axis(struct graph *g, const struct tensor *x, int axis)
{
	int from_front = axis < 0 ? axis + x->shape.n : axis;

	if (from_front < 0 || from_front >= x->shape.n)
		return graph_error(g, "axis %d of shape %s", axis, shape_string(&x->shape));
	return from_front;
}

/* Axes of X that lie evenly, as one: their length and the step between elements. */
struct run {
	size_t length;
	ptrdiff_t step;
};

static int find_runs(const struct tensor *x, struct run *runs)
{
	int n = 0;

	for (int i = 0; i < x->shape.n; i++) {
		size_t length = x->shape.at[i];

		if (length == 1)
			continue;
		if (n && runs[n - 1].step == x->stride[i] * (ptrdiff_t)length) {
			runs[n - 1].length *= length;
			runs[n - 1].step = x->stride[i];
		} else {
			runs[n++] = (struct run){ length, x->stride[i] };
		}
	}
	return n;
}

/* Strides for SHAPE, which has as many elements as X, not 0. False when the gaps of X do not allow it. */
static bool reshape_strides(const struct tensor *x, const struct shape *shape, ptrdiff_t *stride)
{
	struct run runs[GRAPH_AXES];
	int n = find_runs(x, runs);

	for (int i = shape->n - 1; i >= 0; i--) {
		size_t length = shape->at[i];

		while (n && runs[n - 1].length == 1)
			n--;
		stride[i] = n ? runs[n - 1].step : 1;
		if (length == 1)
			continue;
		if (!n || runs[n - 1].length % length != 0)
			return false;
		runs[n - 1].length /= length;
		runs[n - 1].step *= (ptrdiff_t)length;
	}
	return true;
}

static void dense_strides(const struct shape *shape, ptrdiff_t *stride)
{
	ptrdiff_t n = 1;

	for (int i = shape->n - 1; i >= 0; i--) {
		stride[i] = n;
		n *= (ptrdiff_t)shape->at[i];
	}
}

struct tensor *op_reshape(struct graph *g, struct tensor *x, struct shape shape)
{
	ptrdiff_t stride[GRAPH_AXES];
	struct tensor *t;

	if (!ready(g, x))
		return NULL;
	if (shape_elements(&x->shape) != shape_elements(&shape)) {
		graph_error(g, "reshape: %s has not as many elements as %s",
			    shape_string(&x->shape), shape_string(&shape));
		return NULL;
	}
	if (shape_equal(&x->shape, &shape))
		return x;
	if (shape_elements(&shape) == 0)
		dense_strides(&shape, stride);
	else if (!reshape_strides(x, &shape, stride))
		return op_reshape(g, op_copy(g, x), shape);
	t = graph_view(g, OP_RESHAPE, x, NULL, 0, &shape, stride, 0);
	if (t && x->rows && shape.n && shape.at[0] == x->shape.at[0])
		t->rows = x->rows;
	else if (t && x->rows)
		node_error(g, t->node, "axis 0 of %s is known at run time only, and %s cuts it",
			   shape_string(&x->shape), shape_string(&shape));
	return t;
}

/* Whether A brings the axes of X, which is a permutation, back into their order. */
static bool undoes(const struct tensor *x, const struct permute_attributes *a)
{
	const struct permute_attributes *b = x->node->attributes;

	if (x->node->op != OP_PERMUTE)
		return false;
	for (int i = 0; i < x->shape.n; i++)
		if (b->axes[a->axes[i]] != (uint64_t)i)
			return false;
	return true;
}

struct tensor *op_permute(struct graph *g, struct tensor *x, const int *axes)
{
	struct permute_attributes a = { 0 };
	ptrdiff_t stride[GRAPH_AXES];
	struct shape shape;
	unsigned seen = 0;
	struct tensor *t;

	if (!ready(g, x))
		return NULL;
	shape.n = x->shape.n;
	for (int i = 0; i < shape.n; i++) {
		int axis = find_axis(g, x, axes[i]);

		if (axis < 0)
			return NULL;
		seen |= 1u << axis;
		a.axes[i] = (uint64_t)axis;
		shape.at[i] = x->shape.at[axis];
		stride[i] = x->stride[axis];
	}
	if (undoes(x, &a))
		return x->node->in[0];
	if (seen != (1u << shape.n) - 1) {
		graph_error(g, "permute: an axis of %s twice", shape_string(&x->shape));
		return NULL;
	}
	t = graph_view(g, OP_PERMUTE, x, &a, sizeof(a), &shape, stride, 0);
	if (t && x->rows && a.axes[0] != 0)
		node_error(g, t->node, "axis 0 of %s is known at run time only",
			   shape_string(&x->shape));
	else if (t)
		t->rows = x->rows;
	return t;
}

struct tensor *op_transpose(struct graph *g, struct tensor *x)
{
	int axes[GRAPH_AXES];

	if (!ready(g, x))
		return NULL;
	if (x->shape.n < 2) {
		graph_error(g, "transpose: %s has no two axes", shape_string(&x->shape));
		return NULL;
	}
	for (int i = 0; i < x->shape.n; i++)
		axes[i] = i;
	axes[x->shape.n - 2] = x->shape.n - 1;
	axes[x->shape.n - 1] = x->shape.n - 2;
	return op_permute(g, x, axes);
}

struct tensor *op_slice(struct graph *g, struct tensor *x, int axis, size_t from, size_t length)
{
	return op_slice_step(g, x, axis, from, length, 1);
}

struct tensor *op_slice_step(struct graph *g, struct tensor *x, int axis, size_t from,
			     size_t length, size_t step)
{
	struct slice_attributes a = { 0 };
	ptrdiff_t stride[GRAPH_AXES];
	struct shape shape;
	struct tensor *t;
	size_t extent;

	if (!ready(g, x) || (axis = find_axis(g, x, axis)) < 0)
		return NULL;
	extent = x->shape.at[axis];
	if (step == 0 || from > extent || (length > 0 && (length - 1) > (extent - from) / step) ||
	    (length > 0 && from + (length - 1) * step >= extent)) {
		graph_error(g, "slice: %zu elements of axis %d from %zu, step %zu, of %s", length,
			    axis, from, step, shape_string(&x->shape));
		return NULL;
	}
	if (from == 0 && length == extent && step == 1)
		return x;
	for (int i = 0; i < GRAPH_AXES; i++)
		a.step[i] = 1;
	a.from[axis] = from;
	a.step[axis] = step;
	shape = x->shape;
	shape.at[axis] = length;
	memcpy(stride, x->stride, sizeof(stride));
	stride[axis] *= (ptrdiff_t)step;
	t = graph_view(g, OP_SLICE, x, &a, sizeof(a), &shape, stride,
		       length ? from * (size_t)x->stride[axis] : 0);
	if (t && x->rows && axis != 0)
		t->rows = x->rows;
	return t;
}

struct tensor *op_expand(struct graph *g, struct tensor *x, struct shape shape)
{
	ptrdiff_t stride[GRAPH_AXES];
	int more;

	if (!ready(g, x))
		return NULL;
	if (shape_equal(&x->shape, &shape))
		return x;
	more = shape.n - x->shape.n;
	for (int i = 0; i < shape.n; i++) {
		size_t length = i < more ? 1 : x->shape.at[i - more];

		if (more < 0 || (length != 1 && length != shape.at[i])) {
			graph_error(g, "expand: %s to %s", shape_string(&x->shape),
				    shape_string(&shape));
			return NULL;
		}
		stride[i] = length == 1 ? 0 : x->stride[i - more];
	}
	if (more < 0) {
		graph_error(g, "expand: %s to %s", shape_string(&x->shape), shape_string(&shape));
		return NULL;
	}
	return graph_view(g, OP_EXPAND, x, NULL, 0, &shape, stride, 0);
}

struct tensor *op_unsqueeze(struct graph *g, struct tensor *x, int axis)
{
	struct shape shape = { 0 };

	if (!ready(g, x))
		return NULL;
	if (axis < 0)
		axis += x->shape.n + 1;
	if (axis < 0 || axis > x->shape.n || x->shape.n == GRAPH_AXES) {
		graph_error(g, "unsqueeze: axis %d of %s", axis, shape_string(&x->shape));
		return NULL;
	}
	shape.n = x->shape.n + 1;
	for (int i = 0; i < shape.n; i++)
		shape.at[i] = i < axis ? x->shape.at[i] : i == axis ? 1 : x->shape.at[i - 1];
	return op_reshape(g, x, shape);
}
