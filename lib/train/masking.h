/*
 * lib/train/masking.h - the masked-language-model objective (Devlin et al. 2018, section 3.1): 80 / 10 / 10
 *
 * Of the rows of a batch a share is chosen; a chosen row's target is its own id, every other row has none. 80 of 100 chosen rows show the
 * mask token, 10 any token of the vocabulary, 10 themselves. Special tokens are never chosen. Draws are keyed by (seed, step, place of the
 * row in the step): Philox.
 */
#ifndef LIB_TRAIN_MASKING_H
#define LIB_TRAIN_MASKING_H

#include "lib/train/trainer.h"

struct masking {
	double share; /* 0.15 */
	int32_t mask; /* the mask token */
	uint32_t vocabulary;
	const uint32_t *special; /* sorted ids that are never chosen, nor drawn */
	size_t n_special;
	uint64_t seed;
};

/*
 * Rewrites N rows of B's ids and targets, which stand at row FIRST of step STEP; a row below id 0 is padding and is not chosen. Returns how many targets
 * there are.
 */
uint64_t masking_apply(const struct masking *m, const struct trainer_batch *b, size_t n,
		       uint64_t step, uint64_t first);
/* How many targets masking_apply would leave, without changing anything: a step's count is known before its first micro-batch. */
uint64_t masking_count(const struct masking *m, const int32_t *ids, size_t n, uint64_t step,
		       uint64_t first);

#endif
