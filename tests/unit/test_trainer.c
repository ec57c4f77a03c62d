/*
 * tests/unit/test_trainer.c - steps of training beside PyTorch, and what a step must never do
 *
 * fixtures/golden/trainer/llama.safetensors has the data, the first weights and what PyTorch made of them with each optimizer in float32
 * and float64 (scripts/gen-fixtures-trainer). The numbered cases are rows of a list of mistakes that trainers have made.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/train/trainer.h"
#include "lib/train/update.h"
#include "tests/tap.h"

#define STEPS	20
#define BATCHES 3

enum { SEQUENCES = 4, LENGTH = 12, ROWS = SEQUENCES * LENGTH, UNUSED_ID = 29 };

static const char config_text[] =
	"{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": "
	"30, "
	"\"hidden_size\": 16, \"intermediate_size\": 24, \"num_hidden_layers\": 2, "
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 8, "
	"\"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5, \"rope_theta\": 10000.0, "
	"\"tie_word_embeddings\": false, \"hidden_act\": \"silu\"}";

/* --- one training --- */

struct training {
	struct arena *arena;
	struct hf_config config;
	struct safetensors *file;
	struct store *store;
	struct team *team;
	struct trainer_options options;
	struct trainer *trainer;
	double rate;
};

/* What scripts/gen-fixtures-trainer gives the optimizer of RUN. */
static struct trainer_options options_of(const char *run)
{
	struct trainer_options o = { .compute = DTYPE_F32,
				     .optimizer = TRAINER_ADAMW,
				     .beta1 = 0.9,
				     .beta2 = 0.95,
				     .eps = 1e-8,
				     .weight_decay = 0.1,
				     .clip = 0.5,
				     .seed = 1,
				     .tokens = ROWS };

	if (strcmp(run, "smooth") == 0) {
		o.smoothing = 0.1;
		o.z_loss = 0.01;
	} else if (strcmp(run, "sgd") == 0) {
		o.optimizer = TRAINER_SGD;
		o.momentum = 0.9;
	} else if (strcmp(run, "lion") == 0) {
		o.optimizer = TRAINER_LION;
		o.beta2 = 0.99;
	} else if (strcmp(run, "muon") == 0) {
		o.optimizer = TRAINER_MUON;
		o.momentum = 0.95;
	}
	return o;
}

static double rate_of(const char *run)
{
	return strcmp(run, "sgd") == 0 ? 3e-2 : strcmp(run, "lion") == 0 ? 2e-3 : 3e-3;
}

static const struct tensor_info *find(const struct training *t, const char *name)
{
	const struct tensor_info *info =
		safetensors_find(t->file, (struct bytes){ name, strlen(name) });

	if (!info)
		tap_ok(false, "the file has no %s", name);
	return info;
}

/* One check where it fails, none where it does not: there are hundreds of steps. */
static void works(int result, const char *what, int step)
{
	if (result < 0)
		tap_ok(false, "%s of step %d: %s", what, step, err_text());
}

/* What PyTorch had at STEP: WHICH is losses32, losses64, norms64. */
static double golden(const struct training *t, const char *run, const char *which, int step)
{
	char name[64];
	const struct tensor_info *info;
	double d = NAN;
	float f;

	snprintf(name, sizeof(name), "%s/%s", run, which);
	info = safetensors_find(t->file, (struct bytes){ name, strlen(name) });
	if (info && info->dtype == DTYPE_F64) {
		memcpy(&d, info->data + (size_t)step * sizeof(d), sizeof(d));
	} else if (info) {
		memcpy(&f, info->data + (size_t)step * sizeof(f), sizeof(f));
		d = f;
	}
	return d;
}

static void add_weight(struct training *t, const struct tensor_info *info, enum dtype dtype)
{
	struct shape shape = { .n = (int)info->n_dims };
	struct store_entry *e;
	char name[128];
	size_t n;

	memcpy(name, info->name.data + 7, info->name.size - 7);
	name[info->name.size - 7] = '\0';
	for (int axis = 0; axis < shape.n; axis++)
		shape.at[axis] = info->shape[axis];
	n = shape_elements(&shape);
	e = store_add(t->store, name, STORE_PARAMETER, dtype, &shape);
	if (!e || store_allocate(t->store, e) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		float f;

		memcpy(&f, info->data + i * sizeof(f), sizeof(f));
		if (dtype == DTYPE_BF16)
			((uint16_t *)e->data)[i] = bf16_from_f32(f);
		else
			((float *)e->data)[i] = f;
	}
	store_touch(e);
}

