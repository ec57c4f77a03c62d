/*
 * lib/train/training_guard.h - whether a step went wrong, from its numbers and those before it alone
 *
 * A step that is not finite has moved nothing; so many of them in a row end the run. A spike is a step whose loss stands over the
 * smoothed one by more than was allowed. Where a run may go back, both take it to its last checkpoint, to go on with other data.
 */
#ifndef LIB_TRAIN_TRAINING_GUARD_H
#define LIB_TRAIN_TRAINING_GUARD_H

#include "lib/train/trainer.h"
#include "lib/train/training_options.h"

enum training_verdict {
	TRAINING_FINE,
	TRAINING_SKIPPED, /* not finite: nothing moved */
	TRAINING_SPIKE,
	TRAINING_GO_BACK,
	TRAINING_GIVE_UP,
};

/* Steps before the smoothed loss says anything. */
#define GUARD_STEPS 20
/* Weight of what came before in the smoothed loss. */
#define GUARD_SMOOTHING 0.95

/* Of the step that gave R. S is brought up to date: skipped steps, the smoothed loss. S->step is the step's number. */
enum training_verdict training_judge(const struct training_options *o,
				     const struct trainer_result *r, struct run_state *s);

#endif
