/* kernels/cpu/neon_bf16/peak.c - the peak of bfdot: pairs of bf16 */

#include <stdint.h>

#include "kernels/cpu/intrinsics.h"

#define unit_lane     float
#define UNIT_BYTES    16
#define UNIT_PRODUCTS 8

#include "kernels/cpu/peak_unit.h"

static inline unit_vector unit_dot(unit_vector sum, unit_vector a, unit_vector b)
{
	return (unit_vector)vbfdotq_f32((float32x4_t)sum, (bfloat16x8_t)a, (bfloat16x8_t)b);
}