static void add_weights(struct training *t, enum dtype dtype)
{
	for (size_t i = 0; i < safetensors_n_tensors(t->file); i++) {
		const struct tensor_info *info = safetensors_tensor(t->file, i);

		if (info->name.size > 7 && memcmp(info->name.data, "weight/", 7) == 0)
			add_weight(t, info, dtype);
	}
}

static bool begin(struct training *t, const struct trainer_options *o, enum dtype dtype,
		  int threads)
{
	const struct bytes text = { config_text, sizeof(config_text) - 1 };

	*t = (struct training){ .options = *o };
	if (!tap_works(arena_new(&t->arena), "an arena") ||
	    !tap_works(hf_config_parse(&t->config, t->arena, text, "config"), "a configuration") ||
	    !tap_works(safetensors_open(&t->file, "fixtures/golden/trainer/llama.safetensors"),
		       "the golden file") ||
	    !tap_works(store_new(&t->store), "a store") ||
	    !tap_works(team_new(&t->team, threads), "a team"))
		return false;
	add_weights(t, dtype);
	t->options.team = t->team;
	return tap_works(trainer_new(&t->trainer, &t->config, t->store, &t->options), "a trainer");
}

static void end(struct training *t)
{
	trainer_free(t->trainer);
	store_free(t->store);
	team_free(t->team);
	safetensors_close(t->file);
	arena_free(t->arena);
}

/* Rows FROM to FROM + tokens of batch STEP; sequences are documents of their own. */
static void fill(struct training *t, int step, size_t from)
{
	struct trainer_batch b = trainer_batch(t->trainer);
	const struct tensor_info *ids = find(t, "ids"), *targets = find(t, "targets");
	size_t at = (size_t)(step % BATCHES) * ROWS + from, n = t->options.tokens;

	if (!ids || !targets)
		return;
	memcpy(b.ids, ids->data + at * sizeof(*b.ids), n * sizeof(*b.ids));
	memcpy(b.targets, targets->data + at * sizeof(*b.ids), n * sizeof(*b.ids));
	for (size_t i = 0; i < n; i++) {
		b.positions[i] = (int32_t)((from + i) % LENGTH);
		b.documents[i] = (int32_t)((from + i) / LENGTH);
		if (b.targets[i] < 0 && i % 2)
			b.targets[i] = -1 - (int32_t)i;
	}
}

static uint64_t count_targets(struct training *t, int step)
{
	const struct tensor_info *targets = find(t, "targets");
	uint64_t n = 0;

	for (size_t i = 0; targets && i < ROWS; i++) {
		int32_t target;

		memcpy(&target,
		       targets->data + ((size_t)(step % BATCHES) * ROWS + i) * sizeof(target),
		       sizeof(target));
		n += target >= 0;
	}
	return n;
}

static void micros(struct training *t, int step)
{
	for (size_t from = 0; from < ROWS; from += t->options.tokens) {
		fill(t, step, from);
		works(trainer_micro(t->trainer), "rows", step);
	}
}

static struct trainer_result do_step(struct training *t, int step)
{
	struct trainer_result r = { 0 };

	works(trainer_begin(t->trainer, (uint64_t)step + 1, count_targets(t, step)), "begin", step);
	micros(t, step);
	works(trainer_end(t->trainer, t->rate, &r), "end", step);
	return r;
}

static uint64_t hash_parameters(const struct training *t)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < store_n(t->store); i++)
		if (store_at(t->store, i)->kind == STORE_PARAMETER)
			hash = hash_short(store_at(t->store, i)->data, store_at(t->store, i)->size,
					  hash);
	return hash;
}

/* Of every parameter and all state. */
static uint64_t hash_of(const struct training *t)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < store_n(t->store); i++) {
		const struct store_entry *e = store_at(t->store, i);

		if ((e->kind == STORE_PARAMETER || e->kind == STORE_STATE) && e->data)
			hash = hash_short(e->data, e->size, hash);
	}
	return hash;
}

