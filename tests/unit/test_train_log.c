/* lib/eval/train_log and the axes of pictures: what a log tells, smoothing, ticks. */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/eval/picture_parts.h"
#include "lib/eval/train_log.h"
#include "tests/tap.h"

static const char *file_of(const char *text)
{
	return tap_file("a.jsonl", text, strlen(text));
}

static void is_series(const struct train_log *l, enum train_metric m, size_t n, double x, double y)
{
	const struct train_series *s = &l->series[m];

	if (tap_is_u64(s->n, n, "points") && n)
		tap_ok(s->x[n - 1] == x && s->y[n - 1] == y, "the last: %g %g", s->x[n - 1],
		       s->y[n - 1]);
}

static void test_read(void)
{
	const char *text = "{\"step\":1,\"tokens\":512,\"loss\":3.5,\"lr\":1e-3,\"tok_s\":1,"
			   "\"perf\":{\"mfu\":0.5,\"tok_s\":99,\"loss\":7}}\n"
			   "{\"event\":\"x\",\"loss\":1}\n"
			   "{\"step\":2,\"tokens\":1024,\"val_loss\":3,\"loss\":null}\n"
			   "{\"step\":2,\"tokens\":1024,\"loss\":2,\"grad_norm\":\"nan\"}\n"
			   "{\"step\":3,\"to";
	struct train_log l;

	if (tap_works(train_log_read(&l, file_of(text), TRAIN_BY_STEP), "read")) {
		is_series(&l, TRAIN_LOSS, 2, 2, 2);
		is_series(&l, TRAIN_VAL_LOSS, 1, 2, 3);
		is_series(&l, TRAIN_RATE, 1, 1, 1e-3);
		is_series(&l, TRAIN_NORM, 0, 0, 0);
		is_series(&l, TRAIN_SPEED, 1, 1, 99);
		train_log_free(&l);
	}
	if (tap_works(train_log_read(&l, file_of(text), TRAIN_BY_TOKENS), "by tokens")) {
		is_series(&l, TRAIN_LOSS, 2, 1024, 2);
		train_log_free(&l);
	}
}

static void test_again(void)
{
	struct train_log l;

	tap_works(train_log_read(&l,
				 file_of("{\"step\":1,\"loss\":5}\n{\"step\":2,\"loss\":6}\n"
					 "{\"step\":3,\"loss\":7}\n{\"step\":2,\"loss\":4}\n"),
				 TRAIN_BY_STEP),
		  "a run that went back");
	is_series(&l, TRAIN_LOSS, 2, 2, 4);
	train_log_free(&l);
	tap_fails(train_log_read(&l, file_of("{\"step\":1}\n{x\n{}\n"), TRAIN_BY_STEP), ERR_FORMAT,
		  "a.jsonl:2: byte", "a wrong line that is not the last");
	tap_fails(train_log_read(&l, file_of("{\"step\":1}\n"), TRAIN_BY_STEP), ERR_MISSING,
		  "no line has a step and a loss", "nothing to draw");
	tap_fails(train_log_read(&l, file_of("{\"step\":1,\"loss\":2}\n"), TRAIN_BY_TOKENS),
		  ERR_MISSING, "no line has a step, tokens and a loss", "no tokens");
}

/* By hand: 4; (0.5 x 0.5 x 4 + 0.5 x 2) / 0.75; then 8 joins. */
static void test_smooth(void)
{
	double x[] = { 1, 2, 3 }, y[] = { 4, 2, 8 }, out[3];
	struct train_series s = { .x = x, .y = y, .n = 3 };

	train_smooth(&s, 0.5, out);
	tap_ok(fabs(out[0] - 4) < 1e-12 && fabs(out[1] - 2 / 0.75) < 1e-12 &&
		       fabs(out[2] - 5 / 0.875) < 1e-12,
	       "%g %g %g", out[0], out[1], out[2]);
	train_smooth(&s, 0, out);
	tap_ok(out[0] == 4 && out[1] == 2 && out[2] == 8, "0 is none");
}

static void has_ticks(struct axis a, const char *want)
{
	double ticks[AXIS_TICKS_MAX];
	size_t n = axis_ticks(&a, ticks);
	char text[AXIS_TEXT], got[1024] = "";

	for (size_t i = 0; i < n; i++) {
		strncat(got, i ? " " : "", 2);
		strncat(got, axis_text(&a, ticks[i], text), AXIS_TEXT);
	}
	tap_is_text(got, want, "ticks from %g to %g", a.from, a.to);
}

static void test_ticks(void)
{
	has_ticks((struct axis){ .from = 0, .to = 10, .ticks = 5 }, "0 2 4 6 8 10");
	has_ticks((struct axis){ .from = 2.1, .to = 2.9, .ticks = 5 }, "2.2 2.4 2.6 2.8");
	has_ticks((struct axis){ .from = -0.1, .to = 0.1, .ticks = 4 }, "-0.1 -0.05 0 0.05 0.1");
	has_ticks((struct axis){ .from = 0, .to = 3, .ticks = 12, .whole = true }, "0 1 2 3");
	has_ticks((struct axis){ .from = 0, .to = 20000, .ticks = 4 }, "0 5k 10k 15k 20k");
	has_ticks((struct axis){ .from = 0, .to = 2e6, .ticks = 4, .unit = 1e6 }, "0 0.5 1 1.5 2");
	has_ticks((struct axis){ .from = 1, .to = 1000, .ticks = 4, .logarithmic = true },
		  "1 10 100 1000");
	has_ticks((struct axis){ .from = 1, .to = 100, .ticks = 6, .logarithmic = true },
		  "1 2 5 10 20 50 100");
	has_ticks((struct axis){ .from = 2.5, .to = 9, .ticks = 9, .logarithmic = true },
		  "3 4 5 6 7 8 9");
	has_ticks((struct axis){ .from = 1, .to = 1e12, .ticks = 4, .logarithmic = true },
		  "1 1k 1M 1G 1T");
}

int main(void)
{
	tap_run(test_read);
	tap_run(test_again);
	tap_run(test_smooth);
	tap_run(test_ticks);
	return tap_done();
}
