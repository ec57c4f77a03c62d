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
#if SIMD_WIDTH == 16
	for (; i + 16 <= n; i += 16)
		simd_to_f32(t, p + 2 * i, (uint8_t *)(out + i));
#elif SIMD_WIDTH == 8
	for (; i + 8 <= n; i += 8) {
		__m128i half = _mm_loadu_si128((const __m128i *)(p + 2 * i));

		simd_store(out + i, t == DTYPE_BF16 ? (vf32)_mm256_slli_epi32(
							      _mm256_cvtepu16_epi32(half), 16)
						    : (vf32)_mm256_cvtph_ps(half));
	}
#endif
	for (; i < n; i++)
		out[i] = t == DTYPE_BF16 ? brain_to_f32(load_u16(p + 2 * i))
					 : half_to_f32(load_u16(p + 2 * i));
}

#if SIMD_WIDTH >= 8
/* A vector of f32 to SIMD_WIDTH elements of bf16 or f16 (T, a constant) at P, any address, rounded to nearest even. */
SIMD_INLINE void operand_narrow(enum dtype t, vf32 x, uint8_t *p)
{
	vu32 bits = (vu32)x, nan = (vu32)(x != x);
	vu32 rounded = bits + 0x7fff + (bits >> 16 & 1);
	vu32 upper = ((nan & (bits | 0x400000)) | (~nan & rounded)) >> 16;
# if SIMD_WIDTH == 16
	__m256i half =
		t == DTYPE_BF16
			? _mm512_cvtepi32_epi16((__m512i)upper)
			: _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

	_mm256_storeu_si256((__m256i *)p, half);
# else
	__m128i half =
		t == DTYPE_BF16
			? _mm_packus_epi32(_mm256_castsi256_si128((__m256i)upper),
					   _mm256_extracti128_si256((__m256i)upper, 1))
			: _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

	_mm_storeu_si128((__m128i *)p, half);
# endif
}
#endif

/* And back, rounded to nearest even. */
SIMD_INLINE void operand_store(enum dtype t, const float *x, uint8_t *p, size_t n)
{
	size_t i = 0;

	if (t == DTYPE_F32) {
		memcpy(p, x, n * sizeof(*x));
		return;
	}
#if SIMD_WIDTH >= 8
	for (; t == DTYPE_BF16 && i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
		operand_narrow(DTYPE_BF16, simd_load(x + i), p + 2 * i);
	for (; t == DTYPE_F16 && i + SIMD_WIDTH <= n; i += SIMD_WIDTH)
		operand_narrow(DTYPE_F16, simd_load(x + i), p + 2 * i);
#endif
	for (; i < n; i++) {
		uint16_t h = t == DTYPE_BF16 ? brain_from_f32(x[i]) : half_from_f32(x[i]);

		memcpy(p + 2 * i, &h, sizeof(h));
	}
}

/* X as it is after a trip through T. */
SIMD_INLINE void operand_round(enum dtype t, float *x, size_t n)
{
	uint8_t room[2 * 64];

	for (size_t i = 0; t != DTYPE_F32 && i < n; i += 64) {
		size_t many = n - i < 64 ? n - i : 64;

		operand_store(t, x + i, room, many);
		operand_load(t, room, x + i, many);
	}
}

#endif
