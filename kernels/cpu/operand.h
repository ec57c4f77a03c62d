/*
 * kernels/cpu/operand.h - runs of elements of any dtype as f32, and back
 *
 * The kernels of kernels/cpu compute in f32 and take what lies side by side; these bring it there.
 */
#ifndef KERNELS_CPU_OPERAND_H
#define KERNELS_CPU_OPERAND_H

#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"

/* Whether kernels of this layer compute with T: values that f32 holds. */
SIMD_INLINE bool operand_is_float(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_BF16 || t == DTYPE_F16;
}

SIMD_INLINE size_t operand_bytes(enum dtype t, ptrdiff_t elements)
{
	return (size_t)(t == DTYPE_F32 ? 4 * elements : 2 * elements);
}

/* Element AT of T, which is no block type. */
SIMD_INLINE const uint8_t *operand_at(const struct kernel_tensor *t, ptrdiff_t at)
{
	return (const uint8_t *)t->data + operand_bytes(t->dtype, at);
}

/* N elements of f32, bf16 or f16 as f32. */
SIMD_INLINE void operand_load(enum dtype t, const uint8_t *p, float *out, size_t n)
{
	size_t i = 0;

	if (t == DTYPE_F32) {
		memcpy(out, p, n * sizeof(*out));
		return;
	}
	for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
		simd_store(out + i,
			   t == DTYPE_BF16 ? simd_load_bf16(p + 2 * i) : simd_load_f16(p + 2 * i));
	for (; i < n; i++)
		out[i] = t == DTYPE_BF16 ? brain_to_f32(load_u16(p + 2 * i))
					 : half_to_f32(load_u16(p + 2 * i));
}

/* And back, rounded to nearest even. */
SIMD_INLINE void operand_store(enum dtype t, const float *x, uint8_t *p, size_t n)
{
	size_t i = 0;

	if (t == DTYPE_F32) {
		memcpy(p, x, n * sizeof(*x));
		return;
	}
	for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
		if (t == DTYPE_BF16)
			simd_store_bf16(p + 2 * i, simd_load(x + i));
		else
			simd_store_f16(p + 2 * i, simd_load(x + i));
	for (; i < n; i++) {
		uint16_t h = t == DTYPE_BF16 ? brain_from_f32(x[i]) : half_from_f32(x[i]);

		memcpy(p + 2 * i, &h, sizeof(h));
	}
}

/* X as it is after a trip through T. */
SIMD_INLINE void operand_round(enum dtype t, float *x, size_t n)
{
	size_t i = 0;

	if (t == DTYPE_BF16) {
		for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
			simd_store(x + i, (vf32)(simd_round_bf16(simd_load(x + i)) & 0xffff0000));
		for (; i < n; i++)
			x[i] = brain_to_f32(brain_from_f32(x[i]));
	} else if (t == DTYPE_F16) {
		uint8_t room[2 * SIMD_WIDTH];

		for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
			simd_store_f16(room, simd_load(x + i));
			simd_store(x + i, simd_load_f16(room));
		}
		for (; i < n; i++)
			x[i] = half_to_f32(half_from_f32(x[i]));
	}
}

#endif
