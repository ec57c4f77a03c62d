/*
 * tests/unit/test_graph_adapter.c - adapters trained on weights that stay as they are
 *
 * fixtures/golden/adapter has a GGUF file that gguf-py wrote, its matrices in blocks of Q8_0, and what PyTorch made of adapters on
 * the dequantized weights in float64 (scripts/gen-fixtures-adapter). An embedding, two linear layers and a convolution have one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/graph/graph_parts.h"
#include "lib/graph/ops.h"
#include "lib/graph/plan.h"
#include "tests/tap.h"

enum { STEPS = 20, RANK = 3, ROWS = 12, VOCAB = 10 };

static struct tensor *network(struct graph *g)
{
	struct tensor *ids = graph_input(g, "ids", DTYPE_I32, SHAPE(ROWS));
	struct tensor *target = graph_input(g, "target", DTYPE_F32, SHAPE(2, 6, 6, 8));
	struct tensor *x = embedding(g, ids, "embed", VOCAB, 32);

	x = linear(g, op_silu(g, linear(g, x, "up", 64)), "down", 32);
	x = conv2d(g, op_reshape(g, x, SHAPE(2, 4, 6, 8)), "conv", 6, 3, 3,
		   &(struct conv){ .pad = 1, .activation = ACTIVATION_RELU });
	graph_output(g, x, "y");
	return op_mean(g, op_square(g, op_sub(g, x, target)), 0, false);
}

static const struct {
	const char *name;
	size_t in, out;
} adapted[] = { { "embed", VOCAB, 32 }, { "up", 32, 64 }, { "down", 64, 32 }, { "conv", 36, 6 } };

struct training {
	struct gguf *base;
	struct safetensors *file;
	struct store *store;
	struct graph *model, *update;
	struct plan *model_plan, *update_plan;
	struct tensor *loss, *h;
	struct plan_options options;
	double losses[STEPS];
};

static const struct tensor_info *find(const struct training *t, const char *prefix,
				      const char *name)
{
	char whole[160];

	snprintf(whole, sizeof(whole), "%s%s", prefix, name);
	return safetensors_find(t->file, (struct bytes){ whole, strlen(whole) });
}

static void copy_values(struct training *t, struct store_entry *e)
{
	const struct tensor_info *info = find(t, "weight/", e->name);

	if (tap_ok(info && info->n_bytes == e->size, "%s", e->name) &&
	    tap_works(store_allocate(t->store, e), "%s", e->name))
		memcpy(e->data, info->data, e->size);
}

static void load_base(struct training *t)
{
	for (size_t i = 0; i < gguf_n_tensors(t->base); i++) {
		const struct tensor_info *info = gguf_tensor(t->base, i);
		struct shape shape = { .n = (int)info->n_dims };
		struct store_entry *e;
		char name[64];

		snprintf(name, sizeof(name), BYTES_FMT, BYTES_ARG(info->name));
		for (int axis = 0; axis < shape.n; axis++)
			shape.at[axis] = info->shape[axis];
		e = store_add(t->store, name, STORE_PARAMETER, info->dtype, &shape);
		if (tap_ok(e != NULL, "%s is %s %s", name, dtype_name(info->dtype),
			   shape_string(&shape)))
			tap_works(store_borrow(t->store, e, info->data, info->n_bytes), "%s", name);
	}
	tap_ok(store_set_trainable(t->store, "*", false) == 4, "four weights, frozen");
}

static void load_adapters(struct training *t, float scale)
{
	for (size_t i = 0; i < 4; i++) {
		struct store_adapter a;

		if (!tap_works(store_add_adapter(t->store, adapted[i].name, RANK, adapted[i].in,
						 adapted[i].out, &a),
			       "an adapter for %s", adapted[i].name))
			continue;
		copy_values(t, a.a);
		copy_values(t, a.b);
		tap_works(store_allocate(t->store, a.scale), "its scale");
		memcpy(a.scale->data, &scale, sizeof(scale));
	}
}

static void append_updates(struct training *t)
{
	const struct optimizer_attributes o = {
		.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1
	};
	size_t n = store_n(t->store);

	t->h = graph_input(t->update, "h", DTYPE_F32, SHAPE(4));
	for (size_t i = 0; i < n; i++) {
		struct store_entry *e = store_at(t->store, i);
		struct tensor *sum;

		if (!e->sum)
			continue;
		sum = graph_entry(t->update, e->sum);
		op_adamw(t->update, graph_entry(t->update, e),
			 graph_entry(t->update, store_beside(t->store, e, "first", DTYPE_F32)),
			 graph_entry(t->update, store_beside(t->store, e, "second", DTYPE_F32)),
			 sum, t->h, &o);
		graph_append(t->update, OP_REPLACE,
			     (struct tensor *[]){ sum, op_fill(t->update, DTYPE_F32, e->shape, 0) },
			     2, NULL);
	}
}

/* Without adapters there is nothing to train. */
static bool begin(struct training *t, const struct backend *b, int threads, bool adapters,
		  float scale)
{
	*t = (struct training){ .options.backend = b };
	if (!tap_works(gguf_open(&t->base, "fixtures/golden/adapter/base.gguf"), "the base") ||
	    !tap_works(safetensors_open(&t->file, "fixtures/golden/adapter/adapter.safetensors"),
		       "the adapters") ||
	    !tap_works(store_new(&t->store), "a store") ||
	    !tap_works(team_new(&t->options.team, threads), "a team"))
		return false;
	load_base(t);
	if (adapters)
		load_adapters(t, scale);
	tap_works(graph_new(&t->model, t->store, NULL), "a graph");
	t->loss = network(t->model);
	graph_output(t->model, t->loss, "loss");
	if (adapters) {
		tap_works(graph_grad_accumulate(t->model, t->loss), "gradients");
		tap_works(graph_new(&t->update, t->store, NULL), "a graph");
		append_updates(t);
		tap_works(plan_new(&t->update_plan, t->update, &t->options), "a plan");
	}
	return tap_works(plan_new(&t->model_plan, t->model, &t->options), "a plan");
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
	gguf_close(t->base);
}

