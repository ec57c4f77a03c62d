/* lib/eval/support.c - which kernels a backend has for an op, found by asking them */

#include "lib/eval/support.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/eval/op_shapes.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"

#define BLOCKED_NONE (-1)

/* One question: a shape, the type of its floats, and of one operand that is in blocks instead. */
struct question {
	const struct backend *backend;
	const struct op_shape *shape;
	enum dtype floats;
	int blocked; /* which operand, or BLOCKED_NONE */
	enum dtype blocks;
};

static struct tensor *operand(struct graph *g, const struct question *q, int i,
			      const struct op_operand_shape *o)
{
	enum dtype dtype = i == q->blocked ? q->blocks : o->dtype ? o->dtype : q->floats;
	struct shape s = op_operand_memory(o);
	struct tensor *t;
	char name[16];

	if (!o->there)
		return NULL;
	snprintf(name, sizeof(name), "in%d", i);
	t = graph_input(g, name, dtype, s);
	return o->transposed ? op_transpose(g, t) : t;
}

static void append(struct graph *g, const struct question *q)
{
	_Alignas(16) unsigned char attributes[256] = { 0 };
	struct tensor *in[KERNEL_TENSORS], *t;
	struct op_operands operands;

	if (op_operands_parse(q->shape->operands, &operands) < 0) {
		graph_error(g, "%s", err_text());
		return;
	}
	if (q->shape->attributes)
		memcpy(attributes, q->shape->attributes, op_info(q->shape->op)->attributes);
	if (q->shape->op == OP_FILL || q->shape->op == OP_ARANGE)
		((struct fill_attributes *)(void *)attributes)->dtype = q->floats;
	for (int i = 0; i < operands.n; i++)
		in[i] = operand(g, q, i, &operands.at[i]);
	t = graph_append(g, q->shape->op, in, operands.n, attributes);
	if (t)
		graph_output(g, t, "out");
}

/* The variant that serves it, `ref` where the backend claims nothing, NULL where the op refuses such operands. */
static const char *ask(const struct question *q)
{
	/* Planned as it is: a pass could compute it at once, or turn it into another op. */
	struct plan_options o = { .backend = q->backend, .without = PLAN_ALL };
	const char *variant = NULL;
	struct plan *p = NULL;
	struct graph *g;

	if (graph_new(&g, NULL, NULL) < 0)
		return NULL;
	append(g, q);
	if (graph_check(g) == 0 && plan_new(&p, g, &o) == 0 && plan_n_steps(p)) {
		struct plan_node_stats s = plan_step(p, plan_n_steps(p) - 1);

		variant = plan_n_unclaimed(p) ? "ref" : s.kernel->variant;
	}
	plan_free(p);
	graph_free(g);
	return variant;
}

/* --- over the shapes --- */

static bool is_listed(const struct buffer *names, size_t from, const char *name, char between)
{
	size_t n = strlen(name);

	for (size_t at = from; at + n <= names->size; at++)
		if (memcmp(names->data + at, name, n) == 0 &&
		    (at == from || names->data[at - 1] == between) &&
		    (at + n == names->size || names->data[at + n] == between))
			return true;
	return false;
}

static void list(struct buffer *names, size_t from, const char *name, char between)
{
	if (is_listed(names, from, name, between))
		return;
	if (names->size > from)
		buffer_put_u8(names, (uint8_t)between);
	buffer_put_text(names, name);
}

static enum support verdict(size_t fast, size_t served)
{
	return !served	       ? SUPPORT_NONE
	       : !fast	       ? SUPPORT_REF
	       : fast < served ? SUPPORT_PARTLY
			       : SUPPORT_BACKEND;
}

int support_of(const struct backend *b, enum op op, enum dtype floats, enum support *out,
	       struct buffer *names)
{
	size_t from = names->size, served = 0, fast = 0;
	bool is_ref = b == backend_ref();

	for (size_t i = 0; i < n_op_shapes; i++) {
		struct question q = { b, &op_shapes[i], floats, BLOCKED_NONE, DTYPE_UNKNOWN };
		const char *variant = op_shapes[i].op == op ? ask(&q) : NULL;

		if (!variant)
			continue;
		served++;
		fast += is_ref || strcmp(variant, "ref") != 0;
		list(names, from, variant, ',');
	}
	*out = verdict(fast, served);
	return buffer_check(names);
}

static bool has_values(enum dtype t)
{
	return dtype_info(t)->block > 1 && dtype_decodes(t);
}

/* The variant for one operand in blocks of T, at the first shape and operand that the op takes so. */
static const char *ask_blocks(const struct backend *b, enum op op, enum dtype t)
{
	const char *best = NULL;

	for (size_t i = 0; i < n_op_shapes && !best; i++) {
		struct op_operands operands;

		if (op_shapes[i].op != op ||
		    op_operands_parse(op_shapes[i].operands, &operands) < 0)
			continue;
		for (int k = 0; k < operands.n && !best; k++) {
			struct question q = { b, &op_shapes[i], DTYPE_F32, k, t };
			const struct op_operand_shape *o = &operands.at[k];

			if (o->there && o->dtype == DTYPE_UNKNOWN && o->shape.n >= 2)
				best = ask(&q);
		}
	}
	return best;
}

int support_blocks(const struct backend *b, enum op op, enum support *out, struct buffer *names)
{
	size_t from = names->size, served = 0, fast = 0;

	for (int t = 0; t < DTYPE_COUNT; t++) {
		const char *variant =
			has_values((enum dtype)t) ? ask_blocks(b, op, (enum dtype)t) : NULL;

		served += variant != NULL;
		if (!variant || (b != backend_ref() && strcmp(variant, "ref") == 0))
			continue;
		fast++;
		list(names, from, dtype_name((enum dtype)t), ' ');
	}
	*out = verdict(fast, served);
	return buffer_check(names);
}
