/*
 * kernels/ref/dequant_float.c - floats of every width to f32
 *
 * f64, f32, f16, bf16; the 8-bit floats of OCP 8-bit floating point 1.0 (E4M3 without infinities,
 * E5M2), their FNUZ variants (no negative zero, one NaN, no infinities), and E8M0 of OCP
 * microscaling 1.0, a bare power of two.
 */
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

#define NAN_BITS 0x7fc00000u

void dequant_f64(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)f64_of_bits(load_u64(p + 8 * i));
}

void dequant_f32(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		store_u32(dst + i, BITS_LE32(load_u32(p + 4 * i)));
}

void dequant_f16(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = half_to_f32(load_u16(p + 2 * i));
}

void dequant_bf16(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)load_u16(p + 2 * i) << 16;

		memcpy(dst + i, &bits, sizeof(bits));
	}
}

/*
 * An 8-bit float whose lowest mantissa bit goes to bit SHIFT of an f32: multiplying by SCALE, a
 * power of two, moves the exponent, and makes subnormals right.
 */
static inline float small_float(uint8_t v, int shift, float scale, int is_nan)
{
	uint32_t magnitude = (uint32_t)(v & 0x7f) << shift;
	uint32_t bits = f32_bits(f32_of_bits(magnitude) * scale) | (uint32_t)(v & 0x80) << 24;

	return f32_of_bits(is_nan ? NAN_BITS | (uint32_t)(v & 0x80) << 24 : bits);
}

void dequant_f8_e4m3(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = small_float(p[i], 20, 0x1p120f, (p[i] & 0x7f) == 0x7f);
}

/* The upper half of an f16. */
void dequant_f8_e5m2(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = half_to_f32((uint16_t)(p[i] << 8));
}

void dequant_f8_e4m3fnuz(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = small_float(p[i], 20, 0x1p119f, p[i] == 0x80);
}

void dequant_f8_e5m2fnuz(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = small_float(p[i], 21, 0x1p111f, p[i] == 0x80);
}

/* 2^(v - 127); the lowest is a subnormal f32, and 255 is NaN. */
void dequant_f8_e8m0(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = p[i] ? (uint32_t)p[i] << 23 : 0x00400000;

		dst[i] = f32_of_bits(p[i] == 255 ? NAN_BITS : bits);
	}
}
