/* lib/train/training_trainer.c - the trainer of a run, as large as the memory allows */

#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/base/system.h"
#include "lib/graph/op_table.h"
#include "lib/train/fit.h"
#include "lib/train/training_parts.h"

static struct trainer_options trainer_options_of(const struct training *t)
{
	const struct training_options *o = &t->o;

	return (struct trainer_options){
		.backend = t->setup->backend,
		.team = t->setup->team,
		.compute = o->dtype == TRAINING_BF16 ? DTYPE_BF16 : DTYPE_F32,
		.optimizer = (enum trainer_optimizer)o->optimizer,
		.beta1 = o->beta1,
		.beta2 = o->beta2,
		.eps = o->eps,
		.weight_decay = o->weight_decay,
		.momentum = o->momentum,
		.clip = o->clip,
		.smoothing = o->label_smoothing,
		.z_loss = o->z_loss,
		.dropout = o->dropout,
		.ema = o->ema,
		.stochastic = o->weights == TRAINING_BF16 && o->rounding == TRAINING_STOCHASTIC,
		.seed = o->seed,
		.tokens = training_rows(t),
		.memory = o->memory,
		.recompute_blocks = o->recompute == TRAINING_ALL ? SIZE_MAX : 0,
		.without = t->setup->without,
	};
}

/* Attention is counted as if every row of the micro-batch saw the others; windows do not see each other. */
static double operations_of(const struct training *t, const struct plan_node_stats *s)
{
	bool attention = s->node->op == OP_ATTENTION || s->node->op == OP_ATTENTION_GRAD;

	return attention ? s->operations / (double)t->o.micro_batch : s->operations;
}

/* Operations of a row; what is computed a second time does not count. */
static double row_operations(const struct training *t)
{
	const struct plan *p = trainer_plan(t->trainer);
	double all = 0;

	for (size_t i = 0; i < plan_n_steps(p); i++) {
		struct plan_node_stats s = plan_step(p, i);

		if (!s.node->again)
			all += operations_of(t, &s);
	}
	return all / (double)training_rows(t);
}

int training_settle_micro_batch(struct training *t)
{
	struct trainer_options o;
	size_t n = 0;

	if (t->o.micro_batch != TRAINING_UNSET)
		return 0;
	o = trainer_options_of(t);
	if (fit_micro_batch(&n, t->model.config, t->model.store, &o, (size_t)t->o.batch,
			    (uint32_t)t->o.ctx) < 0)
		return -1;
	t->o.micro_batch = n;
	return 0;
}

uint64_t training_copy_bytes(const struct training *t)
{
	if (t->o.checkpoint_async == TRAINING_OFF)
		return 0;
	return trainer_bytes(t->trainer, PLAN_WEIGHTS) + trainer_bytes(t->trainer, PLAN_STATE);
}

/* Most runs fit as they are: that is found out with one plan. */
static int make_trainer(struct training *t, struct trainer_options *o, uint64_t limit)
{
	const struct hf_config *c = t->model.config;
	uint64_t copy;

	o->memory = 0;
	if (trainer_new(&t->trainer, c, t->model.store, o) < 0)
		return -1;
	copy = training_copy_bytes(t);
	if (!limit || trainer_bytes_total(t->trainer) + copy <= limit)
		return 0;
	if (copy >= limit)
		return err_set(ERR_LIMIT, "the copy for --checkpoint-async needs %" PRIu64 " bytes",
			       copy);
	limit -= copy;
	trainer_free(t->trainer);
	t->trainer = NULL;
	o->memory = limit;
	if (t->o.recompute == TRAINING_AUTO &&
	    fit_recompute(&o->recompute_blocks, c, t->model.store, o) < 0)
		return -1;
	return trainer_new(&t->trainer, c, t->model.store, o);
}

/* Where no limit is given, what the machine has is one: a run that cannot go well is not begun. */
int training_open_trainer(struct training *t)
{
	struct trainer_options o = trainer_options_of(t);
	uint64_t limit = t->o.memory ? t->o.memory : system_memory();

	t->schedule = (struct schedule){ (enum schedule_kind)t->o.schedule,
					 t->o.lr,
					 t->o.min_lr,
					 t->o.steps,
					 t->o.warmup,
					 t->o.decay };
	if (make_trainer(t, &o, limit) < 0)
		return err_last() == ERR_LIMIT && !t->o.memory
			       ? err_prefix("this machine's memory is too small")
			       : -1;
	t->operations = row_operations(t);
	return 0;
}
