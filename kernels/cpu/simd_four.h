/*
 * kernels/cpu/simd_four.h - exponentials of four vectors, a step of all after a step of all
 *
 * One vector alone waits for itself, and what the processor looks ahead holds few. The arithmetic, and so each bit, is that of
 * kernels/cpu/simd_math.h.
 */
#ifndef KERNELS_CPU_SIMD_FOUR_H
#define KERNELS_CPU_SIMD_FOUR_H

#include "kernels/cpu/simd_math.h"

/* ELEMENT is written with j. */
#define SIMD_FOUR(element)       \
 do {                            \
  SIMD_UNROLL                    \
  for (size_t j = 0; j < 4; j++) \
   element;                      \
 } while (0)

/* X = p of simd_exp_parts with FACTOR for each. */
SIMD_INLINE void simd_exp_products_four(vf32 x[4], const vf32 factor[4], vf32 power[4])
{
	const vf32 magic = simd_f32(SIMD_EXP_MAGIC);
	vf32 f[4];

	SIMD_FOUR(power[j] = simd_fma(x[j], factor[j], magic));
	SIMD_FOUR(f[j] = simd_fma(x[j], factor[j], -(power[j] - magic)));
	SIMD_FOUR(x[j] = simd_fma(simd_f32(SIMD_EXP_C5), f[j], simd_f32(SIMD_EXP_C4)));
	SIMD_FOUR(x[j] = simd_fma(x[j], f[j], simd_f32(SIMD_EXP_C3)));
	SIMD_FOUR(x[j] = simd_fma(x[j], f[j], simd_f32(SIMD_EXP_C2)));
	SIMD_FOUR(x[j] = simd_fma(x[j], f[j], simd_f32(SIMD_EXP_C1)));
	SIMD_FOUR(x[j] = simd_fma(x[j], f[j], simd_f32(1.0f)));
	SIMD_FOUR(power[j] = (vf32)((vi32)power[j] << 23));
}

SIMD_INLINE void simd_exp_parts_four(vf32 x[4], vf32 factor, vf32 power[4])
{
	const vf32 factors[4] = { factor, factor, factor, factor };

	simd_exp_products_four(x, factors, power);
}

/* X = simd_exp_quick(X) */
SIMD_INLINE void simd_exp_quick_four(vf32 x[4])
{
	vf32 power[4];

	SIMD_FOUR(x[j] = simd_max(simd_f32(-88.0f), x[j]));
	simd_exp_parts_four(x, simd_f32(SIMD_LOG2_E), power);
	SIMD_FOUR(x[j] = x[j] * power[j]);
}

/* OUT = simd_one_plus_exp(X) */
SIMD_INLINE void simd_one_plus_exp_four(const vf32 x[4], vf32 out[4])
{
	vf32 power[4];

	SIMD_FOUR(out[j] = simd_max(simd_f32(-89.0f), simd_min(simd_f32(88.0f), x[j])));
	simd_exp_parts_four(out, simd_f32(-SIMD_LOG2_E), power);
	SIMD_FOUR(out[j] = simd_fma(out[j], power[j], simd_f32(1.0f)));
}

/* X = simd_sigmoid(X), simd_silu(X), simd_gelu_tanh(X) */
SIMD_INLINE void simd_sigmoid_four(vf32 x[4])
{
	simd_one_plus_exp_four(x, x);
	SIMD_FOUR(x[j] = simd_f32(1.0f) / x[j]);
}

SIMD_INLINE void simd_silu_four(vf32 x[4])
{
	vf32 below[4];

	simd_one_plus_exp_four(x, below);
	SIMD_FOUR(x[j] = x[j] / below[j]);
}

SIMD_INLINE void simd_gelu_tanh_four(vf32 x[4])
{
	vf32 below[4];

	SIMD_FOUR(below[j] = simd_gelu_inner(x[j]));
	simd_one_plus_exp_four(below, below);
	SIMD_FOUR(x[j] = x[j] / below[j]);
}

/* OUT = simd_normal(X, BELL) */
SIMD_INLINE void simd_normal_four(const vf32 x[4], vf32 bell[4], vf32 out[4])
{
	vf32 t[4], even[4], odd[4];

	SIMD_FOUR(out[j] = simd_min(simd_f32(13.25f), simd_abs(x[j])));
	SIMD_FOUR(t[j] = simd_f32(1.0f) / simd_fma(simd_f32(0.35f), out[j], simd_f32(1.0f)));
	SIMD_FOUR(bell[j] = simd_f32(-0.5f * SIMD_LOG2_E) * out[j]);
	simd_exp_products_four(out, bell, even);
	SIMD_FOUR(bell[j] = out[j] * even[j]);
	SIMD_FOUR(out[j] = t[j] * t[j]);
	SIMD_FOUR(even[j] = simd_fma(simd_f32(-0.02912067509f), out[j], simd_f32(-0.2554502492f)));
	SIMD_FOUR(odd[j] = simd_fma(simd_f32(0.1438464909f), out[j], simd_f32(0.1588658082f)));
	SIMD_FOUR(even[j] = simd_fma(even[j], out[j], simd_f32(-0.02289232093f)));
	SIMD_FOUR(odd[j] = simd_fma(odd[j], out[j], simd_f32(0.1054134318f)));
	SIMD_FOUR(even[j] = simd_fma(even[j], out[j], simd_f32(0.1198575297f)));
	SIMD_FOUR(odd[j] = simd_fma(odd[j], out[j], simd_f32(0.1398583557f)));
	SIMD_FOUR(even[j] = simd_fma(even[j], out[j], simd_f32(0.1396216131f)));
	SIMD_FOUR(even[j] = simd_fma(odd[j], t[j], even[j]) * t[j] * bell[j]);
	SIMD_FOUR(out[j] = simd_select((vi32)x[j] >> 31, simd_f32(1.0f) - even[j], even[j]));
}

/* X = simd_gelu(X) */
SIMD_INLINE void simd_gelu_four(vf32 x[4])
{
	vf32 bell[4], normal[4];

	simd_normal_four(x, bell, normal);
	SIMD_FOUR(x[j] = x[j] * normal[j]);
}

#endif
