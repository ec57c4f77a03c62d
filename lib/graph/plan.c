/*
 * lib/graph/plan.c - a graph becomes a plan: the passes in their order, the memory, what is told of it
 */
#include "lib/graph/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
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
	if (plan_order(p) < 0 || plan_steps(p) < 0 || plan_find_kept(p) < 0)
		return -1;
	return plan_places(p);
}

static int check_memory(const struct plan *p)
{
	uint64_t total = plan_bytes_total(p);

	if (p->options.memory == 0 || total <= p->options.memory)
		return 0;
	return err_set(ERR_LIMIT,
		       "%" PRIu64 " bytes are needed, %" PRIu64
		       " allowed: activations and workspace take %" PRIu64
		       " of it (a smaller micro-batch, shorter rows or recomputation lower them)",
		       total, p->options.memory, p->arena_size);
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
	if (!p->options.backend && !(p->options.backend = backend_cpu())) {
		plan_free(p);
		return -1;
	}
	p->arena = p->options.arena ? p->options.arena : &p->own;
	spin_barrier_init(&p->barrier);
	if (take_nodes(p) < 0 || passes(p) < 0 || plan_find_casts(p) < 0 || check_memory(p) < 0) {
		plan_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

/* --- memory --- */

int plan_arena_new(struct plan_arena **out)
{
	*out = mem_new(1, sizeof(**out));
	return *out ? 0 : -1;
}

static void arena_release(struct plan_arena *a)
{
	if (a->data)
		munmap(a->data, a->size);
	*a = (struct plan_arena){ 0 };
}

void plan_arena_free(struct plan_arena *a)
{
	if (!a)
		return;
	arena_release(a);
	free(a);
}

static void *map_pages(uint64_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED) {
		err_set(ERR_MEMORY, "no memory for %" PRIu64 " bytes of activations", size);
		return NULL;
	}
	return data;
}

/* Grows; plans that share it are resolved anew at their next run. */
static int arena_reserve(struct plan_arena *a, uint64_t size)
{
	if (size == 0)
		size = PLAN_ALIGN;
	if (a->size >= size)
		return 0;
	arena_release(a);
	a->data = map_pages(size);
	if (!a->data)
		return -1;
	a->size = size;
	if (size >= (uint64_t)4 << 20)
		madvise(a->data, size, MADV_HUGEPAGE);
	return 0;
}

/* Each place in pages of its own, its end at a page that may not be touched. */
static int guard_places(struct plan *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	p->pages = mem_new(p->n_places + 1, sizeof(*p->pages));
	if (!p->pages)
		return -1;
	for (size_t i = 0; i < p->n_places; i++) {
		size_t size = (size_t)p->places[i].size, whole = (size + page - 1) / page * page;
		char *data = map_pages(whole + page);

		if (!data)
			return -1;
		mprotect(data + whole, page, PROT_NONE);
		p->pages[i] = data + whole - size;
	}
	return 0;
}

static void free_guards(struct plan *p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; p->pages && i < p->n_places; i++) {
		size_t whole = ((size_t)p->places[i].size + page - 1) / page * page;

		if (p->pages[i])
			munmap((char *)p->pages[i] + p->places[i].size - whole, whole + page);
	}
	free(p->pages);
}

/* What is updated must be the store's own; what is only read must be there. */
static int ready_entry(struct plan *p, struct store_entry *e, bool updated)
{
	if (updated || (!e->data && e->kind != STORE_PARAMETER))
		return store_allocate(p->g->store, e);
	if (!e->data)
		return err_set(ERR_MISSING, "the parameter %s has no values", e->name);
	return 0;
}

static int ready_entries(struct plan *p)
{
	for (size_t i = 0; i < p->n_order; i++) {
		const struct node *n = p->order[i];

		if (n->op == OP_PARAMETER && ready_entry(p, tensor_entry(n->out[0]), false) < 0)
			return -1;
		for (int j = 0; j < n->n_in; j++)
			if ((op_info(n->op)->in_place >> j & 1) && tensor_entry(n->in[j]) &&
			    ready_entry(p, tensor_entry(n->in[j]), true) < 0)
				return -1;
	}
	for (size_t i = 0; i < p->n_derived; i++)
		if (ready_entry(p, p->derived[i].entry->source, false) < 0 ||
		    ready_entry(p, p->derived[i].entry, false) < 0)
			return -1;
	for (size_t i = 0; i < p->n_forms; i++)
		if (ready_entry(p, p->forms[i]->form, false) < 0)
			return -1;
	return 0;
}

static bool is_current(const struct plan *p)
{
	struct store *s = p->g->store;

	return p->ready && p->arena_data == p->arena->data &&
	       (!s || p->generation == store_generation(s));
}

int plan_allocate(struct plan *p)
{
	if (is_current(p))
		return 0;
	if (ready_entries(p) < 0)
		return -1;
	if (p->options.guard ? !p->pages && guard_places(p) < 0
			     : arena_reserve(p->arena, p->arena_size) < 0)
		return -1;
	plan_resolve(p);
	p->ready = true;
	p->arena_data = p->arena->data;
	p->generation = p->g->store ? store_generation(p->g->store) : 0;
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	free_guards(p);
	arena_release(&p->own);
	free(p->order);
	free(p->steps);
	free(p->places);
	free(p->place_of);
	free(p->derived);
	free(p->forms);
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

uint64_t plan_bytes(const struct plan *p, enum plan_memory kind)
{
	uint64_t bytes = 0;

	if (kind == PLAN_WORKSPACE)
		return p->scratch_size;
	if (kind == PLAN_ACTIVATIONS)
		return p->arena_size > p->scratch_size ? p->arena_size - p->scratch_size : 0;
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

int plan_print_memory(const struct plan *p, struct buffer *out)
{
	static const char *const names[PLAN_MEMORY_COUNT] = {
		"weights", "derived forms", "gradients", "optimizer and state",
		"cache",   "activations",   "workspace",
	};

	for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
		buffer_format(out, "%-20s %14" PRIu64 "\n", names[i],
			      plan_bytes(p, (enum plan_memory)i));
	buffer_format(out, "%-20s %14" PRIu64 "\n", "in all", plan_bytes_total(p));
	return buffer_check(out);
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
	return plan_allocate(p) < 0 ? NULL : plan_pointer(p, t);
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
