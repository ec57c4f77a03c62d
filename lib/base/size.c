/* lib/base/size.c - products of many sizes */
#include "lib/base/size.h"

bool size_product(const uint64_t *factors, size_t n, size_t *out)
{
	size_t product = 1;

	for (size_t i = 0; i < n; i++) {
		if (factors[i] == 0) {
			*out = 0;
			return true;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(product, factors[i], &product))
			return false;
	}
	*out = product;
	return true;
}
