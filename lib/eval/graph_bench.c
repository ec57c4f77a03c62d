/* lib/eval/graph_bench.c - empty nodes, and a decoder to plan */

#include "lib/eval/graph_bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/graph/op_table.h"
#include "lib/graph/ops.h"
#include "lib/graph/store.h"

/* --- nodes that do nothing --- */

#define EMPTY_NODES 1000

struct empty_bench {
	struct graph *g;
	struct plan *plan;
};

/* No rows are written into CACHE, which is large enough to be shared, or small. */
static int build_empty(struct graph *g, bool shared)
{
	struct tensor *cache = graph_input(g, "cache", DTYPE_F32, SHAPE(shared ? 65536 : 16, 1, 1));
	struct tensor *x = graph_input(g, "x", DTYPE_F32, SHAPE(0, 1, 1));
	struct tensor *slots = graph_input(g, "slots", DTYPE_I32, SHAPE(0));

	for (int i = 0; i < EMPTY_NODES; i++)
		cache = op_kv_write(g, cache, x, slots);
	graph_output(g, cache, "out");
	return graph_check(g);
}

int empty_bench_new(struct empty_bench **out, const struct backend *b, struct team *team,
		    bool shared)
{
	struct empty_bench *e = mem_new(1, sizeof(*e));
	struct plan_options o = { .backend = b, .team = team };

	if (!e)
		return -1;
	if (graph_new(&e->g, NULL, NULL) < 0 || build_empty(e->g, shared) < 0 ||
	    plan_new(&e->plan, e->g, &o) < 0 || plan_run(e->plan, 1, 0) < 0) {
		empty_bench_free(e);
		return -1;
	}
	*out = e;
	return 0;
}

void empty_bench_free(struct empty_bench *e)
{
	if (!e)
		return;
	plan_free(e->plan);
	graph_free(e->g);
	free(e);
}

double empty_bench_run(void *arg)
{
	struct empty_bench *e = arg;
	uint64_t start = clock_ns();

	plan_run(e->plan, 1, 0);
	return clock_seconds(start, clock_ns()) / EMPTY_NODES;
}

/* --- a decoder --- */

#define TOKENS	 2048
#define WIDTH	 768
#define HEADS	 12
#define KV_HEADS 4
#define HEAD_DIM 64
#define WITHIN	 2048
#define WORDS	 32000

static struct tensor *heads(struct graph *g, struct tensor *x, const char *name, size_t n)
{
	return op_reshape(g, linear(g, x, name, n * HEAD_DIM), SHAPE(TOKENS, n, HEAD_DIM));
}

static struct tensor *block(struct graph *g, struct tensor *x, const struct rope *rope)
{
	struct attention causal = { .causal = true };
	struct tensor *h, *q, *k, *v;

	graph_block(g);
	h = op_rms_norm(g, x, param(g, "input_layernorm.weight", WIDTH), 1e-5);
	q = op_rope(g, heads(g, h, "self_attn.q_proj", HEADS), rope);
	k = op_rope(g, heads(g, h, "self_attn.k_proj", KV_HEADS), rope);
	v = heads(g, h, "self_attn.v_proj", KV_HEADS);
	h = op_reshape(g, op_attention(g, q, k, v, &causal, NULL), SHAPE(TOKENS, WIDTH));
	x = op_add(g, x, linear(g, h, "self_attn.o_proj", WIDTH));
	h = op_rms_norm(g, x, param(g, "post_attention_layernorm.weight", WIDTH), 1e-5);
	h = op_swiglu(g, linear(g, h, "mlp.gate_proj", WITHIN),
		      linear(g, h, "mlp.up_proj", WITHIN));
	return op_add(g, x, linear(g, h, "mlp.down_proj", WIDTH));
}

static struct tensor *decoder(struct graph *g, int layers)
{
	struct tensor *ids = graph_input(g, "ids", DTYPE_I32, SHAPE(TOKENS));
	struct tensor *targets = graph_input(g, "targets", DTYPE_I32, SHAPE(TOKENS));
	struct rope rope = {
		.positions = graph_input(g, "positions", DTYPE_I32, SHAPE(TOKENS, 1)),
		.frequencies = graph_input(g, "frequencies", DTYPE_F32, SHAPE(HEAD_DIM / 2)),
	};
	struct cross_entropy loss = { .ignore = -100 };
	struct tensor *x = embedding(g, ids, "embed_tokens", WORDS, WIDTH);

	for (int i = 0; i < layers; i++) {
		graph_push(g, "layers.%d", i);
		x = block(g, x, &rope);
		graph_pop(g);
	}
	x = op_rms_norm(g, x, param(g, "norm.weight", WIDTH), 1e-5);
	return op_mean(
		g,
		op_linear_ce(g, x, param(g, "embed_tokens.weight", WORDS, WIDTH), targets, &loss),
		0, false);
}

/* Every parameter's update. */
static void optimizer(struct graph *g, struct store *s)
{
	struct tensor *h = graph_input(g, "h", DTYPE_F32, SHAPE(4));
	struct optimizer_attributes a = { .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8 };
	size_t n = store_n(s);
	char name[4][160];

	for (size_t i = 0; i < n; i++) {
		struct store_entry *e = store_at(s, i);
		struct tensor *t[4];

		if (e->kind != STORE_PARAMETER)
			continue;
		snprintf(name[0], sizeof(name[0]), "%s", e->name);
		snprintf(name[1], sizeof(name[1]), "%s.first", e->name);
		snprintf(name[2], sizeof(name[2]), "%s.second", e->name);
		snprintf(name[3], sizeof(name[3]), "%s", store_sum(s, e)->name);
		store_beside(s, e, "first", DTYPE_F32);
		store_beside(s, e, "second", DTYPE_F32);
		for (int k = 0; k < 4; k++)
			t[k] = graph_param(g, name[k], e->shape);
		op_adamw(g, t[0], t[1], t[2], t[3], h, &a);
	}
}

static int build(struct graph *g, struct store *s, int layers)
{
	struct tensor *loss = decoder(g, layers);

	graph_output(g, loss, "loss");
	if (graph_check(g) < 0 || graph_grad_accumulate(g, loss) < 0)
		return -1;
	optimizer(g, s);
	return graph_check(g);
}

int decoder_bench_run(struct decoder_bench *d)
{
	struct plan_options o = { .backend = d->backend, .team = d->team };
	struct store *s = NULL;
	struct graph *g = NULL;
	struct plan *p = NULL;
	uint64_t start = clock_ns(), built;
	int result = -1;

	if (store_new(&s) < 0)
		return -1;
	store_declaring(s, true);
	if (graph_new(&g, s, &(struct graph_options){ .train = true }) < 0 ||
	    build(g, s, d->layers) < 0)
		goto out;
	built = clock_ns();
	if (plan_new(&p, g, &o) < 0)
		goto out;
	d->build_seconds = clock_seconds(start, built);
	d->plan_seconds = clock_seconds(built, clock_ns());
	d->nodes = plan_n_steps(p);
	result = 0;
out:
	plan_free(p);
	graph_free(g);
	store_free(s);
	return result;
}
