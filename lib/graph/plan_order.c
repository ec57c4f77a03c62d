/*
 * lib/graph/plan_order.c - which nodes run, and in which order
 *
 * What leads to no output and no update in place is dropped, but for inputs. The rest keeps the order in which it was built, but for
 * readers of a value that is updated in place: they come before the update.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

bool node_is_view(const struct node *n)
{
	return op_info(n->op)->flags & OP_VIEW;
}

bool node_updates(const struct node *n)
{
	return op_info(n->op)->in_place != 0;
}

const struct tensor *tensor_version(const struct tensor *t)
{
	while (node_is_view(t->node) && t->node->n_in)
		t = t->node->in[0];
	return t;
}

/* --- what is needed --- */

static void need(const struct node *n, bool *needed)
{
	needed[n->id] = true;
}

static void mark_needed(struct plan *p, bool *needed)
{
	struct graph *g = p->g;

	/* Inputs too: who fills one need not know whether it is read. */
	for (size_t i = 0; i < g->n_names; i++)
		need(g->names[i].tensor->node, needed);
	for (size_t i = p->n_order; i-- > 0;) {
		struct node *n = p->order[i];

		if (!needed[n->id] && !node_updates(n))
			continue;
		need(n, needed);
		for (int j = 0; j < n->n_in; j++)
			if (n->in[j])
				need(n->in[j]->node, needed);
		for (int j = 0; j < n->n_out; j++)
			if (n->out[j]->rows)
				need(n->out[j]->rows->node, needed);
		if (n->count)
			need(n->count->node, needed);
	}
}

static int drop_dead(struct plan *p)
{
	bool *needed = mem_new(p->g->n_nodes + 1, sizeof(*needed));
	size_t n = 0;

	if (!needed)
		return -1;
	mark_needed(p, needed);
	for (size_t i = 0; i < p->n_order; i++)
		if (needed[p->order[i]->id])
			p->order[n++] = p->order[i];
	p->n_order = n;
	free(needed);
	return 0;
}

/* --- the order --- */

/* Edges "before", as lists; and for each node how many are before it. */
struct edge {
	uint32_t to, next;
};

struct sorter {
	struct plan *p;
	uint32_t *place;   /* by a node's id: its place in the order */
	uint32_t *first;   /* by place: its first edge, or NOWHERE */
	uint32_t *waiting; /* by place: how many come before */
	struct edge *edges;
	size_t n_edges, edges_capacity;
	uint32_t *heap; /* places that are ready, the lowest first */
	size_t n_heap;
};

static int add_edge(struct sorter *s, uint32_t from, uint32_t to)
{
	if (from == to)
		return 0;
	if (mem_grow(&s->edges, &s->edges_capacity, s->n_edges + 1, sizeof(*s->edges)) < 0)
		return -1;
	s->edges[s->n_edges] = (struct edge){ to, s->first[from] };
	s->first[from] = (uint32_t)s->n_edges++;
	s->waiting[to]++;
	return 0;
}

/* A node is after what makes its operands. */
static int add_operands(struct sorter *s, uint32_t at)
{
	const struct node *n = s->p->order[at];

	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && add_edge(s, s->place[n->in[i]->node->id], at) < 0)
			return -1;
	return n->count ? add_edge(s, s->place[n->count->node->id], at) : 0;
}

/* An update in place is after every other reader of what it overwrites. */
static int add_readers(struct sorter *s)
{
	struct plan *p = s->p;
	/* By a version's tensor id: the place of the node that overwrites it. */
	uint32_t *writer = mem_new(p->g->n_tensors + 1, sizeof(*writer));
	int result = writer ? 0 : -1;

	if (!writer)
		return -1;
	memset(writer, 0xff, p->g->n_tensors * sizeof(*writer));
	for (uint32_t i = 0; i < p->n_order; i++)
		for (int j = 0; j < p->order[i]->n_in; j++)
			if (op_info(p->order[i]->op)->in_place >> j & 1)
				writer[tensor_version(p->order[i]->in[j])->id] = i;
	for (uint32_t i = 0; i < p->n_order && result == 0; i++)
		for (int j = 0; j < p->order[i]->n_in && result == 0; j++) {
			const struct tensor *t = p->order[i]->in[j];
			uint32_t w = t ? writer[tensor_version(t)->id] : NOWHERE;

			if (w != NOWHERE && !node_is_view(p->order[i]))
				result = add_edge(s, i, w);
		}
	free(writer);
	return result;
}

static void push(struct sorter *s, uint32_t place)
{
	size_t i = s->n_heap++;

	for (; i && s->heap[(i - 1) / 2] > place; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = place;
}

static uint32_t pop(struct sorter *s)
{
	uint32_t top = s->heap[0], last = s->heap[--s->n_heap];
	size_t i = 0;

	for (size_t child = 1; child < s->n_heap; i = child, child = 2 * i + 1) {
		if (child + 1 < s->n_heap && s->heap[child + 1] < s->heap[child])
			child++;
		if (s->heap[child] >= last)
			break;
		s->heap[i] = s->heap[child];
	}
	s->heap[i] = last;
	return top;
}

static int sort(struct sorter *s)
{
	struct plan *p = s->p;
	struct node **sorted = mem_new(p->n_order + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return -1;
	for (uint32_t i = 0; i < p->n_order; i++)
		if (s->waiting[i] == 0)
			push(s, i);
	while (s->n_heap) {
		uint32_t at = pop(s);

		sorted[n++] = p->order[at];
		for (uint32_t e = s->first[at]; e != NOWHERE; e = s->edges[e].next)
			if (--s->waiting[s->edges[e].to] == 0)
				push(s, s->edges[e].to);
	}
	if (n < p->n_order) {
		free(sorted);
		return err_set(ERR_ARGUMENT,
			       "a value is read after the update in place that it depends on");
	}
	free(p->order);
	p->order = sorted;
	return 0;
}

static int fill_sorter(struct sorter *s)
{
	struct plan *p = s->p;
	size_t n = p->n_order + 1;

	s->place = mem_new(p->g->n_nodes + 1, sizeof(*s->place));
	s->first = mem_new(n, sizeof(*s->first));
	s->waiting = mem_new(n, sizeof(*s->waiting));
	s->heap = mem_new(n, sizeof(*s->heap));
	if (!s->place || !s->first || !s->waiting || !s->heap)
		return -1;
	memset(s->first, 0xff, n * sizeof(*s->first));
	for (uint32_t i = 0; i < p->n_order; i++)
		s->place[p->order[i]->id] = i;
	for (uint32_t i = 0; i < p->n_order; i++)
		if (add_operands(s, i) < 0)
			return -1;
	return add_readers(s);
}

int plan_order(struct plan *p)
{
	struct sorter s = { .p = p };
	int result = drop_dead(p);

	if (result == 0)
		result = fill_sorter(&s);
	if (result == 0)
		result = sort(&s);
	free(s.place);
	free(s.first);
	free(s.waiting);
	free(s.edges);
	free(s.heap);
	return result;
}
