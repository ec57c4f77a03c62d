/*
 * lib/graph/graph_names.c - inputs, constants, outputs and parameters of a graph
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"

static struct tensor *make_source(struct graph *g, enum op op, enum dtype dtype,
				  const struct shape *shape, const void *attributes, size_t size)
{
	struct tensor *t = graph_view(g, op, NULL, attributes, size, shape, NULL, 0);

	if (t)
		t->dtype = dtype;
	return t;
}

static void add_name(struct graph *g, const char *name, struct tensor *t, bool output)
{
	char *copy = graph_alloc(g, strlen(name) + 1, 1);

	if (!copy)
		return;
	memcpy(copy, name, strlen(name) + 1);
	if (mem_grow(&g->names, &g->names_capacity, g->n_names + 1, sizeof(*g->names)) < 0) {
		graph_error(g, "out of memory");
		return;
	}
	g->names[g->n_names++] = (struct graph_name){ copy, t, output };
}

static bool name_is_taken(const struct graph *g, const char *name, bool output)
{
	for (size_t i = 0; i < g->n_names; i++)
		if (g->names[i].output == output && strcmp(g->names[i].name, name) == 0)
			return true;
	return false;
}

struct tensor *graph_input(struct graph *g, const char *name, enum dtype dtype, struct shape shape)
{
	struct tensor *t;

	if (name_is_taken(g, name, false)) {
		graph_error(g, "two inputs named %s", name);
		return NULL;
	}
	t = make_source(g, OP_INPUT, dtype, &shape, NULL, 0);
	if (t)
		add_name(g, name, t, false);
	return t;
}

struct tensor *graph_input_rows(struct graph *g, const char *name, enum dtype dtype,
				struct shape shape, struct tensor *rows)
{
	struct tensor *t = graph_input(g, name, dtype, shape);

	if (!t || !rows)
		return t;
	if (rows->dtype != DTYPE_I32 || rows->node->op != OP_INPUT || shape.n == 0) {
		graph_error(g, "the rows of %s are no i32 input", name);
		return NULL;
	}
	t->rows = rows;
	return t;
}

struct tensor *graph_constant(struct graph *g, enum dtype dtype, struct shape shape,
			      const void *data)
{
	struct constant_attributes a = { 0 };
	void *copy;

	if (graph_failed(g))
		return NULL;
	if (!dtype_size(dtype, shape_elements(&shape), &a.size)) {
		graph_error(g, "a constant of shape %s of %s has no size", shape_string(&shape),
			    dtype_name(dtype));
		return NULL;
	}
	copy = graph_alloc(g, a.size ? a.size : 1, 1);
	if (!copy)
		return NULL;
	memcpy(copy, data, a.size);
	a.data = copy;
	return make_source(g, OP_CONSTANT, dtype, &shape, &a, sizeof(a));
}

struct tensor *graph_scalar(struct graph *g, double value)
{
	float f = (float)value;

	return graph_constant(g, DTYPE_F32, SHAPE_SCALAR, &f);
}

void graph_output(struct graph *g, struct tensor *t, const char *name)
{
	if (graph_failed(g) || !t)
		return;
	if (name_is_taken(g, name, true)) {
		graph_error(g, "two outputs named %s", name);
		return;
	}
	if (!tensor_is_dense(t))
		t = op_copy(g, t);
	if (t)
		add_name(g, name, t, true);
}

size_t graph_n_outputs(const struct graph *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_names; i++)
		n += g->names[i].output;
	return n;
}

struct tensor *graph_output_at(const struct graph *g, size_t i, const char **name)
{
	for (size_t j = 0; j < g->n_names; j++)
		if (g->names[j].output && i-- == 0) {
			if (name)
				*name = g->names[j].name;
			return g->names[j].tensor;
		}
	return NULL;
}

/* --- parameters --- */

struct store_entry *tensor_entry(const struct tensor *t)
{
	const struct parameter_attributes *a = t->base->node->attributes;

	return t->base->node->op == OP_PARAMETER ? a->entry : NULL;
}

