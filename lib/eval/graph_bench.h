/*
 * lib/eval/graph_bench.h - what graphs cost beside their kernels: nodes that do nothing, and planning
 */
#ifndef LIB_EVAL_GRAPH_BENCH_H
#define LIB_EVAL_GRAPH_BENCH_H

#include "lib/graph/plan.h"

/*
 * Plans of many nodes that do nothing. SHARED: all threads take part in each, and meet between them; else each is so
 * small that one thread does it alone, while the others wait.
 */
struct empty_bench;
int empty_bench_new(struct empty_bench **out, const struct backend *b, struct team *team,
		    bool shared);
void empty_bench_free(struct empty_bench *e);
double empty_bench_run(void *arg); /* seconds a node */

/* A decoder of LAYERS layers with loss, gradients and adamw, of the 100M model's shapes. */
struct decoder_bench {
	const struct backend *backend;
	struct team *team;
	int layers;
	double build_seconds, plan_seconds; /* of the last run */
	size_t nodes;
};
/* Builds the graph and plans it, once; nothing is allocated or run. -1 with the error set. */
int decoder_bench_run(struct decoder_bench *d);

#endif
