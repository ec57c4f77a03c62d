/* kernels/cpu/neon_dotprod/peak.c - the peak of sdot: fours of 8-bit integers */

#include <stdint.h>

#include "kernels/cpu/intrinsics.h"

#define unit_lane     uint32_t
#define UNIT_BYTES    16
#define UNIT_PRODUCTS 16

#include "kernels/cpu/peak_unit.h"

static inline unit_vector unit_dot(unit_vector sum, unit_vector a, unit_vector b)
{
	return (unit_vector)vdotq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)b);
}
