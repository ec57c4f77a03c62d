/*
 * lib/graph/graph.c - the list of nodes, their scopes, and the first error
 */
#include "lib/graph/graph_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"

int graph_new(struct graph **out, struct store *s, const struct graph_options *o)
{
	struct graph *g = mem_new(1, sizeof(*g));

	*out = NULL;
	if (!g)
		return -1;
	if (o)
		g->options = *o;
	if (g->options.compute == DTYPE_UNKNOWN)
		g->options.compute = DTYPE_F32;
	g->store = s;
	g->scopes[0].name = "";
	g->n_scopes = 1;
	if (arena_new(&g->arena) < 0) {
		free(g);
		return -1;
	}
	*out = g;
	return 0;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	arena_free(g->arena);
	free(g->nodes);
	free(g->tensors);
	free(g->names);
	free(g->parameters);
	free(g->blocks);
	free(g->error);
	free(g);
}

size_t graph_n_nodes(const struct graph *g)
{
	return g->n_nodes;
}

struct node *graph_node(const struct graph *g, size_t i)
{
	return g->nodes[i];
}

size_t graph_n_tensors(const struct graph *g)
{
	return g->n_tensors;
}

struct store *graph_store(const struct graph *g)
{
	return g->store;
}

const struct graph_options *graph_options(const struct graph *g)
{
	return &g->options;
}

/* --- errors --- */

bool graph_failed(const struct graph *g)
{
	return g->error != NULL;
}

/* The library's own error becomes the graph's. */
static void keep_error(struct graph *g)
{
	g->error_code = err_last();
	g->error = mem_copy(err_text(), strlen(err_text()));
}

static void fail(struct graph *g, const char *scope, const char *what)
{
	if (g->error)
		return;
	err_set(ERR_ARGUMENT, "%s%s%s", scope, *scope ? ": " : "", what);
	keep_error(g);
}

