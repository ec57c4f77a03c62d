/*
 * lib/graph/plan_call.c - nodes into calls of kernels
 *
 * Elementwise ops see their operands with the axes merged that lie evenly in all of them, and with strides of 0 where one is
 * broadcast; all others see the axes that ops.def names.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/graph/cost.h"
#include "lib/graph/plan_parts.h"

/* Below this much work a node is not shared: waking a thread costs as much. */
#define SERIAL_BYTES	  32768.0
#define SERIAL_OPERATIONS 65536.0

static void as_it_is(const struct tensor *t, struct kernel_tensor *k)
{
	*k = (struct kernel_tensor){ .dtype = t->dtype, .n_axes = t->shape.n };
	for (int i = 0; i < t->shape.n && i < KERNEL_AXES; i++) {
		k->shape[i] = t->shape.at[i];
		k->stride[i] = t->stride[i];
	}
}

/* --- elementwise --- */

/* Strides of T under SHAPE, to which it broadcasts. */
static void broadcast_strides(const struct tensor *t, const struct shape *shape, ptrdiff_t *out)
{
	int more = shape->n - t->shape.n;

	for (int i = 0; i < shape->n; i++)
		out[i] = i < more || t->shape.at[i - more] == 1 ? 0 : t->stride[i - more];
}

struct merged {
	int n_axes;
	size_t shape[GRAPH_AXES];
	ptrdiff_t stride[2 * KERNEL_TENSORS][GRAPH_AXES];
};

/*
 * Axes of SHAPE from the last to the first, those of length 1 left out, and joined with the one after it when every operand
 * allows; with KEEP_FIRST not with axis 0, whose length is known at run time.
 */
static void merge_axes(struct merged *m, const struct shape *shape, ptrdiff_t (*stride)[GRAPH_AXES],
		       int n, bool keep_first)
{
	m->n_axes = 0;
	for (int i = shape->n - 1; i >= 0; i--) {
		int last = m->n_axes - 1;
		bool joins = last >= 0 && !(keep_first && i == 0);

		if (shape->at[i] == 1 && !(keep_first && i == 0))
			continue;
		for (int k = 0; k < n && joins; k++)
			joins = stride[k][i] == m->stride[k][last] * (ptrdiff_t)m->shape[last];
		if (joins) {
			m->shape[last] *= shape->at[i];
			continue;
		}
		m->shape[m->n_axes] = shape->at[i];
		for (int k = 0; k < n; k++)
			m->stride[k][m->n_axes] = stride[k][i];
		m->n_axes++;
	}
}

/* MERGED has the fastest axis first. */
static void from_merged(const struct merged *m, int k, struct kernel_tensor *out)
{
	out->n_axes = m->n_axes;
	for (int i = 0; i < m->n_axes; i++) {
		out->shape[i] = m->shape[m->n_axes - 1 - i];
		out->stride[i] = m->stride[k][m->n_axes - 1 - i];
	}
}

static bool has_rows(const struct node *n)
{
	for (int i = 0; i < n->n_in; i++)
		if (n->in[i] && n->in[i]->rows)
			return true;
	for (int i = 0; i < n->n_out; i++)
		if (n->out[i]->rows)
			return true;
	return false;
}

static int elementwise(const struct node *n, struct kernel_tensor *in, struct kernel_tensor *out,
		       bool rows)
{
	ptrdiff_t stride[2 * KERNEL_TENSORS][GRAPH_AXES];
	const struct shape *shape = &n->out[0]->shape;
	struct merged m;

	for (int i = 0; i < n->n_out; i++)
		broadcast_strides(n->out[i], shape, stride[i]);
	for (int i = 0; i < n->n_in; i++)
		broadcast_strides(n->in[i], shape, stride[n->n_out + i]);
	/* Draws are counted by row and element, and so need axis 0 as it is. */
	merge_axes(&m, shape, stride, n->n_out + n->n_in,
		   rows || has_rows(n) || (op_info(n->op)->flags & OP_RANDOM));
	if (m.n_axes > KERNEL_AXES)
		return -1;
	for (int i = 0; i < n->n_out; i++) {
		out[i] = (struct kernel_tensor){ .dtype = n->out[i]->dtype };
		from_merged(&m, i, &out[i]);
	}
	for (int i = 0; i < n->n_in; i++) {
		in[i] = (struct kernel_tensor){ .dtype = n->in[i]->dtype };
		from_merged(&m, n->n_out + i, &in[i]);
	}
	return 0;
}

