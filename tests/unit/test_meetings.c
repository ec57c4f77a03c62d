/* tests/unit/test_meetings.c - where threads meet between steps, and where they need not */

#include <string.h>

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

/* Two small chains, each into a state of the store: a chain is one part's, and the two go to two parts. */
static void two_chains(void)
{
	struct store *store;
	struct graph *g;
	struct plan *p;
	struct team *team;
	const struct plan_step *of[2][2] = { { NULL } };
	size_t n[2] = { 0, 0 };

	tap_works(store_new(&store), "a store");
	tap_works(graph_new(&g, store, &(struct graph_options){ .compute = DTYPE_F32 }), "a graph");
	tap_works(team_new(&team, 2), "a team");
	for (int i = 0; i < 2; i++) {
		struct tensor *x = graph_input(g, i ? "y" : "x", DTYPE_F32, SHAPE(4));
		struct store_entry *sum =
			store_add(store, i ? "t" : "s", STORE_STATE, DTYPE_F32, &SHAPE(4));

		op_accumulate(g, graph_entry(g, sum), op_exp(g, x));
	}
	tap_works(plan_new(&p, g, &(struct plan_options){ .team = team, .backend = backend_cpu() }),
		  "a plan");
	for (size_t i = 0; i < p->n_steps; i++) {
		size_t chain = p->steps[i].node->op == OP_EXP ? n[0] : n[1];

		if (chain < 2)
			of[chain][p->steps[i].node->op != OP_EXP] = &p->steps[i];
		n[p->steps[i].node->op != OP_EXP]++;
	}
	if (tap_ok(n[0] == 2 && n[1] == 2, "two chains of two steps")) {
		for (int i = 0; i < 2; i++) {
			tap_ok(of[i][0]->serial && of[i][1]->serial, "small steps are one part's");
			tap_ok(of[i][0]->alone == of[i][1]->alone && !of[i][1]->barrier,
			       "who made it goes on with it");
		}
		tap_ok(of[0][0]->alone != of[1][0]->alone, "two chains go to two parts");
	}
	plan_free(p);
	graph_free(g);
	store_free(store);
	team_free(team);
}

/* What two parts read, each alone, is updated only after a meeting. */
static void two_readers(void)
{
	struct store *store;
	struct graph *g;
	struct plan *p;
	struct team *team;
	struct tensor *sum[3];
	static const char *const names[] = { "s", "t", "u" };

	tap_works(store_new(&store), "a store");
	tap_works(graph_new(&g, store, &(struct graph_options){ .compute = DTYPE_F32 }), "a graph");
	tap_works(team_new(&team, 2), "a team");
	for (int i = 0; i < 3; i++)
		sum[i] = graph_entry(g,
				     store_add(store, names[i], STORE_STATE, DTYPE_F32, &SHAPE(4)));
	op_accumulate(g, sum[1], op_exp(g, sum[0]));
	op_accumulate(g, sum[2], op_neg(g, sum[0]));
	op_accumulate(g, sum[0], graph_input(g, "x", DTYPE_F32, SHAPE(4)));
	tap_works(plan_new(&p, g, &(struct plan_options){ .team = team, .backend = backend_cpu() }),
		  "a plan");
	tap_ok(step_of(p, OP_EXP)->alone != step_of(p, OP_NEG)->alone, "two parts read");
	tap_ok(p->steps[p->n_steps - 1].node->in[0]->base == sum[0]->base &&
		       p->steps[p->n_steps - 1].barrier,
	       "and meet before the update");
	plan_free(p);
	graph_free(g);
	store_free(store);
	team_free(team);
}

/* Each part has written the output of S, which is the same, to memory of its own. */
static void check_copies(struct plan *p, const struct plan_step *s)
{
	struct kernel_tensor in[2][KERNEL_TENSORS], out[2][KERNEL_TENSORS];

	for (int part = 0; part < 2; part++) {
		struct kernel_call c = s->call;

		plan_own_operands(p, s, part, &c, in[part], out[part]);
	}
	tap_ok(out[0][0].data != out[1][0].data, "parts have memory of their own");
	tap_ok(memcmp(out[0][0].data, out[1][0].data, SIDE * sizeof(float)) == 0 &&
		       *(float *)out[1][0].data != 0,
	       "and all have written to theirs");
}

/* A norm of one row, which a product reads: nothing is waited for between them. */
static void own(unsigned without, bool meets, const char *what)
{
	struct store *store;
	struct graph *g;
	struct plan *p;
	struct team *team;
	struct tensor *x, *w;

	tap_works(store_new(&store), "a store");
	tap_works(graph_new(&g, store, &(struct graph_options){ .compute = DTYPE_F32 }), "a graph");
	tap_works(team_new(&team, 2), "a team");
	x = graph_input(g, "x", DTYPE_F32, SHAPE(1, SIDE));
	w = graph_input(g, "w", DTYPE_F32, SHAPE(SIDE, SIDE));
	graph_output(g, op_matmul(g, op_rms_norm(g, op_exp(g, x), NULL, 1e-6), w), "y");
	tap_works(plan_new(&p, g,
			   &(struct plan_options){
				   .team = team, .backend = backend_cpu(), .without = without }),
		  "a plan");
	tap_ok(step_of(p, OP_EXP)->own != meets && step_of(p, OP_RMS_NORM)->own != meets,
	       "%s: each part makes small steps for itself: %s", what, meets ? "no" : "yes");
	tap_ok(!step_of(p, OP_RMS_NORM)->barrier, "%s: a chain of them has no meetings", what);
	check(p, OP_MATMUL, meets, what);
	tap_works(plan_run(p, 0, 0), "a run");
	if (!meets)
		check_copies(p, step_of(p, OP_RMS_NORM));
	plan_free(p);
	graph_free(g);
	store_free(store);
	team_free(team);
}

int main(void)
{
	two_chains();
	two_readers();
	own(0, false, "small steps");
	own(PLAN_OWN, true, "small steps without the pass");
	planned(0, true, "a result over what another step reads");
	planned(PLAN_IN_PLACE, false, "a result of its own");
	planned(PLAN_MEETINGS, true, "without the pass");
	return tap_done();
}
