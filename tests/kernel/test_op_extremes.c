/*
 * tests/kernel/test_op_extremes.c - values at the ends of what a float holds, and axes without elements
 *
 * No list is kept here: ops and cases come from ops.def. Each operand that is a float gets, one at a time, the largest and the smallest
 * numbers, a subnormal one, NaN and both infinities, at its first element, its last, and around the edges of vectors; every kernel of
 * every level must give NaN where ref does, the same infinity where ref does, and be near elsewhere. Then every axis in turn has
 * length 0, in all operands that share its length, wherever the op's shape rule takes that. Tensors lie between closed pages.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lib/base/err.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/op_cases.h"
#include "tests/tap.h"

#define LARGE 1500 /* elements of a case at most */

/* One case on one backend, made once and run many times. */
struct side {
	struct tensor *in[KERNEL_TENSORS];
	struct graph *g;
	struct plan *p;
	const char *variant;
	int n;
	void *operands[KERNEL_TENSORS]; /* owned: their bytes as the case has them, or NULL */
	double *values[KERNEL_TENSORS]; /* owned: results of the last run */
	double usual[KERNEL_TENSORS];	/* the largest of each with the case's own values */
	size_t sizes[KERNEL_TENSORS];
	enum dtype dtypes[KERNEL_TENSORS];
};

static void close_side(struct side *s)
{
	for (int i = 0; i < s->n; i++)
		free(s->values[i]);
	for (int i = 0; i < KERNEL_TENSORS; i++)
		free(s->operands[i]);
	plan_free(s->p);
	graph_free(s->g);
}

/* The case's values, which are worked out once. */
static int keep_operands(struct side *s, const struct op_case *c, enum dtype floats)
{
	if (op_case_fill(c, s->p, s->in, floats) < 0)
		return -1;
	for (int i = 0; i < c->n_in; i++) {
		size_t size = 0;

		if (!s->in[i])
			continue;
		dtype_size(s->in[i]->dtype, shape_elements(&s->in[i]->shape), &size);
		s->operands[i] = malloc(size + 1);
		if (!s->operands[i])
			abort();
		memcpy(s->operands[i], plan_data(s->p, s->in[i]), size);
	}
	return 0;
}

static void give_operands(struct side *s)
{
	for (int i = 0; i < KERNEL_TENSORS; i++) {
		size_t size = 0;

		if (!s->operands[i])
			continue;
		dtype_size(s->in[i]->dtype, shape_elements(&s->in[i]->shape), &size);
		memcpy(plan_data(s->p, s->in[i]), s->operands[i], size);
	}
}

/* 1; 0 when the backend has no kernel for it, or the op refuses it; -1. */
static int open_side(struct side *s, const struct op_case *c, const struct backend *b,
		     enum dtype floats)
{
	struct plan_options o = { .backend = b, .guard = true, .strict = true };
	struct node *n;

	*s = (struct side){ 0 };
	if (graph_new(&s->g, NULL, NULL) < 0)
		return -1;
	n = op_case_node(c, s->g, floats, LAYOUT_DENSE, s->in);
	if (!n)
		return 0;
	for (int i = 0; i < n->n_out; i++) {
		char name[8] = { 'o', (char)('a' + i), '\0' };

		graph_output(s->g, n->out[i], name);
		s->sizes[i] = shape_elements(&n->out[i]->shape);
		s->dtypes[i] = n->out[i]->dtype;
		s->values[i] = malloc((s->sizes[i] + 1) * sizeof(double));
		if (!s->values[i])
			abort();
		s->n++;
	}
	if (plan_new(&s->p, s->g, &o) < 0)
		return err_last() == ERR_UNSUPPORTED ? 0 : -1;
	if (keep_operands(s, c, floats) < 0)
		return -1;
	s->variant = plan_n_steps(s->p) ? plan_step(s->p, 0).kernel->variant : "";
	return 1;
}

