/*
 * lib/infer/sampler_exp.c - shares of logits
 *
 * An exponential of our own, which has the same bits on every machine: 2^k e^r with |r| at most ln 2 / 2 and the series of e^r to r^13, whose
 * rest is below what a double tells. In loops that compilers make vectors of.
 */

#include <string.h>

#include "lib/infer/sampler_parts.h"

void sampler_shares(const float *logits, size_t n, double top, double t, double *out)
{
	/* Adding the magic number rounds to an integer, which the low bits of the sum are then. */
	const double magic = 0x1.8p52, ln2_high = 0x1.62e42fefap-1, ln2_low = 0x1.cf79abc9e3b3ap-40;
	double x[SAMPLER_BLOCK], shifted[SAMPLER_BLOCK], p[SAMPLER_BLOCK];
	uint64_t bits[SAMPLER_BLOCK], power[SAMPLER_BLOCK];

	for (size_t i = 0; i < n; i++)
		x[i] = ((double)logits[i] - top) / t;
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] >= SAMPLER_SHARE_LN ? x[i] : 2 * SAMPLER_SHARE_LN;
	for (size_t i = 0; i < n; i++) {
		double k, r, q = 1 / 6227020800.0;

		shifted[i] = x[i] * 0x1.71547652b82fep+0 + magic;
		k = shifted[i] - magic;
		r = (x[i] - k * ln2_high) - k * ln2_low;
		q = q * r + 1 / 479001600.0;
		q = q * r + 1 / 39916800.0;
		q = q * r + 1 / 3628800.0;
		q = q * r + 1 / 362880.0;
		q = q * r + 1 / 40320.0;
		q = q * r + 1 / 5040.0;
		q = q * r + 1 / 720.0;
		q = q * r + 1 / 120.0;
		q = q * r + 1 / 24.0;
		q = q * r + 1 / 6.0;
		q = q * r + 0.5;
		q = q * r + 1;
		p[i] = q * r + 1;
	}
	memcpy(bits, p, n * sizeof(*bits));
	memcpy(power, shifted, n * sizeof(*power));
	for (size_t i = 0; i < n; i++)
		bits[i] += power[i] << 52;
	memcpy(p, bits, n * sizeof(*p));
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] >= SAMPLER_SHARE_LN ? p[i] : 0;
}
