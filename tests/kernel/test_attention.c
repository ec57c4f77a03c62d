/*
 * tests/kernel/test_attention.c - the gradient of attention on every level against ref in double
 *
 * Its operands must belong together, so it has no cases of its own: each case of attention is run forward and then back,
 * from a random gradient of the result. Then each operand has elements that are not finite: they reach, forward and back, what
 * they reach in ref, which looks at no pair of a query and a key that it does not see.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/op_cases.h"
#include "tests/tap.h"

#define RESULTS 6 /* of attention, then of its gradient */

enum { Q, K, V, DOUT, NOTHING };

struct trial {
	const struct backend *backend;
	enum dtype floats, rounded;
	enum op_layout layout;
	int threads;
	bool strict;
	int spoiled; /* the operand that has NaN and infinity */
};

struct results {
	int n;
	size_t sizes[RESULTS];
	double *values[RESULTS]; /* owned */
};

static void free_results(struct results *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->values[i]);
	*r = (struct results){ 0 };
}

static void fill(struct plan *p, const struct tensor *dout, enum dtype rounded)
{
	struct kernel_tensor t = { .data = plan_data(p, dout), .dtype = dout->dtype };
	struct random_stream r = random_at(11, 0, 0);

	for (size_t i = 0; i < shape_elements(&dout->shape); i++)
		ref_put(&t, (ptrdiff_t)i, ref_rounded(rounded, random_normal(&r, 0, i)));
}

/* NaN in the middle row of T, and infinity in the last: few see the last key, and many keys are not seen by the middle query. */
static void spoil_operand(struct plan *p, const struct tensor *x)
{
	struct kernel_tensor t = { .data = plan_data(p, x), .dtype = x->dtype };
	size_t n = shape_elements(&x->shape), row = n / x->shape.at[0];

	ref_put(&t, (ptrdiff_t)(x->shape.at[0] / 2 * row), NAN);
	ref_put(&t, (ptrdiff_t)(n - 1), INFINITY);
}

/* What is not written stays NaN. */
static void spoil(struct plan *p, const struct node *n)
{
	for (int i = 0; i < n->n_out; i++) {
		struct kernel_tensor t = { .data = plan_data(p, n->out[i]),
					   .dtype = n->out[i]->dtype };

		for (size_t j = 0; j < shape_elements(&n->out[i]->shape); j++)
			ref_put(&t, (ptrdiff_t)j, NAN);
	}
}

static void read_results(struct plan *p, const struct node *n, struct results *r)
{
	for (int i = 0; i < n->n_out; i++, r->n++) {
		struct kernel_tensor t = { .data = plan_data(p, n->out[i]),
					   .dtype = n->out[i]->dtype };

		r->sizes[r->n] = shape_elements(&n->out[i]->shape);
		r->values[r->n] = malloc((r->sizes[r->n] + 1) * sizeof(double));
		for (size_t j = 0; j < r->sizes[r->n]; j++)
			r->values[r->n][j] = ref_get(&t, (ptrdiff_t)j);
	}
}

/* Forward and back; NULL after an error. */
static struct node *build(const struct op_case *c, const struct trial *t, struct graph *g,
			  struct tensor **in, struct tensor **dout)
{
	struct node *forward = op_case_node(c, g, t->floats, t->layout, in), *back;
	struct tensor *all[KERNEL_TENSORS], *first;

	if (!forward)
		return NULL;
	*dout = graph_input(g, "dout", t->floats, forward->out[0]->shape);
	all[0] = *dout;
	all[1] = forward->out[0];
	all[2] = forward->out[1];
	for (int i = 0; i < c->n_in; i++)
		all[3 + i] = in[i];
	first = graph_append(g, OP_ATTENTION_GRAD, all, 3 + c->n_in, c->attributes);
	back = first ? first->node : NULL;
	for (int i = 0; back && i < back->n_out; i++) {
		char name[8] = { 'd', (char)('a' + i), '\0' };

		graph_output(g, back->out[i], name);
	}
	graph_output(g, forward->out[0], "out");
	graph_output(g, forward->out[1], "lse");
	return back;
}

static int try_case(const struct op_case *c, const struct trial *t, struct results *r)
{
	struct plan_options o = { .backend = t->backend, .guard = true, .strict = t->strict };
	struct tensor *in[KERNEL_TENSORS], *dout;
	struct graph *g;
	struct plan *p = NULL;
	struct node *n;
	int result = -1;

	if (graph_new(&g, NULL, NULL) < 0 || team_new(&o.team, t->threads) < 0)
		return -1;
	n = build(c, t, g, in, &dout);
	if (n && plan_new(&p, g, &o) == 0) {
		spoil(p, n);
		spoil(p, n->in[1]->node);
		result = op_case_fill(c, p, in, t->rounded);
	}
	if (result == 0) {
		fill(p, dout, t->rounded);
		if (t->spoiled < NOTHING)
			spoil_operand(p, t->spoiled == DOUT ? dout : in[t->spoiled]);
		result = plan_run(p, 5, 6);
	}
	/* Again, on scratch that is no longer zeros. */
	if (result == 0)
		result = plan_run(p, 5, 6);
	if (result == 0) {
		read_results(p, n->in[1]->node, r);
		read_results(p, n, r);
	}
	plan_free(p);
	graph_free(g);
	team_free(o.team);
	return result;
}

