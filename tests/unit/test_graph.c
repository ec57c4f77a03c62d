/* tests/unit/test_graph.c - graphs: building, gradients, plans, runs */

#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/fill.h"
#include "tests/tap.h"

/* A network with every kind of part: views, a product with a bias, a norm, draws, a loss. */
static struct tensor *network(struct graph *g, struct tensor *x)
{
	struct tensor *h;

	graph_push(g, "layer.%d", 0);
	graph_block(g);
	h = op_silu(g, linear_bias(g, x, "up", 16));
	h = op_rms_norm(g, h, param(g, "norm.weight", 16), 1e-5);
	h = op_dropout(g, h, 0.25);
	h = op_add(g, linear_bias(g, h, "down", 10), x);
	graph_pop(g);
	graph_push(g, "layer.%d", 1);
	graph_block(g);
	h = op_gelu(g, linear(g, h, "up", 6));
	graph_pop(g);
	h = op_reshape(g, h, SHAPE(2, 4, 6));
	return op_mean(g, op_square(g, op_slice(g, h, 1, 1, 3)), 0, false);
}

struct run {
	struct store *store;
	struct graph *graph;
	struct plan *plan;
	struct team *team;
	struct tensor *x, *loss;
};

static void build(struct run *r, enum dtype compute)
{
	tap_works(store_new(&r->store), "a store");
	store_declaring(r->store, true);
	tap_works(graph_new(&r->graph, r->store,
			    &(struct graph_options){ .train = true, .compute = compute }),
		  "a graph");
	r->x = graph_input(r->graph, "x", DTYPE_F32, SHAPE(8, 10));
	r->loss = op_cast(r->graph, network(r->graph, op_cast(r->graph, r->x, compute)), DTYPE_F32);
	graph_output(r->graph, r->loss, "loss");
	tap_works(graph_grad_accumulate(r->graph, r->loss), "gradients");
	fill_parameters(r->store);
}

static void plan(struct run *r, struct plan_options o, int threads)
{
	tap_works(team_new(&r->team, threads), "a team");
	o.team = r->team;
	if (!o.backend)
		o.backend = backend_ref();
	tap_works(plan_new(&r->plan, r->graph, &o), "a plan");
	fill_waves(plan_data(r->plan, r->x), 80, 0.3);
}

static void end(struct run *r)
{
	plan_free(r->plan);
	graph_free(r->graph);
	store_free(r->store);
	team_free(r->team);
}

static float loss_of(struct run *r, uint64_t step)
{
	float loss;

	tap_works(plan_run(r->plan, 1, step), "a run");
	memcpy(&loss, plan_data(r->plan, r->loss), sizeof(loss));
	return loss;
}

/* A hash of the loss and of every sum of gradients. */
static uint64_t result_of(struct run *r)
{
	float loss = loss_of(r, 3);
	uint64_t hash = hash_short(&loss, sizeof(loss), 0);

	for (size_t i = 0; i < store_n(r->store); i++)
		if (store_at(r->store, i)->kind == STORE_GRADIENT)
			hash = hash_short(store_at(r->store, i)->data, store_at(r->store, i)->size,
					  hash);
	return hash;
}

/* --- the same bits whatever the plan does --- */

/* Steps that are run by tiles. */
static size_t chained(struct plan_options o)
{
	struct run r = { 0 };
	size_t n = 0;

	build(&r, DTYPE_F32);
	plan(&r, o, 1);
	for (size_t i = 0; i < plan_n_steps(r.plan); i++)
		n += plan_step(r.plan, i).chain >= 0;
	end(&r);
	return n;
}

static uint64_t planned(struct plan_options o, int threads, enum dtype compute, size_t *steps)
{
	struct run r = { 0 };
	uint64_t h;

	build(&r, compute);
	plan(&r, o, threads);
	if (steps)
		*steps = plan_n_steps(r.plan);
	h = result_of(&r);
	end(&r);
	return h;
}

