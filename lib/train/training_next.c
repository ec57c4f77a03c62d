/* lib/train/training_next.c - a step with all that belongs to it */

#include <inttypes.h>
#include <math.h>
#include <sys/resource.h>

#include "formats/json.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/train/training_parts.h"

/* --- the report --- */

static uint64_t memory_used(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static double peak_of(const struct training *t)
{
	bool half = t->o.dtype == TRAINING_BF16 && t->setup->peak_half > 0;

	return half ? t->setup->peak_half : t->setup->peak;
}

static bool has_stood(struct training *t)
{
	const struct training_hooks *h = &t->setup->hooks;

	t->stood = (h->stood && h->stood(h->to)) || t->stood;
	return t->stood;
}

/* Of RATE operations a second; never above 1. The peak was measured while other programs ran if a step does more. */
static double share_of_peak(struct training *t, double rate)
{
	if (t->peak == 0)
		t->peak = peak_of(t);
	if (!(t->peak > 0))
		return NAN;
	if (rate > t->peak) {
		if (!t->warned_peak)
			training_warn(
				t,
				"step %" PRIu64
				": more than the machine's peak as it was measured, "
				"%.3g of %.3g G/s; from here on shares are of what steps reached",
				t->state.step + 1, rate * 1e-9, t->peak * 1e-9);
		t->warned_peak = true;
		t->peak = rate;
	}
	return rate / t->peak;
}

/*
 * Seconds of a step, what is not a step's (evaluation, checkpoints) left out. A step in which the process stood still (SIGSTOP) took
 * what steps take, and one without targets multiplied nothing.
 */
static void note_speed(struct training *t, double seconds, const struct trainer_result *result)
{
	struct training_report *r = &t->report;
	double tokens = (double)t->o.batch * (double)t->o.ctx;
	double *mean = &t->mean_step_seconds;

	if (has_stood(t) && *mean > 0)
		seconds = *mean;
	*mean = *mean > 0 ? *mean + 0.1 * (seconds - *mean) : seconds;
	r->tokens_per_second = seconds > 0 ? tokens / seconds : 0;
	r->mean_speed = *mean > 0 ? tokens / *mean : 0;
	r->peak_share =
		result->targets ? share_of_peak(t, r->tokens_per_second * t->operations) : NAN;
	r->memory = memory_used();
}

/* From the beginning of the step that is done, with what belongs to it. */
static double worked(struct training *t, uint64_t now)
{
	return has_stood(t) ? t->mean_step_seconds : clock_seconds(t->step_ns, now);
}

/* What is left goes by what steps took so far, with evaluations and checkpoints. */
static void note_time(struct training *t)
{
	struct training_report *r = &t->report;
	double done = (double)t->state.step - (double)t->start_step;
	uint64_t now = clock_ns();

	r->seconds = clock_seconds(t->start_ns, now);
	r->seconds_left = done > 0 ? (t->worked_seconds + worked(t, now)) / done *
					     (double)(t->o.steps - r->step)
				   : NAN;
}

static void note_step(struct training *t, const struct trainer_result *result)
{
	struct training_report *r = &t->report;

	r->step = t->state.step;
	r->tokens = t->state.tokens;
	r->loss = result->loss;
	r->smoothed_loss = t->state.smoothed_loss;
	r->rate = schedule_rate(&t->schedule, t->state.step);
	r->grad_norm = result->targets ? result->grad_norm : NAN;
	r->skipped = result->skipped;
	r->evaluated = false;
}

/* --- what may be wrong --- */

static int say_skipped(struct training *t)
{
	training_warn(t,
		      "step %" PRIu64 ": the loss or a gradient is not finite: nothing was changed",
		      t->state.step);
	return training_log_event(t, "skipped", "%s", "");
}

static int say_spike(struct training *t, double loss)
{
	training_warn(t, "step %" PRIu64 ": the loss leaps to %.4f", t->state.step, loss);
	return training_log_event(t, "spike", "%s", "");
}

static int give_up(const struct training *t)
{
	return err_set(ERR_LIMIT,
		       "step %" PRIu64 ": %" PRIu64
		       " steps in a row were not finite; the run ends, its last checkpoint stays "
		       "(a lower --lr or --clip may help)",
		       t->state.step, t->state.skipped_in_row);
}

/* *V: to go back only where there is something to go back to. */
static int judge(struct training *t, const struct trainer_result *r, enum training_verdict *v)
{
	*v = training_judge(&t->o, r, &t->state);
	if (*v != TRAINING_GO_BACK)
		return 0;
	if (training_end_writing(t) < 0)
		return -1;
	if (!t->folder || !run_folder_state(t->folder))
		*v = r->skipped ? TRAINING_GIVE_UP : TRAINING_SPIKE;
	return 0;
}

/* Once: that a step had no targets. */
static void say_empty(struct training *t)
{
	if (!t->warned_empty)
		training_warn(
			t, "step %" PRIu64 ": no token of it is to be learnt: nothing was changed",
			t->state.step);
	t->warned_empty = true;
}

/* --- after the step --- */

static bool is_due(uint64_t every, uint64_t step, uint64_t last)
{
	return step == last || (every && step % every == 0);
}

/* *BEST: no evaluation before was as good. */
static int evaluate(struct training *t, bool *best)
{
	struct training_report *r = &t->report;

	*best = false;
	if (!t->val || !is_due(t->o.val_every, t->state.step, t->o.steps))
		return 0;
	if (training_evaluate(t, &r->val_loss) < 0)
		return -1;
	r->evaluated = true;
	*best = isfinite(r->val_loss) &&
		!(r->val_loss >= t->state.best_loss); /* NaN: none before */
	if (*best) {
		t->state.best_loss = r->val_loss;
		t->state.best_step = t->state.step;
	}
	return 0;
}

static int sample(struct training *t)
{
	const struct training_hooks *h = &t->setup->hooks;
	struct buffer text = { 0 }, more = { 0 };
	int result;

	if (!h->sample || !is_due(t->o.val_every, t->state.step, t->o.steps))
		return 0;
	result = h->sample(h->to, &text);
	if (result == 0 && text.size) {
		buffer_put_text(&more, ",\"text\":");
		json_put_string(&more, buffer_bytes(&text));
		buffer_put_u8(&more, 0);
		result = buffer_check(&more);
		if (result == 0)
			result = training_log_event(t, "sample", "%s", more.data);
	}
	buffer_free(&text);
	buffer_free(&more);
	return result;
}

static bool checkpoint_asked(const struct training *t)
{
	const struct training_hooks *h = &t->setup->hooks;

	return h->checkpoint && h->checkpoint(h->to);
}

static int finish_step(struct training *t, enum training_event *event)
{
	bool best, last = t->state.step == t->o.steps, stop, due;

	if (training_poll_writing(t) < 0 || evaluate(t, &best) < 0 || sample(t) < 0)
		return -1;
	note_time(t);
	if (training_log_watched(t) < 0 || training_log_step(t) < 0)
		return -1;
	stop = training_stop_asked(t);
	due = is_due(t->o.checkpoint_every, t->state.step, t->o.steps);
	due = checkpoint_asked(t) || due || best || t->state.step == t->retry;
	if (t->folder && (due || stop) && training_checkpoint(t, best, last || stop) < 0)
		return -1;
	*event = stop && !last ? TRAINING_STOPPED : TRAINING_STEPPED;
	return 0;
}

static int step_forward(struct training *t, const struct trainer_result *r,
			enum training_event *event)
{
	enum training_verdict v;

	t->state.step++;
	t->state.tokens += t->o.batch * t->o.ctx;
	t->state.targets += r->targets;
	if (judge(t, r, &v) < 0)
		return -1;
	note_step(t, r);
	if (r->targets == 0)
		say_empty(t);
	switch (v) {
	case TRAINING_GO_BACK:
		*event = TRAINING_STEPPED;
		if (training_log_step(t) < 0)
			return -1;
		return training_go_back(t);
	case TRAINING_GIVE_UP: training_log_step(t); return give_up(t);
	case TRAINING_SKIPPED:
		if (say_skipped(t) < 0)
			return -1;
		break;
	case TRAINING_SPIKE:
		if (say_spike(t, r->loss) < 0)
			return -1;
		break;
	case TRAINING_FINE: break;
	}
	return finish_step(t, event);
}

/* --- ends --- */

/* A stop within a step: the state is that of the step before. */
static int stop_here(struct training *t, enum training_event *event)
{
	const struct run_state *last;

	*event = TRAINING_STOPPED;
	if (!t->folder)
		return 0;
	if (training_end_writing(t) < 0)
		return -1;
	last = run_folder_state(t->folder);
	if (last && last->step == t->state.step)
		return 0;
	/* Before the first step there is nothing to go on from. */
	return t->state.step ? training_checkpoint(t, false, true) : 0;
}

static int end(struct training *t, enum training_event *event)
{
	*event = TRAINING_ENDED;
	if (t->pending.size)
		return err_set(ERR_IO, "the log could not be written: no room on the disk");
	return t->folder ? run_folder_done(t->folder) : 0;
}

static void begin_work(struct training *t, uint64_t now)
{
	if (t->step_ns)
		t->worked_seconds += worked(t, now);
	t->stood = false;
	t->step_ns = now;
}

int training_next(struct training *t, enum training_event *event)
{
	struct trainer_result r;
	uint64_t start = clock_ns();
	int got;

	if (t->start_ns == 0)
		t->start_ns = start;
	begin_work(t, start);
	if (t->state.step >= t->o.steps)
		return end(t, event);
	got = training_do_step(t, t->state.step + 1, &r);
	if (got < 0)
		return -1;
	if (got == 0)
		return stop_here(t, event);
	note_speed(t, clock_seconds(start, clock_ns()), &r);
	return step_forward(t, &r, event);
}
