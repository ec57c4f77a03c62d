/*
 * lib/base/size.h - sums and products of sizes that cannot wrap
 *
 * Each returns false, and leaves *OUT alone, when the result does not fit.
 */
#ifndef LIB_BASE_SIZE_H
#define LIB_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool size_add(size_t a, size_t b, size_t *out)
{
	size_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}

static inline bool size_mul(size_t a, size_t b, size_t *out)
{
	size_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*out = product;
	return true;
}

/* A rounded up to a multiple of STEP, which is positive. */
static inline bool size_round_up(size_t a, size_t step, size_t *out)
{
	size_t rest = a % step;

	return size_add(a, rest ? step - rest : 0, out);
}

/* The product of N factors; 1 for none. A factor of 0 gives 0 even beside factors that overflow. */
bool size_product(const uint64_t *factors, size_t n, size_t *out);

#endif