static void test_same_bits(enum dtype compute)
{
	size_t all, none, again;
	uint64_t want = planned((struct plan_options){ .without = PLAN_ALL, .guard = true }, 1,
				compute, &none);
	uint64_t got;

	for (unsigned pass = 1; pass < PLAN_ALL; pass *= 2) {
		got = planned((struct plan_options){ .without = pass }, 2, compute, NULL);
		tap_ok(got == want, "%s: without pass %u", dtype_name(compute), pass);
	}
	tap_ok(chained((struct plan_options){ .tile = 3 }) >= 6, "chains of rows are found");
	tap_is_u64(chained((struct plan_options){ .tile = 3, .without = PLAN_SEGMENTS }), 0,
		   "and can be turned off");
	for (int tile = 1; tile <= 5; tile += 2)
		for (int threads = 1; threads <= 7; threads += threads == 3 ? 4 : 1)
			tap_ok(planned((struct plan_options){ .tile = (size_t)tile }, threads,
				       compute, NULL) == want,
			       "%s: tiles of %d rows on %d threads", dtype_name(compute), tile,
			       threads);
	for (int threads = 1; threads <= 7; threads += threads == 3 ? 4 : 1) {
		got = planned((struct plan_options){ 0 }, threads, compute, &all);
		tap_ok(got == want, "%s: %d threads", dtype_name(compute), threads);
	}
	got = planned((struct plan_options){ .recompute = true }, 2, compute, &again);
	tap_ok(got == want, "%s: recomputed", dtype_name(compute));
	tap_ok(all < none, "%zu steps with all passes, %zu without", all, none);
	tap_ok(again > all, "%zu steps with recomputation", again);
}

static void test_same_bits_f32(void)
{
	test_same_bits(DTYPE_F32);
}

static void test_same_bits_bf16(void)
{
	test_same_bits(DTYPE_BF16);
}

/* --- gradients against differences --- */

/* GRADIENT is that of the first run: the store's sum grows with every one. */
static void check_entry(struct run *r, struct store_entry *e, const float *gradient)
{
	float *x = e->data;
	double worst = 0, norm = 0;

	for (size_t i = 0; i < shape_elements(&e->shape); i += 3) {
		float was = x[i];
		double slope = 0;

		for (int side = -1; side <= 1; side += 2) {
			x[i] = was + (float)side * 0.01f;
			store_touch(e);
			slope += side * (double)loss_of(r, 3) / 0.02;
		}
		x[i] = was;
		norm = fmax(norm, fabs(slope));
		worst = fmax(worst, fabs(slope - gradient[i]));
	}
	tap_ok(worst < 0.01 * norm + 1e-5, "%s: off by %g of %g", e->name, worst, norm);
}

static void test_differences(void)
{
	static float gradients[8][256];
	struct run r = { 0 };
	size_t n = 0;

	build(&r, DTYPE_F32);
	plan(&r, (struct plan_options){ 0 }, 1);
	loss_of(&r, 3);
	for (size_t i = 0; i < store_n(r.store); i++) {
		struct store_entry *e = store_at(r.store, i);

		if (e->sum && n < 8 && e->sum->size <= sizeof(gradients[0]))
			memcpy(gradients[n++], e->sum->data, e->sum->size);
	}
	tap_is_u64(n, 6, "parameters with a gradient");
	n = 0;
	for (size_t i = 0; i < store_n(r.store); i++)
		if (store_at(r.store, i)->sum)
			check_entry(&r, store_at(r.store, i), gradients[n++]);
	end(&r);
}

/* --- errors --- */

static void test_errors(void)
{
	struct graph *g;
	struct tensor *a, *b;

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	a = graph_input(g, "a", DTYPE_F32, SHAPE(3, 4));
	b = graph_input(g, "b", DTYPE_F32, SHAPE(5, 6));
	graph_push(g, "block.%d", 7);
	tap_ok(op_matmul(g, a, b) == NULL, "no product");
	tap_ok(op_add(g, a, a) == NULL, "nothing after an error");
	tap_fails(graph_check(g), ERR_ARGUMENT, "block.7: matmul: [3, 4] by [5, 6]",
		  "where and what");
	graph_free(g);
}

