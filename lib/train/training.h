/*
 * lib/train/training.h - a run of training: what train-lm does, without its command line
 *
 * A run has a folder (lib/train/run_folder.h), a model, tokens, and options. training_open finds out where it stands: it begins, goes on
 * from `last`, or is done. Then training_next does one step with all that belongs to it, in this order: the step, evaluation, sample, the
 * log's line, the checkpoint, the links. What a step does depends on the options, the tokens and the step alone, so that a run that was
 * killed and went on leaves the same bits as one that was not.
 */
#ifndef LIB_TRAIN_TRAINING_H
#define LIB_TRAIN_TRAINING_H

#include "lib/text/tokenizer.h"
#include "lib/train/trainer.h"
#include "lib/train/training_model.h"
#include "lib/train/training_options.h"
#include "lib/train/training_report.h"

/* What a run tells, and asks, meanwhile. All may be NULL. */
struct training_hooks {
	void *to;
	void (*note)(void *to, const char *text); /* a remark */
	void (*warn)(void *to, const char *text); /* what a person must know */
	/* Whether to end with a checkpoint as soon as may be; asked before each micro-batch. */
	bool (*stop)(void *to);
	bool (*checkpoint)(void *to); /* whether to write one after this step, asked once a step */
	/* Whether the process stood still since this was last asked: what was measured meanwhile says nothing. */
	bool (*stood)(void *to);
	/* At each evaluation, or where it would be without --val: appends a text that the model writes; empty is none. */
	int (*sample)(void *to, struct buffer *text);
	int (*log)(void *to, struct bytes line); /* each line of the log, without its end */
};

struct training_setup {
	struct training_options given;
	const char *folder; /* NULL: nothing is written (a dry run) */
	bool resume;
	const char *const *allow; /* names of settings and identities that may differ */
	size_t n_allow;
	const struct backend *backend;
	struct team *team;
	unsigned without;    /* passes of the plans */
	const char *version; /* of the program: a setting */
	/*
	 * Operations a second of the machine, as measured, in f32 and in bf16; 0: not known, or as f32. A machine that was busy meanwhile
	 * seems slower than it is: a step that does more is told once, and from there on what it did is the peak.
	 */
	double peak, peak_half;
	struct training_hooks hooks;
};

struct training;

/* What S points to must outlive it. -1 with the error set, and the folder as it was. */
int training_open(struct training **out, const struct training_setup *s);
void training_close(struct training *t); /* NULL is allowed */

/* RUN_NEW, RUN_RESUME or RUN_DONE; then there is nothing to do, and only this and training_close may be called. */
enum run_found training_found(const struct training *t);
const struct training_options *training_options(const struct training *t); /* all are set */
uint64_t training_step_number(const struct training *t);		   /* done so far */

enum training_event {
	TRAINING_STEPPED,
	TRAINING_ENDED,	  /* all steps are done, and `done` is there */
	TRAINING_STOPPED, /* the hook asked for it; the checkpoint is written */
};
/* 0 and what came of it; -1 with the error set: the newest checkpoint is whole. */
int training_next(struct training *t, enum training_event *event);

/* Of the last step: the progress line's numbers. */
const struct training_report *training_last(const struct training *t);
struct trainer *training_trainer(struct training *t);
/* For who writes samples: the model as it is now, and its tokenizer, or NULL. */
const struct training_model *training_model(const struct training *t);
const struct tokenizer *training_tokenizer(const struct training *t);

/* What a run would do, for people: parameters, steps, tokens, the schedule, memory. */
int training_describe(struct training *t, struct buffer *out);

#endif
