/* kernels/cpu/neon_dotprod/matmul_packed.c - products of rounded rows by packed weights with SDOT, four products an instruction */
#include "kernels/cpu/intrinsics.h"

#define ROUNDED_DOT(sum, w, x) vdotq_s32((sum), (w), (x))

#include "kernels/cpu/matmul_packed.h"

const struct kernel LEVEL_NAME(matmul_packed);
const struct kernel LEVEL_NAME(matmul_packed) = {
	.op = "matmul",
	.variant = "packed-dotprod",
	.claims = claims,
	.scratch = scratch,
	.kept = kept,
	.phases_of = phases,
	.run = run,
};