static void run_model(struct training *t, int step)
{
	const char *const names[] = { "ids", "target" };
	float loss;

	for (int i = 0; i < 2; i++)
		memcpy(plan_data(t->model_plan, graph_find(t->model, names[i])),
		       find(t, "", names[i])->data, find(t, "", names[i])->n_bytes);
	tap_works(plan_run(t->model_plan, 1, (uint64_t)step), "step %d", step);
	memcpy(&loss, plan_data(t->model_plan, t->loss), sizeof(loss));
	t->losses[step] = loss;
}

static void check_gradients(const struct training *t, const char *what)
{
	int n = 0;

	for (size_t i = 0; i < store_n(t->store); i++) {
		const struct store_entry *e = store_at(t->store, i);
		const struct tensor_info *info = e->sum ? find(t, "gradient/", e->name) : NULL;
		double off = 0, norm = 0;

		if (!e->sum || !tap_ok(info != NULL, "%s: %s is trained", what, e->name))
			continue;
		for (size_t j = 0; j < info->n_elements; j++) {
			double want, got = ((const float *)e->sum->data)[j];

			memcpy(&want, info->data + j * sizeof(want), sizeof(want));
			off += (got - want) * (got - want);
			norm += want * want;
		}
		tap_ok(sqrt(off) <= 1e-5 * sqrt(norm) && norm > 0,
		       "%s: %s is off by %.2g of its norm", what, e->name, sqrt(off / norm));
		n++;
	}
	tap_is_u64((uint64_t)n, 8, "%s: matrices with a gradient", what);
}

/* A hash of the base's bytes, quantized and not. */
static uint64_t base_of(const struct training *t)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < gguf_n_tensors(t->base); i++)
		hash = hash_short(gguf_tensor(t->base, i)->data, gguf_tensor(t->base, i)->n_bytes,
				  hash);
	return hash;
}

static void train(struct training *t, const char *what)
{
	for (int step = 0; step < STEPS; step++) {
		float h[] = { 5e-3f, 1, (float)(1 - pow(0.9, step + 1)),
			      (float)(1 - pow(0.95, step + 1)) };

		run_model(t, step);
		if (step == 0 && what)
			check_gradients(t, what);
		memcpy(plan_data(t->update_plan, t->h), h, sizeof(h));
		tap_works(plan_run(t->update_plan, 1, (uint64_t)step), "an update");
	}
}

static void check_losses(const struct training *t, const char *what)
{
	double worst = 0;

	for (int i = 0; i < STEPS; i++) {
		double want;

		memcpy(&want, find(t, "", "losses")->data + (size_t)i * sizeof(want), sizeof(want));
		worst = fmax(worst, fabs(t->losses[i] - want) / want);
	}
	tap_ok(worst <= 1e-5, "%s: losses within %.2g of PyTorch's", what, worst);
	tap_ok(t->losses[STEPS - 1] < 0.97 * t->losses[0], "%s: the loss falls from %g to %g", what,
	       t->losses[0], t->losses[STEPS - 1]);
}

