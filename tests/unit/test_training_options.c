/* tests/unit/test_training_options.c - options as settings and back, what may differ, and when a step is told to have gone wrong */

#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/train/training_guard.h"
#include "tests/tap.h"

static struct arena *arena;

static void test_settings(void)
{
	struct training_options o, back;
	const struct run_setting *s;
	size_t n;

	training_options_unset(&o);
	tap_works(training_settings(&o, arena, &s, &n), "nothing is set");
	tap_is_u64(n, 0, "and nothing is written");
	o.lr = 3e-4;
	o.batch = 16;
	o.optimizer = TRAINER_MUON;
	o.data = "train.tok";
	tap_works(training_settings(&o, arena, &s, &n), "four are set");
	tap_is_u64(n, 4, "four are written");
	tap_is_text(run_setting(s, n, "lr"), "0.0003", "a number");
	tap_is_text(run_setting(s, n, "optimizer"), "muon", "a word");
	training_options_unset(&back);
	back.batch = 4; /* given: it stays */
	tap_works(training_take_settings(&back, s, n), "and are read");
	tap_ok(back.lr == 3e-4 && back.optimizer == TRAINER_MUON &&
		       strcmp(back.data, "train.tok") == 0,
	       "the same");
	tap_is_u64(back.batch, 4, "what was given stays");
	tap_ok(isnan(back.clip) && back.steps == TRAINING_UNSET, "what was not there stays unset");
}

static void test_differences(void)
{
	const struct run_setting had[] = { { "lr", "0.0003" },
					   { "keep", "2" },
					   { "checkpoint-every", "10" },
					   { "rollback", "0" } };
	const struct run_setting may_go_back[] = { { "checkpoint-every", "10" },
						   { "rollback", "2" } };
	const struct run_setting strange[] = { { "colour", "blue" } };
	const char *const allow[] = { "lr" };
	struct training_options o;

	training_options_unset(&o);
	tap_works(training_check_settings(&o, had, 4, NULL, 0), "nothing was given");
	o.lr = 3e-4;
	o.keep = 9;
	o.checkpoint_every = 11;
	tap_works(training_check_settings(&o, had, 4, NULL, 0), "equal, or without consequence");
	o.lr = 3.1e-4;
	tap_ok(training_check_settings(&o, had, 4, NULL, 0) < 0 && strstr(err_text(), "--lr:"),
	       "another rate: %s", err_text());
	tap_works(training_check_settings(&o, had, 4, allow, 1), "that is allowed");
	o.lr = NAN;
	tap_ok(training_check_settings(&o, may_go_back, 2, NULL, 0) < 0,
	       "checkpoints of a run that may go back");
	tap_ok(training_take_settings(&o, strange, 1) < 0 && strstr(err_text(), "colour"),
	       "a setting that is not known");
	tap_ok(training_is_name("kernels") && training_is_name("lr") && !training_is_name("x"),
	       "names");
}

static enum training_verdict judge(const struct training_options *o, struct run_state *s,
				   double loss, bool skipped)
{
	const struct trainer_result r = { .loss = loss, .targets = 5, .skipped = skipped };

	s->step++;
	return training_judge(o, &r, s);
}

static void test_guard(void)
{
	struct training_options o = { .max_skipped = 2, .spike = 1 };
	struct run_state s = { .smoothed_loss = NAN };

	for (int i = 0; i < GUARD_STEPS; i++)
		tap_ok(judge(&o, &s, i == 5 ? 90 : 4, false) == TRAINING_FINE, "too early to tell");
	s.smoothed_loss = 4;
	tap_ok(judge(&o, &s, 4.9, false) == TRAINING_FINE, "not far above");
	tap_ok(judge(&o, &s, 5.2, false) == TRAINING_SPIKE, "far above");
	tap_ok(judge(&o, &s, NAN, true) == TRAINING_SKIPPED, "not finite");
	tap_ok(judge(&o, &s, 4, false) == TRAINING_FINE && s.skipped_in_row == 0, "and fine again");
	tap_ok(judge(&o, &s, NAN, true) == TRAINING_SKIPPED, "once more");
	tap_ok(judge(&o, &s, NAN, true) == TRAINING_GIVE_UP, "twice in a row");
	tap_is_u64(s.skipped, 3, "in all");
	o.rollback = 1;
	tap_ok(judge(&o, &s, 9, false) == TRAINING_GO_BACK, "one time is allowed");
	s.rollbacks = 1;
	tap_ok(judge(&o, &s, 19, false) == TRAINING_SPIKE, "no more than one");
}

int main(void)
{
	if (arena_new(&arena) < 0)
		return 99;
	tap_run(test_settings);
	tap_run(test_differences);
	tap_run(test_guard);
	arena_free(arena);
	return tap_done();
}