/* With VALUE as element AT of operand I, unless I is negative. */
static int run_side(struct side *s, int i, size_t at, double value)
{
	give_operands(s);
	if (i >= 0) {
		struct kernel_tensor t = { .data = plan_data(s->p, s->in[i]),
					   .dtype = s->in[i]->dtype };

		ref_put(&t, (ptrdiff_t)at, value);
	}
	if (plan_run(s->p, 5, 6) < 0)
		return -1;
	for (int k = 0; k < s->n; k++) {
		const struct tensor *out = graph_output_at(s->g, (size_t)k, NULL);
		struct kernel_tensor t = { .data = plan_data(s->p, out), .dtype = out->dtype };

		for (size_t j = 0; j < s->sizes[k]; j++)
			s->values[k][j] = ref_get(&t, (ptrdiff_t)j);
	}
	return 0;
}

/* --- comparing --- */

static size_t longest_axis(const struct op_case *c)
{
	size_t n = 1;

	for (int i = 0; i < c->n_in; i++)
		for (int j = 0; j < c->in[i].shape.n; j++)
			n = c->in[i].shape.at[j] > n ? c->in[i].shape.at[j] : n;
	return n;
}

static double rounding_of(enum dtype t)
{
	return t == DTYPE_BF16 ? 0x1p-7 : t == DTYPE_F16 ? 0x1p-10 : t == DTYPE_F32 ? 0x1p-22 : 0;
}

/*
 * The element that is wrong, or -1. Of an elementwise op each element is near by itself; elsewhere what is large is added to what is
 * not, and all are measured by the largest. Cases say where NaN is free (op_cases.h).
 */
static ptrdiff_t find_wrong(const struct op_case *c, const struct side *got,
			    const struct side *want, int k)
{
	bool elementwise = op_info(c->op)->flags & OP_ELEMENTWISE;
	double scale = elementwise ? 0 : want->usual[k], error = rounding_of(got->dtypes[k]);

	if (error > 0)
		error += op_info(c->op)->tolerance * 0x1p-23 * sqrt((double)longest_axis(c));
	for (size_t j = 0; j < want->sizes[k]; j++)
		if (fabs(want->values[k][j]) < (elementwise ? 1e3 : INFINITY))
			scale = fmax(scale, fabs(want->values[k][j]));
	for (size_t j = 0; j < want->sizes[k]; j++) {
		double a = got->values[k][j], b = want->values[k][j];

		if ((c->ends || c->spreads) && !isfinite(a) && !isfinite(b))
			continue;
		if (c->spreads && isnan(a))
			continue;
		if (isnan(a) != isnan(b) || (isinf(b) && a != b) || (isinf(a) && a != b))
			return (ptrdiff_t)j;
		if (isfinite(b) && fabs(a - b) > error * fmax(scale, fabs(b)) + FLT_MIN)
			return (ptrdiff_t)j;
	}
	return -1;
}

/* --- placing --- */

struct pair {
	const struct op_case *c;
	enum dtype floats;
	struct side ours, ref;
	size_t n_tried, n_wrong;
	char first[200]; /* what was wrong first */
};

static void try_place(struct pair *p, int i, size_t at, double value)
{
	if (run_side(&p->ours, i, at, value) < 0 || run_side(&p->ref, i, at, value) < 0) {
		p->n_wrong++;
		return;
	}
	p->n_tried++;
	for (int k = 0; k < p->ours.n; k++) {
		ptrdiff_t j = find_wrong(p->c, &p->ours, &p->ref, k);

		if (j < 0)
			continue;
		if (p->n_wrong++ == 0)
			snprintf(p->first, sizeof(p->first),
				 "%g at %zu of operand %d: result %d at %td is %g, not %g", value,
				 at, i, k, j, p->ours.values[k][j], p->ref.values[k][j]);
	}
}

/* Whether its steps stay in range as its result does: squares, sums and products of two that ref has in double do not. */
static bool takes_largest(const struct op_info *info)
{
	return info->flags & OP_ELEMENTWISE && (info->tolerance <= 1 || info->most == 1);
}

