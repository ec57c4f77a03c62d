/* lib/train/schedule.c - learning rates by step */

#include "lib/train/schedule.h"

#include <inttypes.h>
#include <math.h>

#include "lib/base/err.h"

#define PI 3.14159265358979323846

const char *schedule_name(enum schedule_kind k)
{
	static const char *const names[SCHEDULE_COUNT] = { "cosine", "linear", "wsd", "constant" };

	return (unsigned)k < SCHEDULE_COUNT ? names[k] : "unknown";
}

static bool is_rate(double x)
{
	return isfinite(x) && x >= 0;
}

int schedule_check(const struct schedule *s)
{
	if (s->steps == 0)
		return err_set(ERR_ARGUMENT, "a schedule of 0 steps");
	if (s->warmup > s->steps)
		return err_set(ERR_ARGUMENT,
			       "a warm-up of %" PRIu64 " steps is longer than all %" PRIu64,
			       s->warmup, s->steps);
	if (s->kind == SCHEDULE_WSD && s->decay > s->steps - s->warmup)
		return err_set(ERR_ARGUMENT,
			       "warm-up and decay, %" PRIu64 " and %" PRIu64
			       " steps, are longer than all %" PRIu64,
			       s->warmup, s->decay, s->steps);
	if (!is_rate(s->peak) || !is_rate(s->least) || s->least > s->peak)
		return err_set(
			ERR_ARGUMENT,
			"rates from %g down to %g: numbers from 0 on, the least below the peak",
			s->peak, s->least);
	return 0;
}

/* How far the fall has come, from 0 to 1, at a step past the warm-up. */
static double fallen(const struct schedule *s, uint64_t step)
{
	uint64_t from = s->kind == SCHEDULE_WSD ? s->steps - s->decay : s->warmup;

	if (step <= from)
		return 0;
	if (step >= s->steps)
		return 1;
	return (double)(step - from) / (double)(s->steps - from);
}

double schedule_rate(const struct schedule *s, uint64_t step)
{
	double share;

	if (step < s->warmup)
		return s->peak * (double)step / (double)s->warmup;
	if (s->kind == SCHEDULE_CONSTANT)
		return s->peak;
	share = fallen(s, step);
	if (share <= 0)
		return s->peak;
	if (share >= 1)
		return s->least;
	if (s->kind == SCHEDULE_COSINE)
		share = (1 - cos(PI * share)) / 2;
	return s->peak + (s->least - s->peak) * share;
}

/* Steps that are told: the ends, the bends, and tenths between. */
static bool is_told(const struct schedule *s, uint64_t step)
{
	uint64_t tenth = s->steps / 10 ? s->steps / 10 : 1;

	return step == 1 || step == s->warmup || step == s->steps || step % tenth == 0 ||
	       (s->kind == SCHEDULE_WSD && step == s->steps - s->decay);
}

int schedule_print(const struct schedule *s, struct buffer *out)
{
	buffer_format(out, "%12s  %s\n", "step", "rate");
	for (uint64_t step = 1; step <= s->steps; step++)
		if (is_told(s, step))
			buffer_format(out, "%12" PRIu64 "  %.6g\n", step, schedule_rate(s, step));
	return buffer_check(out);
}
