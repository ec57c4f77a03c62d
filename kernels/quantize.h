/*
 * kernels/quantize.h - rows of f32 to the block types of ggml
 *
 * A value becomes a small integer, and its block or group gets a scale (and a minimum) that makes the squared error small, each value's
 * error weighted. Which integers and which scales is fixed by the reference (kernels/ref/quantize_*.c), which does what ggml's
 * `quantize_row_*_ref` and `quantize_*` do, sum by sum and in their order: the same values give the same bytes, at every level.
 *
 * Sums are in f32, one value after the other. So a level does not cut a sum in lanes: it puts one group in each lane.
 */
#ifndef KERNELS_QUANTIZE_H
#define KERNELS_QUANTIZE_H

#include "kernels/cpu/level.h"
#include "kernels/dtype.h"

/* q4_0 q4_1 q5_0 q5_1 q8_0 iq4_nl q2_k q3_k q4_k q5_k q6_k; and f16, bf16, as dtype_from_f32 has them */
bool quantize_knows(enum dtype t);
/* Whether weights make a difference: not to q8_0, f16 and bf16. */
bool quantize_weighs(enum dtype t);

/* Beyond it no type has a scale, and searches overflow. */
#define QUANTIZE_LARGEST 0x1p30f

/*
 * One row: N values, a multiple of T's block, all below QUANTIZE_LARGEST in size (of f16 and bf16: any). WEIGHTS: what an error in each column costs, N finite values of 0 or more, of
 * which no 16 in a row (columns 16 k to 16 k + 15) are all 0; or NULL, and then larger values count more. Values past the range of
 * a type's scale (f16: 65504 times what the integers reach) give a scale that is infinite: quantize_bad_block tells.
 */
void quantize_row(enum level level, enum dtype t, const float *x, const float *weights, size_t n,
		  void *out);
/* The definition that every level is held to. */
void quantize_row_ref(enum dtype t, const float *x, const float *weights, size_t n, void *out);

/* The first of N blocks with a scale or minimum (of f16 and bf16: a value) that is infinite or NaN; N when all are good. */
size_t quantize_bad_block(enum dtype t, const void *blocks, size_t n);

#endif