int graph_error(struct graph *g, const char *format, ...)
{
	char what[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	fail(g, g->scopes[g->n_scopes - 1].name, what);
	return -1;
}

int node_error(struct graph *g, const struct node *n, const char *format, ...)
{
	char what[512];
	va_list args;
	int at = snprintf(what, sizeof(what), "%s: ", op_info(n->op)->name);

	va_start(args, format);
	vsnprintf(what + at, sizeof(what) - (size_t)at, format, args);
	va_end(args);
	fail(g, n->scope, what);
	return -1;
}

int graph_check(const struct graph *g)
{
	return g->error ? err_set(g->error_code, "%s", g->error) : 0;
}

void *graph_alloc(struct graph *g, size_t n, size_t size)
{
	void *p = graph_failed(g) ? NULL : arena_alloc(g->arena, n, size);

	if (!p && !graph_failed(g))
		keep_error(g);
	return p;
}

/* --- scopes --- */

void graph_push(struct graph *g, const char *format, ...)
{
	char name[256];
	va_list args;
	const char *outer = g->scopes[g->n_scopes - 1].name;
	int at = snprintf(name, sizeof(name), "%s%s", outer, *outer ? "." : "");
	int n = 0;

	va_start(args, format);
	if (at >= 0 && (size_t)at < sizeof(name))
		n = vsnprintf(name + at, sizeof(name) - (size_t)at, format, args);
	va_end(args);
	if (g->n_scopes == GRAPH_SCOPES || n < 0 || (size_t)(at + n) >= sizeof(name)) {
		graph_error(g, "scopes nest more than %d deep or are longer than 255 bytes",
			    GRAPH_SCOPES);
		return;
	}
	g->scopes[g->n_scopes] = (struct graph_scope){ 0 };
	g->scopes[g->n_scopes].name = graph_alloc(g, strlen(name) + 1, 1);
	if (!g->scopes[g->n_scopes].name)
		return;
	memcpy((char *)g->scopes[g->n_scopes].name, name, strlen(name) + 1);
	g->n_scopes++;
}

void graph_pop(struct graph *g)
{
	if (g->n_scopes > 1)
		g->n_scopes--;
	else
		graph_error(g, "graph_pop without graph_push");
}

void graph_block(struct graph *g)
{
	if (graph_failed(g))
		return;
	if (mem_grow(&g->blocks, &g->blocks_capacity, g->n_blocks + 1, sizeof(*g->blocks)) < 0) {
		keep_error(g);
		return;
	}
	g->blocks[g->n_blocks++] = graph_scope_name(g);
}

/* --- nodes and tensors --- */

static struct node *add_node(struct graph *g, enum op op)
{
	struct graph_scope *scope = &g->scopes[g->n_scopes - 1];
	struct node *n = graph_alloc(g, 1, sizeof(*n));

	if (!n)
		return NULL;
	if (mem_grow(&g->nodes, &g->nodes_capacity, g->n_nodes + 1, sizeof(*g->nodes)) < 0) {
		keep_error(g);
		return NULL;
	}
	n->op = op;
	n->id = (uint32_t)g->n_nodes;
	n->scope = scope->name;
	n->iteration = g->iteration;
	n->count = g->count;
	n->backward = g->backward;
	g->nodes[g->n_nodes++] = n;
	return n;
}

static struct tensor *add_tensor(struct graph *g, struct node *n)
{
	struct tensor *t = graph_alloc(g, 1, sizeof(*t));

	if (!t)
		return NULL;
	if (n->n_out == KERNEL_TENSORS) {
		node_error(g, n, "more than %d results", KERNEL_TENSORS);
		return NULL;
	}
	if (mem_grow(&g->tensors, &g->tensors_capacity, g->n_tensors + 1, sizeof(*g->tensors)) <
	    0) {
		keep_error(g);
		return NULL;
	}
	t->node = n;
	t->output = n->n_out;
	t->id = (uint32_t)g->n_tensors;
	t->base = t;
	n->out[n->n_out++] = t;
	g->tensors[g->n_tensors++] = t;
	return t;
}

/* Strides of elements side by side. */
static void set_dense(struct tensor *t)
{
	size_t n = 1;

	for (int i = t->shape.n - 1; i >= 0; i--) {
		t->stride[i] = (ptrdiff_t)n;
		n *= t->shape.at[i];
	}
}

struct tensor *node_output(struct graph *g, struct node *n, enum dtype dtype,
			   const struct shape *shape)
{
	struct tensor *t = add_tensor(g, n);
	size_t bytes, elements = 1;

	if (!t)
		return NULL;
	t->dtype = dtype;
	t->shape = *shape;
	for (int i = 0; i < shape->n; i++)
		if (__builtin_mul_overflow(elements, shape->at[i], &elements))
			elements = SIZE_MAX;
	if (!dtype_size(dtype, elements, &bytes) || bytes > PTRDIFF_MAX) {
		node_error(g, n, "a result of shape %s of %s is too large", shape_string(shape),
			   dtype_name(dtype));
		return NULL;
	}
	set_dense(t);
	return t;
}

enum dtype graph_sum_dtype(enum dtype dtype)
{
	return dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

struct tensor *node_output_in_place(struct graph *g, struct node *n, int i)
{
	struct tensor *t = add_tensor(g, n);
	const struct tensor *in = n->in[i];

	if (!t)
		return NULL;
	t->dtype = in->dtype;
	t->shape = in->shape;
	memcpy(t->stride, in->stride, sizeof(t->stride));
	t->base = in->base;
	t->offset = in->offset;
	t->rows = in->rows;
	return t;
}

static bool inputs_are_there(const struct graph *g, struct tensor *const *in, int n_in, int least)
{
	for (int i = 0; i < n_in && i < least; i++)
		if (!in[i])
			return false;
	return n_in >= least && !graph_failed(g);
}

uint64_t graph_draw_scope(struct graph *g)
{
	struct graph_scope *scope = &g->scopes[g->n_scopes - 1];
	struct buffer b = { 0 };
	uint64_t hash;

	buffer_format(&b, "%s#%llu@%d", scope->name, (unsigned long long)scope->n_draws++,
		      g->iteration);
	hash = hash_short(b.data, b.size, 0);
	buffer_free(&b);
	return hash;
}

/* Row by row from a tensor whose rows are known at run time: so are the results'. */
static void inherit_rows(struct node *n)
{
	const struct tensor *by = NULL;

	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && n->in[i]->rows && (op_info(n->op)->rows >> i & 1))
			by = n->in[i];
	for (int i = 0; i < n->n_out && by; i++)
		if (!n->out[i]->rows && n->out[i]->shape.n &&
		    n->out[i]->shape.at[0] == by->shape.at[0])
			n->out[i]->rows = by->rows;
}

/* Blocks are read, and never written, not in place either, but by what fills a cache of them. */
static int check_results(struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->n_out; i++)
		if (dtype_info(n->out[i]->dtype)->block > 1 && n->op != OP_KV_WRITE)
			return node_error(g, n, "a result in %s: ops only read blocks",
					  dtype_name(n->out[i]->dtype));
	return 0;
}

