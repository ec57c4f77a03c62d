/*
 * tests/unit/test_device.c - plans on a device: moves, captures, what stays on the host, the store's two copies
 *
 * The device is tests/mock_device.h: memory that no one but its queue may touch, a queue that runs late. Its kernels are those
 * of the host's level, so that every result must have the host's bits.
 */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/mock_device.h"
#include "tests/fill.h"
#include "tests/tap.h"

#define ROWS  12
#define WIDTH 16
#define VOCAB 24
#define STEPS 5

struct model {
	struct store *store;
	struct graph *graph;
	struct plan *plan;
	struct tensor *ids, *targets, *loss, *schedule, *rows;
};

/* Embedding, a layer with draws and a constant, a loss; gradients accumulated, then adamw over every parameter. */
static struct tensor *loss_of(struct model *m)
{
	static const float shift[WIDTH] = { 0.25f, -0.5f };
	struct graph *g = m->graph;
	struct tensor *x = embedding(g, m->ids, "embed", VOCAB, WIDTH);
	struct tensor *h;

	graph_push(g, "layer");
	h = op_rms_norm(g, x, param(g, "norm.weight", WIDTH), 1e-5);
	h = op_add(g, h, graph_constant(g, DTYPE_F32, SHAPE(WIDTH), shift));
	h = op_dropout(g, op_silu(g, linear_bias(g, h, "up", 2 * WIDTH)), 0.25);
	x = op_add(g, x, linear(g, h, "down", WIDTH));
	graph_pop(g);
	return op_mean(g,
		       op_linear_ce(g, x, param(g, "head.weight", VOCAB, WIDTH), m->targets,
				    &(struct cross_entropy){ .ignore = -1 }),
		       0, false);
}

static void updates(struct model *m)
{
	static const struct optimizer_attributes o = { .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8 };
	struct graph *g = m->graph;
	size_t n = store_n(m->store);

	for (size_t i = 0; i < n; i++) {
		struct store_entry *e = store_at(m->store, i);

		if (e->kind != STORE_PARAMETER)
			continue;
		op_adamw(g, graph_entry(g, e),
			 graph_entry(g, store_beside(m->store, e, "first", DTYPE_F32)),
			 graph_entry(g, store_beside(m->store, e, "second", DTYPE_F32)),
			 graph_entry(g, store_sum(m->store, e)), m->schedule, &o);
	}
}

static void build(struct model *m, const struct backend *b, enum dtype compute, unsigned without)
{
	*m = (struct model){ 0 };
	tap_works(store_new(&m->store), "a store");
	store_declaring(m->store, true);
	tap_works(graph_new(&m->graph, m->store,
			    &(struct graph_options){ .train = true, .compute = compute }),
		  "a graph");
	m->ids = graph_input(m->graph, "ids", DTYPE_I32, SHAPE(ROWS));
	m->targets = graph_input(m->graph, "targets", DTYPE_I32, SHAPE(ROWS));
	m->schedule = graph_input(m->graph, "schedule", DTYPE_F32, SHAPE(4));
	m->loss = loss_of(m);
	graph_output(m->graph, m->loss, "loss");
	tap_works(graph_grad_accumulate(m->graph, m->loss), "gradients");
	updates(m);
	fill_parameters(m->store);
	tap_works(plan_new(&m->plan, m->graph,
			   &(struct plan_options){ .backend = b, .without = without }),
		  "a plan");
}

static void end(struct model *m)
{
	plan_free(m->plan);
	graph_free(m->graph);
	store_free(m->store);
}

static void set_inputs(struct model *m, int step)
{
	int32_t *ids = plan_data(m->plan, m->ids), *targets = plan_data(m->plan, m->targets);
	float schedule[4] = { 0.01f, 1.0f, 1.0f - powf(0.9f, (float)(step + 1)),
			      1.0f - powf(0.99f, (float)(step + 1)) };

	for (int i = 0; i < ROWS; i++) {
		ids[i] = (i * 7 + step) % VOCAB;
		targets[i] = (i * 5 + 3 * step) % VOCAB;
	}
	memcpy(plan_data(m->plan, m->schedule), schedule, sizeof(schedule));
}

