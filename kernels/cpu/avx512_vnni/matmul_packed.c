/* kernels/cpu/avx512_vnni/matmul_packed.c - products of rounded rows by packed weights with VPDPBUSD of AVX-512, four products an instruction */
#include "kernels/cpu/vnni.h"

#define ROUNDED_DOT(sum, w, x) vnni_fours((sum), (w), (x))

#include "kernels/cpu/matmul_packed.h"

const struct kernel LEVEL_NAME(matmul_packed);
const struct kernel LEVEL_NAME(matmul_packed) = {
	.op = "matmul",
	.variant = "packed-vnni",
	.claims = claims,
	.scratch = scratch,
	.kept = kept,
	.phases_of = phases,
	.run = run,
};