static const float *values(const struct training *t, const char *name)
{
	const struct store_entry *e = store_find(t->store, name);

	return e ? e->data : NULL;
}

/* --- against PyTorch --- */

static void follow(const char *run, size_t tokens, const struct backend *backend)
{
	struct trainer_options o = options_of(run);
	struct training t;
	double worst32 = 0, worst64 = 0, worst_norm = 0;

	o.tokens = tokens;
	o.backend = backend;
	if (begin(&t, &o, DTYPE_F32, 1)) {
		t.rate = rate_of(run);
		for (int step = 0; step < STEPS; step++) {
			struct trainer_result r = do_step(&t, step);
			double want32 = golden(&t, run, "losses32", step);
			double want64 = golden(&t, run, "losses64", step);
			double norm = golden(&t, run, "norms64", step);

			worst32 = fmax(worst32, fabs(r.loss - want32) / want32);
			worst64 = fmax(worst64, fabs(r.loss - want64) / want64);
			worst_norm = fmax(worst_norm, fabs(r.grad_norm - norm) / norm);
			if (r.skipped || isnan(r.loss) || isnan(want32 + want64 + norm))
				worst64 = INFINITY;
		}
		tap_ok(worst32 <= 1e-5, "%s, %zu rows: losses within %.1e of float32", run, tokens,
		       worst32);
		tap_ok(worst64 <= 1e-5, "%s, %zu rows: losses within %.1e of float64", run, tokens,
		       worst64);
		tap_ok(worst_norm <= 1e-4, "%s, %zu rows: norms within %.1e", run, tokens,
		       worst_norm);
	}
	end(&t);
}

static void test_pytorch(void)
{
	static const char *const runs[] = { "adamw", "smooth", "sgd", "lion", "muon" };

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		follow(runs[i], ROWS, NULL);
	follow("adamw", ROWS, backend_ref());
}

/* D01: micro-batches have unlike numbers of targets; one of them has none (D03). */
static void test_micro_batches(void)
{
	for (size_t tokens = ROWS / 2; tokens >= LENGTH; tokens /= 2)
		follow("adamw", tokens, NULL);
}

/* --- the same bits --- */

struct bits {
	int threads;
	size_t recompute, tokens;
	unsigned without;
	bool watch;
	double dropout;
	enum dtype dtype, compute;
};

static uint64_t result_of(const char *run, const struct bits *b)
{
	struct trainer_options o = options_of(run);
	struct training t;
	uint64_t hash = 0;
	size_t unclaimed;

	o.recompute_blocks = b->recompute;
	o.tokens = b->tokens;
	o.without = b->without;
	o.dropout = b->dropout;
	o.compute = b->compute;
	o.stochastic = b->dtype == DTYPE_BF16;
	o.ema = 0.9;
	if (begin(&t, &o, b->dtype, b->threads)) {
		double losses[3];

		unclaimed = plan_n_unclaimed(trainer_plan(t.trainer)) +
			    plan_n_unclaimed(trainer_update_plan(t.trainer));
		if (unclaimed)
			tap_ok(false, "%s: %zu nodes run on ref", run, unclaimed);
		trainer_watch(t.trainer, b->watch);
		t.rate = rate_of(run);
		for (int step = 0; step < 3; step++)
			losses[step] = do_step(&t, step).loss;
		hash = hash_short(losses, sizeof(losses), hash_of(&t));
	}
	end(&t);
	return hash;
}

static void check_bits(const char *run, const struct bits *first)
{
	const uint64_t want = result_of(run, first);
	struct bits other;

	for (int threads = 2; threads <= 3; threads++) {
		other = *first;
		other.threads = threads;
		tap_ok(result_of(run, &other) == want, "%s: the same bits on %d threads", run,
		       threads);
	}
	for (size_t blocks = 1; blocks <= 2; blocks++) {
		other = *first;
		other.recompute = blocks == 2 ? SIZE_MAX : blocks;
		tap_ok(result_of(run, &other) == want,
		       "%s: the same bits with %zu blocks recomputed", run, blocks);
	}
	other = *first;
	other.without = PLAN_ALL;
	tap_ok(result_of(run, &other) == want, "%s: the same bits without passes", run);
	other = *first;
	other.watch = true;
	tap_ok(result_of(run, &other) == want, "%s: the same bits when watched", run);
}

