/*
 * tests/unit/test_graph_train.c - two models trained 50 steps beside PyTorch
 *
 * fixtures/golden/train has the data, the first weights, and what PyTorch made of them in float32 and float64: losses before
 * each step, gradients of the first (scripts/gen-fixtures-train). Every level that this machine has must follow them, and give the
 * same bits whatever the plan does and for any number of threads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/hash.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/tap.h"

#define STEPS	50
#define BATCHES 4

/* --- the models, for 1 / PARTS of a batch --- */

static struct tensor *mlp(struct graph *g, size_t parts)
{
	struct tensor *x = graph_input(g, "x", DTYPE_F32, SHAPE(16 / parts, 12));
	struct tensor *target = graph_input(g, "target", DTYPE_F32, SHAPE(16 / parts, 5));
	struct tensor *y = linear_bias(g, op_gelu(g, linear_bias(g, x, "up", 24)), "down", 5);
	struct tensor *error = op_square(g, op_sub(g, y, target));

	return op_scale(g, op_mean(g, error, 0, false), 1.0 / (double)parts, 0);
}

enum {
	VOCAB = 29,
	WIDTH = 16,
	HEADS = 4,
	KV_HEADS = 2,
	DIM = 8,
	FFN = 24,
	LAYERS = 2,
	LENGTH = 12
};

struct sequence {
	size_t rows;
	struct rope rope;
	struct tensor *documents;
};

static struct tensor *heads(struct graph *g, struct tensor *x, size_t n, const struct rope *r)
{
	if (!x)
		return NULL;
	x = op_reshape(g, x, SHAPE(x->shape.at[0], n, DIM));
	return r ? op_rope(g, x, r) : x;
}

static struct tensor *block(struct graph *g, struct tensor *x, const struct sequence *s, int i)
{
	struct attention a = { .causal = true,
			       .q_documents = s->documents,
			       .k_documents = s->documents };
	struct tensor *h, *q, *k, *v;

	graph_push(g, "model.layers.%d", i);
	graph_block(g);
	h = op_rms_norm(g, x, param(g, "input_layernorm.weight", WIDTH), 1e-5);
	q = heads(g, linear(g, h, "self_attn.q_proj", HEADS * DIM), HEADS, &s->rope);
	k = heads(g, linear(g, h, "self_attn.k_proj", KV_HEADS * DIM), KV_HEADS, &s->rope);
	v = heads(g, linear(g, h, "self_attn.v_proj", KV_HEADS * DIM), KV_HEADS, NULL);
	h = op_reshape(g, op_attention(g, q, k, v, &a, NULL), SHAPE(s->rows, HEADS * DIM));
	x = op_add(g, x, linear(g, h, "self_attn.o_proj", WIDTH));
	h = op_rms_norm(g, x, param(g, "post_attention_layernorm.weight", WIDTH), 1e-5);
	h = op_swiglu(g, linear(g, h, "mlp.gate_proj", FFN), linear(g, h, "mlp.up_proj", FFN));
	x = op_add(g, x, linear(g, h, "mlp.down_proj", WIDTH));
	graph_pop(g);
	return x;
}

