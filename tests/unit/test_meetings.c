/* tests/unit/test_meetings.c - where threads meet between steps, and where they need not */

#include "lib/graph/backend.h"
#include "lib/graph/graph.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan_parts.h"
#include "tests/tap.h"

#define SIDE 128

/* The step that runs OP; NULL: none does. */
static const struct plan_step *step_of(const struct plan *p, enum op op)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].node->op == op && !p->steps[i].moved)
			return &p->steps[i];
	return NULL;
}

static void check(const struct plan *p, enum op op, bool meets, const char *what)
{
	const struct plan_step *s = step_of(p, op);

	tap_ok(s && !s->serial, "%s: %s is shared", what, op_info(op)->name);
	tap_ok(s && s->barrier == meets, "%s: threads %s before %s", what, meets ? "meet" : "go on",
	       op_info(op)->name);
}

/*
 * h = e^x; y = h h, of which each part reads all rows; z = -h, over h where that is allowed; w = sigmoid(u), which has to do with none.
 */
static void planned(unsigned without, bool meets_neg, const char *what)
{
	struct store *store;
	struct graph *g;
	struct plan *p;
	struct team *team;
	struct tensor *x, *u, *h, *z;

	tap_works(store_new(&store), "a store");
	tap_works(graph_new(&g, store, &(struct graph_options){ .compute = DTYPE_F32 }), "a graph");
	tap_works(team_new(&team, 2), "a team");
	x = graph_input(g, "x", DTYPE_F32, SHAPE(SIDE, SIDE));
	u = graph_input(g, "u", DTYPE_F32, SHAPE(SIDE, SIDE));
	h = op_exp(g, x);
	graph_output(g, op_matmul(g, h, h), "y");
	z = op_neg(g, h);
	graph_output(g, z, "z");
	graph_output(g, op_sigmoid(g, u), "w");
	tap_works(plan_new(&p, g,
			   &(struct plan_options){ .team = team,
						   .backend = backend_cpu(),
						   .without = without | PLAN_SEGMENTS }),
		  "a plan");
	check(p, OP_MATMUL, true, what);
	check(p, OP_NEG, meets_neg, what);
	check(p, OP_SIGMOID, (without & PLAN_MEETINGS) != 0, what);
	plan_free(p);
	graph_free(g);
	store_free(store);
	team_free(team);
}

int main(void)
{
	planned(0, true, "a result over what another step reads");
	planned(PLAN_IN_PLACE, false, "a result of its own");
	planned(PLAN_MEETINGS, true, "without the pass");
	return tap_done();
}
