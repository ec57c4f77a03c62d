/* tests/unit/test_example.c - the example models, what is told of their plans: stats, census, graphviz's text */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/eval/census.h"
#include "lib/eval/graph_dot.h"
#include "lib/graph/op_table.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "lib/graph/stats.h"
#include "lib/model/example.h"
#include "tests/tap.h"

static const struct example_config small_block = { .kind = EXAMPLE_BLOCK,
						   .tokens = 6,
						   .width = 8,
						   .ffn = 12,
						   .layers = 2,
						   .heads = 2,
						   .kv_heads = 1,
						   .vocab = 11 };
static const struct example_config small_mlp = {
	.kind = EXAMPLE_MLP, .tokens = 5, .width = 4, .ffn = 7, .layers = 3
};

struct model {
	struct store *store;
	struct graph *graph;
	struct plan *plan;
	struct example example;
	struct example_config config;
};

static void build(struct model *m, const struct example_config *c, bool loss)
{
	*m = (struct model){ .config = *c };
	tap_works(example_check(c), "a model");
	tap_works(store_new(&m->store), "a store");
	store_declaring(m->store, true);
	tap_works(graph_new(&m->graph, m->store, NULL), "a graph");
	example_build(m->graph, c, loss, &m->example);
	tap_works(graph_check(m->graph), "built");
}

static void plan(struct model *m)
{
	tap_works(plan_new(&m->plan, m->graph, &(struct plan_options){ .backend = backend_ref() }),
		  "a plan");
}

static void fill(struct model *m)
{
	tap_works(example_fill_store(m->store, 1), "parameters");
	tap_works(example_fill_inputs(m->plan, m->graph, &m->config, 1), "inputs");
}

static void end(struct model *m)
{
	plan_free(m->plan);
	graph_free(m->graph);
	store_free(m->store);
}

/* --- they learn --- */

static void test_learns(const struct example_config *c, enum example_optimizer kind)
{
	struct model m;
	float first = 0, last = 0;

	build(&m, c, true);
	tap_works(example_train(m.graph, &m.example, kind), "gradients and updates");
	plan(&m);
	fill(&m);
	for (int step = 0; step < 80; step++) {
		tap_works(plan_run(m.plan, 1, (uint64_t)step), "a step");
		memcpy(&last, plan_data(m.plan, m.example.loss), sizeof(last));
		if (step == 0)
			first = last;
	}
	tap_ok(isfinite(first) && last < 0.9f * first, "optimizer %d: from %g to %g", kind, first,
	       last);
	end(&m);
}

static void test_mlp_learns(void)
{
	struct example_config c = small_mlp;

	for (enum example_optimizer kind = EXAMPLE_ADAMW; kind <= EXAMPLE_LION; kind++)
		test_learns(&c, kind);
	c.vocab = 9;
	test_learns(&c, EXAMPLE_ADAMW);
}

static void test_block_learns(void)
{
	struct example_config c = small_block;

	test_learns(&c, EXAMPLE_ADAMW);
	c.vocab = 0;
	test_learns(&c, EXAMPLE_LION);
}

/* The updates use this step's gradients: with them in the store's sums, one step moves no parameter less. */
static void test_update_moves(void)
{
	struct model m;
	struct store_entry *w;
	float before[4 * 7];
	size_t moved = 0;

	build(&m, &small_mlp, true);
	tap_works(example_train(m.graph, &m.example, EXAMPLE_SGD), "gradients and updates");
	plan(&m);
	fill(&m);
	w = store_find(m.store, "mlp.0.fc.weight");
	memcpy(before, w->data, sizeof(before));
	tap_works(plan_run(m.plan, 1, 0), "a step");
	for (size_t i = 0; i < 4 * 7; i++)
		moved += ((float *)w->data)[i] != before[i];
	tap_is_u64(moved, 28, "weights that the first step moves");
	end(&m);
}

static void test_refused(void)
{
	struct example_config c = small_block;

	c.heads = 3;
	tap_fails(example_check(&c), ERR_ARGUMENT, "3 heads do not divide a width of 8", "heads");
	c = small_block;
	c.kv_heads = 0;
	tap_fails(example_check(&c), ERR_ARGUMENT, "0 heads of keys", "kv heads");
	c = small_block;
	c.heads = c.kv_heads = 8;
	tap_fails(example_check(&c), ERR_ARGUMENT, "rope turns pairs", "odd heads");
	c = small_mlp;
	c.tokens = 0;
	tap_fails(example_check(&c), ERR_ARGUMENT, "1 at least", "no rows");
}