/* A hash of every loss of STEPS steps, and of all that the store holds after them. */
static uint64_t train(struct model *m)
{
	uint64_t hash = 0;

	for (int step = 0; step < STEPS; step++) {
		set_inputs(m, step);
		tap_works(plan_run(m->plan, 5, (uint64_t)step), "step %d", step);
		hash = hash_short(plan_data(m->plan, m->loss), sizeof(float), hash);
	}
	for (size_t i = 0; i < store_n(m->store); i++) {
		struct store_entry *e = store_at(m->store, i);

		if (e->kind == STORE_DERIVED)
			continue;
		tap_works(store_to_host(m->store, e), "%s comes to the host", e->name);
		hash = hash_short(e->data, e->size, hash);
	}
	return hash;
}

/* What a plan runs the host's steps on. */
static const struct backend *host(void)
{
	return backend_cpu();
}

static uint64_t trained(const struct backend *b, enum dtype compute, unsigned without,
			size_t *unclaimed)
{
	struct model m;
	uint64_t hash;

	build(&m, b, compute, without);
	if (unclaimed)
		*unclaimed = plan_n_unclaimed(m.plan);
	hash = train(&m);
	end(&m);
	return hash;
}

/* --- all on the device --- */

static void test_whole(enum dtype compute)
{
	struct mock_device *d = mock_device_new(host(), NULL, 0, 1u << 30);
	uint64_t want = trained(host(), compute, 0, NULL);
	uint64_t got = trained(mock_device_backend(d), compute, 0, NULL);
	struct mock_counts c = mock_device_counts(d);

	tap_ok(got == want, "%s: the device gives the host's bits", dtype_name(compute));
	tap_ok(c.captures == 1, "one capture (%d)", (int)c.captures);
	tap_ok(c.replays == STEPS - 1, "replayed in every later step (%d)", (int)c.replays);
	tap_ok(c.allocated == 0, "all of its memory is given back (%d bytes are not)",
	       (int)c.allocated);
	mock_device_free(d);
}

static void test_whole_f32(void)
{
	test_whole(DTYPE_F32);
}

static void test_whole_bf16(void)
{
	test_whole(DTYPE_BF16);
}

/* --- with some ops on the host --- */

static void test_mixed(void)
{
	static const enum op out[][3] = {
		{ OP_MATMUL, OP_MATMUL, OP_MATMUL },
		{ OP_DROPOUT, OP_SILU, OP_RMS_NORM },
		{ OP_ADAMW, OP_ADAMW, OP_ADAMW },
		{ OP_MATMUL_ACC, OP_ACCUMULATE, OP_SCATTER_ACC },
		{ OP_LINEAR_CE, OP_GATHER_ROWS, OP_LINEAR_CE_GRAD },
		{ OP_CAST, OP_MEAN, OP_ADD },
	};

	for (int compute = 0; compute < 2; compute++) {
		enum dtype t = compute ? DTYPE_BF16 : DTYPE_F32;
		uint64_t want = trained(host(), t, 0, NULL);

		for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++) {
			struct mock_device *d = mock_device_new(host(), out[i], 3, 1u << 30);
			size_t unclaimed = 0;
			uint64_t got = trained(mock_device_backend(d), t, 0, &unclaimed);

			tap_ok(got == want, "%s: without %s on the device: the same bits",
			       dtype_name(t), op_info(out[i][0])->name);
			tap_ok(unclaimed > 0, "what it does not claim is counted (%zu)", unclaimed);
			mock_device_free(d);
		}
	}
}

static void test_passes(void)
{
	struct mock_device *d =
		mock_device_new(host(), (enum op[]){ OP_SILU, OP_MEAN }, 2, 1u << 30);
	uint64_t want = trained(host(), DTYPE_F32, 0, NULL);

	for (unsigned pass = 1; pass < PLAN_ALL; pass *= 2)
		tap_ok(trained(mock_device_backend(d), DTYPE_F32, pass, NULL) == want,
		       "without pass %u: the same bits", pass);
	mock_device_free(d);
}

static void test_strict(void)
{
	struct mock_device *d = mock_device_new(host(), (enum op[]){ OP_SQUARE }, 1, 1u << 30);
	struct graph *g;
	struct plan *p;

	graph_new(&g, NULL, NULL);
	graph_push(g, "here");
	graph_output(g, op_square(g, graph_input(g, "x", DTYPE_F32, SHAPE(3))), "y");
	tap_fails(plan_new(&p, g,
			   &(struct plan_options){ .backend = mock_device_backend(d),
						   .strict = true }),
		  ERR_UNSUPPORTED, "here: square: the backend mock does not do it", "strict");
	graph_free(g);
	mock_device_free(d);
}

/* --- lengths at run time --- */

