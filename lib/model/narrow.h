/*
 * lib/model/narrow.h - f32 values in the type that they are stored in, and what was lost
 */
#ifndef LIB_MODEL_NARROW_H
#define LIB_MODEL_NARROW_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "lib/base/bytes.h"

struct narrow {
	bool clamp; /* finite values past the range become its ends; else they are refused */
	uint64_t clamped, rounded; /* values */
};

/* N values to OUT, as f32, f16 or bf16. TENSOR names them in the error. VALUES are changed where they are clamped. */
int narrow_values(struct narrow *n, enum dtype t, float *values, uint64_t count, void *out,
		  struct bytes tensor);

#endif
