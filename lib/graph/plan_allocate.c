/*
 * lib/graph/plan_allocate.c - the memory of a plan: its arena, the store's entries that it touches, where they must be
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

int plan_arena_new(struct plan_arena **out)
{
	*out = mem_new(1, sizeof(**out));
	return *out ? 0 : -1;
}

static void arena_release(struct plan_arena *a, enum plan_where where)
{
	if (where == PLAN_DEVICE && a->device)
		a->device->release(a->device, a->data[where]);
	else if (a->data[where])
		munmap(a->data[where], a->size[where]);
	a->data[where] = NULL;
	a->size[where] = 0;
}

static void arena_release_all(struct plan_arena *a)
{
	for (int w = 0; w < PLAN_WHERES; w++)
		arena_release(a, (enum plan_where)w);
}

void plan_arena_free(struct plan_arena *a)
{
	if (!a)
		return;
	arena_release_all(a);
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
	if (a->size[PLAN_HOST] >= size)
		return 0;
	arena_release(a, PLAN_HOST);
	a->data[PLAN_HOST] = map_pages(size);
	if (!a->data[PLAN_HOST])
		return -1;
	a->size[PLAN_HOST] = size;
	if (size >= (uint64_t)4 << 20)
		madvise(a->data[PLAN_HOST], size, MADV_HUGEPAGE);
	return 0;
}

static int arena_reserve_device(struct plan_arena *a, struct device *d, uint64_t size)
{
	if (!d || (size && a->device == d && a->size[PLAN_DEVICE] >= size))
		return 0;
	if (a->device && a->device != d)
		return err_set(ERR_UNSUPPORTED, "an arena on two devices, %s and %s",
			       a->device->name, d->name);
	a->device = d;
	arena_release(a, PLAN_DEVICE);
	if (size && !(a->data[PLAN_DEVICE] = d->allocate(d, size)))
		return -1;
	a->size[PLAN_DEVICE] = size;
	return 0;
}

/* Each place in pages of its own, its end at a page that may not be touched. Nothing there is a number before it is written. */
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
		memset(data, 0xff, whole);
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

/* What is updated must be the store's own; what is only read must be there; both where steps touch it. */
static int ready_entry(struct plan *p, struct store_entry *e, enum plan_where where, bool updated)
{
	struct store *s = p->g->store;

	if (!e->data && !e->device_data && e->kind == STORE_PARAMETER && !updated)
		return err_set(ERR_MISSING, "the parameter %s has no values", e->name);
	if (where == PLAN_DEVICE)
		return store_to_device(s, e, p->options.backend->device);
	if (updated || (!e->data && e->kind != STORE_PARAMETER))
		if (store_allocate(s, e) < 0)
			return -1;
	return store_to_host(s, e);
}

static int ready_moved(struct plan *p, const struct plan_step *s)
{
	struct store_entry *e = tensor_entry(s->moved);

	if (!e)
		return 0;
	return ready_entry(p, e, PLAN_HOST, true) < 0 || ready_entry(p, e, PLAN_DEVICE, false) < 0
		       ? -1
		       : 0;
}

static int ready_operands(struct plan *p, const struct plan_step *s)
{
	const struct node *n = s->node;

	for (int j = 0; j < n->n_in; j++) {
		struct store_entry *e = n->in[j] ? tensor_entry(n->in[j]->base) : NULL;

		if (e && ready_entry(p, e, s->where, op_info(n->op)->in_place >> j & 1) < 0)
			return -1;
	}
	return 0;
}

/* Marks, by place, the borrowed entries that a step of the host updates. */
static void mark_updated(const struct plan_step *s, bool *marked)
{
	const struct node *n = s->node;

	for (int j = 0; j < n->n_in; j++) {
		struct store_entry *e = n->in[j] ? tensor_entry(n->in[j]->base) : NULL;

		if (e && e->data && !e->owned && (op_info(n->op)->in_place >> j & 1))
			marked[e->place] = true;
	}
}

/* What is updated must be the store's own: copied from the mapped file all at once, by the team. */
static int own_updated(struct plan *p)
{
	struct store *s = p->g->store;
	size_t n = s ? store_n(s) : 0, made = 0;
	struct store_entry **all = mem_new(n + 1, sizeof(*all));
	bool *marked = mem_new(n + 1, sizeof(*marked));
	int result = all && marked ? 0 : -1;

	for (size_t i = 0; i < p->n_steps && result == 0; i++)
		if (!p->steps[i].moved && p->steps[i].where == PLAN_HOST)
			mark_updated(&p->steps[i], marked);
	for (size_t i = 0; i < n && result == 0; i++)
		if (marked[i])
			all[made++] = store_at(s, i);
	if (result == 0)
		result = store_allocate_all(s, all, made, p->options.team);
	free(all);
	free(marked);
	return result;
}

/* A named output or a view of it may be a parameter that no step reads. */
static int ready_names(struct plan *p)
{
	for (size_t i = 0; i < p->n_order; i++) {
		struct store_entry *e = tensor_entry(p->order[i]->out[0]);

		if (p->order[i]->op == OP_PARAMETER && !e->data && !e->device_data &&
		    ready_entry(p, e, PLAN_HOST, false) < 0)
			return -1;
	}
	return 0;
}

static int ready_entries(struct plan *p)
{
	if (own_updated(p) < 0)
		return -1;
	for (size_t i = 0; i < p->n_derived; i++) {
		struct plan_derived *d = &p->derived[i];

		if (ready_entry(p, d->entry->source, d->step.where, false) < 0 ||
		    ready_entry(p, d->entry, d->step.where, false) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->n_steps; i++)
		if ((p->steps[i].moved ? ready_moved(p, &p->steps[i])
				       : ready_operands(p, &p->steps[i])) < 0)
			return -1;
	for (size_t i = 0; i < p->n_forms; i++)
		if (ready_entry(p, p->forms[i]->form, p->forms[i]->where, false) < 0)
			return -1;
	return ready_names(p);
}

static bool is_current(const struct plan *p)
{
	struct store *s = p->g->store;

	return p->ready && memcmp(p->arena_data, p->arena->data, sizeof(p->arena_data)) == 0 &&
	       (!s || p->generation == store_generation(s));
}

/* With a device entries may have been written elsewhere since. */
int plan_allocate(struct plan *p)
{
	bool current = is_current(p);

	if (current && !(p->g->store && store_has_device(p->g->store)))
		return 0;
	if (ready_entries(p) < 0)
		return -1;
	if (current && is_current(p))
		return 0;
	if (p->options.guard ? !p->pages && guard_places(p) < 0
			     : arena_reserve(p->arena, p->arena_size[PLAN_HOST]) < 0)
		return -1;
	if (plan_device_allocate(p) < 0 ||
	    arena_reserve_device(p->arena, p->options.backend->device, p->arena_size[PLAN_DEVICE]) <
		    0)
		return -1;
	plan_resolve(p);
	p->ready = true;
	memcpy(p->arena_data, p->arena->data, sizeof(p->arena_data));
	p->generation = p->g->store ? store_generation(p->g->store) : 0;
	return 0;
}

void plan_release(struct plan *p)
{
	free_guards(p);
	plan_device_free(p);
	arena_release_all(&p->own);
}
