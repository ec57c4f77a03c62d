/*
 * tests/unit/test_lm_shape.c - shapes of new models: what follows, what a number of parameters gives, what a step costs
 *
 * Sizes are worked out by hand in the comments; operations are held against what the graph of a training step counts.
 */
#include <math.h>
#include <stdio.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/graph/plan.h"
#include "lib/model/lm.h"
#include "lib/model/lm_request.h"
#include "tests/tap.h"

static struct arena *arena;

static struct hf_config config_of(const struct lm_request *r)
{
	struct hf_config c = { 0 };

	tap_works(lm_request_config(&c, arena, r), "the request is met");
	return c;
}

static void test_follows(void)
{
	static const struct {
		uint64_t width;
		uint32_t heads, kv_heads;
		uint64_t ffn;
	} want[] = {
		{ 64, 1, 1, 192 },    { 128, 2, 1, 384 },    { 256, 4, 2, 704 },
		{ 320, 5, 5, 896 },   { 384, 6, 2, 1024 },   { 576, 9, 3, 1536 },
		{ 768, 12, 4, 2048 }, { 1024, 16, 8, 2752 }, { 2048, 32, 16, 5504 },
		{ 96, 1, 1, 256 },    { 160, 2, 1, 448 },    { 16, 1, 1, 64 },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct lm_shape s = { .layers = 1, .width = want[i].width }, plain = s;

		lm_shape_complete(&s, HF_LLAMA);
		tap_is_u64(s.heads, want[i].heads, "heads of %d", (int)s.width);
		tap_is_u64(s.kv_heads, want[i].kv_heads, "heads of keys of %d", (int)s.width);
		tap_is_u64(s.head_dim, s.width / s.heads, "their size");
		tap_is_u64(s.ffn, want[i].ffn, "ffn of %d", (int)s.width);
		lm_shape_complete(&plain, HF_GPT2);
		tap_is_u64(plain.ffn, 4 * s.width, "ffn of gpt2");
		tap_is_u64(plain.kv_heads, plain.heads, "heads of keys of gpt2");
	}
}

/* No other pair of layers and width, of heads that can share, costs less. */
static bool is_best(const struct hf_config *c, const struct lm_shape *found, double wanted)
{
	double least = INFINITY, got = INFINITY;

	for (uint64_t width = 64; width <= 4096; width += 64)
		for (uint32_t layers = 1; layers <= 100; layers++) {
			struct lm_request r = { .shape = { .layers = layers, .width = width },
						.vocabulary = c->vocab_size };
			struct hf_config trial;
			uint64_t n;
			double cost;

			if (lm_request_config(&trial, arena, &r) < 0 ||
			    !hf_config_n_parameters(&trial, &n))
				return false;
			if (trial.n_heads >= 4 && trial.n_heads == trial.n_kv_heads)
				continue;
			cost = fabs(log((double)n / wanted)) +
			       fabs(log((double)width / (64.0 * layers))) / 10;
			if (width == found->width && layers == found->layers)
				got = cost;
			least = cost < least ? cost : least;
		}
	return got <= least;
}

static void test_solves(void)
{
	static const uint64_t wanted[] = { 4000000, 12600000, 50000000, 124000000, 1500000000 };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct lm_request r = { .parameters = wanted[i], .vocabulary = 4096 };
		struct hf_config c = config_of(&r);
		struct lm_shape s = lm_shape_of(&c);

		tap_ok(is_best(&c, &s, (double)wanted[i]), "%u x %u is the best of all for %llu",
		       s.layers, (unsigned)s.width, (unsigned long long)wanted[i]);
	}
}

/* The presets are what their own numbers of parameters give, or near it. */
static void test_presets(void)
{
	uint64_t before = 0;

	for (const struct lm_preset *p = lm_presets; p->name; p++) {
		struct lm_request r = { .preset = p };
		struct hf_config c = config_of(&r);
		uint64_t n = 0;

		tap_ok(lm_preset(p->name) == p, "%s is found", p->name);
		tap_ok(hf_config_n_parameters(&c, &n) && n > before, "%s is larger", p->name);
		tap_is_u64(c.head_dim, 64, "heads of 64");
		before = n;
	}
	tap_ok(!lm_preset("huge"), "none of another name");
}

/* The layers of another depth go on as they begin. */
static void test_layers(void)
{
	struct lm_request r = { .architecture = HF_GEMMA3,
				.shape = { .layers = 20, .width = 64 },
				.vocabulary = 50 };
	struct hf_config c = config_of(&r);
	int wrong = 0;

	for (uint32_t i = 0; i < c.n_layers; i++)
		wrong += c.layer_attention[i] != ((i + 1) % 6 ? HF_SLIDING : HF_FULL);
	tap_is_i64(wrong, 0, "every sixth layer of gemma3 is full");
	tap_is_u64(c.n_layers, 20, "of twenty");
	r.architecture = HF_SMOLLM3;
	r.shape.layers = 50;
	c = config_of(&r);
	for (uint32_t i = 0; i < c.n_layers; i++)
		wrong += c.layer_rope[i] != ((i + 1) % 4 != 0);
	tap_is_i64(wrong, 0, "every fourth layer of smollm3 has no rope");
}

