/* lib/model/narrow.c - f32 values in the type that they are stored in */

#include "lib/model/narrow.h"

#include <math.h>

#include "lib/base/err.h"

#define PART 512

/* The largest finite value. */
static float largest(enum dtype t)
{
	return t == DTYPE_F16 ? f16_to_f32(0x7BFF) : bf16_to_f32(0x7F7F);
}

/* What became infinite of a finite value. */
static int mend(struct narrow *n, enum dtype t, float *value, struct bytes tensor)
{
	if (!n->clamp)
		return err_set(
			ERR_ARGUMENT,
			"tensor " BYTES_FMT
			": %g is past the range of %s, which ends at %g; --clamp writes that",
			BYTES_ARG(tensor), (double)*value, dtype_name(t), (double)largest(t));
	*value = copysignf(largest(t), *value);
	n->clamped++;
	return 0;
}

int narrow_values(struct narrow *n, enum dtype t, float *values, uint64_t count, void *out,
		  struct bytes tensor)
{
	size_t size = dtype_info(t)->bytes;
	float back[PART];

	for (uint64_t at = 0; at < count; at += PART) {
		size_t some = count - at < PART ? (size_t)(count - at) : PART;
		char *to = (char *)out + at * size;
		bool again = false;

		dtype_from_f32(t, values + at, to, some);
		if (t == DTYPE_F32)
			continue;
		dtype_to_f32(t, to, back, some);
		for (size_t i = 0; i < some; i++) {
			float v = values[at + i];

			n->rounded += back[i] != v && v == v;
			if (!isinf(back[i]) || isinf(v))
				continue;
			if (mend(n, t, &values[at + i], tensor) < 0)
				return -1;
			again = true;
		}
		if (again)
			dtype_from_f32(t, values + at, to, some);
	}
	return 0;
}
