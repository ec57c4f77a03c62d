/* lib/train/training_options.c - the options of a run: words, defaults, ranges */

#include "lib/train/training_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/token_pack.h"
#include "lib/base/err.h"
#include "lib/train/schedule.h"
#include "lib/train/trainer.h"

const char *const training_fit_words[] = { "file", "cut", "best", "one", NULL };
const char *const training_documents_words[] = { "apart", "joined", NULL };
const char *const training_objective_words[] = { "next", "mlm", NULL };
const char *const training_schedule_words[] = { "cosine", "linear", "wsd", "constant", NULL };
const char *const training_optimizer_words[] = { "adamw", "lion", "muon", "sgd", "adamw8", NULL };
const char *const training_dtype_words[] = { "f32", "bf16", NULL };
const char *const training_rounding_words[] = { "stochastic", "nearest", NULL };
const char *const training_recompute_words[] = { "auto", "none", "all", NULL };
const char *const training_switch_words[] = { "off", "on", NULL };

_Static_assert(FIT_NONE == 0 && FIT_CUT == 1 && FIT_BEST == 2 && FIT_ONE == 3, "words of --fit");
_Static_assert(SCHEDULE_COSINE == 0 && SCHEDULE_CONSTANT == 3, "words of --schedule");
_Static_assert(TRAINER_ADAMW == 0 && TRAINER_ADAMW8 == 4, "words of --optimizer");

/* --- defaults --- */

static void count(uint64_t *at, uint64_t value)
{
	if (*at == TRAINING_UNSET)
		*at = value;
}

static void number(double *at, double value)
{
	if (isnan(*at))
		*at = value;
}

static void word(int *at, int value)
{
	if (*at < 0)
		*at = value;
}

/* Rates that are usual for models of some millions to some hundred million parameters. */
static double usual_rate(int optimizer)
{
	switch (optimizer) {
	case TRAINER_LION: return 1e-4;
	case TRAINER_SGD: return 0.1;
	default: return 6e-4;
	}
}

static void optimizer_defaults(struct training_options *o)
{
	bool lion = o->optimizer == TRAINER_LION;

	number(&o->lr, usual_rate(o->optimizer));
	number(&o->min_lr, o->lr / 10);
	number(&o->beta1, 0.9);
	number(&o->beta2, lion ? 0.99 : 0.95);
	number(&o->eps, 1e-8);
	number(&o->weight_decay, o->optimizer == TRAINER_SGD ? 0 : 0.1);
	number(&o->momentum, o->optimizer == TRAINER_SGD ? 0.9 : 0.95);
	number(&o->clip, 1);
}

void training_defaults(struct training_options *o)
{
	word(&o->documents, TRAINING_APART);
	number(&o->mask, 0.15);
	count(&o->shuffle, 0);
	word(&o->schedule, SCHEDULE_COSINE);
	word(&o->optimizer, TRAINER_ADAMW);
	optimizer_defaults(o);
	number(&o->ema, 0);
	number(&o->label_smoothing, 0);
	number(&o->z_loss, 0);
	number(&o->dropout, 0);
	word(&o->dtype, TRAINING_F32);
	word(&o->weights, TRAINING_F32);
	word(&o->rounding, TRAINING_STOCHASTIC);
	count(&o->seed, 0);
	count(&o->max_skipped, 10);
	count(&o->rollback, 0);
	number(&o->spike, 0);
	count(&o->val_every, 250);
	count(&o->val_tokens, 0);
	count(&o->watch, 0);
	count(&o->sample_tokens, 64);
	number(&o->temperature, 0.8);
	count(&o->checkpoint_every, 250);
	count(&o->keep, 2);
	word(&o->checkpoint_async, TRAINING_OFF);
	count(&o->memory, 0);
	word(&o->recompute, TRAINING_AUTO);
}

/* --- ranges --- */

static int check_windows(const struct training_options *o)
{
	if (o->batch % o->micro_batch)
		return err_set(ERR_ARGUMENT,
			       "--micro-batch: %" PRIu64
			       " windows do not divide a batch of %" PRIu64,
			       o->micro_batch, o->batch);
	if (o->micro_batch > INT32_MAX / o->ctx)
		return err_set(ERR_ARGUMENT,
			       "--micro-batch: %" PRIu64 " windows of %" PRIu64
			       " tokens are more than 2^31 rows",
			       o->micro_batch, o->ctx);
	return 0;
}

static int check_schedule(const struct training_options *o)
{
	struct schedule s = {
		(enum schedule_kind)o->schedule, o->lr, o->min_lr, o->steps, o->warmup, o->decay
	};

	return schedule_check(&s) < 0 ? err_prefix("the schedule") : 0;
}

int training_options_check(const struct training_options *o)
{
	if (check_windows(o) < 0 || check_schedule(o) < 0)
		return -1;
	if (o->rollback && !(o->spike > 0))
		return err_set(ERR_ARGUMENT, "--rollback: there is no --spike to go back after");
	if (o->shuffle && strcmp(o->data, "-") != 0)
		return err_set(ERR_ARGUMENT, "--shuffle: is of a stream (-d -); the order of a "
					     "packed file is drawn over all of it");
	if (o->rollback && !o->checkpoint_every)
		return err_set(ERR_ARGUMENT, "--rollback: there is nothing to go back to with "
					     "--checkpoint-every 0");
	return 0;
}