/* --- what a step costs --- */

/* Operations of products and attention in the training graph of one window, a token. */
static double counted(const struct hf_config *c, size_t n)
{
	struct graph_options train = { .train = true };
	struct lm_inputs in = { .context = n };
	struct cross_entropy o = { .ignore = -1 };
	struct store *s = NULL;
	struct graph *g = NULL;
	struct plan *p = NULL;
	struct tensor *loss;
	double sum = 0;

	tap_works(store_new(&s), "a store");
	store_declaring(s, true);
	tap_works(graph_new(&g, s, &train), "a graph");
	in.ids = graph_input(g, "ids", DTYPE_I32, SHAPE(n));
	in.positions = graph_input(g, "positions", DTYPE_I32, SHAPE(n, 1));
	loss = op_mean(g,
		       lm_loss(g, c, lm_hidden(g, c, &in),
			       graph_input(g, "targets", DTYPE_I32, SHAPE(n)), &o),
		       0, false);
	graph_output(g, loss, "loss");
	tap_works(graph_grad_accumulate(g, loss), "its gradients");
	tap_works(plan_new(&p, g, NULL), "a plan");
	for (size_t i = 0; i < plan_n_steps(p); i++)
		sum += plan_step(p, i).operations;
	plan_free(p);
	graph_free(g);
	store_free(s);
	return sum / (double)n;
}

/* Elementwise work is a few per cent of these; the backward half of attention computes its scores again. */
static void test_cost(void)
{
	static const enum hf_architecture all[] = { HF_LLAMA, HF_GPT2, HF_GEMMA3, HF_BERT };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct lm_request r = { .architecture = all[i],
					.shape = { .layers = 3, .width = 256 },
					.context = 256,
					.vocabulary = 2048 };
		struct hf_config c = config_of(&r);
		struct lm_cost cost = { 0 };
		double ratio;

		tap_works(lm_cost_of(&cost, &c, 256), "its cost");
		ratio = counted(&c, 256) / (cost.weights + cost.attention);
		tap_ok(ratio > 0.98 && ratio < 1.15, "%s: the graph has %.3f of the formula",
		       hf_architecture_name(all[i]), ratio);
	}
}

/* 4 layers x 256 wide of 512 tokens, window 128: (128 x 129 / 2 + 384 x 128) / 512 keys. */
static void test_keys(void)
{
	struct lm_request r = { .architecture = HF_MISTRAL,
				.shape = { .layers = 4, .width = 256 } };
	struct hf_config c = config_of(&r);
	struct lm_cost cost;

	tap_works(lm_cost_of(&cost, &c, 512), "full");
	tap_ok(cost.attention == 12.0 * 4 * 256 * 256.5, "half of the keys and a half");
	r.window = 128;
	c = config_of(&r);
	tap_works(lm_cost_of(&cost, &c, 512), "sliding");
	tap_ok(cost.attention == 12.0 * 4 * 256 * 112.125, "keys of a window: %g", cost.attention);
	r.window = 600;
	c = config_of(&r);
	tap_works(lm_cost_of(&cost, &c, 512), "sliding past the context");
	tap_ok(cost.attention == 12.0 * 4 * 256 * 256.5, "as full");
	r = (struct lm_request){ .shape = { .layers = 4, .width = 256 }, .tie = STATE_FALSE };
	c = config_of(&r);
	tap_works(lm_cost_of(&cost, &c, 512), "a free head");
	tap_is_u64(cost.head, 32000 * 256, "is of the parameters");
	tap_ok(cost.weights == 6 * (double)(cost.parameters - cost.embedding), "and weighs once");
}

static void test_refusals(void)
{
	struct lm_request r = { .shape = { .layers = 2 } };
	struct hf_config c;

	tap_fails(lm_request_config(&c, arena, &r), ERR_ARGUMENT, "layers and width are missing",
		  "no width");
	r = (struct lm_request){ .parameters = 1000 };
	tap_fails(lm_request_config(&c, arena, &r), ERR_ARGUMENT, "the nearest, 1 x 64",
		  "too few parameters");
	r = (struct lm_request){ .parameters = UINT64_MAX };
	tap_fails(lm_request_config(&c, arena, &r), ERR_ARGUMENT, "no shape has", "too many");
	r = (struct lm_request){ .shape = { .layers = 2, .width = (uint64_t)1 << 40 } };
	tap_fails(lm_request_config(&c, arena, &r), ERR_LIMIT, "the model: key hidden_size",
		  "too wide");
	r = (struct lm_request){ .shape = { .layers = 2, .width = 65, .heads = 2 } };
	tap_fails(lm_request_config(&c, arena, &r), ERR_ARGUMENT, "2 heads do not divide",
		  "heads that do not fit");
}

int main(void)
{
	tap_works(arena_new(&arena), "an arena");
	tap_run(test_follows);
	tap_run(test_solves);
	tap_run(test_presets);
	tap_run(test_layers);
	tap_run(test_cost);
	tap_run(test_keys);
	tap_run(test_refusals);
	arena_free(arena);
	return tap_done();
}
