/*
 * lib/graph/op_table.h - the rows of ops.def as data, and what its rules are given
 */
#ifndef LIB_GRAPH_OP_TABLE_H
#define LIB_GRAPH_OP_TABLE_H

#include "lib/graph/graph.h"

enum op_flags {
	OP_ELEMENTWISE = 1,
	OP_RANDOM = 2,
	OP_SERIAL = 4,
	OP_VIEW = 8,
};

#define OP_ROWS_ALL UINT32_MAX

/*
 * Checks the inputs and the attributes of NODE, and makes its outputs with node_output. -1 with node_error told. May change
 * an input for one that serves (a copy of what has gaps).
 */
typedef int op_shape_fn(struct graph *g, struct node *n);

/*
 * Appends nodes and sets DX[i] for every input with n->in[i]->wanted. DY[i] is NULL for an output whose gradient is 0; one at
 * least is not. Errors stick in the graph.
 */
typedef void op_grad_fn(struct graph *g, struct node *n, struct tensor *const *dy,
			struct tensor **dx);

typedef double op_cost_fn(const struct node *n); /* operations */

struct op_info {
	const char *name;
	int least, most;    /* inputs */
	uint32_t in_place;  /* a set of bits */
	size_t attributes;  /* bytes; 0: none */
	op_shape_fn *shape; /* NULL for views */
	op_grad_fn *grad;   /* NULL: none */
	const char *grad_name;
	uint32_t rows;
	unsigned flags;
	op_cost_fn *cost; /* NULL for views */
	double tolerance;
	const char *summary;
	const struct kernel *ref; /* NULL for views */
};

const struct op_info *op_info(enum op op);

/* --- for shape rules and builders --- */

/* Appends a node, with attributes copied, and runs its shape rule. Output 0, or NULL after an error. */
struct tensor *graph_append(struct graph *g, enum op op, struct tensor *const *in, int n_in,
			    const void *attributes);
/* The next output of N, dense. */
struct tensor *node_output(struct graph *g, struct node *n, enum dtype dtype,
			   const struct shape *shape);
/* The next output of N, which is input I updated. */
struct tensor *node_output_in_place(struct graph *g, struct node *n, int i);
/* What sums over values of DTYPE are kept in: f64 of f64, else f32. */
enum dtype graph_sum_dtype(enum dtype dtype);
/* A view of T: the same memory from OFFSET elements on. */
struct tensor *graph_view(struct graph *g, enum op op, struct tensor *t, const void *attributes,
			  size_t attributes_size, const struct shape *shape,
			  const ptrdiff_t *stride, size_t offset);

/* For the attributes of an op that draws: of the present scope and how many drew in it before. */
uint64_t graph_draw_scope(struct graph *g);

/* `SCOPE: op: what`: the first one stays. Always -1. */
int node_error(struct graph *g, const struct node *n, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int graph_error(struct graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool graph_failed(const struct graph *g);

void *graph_alloc(struct graph *g, size_t n, size_t size); /* lives as long; NULL after an error */

#endif
