/*
 * lib/graph/plan_run.c - a plan's steps by a team, in one parallel region
 */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/graph/plan_parts.h"

/* Draws go by the first member of the attributes. */
void plan_set_key(const struct plan *p, const struct node *n, uint32_t *key)
{
	struct random_stream r;
	uint64_t scope;

	if (!(op_info(n->op)->flags & OP_RANDOM))
		return;
	memcpy(&scope, n->attributes, sizeof(scope));
	r = random_at(p->seed, p->step, scope);
	memcpy(key, r.key, sizeof(r.key));
}

int32_t plan_scalar(const struct plan *p, const struct tensor *t)
{
	int32_t value;

	memcpy(&value, plan_pointer(p, t, PLAN_HOST), sizeof(value));
	return value;
}

/* T's operand K, cut to the rows that there are. */
static void cut_rows(const struct plan *p, const struct tensor *t, bool elementwise,
		     const struct tensor *rows, struct kernel_tensor *k)
{
	const struct tensor *r = t->rows ? t->rows : elementwise ? rows : NULL;
	int64_t n;

	if (!r || k->n_axes == 0)
		return;
	n = plan_scalar(p, r);
	if (n < (int64_t)k->shape[0])
		k->shape[0] = n < 0 ? 0 : (size_t)n;
}

void plan_cut_operands(const struct plan *p, const struct plan_step *s, struct kernel_call *c,
		       struct kernel_tensor *in, struct kernel_tensor *out)
{
	const struct node *n = s->node;
	bool elementwise = op_info(n->op)->flags & OP_ELEMENTWISE;
	const struct tensor *rows = n->out[0]->rows;

	memcpy(in, s->in, sizeof(s->in));
	memcpy(out, s->out, sizeof(s->out));
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i])
			cut_rows(p, n->in[i], elementwise, rows, &in[i]);
	for (int i = 0; i < n->n_out; i++)
		cut_rows(p, n->out[i], elementwise, rows, &out[i]);
	c->in = in;
	c->out = out;
	c->rows = out[0].n_axes ? out[0].shape[0] : 1;
}

static void run_phases(struct plan *p, const struct plan_step *s, struct kernel_call *c,
		       enum plan_phases which)
{
	int phases = kernel_phases(s->kernel, c);
	int first = which == PLAN_PHASES_ALL && s->form ? 1 : 0;

	if (which == PLAN_PHASES_KEPT)
		phases = 1;
	for (c->phase = first; c->phase < phases; c->phase++) {
		if (c->phase > first && c->parts > 1)
			spin_barrier_wait(&p->barrier, c->parts);
		s->kernel->run(c);
	}
}

void plan_run_step(struct plan *p, const struct plan_step *s, int part, int parts,
		   enum plan_phases which)
{
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	struct kernel_call c;

	if (s->serial && part != s->alone)
		return;
	if (s->node->count && s->node->iteration >= plan_scalar(p, s->node->count) &&
	    which == PLAN_PHASES_ALL)
		return;
	c = s->call;
	if (s->own || s->serial) {
		c.part = 0;
		c.parts = 1;
	} else {
		c.part = part;
		c.parts = parts;
	}
	if (s->dynamic)
		plan_cut_operands(p, s, &c, in, out);
	if (s->own || s->reads_own)
		plan_own_operands(p, s, part, &c, in, out);
	plan_set_key(p, s->node, c.key);
	run_phases(p, s, &c, which);
}

/* Step I, or its whole chain; which is next. */
static size_t run_next(struct plan *p, size_t i, int part, int parts)
{
	uint32_t segment = p->steps[i].segment;

	if (segment != NOWHERE) {
		plan_run_segment(p, &p->segments[segment], part, parts);
		return p->segments[segment].to;
	}
	plan_run_step(p, &p->steps[i], part, parts, PLAN_PHASES_ALL);
	return i + 1;
}

/* Steps that the host runs. */
struct host_run {
	struct plan *p;
	size_t from, to;
};

static void run_part(void *arg, int part, int parts)
{
	struct host_run *r = arg;
	struct plan *p = r->p;

	for (size_t i = r->from; i < r->to;) {
		if (p->steps[i].barrier && i > r->from && parts > 1)
			spin_barrier_wait(&p->barrier, parts);
		i = run_next(p, i, part, parts);
	}
}

/* With a meeting after every step, so that a step's time is its own. */
static void run_measured(void *arg, int part, int parts)
{
	struct host_run *r = arg;
	struct plan *p = r->p;

	for (size_t i = r->from, next; i < r->to; i = next) {
		uint64_t start = clock_ns();

		next = run_next(p, i, part, parts);
		if (parts > 1)
			spin_barrier_wait(&p->barrier, parts);
		if (part == 0 && p->steps[i].segment == NOWHERE) {
			p->steps[i].seconds += clock_seconds(start, clock_ns());
			p->steps[i].runs++;
		}
	}
}

static void on_team(struct plan *p, void (*fn)(void *arg, int part, int parts), void *arg)
{
	if (p->options.team)
		team_run(p->options.team, fn, arg);
	else
		fn(arg, 0, 1);
}

void plan_run_host(struct plan *p, size_t from, size_t to)
{
	struct host_run r = { p, from, to };

	on_team(p, p->measuring ? run_measured : run_part, &r);
}

void plan_on_team(struct plan *p, void (*fn)(void *arg, int part, int parts))
{
	on_team(p, fn, p);
}

static void touch_updated(struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct node *n = p->steps[i].node;

		for (int j = 0; j < n->n_in; j++)
			if ((op_info(n->op)->in_place >> j & 1) && tensor_entry(n->in[j]))
				store_touch(tensor_entry(n->in[j]));
	}
}

int plan_run(struct plan *p, uint64_t seed, uint64_t step)
{
	if (plan_allocate(p) < 0)
		return -1;
	p->seed = seed;
	p->step = step;
	if (plan_refresh(p) < 0)
		return -1;
	if (p->options.backend->device)
		return plan_run_device(p);
	plan_run_host(p, 0, p->n_steps);
	touch_updated(p);
	return 0;
}

void plan_measure(struct plan *p, bool on)
{
	p->measuring = on;
}
