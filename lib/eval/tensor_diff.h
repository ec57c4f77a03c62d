/*
 * lib/eval/tensor_diff.h - how far two tensors of one shape lie apart
 */
#ifndef LIB_EVAL_TENSOR_DIFF_H
#define LIB_EVAL_TENSOR_DIFF_H

#include "formats/tensor_info.h"
#include "lib/base/progress.h"
#include "lib/base/team.h"

struct tensor_diff {
	bool bytes_only; /* values are not decoded: n_different counts bytes, the rest is not known */
	uint64_t n;
	uint64_t n_different;	 /* |a - b| > atol + rtol |b|, or one NaN, or unlike infinities */
	uint64_t first;		 /* index of the first of them */
	double max_abs, max_rel; /* over pairs of finite values; relative to |b| */
	uint64_t at_abs;	 /* where max_abs is */
	double cosine;		 /* of the finite pairs; NaN when a side is all zero */
	uint64_t n_nan;		 /* pairs of which exactly one is NaN */
};

/*
 * One pass over both, in chunks by position, so that the result does not depend on the team. The
 * types may differ. ERR_MISMATCH when the number of elements does; ERR_UNSUPPORTED when the types differ and
 * one is not decoded. P (may be NULL) counts the bytes of both.
 */
int tensor_diff(struct team *team, const struct tensor_info *a, const struct tensor_info *b,
		double atol, double rtol, struct tensor_diff *out, struct progress *p);

#endif