struct tensor *graph_append(struct graph *g, enum op op, struct tensor *const *in, int n_in,
			    const void *attributes)
{
	const struct op_info *info = op_info(op);
	struct node *n;
	void *copy;

	if (!inputs_are_there(g, in, n_in, info->least) || !(n = add_node(g, op)))
		return NULL;
	n->n_in = n_in;
	for (int i = 0; i < n_in; i++)
		n->in[i] = in[i];
	if (info->attributes) {
		if (!(copy = graph_alloc(g, 1, info->attributes)))
			return NULL;
		memcpy(copy, attributes, info->attributes);
		n->attributes = copy;
	}
	if (info->shape(g, n) < 0 || graph_failed(g) || check_results(g, n) < 0)
		return NULL;
	inherit_rows(n);
	return n->out[0];
}

struct tensor *graph_view(struct graph *g, enum op op, struct tensor *x, const void *attributes,
			  size_t attributes_size, const struct shape *shape,
			  const ptrdiff_t *stride, size_t offset)
{
	struct node *n;
	struct tensor *t;
	void *copy = NULL;

	if (graph_failed(g) || (op != OP_INPUT && op != OP_PARAMETER && op != OP_CONSTANT && !x) ||
	    !(n = add_node(g, op)))
		return NULL;
	if (attributes_size) {
		if (!(copy = graph_alloc(g, 1, attributes_size)))
			return NULL;
		memcpy(copy, attributes, attributes_size);
	}
	n->attributes = copy;
	if (!(t = add_tensor(g, n)))
		return NULL;
	t->shape = *shape;
	if (!x) {
		set_dense(t);
		return t;
	}
	n->in[n->n_in++] = x;
	t->dtype = x->dtype;
	memcpy(t->stride, stride, (size_t)shape->n * sizeof(*stride));
	t->base = x->base;
	t->view_offset = offset;
	t->offset = x->offset + offset;
	return t;
}

struct node *graph_copy_node(struct graph *g, const struct node *n)
{
	struct node *c = graph_failed(g) ? NULL : add_node(g, n->op);

	if (!c)
		return NULL;
	c->attributes = n->attributes;
	c->scope = n->scope;
	c->n_in = n->n_in;
	c->iteration = n->iteration;
	c->count = n->count;
	c->backward = n->backward;
	memcpy(c->in, n->in, sizeof(c->in));
	return c;
}

struct tensor *graph_copy_tensor(struct graph *g, const struct tensor *t, struct node *n)
{
	struct tensor *c = add_tensor(g, n);
	uint32_t id;

	if (!c)
		return NULL;
	id = c->id;
	*c = *t;
	c->node = n;
	c->id = id;
	c->base = c;
	c->offset = 0;
	return c;
}
