/*
 * lib/graph/backend.h - where nodes run: a table of kernels
 *
 * `ref` and `cpu`, both on host memory. (What a device with memory of its own needs, plans cannot do yet, and so it is
 * not here.) A kernel is chosen when a plan is made: the first of the backend's table
 * whose domain holds the call; a node that none claims runs on `ref`, and is counted.
 */
#ifndef LIB_GRAPH_BACKEND_H
#define LIB_GRAPH_BACKEND_H

#include "kernels/cpu/level.h"
#include "lib/graph/graph.h"

struct backend {
	const char *name;
	/* By preference, NULL at the end; kernels of one op lie side by side. */
	const struct kernel *const *kernels;
};

const struct backend *backend_ref(void);
/* Of the level that NNUTILS_ISA names, else the best of this machine. NULL with the error set. */
const struct backend *backend_cpu(void);
/* Of one level, which this machine has. */
const struct backend *backend_level(enum level level);
/* `ref` or `cpu`. NULL with the error set. */
const struct backend *backend_find(const char *name);

/* The kernel of BACKEND for the call, or NULL when none claims it. */
const struct kernel *backend_choose(const struct backend *b, const char *op,
				    const struct kernel_call *c);

#endif