/* Blocks are read by products and the like; a result in them is refused, in place too. */
static void refuse_blocks(enum op op, enum dtype first)
{
	struct graph *g;
	struct tensor *in[3];

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	in[0] = graph_input(g, "a", first, SHAPE(32, 32));
	in[1] = graph_input(g, "b", DTYPE_F32, SHAPE(32, 32));
	in[2] = graph_input(g, "c", DTYPE_F32, SHAPE(32, 32));
	tap_ok(graph_append(g, op, in, op_info(op)->least, NULL) == NULL, "%s of %s",
	       op_info(op)->name, dtype_name(first));
	tap_fails(graph_check(g), ERR_ARGUMENT, "a result in q8_0", "said so");
	graph_free(g);
}

static void test_blocks(void)
{
	refuse_blocks(OP_ADD, DTYPE_Q8_0);
	refuse_blocks(OP_NEG, DTYPE_Q8_0);
	refuse_blocks(OP_SOFTMAX, DTYPE_Q8_0);
	refuse_blocks(OP_MATMUL_ACC, DTYPE_Q8_0);
}

static void test_no_gradient(void)
{
	struct graph *g;
	struct tensor *x, *gradient, *loss;

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	x = graph_input(g, "x", DTYPE_F32, SHAPE(3));
	loss = op_sum(g, op_round(g, x), 0, false);
	tap_fails(graph_grad(g, loss, &x, 1, &gradient), ERR_ARGUMENT, "round", "named");
	graph_free(g);
}

static void test_memory_limit(void)
{
	struct run r = { 0 };

	build(&r, DTYPE_F32);
	tap_fails(plan_new(&r.plan, r.graph,
			   &(struct plan_options){ .memory = 100, .backend = backend_ref() }),
		  ERR_LIMIT, "are needed, 100 allowed", "refused before allocating");
	graph_free(r.graph);
	store_free(r.store);
}

/* --- rows known at run time, repetition --- */

static void test_rows(void)
{
	struct graph *g;
	struct plan *p;
	struct tensor *rows, *x, *y;
	float want[4] = { 2, 4, 6, 0 };

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	rows = graph_input(g, "rows", DTYPE_I32, SHAPE(1));
	x = graph_input_rows(g, "x", DTYPE_F32, SHAPE(4, 1), rows);
	y = op_scale(g, x, 2, 0);
	graph_output(g, y, "y");
	tap_works(plan_new(&p, g, &(struct plan_options){ .backend = backend_ref() }), "a plan");
	memcpy(plan_data(p, rows), &(int32_t){ 3 }, 4);
	memcpy(plan_data(p, x), &(float[]){ 1, 2, 3, 4 }, 16);
	tap_works(plan_run(p, 0, 0), "a run");
	tap_ok(memcmp(plan_data(p, y), want, 12) == 0, "three rows of four");
	tap_ok(((float *)plan_data(p, y))[3] == 0, "the fourth is left alone");
	plan_free(p);
	graph_free(g);
}

static struct tensor *twice(struct graph *g, struct tensor *x, int iteration, void *arg)
{
	return op_scale(g, x, 2, 0);
}

static void test_repeat(void)
{
	struct graph *g;
	struct plan *p;
	struct tensor *count, *x, *y;

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	count = graph_input(g, "count", DTYPE_I32, SHAPE(1));
	x = graph_input(g, "x", DTYPE_F32, SHAPE(1));
	y = graph_repeat_until(g, count, 5, twice, x, NULL);
	graph_output(g, y, "y");
	tap_works(plan_new(&p, g, &(struct plan_options){ .backend = backend_ref() }), "a plan");
	for (int32_t n = 0; n <= 5; n++) {
		memcpy(plan_data(p, count), &n, 4);
		memcpy(plan_data(p, x), &(float){ 3 }, 4);
		tap_works(plan_run(p, 0, 0), "a run");
		tap_ok(*(float *)plan_data(p, y) == 3.0f * (float)(1 << n), "%d times", (int)n);
	}
	plan_free(p);
	graph_free(g);
}

/* --- adapters, frozen parameters --- */