static void try_operand(struct pair *p, int i)
{
	const double largest = takes_largest(op_info(p->c->op)) ? FLT_MAX : 1e18;
	const double values[] = { largest, -largest, FLT_MIN, -1e-40, 0, NAN, INFINITY, -INFINITY };
	size_t n = shape_elements(&p->c->in[i].shape);
	const size_t places[] = { 0, n - 1, 7, 8, 16 };

	/* Halves are widened to the same vectors. */
	for (size_t j = 0; j < (p->floats == DTYPE_F32 ? 5 : 2); j++)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
			if (places[j] < n && (j == 0 || places[j] != places[j > 1]))
				try_place(p, i, places[j], values[v]);
}

static void check_pair(struct pair *p, enum level level, const char *what)
{
	int claimed = open_side(&p->ours, p->c, backend_level(level), p->floats);

	if (claimed < 0)
		tap_works(claimed, "%s", p->c->name);
	if (claimed == 1 && tap_ok(open_side(&p->ref, p->c, backend_ref(), p->floats) == 1,
				   "%s on ref", p->c->name)) {
		try_place(p, -1, 0, 0);
		for (int k = 0; k < p->ref.n; k++)
			for (size_t j = 0; j < p->ref.sizes[k]; j++)
				if (isfinite(p->ref.values[k][j]))
					p->ref.usual[k] =
						fmax(p->ref.usual[k], fabs(p->ref.values[k][j]));
		for (int i = 0; i < p->c->n_in && !*what; i++)
			if (p->c->in[i].there && !p->c->in[i].exact)
				try_operand(p, i);
		tap_ok(p->n_wrong == 0, "%s %s %s %s%s: %zu tried %s", p->c->name,
		       level_name(level), dtype_name(p->floats), p->ours.variant, what, p->n_tried,
		       p->first);
		close_side(&p->ref);
	}
	close_side(&p->ours);
}

static void check_case(const struct op_case *c, const char *what)
{
	const enum dtype floats[] = { DTYPE_F32, DTYPE_BF16 };
	size_t n = 0;

	for (int i = 0; i < c->n_in; i++)
		n += shape_elements(&c->in[i].shape);
	if (n > LARGE)
		return;
	for (int level = 0; level < LEVEL_COUNT; level++)
		for (int f = 0; f < 2 && level_available((enum level)level); f++) {
			struct pair p = { .c = c, .floats = floats[f] };

			check_pair(&p, (enum level)level, what);
		}
}

/* --- axes without elements --- */

/* All axes of LENGTH become empty. False where ids would point into what is empty. */
static bool empty_axes(struct op_case *c, size_t length)
{
	for (int i = 0; i < c->n_in; i++) {
		struct op_operand *o = &c->in[i];

		for (int j = 0; j < o->shape.n; j++)
			if (o->shape.at[j] == length)
				o->shape.at[j] = 0;
		if (o->there && o->fill == FILL_IDS && o->high == (int64_t)length &&
		    shape_elements(&o->shape))
			return false;
		if (o->fill == FILL_OFFSETS && o->high == (int64_t)length)
			o->high = 0;
	}
	return true;
}

static void check_empty(const struct op_case *c)
{
	size_t done[64], n = 0;

	for (int i = 0; i < c->n_in; i++)
		for (int j = 0; j < c->in[i].shape.n && n < 64; j++) {
			size_t length = c->in[i].shape.at[j];
			struct op_case empty = *c;
			char what[40];
			bool again = length == 0;

			for (size_t k = 0; k < n; k++)
				again |= done[k] == length;
			done[n++] = length;
			snprintf(what, sizeof(what), ", %zu is 0", length);
			if (!again && empty_axes(&empty, length))
				check_case(&empty, what);
		}
}

int main(void)
{
	struct op_cases cases = { 0 };

	for (int op = 0; op < OP_COUNT; op++) {
		op_cases_make(&cases, (enum op)op);
		for (size_t i = 0; i < cases.n; i++) {
			check_case(&cases.items[i], "");
			check_empty(&cases.items[i]);
		}
	}
	op_cases_free(&cases);
	return tap_done();
}
