/*
 * kernels/blocks.h - the layouts of ggml's block types
 *
 * Members are bytes alone, little-endian where they make up a number, so that a block may lie
 * at any address and its size is the sum of its members; each is held to the table in
 * dtype.h. Source: ggml's block structs. `d` is always the scale, an f16 unless said.
 *
 * Q8_1 is what ggml computes with, not what it stores: no file holds it. Its struct is two f16 (scale,
 * and scale times sum) and 32 bytes, 36 in all; gguf-py's table has 40, from the time when
 * the two were f32.
 */
#ifndef KERNELS_BLOCKS_H
#define KERNELS_BLOCKS_H

#include "kernels/dtype.h"

#define BLOCK_K 256 /* elements of a K, IQ or TQ block */

/* Element j is in the low half of byte j, element j + 16 in the high half of it. */
struct block_q4_0 {
	uint8_t d[2];
	uint8_t qs[16]; /* q + 8 */
};

struct block_q4_1 {
	uint8_t d[2];
	uint8_t m[2]; /* f16, added */
	uint8_t qs[16];
};

struct block_q5_0 {
	uint8_t d[2];
	uint8_t qh[4];	/* u32: bit j is the fifth bit of element j */
	uint8_t qs[16]; /* q + 16 */
};

struct block_q5_1 {
	uint8_t d[2];
	uint8_t m[2];
	uint8_t qh[4];
	uint8_t qs[16];
};

struct block_q8_0 {
	uint8_t d[2];
	int8_t qs[32];
};

struct block_q8_1 {
	uint8_t d[2];
	uint8_t s[2]; /* f16: d times the sum of qs */
	int8_t qs[32];
};

/* 16 groups of 16: value = d * (scale & 15) * q - dmin * (scale >> 4). */
struct block_q2_k {
	uint8_t scales[16];
	uint8_t qs[64];
	uint8_t d[2];
	uint8_t dmin[2];
};

/* 16 groups of 16, 6-bit scales less 32; a hmask bit that is not set takes 4 from q. */
struct block_q3_k {
	uint8_t hmask[32];
	uint8_t qs[64];
	uint8_t scales[12];
	uint8_t d[2];
};

/* 8 groups of 32, 6-bit scales and minima. */
struct block_q4_k {
	uint8_t d[2];
	uint8_t dmin[2];
	uint8_t scales[12];
	uint8_t qs[128];
};

struct block_q5_k {
	uint8_t d[2];
	uint8_t dmin[2];
	uint8_t scales[12];
	uint8_t qh[32];
	uint8_t qs[128];
};

/* 16 groups of 16, 8-bit scales, 6-bit q + 32. */
struct block_q6_k {
	uint8_t ql[128];
	uint8_t qh[64];
	int8_t scales[16];
	uint8_t d[2];
};

struct block_q8_k {
	uint8_t d[4]; /* f32 */
	int8_t qs[256];
	uint8_t sums[32]; /* i16: of each 16 qs */
};

struct block_iq2_xxs {
	uint8_t d[2];
	uint8_t qs[64];
};

struct block_iq2_xs {
	uint8_t d[2];
	uint8_t qs[64];
	uint8_t scales[8];
};

struct block_iq2_s {
	uint8_t d[2];
	uint8_t qs[64];
	uint8_t qh[8];
	uint8_t scales[8];
};

struct block_iq3_xxs {
	uint8_t d[2];
	uint8_t qs[96];
};

struct block_iq3_s {
	uint8_t d[2];
	uint8_t qs[64];
	uint8_t qh[8];
	uint8_t signs[32];
	uint8_t scales[4];
};

struct block_iq1_s {
	uint8_t d[2];
	uint8_t qs[32];
	uint8_t qh[16];
};

/* Its scale lies in the top bits of the four u16 of `scales`. */
struct block_iq1_m {
	uint8_t qs[32];
	uint8_t qh[16];
	uint8_t scales[8];
};

struct block_iq4_nl {
	uint8_t d[2];
	uint8_t qs[16];
};

/* 8 groups of 32, 6-bit scales less 32: four bits in scales_l, two in scales_h. */
struct block_iq4_xs {
	uint8_t d[2];
	uint8_t scales_h[2];
	uint8_t scales_l[4];
	uint8_t qs[128];
};

/* Five digits of base 3 a byte, the most significant first; four in qh. */
struct block_tq1_0 {
	uint8_t qs[48];
	uint8_t qh[4];
	uint8_t d[2];
};

struct block_tq2_0 {
	uint8_t qs[64];
	uint8_t d[2];
};

struct block_mxfp4 {
	uint8_t e; /* E8M0 */
	uint8_t qs[16];
};

/* Four groups of 16, each with an unsigned E4M3 scale. */
struct block_nvfp4 {
	uint8_t d[4];
	uint8_t qs[32];
};

/* A set bit is d, another one -d. */
struct block_q1_0 {
	uint8_t d[2];
	uint8_t qs[16];
};

/* X(the enumerator in dtype.h, the struct) */
#define BLOCK_LIST(X)      \
 X(Q4_0, block_q4_0)       \
 X(Q4_1, block_q4_1)       \
 X(Q5_0, block_q5_0)       \
 X(Q5_1, block_q5_1)       \
 X(Q8_0, block_q8_0)       \
 X(Q8_1, block_q8_1)       \
 X(Q2_K, block_q2_k)       \
 X(Q3_K, block_q3_k)       \
 X(Q4_K, block_q4_k)       \
 X(Q5_K, block_q5_k)       \
 X(Q6_K, block_q6_k)       \
 X(Q8_K, block_q8_k)       \
 X(IQ2_XXS, block_iq2_xxs) \
 X(IQ2_XS, block_iq2_xs)   \
 X(IQ3_XXS, block_iq3_xxs) \
 X(IQ1_S, block_iq1_s)     \
 X(IQ4_NL, block_iq4_nl)   \
 X(IQ3_S, block_iq3_s)     \
 X(IQ2_S, block_iq2_s)     \
 X(IQ4_XS, block_iq4_xs)   \
 X(IQ1_M, block_iq1_m)     \
 X(TQ1_0, block_tq1_0)     \
 X(TQ2_0, block_tq2_0)     \
 X(MXFP4, block_mxfp4)     \
 X(NVFP4, block_nvfp4)     \
 X(Q1_0, block_q1_0)

/* BLOCK_BYTES_Q4_0 and so on, from the table. */
enum {
#define BLOCK_BYTES(id, name, block, bytes, gguf, safetensors) BLOCK_BYTES_##id = (bytes),
	DTYPE_LIST(BLOCK_BYTES)
#undef BLOCK_BYTES
};

#define BLOCK_CHECK(id, type) \
 _Static_assert(sizeof(struct type) == BLOCK_BYTES_##id, #type " is not of the table's size");
BLOCK_LIST(BLOCK_CHECK)
#undef BLOCK_CHECK

#endif
