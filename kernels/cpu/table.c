/*
 * kernels/cpu/table.c - the kernels of a level, by preference
 */
#include "kernels/cpu/level.h"

#include "kernels/kernel.h"

#define KERNELS(X) \
 X(matmul_tiles)   \
 X(matmul_acc_tiles)

#define DECLARE(name) extern const struct kernel LEVEL_NAME(name);
KERNELS(DECLARE)

extern const struct kernel *const LEVEL_NAME(cpu_kernels)[];

#define ENTRY(name) &LEVEL_NAME(name),
const struct kernel *const LEVEL_NAME(cpu_kernels)[] = { KERNELS(ENTRY) NULL };