static int room_for(struct graph *g, size_t place)
{
	size_t before = g->n_parameters;

	if (place < before)
		return 0;
	if (mem_grow(&g->parameters, &g->parameters_capacity, place + 1, sizeof(struct tensor *)) <
	    0)
		return graph_error(g, "out of memory");
	memset(g->parameters + before, 0, (place + 1 - before) * sizeof(struct tensor *));
	g->n_parameters = place + 1;
	return 0;
}

struct tensor *graph_entry(struct graph *g, struct store_entry *e)
{
	struct parameter_attributes a = { e };
	struct tensor *t;

	if (graph_failed(g) || room_for(g, e->place) < 0)
		return NULL;
	if (g->parameters[e->place])
		return g->parameters[e->place];
	/* A gradient of a derived form is its source's: that one's tensor comes first. */
	if (e->source && !graph_entry(g, e->source))
		return NULL;
	t = make_source(g, OP_PARAMETER, e->dtype, &e->shape, &a, sizeof(a));
	g->parameters[e->place] = t;
	return t;
}

const char *graph_scope_name(const struct graph *g)
{
	return g->scopes[g->n_scopes - 1].name;
}

/* NAME in the present scope. */
static void whole_name(const struct graph *g, const char *name, char *out, size_t size)
{
	const char *scope = graph_scope_name(g);

	snprintf(out, size, "%s%s%s", scope, *scope ? "." : "", name);
}

bool graph_has_param(const struct graph *g, const char *name)
{
	char whole[512];

	if (graph_failed(g) || !g->store)
		return false;
	whole_name(g, name, whole, sizeof(whole));
	return store_find(g->store, whole) != NULL;
}

static struct store_entry *find_entry(struct graph *g, const char *name, const struct shape *shape)
{
	struct store_entry *e;
	char whole[512];

	if (graph_failed(g))
		return NULL;
	if (!g->store) {
		graph_error(g, "the parameter %s: the graph has no store", name);
		return NULL;
	}
	whole_name(g, name, whole, sizeof(whole));
	e = store_find(g->store, whole);
	if (!e && store_is_declaring(g->store))
		e = store_add(g->store, whole, STORE_PARAMETER, DTYPE_F32, shape);
	if (!e)
		graph_error(g, "no parameter %s", whole);
	else if (!shape_equal(&e->shape, shape)) {
		graph_error(g, "the parameter %s is %s, not %s", whole, shape_string(&e->shape),
			    shape_string(shape));
		e = NULL;
	}
	return e;
}

struct tensor *graph_param(struct graph *g, const char *name, struct shape shape)
{
	struct store_entry *e = find_entry(g, name, &shape);

	return e ? graph_entry(g, e) : NULL;
}

struct tensor *graph_entry_compute(struct graph *g, struct store_entry *e)
{
	enum dtype compute = g->options.compute;

	if (e->dtype != compute && dtype_info(e->dtype)->block == 1 &&
	    !(e = store_cast(g->store, e, compute))) {
		graph_error(g, "%s", err_text());
		return NULL;
	}
	return graph_entry(g, e);
}

struct tensor *graph_param_compute(struct graph *g, const char *name, struct shape shape)
{
	struct store_entry *e = find_entry(g, name, &shape);

	return e ? graph_entry_compute(g, e) : NULL;
}

struct tensor *graph_find(const struct graph *g, const char *name)
{
	const struct store_entry *e = g->store ? store_find(g->store, name) : NULL;

	for (size_t i = 0; i < g->n_names; i++)
		if (strcmp(g->names[i].name, name) == 0)
			return g->names[i].tensor;
	return e && e->place < g->n_parameters ? g->parameters[e->place] : NULL;
}

const char *graph_name_of(const struct graph *g, const struct tensor *t)
{
	if (tensor_entry(t))
		return tensor_entry(t)->name;
	for (size_t i = 0; i < g->n_names; i++)
		if (g->names[i].tensor == t)
			return g->names[i].name;
	return NULL;
}
