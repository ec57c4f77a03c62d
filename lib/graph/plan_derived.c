/*
 * lib/graph/plan_derived.c - forms of parameters that the store keeps: casts, and what kernels make of a weight once
 *
 * A form is made before a run when its source has changed since; casts first, for a kernel may keep a form of a cast. What a kernel
 * keeps depends on the kernel and on how it sees the operand, so the entry's name says both; plans that agree share it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan_parts.h"

/* --- casts --- */

/* A graph of one node, its cast, so that a derived form is made as anything else is. */
static int make_cast(struct plan *p, struct plan_derived *d)
{
	struct store_entry *e = d->entry;
	struct tensor *from = graph_entry(p->g, e->source);
	struct tensor *to = from ? op_cast(p->g, from, e->dtype) : NULL;

	if (!to)
		return graph_check(p->g);
	return plan_make_step(p, to->node, &d->step);
}

static bool is_cast(const struct node *n)
{
	return n->op == OP_PARAMETER && tensor_entry(n->out[0])->source;
}

int plan_find_casts(struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_order; i++)
		n += is_cast(p->order[i]);
	p->derived = mem_new(n + 1, sizeof(*p->derived));
	if (!p->derived)
		return -1;
	for (size_t i = 0; i < p->n_order; i++) {
		if (!is_cast(p->order[i]))
			continue;
		p->derived[p->n_derived].entry = tensor_entry(p->order[i]->out[0]);
		if (make_cast(p, &p->derived[p->n_derived++]) < 0)
			return -1;
	}
	return 0;
}

/* --- what kernels keep --- */

/* Of the kernel, its attributes, the caches that it goes by, and the operand as it sees it. */
static uint64_t form_key(const struct plan_step *s, int in)
{
	struct kernel_tensor t = s->in[in];
	size_t size = op_info(s->node->op)->attributes;
	uint64_t key[4 + 2 * KERNEL_AXES] = { (uintptr_t)s->kernel, s->node->in[in]->offset };

	for (int i = 0; i < t.n_axes; i++) {
		key[2 + i] = t.shape[i];
		key[2 + KERNEL_AXES + i] = (uint64_t)t.stride[i];
	}
	key[2 + 2 * KERNEL_AXES] = size ? hash_short(s->call.attributes, size, 0) : 0;
	key[3 + 2 * KERNEL_AXES] = hash_short(s->call.caches, sizeof(*s->call.caches), 0);
	return hash_short(key, sizeof(key), 0);
}

/* The step's form of its operand IN, a parameter. */
static int keep(struct plan *p, struct plan_step *s, int in, size_t bytes)
{
	struct store_entry *source = tensor_entry(s->node->in[in]->base);

	s->form = store_form(p->g->store, source, form_key(s, in), bytes);
	if (!s->form)
		return -1;
	for (size_t i = 0; i < p->n_forms; i++)
		if (p->forms[i]->form == s->form)
			return 0;
	p->forms[p->n_forms++] = s;
	return 0;
}

/* A product that was told to keep its weight so. */
static bool asks_for_form(const struct node *n)
{
	return n->op == OP_MATMUL && ((const struct matmul_attributes *)n->attributes)->pack;
}

int plan_find_kept(struct plan *p)
{
	p->forms = mem_new(p->n_steps + 1, sizeof(*p->forms));
	if (!p->forms)
		return -1;
	for (size_t i = 0; i < p->n_steps; i++) {
		struct plan_step *s = &p->steps[i];
		int in = 0;
		size_t bytes = s->kernel->kept ? s->kernel->kept(&s->call, &in) : 0;

		s->kept_bytes = bytes;
		if (bytes && (p->options.keep || asks_for_form(s->node)) &&
		    s->node->in[in]->base->node->op == OP_PARAMETER && keep(p, s, in, bytes) < 0)
			return -1;
	}
	return 0;
}

/* --- before a run --- */

static bool is_stale(const struct store_entry *e)
{
	return e->source_version != e->source->version;
}

static void run_casts(void *arg, int part, int parts)
{
	struct plan *p = arg;

	for (size_t i = 0; i < p->n_derived; i++)
		if (p->derived[i].step.where == PLAN_HOST && is_stale(p->derived[i].entry))
			plan_run_step(p, &p->derived[i].step, part, parts, PLAN_PHASES_ALL);
}

static void run_forms(void *arg, int part, int parts)
{
	struct plan *p = arg;

	for (size_t i = 0; i < p->n_forms; i++)
		if (p->forms[i]->where == PLAN_HOST && is_stale(p->forms[i]->form))
			plan_run_step(p, p->forms[i], part, parts, PLAN_PHASES_KEPT);
}

/* Those of a device, and that E now has the values of its source. */
static void make(struct plan *p, const struct plan_step *s, struct store_entry *e,
		 enum plan_phases which)
{
	if (!is_stale(e))
		return;
	e->source_version = e->source->version;
	if (s->where == PLAN_HOST) {
		store_touch(e);
		return;
	}
	plan_launch(p, s, which);
	store_touch_device(e);
}

static bool any_stale(const struct plan *p)
{
	for (size_t i = 0; i < p->n_derived; i++)
		if (is_stale(p->derived[i].entry))
			return true;
	for (size_t i = 0; i < p->n_forms; i++)
		if (is_stale(p->forms[i]->form))
			return true;
	return false;
}

int plan_refresh(struct plan *p)
{
	if (!any_stale(p))
		return 0;
	plan_on_team(p, run_casts);
	for (size_t i = 0; i < p->n_derived; i++)
		make(p, &p->derived[i].step, p->derived[i].entry, PLAN_PHASES_ALL);
	/* A cast made in one memory may be needed in the other. */
	if (p->options.backend->device && plan_allocate(p) < 0)
		return -1;
	plan_on_team(p, run_forms);
	for (size_t i = 0; i < p->n_forms; i++)
		make(p, p->forms[i], p->forms[i]->form, PLAN_PHASES_KEPT);
	return 0;
}
