/*
 * tests/kernel/test_op_levels.c - every kernel of every level that this machine has against ref in double
 *
 * No list is kept here: ops and cases come from ops.def, kernels from the tables of the levels. Operands lie side by side, with
 * gaps, and transposed; each tensor has pages of its own, behind which nothing may be touched; 1, 2, 3 and 7 threads give the
 * same bits. TEST_LEVELS (words) leaves the other levels out.
 */
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

struct trial {
	const struct op_case *c;
	const struct backend *backend;
	enum dtype floats, rounded;
	enum op_layout layout;
	int threads;
	bool strict;
	enum level level; /* not a base: only kernels of its own units count */
};

struct results {
	int n;
	size_t sizes[KERNEL_TENSORS];
	double *values[KERNEL_TENSORS]; /* owned */
	enum dtype dtypes[KERNEL_TENSORS];
	const char *variant;
};

static void free_results(struct results *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->values[i]);
	*r = (struct results){ 0 };
}

/* The outputs of the graph: copies of what does not lie side by side. */
static void read_results(struct plan *p, const struct graph *g, struct results *r)
{
	r->n = (int)graph_n_outputs(g);
	for (int i = 0; i < r->n; i++) {
		const struct tensor *out = graph_output_at(g, (size_t)i, NULL);
		struct kernel_tensor t = { .data = plan_data(p, out), .dtype = out->dtype };

		r->dtypes[i] = out->dtype;
		r->sizes[i] = shape_elements(&out->shape);
		r->values[i] = malloc((r->sizes[i] + 1) * sizeof(double));
		for (size_t j = 0; j < r->sizes[i]; j++)
			r->values[i][j] = ref_get(&t, (ptrdiff_t)j);
	}
}

/* Results begin as NaN or nonsense, so that what is not written shows; what is updated in place is filled afterwards. */
static void spoil_results(struct plan *p, const struct graph *g)
{
	for (size_t i = 0; i < graph_n_outputs(g); i++) {
		const struct tensor *out = graph_output_at(g, i, NULL);
		void *data = plan_data(p, out);
		size_t size;

		if (data && dtype_size(out->dtype, shape_elements(&out->shape), &size))
			memset(data, 0xff, size);
	}
}

/* Whether a base level has the kernel that the plan chose, so that it is tested there. */
static bool is_of_base(const struct plan *p, enum level level)
{
	const struct kernel *const *k = backend_level(level)->kernels;

	if (level == level_base(level) || !plan_n_steps(p))
		return level != level_base(level);
	while (*k && *k != plan_step(p, 0).kernel)
		k++;
	return *k;
}

/* 1 with the results; 0 when no kernel claims it; -1. */
static int try_case(const struct trial *t, struct results *r)
{
	struct tensor *in[KERNEL_TENSORS];
	struct plan_options o = { .backend = t->backend, .guard = true, .strict = t->strict };
	struct graph *g;
	struct plan *p = NULL;
	struct node *n;
	int result = -1;

	if (graph_new(&g, NULL, NULL) < 0 || team_new(&o.team, t->threads) < 0)
		return -1;
	n = op_case_node(t->c, g, t->floats, t->layout, in);
	for (int i = 0; n && i < n->n_out; i++) {
		char name[8] = { 'o', (char)('a' + i), '\0' };

		graph_output(g, n->out[i], name);
	}
	if (plan_new(&p, g, &o) < 0)
		result = err_last() == ERR_UNSUPPORTED ? 0 : -1;
	else if (is_of_base(p, t->level))
		result = 0;
	else {
		spoil_results(p, g);
		if (op_case_fill(t->c, p, in, t->rounded) == 0 && plan_run(p, 5, 6) == 0)
			result = 1;
	}
	if (result == 1) {
		read_results(p, g, r);
		r->variant = plan_n_steps(p) ? plan_step(p, 0).kernel->variant : "";
	}
	plan_free(p);
	graph_free(g);
	team_free(o.team);
	return result;
}

/* --- comparing --- */

static double rounding_of(enum dtype t)
{
	return t == DTYPE_BF16 ? 0x1p-8 : t == DTYPE_F16 ? 0x1p-11 : 0x1p-24;
}

