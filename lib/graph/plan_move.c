/*
 * lib/graph/plan_move.c - where each tensor is current, the host or the device, and the moves between
 *
 * Steps are walked in their order with the state of every base tensor's two copies, as a cache's protocol does: a step that
 * reads what is not current where it runs has a move before it, a step that writes makes the other copy stale. What the host
 * must know during a run (lengths and counts) is read there; outputs are moved there at the end. Inputs are moved first, so
 * that what lies between them and the outputs is launches alone, and can be captured.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

static const struct kernel move_kernels[PLAN_WHERES] = {
	[PLAN_HOST] = { .op = "copy", .variant = "download" },
	[PLAN_DEVICE] = { .op = "copy", .variant = "upload" },
};

struct mover {
	struct plan *p;
	bool *current[PLAN_WHERES]; /* by a base tensor's id */
	struct plan_step *steps;    /* the new list */
	size_t n, capacity;
};

static bool append(struct mover *m, const struct plan_step *s)
{
	if (mem_grow(&m->steps, &m->capacity, m->n + 1, sizeof(*m->steps)) < 0)
		return false;
	m->steps[m->n++] = *s;
	return true;
}

/* BASE is current at WHERE, by a move when it is not. What is current nowhere was never written: nothing is moved. */
static bool need(struct mover *m, const struct tensor *base, enum plan_where where)
{
	size_t size = 0;
	bool done = m->current[where][base->id];

	if (done || !m->current[!where][base->id])
		return true;
	dtype_size(base->dtype, shape_elements(&base->shape), &size);
	m->current[where][base->id] = true;
	return append(m, &(struct plan_step){ .node = base->node,
					      .moved = base,
					      .where = where,
					      .kernel = &move_kernels[where],
					      .backend = m->p->options.backend->name,
					      .scratch = NOWHERE,
					      .kept = NOWHERE,
					      .segment = NOWHERE,
					      .bytes = (double)size });
}

static bool need_rows(struct mover *m, const struct tensor *t)
{
	return !t->rows || need(m, t->rows->base, PLAN_HOST);
}

static bool need_operands(struct mover *m, const struct plan_step *s)
{
	const struct node *n = s->node;

	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && (!need(m, n->in[i]->base, s->where) || !need_rows(m, n->in[i])))
			return false;
	for (int i = 0; i < n->n_out; i++)
		if (!need_rows(m, n->out[i]))
			return false;
	return !n->count || need(m, n->count->base, PLAN_HOST);
}

static void wrote(struct mover *m, const struct plan_step *s)
{
	const struct node *n = s->node;

	for (int i = 0; i < n->n_out; i++) {
		const struct tensor *base = n->out[i]->base;

		m->current[s->where][base->id] = true;
		m->current[!s->where][base->id] = false;
		if (base->node->op == OP_PARAMETER)
			m->p->updated[s->where][base->id] = true;
	}
}

static bool start(struct mover *m)
{
	struct plan *p = m->p;

	for (size_t i = 0; i < p->n_order; i++) {
		const struct node *n = p->order[i];
		bool both = n->op == OP_PARAMETER || n->op == OP_CONSTANT;

		if (n->op != OP_INPUT && !both)
			continue;
		m->current[PLAN_HOST][n->out[0]->id] = true;
		m->current[PLAN_DEVICE][n->out[0]->id] = both;
	}
	/* Inputs that the device reads. */
	for (size_t i = 0; i < p->n_steps; i++)
		for (int j = 0; p->steps[i].where == PLAN_DEVICE && j < p->steps[i].node->n_in;
		     j++) {
			const struct tensor *t = p->steps[i].node->in[j];

			if (t && t->base->node->op == OP_INPUT && !need(m, t->base, PLAN_DEVICE))
				return false;
		}
	p->device_from = m->n;
	return true;
}

static bool walk(struct mover *m)
{
	struct plan *p = m->p;

	if (!start(m))
		return false;
	for (size_t i = 0; i < p->n_steps; i++) {
		if (!need_operands(m, &p->steps[i]) || !append(m, &p->steps[i]))
			return false;
		wrote(m, &p->steps[i]);
	}
	p->device_to = m->n;
	for (size_t i = 0; i < p->g->n_names; i++)
		if (p->g->names[i].output && !need(m, p->g->names[i].tensor->base, PLAN_HOST))
			return false;
	return true;
}

/* Parameters that a run updates, where their last values are. */
static void keep_updated(struct mover *m)
{
	for (size_t i = 0; i < m->p->g->n_tensors; i++) {
		bool any = m->p->updated[PLAN_HOST][i] || m->p->updated[PLAN_DEVICE][i];

		for (int w = 0; w < PLAN_WHERES; w++)
			m->p->updated[w][i] = any && m->current[w][i];
	}
}

static int use_steps(struct mover *m)
{
	struct plan *p = m->p;

	/* Calls point into their steps. */
	for (size_t i = 0; i < m->n; i++) {
		m->steps[i].call.in = m->steps[i].in;
		m->steps[i].call.out = m->steps[i].out;
	}
	free(p->steps);
	p->steps = m->steps;
	p->n_steps = m->n;
	m->steps = NULL;
	for (size_t i = p->device_from; i < p->device_to; i++)
		if (p->steps[i].where != PLAN_DEVICE || p->steps[i].moved)
			p->device_to = p->device_from;
	return 0;
}

int plan_moves(struct plan *p)
{
	struct mover m = { .p = p };
	size_t n = p->g->n_tensors + 1;
	int result = -1;

	for (int w = 0; w < PLAN_WHERES; w++) {
		m.current[w] = mem_new(n, sizeof(bool));
		p->updated[w] = mem_new(n, sizeof(bool));
		if (!m.current[w] || !p->updated[w])
			goto done;
	}
	if (!walk(&m))
		goto done;
	keep_updated(&m);
	result = use_steps(&m);
done:
	for (int w = 0; w < PLAN_WHERES; w++)
		free(m.current[w]);
	free(m.steps);
	return result;
}
