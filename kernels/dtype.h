/*
 * kernels/dtype.h - every element type of GGUF and safetensors, in one table
 *
 * A type is stored as blocks: `block` elements of a row share `bytes` bytes (1 and the element's
 * size for plain types). Sources: ggml's type enumeration and block layouts; safetensors'
 * dtype list; OCP 8-bit floating point 1.0 (F8) and microscaling 1.0 (MX) specifications.
 *
 * Values are decoded to f32 for the types that dtype_decodes() names; all the others are
 * sized, listed and copied, and whoever needs their values refuses them by name.
 */
#ifndef KERNELS_DTYPE_H
#define KERNELS_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(enumerator, our name, block, bytes, GGUF number, safetensors name)
 * -1 and NULL where a format does not have it.
 */
#define DTYPE_LIST(X)                                   \
 X(F64, "f64", 1, 8, 28, "F64")                         \
 X(F32, "f32", 1, 4, 0, "F32")                          \
 X(F16, "f16", 1, 2, 1, "F16")                          \
 X(BF16, "bf16", 1, 2, 30, "BF16")                      \
 X(F8_E4M3, "f8_e4m3", 1, 1, -1, "F8_E4M3")             \
 X(F8_E5M2, "f8_e5m2", 1, 1, -1, "F8_E5M2")             \
 X(F8_E4M3FNUZ, "f8_e4m3fnuz", 1, 1, -1, "F8_E4M3FNUZ") \
 X(F8_E5M2FNUZ, "f8_e5m2fnuz", 1, 1, -1, "F8_E5M2FNUZ") \
 X(F8_E8M0, "f8_e8m0", 1, 1, -1, "F8_E8M0")             \
 X(F6_E2M3, "f6_e2m3", 4, 3, -1, "F6_E2M3")             \
 X(F6_E3M2, "f6_e3m2", 4, 3, -1, "F6_E3M2")             \
 X(F4, "f4", 2, 1, -1, "F4")                            \
 X(I64, "i64", 1, 8, 27, "I64")                         \
 X(I32, "i32", 1, 4, 26, "I32")                         \
 X(I16, "i16", 1, 2, 25, "I16")                         \
 X(I8, "i8", 1, 1, 24, "I8")                            \
 X(U64, "u64", 1, 8, -1, "U64")                         \
 X(U32, "u32", 1, 4, -1, "U32")                         \
 X(U16, "u16", 1, 2, -1, "U16")                         \
 X(U8, "u8", 1, 1, -1, "U8")                            \
 X(BOOL, "bool", 1, 1, -1, "BOOL")                      \
 X(C64, "c64", 1, 8, -1, "C64")                         \
 X(Q4_0, "q4_0", 32, 18, 2, NULL)                       \
 X(Q4_1, "q4_1", 32, 20, 3, NULL)                       \
 X(Q5_0, "q5_0", 32, 22, 6, NULL)                       \
 X(Q5_1, "q5_1", 32, 24, 7, NULL)                       \
 X(Q8_0, "q8_0", 32, 34, 8, NULL)                       \
 X(Q8_1, "q8_1", 32, 36, 9, NULL)                       \
 X(Q2_K, "q2_k", 256, 84, 10, NULL)                     \
 X(Q3_K, "q3_k", 256, 110, 11, NULL)                    \
 X(Q4_K, "q4_k", 256, 144, 12, NULL)                    \
 X(Q5_K, "q5_k", 256, 176, 13, NULL)                    \
 X(Q6_K, "q6_k", 256, 210, 14, NULL)                    \
 X(Q8_K, "q8_k", 256, 292, 15, NULL)                    \
 X(IQ2_XXS, "iq2_xxs", 256, 66, 16, NULL)               \
 X(IQ2_XS, "iq2_xs", 256, 74, 17, NULL)                 \
 X(IQ3_XXS, "iq3_xxs", 256, 98, 18, NULL)               \
 X(IQ1_S, "iq1_s", 256, 50, 19, NULL)                   \
 X(IQ4_NL, "iq4_nl", 32, 18, 20, NULL)                  \
 X(IQ3_S, "iq3_s", 256, 110, 21, NULL)                  \
 X(IQ2_S, "iq2_s", 256, 82, 22, NULL)                   \
 X(IQ4_XS, "iq4_xs", 256, 136, 23, NULL)                \
 X(IQ1_M, "iq1_m", 256, 56, 29, NULL)                   \
 X(TQ1_0, "tq1_0", 256, 54, 34, NULL)                   \
 X(TQ2_0, "tq2_0", 256, 66, 35, NULL)                   \
 X(MXFP4, "mxfp4", 32, 17, 39, NULL)                    \
 X(NVFP4, "nvfp4", 64, 36, 40, NULL)                    \
 X(Q1_0, "q1_0", 128, 18, 41, NULL)

enum dtype {
	DTYPE_UNKNOWN, /* a name or number that is not in the table; has no size */
#define DTYPE_ENUM(id, name, block, bytes, gguf, safetensors) DTYPE_##id,
	DTYPE_LIST(DTYPE_ENUM)
#undef DTYPE_ENUM
		DTYPE_COUNT
};

struct dtype_info {
	const char *name;	 /* as people write it: `q4_k` */
	uint32_t block;		 /* elements that share a block */
	uint32_t bytes;		 /* of a block */
	int gguf;		 /* ggml's number, or -1 */
	const char *safetensors; /* or NULL */
};

/* DTYPE_UNKNOWN is named `unknown`, with a block of 1 and 0 bytes. */
const struct dtype_info *dtype_info(enum dtype t);
const char *dtype_name(enum dtype t);

/* DTYPE_UNKNOWN when there is none. dtype_by_name takes our names in either case. */
enum dtype dtype_by_name(const char *name);
enum dtype dtype_by_gguf(uint32_t number);
enum dtype dtype_by_safetensors(const char *name, size_t size);
/* What ggml called a number that it has since removed (4, 5, 31-33, 36-38), or NULL. */
const char *dtype_removed_gguf(uint32_t number);

/*
 * Bytes of N consecutive elements. False when N is no multiple of the block, or the size does
 * not fit, or the type is unknown.
 */
bool dtype_size(enum dtype t, uint64_t n, size_t *out);

bool dtype_decodes(enum dtype t); /* dtype_to_f32 knows it */
bool dtype_encodes(enum dtype t); /* dtype_from_f32 knows it */

/*
 * N elements (a multiple of the block) from SRC, which need not be aligned, to DST. Integers
 * and f64 round to nearest even; bool gives 0 or 1. The type must be one that decodes.
 */
void dtype_to_f32(enum dtype t, const void *src, float *dst, size_t n);

/*
 * N elements from f32, rounded to nearest even. f16 and bf16: past the range becomes infinity, a
 * NaN stays a quiet NaN. Integers: saturated, NaN gives 0. The type must be one that encodes
 * (f64, f32, f16, bf16, the integers, bool: any non-zero is 1).
 */
void dtype_from_f32(enum dtype t, const float *src, void *dst, size_t n);

/* Single values; the definitions that the above are held to. */
float f16_to_f32(uint16_t h);
uint16_t f16_from_f32(float f);
float bf16_to_f32(uint16_t h);
uint16_t bf16_from_f32(float f);

#endif
