/*
 * lib/graph/repeat.c - a body of nodes, several times
 *
 * With a count at run time each iteration ends in a copy over one tensor that all of them carry; nodes of iterations that are
 * not reached do nothing, so the tensor keeps what the last one left.
 */
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"

static struct tensor *iterate(struct graph *g, graph_body *body, struct tensor *x, int i, void *arg)
{
	struct tensor *y;

	graph_push(g, "iteration.%d", i);
	y = body(g, x, i, arg);
	graph_pop(g);
	return y;
}

struct tensor *graph_repeat(struct graph *g, int count, graph_body *body, struct tensor *x,
			    void *arg)
{
	for (int i = 0; i < count && !graph_failed(g); i++)
		x = iterate(g, body, x, i, arg);
	return graph_failed(g) ? NULL : x;
}

struct tensor *graph_repeat_until(struct graph *g, struct tensor *count, int most, graph_body *body,
				  struct tensor *x, void *arg)
{
	struct tensor *carried, *y;

	if (!x || !count || graph_failed(g))
		return NULL;
	if (g->count || count->dtype != DTYPE_I32 || shape_elements(&count->shape) != 1) {
		graph_error(g, "a count of %s %s, or one repetition in another",
			    dtype_name(count->dtype), shape_string(&count->shape));
		return NULL;
	}
	carried = op_copy(g, x);
	g->count = count;
	for (int i = 0; i < most && !graph_failed(g); i++) {
		g->iteration = i;
		y = iterate(g, body, carried, i, arg);
		if (y && !shape_equal(&y->shape, &carried->shape))
			graph_error(g, "a repetition makes %s of %s", shape_string(&y->shape),
				    shape_string(&carried->shape));
		carried = graph_append(g, OP_REPLACE, (struct tensor *[]){ carried, y }, 2, NULL);
	}
	g->iteration = 0;
	g->count = NULL;
	return carried;
}
