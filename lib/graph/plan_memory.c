/*
 * lib/graph/plan_memory.c - a place in the arena for every intermediate
 *
 * A tensor lives from the step that makes it to the last that reads it. Places are given the largest first, each at the
 * lowest offset where no place that lives at the same time lies (as register allocators and TFLite's planner do it: "greedy by
 * size", Pisarchyk and Lee 2020). An elementwise result lies over an operand that ends there.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

bool plan_in_arena(const struct tensor *base)
{
	return base->node->op != OP_PARAMETER && base->node->op != OP_CONSTANT;
}

static uint64_t tensor_bytes(const struct tensor *t)
{
	size_t size = 0;

	dtype_size(t->dtype, shape_elements(&t->shape), &size);
	return size;
}

static uint64_t aligned(uint64_t size)
{
	return (size + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

/* --- lifetimes --- */

static int add_place(struct plan *p, const struct tensor *t, enum plan_where where, uint64_t size,
		     uint32_t first, uint32_t last)
{
	if (mem_grow(&p->places, &p->places_capacity, p->n_places + 1, sizeof(*p->places)) < 0)
		return -1;
	p->places[p->n_places] = (struct place){
		.tensor = t, .where = where, .size = size, .first = first, .last = last
	};
	if (t)
		p->place_of[where][t->id] = (uint32_t)p->n_places;
	p->n_places++;
	return 0;
}

/* By a base tensor's id: the last step that touches it there. */
static void last_uses(const struct plan *p, uint32_t *const *last)
{
	for (uint32_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];
		const struct node *n = s->node;

		if (s->moved) {
			last[PLAN_HOST][s->moved->id] = last[PLAN_DEVICE][s->moved->id] = i;
			continue;
		}
		for (int j = 0; j < n->n_in; j++)
			if (n->in[j])
				last[s->where][n->in[j]->base->id] = i;
		for (int j = 0; j < n->n_in; j++)
			if (n->in[j] && n->in[j]->rows)
				last[PLAN_HOST][n->in[j]->rows->base->id] = i;
		for (int j = 0; j < n->n_out; j++)
			last[s->where][n->out[j]->base->id] = i;
		if (n->count)
			last[PLAN_HOST][n->count->base->id] = i;
	}
	/* Inputs keep their values from run to run, outputs to its end. */
	for (size_t i = 0; i < p->g->n_names; i++)
		last[PLAN_HOST][p->g->names[i].tensor->base->id] = (uint32_t)p->n_steps;
}

/* Whether T is the whole of its memory, side by side. */
static bool is_whole(const struct tensor *t)
{
	return t->offset == 0 && tensor_is_dense(t) &&
	       shape_elements(&t->shape) == shape_elements(&t->base->shape);
}

/* Output O of the step may lie over input I: the memory ends here, and no other operand sees it otherwise. */
static bool may_lie_over(const struct plan *p, uint32_t *const *last, uint32_t step, int i,
			 const struct tensor *o)
{
	const struct node *n = p->steps[step].node;
	const struct tensor *x = n->in[i];

	if (!x || !plan_in_arena(x->base) || x->base->node->op == OP_INPUT || !is_whole(x) ||
	    last[p->steps[step].where][x->base->id] != step || !shape_equal(&x->shape, &o->shape) ||
	    dtype_info(x->dtype)->bytes != dtype_info(o->dtype)->bytes)
		return false;
	for (int j = 0; j < n->n_in; j++)
		if (j != i && n->in[j] && n->in[j]->base == x->base && n->in[j] != x)
			return false;
	return true;
}

/* The place of an operand that O can take, or NOWHERE. TAKEN: those that other outputs of the step took. */
static uint32_t take_over(const struct plan *p, uint32_t *const *last, uint32_t step,
			  const struct tensor *o)
{
	const struct node *n = p->steps[step].node;
	const uint32_t *place_of = p->place_of[p->steps[step].where];

	if (!(op_info(n->op)->flags & OP_ELEMENTWISE) || (p->options.without & PLAN_IN_PLACE) ||
	    p->options.guard || p->steps[step].own)
		return NOWHERE;
	for (int i = 0; i < n->n_in; i++) {
		uint32_t place = n->in[i] ? place_of[n->in[i]->base->id] : NOWHERE;
		bool taken = false;

		for (int j = 0; j < o->output; j++)
			taken |= place_of[n->out[j]->id] == place;
		if (place != NOWHERE && p->places[place].own)
			continue;
		/* A tile's room does not hold what leaves its chain. */
		if (place != NOWHERE && p->places[place].tile &&
		    !plan_segment_rows(p, &p->steps[step], o, last[PLAN_HOST]))
			continue;
		if (place != NOWHERE && !taken && may_lie_over(p, last, step, i, o))
			return place;
	}
	return NOWHERE;
}

