/* lib/train/training_parts.h - what the files of a run share; users include training.h */
#ifndef LIB_TRAIN_TRAINING_PARTS_H
#define LIB_TRAIN_TRAINING_PARTS_H

#include "lib/text/tokenizer.h"
#include "lib/train/feed.h"
#include "lib/train/masking.h"
#include "lib/train/schedule.h"
#include "lib/train/training.h"
#include "lib/train/training_guard.h"
#include "lib/train/training_model.h"

enum {
	IDENTITY_TOKENS,
	IDENTITY_TOKENIZER,
	IDENTITY_MODEL,
	IDENTITY_VALIDATION,
	IDENTITY_LEVEL,
	IDENTITY_KERNELS,
	IDENTITY_COUNT
};

struct training {
	const struct training_setup *setup;
	struct training_options o;
	struct arena *arena;
	struct run_folder *folder; /* NULL: a dry run */
	enum run_found found;
	struct training_model model;
	struct tokenizer *tokenizer; /* NULL: the model has none */
	struct feed *feed, *val;     /* VAL may be NULL */
	struct masking masking;	     /* of the masked objective */
	struct trainer *trainer;
	struct schedule schedule;
	struct run_setting identities[IDENTITY_COUNT];
	size_t n_identities;
	const struct run_setting *settings; /* as checkpoints are to have them */
	size_t n_settings;
	struct run_state state;
	struct training_report report;
	struct training_writer *writer; /* NULL: none was needed yet */
	struct buffer pending;		/* whole lines of the log that are not written yet */
	bool log_waits;			/* the disk is full, and it was said */
	uint64_t retry;	     /* the step that tries a failed checkpoint again; 0: none failed */
	double operations;   /* of a row, forward and backward */
	uint64_t start_ns;   /* of the first step here */
	uint64_t step_ns;    /* of this one */
	uint64_t start_step; /* before it */
	double mean_step_seconds; /* 0: none yet */
	double peak;		  /* operations a second; 0: not known */
	double worked_seconds; /* with evaluations and checkpoints, without what the process stood still */
	bool stood;	       /* in this step, or what belongs to it */
	double val_loss; /* the newest; NaN: none */
	bool warned_empty, warned_peak;
};

/* --- training_data.c --- */

/* What depends on the tokens and the model: window, fit, batch; then the feeds are opened, and what depends on them is settled. */
int training_open_data(struct training *t);
size_t training_rows(const struct training *t); /* of a micro-batch */
bool training_is_stream(const struct training *t);

/* --- training_tokenizer.c --- */

/* That of the model, if it has one; it must be the tokens'. */
int training_open_tokenizer(struct training *t);
int training_open_masking(struct training *t);

/* --- training_trainer.c --- */

/* The micro-batch, where it is not given: before the feeds. */
int training_settle_micro_batch(struct training *t);
/* Within the memory that there is; as many blocks are computed again as it takes. */
int training_open_trainer(struct training *t);

/* Of the copy that is written beside training; 0: there is none. */
uint64_t training_copy_bytes(const struct training *t);

/* --- training_identity.c --- */

/* What the run must find again, in T's list. The model's is taken from the run where no model is given. */
int training_identify(struct training *t);
/* Against those of the checkpoint that is gone on from. */
int training_check_identities(const struct training *t);

/* --- training_steps.c --- */

/* 1: done; 0: a stop was asked for before its end, and nothing moved; -1. */
int training_do_step(struct training *t, uint64_t step, struct trainer_result *r);
int training_evaluate(struct training *t, double *loss);
bool training_stop_asked(const struct training *t);

/* --- training_log.c --- */

/* Lines that cannot be written for want of room are kept, and go with the next one. */
int training_log_step(struct training *t);
/* What was watched in this step, as an event. */
int training_log_watched(struct training *t);
/* Tries what waits. */
int training_log_flush(struct training *t);
/* A line `{"event":"NAME","step":N` and what FORMAT adds, which begins with a comma. */
int training_log_event(struct training *t, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void training_warn(const struct training *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void training_note(const struct training *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* --- training_checkpoint.c --- */

/* BEST: the step is the best so far. A full disk is told and tried again later, unless the run ENDS here. */
int training_checkpoint(struct training *t, bool best, bool ends);
/* One that is being written beside training: whether there is, its end, its end if it has come. */
bool training_is_writing(const struct training *t);
int training_end_writing(struct training *t);
int training_poll_writing(struct training *t);
void training_drop_writer(struct training *t);
int training_restore(struct training *t); /* what the optimizer keeps, from `last` */
/* To the last checkpoint, with other data from there on. */
int training_go_back(struct training *t);

#endif
