/* lib/graph/ops_index.c - ops by index, and those that only move elements */

#include <string.h>

#include "lib/graph/ops.h"
#include "lib/graph/rules.h"

/* --- shapes --- */

static int ids_of_i32(struct graph *g, struct node *n, int i)
{
	if (n->in[i]->dtype != DTYPE_I32)
		return node_error(g, n, "ids of %s, not i32", dtype_name(n->in[i]->dtype));
	return 0;
}

int shape_gather_rows(struct graph *g, struct node *n)
{
	const struct tensor *table = n->in[0], *ids = n->in[1];
	struct shape s = ids->shape;
	enum dtype dtype = table->dtype;

	if (ids_of_i32(g, n, 1) < 0)
		return -1;
	if (table->shape.n == 0 || s.n + table->shape.n - 1 > GRAPH_AXES)
		return node_error(g, n, "a table of shape %s by ids of shape %s",
				  shape_string(&table->shape), shape_string(&s));
	for (int i = 1; i < table->shape.n; i++)
		s.at[s.n++] = table->shape.at[i];
	if (dtype_info(dtype)->block > 1)
		dtype = graph_options(g)->compute;
	return node_output(g, n, dtype, &s) ? 0 : -1;
}

int shape_scatter_add_rows(struct graph *g, struct node *n)
{
	const struct axis_attributes *a = n->attributes;
	struct shape s = n->in[0]->shape;

	if (ids_of_i32(g, n, 1) < 0)
		return -1;
	if (s.n == 0 || n->in[1]->shape.n != 1 || n->in[1]->shape.at[0] != s.at[0])
		return node_error(g, n, "rows of %s by ids of %s", shape_string(&s),
				  shape_string(&n->in[1]->shape));
	s.at[0] = a->n;
	return node_output(g, n, a->out_dtype ? (enum dtype)a->out_dtype : n->in[0]->dtype, &s)
		       ? 0
		       : -1;
}

int shape_scatter_acc(struct graph *g, struct node *n)
{
	const struct tensor *sum = n->in[0], *x = n->in[1], *ids = n->in[2];
	struct shape row = x->shape;

	if (ids_of_i32(g, n, 2) < 0)
		return -1;
	if (row.n)
		row.at[0] = sum->shape.n ? sum->shape.at[0] : 0;
	if (row.n == 0 || ids->shape.n != 1 || ids->shape.at[0] != x->shape.at[0] ||
	    !shape_equal(&row, &sum->shape))
		return node_error(g, n, "rows of %s by ids of %s into %s", shape_string(&x->shape),
				  shape_string(&ids->shape), shape_string(&sum->shape));
	return node_output_in_place(g, n, 0) ? 0 : -1;
}

/* All axes but the last are equal. */
static bool same_but_last(const struct shape *a, const struct shape *b)
{
	if (a->n != b->n || a->n == 0)
		return false;
	return memcmp(a->at, b->at, (size_t)(a->n - 1) * sizeof(a->at[0])) == 0;
}

int shape_take_along(struct graph *g, struct node *n)
{
	if (ids_of_i32(g, n, 1) < 0)
		return -1;
	if (!same_but_last(&n->in[0]->shape, &n->in[1]->shape))
		return node_error(g, n, "elements of %s by ids of %s",
				  shape_string(&n->in[0]->shape), shape_string(&n->in[1]->shape));
	return node_output(g, n, n->in[0]->dtype, &n->in[1]->shape) ? 0 : -1;
}

