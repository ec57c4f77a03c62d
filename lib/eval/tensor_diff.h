/*
 * lib/eval/tensor_diff.h - how far two tensors of one shape lie apart
 */
#ifndef LIB_EVAL_TENSOR_DIFF_H
#define LIB_EVAL_TENSOR_DIFF_H

#include "formats/tensor_info.h"
#include "kernels/tensor_compare.h"
#include "lib/base/progress.h"
#include "lib/base/team.h"

struct tensor_diff {
	/* Values are not decoded: n, n_differ and first_differ count bytes, the rest is not known. */
	bool bytes_only;
	struct tensor_compare values;
};

/*
 * One pass over both, in chunks by position, so that the result does not depend on the team. The
 * types may differ. ERR_MISMATCH when the number of elements does; ERR_UNSUPPORTED when the types differ
 * and one is not decoded. P (may be NULL) counts the bytes of both.
 */
int tensor_diff(struct team *team, const struct tensor_info *a, const struct tensor_info *b,
		struct tensor_tolerance tolerance, struct tensor_diff *out, struct progress *p);

#endif
