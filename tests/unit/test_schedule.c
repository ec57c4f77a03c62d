/*
 * tests/unit/test_schedule.c - learning rates: values worked out by hand, ends that meet exactly, sizes that cannot be
 */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/train/schedule.h"
#include "tests/tap.h"

static void is_rate(const struct schedule *s, uint64_t step, double want)
{
	double got = schedule_rate(s, step);

	tap_ok(fabs(got - want) <= 1e-15, "%s: step %d has %.17g, not %.17g",
	       schedule_name(s->kind), (int)step, got, want);
}

/* Cases D09: the first step has a rate, the warm-up's last the peak, the last step the least exactly. */
static void test_warmup(void)
{
	struct schedule s = { SCHEDULE_COSINE, .peak = 1, .least = 0.125, .steps = 10,
			      .warmup = 4 };

	is_rate(&s, 1, 0.25);
	is_rate(&s, 2, 0.5);
	tap_ok(schedule_rate(&s, 4) == 1.0, "the peak, exactly");
	tap_ok(schedule_rate(&s, 10) == 0.125, "the least, exactly");
	tap_ok(schedule_rate(&s, 11) == 0.125, "and past the end");
	/* half way down: cos(pi / 2) = 0 */
	is_rate(&s, 7, (1 + 0.125) / 2);
	s.steps = 4;
	tap_works(schedule_check(&s), "a warm-up to the end");
	is_rate(&s, 4, 1);
	s.steps = 10;
	s.warmup = 0;
	is_rate(&s, 5, (1 + 0.125) / 2);
	tap_ok(schedule_rate(&s, 1) < 1 && schedule_rate(&s, 1) > 0.9, "no warm-up");
}

static void test_linear(void)
{
	struct schedule s = { SCHEDULE_LINEAR, .peak = 2, .least = 0, .steps = 12, .warmup = 4 };

	is_rate(&s, 6, 1.5);
	is_rate(&s, 8, 1);
	is_rate(&s, 12, 0);
}

static void test_wsd(void)
{
	struct schedule s = { SCHEDULE_WSD, .peak = 1,	  .least = 0.5,
			      .steps = 100, .warmup = 10, .decay = 20 };

	is_rate(&s, 50, 1);
	is_rate(&s, 80, 1);
	is_rate(&s, 90, 0.75);
	is_rate(&s, 100, 0.5);
	s.decay = 0;
	tap_works(schedule_check(&s), "no decay");
	is_rate(&s, 100, 1);
}

static void test_constant(void)
{
	struct schedule s = { SCHEDULE_CONSTANT, .peak = 3, .steps = 5, .warmup = 2 };

	is_rate(&s, 1, 1.5);
	is_rate(&s, 5, 3);
}

static void test_refused(void)
{
	struct schedule s = { SCHEDULE_COSINE, .peak = 1, .steps = 0 };

	tap_fails(schedule_check(&s), ERR_ARGUMENT, "0 steps", "no steps");
	s = (struct schedule){ SCHEDULE_COSINE, .peak = 1, .steps = 3, .warmup = 4 };
	tap_fails(schedule_check(&s), ERR_ARGUMENT, "warm-up of 4 steps", "a long warm-up");
	s = (struct schedule){ SCHEDULE_WSD, .peak = 1, .steps = UINT64_MAX, .warmup = 2,
			       .decay = UINT64_MAX - 1 };
	tap_fails(schedule_check(&s), ERR_ARGUMENT, "longer than all", "a long decay");
	s = (struct schedule){ SCHEDULE_LINEAR, .peak = 1, .least = 2, .steps = 3 };
	tap_fails(schedule_check(&s), ERR_ARGUMENT, "the least below the peak", "a rise");
	s = (struct schedule){ SCHEDULE_LINEAR, .peak = NAN, .steps = 3 };
	tap_fails(schedule_check(&s), ERR_ARGUMENT, "rates", "no number");
}

static void test_table(void)
{
	struct schedule s = { SCHEDULE_LINEAR, .peak = 1, .least = 0, .steps = 4, .warmup = 2 };
	struct buffer b = { 0 };

	tap_works(schedule_print(&s, &b), "a table");
	tap_is_bytes(((struct bytes){ b.data, b.size }),
		     bytes_of("        step  rate\n           1  0.5\n           2  1\n"
			      "           3  0.5\n           4  0\n"),
		     "every step of a short one");
	buffer_free(&b);
}

int main(void)
{
	tap_run(test_warmup);
	tap_run(test_linear);
	tap_run(test_wsd);
	tap_run(test_constant);
	tap_run(test_refused);
	tap_run(test_table);
	return tap_done();
}
