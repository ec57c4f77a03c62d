/* lib/eval/census.c - what a plan computes and moves, op by op */

#include "lib/eval/census.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/graph/op_table.h"

const char *census_part_name(enum census_part part)
{
	static const char *const names[] = { "forward", "backward", "update" };

	return names[part];
}

enum census_part census_part_of(const struct node *n)
{
	switch (n->op) {
	case OP_SGD:
	case OP_ADAMW:
	case OP_LION:
	case OP_ADAMW8:
	case OP_EMA: return CENSUS_UPDATE;
	default: return n->backward || n->again ? CENSUS_BACKWARD : CENSUS_FORWARD;
	}
}

int census_collect(const struct plan *p, struct census_row **rows, size_t *n)
{
	struct census_row *all = mem_new(3 * OP_COUNT, sizeof(*all));

	*n = 0;
	*rows = all;
	if (!all)
		return -1;
	for (size_t i = 0; i < plan_n_steps(p); i++) {
		struct plan_node_stats s = plan_step(p, i);
		enum census_part part = census_part_of(s.node);
		struct census_row *r = &all[(size_t)part * OP_COUNT + s.node->op];

		r->op = s.node->op;
		r->part = part;
		r->nodes++;
		r->operations += s.operations;
		r->bytes += s.bytes;
	}
	for (size_t i = 0; i < 3 * OP_COUNT; i++)
		if (all[i].nodes)
			all[(*n)++] = all[i];
	return 0;
}
