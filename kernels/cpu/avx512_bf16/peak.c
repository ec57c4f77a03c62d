/* kernels/cpu/avx512_bf16/peak.c - the peak of vdpbf16ps: pairs of bf16 */

#include <stdint.h>

#include "kernels/cpu/intrinsics.h"

#define unit_lane     float
#define UNIT_BYTES    64
#define UNIT_PRODUCTS 32

#include "kernels/cpu/peak_unit.h"

static inline unit_vector unit_dot(unit_vector sum, unit_vector a, unit_vector b)
{
	return (unit_vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}
