/*
 * kernels/ref/encode.c - f32 to the plain types, rounded to nearest even
 *
 * Integers: past the range gives the end of the range, NaN gives 0.
 */
#include <math.h>

#include "kernels/half.h"
#include "kernels/ref/dequant.h"

void encode_f64(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u64(p + 8 * i, f64_bits(src[i]));
}

void encode_f32(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u32(p + 4 * i, BITS_LE32(load_u32(src + i)));
}

void encode_f16(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u16(p + 2 * i, half_from_f32(src[i]));
}

void encode_bf16(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u16(p + 2 * i, brain_from_f32(src[i]));
}

/*
 * F as an integer in [low, high]. END is high + 1, a power of two, so that f32 has it exactly; low
 * is 0 or -END.
 */
static int64_t to_signed(float f, float end, int64_t low, int64_t high)
{
	if (f != f)
		return 0;
	f = rintf(f);
	if (f >= end)
		return high;
	return f < (float)low ? low : (int64_t)f;
}

static uint64_t to_unsigned(float f, float end, uint64_t high)
{
	if (!(f > 0))
		return 0;
	f = rintf(f);
	return f >= end ? high : (uint64_t)f;
}

void encode_i64(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u64(p + 8 * i, (uint64_t)to_signed(src[i], 0x1p63f, INT64_MIN, INT64_MAX));
}

void encode_u64(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u64(p + 8 * i, to_unsigned(src[i], 0x1p64f, UINT64_MAX));
}

void encode_i32(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u32(p + 4 * i, (uint32_t)to_signed(src[i], 0x1p31f, INT32_MIN, INT32_MAX));
}

void encode_u32(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u32(p + 4 * i, (uint32_t)to_unsigned(src[i], 0x1p32f, UINT32_MAX));
}

void encode_i16(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u16(p + 2 * i, (uint16_t)to_signed(src[i], 0x1p15f, INT16_MIN, INT16_MAX));
}

void encode_u16(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		store_u16(p + 2 * i, (uint16_t)to_unsigned(src[i], 0x1p16f, UINT16_MAX));
}

void encode_i8(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)to_signed(src[i], 0x1p7f, INT8_MIN, INT8_MAX);
}

void encode_u8(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)to_unsigned(src[i], 0x1p8f, UINT8_MAX);
}

void encode_bool(const float *src, void *dst, size_t n)
{
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++)
		p[i] = src[i] != 0; /* NaN is not zero */
}
