/*
 * kernels/cpu/plain.h - elements of any type without blocks: where they are, gathered as bytes, as doubles and back
 *
 * Doubles hold the values of every type but the largest integers, which round; and back as ref does it.
 */
#ifndef KERNELS_CPU_PLAIN_H
#define KERNELS_CPU_PLAIN_H

#include <math.h>

#include "kernels/cpu/operand.h"

#define PLAIN_CHUNK 512 /* elements that are converted at a time */

SIMD_INLINE uint8_t *plain_at(const struct kernel_tensor *t, ptrdiff_t at)
{
	return (uint8_t *)t->data + at * (ptrdiff_t)dtype_info(t->dtype)->bytes;
}

SIMD_INLINE bool plain_serves(enum dtype t)
{
	size_t bytes = dtype_info(t)->bytes;

	return dtype_info(t)->block == 1 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

/* N elements, STEP elements apart, side by side. */
#define PLAIN_GATHER(name, type)                                                     \
 SIMD_INLINE void name(const uint8_t *p, ptrdiff_t step, uint8_t *out, size_t n)     \
 {                                                                                   \
  for (size_t i = 0; i < n; i++)                                                     \
   memcpy(out + i * sizeof(type), p + (ptrdiff_t)i * step * (ptrdiff_t)sizeof(type), \
	  sizeof(type));                                                             \
 }
PLAIN_GATHER(plain_gather1, uint8_t)
PLAIN_GATHER(plain_gather2, uint16_t)
PLAIN_GATHER(plain_gather4, uint32_t)
PLAIN_GATHER(plain_gather8, uint64_t)

SIMD_INLINE void plain_gather(size_t bytes, const uint8_t *p, ptrdiff_t step, uint8_t *out,
			      size_t n)
{
	switch (bytes) {
	case 1: plain_gather1(p, step, out, n); return;
	case 2: plain_gather2(p, step, out, n); return;
	case 4: plain_gather4(p, step, out, n); return;
	default: plain_gather8(p, step, out, n);
	}
}

#define PLAIN_WIDEN(id, type)               \
case DTYPE_##id:                            \
 for (size_t i = 0; i < n; i++) {           \
  type v;                                   \
  memcpy(&v, p + i * sizeof(v), sizeof(v)); \
  out[i] = (double)v;                       \
 }                                          \
 return

/* N elements, at most PLAIN_CHUNK, at P. */
SIMD_INLINE void plain_to_doubles(enum dtype t, const uint8_t *p, double *out, size_t n)
{
	float narrow[PLAIN_CHUNK];

	switch (t) {
		PLAIN_WIDEN(F64, double);
		PLAIN_WIDEN(F32, float);
		PLAIN_WIDEN(I64, int64_t);
		PLAIN_WIDEN(I32, int32_t);
		PLAIN_WIDEN(I16, int16_t);
		PLAIN_WIDEN(I8, int8_t);
		PLAIN_WIDEN(U64, uint64_t);
		PLAIN_WIDEN(U32, uint32_t);
		PLAIN_WIDEN(U16, uint16_t);
		PLAIN_WIDEN(U8, uint8_t);
	case DTYPE_BOOL:
		for (size_t i = 0; i < n; i++)
			out[i] = p[i] != 0;
		return;
	default:
		operand_load(t, p, narrow, n);
		for (size_t i = 0; i < n; i++)
			out[i] = narrow[i];
	}
}

/* LOW to END - 1, whose types double holds; past them the ends, NaN is 0. */
#define PLAIN_NARROW(id, type, low, end, most)                                      \
case DTYPE_##id:                                                                    \
 for (size_t i = 0; i < n; i++) {                                                   \
  double r = rint(x[i]);                                                            \
  type v = r < (low) ? (type)(low) : r < (end) ? (type)r : r >= (end) ? (most) : 0; \
  memcpy(p + i * sizeof(v), &v, sizeof(v));                                         \
 }                                                                                  \
 return

/* Rounded to odd, so that rounding again, to 16 bits, rounds as once (Boldo and Melquiond 2008). */
SIMD_INLINE float plain_odd(double x)
{
	float f = (float)x;

	if (!isfinite(x) || (double)f == x)
		return f;
	if (fabs((double)f) > fabs(x))
		f = nextafterf(f, 0);
	return f32_of_bits(f32_bits(f) | 1);
}

SIMD_INLINE void plain_from_doubles(enum dtype t, const double *x, uint8_t *p, size_t n)
{
	float odd[PLAIN_CHUNK];

	switch (t) {
		PLAIN_NARROW(I64, int64_t, -0x1p63, 0x1p63, INT64_MAX);
		PLAIN_NARROW(I32, int32_t, -0x1p31, 0x1p31, INT32_MAX);
		PLAIN_NARROW(I16, int16_t, -0x1p15, 0x1p15, INT16_MAX);
		PLAIN_NARROW(I8, int8_t, -0x1p7, 0x1p7, INT8_MAX);
		PLAIN_NARROW(U64, uint64_t, 0, 0x1p64, UINT64_MAX);
		PLAIN_NARROW(U32, uint32_t, 0, 0x1p32, UINT32_MAX);
		PLAIN_NARROW(U16, uint16_t, 0, 0x1p16, UINT16_MAX);
		PLAIN_NARROW(U8, uint8_t, 0, 0x1p8, UINT8_MAX);
	case DTYPE_F64: memcpy(p, x, n * sizeof(*x)); return;
	case DTYPE_BOOL:
		for (size_t i = 0; i < n; i++)
			p[i] = x[i] != 0;
		return;
	case DTYPE_F32:
		for (size_t i = 0; i < n; i++) {
			float f = (float)x[i];

			memcpy(p + 4 * i, &f, sizeof(f));
		}
		return;
	default:
		for (size_t i = 0; i < n; i++)
			odd[i] = plain_odd(x[i]);
		operand_store(t, odd, p, n);
	}
}

SIMD_INLINE bool plain_converts(enum dtype t)
{
	switch (t) {
	case DTYPE_F64:
	case DTYPE_I64:
	case DTYPE_I32:
	case DTYPE_I16:
	case DTYPE_I8:
	case DTYPE_U64:
	case DTYPE_U32:
	case DTYPE_U16:
	case DTYPE_U8:
	case DTYPE_BOOL: return true;
	default: return operand_is_float(t);
	}
}

#endif