static void run_rows(struct plan *p, struct tensor *x, struct tensor *rows, struct tensor *y, int n)
{
	float *data = plan_data(p, x), got[8];
	int32_t length = n;

	fill_waves(data, 8, 0.3);
	memcpy(plan_data(p, rows), &length, sizeof(length));
	tap_works(plan_run(p, 0, 0), "a run of %d rows", n);
	memcpy(got, plan_data(p, y), sizeof(got));
	for (int i = 0; i < n; i++)
		tap_ok(got[i] == data[i] * data[i] + 1.0f, "%d rows: row %d", n, i);
}

static void test_rows(void)
{
	struct mock_device *d = mock_device_new(host(), NULL, 0, 1u << 30);
	struct graph *g;
	struct plan *p;
	struct tensor *x, *y, *rows;
	struct mock_counts c;

	graph_new(&g, NULL, NULL);
	rows = graph_input(g, "rows", DTYPE_I32, SHAPE(1));
	x = graph_input_rows(g, "x", DTYPE_F32, SHAPE(8), rows);
	y = op_scale(g, op_square(g, x), 1.0, 1.0);
	graph_output(g, y, "y");
	tap_works(plan_new(&p, g, &(struct plan_options){ .backend = mock_device_backend(d) }),
		  "a plan");
	for (int round = 0; round < 3; round++)
		for (int n = 1; n <= 8; n += 3)
			run_rows(p, x, rows, y, n);
	c = mock_device_counts(d);
	tap_ok(c.captures == 3, "one capture a length (%d)", (int)c.captures);
	plan_free(p);
	graph_free(g);
	mock_device_free(d);
}

/* --- the store --- */

/* What a device's plan updates, a host's plan on the same store reads. */
static void test_shared_store(void)
{
	struct mock_device *d = mock_device_new(host(), NULL, 0, 1u << 30);
	struct model m;
	struct graph *g;
	struct plan *p;
	struct tensor *y;
	float before[WIDTH], after[WIDTH];

	build(&m, mock_device_backend(d), DTYPE_F32, 0);
	graph_new(&g, m.store, NULL);
	y = op_scale(g, param(g, "layer.norm.weight", WIDTH), 2.0, 0.0);
	graph_output(g, y, "y");
	tap_works(plan_new(&p, g, &(struct plan_options){ .backend = host() }), "a host's plan");
	tap_works(plan_run(p, 0, 0), "before");
	memcpy(before, plan_data(p, y), sizeof(before));
	set_inputs(&m, 0);
	/* An update reads the sum as it was before the run: two, for the first gradient. */
	tap_works(plan_run(m.plan, 0, 0), "a step on the device");
	tap_works(plan_run(m.plan, 0, 1), "another");
	tap_works(plan_run(p, 0, 0), "after");
	memcpy(after, plan_data(p, y), sizeof(after));
	tap_ok(memcmp(before, after, sizeof(before)) != 0, "the host sees the update");
	tap_ok(((float *)store_find(m.store, "layer.norm.weight")->data)[3] * 2.0f == after[3],
	       "and so does the entry");
	plan_free(p);
	graph_free(g);
	end(&m);
	mock_device_free(d);
}

/* --- trouble --- */

static void test_no_memory(void)
{
	struct mock_device *d = mock_device_new(host(), NULL, 0, 64);
	struct graph *g;
	struct plan *p;

	graph_new(&g, NULL, NULL);
	graph_output(g, op_square(g, graph_input(g, "x", DTYPE_F32, SHAPE(300))), "y");
	tap_fails(plan_new(&p, g, &(struct plan_options){ .backend = mock_device_backend(d) }),
		  ERR_LIMIT, "bytes of the device's memory are needed, 64 allowed",
		  "a small device");
	graph_free(g);
	mock_device_free(d);
}

static void test_failure(void)
{
	struct mock_device *d = mock_device_new(host(), NULL, 0, 1u << 30);
	struct model m;

	build(&m, mock_device_backend(d), DTYPE_F32, 0);
	set_inputs(&m, 0);
	tap_works(plan_run(m.plan, 0, 0), "a run");
	mock_device_fail(d);
	tap_fails(plan_run(m.plan, 0, 1), ERR_IO, "a launch failed", "a launch that fails");
	end(&m);
	mock_device_free(d);
}

int main(void)
{
	tap_run(test_whole_f32);
	tap_run(test_whole_bf16);
	tap_run(test_mixed);
	tap_run(test_passes);
	tap_run(test_strict);
	tap_run(test_rows);
	tap_run(test_shared_store);
	tap_run(test_no_memory);
	tap_run(test_failure);
	return tap_done();
}
