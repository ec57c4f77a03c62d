/*
 * lib/train/trainer.h - steps of training: the graph of a micro-batch, the graph of the update, and what is kept between
 *
 * A step is some micro-batches and one update. Each micro-batch adds to the store's sums the gradient of
 *
 *	sum over its targets of loss / targets of the whole step
 *
 * so that unlike micro-batches weigh as their targets do (cases D01). A small plan then squares the sums, and the host decides between it
 * and the update: the norm must be known to it in any case, and what is skipped is not begun. The update is a plan of its own,
 * whose scalars (rate, corrections, clip) are inputs. What a step does depends on (seed, step), its data and the state alone:
 * AdamW's corrections are of the step's number, skipped ones counted; the draws of a step's later micro-batches are keyed by their number.
 *
 * Muon (Jordan et al. 2024): m = momentum m + (1 - momentum) g; u = momentum m + (1 - momentum) g; five steps of Newton and Schulz's iteration
 * with (3.4445, -4.7750, 2.0315) make u orthogonal; p -= rate (0.2 sqrt(max(rows, columns)) u + decay p). With that scale (Liu et al. 2025) an
 * element moves as under AdamW, so that one rate serves both.
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
	bool stochastic; /* parameters that are bf16 are rounded stochastically (f16: refused) */
	uint64_t seed;
	size_t tokens;		 /* rows of a micro-batch */
	uint64_t memory;	 /* bytes at most; 0: no limit */
	size_t recompute_blocks; /* SIZE_MAX: all; 0: none */
	unsigned without;	 /* passes of the plans */
};

struct trainer;

/*
 * C and S outlive it; S holds every parameter. Nothing is allocated before the first step or evaluation, so that S may be one that is only
 * declared; what does not fit is refused with what would.
 */
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
	double loss;	  /* the mean over the step's targets, with smoothing and z-loss */
	uint64_t targets; /* 0: the step did nothing, and there is no loss: NaN (cases D03) */
	double grad_norm; /* before the clip */
	bool skipped;	  /* something was not finite: nothing moved */
};

/* Step STEP, which has TARGETS in all of its micro-batches; trainer_end fails where there were others. */
int trainer_begin(struct trainer *t, uint64_t step, uint64_t targets);
/* What trainer_batch was filled with. -1: an id or a target that the vocabulary does not have. */
int trainer_micro(struct trainer *t);
int trainer_end(struct trainer *t, double rate, struct trainer_result *out);

/* Of trainer_batch, without training, smoothing or z-loss: the sum of the losses and how many targets it is of. */
int trainer_evaluate(struct trainer *t, double *sum, uint64_t *targets);

/* --- for people and for checkpoints --- */

uint64_t trainer_bytes(const struct trainer *t, enum plan_memory kind);
uint64_t trainer_bytes_total(const struct trainer *t);
int trainer_print_memory(const struct trainer *t, struct buffer *out);
/*
 * Of the last step, by parameter in the store's order: |gradient|, |update| / |parameter| (NaN where the parameter was 0). Computed when
 * asked for before the step's end, and then no bit of the step differs; none of a step that was skipped.
 */
void trainer_watch(struct trainer *t, bool on);
struct trainer_watched {
	const char *name;
	double grad_norm, update_ratio;
};
size_t trainer_n_watched(const struct trainer *t);
struct trainer_watched trainer_watched(const struct trainer *t, size_t i);

/*
 * Optimizer entries of the store, to be saved beside the parameters, are STORE_STATE. Their names begin with the parameter's: `.first`,
 * `.second` (adamw, adamw8, there with `.first_scale`, `.second_scale`), `.momentum` (lion, muon, sgd), `.ema`. Averages begin as
 * the parameters are at the first step, unless they were allocated (restored) before.
 */
struct plan *trainer_plan(struct trainer *t);	     /* of the micro-batch, for --op-stats */
struct plan *trainer_update_plan(struct trainer *t); /* of the update */

#endif
