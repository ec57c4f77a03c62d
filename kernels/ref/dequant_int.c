/*
 * kernels/ref/dequant_int.c - integers and truth values to f32
 *
 * The processor's conversions round to nearest even. Any byte but 0 is true.
 */
#include "kernels/bits.h"
#include "kernels/ref/dequant.h"

void dequant_i64(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int64_t)load_u64(p + 8 * i);
}

void dequant_u64(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)load_u64(p + 8 * i);
}

void dequant_i32(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int32_t)load_u32(p + 4 * i);
}

void dequant_u32(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)load_u32(p + 4 * i);
}

void dequant_i16(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int16_t)load_u16(p + 2 * i);
}

void dequant_u16(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)load_u16(p + 2 * i);
}

void dequant_i8(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)(int8_t)p[i];
}

void dequant_u8(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = (float)p[i];
}

void dequant_bool(const void *src, float *dst, size_t n)
{
	const uint8_t *p = src;

	for (size_t i = 0; i < n; i++)
		dst[i] = p[i] ? 1.0f : 0.0f;
}
