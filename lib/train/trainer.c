/* lib/train/trainer.c - a step: its micro-batches, what is decided between, its update */

#include "lib/train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/train/trainer_parts.h"

#define LOSS_ENTRY "trainer.loss"
#define IGNORED	   (-100)

const char *trainer_optimizer_name(enum trainer_optimizer o)
{
	static const char *const names[TRAINER_OPTIMIZER_COUNT] = {
		[TRAINER_ADAMW] = "adamw", [TRAINER_LION] = "lion",	[TRAINER_MUON] = "muon",
		[TRAINER_SGD] = "sgd",	   [TRAINER_ADAMW8] = "adamw8",
	};

	return o < TRAINER_OPTIMIZER_COUNT ? names[o] : NULL;
}

/* --- making --- */

static bool is_share(double x)
{
	return x >= 0 && x < 1;
}

static int check_options(const struct trainer_options *o)
{
	if (o->tokens == 0 || o->tokens > INT32_MAX)
		return err_set(ERR_ARGUMENT, "a micro-batch of %zu tokens", o->tokens);
	if ((unsigned)o->optimizer >= TRAINER_OPTIMIZER_COUNT)
		return err_set(ERR_ARGUMENT, "optimizer %d", (int)o->optimizer);
	if (!is_share(o->beta1) || !is_share(o->beta2) || !is_share(o->momentum) ||
	    !is_share(o->dropout) || !is_share(o->smoothing) || !is_share(o->ema))
		return err_set(ERR_ARGUMENT,
			       "beta1 %g, beta2 %g, momentum %g, dropout %g, smoothing %g, ema %g: "
			       "all must be at least 0 and below 1",
			       o->beta1, o->beta2, o->momentum, o->dropout, o->smoothing, o->ema);
	if (!(o->eps >= 0) || !(o->weight_decay >= 0) || !(o->clip >= 0) || !(o->z_loss >= 0))
		return err_set(ERR_ARGUMENT,
			       "eps %g, weight decay %g, clip %g, z-loss %g: none may be below 0",
			       o->eps, o->weight_decay, o->clip, o->z_loss);
	return 0;
}

static int make_batch(struct trainer *t)
{
	size_t n = t->options.tokens;
	int32_t *all = mem_new(4 * n, sizeof(*all));

	t->batch = (struct trainer_batch){ .ids = all };
	if (!all)
		return -1;
	t->batch.targets = all + n;
	t->batch.positions = all + 2 * n;
	t->batch.documents = all + 3 * n;
	return 0;
}

static int make_loss(struct trainer *t)
{
	t->loss = store_find(t->store, LOSS_ENTRY);
	if (!t->loss)
		t->loss = store_add(t->store, LOSS_ENTRY, STORE_CACHE, DTYPE_F32, &SHAPE(1));
	return t->loss ? 0 : -1;
}

int trainer_new(struct trainer **out, const struct hf_config *c, struct store *s,
		const struct trainer_options *o)
{
	struct trainer *t;

	*out = NULL;
	if (check_options(o) < 0)
		return -1;
	t = mem_new(1, sizeof(*t));
	if (!t)
		return -1;
	t->config = c;
	t->store = s;
	t->options = *o;
	if (make_loss(t) < 0 || make_batch(t) < 0 || trainer_plan_all(t) < 0 ||
	    trainer_check_memory(t) < 0) {
		trainer_free(t);
		return -1;
	}
	*out = t;
	return 0;
}

void trainer_free(struct trainer *t)
{
	if (!t)
		return;
	trainer_drop_plans(t);
	free(t->batch.ids);
	free(t);
}

struct trainer_batch trainer_batch(struct trainer *t)
{
	return t->batch;
}

struct plan *trainer_plan(struct trainer *t)
{
	return t->plans[TRAINER_MICRO];
}

struct plan *trainer_update_plan(struct trainer *t)
{
	return t->plans[TRAINER_UPDATE];
}

/* --- memory, before the first run --- */

