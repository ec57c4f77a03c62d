/*
 * tests/kernel/test_op_golden.c - every op on ref against PyTorch in float64
 *
 * fixtures/golden/ops has a file an op, made by scripts/gen-fixtures-ops from the cases that `test_op_golden --dump` prints. An
 * op with cases and without a file fails. What draws has no known answer there: dropout is held against its own law.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "kernels/ref/ref.h"
#include "lib/base/err.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/op_cases.h"
#include "tests/tap.h"

/* --- the cases as JSON lines, for the script --- */

static void dump_operand(const struct op_case *c, int i)
{
	const struct op_operand *o = &c->in[i];
	size_t n = shape_elements(&o->shape);
	double *values = malloc((n + 1) * sizeof(*values));

	if (!o->there) {
		printf("null");
		free(values);
		return;
	}
	op_case_values(c, i, values);
	printf("{\"dtype\":\"%s\",\"shape\":[", o->exact ? dtype_name(o->dtype) : "f64");
	for (int j = 0; j < o->shape.n; j++)
		printf("%s%zu", j ? "," : "", o->shape.at[j]);
	printf("],\"values\":[");
	for (size_t j = 0; j < n; j++)
		printf("%s%.17g", j ? "," : "",
		       o->exact ? ref_rounded(o->dtype, values[j]) : values[j]);
	printf("]}");
	free(values);
}

static void dump_case(const struct op_case *c)
{
	printf("{\"op\":\"%s\",\"name\":\"%s\",\"attributes\":\"", op_info(c->op)->name, c->name);
	for (size_t i = 0; i < op_info(c->op)->attributes; i++)
		printf("%02x", c->attributes[i]);
	printf("\",\"in\":[");
	for (int i = 0; i < c->n_in; i++) {
		if (i)
			putchar(',');
		dump_operand(c, i);
	}
	printf("]}\n");
}

static int dump(void)
{
	for (int op = 0; op < OP_COUNT; op++) {
		struct op_cases cases = { 0 };

		op_cases_make(&cases, (enum op)op);
		for (size_t i = 0; i < cases.n; i++)
			dump_case(&cases.items[i]);
		op_cases_free(&cases);
	}
	return 0;
}

/* --- the answers --- */

static double allowed_of(enum dtype t)
{
	return t == DTYPE_F64 ? 1e-11 : t == DTYPE_BF16 ? 0x1p-8 : t == DTYPE_F16 ? 0x1p-10 : 2e-7;
}

static void compare(const struct op_case *c, int i, const struct tensor *t, const void *data,
		    const struct tensor_info *want)
{
	struct kernel_tensor got = { .data = (void *)data, .dtype = t->dtype };
	size_t n = shape_elements(&t->shape);
	double most = 0, worst = 0;

	if (!tap_is_u64(want->n_elements, n, "%s: size of result %d", c->name, i))
		return;
	for (size_t j = 0; j < n; j++) {
		double w, g = ref_get(&got, (ptrdiff_t)j);

		memcpy(&w, want->data + j * sizeof(w), sizeof(w));
		if (isnan(w) != isnan(g) || (isinf(w) && w != g))
			worst = INFINITY;
		else if (isfinite(w)) {
			most = fmax(most, fabs(w));
			worst = fmax(worst, fabs(w - g));
		}
	}
	tap_ok(worst <= allowed_of(t->dtype) * most + 1e-300, "%s: result %d is off by %g of %g",
	       c->name, i, worst, most);
}

static void check_results(const struct op_case *c, const struct safetensors *s, struct plan *p,
			  const struct node *n)
{
	for (int i = 0; i < n->n_out; i++) {
		char name[96];
		const struct tensor_info *want;

		snprintf(name, sizeof(name), "%s/%d", strchr(c->name, '/') + 1, i);
		want = safetensors_find(s, (struct bytes){ name, strlen(name) });
		if (tap_ok(want != NULL, "%s: result %d is known", c->name, i))
			compare(c, i, n->out[i], plan_data(p, n->out[i]), want);
	}
}

static void check_case(const struct op_case *c, const struct safetensors *s)
{
	struct tensor *in[KERNEL_TENSORS];
	struct graph *g;
	struct plan *p = NULL;
	struct node *n;

	if (!tap_works(graph_new(&g, NULL, NULL), "%s", c->name))
		return;
	n = op_case_node(c, g, DTYPE_F64, LAYOUT_DENSE, in);
	for (int i = 0; n && i < n->n_out; i++) {
		char name[8] = { 'o', (char)('a' + i), '\0' };

		graph_output(g, n->out[i], name);
	}
	if (tap_works(plan_new(&p, g, &(struct plan_options){ .backend = backend_ref() }), "%s",
		      c->name) &&
	    tap_works(op_case_fill(c, p, in, DTYPE_F64), "%s", c->name) &&
	    tap_works(plan_run(p, 1, 1), "%s", c->name))
		check_results(c, s, p, n);
	plan_free(p);
	graph_free(g);
}

static void check_op(enum op op)
{
	struct op_cases cases = { 0 };
	struct safetensors *s = NULL;
	char path[256];

	op_cases_make(&cases, op);
	snprintf(path, sizeof(path), "fixtures/golden/ops/%s.safetensors", op_info(op)->name);
	if (cases.n && !(op_info(op)->flags & OP_RANDOM && op == OP_DROPOUT) &&
	    tap_works(safetensors_open(&s, path), "%s", path)) {
		for (size_t i = 0; i < cases.n; i++)
			check_case(&cases.items[i], s);
		safetensors_close(s);
	}
	op_cases_free(&cases);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--dump") == 0)
		return dump();
	for (int op = 0; op < OP_COUNT; op++)
		check_op((enum op)op);
	return tap_done();
}