static void test_bits(void)
{
	static const char *const runs[] = { "adamw", "lion", "muon", "sgd" };
	const struct bits plain = {
		.threads = 1, .tokens = ROWS / 2, .dtype = DTYPE_F32, .compute = DTYPE_F32
	};
	struct bits other = plain;

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		check_bits(runs[i], &plain);
	other.dropout = 0.1;
	check_bits("adamw", &other);
	tap_ok(result_of("adamw", &other) != result_of("adamw", &plain), "dropout drops");
	other = plain;
	other.dtype = other.compute = DTYPE_BF16;
	check_bits("adamw", &other);
	check_bits("muon", &other);
}

/* The same rows twice in a step are not dropped alike. */
static void test_dropout(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t;
	float once, twice;

	o.dropout = 0.2;
	if (begin(&t, &o, DTYPE_F32, 1)) {
		const uint64_t targets = 2 * count_targets(&t, 0);

		fill(&t, 0, 0);
		tap_works(trainer_begin(t.trainer, 1, targets), "a step");
		tap_works(trainer_micro(t.trainer), "rows");
		once = *values(&t, "trainer.loss");
		tap_works(trainer_micro(t.trainer), "the same rows");
		twice = *values(&t, "trainer.loss") - once;
		tap_ok(fabsf(twice - once) > 1e-3F && fabsf(twice - once) < 0.5F * once,
		       "losses %.5f and %.5f", (double)once, (double)twice);
	}
	end(&t);
}

/* --- steps that must not be --- */

/* D03: a step without targets does nothing, has no loss, and the one after it is as if it had not been. */
static void test_no_targets(void)
{
	struct trainer_options o = options_of("adamw");
	struct trainer_result r;
	struct training t;
	uint64_t before;

	if (begin(&t, &o, DTYPE_F32, 1)) {
		struct trainer_batch b = trainer_batch(t.trainer);

		t.rate = 1e-3;
		do_step(&t, 0);
		before = hash_of(&t);
		fill(&t, 1, 0);
		for (size_t i = 0; i < ROWS; i++)
			b.targets[i] = i % 2 ? -1 : -100;
		tap_works(trainer_begin(t.trainer, 2, 0), "a step without targets");
		tap_works(trainer_micro(t.trainer), "its rows");
		tap_works(trainer_end(t.trainer, t.rate, &r), "its end");
		tap_ok(isnan(r.loss) && r.targets == 0 && !r.skipped, "it has no loss: %g", r.loss);
		tap_ok(hash_of(&t) == before, "nothing moved");
		tap_works(trainer_begin(t.trainer, 2, 3), "announced targets");
		tap_works(trainer_micro(t.trainer), "and none");
		tap_fails(trainer_end(t.trainer, t.rate, &r), ERR_ARGUMENT,
			  "0 targets were given, 3", "targets must be those that were announced");
		tap_ok(hash_of(&t) == before, "nothing moved");
	}
	end(&t);
}

/* D13: an infinite gradient at step 5. */
static void test_infinite(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t, undisturbed;
	struct trainer_result r;
	uint64_t before;

	o.ema = 0.99;
	if (begin(&t, &o, DTYPE_F32, 2) && begin(&undisturbed, &o, DTYPE_F32, 1)) {
		struct store_entry *sum;

		t.rate = undisturbed.rate = 1e-3;
		for (int step = 0; step < 4; step++)
			do_step(&t, step);
		before = hash_of(&t);
		sum = store_find(t.store, "model.layers.1.mlp.up_proj.weight.gradient");
		for (int kind = 0; kind < 2 && sum; kind++) {
			tap_works(trainer_begin(t.trainer, 5, count_targets(&t, 4)), "step 5");
			micros(&t, 4);
			((float *)sum->data)[7] = kind ? -INFINITY : NAN;
			store_touch(sum);
			tap_works(trainer_end(t.trainer, t.rate, &r), "its end");
			tap_ok(r.skipped && !isfinite(r.grad_norm), "it is skipped: norm %g",
			       r.grad_norm);
			tap_ok(hash_of(&t) == before, "nothing moved");
			tap_ok(((float *)sum->data)[7] == 0, "the sums begin anew");
		}
		do_step(&t, 4);
		for (int step = 0; step < 5; step++)
			do_step(&undisturbed, step);
		tap_ok(hash_of(&t) == hash_of(&undisturbed),
		       "the step done again leaves the bits of a run that was not disturbed");
	}
	end(&t);
	end(&undisturbed);
}

