/*
 * lib/infer/sampler.h - a token from logits
 *
 * First the biases, then the steps in their order, then the draw. The order unless another is given:
 *
 *	penalties, dry, top-n-sigma, top-k, typical, top-p, min-p, temperature
 *
 * Each step sees what those before it left: with the temperature last no cut depends on it. A temperature of 0 is the largest logit
 * after biases, penalties and dry, of equal ones the lowest id, and nothing is cut. The draw is keyed by (seed, sample, place of the
 * token) with Philox, so that a token depends on these, its logits and its history alone, never on what was drawn before or beside it.
 *
 * What has less than e^-50 of the largest share has none: all such tokens together are less than the least that a draw can tell.
 */
#ifndef LIB_INFER_SAMPLER_H
#define LIB_INFER_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buffer.h"

enum sampler_step {
	SAMPLER_PENALTIES,
	SAMPLER_DRY,
	SAMPLER_TOP_N_SIGMA,
	SAMPLER_TOP_K,
	SAMPLER_TYPICAL,
	SAMPLER_TOP_P,
	SAMPLER_MIN_P,
	SAMPLER_TEMPERATURE,
	SAMPLER_STEPS
};

struct logit_bias {
	int32_t id;
	float value; /* added; -INFINITY: never this token */
};

/* A zeroed one with top_p 1 is greedy. Where "0: off" is said, the step does nothing. */
struct sampler_options {
	double temperature; /* 0: greedy */
	size_t top_k;	    /* 0: off */
	double top_p;	    /* in (0, 1]; 1: off: the fewest that have this share together */
	double min_p;	    /* in [0, 1]; 0: off: those with this share of the largest share */
	/* In [0, 1]; 0 and 1: off. The fewest whose information is nearest to the entropy that have this share together (Meister et al. 2022). */
	double typical;
	/* 0: off. Logits at most this many deviations (of all logits) below the largest (Tang et al. 2024). */
	double top_n_sigma;

	/* Tokens at the end of the history that penalties look at; 0: all of them. */
	size_t penalty_last;
	/* Once a token, however often it came: positive logits are divided by it, others multiplied. 0 and 1: off. */
	double repetition_penalty;
	double frequency_penalty; /* taken off for each time that it came */
	double presence_penalty;  /* taken off once */

	/*
	 * DRY. What would make a repetition longer, of L >= dry_allowed tokens at the end of the history that stand there before
	 * as well, loses dry_multiplier * dry_base^(L - dry_allowed). No repetition goes over a breaker. Multiplier 0: off.
	 */
	double dry_multiplier, dry_base; /* base >= 1 */
	size_t dry_allowed;		 /* at least 1 */
	size_t dry_last;		 /* tokens that it looks at; 0: all of them */
	const int32_t *breakers;	 /* copied; ids that the vocabulary lacks do nothing */
	size_t n_breakers;

	const struct logit_bias *bias; /* copied; an id that comes twice: both are added */
	size_t n_bias;

	uint64_t seed, sample;
	enum sampler_step order[SAMPLER_STEPS];
	size_t n_order; /* 0: the order above */
	/* Memory that samplers share which never pick at the same time; NULL: of its own. */
	struct sampler_room *room;
};

struct sampler;
struct sampler_room;

/* -1 with the error set: a value out of its range, a step that comes twice, a bias for an id that is none, no memory. */
int sampler_new(struct sampler **out, const struct sampler_options *o, size_t vocabulary);
void sampler_free(struct sampler *s); /* NULL is allowed */
/* From now on its draws are those of another sample. */
void sampler_set_sample(struct sampler *s, uint64_t sample);

/*
 * The token at PLACE. HISTORY: the tokens before it, oldest first, of which penalties and dry look at the last ones; places need not
 * be their number. LOGITS are not changed. -1 with the error set: a logit is NaN or infinite (its id is told), ERR_MISSING `no
 * legal token` where all are -inf.
 */
int32_t sampler_pick(struct sampler *s, const float *logits, const int32_t *history,
		     size_t n_history, uint64_t place);

int sampler_room_new(struct sampler_room **out);
void sampler_room_free(struct sampler_room *r); /* NULL is allowed; after its samplers */

/* Their names, as in the order above. */
const char *sampler_step_name(enum sampler_step step);
/* Names into O's order; -1 with the error set: a name that is none, or comes twice. */
int sampler_set_order(struct sampler_options *o, const char *const *names, size_t n);
/* Whether STEP, with these options, does anything. */
bool sampler_has(const struct sampler_options *o, enum sampler_step step);
/* What is done, in its order: `top-k 40, top-p 0.9, temperature 0.8`; `greedy`. */
void sampler_describe(const struct sampler_options *o, struct buffer *out);

#endif
