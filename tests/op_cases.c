/* tests/op_cases.c - making cases, and filling their operands */

#include "tests/op_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lib/base/random.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"

typedef void cases_fn(struct op_cases *c);

static cases_fn *const makers[OP_COUNT] = {
#define OP(id, op, low, high, places, attr, shape_rule, grad_rule, rows, flags, cost, tol, cases, \
	   text)                                                                                  \
 [OP_##id] = cases_##cases,
#define VIEW(...)
#include "lib/graph/ops.def"
#undef OP
#undef VIEW
};

/* NNUTILS_OPS names the ops whose cases are wanted, with commas between; all when it is not set. */
static bool is_wanted(enum op op)
{
	const char *list = getenv("NNUTILS_OPS"), *name = op_info(op)->name;
	size_t n = strlen(name);

	if (!list || !*list)
		return true;
	for (const char *at = list; (at = strstr(at, name)); at += n)
		if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

void op_cases_make(struct op_cases *c, enum op op)
{
	c->n = 0;
	c->op = op;
	if (makers[op] && is_wanted(op))
		makers[op](c);
}

void op_cases_free(struct op_cases *c)
{
	free(c->items);
	*c = (struct op_cases){ 0 };
}

/* --- making --- */

struct op_case *case_new(struct op_cases *c, const void *attributes)
{
	struct op_case *made;

	if (c->n == c->capacity) {
		c->capacity = c->capacity ? 2 * c->capacity : 16;
		c->items = realloc(c->items, c->capacity * sizeof(*c->items));
		if (!c->items)
			abort();
	}
	made = &c->items[c->n];
	*made = (struct op_case){ .op = c->op, .seed = 1000 * (uint64_t)c->n + 7 };
	snprintf(made->name, sizeof(made->name), "%s/%zu", op_info(c->op)->name, c->n);
	if (attributes)
		memcpy(made->attributes, attributes, op_info(c->op)->attributes);
	c->n++;
	return made;
}

static struct op_operand *add(struct op_case *c, struct shape shape, enum operand_fill fill)
{
	struct op_operand *o = &c->in[c->n_in++];

	*o = (struct op_operand){ .there = true, .shape = shape, .fill = fill };
	return o;
}

void case_floats(struct op_case *c, struct shape shape, enum operand_fill fill)
{
	add(c, shape, fill)->gradient = true;
}

void case_fixed(struct op_case *c, struct shape shape, enum operand_fill fill)
{
	add(c, shape, fill);
}

void case_exact(struct op_case *c, enum dtype dtype, struct shape shape, enum operand_fill fill,
		int64_t low, int64_t high)
{
	struct op_operand *o = add(c, shape, fill);

	o->exact = true;
	o->dtype = dtype;
	o->low = low;
	o->high = high;
}

void case_given(struct op_case *c, enum dtype dtype, size_t n, const double *values)
{
	struct op_operand *o = add(c, SHAPE(n), FILL_GIVEN);

	o->exact = true;
	o->dtype = dtype;
	memcpy(o->given, values, n * sizeof(*values));
}

void cases_end(struct op_cases *c, const char *ends)
{
	for (size_t i = 0; i < c->n; i++)
		c->items[i].ends = ends;
}

void cases_spread(struct op_cases *c, const char *spreads)
{
	for (size_t i = 0; i < c->n; i++)
		c->items[i].spreads = spreads;
}

void case_none(struct op_case *c)
{
	c->in[c->n_in++] = (struct op_operand){ 0 };
}

/* --- values --- */

/* Rows of log-probabilities of which the first few words are kept. */
static void fill_logs(const struct random_stream *r, double *out, size_t n, size_t width)
{
	for (size_t row = 0; row < n / width; row++) {
		double total = 0;

		for (size_t i = 0; i < width; i++)
			total += exp(out[row * width + i] = random_normal(r, row, i));
		for (size_t i = 0; i < width; i++)
			out[row * width + i] -= log(total);
	}
}

static void fill_apart(const struct random_stream *r, double *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = ((double)random_permute(r, 0, n, i) - (double)n / 2) * 0.125;
}

static void fill_offsets(const struct random_stream *r, double *out, size_t n, int64_t high)
{
	for (size_t i = 0; i < n; i++)
		out[i] = i == 0	      ? 0
			 : i == n - 1 ? (double)high
				      : (double)random_below(r, 0, i, (uint64_t)high + 1);
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && out[j - 1] > out[j]; j--) {
			double swap = out[j];

			out[j] = out[j - 1];
			out[j - 1] = swap;
		}
}