/*
 * The result that goes back in is rounded to its dtype, which reaches everything through D. What is not finite is so in both; which of
 * NaN and the infinities it is, the order of sums decides.
 */
static double error_of(const struct results *got, const struct results *want, int i,
		       enum dtype floats)
{
	double rounding = floats == DTYPE_BF16 ? 0x1p-6 : floats == DTYPE_F16 ? 0x1p-9 : 0x1p-19;
	double most = 0, worst = 0;

	for (size_t j = 0; j < want->sizes[i]; j++)
		most = isfinite(want->values[i][j]) ? fmax(most, fabs(want->values[i][j])) : most;
	for (size_t j = 0; j < want->sizes[i]; j++) {
		double off = fabs(got->values[i][j] - want->values[i][j]);

		if (!isfinite(got->values[i][j]) && !isfinite(want->values[i][j]))
			continue;
		if (!isfinite(off))
			return INFINITY;
		worst = fmax(worst, off / (most * rounding + 1e-30));
	}
	return worst;
}

static bool same_bits(const struct results *a, const struct results *b)
{
	for (int i = 0; i < a->n; i++)
		if (memcmp(a->values[i], b->values[i], a->sizes[i] * sizeof(double)) != 0)
			return false;
	return true;
}

static void check_level(const struct op_case *c, struct trial t, const struct results *want,
			const char *what)
{
	struct results got = { 0 }, other = { 0 };

	if (!tap_works(try_case(c, &t, &got), "%s", what))
		return;
	for (int i = 0; i < got.n; i++) {
		double worst = error_of(&got, want, i, t.floats);

		tap_ok(worst <= 1, "%s: result %d within %.3g of what is allowed", what, i, worst);
	}
	for (t.threads = 2; t.threads <= 7; t.threads += t.threads < 3 ? 1 : 4) {
		if (tap_works(try_case(c, &t, &other), "%s: %d threads", what, t.threads))
			tap_ok(same_bits(&got, &other), "%s: the same bits on %d threads", what,
			       t.threads);
		free_results(&other);
	}
	free_results(&got);
}

static void check_case(const struct op_case *c, enum dtype floats)
{
	struct trial exact = { backend_ref(), DTYPE_F64, floats, LAYOUT_DENSE, 2, false, NOTHING };
	struct results want = { 0 };
	char what[96];

	if (tap_works(try_case(c, &exact, &want), "%s %s: ref", c->name, dtype_name(floats)))
		for (int level = 0; level < LEVEL_COUNT; level++)
			for (int l = 0; l < 2 && level_available((enum level)level); l++) {
				struct trial t = { backend_level((enum level)level),
						   floats,
						   floats,
						   l ? LAYOUT_GAPS : LAYOUT_DENSE,
						   1,
						   true,
						   NOTHING };

				snprintf(what, sizeof(what), "%s %s %s %s", c->name,
					 level_name((enum level)level), dtype_name(floats),
					 l ? "gaps" : "dense");
				check_level(c, t, &want, what);
			}
	free_results(&want);
}

static void check_spoiled(const struct op_case *c, int spoiled)
{
	static const char *const names[] = { "q", "k", "v", "dout" };
	struct trial t = { backend_ref(), DTYPE_F64, DTYPE_F32, LAYOUT_DENSE, 2, false, spoiled };
	struct results want = { 0 };
	char what[96];

	if (tap_works(try_case(c, &t, &want), "%s: ref with NaN in %s", c->name, names[spoiled]))
		for (int level = 0; level < LEVEL_COUNT; level++) {
			struct trial ours = { backend_level((enum level)level),
					      DTYPE_F32,
					      DTYPE_F32,
					      LAYOUT_DENSE,
					      1,
					      true,
					      spoiled };

			if (!level_available((enum level)level))
				continue;
			snprintf(what, sizeof(what), "%s %s with NaN in %s", c->name,
				 level_name((enum level)level), names[spoiled]);
			check_level(c, ours, &want, what);
		}
	free_results(&want);
}

/* ref looks at all keys again for each pair. */
static bool is_small(const struct op_case *c)
{
	return c->n_in < 10 && c->in[Q].shape.at[0] * c->in[K].shape.at[0] < 20000;
}

int main(void)
{
	const enum dtype floats[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
	struct op_cases cases = { 0 };

	op_cases_make(&cases, OP_ATTENTION);
	for (size_t i = 0; i < cases.n; i++)
		for (int f = 0; f < 3 && cases.items[i].n_in < 10; f++) /* 10: through pages */
			check_case(&cases.items[i], floats[f]);
	for (size_t i = 0; i < cases.n; i++)
		for (int operand = Q; operand <= DOUT && is_small(&cases.items[i]); operand++)
			check_spoiled(&cases.items[i], operand);
	op_cases_free(&cases);
	return tap_done();
}
