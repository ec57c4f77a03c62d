/*
 * lib/graph/plan.c - a graph becomes a plan: the passes in their order, the memory, what is told of it
 */
#include "lib/graph/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/machine.h"
#include "lib/base/memory.h"
#include "lib/base/size.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan_parts.h"

/* --- making --- */

static int take_nodes(struct plan *p)
{
	p->order = mem_new(p->g->n_nodes + 1, sizeof(*p->order));
	if (!p->order)
		return -1;
	memcpy(p->order, p->g->nodes, p->g->n_nodes * sizeof(*p->order));
	p->n_order = p->g->n_nodes;
	return 0;
}

static int passes(struct plan *p)
{
	unsigned without = p->options.without;

	if (plan_order(p) < 0)
		return -1;
	if (p->options.recompute && plan_recompute(p) < 0)
		return -1;
	if (!(without & PLAN_FOLD) && plan_fold(p) < 0)
		return -1;
	if (!(without & PLAN_MERGE) && plan_merge(p) < 0)
		return -1;
	if (!(without & PLAN_EPILOGUE) && plan_epilogues(p) < 0)
		return -1;
	if (plan_order(p) < 0 || plan_steps(p) < 0)
		return -1;
	if (p->options.backend->device && plan_moves(p) < 0)
		return -1;
	if (plan_find_kept(p) < 0)
		return -1;
	if (!(without & PLAN_SEGMENTS) && plan_segments(p) < 0)
		return -1;
	if (!(without & PLAN_OWN) && plan_own(p) < 0)
		return -1;
	return plan_places(p);
}

static int too_much(const struct plan *p, uint64_t total, uint64_t most, const char *where)
{
	return err_set(ERR_LIMIT,
		       "%" PRIu64 " bytes %s are needed, %" PRIu64
		       " allowed: activations and workspace take %" PRIu64
		       " of it (a smaller micro-batch, shorter rows or recomputation lower them)",
		       total, where, most, p->arena_size[PLAN_HOST] + p->arena_size[PLAN_DEVICE]);
}

static int check_memory(const struct plan *p)
{
	struct device *d = p->options.backend->device;
	uint64_t total = plan_bytes_total(p), available = d ? d->available(d) : 0;

	if (p->options.memory && total > p->options.memory)
		return too_much(p, total, p->options.memory, "of memory");
	if (d && p->arena_size[PLAN_DEVICE] > available)
		return too_much(p, p->arena_size[PLAN_DEVICE], available, "of the device's memory");
	return 0;
}

static int choose_backend(struct plan *p)
{
	if (!p->options.backend && !(p->options.backend = backend_cpu()))
		return -1;
	if (!p->options.backend->device)
		return 0;
	p->host = backend_cpu();
	return p->host ? 0 : -1;
}

static void set_caches(struct plan *p)
{
	struct machine_caches m = machine_cache_shares();

	p->caches = (struct kernel_caches){ .l1 = m.l1, .l2 = m.l2, .l3 = m.l3 };
	if (p->options.caches)
		p->caches = *p->options.caches;
	p->options.caches = NULL;
}

int plan_new(struct plan **out, struct graph *g, const struct plan_options *o)
{
	struct plan *p;

	*out = NULL;
	if (graph_check(g) < 0)
		return -1;
	if (g->planned)
		return err_set(ERR_ARGUMENT, "the graph has a plan already");
	p = mem_new(1, sizeof(*p));
	if (!p)
		return -1;
	g->planned = true;
	p->g = g;
	if (o)
		p->options = *o;
	set_caches(p);
	p->arena = p->options.arena ? p->options.arena : &p->own;
	spin_barrier_init(&p->barrier);
	if (choose_backend(p) < 0 || take_nodes(p) < 0 || passes(p) < 0 || plan_find_casts(p) < 0 ||
	    check_memory(p) < 0) {
		plan_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	plan_release(p);
	free(p->order);
	free(p->steps);
	free(p->places);
	for (int w = 0; w < PLAN_WHERES; w++) {
		free(p->place_of[w]);
		free(p->updated[w]);
	}
	free(p->derived);
	free(p->forms);
	free(p->segments);
	free(p);
}

/* --- what is told --- */

static enum plan_memory kind_of(const struct store_entry *e)
{
	switch (e->kind) {
	case STORE_PARAMETER: return PLAN_WEIGHTS;
	case STORE_STATE: return PLAN_STATE;
	case STORE_GRADIENT: return PLAN_GRADIENTS;
	case STORE_CACHE: return PLAN_CACHE;
	case STORE_DERIVED: return PLAN_DERIVED;
	}
	return PLAN_WEIGHTS;
}

static uint64_t activations(const struct plan *p)
{
	uint64_t size = p->arena_size[PLAN_HOST] + p->arena_size[PLAN_DEVICE];

	return size > p->scratch_size ? size - p->scratch_size : 0;
}

uint64_t plan_bytes(const struct plan *p, enum plan_memory kind)
{
	uint64_t bytes = 0;

	if (kind == PLAN_WORKSPACE)
		return p->scratch_size;
	if (kind == PLAN_ACTIVATIONS)
		return activations(p);
	for (size_t i = 0; i < p->g->n_parameters; i++) {
		const struct tensor *t = p->g->parameters[i];

		if (t && kind_of(tensor_entry(t)) == kind)
			bytes += tensor_entry(t)->size;
	}
	for (size_t i = 0; kind == PLAN_DERIVED && i < p->n_forms; i++)
		bytes += p->forms[i]->form->size;
	return bytes;
}

uint64_t plan_bytes_total(const struct plan *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
		bytes += plan_bytes(p, (enum plan_memory)i);
	return bytes;
}

size_t plan_n_lives(const struct plan *p)
{
	return p->n_places;
}

struct plan_life plan_life(const struct plan *p, size_t i)
{
	const struct place *x = &p->places[i];

	return (struct plan_life){ x->tensor, x->first, x->last, x->offset, x->offset + x->size };
}

void *plan_data(struct plan *p, const struct tensor *t)
{
	bool named = t->base->node->op == OP_PARAMETER;

	for (size_t i = 0; i < p->g->n_names; i++)
		named |= p->g->names[i].tensor == t;
	if (!named) {
		err_set(ERR_ARGUMENT, "a tensor of %s is no input, output or parameter",
			op_info(t->node->op)->name);
		return NULL;
	}
	return plan_allocate(p) < 0 ? NULL : plan_pointer(p, t, PLAN_HOST);
}

int plan_give(struct plan *p, const struct tensor *t, const void *from, size_t size)
{
	void *to = plan_data(p, t);

	if (!to)
		return -1;
	memcpy(to, from, size);
	return 0;
}

size_t plan_n_steps(const struct plan *p)
{
	return p->n_steps;
}

struct plan_node_stats plan_step(const struct plan *p, size_t i)
{
	const struct plan_step *s = &p->steps[i];

	return (struct plan_node_stats){
		.node = s->node,
		.kernel = s->kernel,
		.backend = s->backend,
		.chain = s->segment == NOWHERE ? -1 : (int)s->segment,
		.operations = s->operations,
		.bytes = s->bytes,
		.runs = s->runs,
		.seconds = s->seconds,
	};
}

size_t plan_n_unclaimed(const struct plan *p)
{
	return p->n_unclaimed;
}
