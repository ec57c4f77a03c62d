/*
 * lib/graph/plan_own.c - what is too small to share every thread makes for itself
 *
 * A small step that one part alone runs has two meetings, before it and before the shared step that reads it. Run by every part, into
 * memory of its part, it has the first only: a norm of one row goes with the products that read it, a gate with the product behind
 * it. Nothing is lost by it, for the others would have waited. Bits are the same, since the kernel has the whole of the step
 * either way.
 *
 * What is read by steps of one part only gains nothing (keys and values on their way into the cache); what is updated in place, or
 * says how many rows there are, is one for all.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

/* By a base tensor's id: that all parts must have the same memory of it. */
static void mark_common(const struct plan *p, bool *common)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct node *n = p->steps[i].node;

		for (int j = 0; j < n->n_in; j++) {
			if (!n->in[j])
				continue;
			if (op_info(n->op)->in_place >> j & 1)
				common[n->in[j]->base->id] = true;
			if (n->in[j]->rows)
				common[n->in[j]->rows->base->id] = true;
		}
		for (int j = 0; j < n->n_out; j++)
			if (n->out[j]->rows)
				common[n->out[j]->rows->base->id] = true;
		if (n->count)
			common[n->count->base->id] = true;
	}
}

static bool may_be_own(const struct plan_step *s, const bool *common)
{
	const struct node *n = s->node;

	if (!s->serial || s->segment != NOWHERE || s->kept_bytes || n->count)
		return false;
	for (int j = 0; j < n->n_out; j++)
		if (n->out[j]->base != n->out[j] || common[n->out[j]->id])
			return false;
	return true;
}

static bool reads_any(const struct node *n, const bool *marked)
{
	for (int j = 0; j < n->n_in; j++)
		if (n->in[j] && marked[n->in[j]->base->id])
			return true;
	return false;
}

static bool makes_any(const struct node *n, const bool *marked)
{
	for (int j = 0; j < n->n_out; j++)
		if (marked[n->out[j]->base->id])
			return true;
	return false;
}

static void make_own(struct plan *p, size_t i)
{
	struct plan_step *s = &p->steps[i];

	s->own = true;
	s->serial = false;
	s->call.parts = 1;
	s->barrier = true;
	if (i + 1 < p->n_steps)
		s[1].barrier = true;
}

/* From the last step to the first: WANTED is what shared steps read, and those that parts run for themselves. */
static void find_own(struct plan *p, const bool *common, bool *wanted)
{
	for (size_t i = p->n_steps; i-- > 0;) {
		const struct plan_step *s = &p->steps[i];

		if (may_be_own(s, common) && makes_any(s->node, wanted))
			make_own(p, i);
		for (int j = 0; j < s->node->n_in && !s->serial; j++)
			if (s->node->in[j])
				wanted[s->node->in[j]->base->id] = true;
	}
}

static void find_readers(struct plan *p, bool *own)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		struct plan_step *s = &p->steps[i];

		s->reads_own = reads_any(s->node, own);
		for (int j = 0; j < s->node->n_out && s->own; j++)
			own[s->node->out[j]->id] = true;
	}
}

int plan_own(struct plan *p)
{
	bool *common, *wanted, *own;
	size_t n = p->g->n_tensors + 1;

	if (plan_n_parts(p) == 1 || p->options.backend->device || p->options.guard)
		return 0;
	common = mem_new(3 * n, sizeof(*common));
	if (!common)
		return -1;
	wanted = common + n;
	own = wanted + n;
	mark_common(p, common);
	find_own(p, common, wanted);
	find_readers(p, own);
	free(common);
	return 0;
}

/* T is of part PART, where parts have memory of their own. */
static void shift(const struct plan *p, const struct tensor *t, int part, struct kernel_tensor *k)
{
	uint32_t place = t ? p->place_of[PLAN_HOST][t->base->id] : NOWHERE;

	if (place != NOWHERE)
		k->data = (char *)k->data + (size_t)part * p->places[place].own;
}

void plan_own_operands(const struct plan *p, const struct plan_step *s, int part,
		       struct kernel_call *c, struct kernel_tensor *in, struct kernel_tensor *out)
{
	if (c->in != in) {
		memcpy(in, s->in, (size_t)c->n_in * sizeof(*in));
		memcpy(out, s->out, (size_t)c->n_out * sizeof(*out));
		c->in = in;
		c->out = out;
	}
	if (s->own && s->scratch != NOWHERE)
		c->scratch = (char *)c->scratch + (size_t)part * p->places[s->scratch].own;
	for (int i = 0; i < s->node->n_in; i++)
		shift(p, s->node->in[i], part, &in[i]);
	for (int i = 0; i < s->node->n_out; i++)
		shift(p, s->node->out[i], part, &out[i]);
}
