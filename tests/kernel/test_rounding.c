/*
 * tests/kernel/test_rounding.c - activations rounded to 8 bits: the rule on known values, and ref's product by it
 *
 * Expected values are worked out by hand from kernels/rounding.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"
#include "kernels/rounding.h"
#include "lib/base/err.h"
#include "lib/graph/op_table.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "lib/graph/store.h"
#include "tests/tap.h"

static void check_block(const char *what, const float *x, size_t n, float scale, const int8_t *want)
{
	int8_t q[ROUNDING_BLOCK];
	float got = rounding_block(x, n, q);

	tap_ok(isnan(scale) ? isnan(got) : got == scale, "%s: the scale %g, not %g", what,
	       (double)scale, (double)got);
	tap_ok(memcmp(q, want, n) == 0, "%s: the integers", what);
}

static void check_rule(void)
{
	/* 127 is the largest: x is its own integer, halves go to the even one, either sign. */
	check_block("halves", (float[]){ 127, 0.5F, 1.5F, -2.5F, -3.5F, 126.5F }, 6, 1,
		    (int8_t[]){ 127, 0, 2, -2, -4, 126 });
	check_block("the largest is negative", (float[]){ -254, 127, 1, 3 }, 4, 2,
		    (int8_t[]){ -127, 64, 0, 2 });
	check_block("zeros", (float[]){ 0, -0.0F, 0 }, 3, 0, (int8_t[]){ 0, 0, 0 });
	/* 0x1p-120 / 127 is less than 0x1p-126. */
	check_block("too small for a scale", (float[]){ 0x1p-120F, 0 }, 2, 0, (int8_t[]){ 0, 0 });
	check_block("just large enough", (float[]){ 127 * 0x1p-126F, 0x1p-126F }, 2, 0x1p-126F,
		    (int8_t[]){ 127, 1 });
	check_block("the largest number", (float[]){ 0x1.fffffep127F, 0 }, 2, 0x1.fffffep127F / 127,
		    (int8_t[]){ 127, 0 });
	check_block("a NaN", (float[]){ 1, NAN, 3 }, 3, NAN, (int8_t[]){ 0, 0, 0 });
	check_block("an infinity", (float[]){ 1, -INFINITY, 3 }, 3, NAN, (int8_t[]){ 0, 0, 0 });
	check_block("a NaN before a number", (float[]){ NAN, 3 }, 2, NAN, (int8_t[]){ 0, 0 });
}

/* Blocks begin anew every 32 elements of a row: here 33 of them, of f32 and of bf16. */
static void check_ref(enum dtype t)
{
	float x[2][33] = { { 127, 0.5F }, { 254, 3 } }, y[2] = { 0 };
	float w[33] = { 1, 10 };
	uint8_t low[sizeof(x)];
	struct matmul_attributes a = { .round = 1, .out_dtype = DTYPE_F32 };
	struct kernel_tensor in[2] = {
		{ .data = x, .dtype = t, .n_axes = 2, .shape = { 2, 33 }, .stride = { 33, 1 } },
		{ .data = w,
		  .dtype = DTYPE_F32,
		  .n_axes = 2,
		  .shape = { 33, 1 },
		  .stride = { 1, 1 } }
	};
	struct kernel_tensor out = {
		.data = y, .dtype = DTYPE_F32, .n_axes = 2, .shape = { 2, 1 }, .stride = { 1, 1 }
	};
	struct kernel_call c = { .in = in,
				 .out = &out,
				 .n_in = 2,
				 .n_out = 1,
				 .attributes = &a,
				 .rows = 2,
				 .parts = 1 };

	x[0][32] =
		0.5F; /* alone in its block: exact to the last place, where in the first it would be 0 */
	w[32] = 100;
	if (t == DTYPE_BF16) {
		dtype_from_f32(t, x[0], low, 66);
		in[0].data = low;
	}
	op_info(OP_MATMUL)->ref->run(&c);
	/* 127 + 0 x 10 + 50; 254 + round(1.5) 2 x 10 */
	tap_ok(fabsf(y[0] - 177) < 1e-4F && fabsf(y[1] - 294) < 1e-4F, "%s: %g and %g",
	       dtype_name(t), (double)y[0], (double)y[1]);
	a.round = 0;
	op_info(OP_MATMUL)->ref->run(&c);
	tap_ok(fabsf(y[0] - 182) < 1e-4F && fabsf(y[1] - 284) < 1e-4F, "%s as it is: %g and %g",
	       dtype_name(t), (double)y[0], (double)y[1]);
	a.round = 1;
	x[1][5] = NAN;
	if (t == DTYPE_BF16)
		dtype_from_f32(t, x[0], low, 66);
	op_info(OP_MATMUL)->ref->run(&c);
	tap_ok(isfinite(y[0]) && isnan(y[1]), "%s: a NaN stays in its row, and in sight",
	       dtype_name(t));
}

