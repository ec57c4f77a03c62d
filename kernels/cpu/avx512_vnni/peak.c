/* kernels/cpu/avx512_vnni/peak.c - the peak of vpdpbusd of 64 bytes: fours of 8-bit integers, the first of each product without a sign */

#include <stdint.h>

#include "kernels/cpu/intrinsics.h"

#define unit_lane     uint32_t
#define UNIT_BYTES    64
#define UNIT_PRODUCTS 64

#include "kernels/cpu/peak_unit.h"

static inline unit_vector unit_dot(unit_vector sum, unit_vector a, unit_vector b)
{
	return (unit_vector)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