/* Averages begin as the parameters are, but those that were read from a checkpoint. */
static int begin_average(struct trainer *t, struct store_entry *e)
{
	struct store_entry *average = store_beside(t->store, e, "ema", DTYPE_F32);
	size_t n = shape_elements(&e->shape);

	if (!average)
		return -1;
	if (average->data || average->device_data)
		return 0;
	if (store_to_host(t->store, e) < 0 || store_allocate(t->store, average) < 0)
		return -1;
	dtype_to_f32(e->dtype, e->data, average->data, n);
	store_touch(average);
	return 0;
}

static int allocate(struct trainer *t)
{
	if (t->allocated)
		return 0;
	for (size_t i = 0; i < t->n_items; i++) {
		struct store_entry *e = t->items[i].entry;

		if (!e->data && !e->device_data)
			return err_set(ERR_MISSING, "the parameter %s has no values", e->name);
		if (t->options.ema > 0 && begin_average(t, e) < 0)
			return -1;
	}
	for (int i = 0; i < TRAINER_GRAPH_COUNT; i++)
		if (plan_allocate(t->plans[i]) < 0)
			return -1;
	t->allocated = true;
	return 0;
}

/* --- a batch --- */

/* How many targets there are. -1 with the error set: what the vocabulary does not have. */
static int64_t check_batch(const struct trainer *t)
{
	const struct trainer_batch *b = &t->batch;
	int64_t vocab = (int64_t)t->config->vocab_size, n = 0;

	for (size_t i = 0; i < t->options.tokens; i++) {
		if (b->ids[i] < 0 || b->ids[i] >= vocab)
			return err_set(ERR_ARGUMENT, "row %zu: the id %" PRId32 ", of %" PRId64, i,
				       b->ids[i], vocab);
		if (b->targets[i] >= vocab)
			return err_set(ERR_ARGUMENT, "row %zu: the target %" PRId32 ", of %" PRId64,
				       i, b->targets[i], vocab);
		n += b->targets[i] >= 0;
	}
	return n;
}

static int give_batch(const struct trainer *t, struct plan *p, const struct trainer_inputs *in)
{
	const struct trainer_batch *b = &t->batch;
	size_t n = t->options.tokens, size = n * sizeof(*b->ids);
	int32_t *targets;

	if (plan_give(p, in->ids, b->ids, size) < 0 ||
	    plan_give(p, in->positions, b->positions, size) < 0 ||
	    plan_give(p, in->documents, b->documents, size) < 0)
		return -1;
	targets = plan_data(p, in->targets);
	if (!targets)
		return -1;
	for (size_t i = 0; i < n; i++)
		targets[i] = b->targets[i] < 0 ? IGNORED : b->targets[i];
	return 0;
}

/* Of every row; those without a target have no loss that it could weigh. */
static int give_weights(const struct trainer *t, struct plan *p)
{
	float *weights = plan_data(p, t->micro.weights);

	if (!weights)
		return -1;
	for (size_t i = 0; i < t->options.tokens; i++)
		weights[i] = 1.0F / (float)t->targets;
	return 0;
}

/* --- a step --- */

static int clear(struct trainer *t)
{
	if (!t->dirty)
		return 0;
	t->dirty = false;
	return plan_run(t->plans[TRAINER_CLEAR], t->options.seed, t->step);
}

int trainer_begin(struct trainer *t, uint64_t step, uint64_t targets)
{
	if (allocate(t) < 0 || clear(t) < 0)
		return -1;
	t->step = step;
	t->targets = targets;
	t->counted = 0;
	t->micros = 0;
	t->was_watched = false;
	return 0;
}

/* Rows are counted in a micro-batch; what is drawn for them must differ between those of a step. */
static uint64_t micro_seed(const struct trainer *t)
{
	const uint64_t key[] = { t->options.seed, t->micros };

	return t->micros ? hash_short(key, sizeof(key), 0) : t->options.seed;
}

