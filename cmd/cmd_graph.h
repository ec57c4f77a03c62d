/*
 * cmd/cmd_graph.h - the options of tools that plan and run graphs
 *
 * A tool puts CMD_GRAPH into its table (and CMD_GRAPH_RUN, where it runs what it plans), and asks for the plan's options.
 */
#ifndef CMD_CMD_GRAPH_H
#define CMD_CMD_GRAPH_H

#include "cmd/cmd.h"
#include "lib/graph/plan.h"
#include "lib/graph/stats.h"

/* What the options were given. */
struct cmd_graph {
	int device; /* index into cmd_devices */
	bool strict;
	struct cmd_list without;
	uint64_t memory; /* 0: no limit */
	uint64_t seed;
	bool op_stats;
};
extern struct cmd_graph cmd_graph;

extern const char *const cmd_devices[]; /* ends with NULL */

/* clang-format off */
#define CMD_GRAPH \
	CMD_ENUM(0, "device", &cmd_graph.device, cmd_devices, "NAME", "where nodes run: ref, cpu or cuda (default cpu)"), \
	CMD_FLAG(0, "strict-device", &cmd_graph.strict, "refuse a node that the device has no kernel for"), \
	CMD_LIST(0, "without", &cmd_graph.without, "PASSES", "do not fold, merge, in-place, epilogue, reuse, segments, meetings, own (any of them)"), \
	CMD_SIZE(0, "memory", &cmd_graph.memory, 1, UINT64_MAX, "refuse a plan that needs more bytes"), \
	CMD_THREADS
#define CMD_GRAPH_RUN \
	CMD_SIZE(0, "seed", &cmd_graph.seed, 0, UINT64_MAX, "what made-up values and draws are made of (default 0)"), \
	CMD_FLAG(0, "op-stats", &cmd_graph.op_stats, "a table of what ran, on stderr: time, share of the roofline")
/* clang-format on */

/* The backend of --device. Ends the tool where this build has no such device. */
const struct backend *cmd_device(void);

/*
 * Fills what the options say, and leaves the rest as it is: device, strictness (NNUTILS_STRICT_DEVICE too), team, passes,
 * memory. Ends the tool where this build has no such device or there is no such pass.
 */
void cmd_plan_options(struct plan_options *o);

/* With --op-stats: the table, on stderr. LIMITS may be NULL. */
void cmd_op_stats(const struct plan *p, const struct stats_limits *limits);

#endif
