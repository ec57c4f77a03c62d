/*
 * lib/train/trainer.h - steps of training: the graph of a micro-batch, the graph of the update, and what is kept between
 *
 * A step is some micro-batches and one update. Each micro-batch adds to the store's sums the gradient of
 *
 *	sum over its targets of loss / targets of the whole step
 *
 * so that unlike micro-batches weigh as their targets do (cases D01). The update scales by the clip, skips what is not finite, and moves
 * parameters and state; it is a plan of its own, whose scalars (rate, corrections, clip) are inputs. What a step does depends on
 * (seed, step), its data and the state alone.
 */
#ifndef LIB_TRAIN_TRAINER_H
#define LIB_TRAIN_TRAINER_H

#include "lib/graph/plan.h"
#include "lib/graph/store.h"
#include "lib/model/lm.h"

enum trainer_optimizer {
	TRAINER_ADAMW,
	TRAINER_LION,
	TRAINER_MUON, /* hidden matrices; embeddings, head, norms and biases by adamw */
	TRAINER_SGD,
	TRAINER_ADAMW8,
	TRAINER_OPTIMIZER_COUNT
};
const char *trainer_optimizer_name(enum trainer_optimizer o);

struct trainer_options {
	const struct backend *backend;
	struct team *team;
	enum dtype compute; /* F32 or BF16: copies of the masters and activations */
	enum trainer_optimizer optimizer;
	double beta1, beta2, eps, weight_decay; /* decay: of matrices alone */
	double momentum;			/* sgd, muon */
	double clip;				/* of the global norm; 0: none */
	double smoothing, z_loss, dropout;
	double ema;	 /* of the parameters; 0: none */
	bool stochastic; /* parameters that are bf16 or f16 are rounded stochastically */
	uint64_t seed;
	size_t tokens;		 /* rows of a micro-batch */
	uint64_t memory;	 /* bytes at most; 0: no limit */
	size_t recompute_blocks; /* SIZE_MAX: all; 0: none */
	unsigned without;	 /* passes of the plans */
};

struct trainer;

/* C and S outlive it; S holds every parameter. Refuses before allocating what does not fit. */
int trainer_new(struct trainer **out, const struct hf_config *c, struct store *s,
		const struct trainer_options *o);
void trainer_free(struct trainer *t); /* NULL is allowed */

/* Rows of a micro-batch, filled by the caller: TOKENS of each. A target below 0 has no loss. */
struct trainer_batch {
	int32_t *ids, *targets, *positions, *documents;
};
struct trainer_batch trainer_batch(struct trainer *t);

/* --- a step --- */

struct trainer_result {
	double loss;	  /* the mean over the step's targets */
	uint64_t targets; /* 0: the step did nothing (cases D03) */
	double grad_norm; /* before the clip */
	bool skipped;	  /* something was not finite: nothing moved */
};

/* Step STEP, which has TARGETS in all of its micro-batches. */
int trainer_begin(struct trainer *t, uint64_t step, uint64_t targets);
int trainer_micro(struct trainer *t); /* what trainer_batch was filled with */
int trainer_end(struct trainer *t, double rate, struct trainer_result *out);

/* The mean loss of a batch without training, and the sum of its losses over its targets. */
int trainer_evaluate(struct trainer *t, double *sum, uint64_t *targets);

/* --- for people and for checkpoints --- */

uint64_t trainer_bytes(const struct trainer *t, enum plan_memory kind);
int trainer_print_memory(const struct trainer *t, struct buffer *out);
/* Of the last step, by parameter in the store's order: |gradient|, |update| / |parameter|. Computed when asked for before the step. */
void trainer_watch(struct trainer *t, bool on);
struct trainer_watched {
	const char *name;
	double grad_norm, update_ratio;
};
size_t trainer_n_watched(const struct trainer *t);
struct trainer_watched trainer_watched(const struct trainer *t, size_t i);
/* Optimizer entries of the store, to be saved beside the parameters: STORE_STATE. Their names begin with the parameter's. */
struct plan *trainer_plan(struct trainer *t); /* of the micro-batch, for --op-stats */

#endif