static void test_adapter(void)
{
	struct store *s;
	struct graph *g;
	struct store_adapter a;
	struct tensor *x, *loss;
	struct store_entry *w;

	tap_works(store_new(&s), "a store");
	w = store_add(s, "q.weight", STORE_PARAMETER, DTYPE_Q8_0, &SHAPE(4, 32));
	tap_ok(w && !w->trainable, "blocks are not trained");
	tap_works(store_add_adapter(s, "q", 2, 32, 4, &a), "an adapter");
	tap_works(graph_new(&g, s, NULL), "a graph");
	x = graph_input(g, "x", DTYPE_F32, SHAPE(3, 32));
	loss = op_sum(g, linear(g, x, "q", 4), 0, false);
	tap_works(graph_grad_accumulate(g, loss), "gradients");
	tap_ok(a.a->sum && a.b->sum, "of the adapter");
	tap_ok(!w->sum && !a.scale->sum, "not of the base, nor of the scale");
	graph_free(g);
	store_free(s);
}

/* --- what kernels keep of a weight --- */

struct kept {
	struct store *store;
	struct graph *graph;
	struct plan *plan;
	struct tensor *x, *y;
};

/* y = x Wt with rows enough for W to be packed, on the kernels of the best level; more caches than one cut k. */
static void build_kept(struct kept *k, struct store *s, bool keep,
		       const struct kernel_caches *caches)
{
	*k = (struct kept){ .store = s };
	tap_works(graph_new(&k->graph, s, NULL), "a graph");
	k->x = graph_input(k->graph, "x", DTYPE_F32, SHAPE(40, 30));
	k->y = linear(k->graph, k->x, "w", 24);
	graph_output(k->graph, k->y, "y");
	if (store_is_declaring(s))
		fill_parameters(s);
	tap_works(plan_new(&k->plan, k->graph,
			   &(struct plan_options){ .backend = backend_level(level_best()),
						   .keep = keep,
						   .caches = caches }),
		  "a plan");
	fill_waves(plan_data(k->plan, k->x), 1200, 0.3);
}

static uint64_t run_kept(struct kept *k)
{
	tap_works(plan_run(k->plan, 0, 0), "a run");
	return hash_short(plan_data(k->plan, k->y), 40 * 24 * sizeof(float), 0);
}

/* Packed once, used by later runs, made again when the weight has changed; for other caches in a form of its own. */
static void test_kept(void)
{
	const struct kernel_caches small = { .l1 = 512, .l2 = 2048 };
	struct kept with, without, other;
	struct store_entry *w;
	struct store *s;
	uint64_t first;

	tap_works(store_new(&s), "a store");
	store_declaring(s, true);
	build_kept(&with, s, true, NULL);
	store_declaring(s, false);
	build_kept(&without, s, false, NULL);
	build_kept(&other, s, true, &small);
	tap_ok(plan_bytes(with.plan, PLAN_DERIVED) > 0, "something is kept");
	tap_is_u64(plan_bytes(without.plan, PLAN_DERIVED), 0, "or nothing");
	first = run_kept(&with);
	tap_is_u64(first, run_kept(&without), "the same bits");
	tap_is_u64(run_kept(&with), first, "and again");
	tap_is_u64(run_kept(&other), first, "and cut for smaller caches");
	w = store_find(s, "w.weight");
	fill_waves(w->data, shape_elements(&w->shape), 1.1);
	store_touch(w);
	tap_ok(run_kept(&without) != first, "another weight gives another result");
	tap_is_u64(run_kept(&with), run_kept(&without), "where it is kept too");
	plan_free(with.plan);
	plan_free(without.plan);
	plan_free(other.plan);
	graph_free(with.graph);
	graph_free(without.graph);
	graph_free(other.graph);
	store_free(s);
}

int main(void)
{
	tap_run(test_same_bits_f32);
	tap_run(test_same_bits_bf16);
	tap_run(test_differences);
	tap_run(test_errors);
	tap_run(test_blocks);
	tap_run(test_no_gradient);
	tap_run(test_memory_limit);
	tap_run(test_rows);
	tap_run(test_repeat);
	tap_run(test_kept);
	tap_run(test_adapter);
	return tap_done();
}
