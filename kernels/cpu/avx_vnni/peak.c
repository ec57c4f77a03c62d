/* kernels/cpu/avx_vnni/peak.c - the peak of vpdpbusd of 32 bytes: fours of 8-bit integers, the first of each product without a sign */

#include <stdint.h>

#include "kernels/cpu/intrinsics.h"

#define unit_lane     uint32_t
#define UNIT_BYTES    32
#define UNIT_PRODUCTS 32

#include "kernels/cpu/peak_unit.h"

static inline unit_vector unit_dot(unit_vector sum, unit_vector a, unit_vector b)
{
	return (unit_vector)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}
