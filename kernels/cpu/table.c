/*
 * kernels/cpu/table.c - the kernels of a level, by preference
 */
#include "kernels/cpu/level.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"

extern const struct kernel *const LEVEL_NAME(cpu_kernels)[];

const struct kernel *const LEVEL_NAME(cpu_kernels)[] = {
	NULL,
};
