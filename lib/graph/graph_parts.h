/* lib/graph/graph_parts.h - what a graph holds; users include graph.h */
#ifndef LIB_GRAPH_GRAPH_PARTS_H
#define LIB_GRAPH_GRAPH_PARTS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/graph/op_table.h"
#include "lib/graph/store.h"

#define GRAPH_SCOPES 32

struct graph_name {
	const char *name;
	struct tensor *tensor;
	bool output;
};

struct graph_scope {
	const char *name; /* whole: `model.layers.3` */
	uint64_t n_draws; /* of random nodes so far: part of the next one's key */
};

struct graph {
	struct graph_options options;
	struct store *store;
	struct arena *arena;
	struct node **nodes; /* owned */
	size_t n_nodes, nodes_capacity;
	struct tensor **tensors; /* owned */
	size_t n_tensors, tensors_capacity;
	struct graph_name *names; /* owned: inputs and outputs */
	size_t n_names, names_capacity;
	/* By the entry's place in the store: its tensor, or NULL. */
	struct tensor **parameters; /* owned */
	size_t n_parameters, parameters_capacity;
	struct graph_scope scopes[GRAPH_SCOPES];
	int n_scopes;
	const char **blocks; /* owned: scopes that may be computed again */
	size_t n_blocks, blocks_capacity;
	int iteration; /* of graph_repeat_until, given to new nodes */
	struct tensor *count;
	bool backward; /* new nodes are of the backward half */
	char *error;   /* owned; NULL: none */
	enum err_code error_code;
	bool planned;
};

/* What a tensor of OP_PARAMETER, OP_CONSTANT stands for. */
struct parameter_attributes {
	struct store_entry *entry;
};
struct constant_attributes {
	const void *data;
	size_t size;
};
/* Of the views, for their gradients and for people. */
struct permute_attributes {
	uint64_t axes[GRAPH_AXES];
};
struct slice_attributes {
	uint64_t from[GRAPH_AXES], step[GRAPH_AXES];
};
struct fill_attributes {
	double a, b;
	struct shape shape;
	uint64_t dtype;
};

/* Their second selves, for recomputation: a node without outputs, and an output of N like T in memory of its own. */
struct node *graph_copy_node(struct graph *g, const struct node *n);
struct tensor *graph_copy_tensor(struct graph *g, const struct tensor *t, struct node *n);

bool tensor_is_dense(
	const struct tensor *t); /* side by side, though not at the start of its memory */
struct store_entry *tensor_entry(const struct tensor *t); /* of a parameter; else NULL */
/* Its form in what the graph computes in. */
struct tensor *graph_entry_compute(struct graph *g, struct store_entry *e);
bool graph_has_param(const struct graph *g, const char *name); /* in the present scope */
const char *graph_scope_name(const struct graph *g);

#endif