static double value_of(const struct op_operand *o, const struct random_stream *r, size_t i)
{
	switch (o->fill) {
	case FILL_POSITIVE: return 0.2 + 2 * random_uniform53(r, 0, i);
	case FILL_IDS:
		return (double)(o->low +
				(int64_t)random_below(r, 0, i, (uint64_t)(o->high - o->low)));
	case FILL_COUNT: return (double)(o->low + (int64_t)i);
	case FILL_BOOL: return (double)random_below(r, 0, i, 2);
	case FILL_BITS: return (double)(random_below(r, 0, i, 256) | 1);
	case FILL_GIVEN: return o->given[i];
	default: return random_normal(r, 0, i);
	}
}

void op_case_values(const struct op_case *c, int i, double *out)
{
	const struct op_operand *o = &c->in[i];
	struct random_stream r = random_at(c->seed, (uint64_t)i, (uint64_t)c->op);
	size_t n = shape_elements(&o->shape);

	if (o->fill == FILL_APART)
		fill_apart(&r, out, n);
	else if (o->fill == FILL_OFFSETS)
		fill_offsets(&r, out, n, o->high);
	else if (o->fill == FILL_LOGS && n)
		fill_logs(&r, out, n, o->shape.at[o->shape.n - 1]);
	else
		for (size_t j = 0; j < n; j++)
			out[j] = value_of(o, &r, j);
}

/* --- as a node --- */

/* An input with the operand's shape, which lies as LAYOUT says. */
static struct tensor *operand(struct graph *g, const struct op_operand *o, int i, enum dtype floats,
			      enum op_layout layout)
{
	struct shape s = o->shape;
	struct tensor *t;
	char name[8];

	snprintf(name, sizeof(name), "in%d", i);
	if (o->exact || s.n == 0 || layout == LAYOUT_DENSE ||
	    (layout == LAYOUT_TRANSPOSED && s.n < 2))
		return graph_input(g, name, o->exact ? o->dtype : floats, s);
	if (layout == LAYOUT_GAPS) {
		s.at[s.n - 1] += 5;
		t = graph_input(g, name, floats, s);
		return op_slice(g, t, -1, 2, o->shape.at[s.n - 1]);
	}
	s.at[s.n - 1] = o->shape.at[s.n - 2];
	s.at[s.n - 2] = o->shape.at[s.n - 1];
	return op_transpose(g, graph_input(g, name, floats, s));
}

struct node *op_case_node(const struct op_case *c, struct graph *g, enum dtype floats,
			  enum op_layout layout, struct tensor **inputs)
{
	struct tensor *t;

	for (int i = 0; i < c->n_in; i++)
		inputs[i] = c->in[i].there ? operand(g, &c->in[i], i, floats, layout) : NULL;
	t = graph_append(g, c->op, inputs, c->n_in, c->attributes);
	return t ? t->node : NULL;
}

static void fill_operand(const struct op_case *c, int i, const struct tensor *t, void *data,
			 enum dtype rounded)
{
	struct kernel_tensor view = { .dtype = t->dtype, .n_axes = t->shape.n };
	struct kernel_tensor whole = { .data = data, .dtype = t->dtype };
	size_t n = shape_elements(&t->shape), all = shape_elements(&t->base->shape);
	double *values = malloc((n + 1) * sizeof(*values));

	if (!values)
		abort();
	op_case_values(c, i, values);
	for (size_t j = 0; j < all; j++)
		ref_put(&whole, (ptrdiff_t)j, NAN);
	for (int axis = 0; axis < t->shape.n; axis++) {
		view.shape[axis] = t->shape.at[axis];
		view.stride[axis] = t->stride[axis];
	}
	for (size_t j = 0; j < n; j++) {
		struct ref_index at;

		ref_index(&view, j, &at);
		ref_put(&whole, (ptrdiff_t)t->offset + ref_offset(&view, &at),
			c->in[i].exact ? values[j] : ref_rounded(rounded, values[j]));
	}
	free(values);
}

int op_case_fill(const struct op_case *c, struct plan *p, struct tensor *const *inputs,
		 enum dtype rounded)
{
	for (int i = 0; i < c->n_in; i++) {
		void *data = inputs[i] ? plan_data(p, inputs[i]->base) : NULL;

		if (inputs[i] && !data)
			return -1;
		if (inputs[i])
			fill_operand(c, i, inputs[i], data, rounded);
	}
	return 0;
}
