/*
 * lib/graph/plan_simplify.c - constants computed once, equal nodes made one
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

static bool is_named(const struct plan *p, const struct tensor *t)
{
	for (size_t i = 0; i < p->g->n_names; i++)
		if (p->g->names[i].tensor == t)
			return true;
	return false;
}

void plan_settle(struct node *n)
{
	uint32_t in_place = op_info(n->op)->in_place;
	int o = 0;

	if (node_is_view(n) && n->n_in) {
		n->out[0]->base = n->in[0]->base;
		n->out[0]->offset = n->in[0]->offset + n->out[0]->view_offset;
	}
	for (int i = 0; i < n->n_in; i++)
		if (in_place >> i & 1) {
			n->out[o]->base = n->in[i]->base;
			n->out[o++]->offset = n->in[i]->offset;
		}
}

uint32_t *plan_uses(const struct plan *p)
{
	uint32_t *uses = mem_new(p->g->n_tensors + 1, sizeof(*uses));

	if (!uses)
		return NULL;
	for (size_t i = 0; i < p->n_order; i++) {
		const struct node *n = p->order[i];

		for (int j = 0; j < n->n_in; j++)
			if (n->in[j])
				uses[n->in[j]->id]++;
		if (n->count)
			uses[n->count->id]++;
	}
	for (size_t i = 0; i < p->g->n_names; i++)
		uses[p->g->names[i].tensor->id]++;
	return uses;
}

/* By tensor: its memory is updated in place by a node. */
static bool *find_updated(const struct plan *p)
{
	bool *updated = mem_new(p->g->n_tensors + 1, sizeof(*updated));

	for (size_t i = 0; updated && i < p->n_order; i++)
		for (int j = 0; j < p->order[i]->n_in; j++)
			if (op_info(p->order[i]->op)->in_place >> j & 1)
				updated[p->order[i]->in[j]->base->id] = true;
	return updated;
}

/* --- constants --- */

#define FOLD_BYTES 65536

/* What is updated in place must be made anew in every run, and what is made of it. */
static bool can_fold(const struct node *n, const bool *updated)
{
	const struct op_info *info = op_info(n->op);
	size_t size;

	if (node_is_view(n) || info->in_place || (info->flags & OP_RANDOM) || n->n_out != 1 ||
	    n->count || updated[n->out[0]->id] ||
	    !dtype_size(n->out[0]->dtype, shape_elements(&n->out[0]->shape), &size) ||
	    size > FOLD_BYTES)
		return false;
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] &&
		    (n->in[i]->base->node->op != OP_CONSTANT || updated[n->in[i]->base->id]))
			return false;
	return true;
}

/* Runs the node as a run would, so that no bit depends on whether it is folded; the result goes to DATA. */
/* What a kernel works in; NULL with the error set. */
static void *room_of(size_t size)
{
	void *room = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!room)
		err_set(ERR_MEMORY, "no memory for %zu bytes", size);
	return room;
}

static int compute(struct plan *p, const struct node *n, void *data)
{
	struct kernel_tensor in[KERNEL_TENSORS], out[KERNEL_TENSORS];
	struct kernel_call c = {
		.in = in, .out = out, .n_in = n->n_in, .n_out = 1, .parts = 1, .caches = &p->caches
	};
	const struct kernel *k;
	size_t scratch, kept;
	int in_kept;

	if (plan_operands(n, in, out, false) < 0)
		return 0;
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i])
			in[i].data = plan_pointer(p, n->in[i], PLAN_HOST);
	out[0].data = data;
	c.attributes = n->attributes;
	c.rows = out[0].n_axes ? out[0].shape[0] : 1;
	k = backend_choose(p->options.backend, op_info(n->op)->name, &c);
	if (!k)
		k = op_info(n->op)->ref;
	scratch = k->scratch ? k->scratch(&c) : 0;
	kept = k->kept ? k->kept(&c, &in_kept) : 0;
	if ((scratch && !(c.scratch = room_of(scratch))) || (kept && !(c.kept = room_of(kept)))) {
		free(c.scratch);
		return -1;
	}
	for (c.phase = 0; c.phase < kernel_phases(k, &c); c.phase++)
		k->run(&c);
	free(c.kept);
	free(c.scratch);
	return 1;
}

static int fold_node(struct plan *p, struct node *n)
{
	struct constant_attributes *a = graph_alloc(p->g, 1, sizeof(*a));
	size_t size = 0;
	void *data;
	int done;

	dtype_size(n->out[0]->dtype, shape_elements(&n->out[0]->shape), &size);
	data = graph_alloc(p->g, size ? size : 1, 1);
	if (!a || !data)
		return graph_check(p->g);
	if ((done = compute(p, n, data)) <= 0)
		return done;
	*a = (struct constant_attributes){ data, size };
	n->op = OP_CONSTANT;
	n->attributes = a;
	n->n_in = 0;
	return 0;
}