/* A hash of all losses: the gradients and updates of every step are in the next one's. */
static uint64_t trained(const struct backend *b, int threads, const char *what)
{
	struct training t;
	uint64_t hash = 0, before;

	if (begin(&t, b, threads, true, 0.75f)) {
		before = base_of(&t);
		train(&t, what);
		if (what)
			check_losses(&t, what);
		tap_ok(base_of(&t) == before, "the base's bytes are as they were");
		for (size_t i = 0; i < store_n(t.store); i++)
			tap_ok(!store_at(t.store, i)->trainable || store_at(t.store, i)->sum, "%s",
			       store_at(t.store, i)->name);
		hash = hash_short(t.losses, sizeof(t.losses), 0);
	}
	end(&t);
	return hash;
}

/* A hash of the result and the loss. */
static uint64_t answer(const struct backend *b, bool adapters, float scale)
{
	struct training t;
	uint64_t hash = 0;

	if (begin(&t, b, 1, adapters, scale)) {
		run_model(&t, 0);
		hash = hash_short(plan_data(t.model_plan, graph_find(t.model, "y")),
				  sizeof(float) * 2 * 6 * 6 * 8, 0);
		hash = hash_short(t.losses, sizeof(t.losses[0]), hash);
	}
	end(&t);
	return hash;
}

static void check_backend(const struct backend *b, const char *what)
{
	uint64_t want = trained(b, 1, what);

	for (int threads = 2; threads <= 7; threads += threads == 3 ? 4 : 1)
		tap_ok(trained(b, threads, NULL) == want, "%s: the same bits on %d threads", what,
		       threads);
	want = answer(b, false, 0);
	tap_ok(answer(b, true, 0) == want, "%s: scale 0 is the model without adapters", what);
	tap_ok(answer(b, true, 0.75f) != want, "%s: and another is not", what);
}

static void test_trained(void)
{
	check_backend(backend_ref(), "ref");
	for (int level = 0; level < LEVEL_COUNT; level++)
		if (level_available((enum level)level))
			check_backend(backend_level((enum level)level),
				      level_name((enum level)level));
}

/* --- what is refused --- */

static void begin_conv(struct store **s, struct graph **g, enum dtype dtype, size_t channels,
		       size_t in)
{
	tap_works(store_new(s), "a store");
	tap_ok(store_add(*s, "conv.weight", STORE_PARAMETER, dtype, &SHAPE(4, channels, 1, 32)) !=
		       NULL,
	       "a weight");
	tap_works(store_add_adapter(*s, "conv", 2, in, 4, NULL), "an adapter");
	tap_works(graph_new(g, *s, NULL), "a graph");
}

static void test_refused(void)
{
	struct store *s;
	struct graph *g;

	begin_conv(&s, &g, DTYPE_Q8_0, 2, 64);
	conv2d(g, graph_input(g, "x", DTYPE_F32, SHAPE(1, 2, 3, 40)), "conv", 4, 1, 32,
	       &(struct conv){ 0 });
	tap_fails(graph_check(g), ERR_ARGUMENT, "conv2d: an operand of q8_0", "a kernel of blocks");
	graph_free(g);
	store_free(s);
	begin_conv(&s, &g, DTYPE_F32, 1, 64);
	conv2d(g, graph_input(g, "x", DTYPE_F32, SHAPE(1, 2, 3, 40)), "conv", 4, 1, 32,
	       &(struct conv){ .groups = 2 });
	tap_fails(graph_check(g), ERR_ARGUMENT,
		  "conv2d conv: an adapter of a convolution in groups", "groups");
	graph_free(g);
	store_free(s);
	begin_conv(&s, &g, DTYPE_F32, 2, 60);
	conv2d(g, graph_input(g, "x", DTYPE_F32, SHAPE(1, 2, 3, 40)), "conv", 4, 1, 32,
	       &(struct conv){ 0 });
	tap_fails(graph_check(g), ERR_ARGUMENT,
		  "conv.lora_A.weight is [2, 60]: a kernel of [2, 2, 1, 32]", "another size");
	graph_free(g);
	store_free(s);
}

int main(void)
{
	tap_run(test_trained);
	tap_run(test_refused);
	return tap_done();
}