/* The last place becomes as many as there are parts. */
static void give_each(struct plan *p)
{
	struct place *x = &p->places[p->n_places - 1];

	x->own = aligned(x->size);
	x->size = x->own * (uint64_t)plan_n_parts(p);
}

/* Of its own: the whole tensor, or one tile a thread of what a chain of rows keeps to itself. */
static int add_new(struct plan *p, const struct tensor *o, uint32_t step, const uint32_t *last)
{
	const struct plan_step *s = &p->steps[step];
	uint64_t size = tensor_bytes(o), rows = plan_segment_rows(p, s, o, last);

	if (rows)
		size = size / o->shape.at[0] * rows;
	if (add_place(p, o, s->where, size, step, last[o->id]) < 0)
		return -1;
	p->places[p->n_places - 1].tile = rows != 0;
	if (s->own)
		give_each(p);
	return 0;
}

static int place_output(struct plan *p, uint32_t *const *last, uint32_t step,
			const struct tensor *o)
{
	enum plan_where where = p->steps[step].where;
	uint32_t end = last[where][o->id], over;

	if (o->base != o || p->place_of[where][o->id] != NOWHERE)
		return 0;
	over = take_over(p, last, step, o);
	if (over == NOWHERE)
		return add_new(p, o, step, last[where]);
	p->place_of[where][o->id] = over;
	if (p->places[over].last < end)
		p->places[over].last = end;
	return 0;
}

static int place_moved(struct plan *p, uint32_t *const *last, uint32_t step)
{
	const struct plan_step *s = &p->steps[step];

	if (!plan_in_arena(s->moved) || p->place_of[s->where][s->moved->id] != NOWHERE)
		return 0;
	return add_place(p, s->moved, s->where, tensor_bytes(s->moved), step,
			 last[s->where][s->moved->id]);
}

/* Room of the step alone, for its kernel. */
static int place_room(struct plan *p, uint32_t step, uint64_t size, uint32_t *place)
{
	if (size == 0)
		return 0;
	*place = (uint32_t)p->n_places;
	if (add_place(p, NULL, p->steps[step].where, size, step, step) < 0)
		return -1;
	if (p->steps[step].own)
		give_each(p);
	return 0;
}

/* Scratch that the steps of a chain share, a piece a thread. */
static int place_chain(struct plan *p, uint32_t i)
{
	struct plan_segment *g = &p->segments[p->steps[i].segment];
	uint64_t size;

	if (i > g->from) {
		p->steps[i].scratch = p->steps[g->from].scratch;
		return 0;
	}
	size = plan_segment_scratch(p, g);
	if (size > p->scratch_size)
		p->scratch_size = size;
	return place_room(p, i, size, &p->steps[i].scratch);
}

static int place_scratch(struct plan *p, uint32_t i)
{
	struct plan_step *s = &p->steps[i];
	uint64_t size = s->kernel->scratch ? s->kernel->scratch(&s->call) : 0;
	uint64_t kept = s->form ? 0 : s->kept_bytes;

	if (size + kept > p->scratch_size)
		p->scratch_size = size + kept;
	if (s->segment == NOWHERE && place_room(p, i, size, &s->scratch) < 0)
		return -1;
	if (s->segment != NOWHERE && place_chain(p, i) < 0)
		return -1;
	return place_room(p, i, kept, &s->kept);
}

static int place_step(struct plan *p, uint32_t *const *last, uint32_t i)
{
	const struct node *n = p->steps[i].node;

	if (p->steps[i].moved)
		return place_moved(p, last, i);
	for (int j = 0; j < n->n_out; j++)
		if (place_output(p, last, i, n->out[j]) < 0)
			return -1;
	return place_scratch(p, i);
}

static int find_places(struct plan *p, uint32_t *const *last)
{
	for (size_t i = 0; i < p->n_order; i++) {
		const struct tensor *t = p->order[i]->out[0];

		if (p->order[i]->op == OP_INPUT &&
		    add_place(p, t, PLAN_HOST, tensor_bytes(t), 0, (uint32_t)p->n_steps) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < p->n_steps; i++)
		if (place_step(p, last, i) < 0)
			return -1;
	return 0;
}

/* --- offsets --- */

static int larger_first(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return x < y ? -1 : x > y;
}

static bool live_together(const struct place *a, const struct place *b)
{
	return a->where == b->where && a->first <= b->last && b->first <= a->last;
}

/* BY_OFFSET holds N places that have theirs, in order of offset. Gives X the first gap, and its place among them. */
static void insert(struct place **by_offset, size_t n, struct place *x)
{
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct place *y = by_offset[i];

		if (!live_together(x, y))
			continue;
		if (y->offset >= at + aligned(x->size))
			break;
		if (y->offset + aligned(y->size) > at)
			at = y->offset + aligned(y->size);
	}
	x->offset = at;
	for (i = n; i && by_offset[i - 1]->offset > at; i--)
		by_offset[i] = by_offset[i - 1];
	by_offset[i] = x;
}

