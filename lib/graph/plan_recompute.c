/*
 * lib/graph/plan_recompute.c - blocks computed again for the backward half
 *
 * Chen, Xu, Zhang, Guestrin 2016, "Training deep nets with sublinear memory cost": of a block that graph_block marked, only
 * what it was given and what others read of it is kept; before the first node of the backward half that reads anything else of
 * it, the block's nodes that lead there are appended again, and the backward half reads those. Draws go by their scopes
 * and so fall out alike: no bit changes.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/graph/plan_parts.h"

struct again {
	struct plan *p;
	int *block_of;	      /* by a node's id: its block, or -1 */
	struct tensor **copy; /* by a tensor's id: its second self in the present block, or NULL */
	size_t n_nodes, n_tensors; /* before copies were made */
	struct node **order;	   /* the new order */
	size_t n, capacity;
};

static bool lies_in(const char *scope, const char *block)
{
	size_t n = strlen(block);

	return strncmp(scope, block, n) == 0 && (scope[n] == '\0' || scope[n] == '.');
}

static int find_block(const struct plan *p, const struct node *n)
{
	const struct graph *g = p->g;
	size_t most = p->options.recompute_blocks;

	if (n->backward || n->count)
		return -1;
	for (size_t i = 0; i < g->n_blocks && (most == 0 || i < most); i++)
		if (lies_in(n->scope, g->blocks[i]))
			return (int)i;
	return -1;
}

static int emit(struct again *a, struct node *n)
{
	if (mem_grow(&a->order, &a->capacity, a->n + 1, sizeof(*a->order)) < 0)
		return -1;
	a->order[a->n++] = n;
	return 0;
}

/* Whether T may be read as it is: made outside block B, or kept since nodes of the forward half outside B read it. */
static bool is_kept(const struct again *a, const bool *kept, const struct tensor *t, int b)
{
	return t->id >= a->n_tensors || a->block_of[t->node->id] != b || kept[t->id] ||
	       t->node->op == OP_PARAMETER || t->node->op == OP_CONSTANT ||
	       t->node->op == OP_INPUT || node_updates(t->node);
}

static struct tensor *copy_tensor(struct again *a, const struct tensor *t, struct node *n)
{
	struct tensor *c = graph_copy_tensor(a->p->g, t, n);

	if (c)
		a->copy[t->id] = c;
	return c;
}

/* The second self of T, whose node is appended again with all that leads to it. Depth: the longest chain within a block. */
static struct tensor *second(struct again *a, const bool *kept, struct tensor *t, int b)
{
	struct node *n = t->node, *c;

	if (is_kept(a, kept, t, b))
		return t;
	if (a->copy[t->id])
		return a->copy[t->id];
	c = graph_copy_node(a->p->g, n);
	if (!c)
		return NULL;
	c->again = true;
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && !(c->in[i] = second(a, kept, n->in[i], b)))
			return NULL;
	for (int i = 0; i < n->n_out; i++)
		if (!copy_tensor(a, n->out[i], c))
			return NULL;
	plan_settle(c);
	return emit(a, c) < 0 ? NULL : a->copy[t->id];
}

/* By tensor: read by the forward half outside its block, or named. */
static void mark_kept(const struct again *a, bool *kept)
{
	const struct plan *p = a->p;

	for (size_t i = 0; i < p->n_order; i++) {
		const struct node *n = p->order[i];

		for (int j = 0; j < n->n_in; j++)
			if (n->in[j] && !n->backward &&
			    a->block_of[n->in[j]->node->id] != a->block_of[n->id])
				kept[n->in[j]->id] = true;
	}
	for (size_t i = 0; i < p->g->n_names; i++)
		kept[p->g->names[i].tensor->id] = true;
}

/* Operands of a backward node that lie in a block are read from its second self. */
static int redirect(struct again *a, const bool *kept, struct node *n)
{
	for (int j = 0; j < n->n_in; j++) {
		struct tensor *t = n->in[j];
		int b = t && t->id < a->n_tensors ? a->block_of[t->node->id] : -1;

		if (b >= 0 && !(n->in[j] = second(a, kept, t, b)))
			return -1;
	}
	return 0;
}

static int rebuild(struct again *a, const bool *kept)
{
	for (size_t i = 0; i < a->p->n_order; i++) {
		struct node *n = a->p->order[i];

		if (n->backward && redirect(a, kept, n) < 0)
			return -1;
		if (emit(a, n) < 0)
			return -1;
	}
	return 0;
}

int plan_recompute(struct plan *p)
{
	struct graph *g = p->g;
	struct again a = { .p = p, .n_nodes = g->n_nodes, .n_tensors = g->n_tensors };
	bool *kept = mem_new(g->n_tensors + 1, sizeof(*kept));
	int result = -1;

	a.block_of = mem_new(g->n_nodes + 1, sizeof(*a.block_of));
	a.copy = mem_new(g->n_tensors + 1, sizeof(*a.copy));
	if (kept && a.block_of && a.copy) {
		for (size_t i = 0; i < g->n_nodes; i++)
			a.block_of[i] = find_block(p, g->nodes[i]);
		mark_kept(&a, kept);
		result = rebuild(&a, kept);
	}
	if (result == 0) {
		free(p->order);
		p->order = a.order;
		p->n_order = a.n;
		for (size_t i = 0; i < p->n_order; i++)
			plan_settle(p->order[i]);
	} else {
		free(a.order);
	}
	free(kept);
	free(a.block_of);
	free(a.copy);
	return result;
}
