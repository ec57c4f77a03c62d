/*
 * lib/graph/backend.h - where nodes run: a table of kernels, and the device whose memory they work on
 *
 * A kernel is chosen when a plan is made: the first of the backend's table whose domain holds the call. A node that
 * none claims runs on the host (`cpu`, else `ref`), and is counted.
 */
#ifndef LIB_GRAPH_BACKEND_H
#define LIB_GRAPH_BACKEND_H

#include "kernels/cpu/choice.h"
#include "lib/graph/graph.h"

/*
 * A memory of its own, and one queue of work: what is launched, uploaded and downloaded runs in that order, at any
 * time up to the return of wait. One queue, for a plan's transfers lie where the data is made and used. Kernels of a device are
 * run once a phase with parts = 1, on the calling thread: they append to the queue (c->queue) and return; a draw's key lies
 * at c->key_at in the device's memory when they come to run. Used by one thread at a time.
 */
struct device {
	const char *name;
	void *(*allocate)(struct device *d,
			  uint64_t size); /* zeroed, aligned to 256; NULL with the error set */
	void (*release)(struct device *d, void *data); /* NULL is allowed */
	uint64_t (*available)(struct device *d);       /* bytes that may be had */
	void (*launch)(struct device *d, const struct kernel *k, const struct kernel_call *c);
	void (*upload)(struct device *d, void *to, const void *from,
		       uint64_t size); /* FROM may change after it */
	void (*download)(struct device *d, void *to, const void *from, uint64_t size);
	int (*wait)(
		struct device
			*d); /* -1 with the error set: the first of all calls since the last wait */
	/*
	 * Between begin and end launches are not run but remembered, to be replayed whole. end gives NULL with the error set when it
	 * cannot. All four are NULL in a device that cannot.
	 */
	int (*capture_begin)(struct device *d);
	void *(*capture_end)(struct device *d);
	void (*replay)(struct device *d, void *captured);
	void (*capture_free)(struct device *d, void *captured);
};

struct backend {
	const char *name;
	struct device *device; /* NULL: the host */
	/* By preference, NULL at the end; kernels of one op lie side by side. */
	const struct kernel *const *kernels;
	/* Of cpu: rows of kernels/cpu/choice.h that serve these come before them. */
	bool units;
	enum level level;
	enum level_vendor vendor;
};

const struct backend *backend_ref(void);
/* Of the level that NNUTILS_ISA names, else the best of this machine. NULL with the error set. */
const struct backend *backend_cpu(void);
/* Of one level, which this machine has, with all kernels of its units, faster here or not: for tests. */
const struct backend *backend_level(enum level level);
/* Of one level as processors of VENDOR are served. */
const struct backend *backend_of(enum level level, enum level_vendor vendor);
/* `ref` or `cpu`. NULL with the error set. */
const struct backend *backend_find(const char *name);

/* The kernel of BACKEND for the call, or NULL when none claims it. */
const struct kernel *backend_choose(const struct backend *b, const char *op,
				    const struct kernel_call *c);

#endif
