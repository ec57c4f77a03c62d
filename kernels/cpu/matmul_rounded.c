/* kernels/cpu/matmul_rounded.c - products of rounded rows at a base level: rounded_products.h tells how */

#define ROUNDED_FORMS 1

#include "kernels/cpu/matmul_rounded.h"

const struct kernel LEVEL_NAME(matmul_rounded);
const struct kernel LEVEL_NAME(matmul_rounded) = {
	.op = "matmul",
	.variant = "rounded",
	.claims = claims,
	.scratch = scratch,
	.phases_of = phases,
	.run = run,
};