/* --- stats --- */

static const struct stats_row *row_of(const struct stats_row *rows, size_t n, enum op op,
				      bool backward)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].op == op && rows[i].backward == backward)
			return &rows[i];
	return NULL;
}

/* Every step is in one row, and what was not run has no time. */
static void test_stats(void)
{
	struct model m;
	struct stats_limits limits = { .operations = 1e9, .bytes = 1e6 };
	const struct stats_row *r;
	struct stats_row *rows;
	double bytes = 0, least = 0;
	size_t n, nodes = 0;

	build(&m, &small_block, true);
	tap_works(graph_grad_accumulate(m.graph, m.example.loss), "gradients");
	plan(&m);
	tap_works(stats_collect(m.plan, &limits, &rows, &n), "rows");
	for (size_t i = 0; i < n; i++) {
		nodes += rows[i].nodes;
		bytes += rows[i].bytes;
		tap_ok(rows[i].seconds == 0, "%s: no time", op_info(rows[i].op)->name);
		tap_ok(i == 0 || rows[i].bytes <= rows[i - 1].bytes, "by falling bytes");
	}
	tap_is_u64(nodes, plan_n_steps(m.plan), "nodes in all");
	r = row_of(rows, n, OP_ROPE, false);
	tap_ok(r && r->nodes == 4, "two ropes a layer");
	/* Two blocks: q [6, 2, 4] and k [6, 1, 4] read and written, six positions, two frequencies. */
	tap_ok(r && r->bytes == 2 * (2 * 4 * (48 + 24) + 2 * (24 + 8)), "bytes of rope: %g",
	       r ? r->bytes : 0);
	/* A byte takes a microsecond here, an operation a nanosecond: all are bound by bytes but products. */
	tap_ok(r && fabs(r->least - r->bytes * 1e-6) < 1e-12, "its time at the limits");
	for (size_t i = 0; i < n; i++)
		least += rows[i].least;
	tap_ok(least >= bytes * 1e-6 * 0.999999, "no less than the bytes take");
	free(rows);
	end(&m);
}

static void test_stats_of_runs(void)
{
	struct model m;
	struct stats_row *rows;
	struct buffer text = { 0 };
	size_t n;

	build(&m, &small_mlp, false);
	plan(&m);
	fill(&m);
	plan_measure(m.plan, true);
	for (int i = 0; i < 3; i++)
		tap_works(plan_run(m.plan, 1, (uint64_t)i), "a run");
	tap_works(stats_collect(m.plan, NULL, &rows, &n), "rows");
	tap_is_u64(n, 1, "products with their epilogues");
	tap_is_u64(rows[0].nodes, 3, "nodes");
	tap_ok(rows[0].seconds > 0 && rows[0].seconds < 1, "time of one run");
	tap_ok(rows[0].least == 0, "no limits, no floor");
	free(rows);
	tap_works(stats_print(m.plan, NULL, &text), "a table");
	buffer_put_u8(&text, 0);
	tap_ok(strstr(text.data, "matmul              forward  ref  ref            3 ") != NULL,
	       "%s", text.data);
	buffer_free(&text);
	end(&m);
}

/* --- census and eager --- */

static void test_census(void)
{
	struct model m;
	struct census_row *rows;
	size_t n, nodes = 0;
	double operations = 0;

	build(&m, &small_mlp, true);
	tap_works(example_train(m.graph, &m.example, EXAMPLE_SGD), "gradients");
	plan(&m);
	tap_works(census_collect(m.plan, m.graph, &rows, &n), "rows");
	for (size_t i = 0; i < n; i++) {
		nodes += rows[i].nodes;
		if (rows[i].op == OP_MATMUL)
			operations += rows[i].operations;
		tap_ok(i == 0 || rows[i].part > rows[i - 1].part || rows[i].op > rows[i - 1].op,
		       "in order");
	}
	tap_is_u64(nodes, plan_n_steps(m.plan), "nodes");
	/* [5, 4] [4, 7], [5, 7] [7, 7], [5, 7] [7, 4]; each again for its weight and but for the first for its input. */
	tap_ok(operations == 2.0 * (3 * (140 + 245 + 140) - 140), "operations of products: %g",
	       operations);
	tap_ok(n && rows[n - 1].part == CENSUS_UPDATE && rows[n - 1].nodes == 6, "updates");
	free(rows);
	end(&m);
}

