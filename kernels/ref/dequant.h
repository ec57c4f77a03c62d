/*
 * kernels/ref/dequant.h - one decoder a type, for the table in dtype.c
 *
 * Each turns N elements, a multiple of the type's block, from SRC (any alignment) into f32. The
 * order of the f32 operations is gguf-py's (gguf/quants.py), so the results have its bits, but
 * for the payloads of NaN. NaN and infinite scales go through the same arithmetic.
 */
#ifndef KERNELS_REF_DEQUANT_H
#define KERNELS_REF_DEQUANT_H

#include <stddef.h>

typedef void dequant_function(const void *src, float *dst, size_t n);

dequant_function dequant_f64, dequant_f32, dequant_f16, dequant_bf16;
dequant_function dequant_f8_e4m3, dequant_f8_e5m2, dequant_f8_e4m3fnuz, dequant_f8_e5m2fnuz;
dequant_function dequant_f8_e8m0;
dequant_function dequant_i64, dequant_i32, dequant_i16, dequant_i8;
dequant_function dequant_u64, dequant_u32, dequant_u16, dequant_u8, dequant_bool;
dequant_function dequant_q4_0, dequant_q4_1, dequant_q5_0, dequant_q5_1, dequant_q8_0, dequant_q1_0;
dequant_function dequant_q2_k, dequant_q3_k, dequant_q4_k, dequant_q5_k, dequant_q6_k;
dequant_function dequant_iq4_nl, dequant_iq4_xs;
dequant_function dequant_tq1_0, dequant_tq2_0;
dequant_function dequant_mxfp4, dequant_nvfp4;

/* And back, for plain types alone. */
typedef void encode_function(const float *src, void *dst, size_t n);

encode_function encode_f64, encode_f32, encode_f16, encode_bf16;
encode_function encode_i64, encode_i32, encode_i16, encode_i8;
encode_function encode_u64, encode_u32, encode_u16, encode_u8, encode_bool;

#endif