int trainer_micro(struct trainer *t)
{
	struct plan *p = t->plans[TRAINER_MICRO];
	int64_t n = check_batch(t);

	if (n < 0)
		return -1;
	t->counted += (uint64_t)n;
	if (n > 0 && t->targets > 0) {
		t->dirty = true;
		if (give_batch(t, p, &t->micro) < 0 || give_weights(t, p) < 0 ||
		    plan_run(p, micro_seed(t), t->step) < 0)
			return -1;
	}
	t->micros++;
	return 0;
}

/* As torch.nn.utils.clip_grad_norm_. */
static double clip_scale(double clip, double norm)
{
	double scale = clip / (norm + 1e-6);

	return clip > 0 && scale < 1 ? scale : 1;
}

static int update(struct trainer *t, double rate, double norm, const float *squares)
{
	struct update_values v =
		update_values(&t->options, rate, clip_scale(t->options.clip, norm), t->step);
	struct plan *p = t->plans[t->watch ? TRAINER_WATCHED : TRAINER_UPDATE];
	const struct update_scalars *s = t->watch ? &t->watched_scalars : &t->scalars;
	float *kept = NULL;
	int result = -1;

	/* The arena of the squares is the update's too. */
	kept = mem_new(t->n_items, sizeof(*kept));
	if (!kept)
		return -1;
	memcpy(kept, squares, t->n_items * sizeof(*kept));
	t->dirty = false;
	if (plan_give(p, s->h, v.h, sizeof(v.h)) == 0 &&
	    plan_give(p, s->plain, v.plain, sizeof(v.plain)) == 0 &&
	    plan_give(p, s->ema, v.ema, sizeof(v.ema)) == 0 &&
	    plan_run(p, t->options.seed, t->step) == 0)
		result = t->watch ? trainer_keep_watched(t, kept) : 0;
	free(kept);
	return result;
}

static double total_norm(const float *squares, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)squares[i];
	return sqrt(sum);
}

/* Nothing moves where anything is not finite: a norm or a loss that is not says so. */
static int decide(struct trainer *t, double rate, struct trainer_result *out)
{
	struct plan *p = t->plans[TRAINER_MEASURE];
	const float *squares, *loss;

	if (plan_run(p, t->options.seed, t->step) < 0)
		return -1;
	squares = plan_data(p, t->squares);
	loss = plan_data(p, t->step_loss);
	if (!squares || !loss)
		return -1;
	out->loss = (double)*loss;
	out->grad_norm = total_norm(squares, t->n_items);
	out->skipped = !isfinite(out->grad_norm) || !isfinite(out->loss);
	return out->skipped ? clear(t) : update(t, rate, out->grad_norm, squares);
}

int trainer_end(struct trainer *t, double rate, struct trainer_result *out)
{
	*out = (struct trainer_result){ .loss = NAN, .targets = t->targets };
	if (t->counted != t->targets) {
		clear(t);
		return err_set(ERR_ARGUMENT,
			       "step %" PRIu64 ": %" PRIu64 " targets were given, %" PRIu64
			       " announced",
			       t->step, t->counted, t->targets);
	}
	if (!isfinite(rate))
		return err_set(ERR_ARGUMENT, "step %" PRIu64 ": the rate is %g", t->step, rate);
	return t->targets ? decide(t, rate, out) : 0;
}

/* --- without training --- */

int trainer_evaluate(struct trainer *t, double *sum, uint64_t *targets)
{
	struct plan *p = t->plans[TRAINER_EVALUATE];
	const float *losses;
	int64_t n = check_batch(t);

	*sum = 0;
	*targets = 0;
	if (n < 0 || allocate(t) < 0 || give_batch(t, p, &t->evaluate) < 0 ||
	    plan_run(p, t->options.seed, 0) < 0)
		return -1;
	losses = plan_data(p, t->row_losses);
	if (!losses)
		return -1;
	for (size_t i = 0; i < t->options.tokens; i++)
		*sum += (double)losses[i];
	*targets = (uint64_t)n;
	return 0;
}
