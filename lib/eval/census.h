/*
 * lib/eval/census.h - what a plan computes and moves, and what eager PyTorch would move for the same graph
 */
#ifndef LIB_EVAL_CENSUS_H
#define LIB_EVAL_CENSUS_H

#include "lib/graph/plan.h"

enum census_part { CENSUS_FORWARD, CENSUS_BACKWARD, CENSUS_UPDATE };
const char *census_part_name(enum census_part part);
/* Of a node: recomputed ones are of the backward half, updates those of optimizers. */
enum census_part census_part_of(const struct node *n);

/*
 * The steps of one op in one part. Bytes: operands and results, once each (lib/graph/cost.h); of a chain that runs tile of rows by
 * tile of rows (plan_node_stats.chain), what it is given, once each, and what is used after it: the rest does not leave the caches.
 */
struct census_row {
	enum op op;
	enum census_part part;
	size_t nodes;
	double operations, bytes;
};

/* Of G's plan: in the order of parts, then of ops.def. The caller frees *ROWS. */
int census_collect(const struct plan *p, const struct graph *g, struct census_row **rows,
		   size_t *n);

/* --- eager PyTorch --- */

/* Calls of one of its operators, and what they read and write. */
struct eager_row {
	const char *name; /* `mm`, without its namespace */
	size_t calls;
	double bytes;
};

/*
 * What eager PyTorch calls for the first FORWARD nodes of G, and with GRADIENTS for differentiating their result: composed as the
 * Transformers library composes a block (norm and rope of elementwise calls; products, attention, activations and losses
 * PyTorch's own), each call reading its operands and writing its result. G is as it was built, before a plan changed it. Measured
 * against PyTorch itself by scripts/peers/eager_bytes.py. The caller frees *ROWS. -1: an op whose counterpart is not known.
 */
int eager_collect(const struct graph *g, size_t forward, bool gradients, struct eager_row **rows,
		  size_t *n);

#endif