/* How long its sums are at most, but for those that ops sum in pieces. */
static size_t longest_sum(const struct op_case *c)
{
	const size_t *dy = c->in[1].shape.at;
	size_t n = 1;

	if (c->op == OP_CONV2D_DW)
		return dy[0] * dy[2] * dy[3];
	for (int i = 0; i < c->n_in; i++)
		for (int j = 0; j < c->in[i].shape.n; j++)
			n = c->in[i].shape.at[j] > n ? c->in[i].shape.at[j] : n;
	return n;
}

/* The largest error in units of what is allowed. */
static double error_of(const struct op_case *c, const struct results *got,
		       const struct results *want, int i)
{
	double most = 0, worst = 0, allowed;

	for (size_t j = 0; j < want->sizes[i]; j++)
		most = isfinite(want->values[i][j]) ? fmax(most, fabs(want->values[i][j])) : most;
	allowed = most * (op_info(c->op)->tolerance * 0x1p-24 * sqrt((double)longest_sum(c)) +
			  /* An epilogue rounds between its parts as well. */
			  rounding_of(got->dtypes[i]) * (c->n_in > 2 ? 2 : 1)) +
		  1e-30;
	for (size_t j = 0; j < want->sizes[i]; j++) {
		double a = got->values[i][j], b = want->values[i][j];

		if (isnan(a) != isnan(b) || (isinf(b) && a != b))
			return INFINITY;
		if (isfinite(b))
			worst = fmax(worst, fabs(a - b) / allowed);
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

static void check_threads(struct trial t, const struct results *one, const char *what)
{
	const int threads[] = { 2, 3, 7 };

	for (size_t i = 0; i < 3; i++) {
		struct results r = { 0 };

		t.threads = threads[i];
		if (tap_works(try_case(&t, &r), "%s: %d threads", what, threads[i]))
			tap_ok(same_bits(one, &r), "%s: the same bits on %d threads", what,
			       threads[i]);
		free_results(&r);
	}
}

static void check(const struct op_case *c, enum level level, enum dtype floats,
		  enum op_layout layout)
{
	static const char *const layouts[] = { "dense", "gaps", "transposed" };
	struct trial ours = { c, backend_level(level), floats, floats, layout, 1, true, level };
	struct trial exact = { c, backend_ref(), DTYPE_F64,    floats, LAYOUT_DENSE,
			       1, false,	 LEVEL_generic };
	struct results got = { 0 }, want = { 0 };
	char what[160];
	int claimed = try_case(&ours, &got);

	snprintf(what, sizeof(what), "%s %s %s %s %s", c->name, level_name(level),
		 dtype_name(floats), layouts[layout], claimed > 0 ? got.variant : "");
	if (claimed == 0)
		return;
	if (tap_works(claimed, "%s", what) && tap_works(try_case(&exact, &want), "%s: ref", what)) {
		for (int i = 0; i < got.n; i++) {
			double worst = error_of(c, &got, &want, i);

			tap_ok(worst <= 1, "%s: result %d within %.3g of what is allowed", what, i,
			       worst);
		}
		if (layout == LAYOUT_DENSE && floats != DTYPE_F16)
			check_threads(ours, &got, what);
	}
	free_results(&got);
	free_results(&want);
}

/* Whether NAME is a word of the variable. */
static bool names(const char *variable, const char *name)
{
	const char *words = getenv(variable);
	size_t length = strlen(name);

	while (words && *words) {
		size_t n = strcspn(words, " ");

		if (n == length && memcmp(words, name, n) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

/* Those that TEST_LEVELS and TEST_OPS name, or all. */
static bool wanted(enum level level)
{
	return level_available(level) &&
	       (!getenv("TEST_LEVELS") || names("TEST_LEVELS", level_name(level)));
}

static bool wanted_op(enum op op)
{
	return !getenv("TEST_OPS") || names("TEST_OPS", op_info(op)->name);
}

int main(void)
{
	const enum dtype floats[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
	struct op_cases cases = { 0 };

	for (int op = 0; op < OP_COUNT; op++) {
		if (!wanted_op((enum op)op))
			continue;
		op_cases_make(&cases, (enum op)op);
		for (size_t i = 0; i < cases.n; i++)
			for (int level = 0; level < LEVEL_COUNT; level++)
				for (int f = 0; f < 3 && wanted((enum level)level); f++)
					for (int l = 0; l < LAYOUT_COUNT; l++)
						check(&cases.items[i], (enum level)level, floats[f],
						      (enum op_layout)l);
	}
	op_cases_free(&cases);
	return tap_done();
}
