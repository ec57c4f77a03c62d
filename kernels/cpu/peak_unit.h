/*
 * kernels/cpu/peak_unit.h - dot products from registers, on a unit that takes several elements of each lane at once
 *
 * A file that includes this defines unit_lane, the type of a sum; UNIT_BYTES, of a vector; UNIT_PRODUCTS, those of one
 * instruction; and unit_dot. This file then defines the loop of its level, which kernels/peak.c knows. An instruction takes up
 * to ten cycles, and one or two can begin in each: UNIT_CHAINS do not wait for one another, and fit 16 registers.
 */
#ifndef KERNELS_CPU_PEAK_UNIT_H
#define KERNELS_CPU_PEAK_UNIT_H

#include <string.h>

#include "kernels/peak.h"

#define UNIT_CHAINS 12

typedef unit_lane unit_vector __attribute__((vector_size(UNIT_BYTES)));

/* SUM + A B, where A and B are bytes in the registers of sums. */
static inline __attribute__((always_inline)) unit_vector unit_dot(unit_vector sum, unit_vector a,
								  unit_vector b);

static void multiply(size_t rounds, float *x)
{
	unit_vector a, b, first, sum[UNIT_CHAINS];

	memcpy(&a, x, sizeof(a));
	memcpy(&b, x + 16, sizeof(b));
	memcpy(&first, x + 32, sizeof(first));
	for (int k = 0; k < UNIT_CHAINS; k++)
		sum[k] = first + (unit_lane)k;
	for (size_t i = 0; i < rounds; i++) {
		_Pragma("GCC unroll 16") for (int k = 0; k < UNIT_CHAINS; k++) sum[k] =
			unit_dot(sum[k], a, b);
	}
	for (int k = 1; k < UNIT_CHAINS; k++)
		sum[0] += sum[k];
	memcpy(x + 32, &sum[0], sizeof(sum[0]));
}

const struct peak_loop LEVEL_NAME(peak_unit);
const struct peak_loop LEVEL_NAME(peak_unit) = { 2.0 * UNIT_CHAINS * UNIT_PRODUCTS, multiply };

#endif
