/*
 * kernels/cpu/quantize_lanes.h - groups of values, one in each lane
 *
 * A lane does what ref does for its group, sum by sum, so its results have ref's bits. Values lie as [place in the group][lane]; where
 * there are fewer groups than lanes the last one is in several.
 */
#ifndef KERNELS_CPU_QUANTIZE_LANES_H
#define KERNELS_CPU_QUANTIZE_LANES_H

#include "kernels/cpu/quantize_bytes.h"
#include "kernels/cpu/quantize_level.h"
#include "kernels/cpu/simd_math.h"

#define QUANTIZE_LONGEST 32 /* group */

SIMD_INLINE size_t quantize_lanes(size_t groups)
{
	return groups < SIMD_WIDTH ? groups : SIMD_WIDTH;
}

SIMD_INLINE void quantize_spread(const float *x, size_t length, size_t groups, vf32 *out)
{
	float *to = (float *)out;

	for (size_t g = 0; g < SIMD_WIDTH; g++) {
		const float *from = x + (g < groups ? g : groups - 1) * length;

		for (size_t i = 0; i < length; i++)
			to[i * SIMD_WIDTH + g] = from[i];
	}
}

SIMD_INLINE void quantize_put_floats(vf32 x, size_t groups, float *out)
{
	float lanes[SIMD_WIDTH];

	simd_store(lanes, x);
	memcpy(out, lanes, groups * sizeof(*out));
}

/* Integers ADDED to, where KEEP; 0 elsewhere. */
SIMD_INLINE void quantize_put_integers(const vf32 *l, vi32 keep, float added, size_t length,
				       size_t groups, uint8_t *out)
{
	vi32 whole[QUANTIZE_LONGEST];
	const int32_t *from = (const int32_t *)whole;

	for (size_t i = 0; i < length; i++)
		whole[i] = __builtin_convertvector(simd_keep(keep, l[i] + simd_f32(added)), vi32);
	for (size_t g = 0; g < groups; g++)
		for (size_t i = 0; i < length; i++)
			out[g * length + i] = (uint8_t)from[i * SIMD_WIDTH + g];
}

/* As quantize_hold and quantize_round. */
SIMD_INLINE vf32 quantize_nearest(vf32 x, vf32 low, vf32 high)
{
	const vf32 magic = simd_f32(0x1.8p23f);

	return simd_min(simd_max(x, low), high) + magic - magic;
}

/* Of quantize_search; the other files have the rest. */
void LEVEL_NAME(quantize_affine)(const struct quantize_affine *a, const float *x, const float *w,
				 size_t groups, float *scale, float *min, float *sum, uint8_t *l);
void LEVEL_NAME(quantize_table)(const float *x, const float *w, size_t groups, float *scale,
				uint8_t *l);

#endif