/* exp, neg, square: alone each reads and writes; as a chain the first reads and the last writes. */
static double bytes_of_three(const struct plan_options *o, bool also)
{
	struct graph *g;
	struct plan *p;
	struct tensor *x, *y;
	struct census_row *rows;
	double bytes = 0;
	size_t n;

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	x = graph_input(g, "x", DTYPE_F32, SHAPE(64, 8));
	y = op_neg(g, op_exp(g, x));
	graph_output(g, op_square(g, y), "z");
	if (also)
		graph_output(g, y, "y");
	tap_works(plan_new(&p, g, o), "a plan");
	tap_works(census_collect(p, g, &rows, &n), "rows");
	for (size_t i = 0; i < n; i++)
		bytes += rows[i].bytes;
	free(rows);
	plan_free(p);
	graph_free(g);
	return bytes;
}

static void test_census_of_chains(void)
{
	struct plan_options o = { .backend = backend_ref(), .without = PLAN_SEGMENTS };

	tap_ok(bytes_of_three(&o, false) == 6 * 64 * 8 * 4, "each alone");
	o.without = 0;
	o.tile = 4;
	tap_ok(bytes_of_three(&o, false) == 2 * 64 * 8 * 4, "as a chain");
	tap_ok(bytes_of_three(&o, true) == 3 * 64 * 8 * 4, "with one between that is asked for");
}

static void test_eager_unknown(void)
{
	struct graph *g;
	struct eager_row *rows;
	size_t n;

	tap_works(graph_new(&g, NULL, NULL), "a graph");
	op_sin(g, graph_input(g, "x", DTYPE_F32, SHAPE(3)));
	tap_fails(eager_collect(g, graph_n_nodes(g), false, &rows, &n), ERR_UNSUPPORTED, "sin",
		  "an op whose counterpart is not known");
	tap_ok(rows == NULL && n == 0, "no rows");
	graph_free(g);
}

/* A gradient is accumulated where it is whole, and the memory of what it was made of is used again. */
static uint64_t arena_of(size_t layers)
{
	struct example_config c = small_block;
	struct model m;
	uint64_t bytes;

	c.tokens = 64;
	c.vocab = 0;
	c.layers = layers;
	build(&m, &c, true);
	tap_works(graph_grad_accumulate(m.graph, m.example.loss), "gradients");
	tap_works(plan_new(&m.plan, m.graph,
			   &(struct plan_options){ .backend = backend_ref(), .recompute = true }),
		  "a plan");
	bytes = plan_bytes(m.plan, PLAN_ACTIVATIONS);
	end(&m);
	return bytes;
}

static void test_recomputation_saves(void)
{
	uint64_t four = arena_of(4), eight = arena_of(8);

	/* Of each further block its result alone stays: [64, 8] in f32. */
	tap_ok(eight - four <= 4 * (64 * 8 * 4) + 1024, "%zu bytes of 4 blocks, %zu of 8",
	       (size_t)four, (size_t)eight);
}

static void test_dot(void)
{
	struct model m;
	struct buffer text = { 0 };

	build(&m, &small_mlp, false);
	plan(&m);
	tap_works(graph_dot(m.plan, m.graph, &text), "text");
	buffer_put_u8(&text, 0);
	tap_ok(strstr(text.data, "label=\"mlp.2.fc.bias\"") != NULL, "a parameter by name");
	tap_ok(strstr(text.data, "label=\"matmul\\nf32 [5, 7]\"") != NULL, "a node");
	buffer_free(&text);
	end(&m);
}

int main(void)
{
	tap_run(test_mlp_learns);
	tap_run(test_block_learns);
	tap_run(test_update_moves);
	tap_run(test_refused);
	tap_run(test_stats);
	tap_run(test_stats_of_runs);
	tap_run(test_census);
	tap_run(test_census_of_chains);
	tap_run(test_eager_unknown);
	tap_run(test_recomputation_saves);
	tap_run(test_dot);
	return tap_done();
}