static int give_offsets(struct plan *p)
{
	struct place **all = mem_new(2 * p->n_places + 1, sizeof(*all));
	struct place **by_offset = all + p->n_places;

	if (!all)
		return -1;
	for (size_t i = 0; i < p->n_places; i++)
		all[i] = &p->places[i];
	qsort(all, p->n_places, sizeof(*all), larger_first);
	for (size_t i = 0; i < p->n_places; i++) {
		uint64_t *size = &p->arena_size[all[i]->where];

		if (p->options.without & PLAN_REUSE)
			all[i]->offset = *size;
		else
			insert(by_offset, i, all[i]);
		if (all[i]->offset + aligned(all[i]->size) > *size)
			*size = all[i]->offset + aligned(all[i]->size);
	}
	free(all);
	return 0;
}

int plan_places(struct plan *p)
{
	size_t n = p->g->n_tensors + 1;
	uint32_t *last[PLAN_WHERES];
	int result = 0;

	for (int w = 0; w < PLAN_WHERES; w++) {
		last[w] = mem_new(n, sizeof(*last[w]));
		p->place_of[w] = mem_new(n, sizeof(*p->place_of[w]));
		if (!last[w] || !p->place_of[w])
			result = -1;
		else
			memset(p->place_of[w], 0xff, n * sizeof(*p->place_of[w]));
	}
	if (result == 0) {
		last_uses(p, last);
		plan_segment_uses(p, last[PLAN_HOST]);
		result = find_places(p, last);
		plan_segment_lives(p);
	}
	if (result == 0 && !(p->options.without & PLAN_MEETINGS))
		result = plan_meetings(p);
	for (int w = 0; w < PLAN_WHERES; w++)
		free(last[w]);
	return result == 0 ? give_offsets(p) : -1;
}

/* --- pointers --- */

static char *place_pointer(const struct plan *p, uint32_t place)
{
	const struct place *x = &p->places[place];

	if (p->options.guard && x->where == PLAN_HOST)
		return p->pages[place];
	return (char *)p->arena->data[x->where] + x->offset;
}

static size_t offset_bytes(const struct tensor *t)
{
	size_t bytes = 0;

	dtype_size(t->dtype, t->offset, &bytes);
	return bytes;
}

static char *entry_pointer(const struct store_entry *e, enum plan_where where)
{
	return where == PLAN_DEVICE ? e->device_data : e->data;
}

static char *constant_pointer(const struct plan *p, const struct tensor *t, enum plan_where where)
{
	const struct constant_attributes *a = t->node->attributes;

	return where == PLAN_DEVICE ? p->constants + p->constant_at[t->id] : (char *)a->data;
}

void *plan_pointer(const struct plan *p, const struct tensor *t, enum plan_where where)
{
	const struct tensor *base = t->base;
	char *memory;

	if (base->node->op == OP_PARAMETER)
		memory = entry_pointer(tensor_entry(base), where);
	else if (base->node->op == OP_CONSTANT)
		memory = constant_pointer(p, base, where);
	else if (p->place_of[where][base->id] != NOWHERE)
		memory = place_pointer(p, p->place_of[where][base->id]);
	else
		return NULL;
	return memory ? memory + offset_bytes(t) : NULL;
}

static void resolve_step(const struct plan *p, struct plan_step *s)
{
	for (int j = 0; j < s->node->n_in; j++)
		if (s->node->in[j])
			s->in[j].data = plan_pointer(p, s->node->in[j], s->where);
	for (int j = 0; j < s->node->n_out; j++)
		s->out[j].data = plan_pointer(p, s->node->out[j], s->where);
	if (s->scratch != NOWHERE)
		s->call.scratch = place_pointer(p, s->scratch);
	if (s->kept != NOWHERE)
		s->call.kept = place_pointer(p, s->kept);
	else if (s->form)
		s->call.kept = entry_pointer(s->form, s->where);
}

void plan_resolve(struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (!p->steps[i].moved)
			resolve_step(p, &p->steps[i]);
	for (size_t i = 0; i < p->n_derived; i++) {
		struct plan_derived *d = &p->derived[i];

		d->step.in[0].data = entry_pointer(d->entry->source, d->step.where);
		d->step.out[0].data = entry_pointer(d->entry, d->step.where);
	}
}
