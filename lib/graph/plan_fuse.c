/*
 * lib/graph/plan_fuse.c - what follows a product and is its only reader becomes its epilogue
 *
 *	act(matmul(a, b, bias))		-> matmul with the activation; of conv2d likewise
 *	matmul(...) + residual		-> matmul with the residual
 *	sum += matmul(a, b)		-> matmul_acc
 *	sum += scatter_add_rows(x, ids)	-> scatter_acc
 *
 * Kernels round between the parts as the nodes would, so no bit changes.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/graph/plan_parts.h"

struct fuser {
	struct plan *p;
	uint32_t *uses; /* owned */
	size_t at;	/* in the order: of the node that is looked at */
};

static enum activation activation_of(enum op op)
{
	switch (op) {
	case OP_RELU: return ACTIVATION_RELU;
	case OP_RELU2: return ACTIVATION_RELU2;
	case OP_SILU: return ACTIVATION_SILU;
	case OP_GELU: return ACTIVATION_GELU;
	case OP_GELU_TANH: return ACTIVATION_GELU_TANH;
	case OP_SIGMOID: return ACTIVATION_SIGMOID;
	case OP_TANH: return ACTIVATION_TANH;
	default: return ACTIVATION_NONE;
	}
}

static bool updates_operand(const struct node *n, const struct node *of)
{
	for (int i = 0; i < n->n_in; i++)
		for (int j = 0; j < of->n_in && (op_info(n->op)->in_place >> i & 1); j++)
			if (of->in[j] && of->in[j]->base == n->in[i]->base)
				return true;
	return false;
}

/* Whether M could as well run where the present node does: nothing between them updates what it reads. */
static bool can_wait(const struct fuser *f, const struct node *m)
{
	for (size_t i = f->at; i-- > 0 && f->p->order[i] != m;)
		if (updates_operand(f->p->order[i], m))
			return false;
	return true;
}

/* The node of OP that makes T, that nobody else reads, and that may run later, or NULL. */
static struct node *sole_maker(const struct fuser *f, const struct tensor *t, enum op op)
{
	if (!t || t->node->op != op || f->uses[t->id] != 1 || t->node->count ||
	    !can_wait(f, t->node))
		return NULL;
	return t->node;
}

/* N becomes a node of OP with the inputs of MAKER; its own output stays. */
static void become(struct fuser *f, struct node *n, enum op op, const struct node *maker,
		   const void *attributes, size_t size)
{
	void *copy = size ? graph_alloc(f->p->g, 1, size) : NULL;

	if (size && !copy)
		return;
	if (size)
		memcpy(copy, attributes, size);
	n->op = op;
	n->attributes = copy;
	n->n_in = maker->n_in;
	memcpy(n->in, maker->in, sizeof(n->in));
}

static void fuse_matmul_activation(struct fuser *f, struct node *n)
{
	struct node *m = sole_maker(f, n->in[0], OP_MATMUL);
	struct matmul_attributes a;

	if (!m)
		return;
	a = *(const struct matmul_attributes *)m->attributes;
	if (a.activation != ACTIVATION_NONE || m->n_in > 3)
		return;
	a.activation = activation_of(n->op);
	a.out_dtype = n->out[0]->dtype;
	become(f, n, OP_MATMUL, m, &a, sizeof(a));
}

static void fuse_conv_activation(struct fuser *f, struct node *n)
{
	struct node *m = sole_maker(f, n->in[0], OP_CONV2D);
	struct conv_attributes a;

	if (!m)
		return;
	a = *(const struct conv_attributes *)m->attributes;
	if (a.activation != ACTIVATION_NONE)
		return;
	a.activation = activation_of(n->op);
	become(f, n, OP_CONV2D, m, &a, sizeof(a));
}

static bool alike(const struct tensor *a, const struct tensor *b)
{
	return a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
}

static void fuse_residual(struct fuser *f, struct node *n)
{
	for (int i = 0; i < 2; i++) {
		struct tensor *residual = n->in[1 - i];
		struct node *m = sole_maker(f, n->in[i], OP_MATMUL);
		struct matmul_attributes a;

		if (!m || m->n_in > 3 || !alike(n->in[i], n->out[0]) || !alike(residual, n->out[0]))
			continue;
		a = *(const struct matmul_attributes *)m->attributes;
		a.out_dtype = n->out[0]->dtype;
		become(f, n, OP_MATMUL, m, &a, sizeof(a));
		n->in[3] = residual;
		n->n_in = 4;
		return;
	}
}

/* sum += x, where x is made by a matmul of two matrices without an epilogue. */
static void fuse_matmul_acc(struct fuser *f, struct node *n)
{
	struct tensor *sum = n->in[0];
	struct node *m = sole_maker(f, n->in[1], OP_MATMUL);
	const struct matmul_attributes *a;

	if (!m || m->n_in > 2 || n->in[1]->shape.n != 2 || n->in[1]->dtype != sum->dtype ||
	    m->in[0]->shape.n != 2 || m->in[1]->shape.n != 2)
		return;
	a = m->attributes;
	if (a->activation != ACTIVATION_NONE)
		return;
	become(f, n, OP_MATMUL_ACC, m, NULL, 0);
	n->in[2] = n->in[1];
	n->in[1] = n->in[0];
	n->in[0] = sum;
	n->n_in = 3;
}

static void fuse_scatter_acc(struct fuser *f, struct node *n)
{
	struct tensor *sum = n->in[0];
	struct node *m = sole_maker(f, n->in[1], OP_SCATTER_ADD_ROWS);

	if (!m || n->in[1]->dtype != sum->dtype)
		return;
	become(f, n, OP_SCATTER_ACC, m, NULL, 0);
	n->in[2] = n->in[1];
	n->in[1] = n->in[0];
	n->in[0] = sum;
	n->n_in = 3;
}

static void fuse(struct fuser *f, struct node *n)
{
	if (activation_of(n->op) != ACTIVATION_NONE) {
		fuse_matmul_activation(f, n);
		if (activation_of(n->op) != ACTIVATION_NONE)
			fuse_conv_activation(f, n);
	} else if (n->op == OP_ADD) {
		fuse_residual(f, n);
	} else if (n->op == OP_ACCUMULATE) {
		fuse_matmul_acc(f, n);
		if (n->op == OP_ACCUMULATE)
			fuse_scatter_acc(f, n);
	}
}

int plan_epilogues(struct plan *p)
{
	struct fuser f = { p, plan_uses(p), 0 };

	if (!f.uses)
		return -1;
	for (; f.at < p->n_order; f.at++)
		fuse(&f, p->order[f.at]);
	free(f.uses);
	return graph_check(p->g);
}
