/*
 * kernels/random.h - draws from Philox words, the same bits on every machine
 *
 * Inline, so that kernels of every level can draw in place. Only additions, products, quotients
 * and square roots of IEEE doubles are used, in a fixed order and without contraction
 * (-ffp-contract=off), so that no mathematical library decides a bit. The normals are those of
 * Box and Muller, "A note on the generation of random normal deviates" (1958).
 */
#ifndef KERNELS_RANDOM_H
#define KERNELS_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/philox.h"

/* Block BLOCK of row ROW: the four words that elements 4 x BLOCK to 4 x BLOCK + 3 draw. */
static inline void random_block(const uint32_t key[2], uint64_t row, uint64_t block,
				uint32_t out[4])
{
	uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)row,
				(uint32_t)(row >> 32) };

	philox4x32(counter, key, out);
}

/* [0, 1) in steps of 2^-24: the top bits of WORD. */
static inline float random_uniform_of(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}

/*
 * The natural logarithm of a positive, normal, finite X, to about one unit in the last place.
 * X = m 2^k with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), by its
 * power series, whose first term left out is below 2^-58 of the sum.
 */
static inline double random_log(double x)
{
	/* 2 / 3, 2 / 5, 2 / 7, ...; ln 2 in two parts, the first with 21 zero bits at its end */
	static const double c[10] = { 2.0 / 3,	2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
				      2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21 };
	const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
	const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd); /* the bits of sqrt(1/2) */
	uint64_t bits;
	int64_t k;
	double m, f, s, z, sum;

	memcpy(&bits, &x, sizeof(bits));
	k = (int64_t)(bits - root_half) >> 52;
	bits -= (uint64_t)k << 52;
	memcpy(&m, &bits, sizeof(m));

	f = m - 1.0;
	s = f / (2.0 + f);
	z = s * s;
	sum = c[9];
	for (int i = 8; i >= 0; i--)
		sum = sum * z + c[i];
	/* 2 s = f - s f, so the rounding of s touches only the small terms. */
	sum = s * (z * sum - f) + (double)k * ln2_low;
	return (double)k * ln2_high + (f + sum);
}

/*
 * The sine and cosine of (WORD + 1/2) 2^-32 turns. The nearest quarter turn is taken off in
 * integers; the rest, at most an eighth, goes through both power series, whose first terms left
 * out are below 2^-58.
 */
static inline void random_sincos(uint32_t word, double *sine, double *cosine)
{
	const double two_pi = 0x1.921fb54442d18p+2;
	/* 1 / 3!, 1 / 5!, ...; 1 / 2!, 1 / 4!, ... with their signs */
	static const double a[8] = { -1.0 / 6,
				     1.0 / 120,
				     -1.0 / 5040,
				     1.0 / 362880,
				     -1.0 / 39916800,
				     1.0 / 6227020800.0,
				     -1.0 / 1307674368000.0,
				     1.0 / 355687428096000.0 };
	static const double b[8] = {
		-1.0 / 2,	1.0 / 24,	   -1.0 / 720,		 1.0 / 40320,
		-1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0
	};
	uint32_t quarter = (uint32_t)(((uint64_t)word + (UINT64_C(1) << 29)) >> 30);
	int64_t rest = (int64_t)word - ((int64_t)quarter << 30);
	double x = (double)(2 * rest + 1) * 0x1p-33 * two_pi;
	double z = x * x, s = a[7], c = b[7];

	for (int i = 6; i >= 0; i--) {
		s = s * z + a[i];
		c = c * z + b[i];
	}
	s = x + x * (z * s);
	c = 1.0 + z * c;
	*sine = quarter & 1 ? c : s;
	*cosine = quarter & 1 ? s : c;
	if (quarter & 2)
		*sine = -*sine;
	if ((quarter + 1) & 2)
		*cosine = -*cosine;
}

/*
 * Two normals, mean 0 and deviation 1, from two words: the length is sqrt(-2 ln u) with
 * u = (RADIUS + 1/2) 2^-32, so that 6.77 is the largest; *EVEN is the cosine's, *ODD the sine's.
 */
static inline void random_normal_pair(uint32_t radius, uint32_t angle, float *even, float *odd)
{
	double u = (double)(2 * (uint64_t)radius + 1) * 0x1p-33;
	double length = sqrt(-2.0 * random_log(u));
	double sine, cosine;

	random_sincos(angle, &sine, &cosine);
	*even = (float)(length * cosine);
	*odd = (float)(length * sine);
}

#endif
