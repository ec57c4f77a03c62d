/*
 * lib/eval/tensor_summary.h - what the values of a tensor are like
 */
#ifndef LIB_EVAL_TENSOR_SUMMARY_H
#define LIB_EVAL_TENSOR_SUMMARY_H

#include "formats/tensor_info.h"
#include "lib/base/progress.h"
#include "lib/base/team.h"

struct tensor_summary {
	uint64_t n, zeros, nans, infinities;
	double min, max;  /* of all but NaN; NaN when there is nothing else */
	double mean, rms; /* of the finite values; NaN when there is none */
};

/*
 * One pass over the data, in chunks by position, so that the result does not depend on the team.
 * ERR_UNSUPPORTED names a type whose values are not decoded. P (may be NULL) counts bytes.
 */
int tensor_summarise(struct team *team, const struct tensor_info *t, struct tensor_summary *out,
		     struct progress *p);

#endif