static void test_bad_rows(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t;

	if (begin(&t, &o, DTYPE_F32, 1)) {
		struct trainer_batch b = trainer_batch(t.trainer);

		tap_works(trainer_begin(t.trainer, 1, ROWS), "a step");
		fill(&t, 0, 0);
		b.ids[3] = 30;
		tap_fails(trainer_micro(t.trainer), ERR_ARGUMENT, "row 3: the id 30, of 30",
			  "an id past the vocabulary");
		b.ids[3] = -1;
		tap_fails(trainer_micro(t.trainer), ERR_ARGUMENT, "row 3: the id -1",
			  "an id below 0");
		b.ids[3] = 0;
		b.targets[5] = 30;
		tap_fails(trainer_micro(t.trainer), ERR_ARGUMENT, "row 5: the target 30, of 30",
			  "a target past the vocabulary");
	}
	end(&t);
}

/* --- what moves how far --- */

/* D10: decay is p -= rate decay p beside the step, of matrices alone: an embedding that no row uses has no gradient. */
static void test_decay(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t;

	if (begin(&t, &o, DTYPE_F32, 1)) {
		struct store_entry *e = store_find(t.store, "model.embed_tokens.weight");
		float *row = (float *)e->data + (size_t)UNUSED_ID * 16;

		for (int i = 0; i < 16; i++)
			row[i] = 1;
		store_touch(e);
		t.rate = 0.1;
		do_step(&t, 0);
		tap_ok(row[0] == 0.99F && row[15] == 0.99F, "1 becomes %.9g", (double)row[0]);
	}
	end(&t);
	o.weight_decay = 0;
	o.clip = 0;
	if (begin(&t, &o, DTYPE_F32, 1)) {
		const float *norm = values(&t, "model.norm.weight");
		float before[16];
		double off = 0;

		memcpy(before, norm, sizeof(before));
		t.rate = 0.1;
		do_step(&t, 0);
		for (int i = 0; i < 16; i++)
			off = fmax(off, fabs(fabs((double)norm[i] - (double)before[i]) - 0.1));
		tap_ok(off < 1e-5, "the first step is the rate long, to %.1e", off);
	}
	end(&t);
}

/* Norms are no matrices: with a gradient of 0 (rate 0 for all else) they stay. */
static void test_groups(void)
{
	struct trainer_options o = options_of("muon");
	struct training t;

	if (begin(&t, &o, DTYPE_F32, 1)) {
		t.rate = 1e-3;
		do_step(&t, 0);
		tap_ok(store_find(t.store, "model.layers.0.mlp.down_proj.weight.momentum") &&
			       !store_find(t.store, "model.layers.0.mlp.down_proj.weight.first"),
		       "muon moves hidden matrices");
		tap_ok(store_find(t.store, "model.embed_tokens.weight.first") &&
			       store_find(t.store, "lm_head.weight.first") &&
			       store_find(t.store, "model.norm.weight.first") &&
			       !store_find(t.store, "lm_head.weight.momentum"),
		       "adamw moves the embedding, the head and the norms");
	}
	end(&t);
}

static void test_average(void)
{
	struct trainer_options o = options_of("adamw");
	const char *name = "model.layers.0.mlp.up_proj.weight";
	struct training t;
	double want[24 * 16], off = 0;

	o.ema = 0.75;
	if (begin(&t, &o, DTYPE_F32, 2)) {
		const float *p = values(&t, name), *average;

		t.rate = 1e-2;
		for (size_t i = 0; i < 24 * 16; i++)
			want[i] = (double)p[i];
		for (int step = 0; step < 5; step++) {
			do_step(&t, step);
			for (size_t i = 0; i < 24 * 16; i++)
				want[i] = 0.75 * want[i] + 0.25 * (double)p[i];
		}
		average = values(&t, "model.layers.0.mlp.up_proj.weight.ema");
		for (size_t i = 0; i < 24 * 16 && average; i++)
			off = fmax(off, fabs((double)average[i] - want[i]));
		tap_ok(average && off < 1e-6, "the average is 3/4 of itself and 1/4 of it, to %.1e",
		       off);
	}
	end(&t);
}

