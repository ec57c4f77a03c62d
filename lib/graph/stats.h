/*
 * lib/graph/stats.h - what a plan's steps cost, op by op: the table behind --op-stats
 *
 * Made of plan_step alone. A step's share of the roofline is the time that its operations or its bytes would take at the
 * machine's limits, whichever is longer, divided by the time that it took (Williams, Waterman, Patterson 2009).
 */
#ifndef LIB_GRAPH_STATS_H
#define LIB_GRAPH_STATS_H

#include "lib/base/buffer.h"
#include "lib/graph/plan.h"

/* A second, of the whole team; 0: not known. */
struct stats_limits {
	double operations;	/* multiplications and additions in f32 */
	double operations_half; /* of bf16 or f16 operands; 0: as f32 */
	double bytes;
};

/* The steps of one op that one kernel of one backend served, in one half of the graph. */
struct stats_row {
	enum op op;
	const char *backend;
	const struct kernel *kernel;
	bool backward;
	size_t nodes;
	double operations, bytes; /* of one run of them all */
	double seconds, least;	  /* of one run; at the limits */
};

/*
 * Rows by falling time, or where nothing was measured by falling bytes; equal ones in the order of ops.def. The caller frees
 * *ROWS. LIMITS may be NULL. 0, or -1 with the error set.
 */
int stats_collect(const struct plan *p, const struct stats_limits *limits, struct stats_row **rows,
		  size_t *n);

/* Their table for people, with a line of headings and one of sums. `-` where nothing was measured or no limit is known. */
int stats_print(const struct plan *p, const struct stats_limits *limits, struct buffer *out);

#endif
