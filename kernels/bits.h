/*
 * kernels/bits.h - little-endian numbers at any address, and floats as their bits
 *
 * memcpy with a constant size is one load; compilers see through it and vectorise.
 */
#ifndef KERNELS_BITS_H
#define KERNELS_BITS_H

#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
# define BITS_LE16(v) __builtin_bswap16(v)
# define BITS_LE32(v) __builtin_bswap32(v)
# define BITS_LE64(v) __builtin_bswap64(v)
#else
# define BITS_LE16(v) (v)
# define BITS_LE32(v) (v)
# define BITS_LE64(v) (v)
#endif

static inline uint16_t load_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return BITS_LE16(v);
}

static inline uint32_t load_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return BITS_LE32(v);
}

static inline uint64_t load_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return BITS_LE64(v);
}

static inline void store_u16(void *p, uint16_t v)
{
	v = BITS_LE16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void store_u32(void *p, uint32_t v)
{
	v = BITS_LE32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void store_u64(void *p, uint64_t v)
{
	v = BITS_LE64(v);
	memcpy(p, &v, sizeof(v));
}

static inline float f32_of_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t f32_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static inline double f64_of_bits(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline uint64_t f64_bits(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

#endif
