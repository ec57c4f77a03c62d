/* lib/train/training_guard.c - whether a step went wrong */

#include "lib/train/training_guard.h"

#include <math.h>

static enum training_verdict back_or(const struct training_options *o, const struct run_state *s,
				     enum training_verdict otherwise)
{
	return s->rollbacks < o->rollback ? TRAINING_GO_BACK : otherwise;
}

static enum training_verdict judge_skipped(const struct training_options *o, struct run_state *s)
{
	s->skipped++;
	s->skipped_in_row++;
	if (o->max_skipped && s->skipped_in_row >= o->max_skipped)
		return back_or(o, s, TRAINING_GIVE_UP);
	return TRAINING_SKIPPED;
}

static bool is_spike(const struct training_options *o, const struct trainer_result *r,
		     const struct run_state *s)
{
	return o->spike > 0 && s->step > GUARD_STEPS && r->loss > s->smoothed_loss + o->spike;
}

enum training_verdict training_judge(const struct training_options *o,
				     const struct trainer_result *r, struct run_state *s)
{
	bool spike;

	if (r->skipped)
		return judge_skipped(o, s);
	s->skipped_in_row = 0;
	if (r->targets == 0)
		return TRAINING_FINE;
	spike = is_spike(o, r, s);
	if (isnan(s->smoothed_loss))
		s->smoothed_loss = r->loss;
	else
		s->smoothed_loss += (1 - GUARD_SMOOTHING) * (r->loss - s->smoothed_loss);
	return spike ? back_or(o, s, TRAINING_SPIKE) : TRAINING_FINE;
}
