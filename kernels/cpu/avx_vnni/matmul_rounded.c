/* kernels/cpu/avx_vnni/matmul_rounded.c - products of rounded rows with VPDPBUSD of AVX-VNNI, four products an instruction */
#include "kernels/cpu/vnni.h"

#define ROUNDED_DOT(sum, w, x) vnni_fours((sum), (w), (x))

#include "kernels/cpu/matmul_rounded.h"

const struct kernel LEVEL_NAME(matmul_rounded);
const struct kernel LEVEL_NAME(matmul_rounded) = {
	.op = "matmul",
	.variant = "rounded-vnni",
	.claims = claims,
	.scratch = scratch,
	.phases_of = phases,
	.run = run,
};