int shape_put_along(struct graph *g, struct node *n)
{
	const struct axis_attributes *a = n->attributes;
	struct shape s = n->in[0]->shape;

	if (ids_of_i32(g, n, 1) < 0)
		return -1;
	if (s.n == 0 || !shape_equal(&s, &n->in[1]->shape))
		return node_error(g, n, "elements of %s at ids of %s", shape_string(&s),
				  shape_string(&n->in[1]->shape));
	s.at[s.n - 1] = a->n;
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

int shape_concat(struct graph *g, struct node *n)
{
	const struct axis_attributes *a = n->attributes;
	struct shape s = n->in[0]->shape;

	if (a->axis >= (uint32_t)s.n)
		return node_error(g, n, "axis %u of %s", a->axis, shape_string(&s));
	for (int i = 1; i < n->n_in; i++) {
		struct shape other = n->in[i]->shape;
		size_t more = other.n == s.n ? other.at[a->axis] : 0;

		if (other.n == s.n)
			other.at[a->axis] = s.at[a->axis];
		if (!shape_equal(&other, &s))
			return node_error(g, n, "%s and %s along axis %u",
					  shape_string(&n->in[0]->shape),
					  shape_string(&n->in[i]->shape), a->axis);
		if (n->in[i]->dtype != n->in[0]->dtype)
			return node_error(g, n, "%s and %s", dtype_name(n->in[0]->dtype),
					  dtype_name(n->in[i]->dtype));
		s.at[a->axis] += more;
	}
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

int shape_pad(struct graph *g, struct node *n)
{
	const struct pad_attributes *a = n->attributes;
	struct shape s = n->in[0]->shape;

	if (s.n > PAD_AXES)
		return node_error(g, n, "%s has more than %d axes", shape_string(&s), PAD_AXES);
	for (int i = 0; i < s.n; i++)
		s.at[i] += a->before[i] + a->after[i];
	return node_output(g, n, n->in[0]->dtype, &s) ? 0 : -1;
}

/* --- builders --- */

struct tensor *op_gather_rows(struct graph *g, struct tensor *table, struct tensor *ids)
{
	return graph_append(g, OP_GATHER_ROWS, (struct tensor *[]){ table, ids }, 2, NULL);
}

static struct tensor *by_ids(struct graph *g, enum op op, struct tensor *x, struct tensor *ids,
			     size_t n, enum dtype dtype)
{
	struct axis_attributes a = { .n = (uint32_t)n, .out_dtype = dtype };

	if (n > UINT32_MAX) {
		graph_error(g, "%s: %zu is more than 2^32 - 1", op_info(op)->name, n);
		return NULL;
	}
	return graph_append(g, op, (struct tensor *[]){ x, ids }, 2, &a);
}

struct tensor *op_scatter_add_rows(struct graph *g, struct tensor *x, struct tensor *ids, size_t n)
{
	return by_ids(g, OP_SCATTER_ADD_ROWS, x, ids, n, DTYPE_UNKNOWN);
}

struct tensor *op_scatter_add_rows_as(struct graph *g, struct tensor *x, struct tensor *ids,
				      size_t n, enum dtype dtype)
{
	return by_ids(g, OP_SCATTER_ADD_ROWS, x, ids, n, dtype);
}

struct tensor *op_take_along(struct graph *g, struct tensor *x, struct tensor *ids)
{
	return graph_append(g, OP_TAKE_ALONG, (struct tensor *[]){ x, ids }, 2, NULL);
}

struct tensor *op_put_along(struct graph *g, struct tensor *x, struct tensor *ids, size_t n)
{
	return by_ids(g, OP_PUT_ALONG, x, ids, n, DTYPE_UNKNOWN);
}

struct tensor *op_concat(struct graph *g, struct tensor *const *x, int n, int axis)
{
	struct axis_attributes a = { 0 };

	if (n < 1 || n > KERNEL_TENSORS || !x[0]) {
		graph_error(g, "concat: %d tensors, not 1 to %d", n, KERNEL_TENSORS);
		return NULL;
	}
	a.axis = (uint32_t)(axis < 0 ? axis + x[0]->shape.n : axis);
	for (int i = 1; i < n; i++)
		if (!x[i])
			return NULL;
	return n == 1 ? x[0] : graph_append(g, OP_CONCAT, x, n, &a);
}

struct tensor *op_pad(struct graph *g, struct tensor *x, const size_t *before, const size_t *after,
		      double value)
{
	struct pad_attributes a = { .value = value };

	for (int i = 0; x && i < x->shape.n && i < PAD_AXES; i++) {
		a.before[i] = before[i];
		a.after[i] = after[i];
	}
	return graph_append(g, OP_PAD, &x, 1, &a);
}

struct tensor *op_repeat(struct graph *g, struct tensor *x, int axis, size_t times)
{
	struct shape wide, whole;

	if (!x || graph_failed(g))
		return NULL;
	if (axis < 0)
		axis += x->shape.n;
	whole = x->shape;
	x = op_unsqueeze(g, x, axis + 1);
	if (!x)
		return NULL;
	wide = x->shape;
	wide.at[axis + 1] = times;
	whole.at[axis] *= times;
	return op_reshape(g, op_expand(g, x, wide), whole);
}
