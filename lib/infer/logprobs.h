/*
 * lib/infer/logprobs.h - natural logarithms of the probabilities that logits stand for
 */
#ifndef LIB_INFER_LOGPROBS_H
#define LIB_INFER_LOGPROBS_H

#include <stddef.h>
#include <stdint.h>

struct logprob {
	int32_t id;
	double value;
};

/*
 * TOP: the K most probable of N tokens, the most probable first, of equal ones the lower id first; K at most N. OWN: that of ID.
 * LOGITS hold no NaN, and one is finite at least.
 */
void logprobs(const float *logits, size_t n, size_t k, struct logprob *top, int32_t id,
	      double *own);

#endif
