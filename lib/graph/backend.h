/*
 * lib/graph/backend.h - where nodes run: a table of kernels and the memory that they work on
 *
 * `ref` and `cpu` are built in; `cuda` is a plug-in. A kernel is chosen when a plan is made: the first of the backend's table
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
	bool host; /* works on host memory: no transfers */
	/* Of its own memory; NULL when HOST. Transfers are in the order of the runs. */
	void *(*allocate)(void *device, size_t size);
	void (*release)(void *device, void *memory);
	int (*upload)(void *device, void *to, const void *from, size_t size);
	int (*download)(void *device, void *to, const void *from, size_t size);
	/* Runs a kernel on the whole of a call, behind those before it; and waits for all. */
	int (*launch)(void *device, const struct kernel *k, const struct kernel_call *c);
	int (*wait)(void *device);
	/* Records what is launched between the two as one unit, which is then launched as a whole; may be NULL. */
	int (*capture_begin)(void *device);
	int (*capture_end)(void *device, void **captured);
	int (*capture_launch)(void *device, void *captured);
	void (*capture_free)(void *device, void *captured);
	void *device;
};

const struct backend *backend_ref(void);
/* Of the level that NNUTILS_ISA names, else the best of this machine. NULL with the error set. */
const struct backend *backend_cpu(void);
/* Of one level, which this machine has. */
const struct backend *backend_level(enum level level);
/* `ref`, `cpu`, and what plug-ins bring. NULL with the error set: unknown, or its plug-in cannot be loaded. */
const struct backend *backend_find(const char *name);

/* The kernel of BACKEND for the call, or NULL when none claims it. */
const struct kernel *backend_choose(const struct backend *b, const char *op,
				    const struct kernel_call *c);

#endif
