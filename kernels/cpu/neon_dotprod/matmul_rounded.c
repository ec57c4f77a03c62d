/* kernels/cpu/neon_dotprod/matmul_rounded.c - products of rounded rows with SDOT, four products an instruction */
#include "kernels/cpu/intrinsics.h"

#define ROUNDED_DOT(sum, w, x) vdotq_s32((sum), (w), (x))

#include "kernels/cpu/matmul_rounded.h"

const struct kernel LEVEL_NAME(matmul_rounded);
const struct kernel LEVEL_NAME(matmul_rounded) = {
	.op = "matmul",
	.variant = "rounded-dotprod",
	.claims = claims,
	.scratch = scratch,
	.phases_of = phases,
	.run = run,
};
