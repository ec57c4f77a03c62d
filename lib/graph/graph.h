/*
 * lib/graph/graph.h - tensors and the nodes that make them
 *
 * A graph is a list of nodes in an order in which they can run. A model builder appends nodes with the functions of
 * lib/graph/ops.h; graph_grad appends the backward nodes; lib/graph/plan.h places and runs the result. Parameters come from
 * a store (lib/graph/store.h), which many graphs share.
 *
 * Builders check nothing: the first error stays in the graph, with the node's scope and the shapes, every later call does
 * nothing and returns NULL, and graph_check returns it once.
 */
#ifndef LIB_GRAPH_GRAPH_H
#define LIB_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/attributes.h"
#include "kernels/dtype.h"
#include "kernels/kernel.h"
#include "lib/base/bytes.h"

#define GRAPH_AXES 8

struct shape {
	int n;
	size_t at[GRAPH_AXES]; /* slowest first */
};

/* SHAPE(2, 3): the shape of a matrix. */
#define SHAPE(...) \
 ((struct shape){ (int)(sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t)), { __VA_ARGS__ } })
#define SHAPE_SCALAR ((struct shape){ 0 })

size_t shape_elements(const struct shape *s);
bool shape_equal(const struct shape *a, const struct shape *b);
/* `[3, 4]`, for messages: a static ring of a few buffers a thread. */
const char *shape_string(const struct shape *s);

enum op {
#define OP(id, ...)   OP_##id,
#define VIEW(id, ...) OP_##id,
#include "lib/graph/ops.def"
#undef OP
#undef VIEW
	OP_COUNT
};

/*
 * A value. Read by anyone, written by lib/graph alone. It lies in the memory of BASE (itself, or the tensor that a
 * view or an update in place goes back to), OFFSET elements on.
 */
struct tensor {
	struct node *node; /* that makes it */
	int output;	   /* which of its outputs */
	uint32_t id;	   /* its place among all tensors of the graph */
	enum dtype dtype;
	struct shape shape;
	ptrdiff_t stride[GRAPH_AXES]; /* elements */
	struct tensor *base;
	size_t offset;
	size_t view_offset; /* of a view: from its operand on */
	struct tensor *
		rows; /* i32 [1]: how much of axis 0 there is at run time, at most shape.at[0]; NULL: all of it */
	bool wanted; /* a gradient with respect to it is asked for */
};

struct node {
	enum op op;
	uint32_t id;			   /* its place in the graph */
	struct tensor *in[KERNEL_TENSORS]; /* NULL: an optional one that is not there */
	struct tensor *out[KERNEL_TENSORS];
	int n_in, n_out;
	const void *attributes; /* or NULL */
	const char *scope;	/* `model.layers.3`; "" at the top */
	int iteration;		/* of graph_repeat with a count at run time; 0 outside */
	struct tensor *count;	/* i32 [1]: the node runs when iteration < count; NULL: always */
	bool backward;
	bool again; /* a second self, which recomputation made */
};

struct graph;
struct store;

struct graph_options {
	enum dtype
		compute; /* what weights are used in, and activations with them: F32 (0 too) or BF16, F16 */
	bool train; /* dropout drops */
	bool round; /* activations that block-quantized weights multiply are rounded to 8 bits (kernels/rounding.h): no gradient */
	bool pack; /* with it: weights are kept in a form that is read faster, a copy (PLAN_DERIVED), where kernels have one */
};

/* S may be NULL for a graph without parameters; else it outlives the graph. O may be NULL. */
int graph_new(struct graph **out, struct store *s, const struct graph_options *o);
void graph_free(struct graph *g); /* NULL is allowed; every tensor of it ends */

/* 0, or -1 with the error set: the first of all calls since graph_new. */
int graph_check(const struct graph *g);

size_t graph_n_nodes(const struct graph *g);
struct node *graph_node(const struct graph *g, size_t i);
size_t graph_n_tensors(const struct graph *g);
struct store *graph_store(const struct graph *g);
const struct graph_options *graph_options(const struct graph *g);