static void check_gradient(void)
{
	struct graph *g;
	struct tensor *x, *w, *dx;
	struct matmul_operands o = { .round = true };

	graph_new(&g, NULL, NULL);
	o.a = x = graph_input(g, "x", DTYPE_F32, SHAPE(2, 32));
	o.b = w = graph_input(g, "w", DTYPE_F32, SHAPE(32, 1));
	tap_ok(graph_grad(g, op_sum(g, op_matmul_with(g, &o), 3, false), &x, 1, &dx) < 0 &&
		       strstr(err_text(), "no gradient"),
	       "no gradient: %s", err_text());
	graph_free(g);
	(void)w;
}

/* --- linear --- */

#define WIDTH 64
#define OUT   24

/* x wT by a graph of these options, of a weight W; bytes of derived forms to *DERIVED, whether the node rounds to *ROUNDS. */
static bool product(struct store *s, const struct graph_options *o, float *y, uint64_t *derived,
		    bool *rounds)
{
	struct graph *g;
	struct plan *p;
	struct tensor *x, *out;
	const struct matmul_attributes *a;
	bool worked = false;

	if (graph_new(&g, s, o) < 0)
		return false;
	x = graph_input(g, "x", DTYPE_F32, SHAPE(1, WIDTH));
	out = linear(g, x, "layer", OUT);
	graph_output(g, out, "y");
	if (out && plan_new(&p, g, NULL) == 0) {
		float *to = plan_data(p, x);

		a = out->node->attributes;
		*rounds = a->round;
		*derived = plan_bytes(p, PLAN_DERIVED);
		for (int i = 0; to && i < WIDTH; i++)
			to[i] = (float)(i * 37 % 101) / 7 - 6;
		worked = to && plan_run(p, 0, 0) == 0 && plan_run(p, 0, 1) == 0;
		if (worked)
			memcpy(y, plan_data(p, out), OUT * sizeof(*y));
		plan_free(p);
	}
	graph_free(g);
	return worked;
}

static void check_linear(enum dtype t, bool blocks)
{
	struct store *s;
	struct store_entry *e;
	size_t size = 0;
	uint8_t *w;
	float exact[OUT], rounded[OUT], packed[OUT], most = 0;
	uint64_t derived;
	bool rounds;

	dtype_size(t, (size_t)WIDTH * OUT, &size);
	w = calloc(1, size);
	for (size_t i = 0; i < size; i++)
		w[i] = (uint8_t)(i % (blocks ? 34 : 4) == 1 ? 0x20 : i * 13 % 60);
	store_new(&s);
	e = store_add(s, "layer.weight", STORE_PARAMETER, t, &SHAPE(OUT, WIDTH));
	store_borrow(s, e, w, size);
	tap_ok(product(s, NULL, exact, &derived, &rounds) && !rounds, "%s: exact by itself",
	       dtype_name(t));
	tap_ok(product(s, &(struct graph_options){ .round = true }, rounded, &derived, &rounds) &&
		       rounds == blocks && derived == 0,
	       "%s: rounded when asked, if it is blocks", dtype_name(t));
	for (int i = 0; i < OUT; i++)
		most = fmaxf(most, fabsf(exact[i] - rounded[i]) / (1e-30F + fabsf(exact[i])));
	tap_ok(blocks ? most > 0 && most < 0.05F : most == 0, "%s: near the exact ones (%g)",
	       dtype_name(t), (double)most);
	tap_ok(product(s, &(struct graph_options){ .round = true, .pack = true }, packed, &derived,
		       &rounds) &&
		       (derived > 0) == blocks,
	       "%s: a packed form is in the plan (%llu bytes)", dtype_name(t),
	       (unsigned long long)derived);
	tap_ok(memcmp(packed, rounded, sizeof(packed)) == 0, "%s: and changes no bit",
	       dtype_name(t));
	store_free(s);
	free(w);
}

int main(void)
{
	check_rule();
	check_ref(DTYPE_F32);
	check_ref(DTYPE_BF16);
	check_gradient();
	check_linear(DTYPE_Q8_0, true);
	check_linear(DTYPE_F32, false);
	return tap_done();
}
