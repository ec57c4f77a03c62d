/*
 * kernels/wide.h - the types whose values f32 cannot hold: f64, and integers of 32 and 64 bits
 */
#ifndef KERNELS_WIDE_H
#define KERNELS_WIDE_H

#include "kernels/dtype.h"

bool dtype_is_wide(enum dtype t);

/* N elements of any type that decodes to doubles: integers of 64 bits round to nearest even, types
   that are not wide go through f32. N at most WIDE_MAX, a multiple of the block. */
#define WIDE_MAX 1024
void wide_to_f64(enum dtype t, const void *src, double *dst, size_t n);

#endif