static void test_watch(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t;

	if (begin(&t, &o, DTYPE_F32, 2)) {
		struct trainer_result r;
		double all = 0;
		const float *p = values(&t, "model.norm.weight");
		float before[16];
		double moved = 0, was = 0;

		t.rate = 1e-2;
		do_step(&t, 0);
		tap_is_u64(trainer_n_watched(t.trainer), 0, "nothing is watched");
		trainer_watch(t.trainer, true);
		memcpy(before, p, sizeof(before));
		r = do_step(&t, 1);
		for (int i = 0; i < 16; i++) {
			moved += pow((double)p[i] - (double)before[i], 2);
			was += pow((double)before[i], 2);
		}
		tap_is_u64(trainer_n_watched(t.trainer), 21, "every parameter");
		for (size_t i = 0; i < trainer_n_watched(t.trainer); i++) {
			struct trainer_watched w = trainer_watched(t.trainer, i);

			all += w.grad_norm * w.grad_norm;
			if (strcmp(w.name, "model.norm.weight") == 0)
				tap_ok(fabs(w.update_ratio - sqrt(moved / was)) < 1e-6,
				       "%s moved by %g of itself", w.name, w.update_ratio);
		}
		tap_ok(fabs(sqrt(all) - r.grad_norm) < 1e-6 * r.grad_norm,
		       "the norm is that of its parts: %g", r.grad_norm);
	}
	end(&t);
}

/* D15: moments of 8 bits learn as those of f32 do. The last losses together: one alone strays by some hundredths with a bit. */
#define LAST_LOSSES 40

static double loss_after(enum trainer_optimizer optimizer, int steps)
{
	struct trainer_options o = options_of("adamw");
	int last = steps < LAST_LOSSES ? steps : LAST_LOSSES;
	struct training t;
	double sum = 0;

	o.optimizer = optimizer;
	if (begin(&t, &o, DTYPE_F32, 1)) {
		t.rate = 1e-3;
		for (int step = 0; step < steps; step++) {
			double loss = do_step(&t, step).loss;

			sum += step < steps - last ? 0 : loss;
		}
	}
	end(&t);
	return sum > 0 ? sum / last : NAN;
}

static void test_eight_bits_learn(void)
{
	double first = loss_after(TRAINER_ADAMW, 1), whole = loss_after(TRAINER_ADAMW, 200);
	double eight = loss_after(TRAINER_ADAMW8, 200);

	tap_ok(whole < 0.7 * first && fabs(eight - whole) < 0.05 * whole,
	       "after 200 steps %.4f of 8 bits, %.4f of f32, from %.4f", eight, whole, first);
}

/* --- evaluation and memory --- */

static void test_evaluate(void)
{
	struct trainer_options o = options_of("smooth");
	struct training t;
	double sum = 0;
	uint64_t targets = 0;

	o.dropout = 0.5;
	if (begin(&t, &o, DTYPE_F32, 2)) {
		uint64_t before = hash_parameters(&t);

		fill(&t, 0, 0);
		tap_works(trainer_evaluate(t.trainer, &sum, &targets), "an evaluation");
		tap_is_u64(targets, count_targets(&t, 0), "its targets");
		tap_ok(fabs(sum / (double)targets - golden(&t, "adamw", "losses64", 0)) < 1e-5,
		       "the plain loss of PyTorch: %.6f", sum / (double)targets);
		tap_ok(hash_parameters(&t) == before, "nothing moved");
	}
	end(&t);
}

/* D04: equal logits cost ln V. */
static void test_uniform(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t;
	double sum = 0;
	uint64_t targets = 0;

	if (begin(&t, &o, DTYPE_F32, 1)) {
		struct store_entry *head = store_find(t.store, "lm_head.weight");

		memset(head->data, 0, head->size);
		store_touch(head);
		fill(&t, 0, 0);
		tap_works(trainer_evaluate(t.trainer, &sum, &targets), "an evaluation");
		tap_ok(fabs(sum / (double)targets - log(30)) < 1e-6, "ln 30: %.7f",
		       sum / (double)targets);
	}
	end(&t);
}

