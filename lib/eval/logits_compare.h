/*
 * lib/eval/logits_compare.h - how far two models' logits of the same tokens lie apart
 *
 * Of each position: differences of logits, and of the distributions that they stand for, P of the first and Q of the second, with the sums in
 * double: KL(P || Q) = sum of p ln(p / q), where p = 0 adds nothing and q = 0 < p is infinite (Kullback and Leibler 1951), and the total
 * variation, half the sum of |p - q|. Equal infinities differ by 0. Logits with a NaN or a
 * positive infinity, or none that is finite, stand for no distribution: such a position is counted, and has no other figures.
 */
#ifndef LIB_EVAL_LOGITS_COMPARE_H
#define LIB_EVAL_LOGITS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/team.h"

#define LOGITS_TOP_MOST 100

struct logits_position {
	double max_abs, mean_abs; /* of the differences of logits */
	double largest;		  /* |logit| of the first model */
	double kl, variation;
	double loss_a, loss_b; /* of the token that follows; NaN where none does */
	uint32_t top_a, top_b; /* the largest logit: of equal ones the first */
	uint32_t overlap;      /* of the TOP largest of both */
	bool nan_a, nan_b;     /* no distribution */
};

/*
 * Rows of N positions, f32 [n, vocab] each. NEXT: the token after each, or -1. TOP: 1 to LOGITS_TOP_MOST, at most VOCAB.
 * Each position is computed by one thread, so that the team does not matter.
 */
void logits_compare(struct team *team, const float *a, const float *b, size_t n, size_t vocab,
		    const int64_t *next, uint32_t top, struct logits_position *out);

/* Of many positions; figures are NaN where there are none without NaN. */
struct logits_summary {
	uint64_t positions, nan;			 /* and how many of them have one */
	uint64_t first_nan;				 /* UINT64_MAX: none */
	uint64_t max_at;				 /* where max_abs is */
	double max_abs, mean_abs, largest, max_relative; /* max_abs by the largest logit of all */
	double kl, kl_max, kl_median, kl_90, kl_99, kl_999;
	uint64_t kl_max_at;
	double variation, variation_max;
	double top1, overlap; /* shares */
	uint64_t scored;
	double loss_a, loss_b; /* means; perplexity is e to them */
};

/* -1: no memory. */
int logits_summarize(const struct logits_position *p, size_t n, uint32_t top,
		     struct logits_summary *out);

#endif