/* Not on a device: what it computes has other last bits than the host's. */
int plan_fold(struct plan *p)
{
	if (p->options.backend->device)
		return 0;
	bool *updated = find_updated(p);
	int result = updated ? 0 : -1;

	for (size_t i = 0; i < p->n_order && result == 0; i++)
		if (can_fold(p->order[i], updated) && !is_named(p, p->order[i]->out[0]))
			result = fold_node(p, p->order[i]);
	free(updated);
	return result;
}

/* --- equal nodes --- */

/* Of two equal copies each may be updated in its own way. */
static bool can_merge(const struct plan *p, const struct node *n, const bool *updated)
{
	if (node_updates(n) || n->again || n->n_in == 0)
		return false;
	for (int i = 0; i < n->n_out; i++)
		if (updated[n->out[i]->id] || is_named(p, n->out[i]))
			return false;
	return true;
}

/* Views of one value are equal when they see the same elements. */
static bool equal_views(const struct node *a, const struct node *b)
{
	const struct tensor *x = a->out[0], *y = b->out[0];

	return tensor_version(x) == tensor_version(y) && x->base == y->base &&
	       x->offset == y->offset && shape_equal(&x->shape, &y->shape) &&
	       memcmp(x->stride, y->stride, (size_t)x->shape.n * sizeof(x->stride[0])) == 0;
}

static bool equal_nodes(const struct node *a, const struct node *b)
{
	if (node_is_view(a) || node_is_view(b))
		return node_is_view(a) && node_is_view(b) && equal_views(a, b);
	return a->op == b->op && a->n_in == b->n_in && a->count == b->count &&
	       a->iteration == b->iteration &&
	       memcmp(a->in, b->in, (size_t)a->n_in * sizeof(a->in[0])) == 0 &&
	       memcmp(a->attributes ? a->attributes : "", b->attributes ? b->attributes : "",
		      op_info(a->op)->attributes) == 0;
}

static uint64_t node_hash(const struct node *n)
{
	const struct tensor *t = n->out[0];

	if (node_is_view(n))
		return hash_short(&t->shape.at, (size_t)t->shape.n * sizeof(t->shape.at[0]),
				  tensor_version(t)->id + t->offset);
	return hash_short(n->in, (size_t)n->n_in * sizeof(n->in[0]),
			  hash_short(n->attributes, op_info(n->op)->attributes, (uint64_t)n->op));
}

/* A table of open addressing over the nodes so far. */
struct merger {
	struct node **table;
	size_t mask;
	struct tensor **instead; /* by a tensor's id: what stands for it, or NULL */
	bool *updated;
	size_t n; /* nodes kept */
};

static struct node **find_slot(struct merger *m, struct node *n)
{
	size_t at = (size_t)node_hash(n) & m->mask;

	while (m->table[at] && !equal_nodes(m->table[at], n))
		at = (at + 1) & m->mask;
	return &m->table[at];
}

/* Operands that were merged away become those that stand for them. */
static void replace_operands(struct node *n, struct tensor **instead)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && instead[n->in[i]->id])
			n->in[i] = instead[n->in[i]->id];
	plan_settle(n);
}

/* Keeps N in the order, or has another stand for it. */
static void merge_node(struct plan *p, struct merger *m, struct node *n)
{
	struct node **slot;

	replace_operands(n, m->instead);
	slot = can_merge(p, n, m->updated) ? find_slot(m, n) : NULL;
	if (slot && *slot) {
		for (int i = 0; i < n->n_out; i++)
			m->instead[n->out[i]->id] = (*slot)->out[i];
		return;
	}
	if (slot)
		*slot = n;
	p->order[m->n++] = n;
}

int plan_merge(struct plan *p)
{
	struct merger m = { .mask = 63 };
	int result;

	while (m.mask < 2 * p->n_order)
		m.mask = 2 * m.mask + 1;
	m.table = mem_new(m.mask + 1, sizeof(*m.table));
	m.instead = mem_new(p->g->n_tensors + 1, sizeof(*m.instead));
	m.updated = find_updated(p);
	if (m.table && m.instead && m.updated) {
		for (size_t i = 0; i < p->n_order; i++)
			merge_node(p, &m, p->order[i]);
		p->n_order = m.n;
	}
	result = m.table && m.instead && m.updated ? 0 : -1;
	free(m.table);
	free(m.instead);
	free(m.updated);
	return result;
}
