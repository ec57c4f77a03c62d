/*
 * tests/kernel/values.h - seeded bytes of tensors, from tame to wild
 */
#ifndef TESTS_KERNEL_VALUES_H
#define TESTS_KERNEL_VALUES_H

#include "kernels/bits.h"
#include "kernels/dtype.h"

enum values {
	VALUES_ORDINARY, /* near 1, some zeros of both signs */
	VALUES_ANY,	 /* any bits: NaN, infinities, subnormals */
	VALUES_EXTREME,	 /* finite: the largest, the least, subnormals */
	VALUES_RARE,	 /* ordinary, with a NaN or an infinity now and then */
	VALUES_POSITIVE, /* ordinary, of one sign, without zeros */
	VALUES_NEGATIVE,
	VALUES_COUNT
};

static inline const char *values_name(enum values kind)
{
	static const char *const names[] = { "ordinary", "any",	     "extreme",
					     "rare",	 "positive", "negative" };

	return names[kind];
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64. */
static inline uint64_t values_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline float values_f32(enum values kind, uint64_t r)
{
	static const uint32_t extremes[] = { 0x7f7fffff, 0xff7fffff, 1,		 0x80000001,
					     0x007fffff, 0x00800000, 0x80800000, 0x7e800000 };
	static const uint32_t specials[] = { 0x7fc00000, 0x7f800000, 0xff800000, 0xffc00001 };

	if (kind == VALUES_ANY)
		return f32_of_bits((uint32_t)r);
	if (kind == VALUES_EXTREME && r % 2)
		return f32_of_bits(extremes[r >> 8 & 7]);
	if (kind == VALUES_RARE && r % 700 == 0)
		return f32_of_bits(specials[r >> 40 & 3]);
	if (kind == VALUES_POSITIVE || kind == VALUES_NEGATIVE)
		return (float)(1 + (r >> 32)) * (kind == VALUES_POSITIVE ? 0x1p-31f : -0x1p-31f);
	if (r % 8 == 0)
		return r & 8 ? 0.0f : -0.0f;
	return (float)(int32_t)(r >> 32) * 0x1p-30f;
}

/* N elements of T, which is f64, encoded from f32, or filled with any bytes. */
static inline void values_fill(enum dtype t, enum values kind, void *dst, size_t n, uint64_t seed)
{
	size_t bytes = dtype_info(t)->bytes;
	uint8_t *p = dst;

	for (size_t i = 0; i < n; i++) {
		uint64_t r = values_random(&seed);
		float f = values_f32(kind, r);

		if (t == DTYPE_F64 && kind == VALUES_ANY)
			store_u64(p + 8 * i, r);
		else if (dtype_encodes(t))
			dtype_from_f32(t, &f, p + bytes * i, 1);
		else if (i % dtype_info(t)->block == 0)
			for (size_t k = 0; k < bytes; k++)
				p[i / dtype_info(t)->block * bytes + k] =
					(uint8_t)values_random(&seed);
	}
}

#endif
