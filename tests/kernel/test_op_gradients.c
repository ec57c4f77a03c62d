/*
 * tests/kernel/test_op_gradients.c - the gradient of every op against central differences, in double on ref
 *
 * The loss is a weighted sum of all results; the weights are normal. No list is kept here: ops and their cases come from
 * ops.def. An op whose gradient is none must have none of its operands' wanted, or say so.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/op_cases.h"
#include "tests/tap.h"

#define STEP 1e-5

struct check {
	const struct op_case *c;
	struct graph *g;
	struct plan *p;
	struct tensor *in[KERNEL_TENSORS], *with[KERNEL_TENSORS], *gradients[KERNEL_TENSORS];
	int place[KERNEL_TENSORS]; /* which operand each of WITH is */
	size_t n_with;
	struct tensor *loss;
};

/* Results that a gradient goes through: floats, and of those only the first where others are for the backward half. */
static bool counts(const struct node *n, int i)
{
	enum dtype t = n->out[i]->dtype;

	if (t != DTYPE_F64 && t != DTYPE_F32)
		return false;
	return i == 0 || n->op == OP_TOP_K;
}

static struct tensor *weigh(struct graph *g, struct tensor *y, uint64_t seed)
{
	struct random_stream r = random_at(seed, 0, 5);
	size_t n = shape_elements(&y->shape);
	double *w = malloc((n + 1) * sizeof(*w));
	struct tensor *weights;

	if (!w)
		abort();
	for (size_t i = 0; i < n; i++)
		w[i] = random_normal(&r, 0, i);
	weights = graph_constant(g, DTYPE_F64, y->shape, w);
	free(w);
	return op_sum(g, op_mul(g, weights, y), 0, false);
}

static int build(struct check *k)
{
	struct node *n;
	struct tensor *loss = NULL;

	if (graph_new(&k->g, NULL, NULL) < 0 ||
	    !(n = op_case_node(k->c, k->g, DTYPE_F64, LAYOUT_DENSE, k->in)))
		return -1;
	for (int i = 0; i < n->n_out; i++) {
		struct tensor *part = counts(n, i) ? weigh(k->g, n->out[i], (uint64_t)i) : NULL;

		loss = loss && part ? op_add(k->g, loss, part) : part ? part : loss;
	}
	k->loss = loss;
	for (int i = 0; i < k->c->n_in; i++)
		if (k->c->in[i].gradient) {
			k->place[k->n_with] = i;
			k->with[k->n_with++] = k->in[i];
		}
	graph_output(k->g, k->loss, "loss");
	if (graph_grad(k->g, k->loss, k->with, k->n_with, k->gradients) < 0)
		return -1;
	for (size_t i = 0; i < k->n_with; i++) {
		char name[8] = { 'd', (char)('a' + i), '\0' };

		if (!k->gradients[i])
			return err_set(ERR_ARGUMENT, "no gradient of operand %d", k->place[i]);
		if (!tensor_is_dense(k->gradients[i]))
			k->gradients[i] = op_copy(k->g, k->gradients[i]);
		graph_output(k->g, k->gradients[i], name);
	}
	return plan_new(&k->p, k->g,
			&(struct plan_options){ .backend = backend_ref(), .guard = true });
}

static double loss_at(struct check *k)
{
	double loss;

	if (plan_run(k->p, 3, 4) < 0)
		return NAN;
	memcpy(&loss, plan_data(k->p, k->loss), sizeof(loss));
	return loss;
}

static double gradient_at(struct check *k, size_t i, size_t at)
{
	const struct tensor *t = k->gradients[i];
	const char *data = plan_data(k->p, t);
	double d;
	float f;

	if (t->dtype == DTYPE_F64) {
		memcpy(&d, data + at * sizeof(d), sizeof(d));
		return d;
	}
	memcpy(&f, data + at * sizeof(f), sizeof(f));
	return f;
}

/* The largest difference over operand I's elements, relative to the largest slope. */
static double worst_of(struct check *k, size_t i)
{
	size_t n = shape_elements(&k->with[i]->shape), stride = n > 60 ? n / 40 : 1;
	double *x = plan_data(k->p, k->with[i]), worst = 0, most = 1e-3;

	for (size_t at = 0; at < n; at += stride) {
		double was = x[at], up, down, slope, got;

		loss_at(k);
		got = gradient_at(k, i, at);
		x[at] = was + STEP;
		up = loss_at(k);
		x[at] = was - STEP;
		down = loss_at(k);
		x[at] = was;
		slope = (up - down) / (2 * STEP);
		worst = fmax(worst, fabs(slope - got));
		most = fmax(most, fabs(slope));
		if (isnan(slope) || isnan(got))
			return INFINITY;
	}
	return worst / most;
}

static void check_case(const struct op_case *c)
{
	struct check k = { .c = c };

	if (!tap_works(build(&k), "%s", c->name) ||
	    !tap_works(op_case_fill(c, k.p, k.in, DTYPE_F64), "%s", c->name))
		return;
	for (size_t i = 0; i < k.n_with; i++) {
		double worst = worst_of(&k, i);

		tap_ok(worst < 2e-6, "%s: operand %d is off by %g", c->name, k.place[i], worst);
	}
	plan_free(k.p);
	graph_free(k.g);
}

static bool has_gradient(const struct op_case *c)
{
	for (int i = 0; i < c->n_in; i++)
		if (c->in[i].gradient)
			return true;
	return false;
}

int main(void)
{
	for (int op = 0; op < OP_COUNT; op++) {
		struct op_cases cases = { 0 };

		if (!op_info((enum op)op)->grad)
			continue;
		op_cases_make(&cases, (enum op)op);
		for (size_t i = 0; i < cases.n; i++)
			if (has_gradient(&cases.items[i]))
				check_case(&cases.items[i]);
		op_cases_free(&cases);
	}
	return tap_done();
}
