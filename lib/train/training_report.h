/*
 * lib/train/training_report.h - what is told of a step: a line of the log, a line of progress
 *
 * The log's lines are JSON objects (man/man5/nnutils-run.5); what is not the same each time a run is done stands under `perf`.
 */
#ifndef LIB_TRAIN_TRAINING_REPORT_H
#define LIB_TRAIN_TRAINING_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buffer.h"

struct training_report {
	uint64_t step, steps, tokens; /* so far */
	double loss;		      /* NaN: the step had none */
	double smoothed_loss;	      /* NaN: none yet */
	double rate, grad_norm;
	double val_loss; /* the newest; NaN: none */
	bool evaluated;	 /* in this step */
	bool skipped;
	/* Of this process: */
	double tokens_per_second; /* of the step */
	double mean_speed;	  /* of the last steps */
	double peak_share;	  /* of the machine's multiplications; NaN: not known */
	uint64_t memory;	  /* the most so far, as the system counts it */
	double seconds;		  /* since the process began to train */
	double seconds_left;	  /* NaN: not known */
};

/* Appends the log's line, without its end. */
void training_report_log(struct buffer *b, const struct training_report *r);
/* Appends `step 120/4000, loss 4.3210, val 4.5678, 12.3 k tok/s, 47 % of peak, 2 min 10 s left, 310.4 MB`. */
void training_report_progress(struct buffer *b, const struct training_report *r);

#endif
