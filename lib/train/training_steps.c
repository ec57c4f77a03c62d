/* lib/train/training_steps.c - the arithmetic of a step and of an evaluation */

#include <inttypes.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/train/training_parts.h"

bool training_stop_asked(const struct training *t)
{
	const struct training_hooks *h = &t->setup->hooks;

	return h->stop && h->stop(h->to);
}

/* Places that the run has passed over when it went back: as many at a time as lie between two checkpoints. */
static uint64_t skipped_places(const struct training *t)
{
	return t->state.rollbacks * t->o.checkpoint_every * t->o.batch;
}

static bool is_watched(const struct training *t, uint64_t step)
{
	return t->o.watch && step % t->o.watch == 0;
}

/* Windows FROM to FROM + N - 1 of those read, as the objective wants them; a step of its own counts its rows from FIRST. */
static void fill(struct training *t, const struct feed *f, size_t from, size_t n, uint64_t step,
		 uint64_t first)
{
	struct trainer_batch rows = trainer_batch(t->trainer);

	feed_fill(f, from, n, training_rows(t), &rows);
	if (t->o.objective == TRAINING_MASKED)
		masking_apply(&t->masking, &rows, n * (size_t)t->o.ctx, step, first);
}

/* How many masked tokens a step will have. */
static uint64_t count_masked(struct training *t, uint64_t step)
{
	struct trainer_batch rows = trainer_batch(t->trainer);
	uint64_t targets = 0, ctx = t->o.ctx;

	for (uint64_t at = 0; at < t->o.batch; at += t->o.micro_batch) {
		feed_fill(t->feed, at, t->o.micro_batch, training_rows(t), &rows);
		targets += masking_count(&t->masking, rows.ids, training_rows(t), step, at * ctx);
	}
	return targets;
}

static int begin_step(struct training *t, uint64_t step)
{
	uint64_t targets;

	if (feed_step(t->feed, step, skipped_places(t), &targets) < 0)
		return -1;
	if (t->o.objective == TRAINING_MASKED)
		targets = count_masked(t, step);
	trainer_watch(t->trainer, is_watched(t, step));
	return trainer_begin(t->trainer, step, targets);
}

int training_do_step(struct training *t, uint64_t step, struct trainer_result *r)
{
	if (begin_step(t, step) < 0)
		return -1;
	for (uint64_t at = 0; at < t->o.batch; at += t->o.micro_batch) {
		if (training_stop_asked(t))
			return 0;
		fill(t, t->feed, at, t->o.micro_batch, step, at * t->o.ctx);
		if (trainer_micro(t->trainer) < 0)
			return -1;
	}
	if (trainer_end(t->trainer, schedule_rate(&t->schedule, step), r) < 0)
		return -1;
	return 1;
}

/* --- evaluation --- */

/* How many windows are looked at. */
static uint64_t val_windows(const struct training *t)
{
	uint64_t all = feed_epoch(t->val), some = t->o.val_tokens / t->o.ctx;

	if (t->o.val_tokens == 0)
		return all;
	some = some ? some : 1;
	return some < all ? some : all;
}

int training_evaluate(struct training *t, double *loss)
{
	uint64_t all = val_windows(t), targets = 0;
	double sum = 0;

	*loss = NAN;
	for (uint64_t at = 0; at < all;) {
		uint64_t n_targets;
		double part;
		size_t n;

		if (feed_pass(t->val, at, &n, &n_targets) < 0)
			return -1;
		n = n < all - at ? n : (size_t)(all - at);
		fill(t, t->val, 0, n, 0, at * t->o.ctx);
		if (trainer_evaluate(t->trainer, &part, &n_targets) < 0)
			return -1;
		sum += part;
		targets += n_targets;
		at += n;
	}
	if (targets)
		*loss = sum / (double)targets;
	return 0;
}