/*
 * Scopes of names and of draws: layer by layer. graph_block marks the present one as a block: plans that recompute keep its
 * inputs and results only, and compute what lies within again for the backward half.
 */
void graph_block(struct graph *g);
void graph_push(struct graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void graph_pop(struct graph *g);

/* --- what a run is given and what it gives --- */

/* Filled before a run (plan_data). NAME is for people and for plan_find. */
struct tensor *graph_input(struct graph *g, const char *name, enum dtype dtype, struct shape shape);
/* An input whose axis 0 is a bound: ROWS (i32 [1], an input too) says how much of it there is. */
struct tensor *graph_input_rows(struct graph *g, const char *name, enum dtype dtype,
				struct shape shape, struct tensor *rows);
/* Values that are known now; copied. */
struct tensor *graph_constant(struct graph *g, enum dtype dtype, struct shape shape,
			      const void *data);
struct tensor *graph_scalar(struct graph *g, double value); /* f32 [] */
/* Kept to the end of the run and found by NAME. */
void graph_output(struct graph *g, struct tensor *t, const char *name);
size_t graph_n_outputs(const struct graph *g);
struct tensor *graph_output_at(const struct graph *g, size_t i, const char **name);
/* The input, output or parameter of this name, or NULL. */
struct tensor *graph_find(const struct graph *g, const char *name);
/* What T is called as an input, output or parameter; NULL: it has no name. */
const char *graph_name_of(const struct graph *g, const struct tensor *t);

/* --- parameters --- */

/*
 * The store's entry `SCOPE.NAME`, whose shape must be this; the same tensor every time. A store that is being declared
 * (store_declare) makes the entry. param() is of the entry's own dtype, param_compute() in what the graph computes in: a
 * derived form, unless the entry is quantized.
 */
struct tensor *graph_param(struct graph *g, const char *name, struct shape shape);
struct tensor *graph_param_compute(struct graph *g, const char *name, struct shape shape);
#define param(g, name, ...)	    graph_param(g, name, SHAPE(__VA_ARGS__))
#define param_compute(g, name, ...) graph_param_compute(g, name, SHAPE(__VA_ARGS__))

/* The tensor of an entry of the store, whatever its kind (state, caches, sums of gradients); the same every time. */
struct store_entry;
struct tensor *graph_entry(struct graph *g, struct store_entry *e);

/* --- gradients --- */

/*
 * Appends the nodes that differentiate LOSS (one element) with respect to WITH, and gives the gradients in the order of WITH,
 * each of its shape (f32 for parameters). One on which LOSS does not depend is NULL. What leads to none of WITH gets no node.
 * 0, or -1 with the error set (graph_check has it too): an op on the way whose gradient is none, named with its scope.
 */
int graph_grad(struct graph *g, struct tensor *loss, struct tensor *const *with, size_t n,
	       struct tensor **gradients);
/* With respect to every trainable parameter that LOSS depends on: SUM += gradient for the store's sum of each (store_sum). */
int graph_grad_accumulate(struct graph *g, struct tensor *loss);
/* No gradient flows into T from what is made of the result. */
struct tensor *graph_stop(struct graph *g, struct tensor *t);

/* --- repetition --- */

/*
 * x = BODY(g, x, iteration, arg), COUNT times; the scope holds the iteration. With COUNT at run time (i32 [1], at most MOST)
 * the nodes of iterations at and past it do not run, and what the last one that ran left is the result; no gradient.
 */
typedef struct tensor *graph_body(struct graph *g, struct tensor *x, int iteration, void *arg);
struct tensor *graph_repeat(struct graph *g, int count, graph_body *body, struct tensor *x,
			    void *arg);
struct tensor *graph_repeat_until(struct graph *g, struct tensor *count, int most, graph_body *body,
				  struct tensor *x, void *arg);

#endif