static struct tensor *transformer(struct graph *g, size_t parts, const char *head)
{
	static const int32_t positions[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
					     0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	static const int32_t documents[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct sequence s = { .rows = 2 * LENGTH / parts };
	struct tensor *tokens = graph_input(g, "tokens", DTYPE_I32, SHAPE(s.rows));
	struct tensor *targets = graph_input(g, "targets", DTYPE_I32, SHAPE(s.rows)), *x;

	s.rope.positions = graph_constant(g, DTYPE_I32, SHAPE(s.rows, 1), positions);
	s.rope.frequencies = graph_input(g, "frequencies", DTYPE_F32, SHAPE(DIM / 2));
	s.documents = graph_constant(g, DTYPE_I32, SHAPE(s.rows), documents);
	x = embedding(g, tokens, "model.embed_tokens", VOCAB, WIDTH);
	for (int i = 0; i < LAYERS; i++)
		x = block(g, x, &s, i);
	x = op_rms_norm(g, x, param(g, "model.norm.weight", WIDTH), 1e-5);
	x = op_linear_ce(g, x, param(g, head, VOCAB, WIDTH), targets,
			 &(struct cross_entropy){ .ignore = -100 });
	return op_scale(g, op_sum(g, x, 0, false), 1.0 / (2 * LENGTH), 0);
}

static struct tensor *tied(struct graph *g, size_t parts)
{
	return transformer(g, parts, "model.embed_tokens.weight");
}

static struct tensor *untied(struct graph *g, size_t parts)
{
	return transformer(g, parts, "lm_head.weight");
}

/* --- one training --- */

struct setup {
	const char *name; /* of the fixture */
	struct tensor *(*model)(struct graph *g, size_t parts);
	struct plan_options options;
	int threads;
	int steps;
	size_t parts;	/* micro-batches of a batch */
	bool one_graph; /* gradients and updates in one: nothing is accumulated */
};

struct training {
	const struct setup *setup;
	struct safetensors *file;
	struct store *store;
	struct graph *model, *update;
	struct plan *model_plan, *update_plan; /* the second is NULL with one graph */
	struct tensor *loss, *h;
	struct plan_options options;
	double losses[STEPS];
};

static double golden(const struct training *t, const char *name, size_t i)
{
	const struct tensor_info *info =
		safetensors_find(t->file, (struct bytes){ name, strlen(name) });
	double d = NAN;
	float f;

	if (info && info->dtype == DTYPE_F64) {
		memcpy(&d, info->data + i * sizeof(d), sizeof(d));
	} else if (info) {
		memcpy(&f, info->data + i * sizeof(f), sizeof(f));
		d = f;
	}
	return d;
}

/* The file's `weight/NAME` become parameters. */
static void load(struct training *t)
{
	for (size_t i = 0; i < safetensors_n_tensors(t->file); i++) {
		const struct tensor_info *info = safetensors_tensor(t->file, i);
		struct shape shape = { .n = (int)info->n_dims };
		struct store_entry *e;
		char name[128];

		if (info->name.size < 8 || memcmp(info->name.data, "weight/", 7) != 0)
			continue;
		memcpy(name, info->name.data + 7, info->name.size - 7);
		name[info->name.size - 7] = '\0';
		for (int axis = 0; axis < shape.n; axis++)
			shape.at[axis] = info->shape[axis];
		e = store_add(t->store, name, STORE_PARAMETER, DTYPE_F32, &shape);
		if (tap_ok(e != NULL, "%s", name) &&
		    tap_works(store_borrow(t->store, e, info->data, info->n_bytes), "%s", name))
			tap_works(store_allocate(t->store, e), "%s", name);
	}
}

/* GRADIENTS: by the store's place; NULL: of the sums, which begin anew. */
static void append_updates(struct training *t, struct graph *g, struct tensor **gradients)
{
	const struct optimizer_attributes o = {
		.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1
	};
	size_t n = store_n(t->store);

	t->h = graph_input(g, "h", DTYPE_F32, SHAPE(4));
	for (size_t i = 0; i < n; i++) {
		struct store_entry *e = store_at(t->store, i);
		struct store_entry *first, *second;
		struct tensor *gradient;

		if (e->kind != STORE_PARAMETER)
			continue;
		first = store_beside(t->store, e, "first", DTYPE_F32);
		second = store_beside(t->store, e, "second", DTYPE_F32);
		gradient = gradients ? gradients[i] : graph_entry(g, e->sum);
		op_adamw(g, graph_entry(g, e), graph_entry(g, first), graph_entry(g, second),
			 gradient, t->h, &o);
		if (!gradients)
			graph_append(
				g, OP_REPLACE,
				(struct tensor *[]){ gradient, op_fill(g, DTYPE_F32, e->shape, 0) },
				2, NULL);
	}
}

static void append_gradients(struct training *t)
{
	struct tensor *with[64], *gradients[64];
	size_t n = store_n(t->store);

	for (size_t i = 0; i < n; i++)
		with[i] = graph_entry(t->model, store_at(t->store, i));
	if (tap_works(graph_grad(t->model, t->loss, with, n, gradients), "gradients"))
		append_updates(t, t->model, gradients);
}

static bool begin(struct training *t, const struct setup *s)
{
	char path[128];

	*t = (struct training){ .setup = s, .options = s->options };
	snprintf(path, sizeof(path), "fixtures/golden/train/%s.safetensors", s->name);
	if (!tap_works(safetensors_open(&t->file, path), "%s", path) ||
	    !tap_works(store_new(&t->store), "a store") ||
	    !tap_works(team_new(&t->options.team, s->threads), "a team"))
		return false;
	load(t);
	tap_works(graph_new(&t->model, t->store, NULL), "a graph");
	t->loss = s->model(t->model, s->parts);
	graph_output(t->model, t->loss, "loss");
	if (s->one_graph) {
		append_gradients(t);
	} else {
		tap_works(graph_grad_accumulate(t->model, t->loss), "gradients");
		tap_works(graph_new(&t->update, t->store, NULL), "a graph");
		append_updates(t, t->update, NULL);
	}
	return tap_works(plan_new(&t->model_plan, t->model, &t->options), "%s: a plan", s->name) &&
	       (s->one_graph ||
		tap_works(plan_new(&t->update_plan, t->update, &t->options), "a plan of updates"));
}

static void end(struct training *t)
{
	plan_free(t->model_plan);
	plan_free(t->update_plan);
	graph_free(t->model);
	graph_free(t->update);
	store_free(t->store);
	team_free(t->options.team);
	safetensors_close(t->file);
}

/* What stands in the file under NAME: of a batch, and of a part of it, or whole. */
static void give(struct training *t, const char *name, size_t batch, size_t part)
{
	struct tensor *input = graph_find(t->model, name);
	const struct tensor_info *info =
		input ? safetensors_find(t->file, (struct bytes){ name, strlen(name) }) : NULL;
	size_t size, batches;

	if (!info || !dtype_size(input->dtype, shape_elements(&input->shape), &size))
		return;
	batches = info->n_bytes == size ? 0 : 1;
	memcpy(plan_data(t->model_plan, input),
	       info->data + batches * (batch * (info->n_bytes / BATCHES) + part * size), size);
}

static void give_rates(struct training *t, int step)
{
	float h[] = { 1e-3f, 1, (float)(1 - pow(0.9, step + 1)), (float)(1 - pow(0.95, step + 1)) };

	memcpy(plan_data(t->update_plan ? t->update_plan : t->model_plan, t->h), h, sizeof(h));
}

static void run_part(struct training *t, int step, size_t part)
{
	static const char *const names[] = { "x", "target", "tokens", "targets", "frequencies" };
	float loss;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		give(t, names[i], (size_t)step % BATCHES, part);
	tap_works(plan_run(t->model_plan, 1, (uint64_t)step), "step %d", step);
	memcpy(&loss, plan_data(t->model_plan, t->loss), sizeof(loss));
	t->losses[step] += loss;
}

/* The gradient of the first step against the file's: how far off, relative to its norm. */
static void check_gradients(const struct training *t, int bits, const char *what)
{
	for (size_t i = 0; i < store_n(t->store); i++) {
		const struct store_entry *e = store_at(t->store, i);
		double off = 0, norm = 0;
		char name[160];

		if (!e->sum)
			continue;
		snprintf(name, sizeof(name), "gradient%d/%s", bits, e->name);
		for (size_t j = 0; j < shape_elements(&e->shape); j++) {
			double want = golden(t, name, j), got = ((const float *)e->sum->data)[j];

			off += (got - want) * (got - want);
			norm += want * want;
		}
		tap_ok(sqrt(off) <= 1e-5 * sqrt(norm) && norm > 0,
		       "%s: %s is off by %.2g of its norm", what, name, sqrt(off / norm));
	}
}

static void train(struct training *t, const char *what)
{
	for (int step = 0; step < t->setup->steps; step++) {
		give_rates(t, step);
		for (size_t part = 0; part < t->setup->parts; part++)
			run_part(t, step, part);
		if (t->update_plan && step == 0 && what) {
			check_gradients(t, 32, what);
			check_gradients(t, 64, what);
		}
		if (t->update_plan)
			tap_works(plan_run(t->update_plan, 1, (uint64_t)step), "an update");
	}
}

static void check_losses(const struct training *t, const char *what, double allowed)
{
	double worst[2] = { 0 };

	for (int bits = 0; bits < 2; bits++)
		for (int i = 0; i < STEPS; i++) {
			double want = golden(t, bits ? "losses64" : "losses32", (size_t)i);

			worst[bits] = fmax(worst[bits], fabs(t->losses[i] - want) / want);
		}
	tap_ok(worst[0] <= allowed, "%s: losses within %.2g of float32", what, worst[0]);
	tap_ok(worst[1] <= allowed, "%s: losses within %.2g of float64", what, worst[1]);
	tap_ok(t->losses[STEPS - 1] < 0.8 * t->losses[0], "%s: the loss falls from %g to %g", what,
	       t->losses[0], t->losses[STEPS - 1]);
}

/* --- checks --- */

static void check_answers(struct setup s, const char *what)
{
	struct training t;

	s.steps = STEPS;
	if (begin(&t, &s)) {
		train(&t, what);
		check_losses(&t, what, 1e-5);
	}
	end(&t);
}

/* A hash of the losses and of every parameter after a few steps. */
static uint64_t result_of(struct setup s)
{
	struct training t;
	uint64_t hash = 0;

	if (begin(&t, &s)) {
		train(&t, NULL);
		hash = hash_short(t.losses, sizeof(t.losses), 0);
		for (size_t i = 0; i < store_n(t.store); i++)
			if (store_at(t.store, i)->kind == STORE_PARAMETER)
				hash = hash_short(store_at(t.store, i)->data,
						  store_at(t.store, i)->size, hash);
	}
	end(&t);
	return hash;
}

static void check_bits(struct setup s, const char *what)
{
	const uint64_t want = result_of(s);
	struct setup other;

	for (int threads = 2; threads <= 7; threads += threads == 3 ? 4 : 1) {
		other = s;
		other.threads = threads;
		tap_ok(result_of(other) == want, "%s: the same bits on %d threads", what, threads);
	}
	for (unsigned pass = 1; pass <= PLAN_ALL + 1; pass *= 2) {
		unsigned without = pass <= PLAN_ALL ? pass : PLAN_ALL;

		other = s;
		other.options.without = without;
		other.threads = without == PLAN_ALL ? 1 : 2;
		tap_ok(result_of(other) == want, "%s: the same bits without passes %u", what,
		       without);
	}
	other = s;
	other.options.recompute = true;
	tap_ok(result_of(other) == want, "%s: the same bits when blocks are computed again", what);
	other.options.without = PLAN_ALL;
	tap_ok(result_of(other) == want, "%s: and without passes", what);
	other = s;
	other.options.guard = true;
	tap_ok(result_of(other) == want, "%s: the same bits between closed pages", what);
	other = s;
	other.one_graph = true;
	tap_ok(result_of(other) == want, "%s: the same bits with the updates in the same graph",
	       what);
}

static void check_model(struct setup s)
{
	for (int level = -1; level < LEVEL_COUNT; level++) {
		char what[64];

		if (level >= 0 && !level_available((enum level)level))
			continue;
		s.options.backend = level < 0 ? backend_ref() : backend_level((enum level)level);
		snprintf(what, sizeof(what), "%s on %s", s.name,
			 level < 0 ? "ref" : level_name((enum level)level));
		s.parts = 1;
		check_answers(s, what);
		s.steps = 2;
		check_bits(s, what);
		s.parts = 2;
		snprintf(what, sizeof(what), "%s at level %d in two parts", s.name, level);
		check_answers(s, what);
	}
}

static void test_mlp(void)
{
	check_model((struct setup){ .name = "mlp", .model = mlp, .threads = 1 });
}

static void test_block_tied(void)
{
	check_model((struct setup){ .name = "block-tied", .model = tied, .threads = 1 });
}

static void test_block_free(void)
{
	check_model((struct setup){ .name = "block-free", .model = untied, .threads = 1 });
}

int main(void)
{
	tap_run(test_mlp);
	tap_run(test_block_tied);
	tap_run(test_block_free);
	return tap_done();
}
