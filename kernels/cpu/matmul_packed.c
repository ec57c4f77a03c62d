/* kernels/cpu/matmul_packed.c - products of rounded rows by packed weights at a base level */

#include "kernels/cpu/matmul_packed.h"

const struct kernel LEVEL_NAME(matmul_packed);
const struct kernel LEVEL_NAME(matmul_packed) = {
	.op = "matmul",
	.variant = "packed",
	.claims = claims,
	.scratch = scratch,
	.kept = kept,
	.phases_of = phases,
	.run = run,
};
