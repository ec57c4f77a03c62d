/* lib/eval/census.c - what a plan computes and moves, op by op */

#include "lib/eval/census.h"

#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/graph/cost.h"

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

/* --- chains --- */

#define NOWHERE (-1)

struct chains {
	int *made_in;  /* by a base tensor's id: the chain that makes it, or NOWHERE */
	int *read_in;  /* the last chain that was found to read it */
	bool *outside; /* it is used after the chain that makes it */
};

static void mark_uses(struct chains *c, const struct plan_node_stats *s)
{
	for (int i = 0; i < s->node->n_in; i++) {
		const struct tensor *t = s->node->in[i];

		if (t && c->made_in[t->base->id] != s->chain)
			c->outside[t->base->id] = true;
	}
	for (int i = 0; i < s->node->n_out; i++)
		c->made_in[s->node->out[i]->base->id] = s->chain;
}

static int find_chains(struct chains *c, const struct plan *p, const struct graph *g)
{
	size_t n = graph_n_tensors(g) + 1;

	c->made_in = mem_new(n, sizeof(*c->made_in));
	c->read_in = mem_new(n, sizeof(*c->read_in));
	c->outside = mem_new(n, sizeof(*c->outside));
	if (!c->made_in || !c->read_in || !c->outside)
		return -1;
	for (size_t i = 0; i < n; i++)
		c->made_in[i] = c->read_in[i] = NOWHERE;
	for (size_t i = 0; i < plan_n_steps(p); i++) {
		struct plan_node_stats s = plan_step(p, i);

		mark_uses(c, &s);
	}
	for (size_t i = 0; i < graph_n_outputs(g); i++)
		c->outside[graph_output_at(g, i, NULL)->base->id] = true;
	return 0;
}

static double step_bytes(struct chains *c, const struct plan_node_stats *s)
{
	double bytes = 0;

	if (s->chain == NOWHERE)
		return s->bytes;
	for (int i = 0; i < s->node->n_in; i++) {
		uint32_t id = s->node->in[i] ? s->node->in[i]->base->id : 0;

		if (!s->node->in[i] || c->made_in[id] == s->chain || c->read_in[id] == s->chain)
			continue;
		c->read_in[id] = s->chain;
		bytes += cost_in_bytes(s->node, i);
	}
	for (int i = 0; i < s->node->n_out; i++)
		if (c->outside[s->node->out[i]->base->id])
			bytes += cost_out_bytes(s->node, i);
	return bytes;
}

static void count(struct census_row *all, struct chains *c, const struct plan *p)
{
	for (size_t i = 0; i < plan_n_steps(p); i++) {
		struct plan_node_stats s = plan_step(p, i);
		enum census_part part = census_part_of(s.node);
		struct census_row *r = &all[(size_t)part * OP_COUNT + s.node->op];

		r->op = s.node->op;
		r->part = part;
		r->nodes++;
		r->operations += s.operations;
		r->bytes += step_bytes(c, &s);
	}
}

int census_collect(const struct plan *p, const struct graph *g, struct census_row **rows, size_t *n)
{
	struct census_row *all = mem_new(3 * OP_COUNT, sizeof(*all));
	struct chains c = { 0 };
	int result = all ? find_chains(&c, p, g) : -1;

	*n = 0;
	if (result == 0)
		count(all, &c, p);
	for (size_t i = 0; result == 0 && i < 3 * OP_COUNT; i++)
		if (all[i].nodes)
			all[(*n)++] = all[i];
	free(c.made_in);
	free(c.read_in);
	free(c.outside);
	if (result < 0) {
		free(all);
		all = NULL;
	}
	*rows = all;
	return result;
}