/* Of a trainer with a quarter of the tokens that computes every block again. */
static uint64_t bytes_of_quarter(const struct training *t)
{
	struct trainer_options o = t->options;
	struct trainer *small = NULL;
	uint64_t total = 0;

	o.memory = 0;
	o.tokens /= 4;
	o.recompute_blocks = SIZE_MAX;
	if (tap_works(trainer_new(&small, &t->config, t->store, &o), "a quarter of the tokens"))
		for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
			total += trainer_bytes(small, (enum plan_memory)i);
	trainer_free(small);
	return total;
}

static void test_memory(void)
{
	struct trainer_options o = options_of("adamw");
	struct trainer *other = NULL;
	struct buffer text = { 0 };
	struct training t;
	uint64_t total = 0, fixed, quarter, parameters = 0;
	char advice[100];

	if (begin(&t, &o, DTYPE_F32, 1)) {
		hf_config_n_parameters(&t.config, &parameters);
		for (int i = 0; i < PLAN_MEMORY_COUNT; i++)
			total += trainer_bytes(t.trainer, (enum plan_memory)i);
		tap_is_u64(trainer_bytes(t.trainer, PLAN_WEIGHTS), 4 * parameters, "weights");
		tap_is_u64(trainer_bytes(t.trainer, PLAN_GRADIENTS), 4 * parameters, "gradients");
		tap_is_u64(trainer_bytes(t.trainer, PLAN_STATE), 8 * parameters, "moments");
		tap_works(trainer_print_memory(t.trainer, &text), "a table");
		buffer_put_u8(&text, 0);
		tap_ok(text.data && strstr(text.data, "in all") != NULL, "with a sum");
		fixed = total - trainer_bytes(t.trainer, PLAN_ACTIVATIONS) -
			trainer_bytes(t.trainer, PLAN_WORKSPACE);
		t.options.memory = total;
		tap_works(trainer_new(&other, &t.config, t.store, &t.options),
			  "all of it is enough");
		trainer_free(other);
		t.options.memory = total - 1;
		tap_fails(trainer_new(&other, &t.config, t.store, &t.options), ERR_LIMIT,
			  "recomputing every block with 48 tokens", "a byte less is not");
		t.options.memory = quarter = bytes_of_quarter(&t);
		snprintf(advice, sizeof(advice),
			 "recomputing every block with 12 tokens a micro-batch needs %llu",
			 (unsigned long long)quarter);
		tap_fails(trainer_new(&other, &t.config, t.store, &t.options), ERR_LIMIT, advice,
			  "what a quarter of the tokens needs, to the byte");
		tap_note("%s", err_text());
		t.options.memory = fixed;
		tap_fails(trainer_new(&other, &t.config, t.store, &t.options), ERR_LIMIT,
			  "no micro-batch makes it fit", "no activations");
	}
	buffer_free(&text);
	end(&t);
}

static void test_options(void)
{
	struct trainer_options o = options_of("adamw");
	struct training t;
	struct trainer *other;

	if (begin(&t, &o, DTYPE_F32, 1)) {
		o.beta1 = 1;
		tap_fails(trainer_new(&other, &t.config, t.store, &o), ERR_ARGUMENT, "beta1 1",
			  "a beta of 1");
		o = options_of("adamw");
		o.clip = NAN;
		tap_fails(trainer_new(&other, &t.config, t.store, &o), ERR_ARGUMENT, "clip",
			  "a clip that is no number");
		o = options_of("adamw");
		o.tokens = 0;
		tap_fails(trainer_new(&other, &t.config, t.store, &o), ERR_ARGUMENT, "0 tokens",
			  "no tokens");
	}
	end(&t);
}

int main(void)
{
	tap_run(test_pytorch);
	tap_run(test_micro_batches);
	tap_run(test_bits);
	tap_run(test_dropout);
	tap_run(test_no_targets);
	tap_run(test_infinite);
	tap_run(test_bad_rows);
	tap_run(test_decay);
	tap_run(test_groups);
	tap_run(test_average);
	tap_run(test_watch);
	tap_run(test_eight_bits_learn);
	tap_run(test_evaluate);
	tap_run(test_uniform);
	tap_run(test_memory);
	tap_run(test_options);
	return tap_done();
}
