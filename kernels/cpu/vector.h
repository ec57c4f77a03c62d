/*
 * kernels/cpu/vector.h - a vector of f32 straight from memory of any float dtype
 *
 * Where DTYPE is a constant nothing is left to choose at run time.
 */
#ifndef KERNELS_CPU_VECTOR_H
#define KERNELS_CPU_VECTOR_H

#include "kernels/cpu/operand.h"

/* SIMD_WIDTH elements at P, any address. */
SIMD_INLINE vf32 vector_load(enum dtype t, const uint8_t *p)
{
	if (t == DTYPE_F32)
		return simd_load(p);
	return t == DTYPE_BF16 ? simd_load_bf16(p) : simd_load_f16(p);
}

#define VECTOR_TWO (2 * SIMD_WIDTH)

/* As simd_round_bf16 rounds what is not NaN. */
SIMD_INLINE vu32 vector_round(vf32 x)
{
	vu32 bits = (vu32)x;

	return bits + 0x7fff + (bits >> 16 & 1);
}

#if SIMD_WIDTH == 8
SIMD_INLINE bool vector_has_nan(vf32 a, vf32 b)
{
	__m256 nan = _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);

	return __builtin_expect(_mm256_movemask_ps(nan) != 0, 0);
}

/* Two vectors as one of bf16, in their order. */
SIMD_INLINE vf32 vector_narrow(vf32 a, vf32 b)
{
	vu32 x, y;

	if (vector_has_nan(a, b))
		return simd_narrow_two(a, b);
	x = vector_round(a) >> 16;
	y = vector_round(b) >> 16;
	return (vf32)_mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)x, (__m256i)y), 0xd8);
}
#endif

/*
 * Two vectors as one of bf16, A at even places, B at odd ones, where NaN has nothing but zeros in its lower half. So it is with what
 * arithmetic makes of bf16, which passes NaN on as it was or makes one of its own: it need not be looked for.
 */
SIMD_INLINE vf32 vector_merge_bare(vf32 a, vf32 b)
{
	vu32 even = vector_round(a) >> 16, odd = vector_round(b);

#if SIMD_WIDTH == 8
	return (vf32)_mm256_blend_epi16((__m256i)even, (__m256i)odd, 0xaa);
#else
	return (vf32)(even | (odd & 0xffff0000));
#endif
}

/* Two vectors as one of bf16: A at even places, B at odd ones. */
SIMD_INLINE vf32 vector_merge(vf32 a, vf32 b)
{
#if SIMD_WIDTH == 8
	if (!vector_has_nan(a, b))
		return vector_merge_bare(a, b);
#endif
	return (vf32)(simd_round_bf16(a) >> 16 | (simd_round_bf16(b) & 0xffff0000));
}

/* VECTOR_TWO elements to P, rounded to nearest even. STREAM: past the caches (simd_stream); then P is a multiple of SIMD_BYTES. */
SIMD_INLINE void vector_store_two(enum dtype t, uint8_t *p, vf32 a, vf32 b, bool stream)
{
	if (t == DTYPE_F32 && stream) {
		simd_stream(p, a);
		simd_stream(p + SIMD_BYTES, b);
	} else if (t == DTYPE_F32) {
		simd_store(p, a);
		simd_store(p + SIMD_BYTES, b);
#if SIMD_WIDTH == 8
	} else if (t == DTYPE_BF16 && stream) {
		simd_stream(p, vector_narrow(a, b));
	} else if (t == DTYPE_BF16) {
		simd_store(p, vector_narrow(a, b));
#endif
	} else {
		float x[VECTOR_TWO];

		simd_store(x, a);
		simd_store(x + SIMD_WIDTH, b);
		operand_store(t, x, p, VECTOR_TWO);
	}
}

/*
 * VECTOR_TWO elements that nobody asks the order of: of bf16 those at even places and those at odd ones, which takes half of the
 * work. vector_join puts them back as they were.
 */
SIMD_INLINE void vector_split(enum dtype t, const uint8_t *p, vf32 two[2])
{
	if (t == DTYPE_BF16) {
		vu32 both = (vu32)simd_load(p);

		two[0] = (vf32)(both << 16);
		two[1] = (vf32)(both & 0xffff0000);
		return;
	}
	two[0] = vector_load(t, p);
	two[1] = vector_load(t, p + operand_bytes(t, SIMD_WIDTH));
}

/* Two vectors in order as vector_split would leave them. */
SIMD_INLINE void vector_apart(enum dtype t, vf32 two[2])
{
	vf32 a = two[0], b = two[1];

	if (t != DTYPE_BF16)
		return;
#if SIMD_WIDTH == 16
	two[0] = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
					 28, 30);
	two[1] = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
					 29, 31);
#elif SIMD_WIDTH == 8
	two[0] = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
	two[1] = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
	two[0] = __builtin_shufflevector(a, b, 0, 2, 4, 6);
	two[1] = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

SIMD_INLINE void vector_put(uint8_t *p, vf32 x, bool stream)
{
	if (stream)
		simd_stream(p, x);
	else
		simd_store(p, x);
}

SIMD_INLINE void vector_join(enum dtype t, uint8_t *p, const vf32 two[2], bool stream)
{
	if (t == DTYPE_BF16)
		vector_put(p, vector_merge(two[0], two[1]), stream);
	else
		vector_store_two(t, p, two[0], two[1], stream);
}

/* The same of what arithmetic made of T (vector_merge_bare). */
SIMD_INLINE void vector_join_bare(enum dtype t, uint8_t *p, const vf32 two[2], bool stream)
{
	if (t == DTYPE_BF16)
		vector_put(p, vector_merge_bare(two[0], two[1]), stream);
	else
		vector_store_two(t, p, two[0], two[1], stream);
}

/*
 * A result at least as large goes past the caches: more than most hold, so that whoever reads it next would not find its beginning there,
 * and memory need not be read before it is written. Of a tile of rows the tile counts.
 */
#define VECTOR_STREAM_BYTES ((size_t)32 << 20)

SIMD_INLINE bool vector_streams(const struct kernel_tensor *out)
{
	return operand_bytes(out->dtype, (ptrdiff_t)kernel_elements(out)) >= VECTOR_STREAM_BYTES;
}

SIMD_INLINE bool vector_aligned(const void *p)
{
	return (uintptr_t)p % SIMD_BYTES == 0;
}

/* As simd_copy, but past the caches where STREAM and the result's address allow it. */
SIMD_INLINE void vector_copy(uint8_t *to, const uint8_t *from, size_t n, bool stream)
{
	size_t i = 0;

	if (stream && vector_aligned(to))
		for (; i + 4 * SIMD_BYTES <= n; i += 4 * SIMD_BYTES)
			for (size_t j = 0; j < 4 * SIMD_BYTES; j += SIMD_BYTES)
				simd_stream(to + i + j, simd_load(from + i + j));
	simd_copy(to + i, from + i, n - i);
}

/* vector_load, but only LEFT elements are there: the lanes beyond are REST. */
SIMD_INLINE vf32 vector_some(enum dtype t, const uint8_t *p, size_t left, float rest)
{
	float x[SIMD_WIDTH];

	if (left >= SIMD_WIDTH)
		return vector_load(t, p);
	for (size_t i = 0; i < SIMD_WIDTH; i++)
		x[i] = rest;
	operand_load(t, p, x, left);
	return simd_load(x);
}

#endif