int plan_operands(const struct node *n, struct kernel_tensor *in, struct kernel_tensor *out,
		  bool rows)
{
	if (op_info(n->op)->flags & OP_ELEMENTWISE)
		return elementwise(n, in, out, rows);
	for (int i = 0; i < n->n_in; i++) {
		in[i] = (struct kernel_tensor){ 0 };
		if (!n->in[i])
			continue;
		if (n->in[i]->shape.n > KERNEL_AXES)
			return -1;
		as_it_is(n->in[i], &in[i]);
	}
	for (int i = 0; i < n->n_out; i++) {
		if (n->out[i]->shape.n > KERNEL_AXES)
			return -1;
		as_it_is(n->out[i], &out[i]);
	}
	return 0;
}

/* --- choosing --- */

/* On the host, for want of a kernel of the backend. */
static int choose_other(struct plan *p, struct plan_step *s)
{
	const struct op_info *info = op_info(s->node->op);

	if (p->options.strict)
		return err_set(ERR_UNSUPPORTED, "%s: %s: the backend %s does not do it on %s %s",
			       s->node->scope, info->name, p->options.backend->name,
			       s->node->n_in ? dtype_name(s->node->in[0]->dtype) : "",
			       s->node->n_in ? shape_string(&s->node->in[0]->shape) : "");
	p->n_unclaimed++;
	s->kernel = p->host ? backend_choose(p->host, info->name, &s->call) : NULL;
	s->backend = s->kernel ? p->host->name : backend_ref()->name;
	if (!s->kernel)
		s->kernel = info->ref;
	return 0;
}

static int choose(struct plan *p, struct plan_step *s)
{
	const struct backend *b = p->options.backend;

	s->kernel = backend_choose(b, op_info(s->node->op)->name, &s->call);
	if (!s->kernel)
		return choose_other(p, s);
	s->backend = b->name;
	if (!b->device)
		return 0;
	s->where = PLAN_DEVICE;
	s->call.parts = 1;
	if (op_info(s->node->op)->flags & OP_RANDOM)
		s->draw = p->n_draws++;
	return 0;
}

int plan_make_step(struct plan *p, struct node *n, struct plan_step *s)
{
	const struct op_info *info = op_info(n->op);

	s->node = n;
	s->scratch = s->kept = s->segment = NOWHERE;
	if (plan_operands(n, s->in, s->out, false) < 0)
		return err_set(ERR_UNSUPPORTED, "%s: %s: more than %d axes", n->scope, info->name,
			       KERNEL_AXES);
	s->call = (struct kernel_call){
		.in = s->in,
		.out = s->out,
		.n_in = n->n_in,
		.n_out = n->n_out,
		.attributes = n->attributes,
		.parts = plan_n_parts(p),
		.rows = s->out[0].n_axes ? s->out[0].shape[0] : 1,
		.caches = &p->caches,
	};
	s->operations = info->cost(n);
	s->bytes = cost_bytes(n);
	s->serial = (info->flags & OP_SERIAL) ||
		    (s->bytes < SERIAL_BYTES && s->operations < SERIAL_OPERATIONS);
	s->dynamic = n->count || has_rows(n);
	return choose(p, s);
}

/* All meet before a step that others may have written for; those that part 0 alone runs follow each other. */
static void set_barriers(struct plan *p)
{
	for (size_t i = 1; i < p->n_steps; i++)
		p->steps[i].barrier = !(p->steps[i].serial && p->steps[i - 1].serial);
}

int plan_steps(struct plan *p)
{
	p->steps = mem_new(p->n_order + 1, sizeof(*p->steps));
	if (!p->steps)
		return -1;
	for (size_t i = 0; i < p->n_order; i++) {
		struct node *n = p->order[i];

		if (!node_is_view(n) && plan_make_step(p, n, &p->steps[p->n_steps++]) < 0)
			return -1;
	}
	set_barriers(p);
	return 0;
}
