/*
 * lib/train/training_options.h - what a run of training is asked for
 *
 * Every option has a name, which is train-lm's, the key in run.json's settings, and what --allow takes. An option that was not given is unset:
 * TRAINING_UNSET, NaN, -1 or NULL by its kind. So the options that a person gave are told from those that a run has (on resume) and from
 * defaults, which come last.
 */
#ifndef LIB_TRAIN_TRAINING_OPTIONS_H
#define LIB_TRAIN_TRAINING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/train/run_folder.h"

#define TRAINING_UNSET UINT64_MAX

enum training_documents { TRAINING_APART, TRAINING_JOINED };
enum training_objective { TRAINING_NEXT, TRAINING_MASKED };
enum training_dtype { TRAINING_F32, TRAINING_BF16 };
enum training_rounding { TRAINING_STOCHASTIC, TRAINING_NEAREST };
enum training_recompute { TRAINING_AUTO, TRAINING_NONE, TRAINING_ALL };
enum training_switch { TRAINING_OFF, TRAINING_ON };

struct training_options {
	/* What is read. */
	const char *model, *data, *val;
	uint64_t ctx, batch,
		micro_batch; /* rows of a window; windows of a step, of a micro-batch */
	int fit;	     /* of packed files: cut, best, one */
	int documents, objective;
	double mask; /* share of masked rows */
	uint64_t mask_id;
	uint64_t shuffle; /* rows of a stream that are shuffled together */
	/* How long, at which rate. */
	uint64_t steps, warmup, decay;
	int schedule;
	double lr, min_lr;
	/* How a step moves the parameters. */
	int optimizer;
	double beta1, beta2, eps, weight_decay, momentum, clip, ema;
	double label_smoothing, z_loss, dropout;
	int dtype, weights, rounding;
	uint64_t seed;
	/* What a run does when it goes wrong. */
	uint64_t max_skipped, rollback;
	double spike;
	/* What is written, and when. */
	uint64_t val_every, val_tokens, watch;
	const char *sample;
	uint64_t sample_tokens;
	double temperature;
	uint64_t checkpoint_every, keep;
	int checkpoint_async;
	uint64_t memory;
	int recompute;
	/* Other ways to say some of the above; no settings. */
	uint64_t batch_tokens, tokens, warmup_tokens;
	double epochs;
};

void training_options_unset(struct training_options *o);

/* Words of the options that take one; they end with NULL. */
extern const char *const training_fit_words[],
	*const training_documents_words[],
		*const training_objective_words[],
			*const training_schedule_words[],
				*const training_optimizer_words[],
					*const training_dtype_words[],
						*const training_rounding_words[],
							*const training_recompute_words[],
								*const training_switch_words[];

/* The options that are set, spelled; in ARENA, in the order of the struct. */
int training_settings(const struct training_options *o, struct arena *arena,
		      const struct run_setting **out, size_t *n);
/*
 * Fills what is unset in O from S. What points to text points into S. -1: a setting that is not known here, a value that is none.
 */
int training_take_settings(struct training_options *o, const struct run_setting *s, size_t n);
/*
 * Whether what is set in GIVEN may go on a run with the settings S: it must be equal but for what cannot change the result (`keep` and
 * the like) and for the names in ALLOW. -1 with the option's name in the error.
 */
int training_check_settings(const struct training_options *given, const struct run_setting *s,
			    size_t n, const char *const *allow, size_t n_allow);
/* Whether NAME is that of a setting or an identity: what --allow may name. */
bool training_is_name(const char *name);

/* Fills what is unset and does not depend on the model, the data or other options that have to be known first. */
void training_defaults(struct training_options *o);
/* Ranges and what does not go together. Everything must be set. */
int training_options_check(const struct training_options *o);

#endif
