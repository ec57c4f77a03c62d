/*
 * kernels/dtype.c - the table of element types, and what is looked up in it
 *
 * The numbers of GGUF are ggml's, the names of safetensors its dtype list's.
 */
#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/dequant.h"

static const struct dtype_info table[DTYPE_COUNT] = {
	[DTYPE_UNKNOWN] = { "unknown", 1, 0, -1, NULL },
#define ROW(id, name, block, bytes, gguf, safetensors) \
 [DTYPE_##id] = { name, block, bytes, gguf, safetensors },
	DTYPE_LIST(ROW)
#undef ROW
};

/* NULL where only sizes are known. */
static dequant_function *const decoders[DTYPE_COUNT] = {
	[DTYPE_F64] = dequant_f64,
	[DTYPE_F32] = dequant_f32,
	[DTYPE_F16] = dequant_f16,
	[DTYPE_BF16] = dequant_bf16,
	[DTYPE_F8_E4M3] = dequant_f8_e4m3,
	[DTYPE_F8_E5M2] = dequant_f8_e5m2,
	[DTYPE_F8_E4M3FNUZ] = dequant_f8_e4m3fnuz,
	[DTYPE_F8_E5M2FNUZ] = dequant_f8_e5m2fnuz,
	[DTYPE_F8_E8M0] = dequant_f8_e8m0,
	[DTYPE_I64] = dequant_i64,
	[DTYPE_I32] = dequant_i32,
	[DTYPE_I16] = dequant_i16,
	[DTYPE_I8] = dequant_i8,
	[DTYPE_U64] = dequant_u64,
	[DTYPE_U32] = dequant_u32,
	[DTYPE_U16] = dequant_u16,
	[DTYPE_U8] = dequant_u8,
	[DTYPE_BOOL] = dequant_bool,
	[DTYPE_Q4_0] = dequant_q4_0,
	[DTYPE_Q4_1] = dequant_q4_1,
	[DTYPE_Q5_0] = dequant_q5_0,
	[DTYPE_Q5_1] = dequant_q5_1,
	[DTYPE_Q8_0] = dequant_q8_0,
	[DTYPE_Q2_K] = dequant_q2_k,
	[DTYPE_Q3_K] = dequant_q3_k,
	[DTYPE_Q4_K] = dequant_q4_k,
	[DTYPE_Q5_K] = dequant_q5_k,
	[DTYPE_Q6_K] = dequant_q6_k,
	[DTYPE_IQ4_NL] = dequant_iq4_nl,
	[DTYPE_IQ4_XS] = dequant_iq4_xs,
	[DTYPE_TQ1_0] = dequant_tq1_0,
	[DTYPE_TQ2_0] = dequant_tq2_0,
	[DTYPE_MXFP4] = dequant_mxfp4,
	[DTYPE_NVFP4] = dequant_nvfp4,
	[DTYPE_Q1_0] = dequant_q1_0,
};

static encode_function *const encoders[DTYPE_COUNT] = {
	[DTYPE_F64] = encode_f64,   [DTYPE_F32] = encode_f32, [DTYPE_F16] = encode_f16,
	[DTYPE_BF16] = encode_bf16, [DTYPE_I64] = encode_i64, [DTYPE_I32] = encode_i32,
	[DTYPE_I16] = encode_i16,   [DTYPE_I8] = encode_i8,   [DTYPE_U64] = encode_u64,
	[DTYPE_U32] = encode_u32,   [DTYPE_U16] = encode_u16, [DTYPE_U8] = encode_u8,
	[DTYPE_BOOL] = encode_bool,
};

const struct dtype_info *dtype_info(enum dtype t)
{
	return &table[(unsigned)t < DTYPE_COUNT ? t : DTYPE_UNKNOWN];
}

const char *dtype_name(enum dtype t)
{
	return dtype_info(t)->name;
}

/* Our names are lower-case ASCII; the locale has no say. */
static bool same_name(const char *name, const char *ours)
{
	for (; *name && *ours; name++, ours++) {
		char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;

		if (c != *ours)
			return false;
	}
	return *name == *ours;
}

enum dtype dtype_by_name(const char *name)
{
	for (int t = 1; t < DTYPE_COUNT; t++)
		if (same_name(name, table[t].name))
			return (enum dtype)t;
	return DTYPE_UNKNOWN;
}

enum dtype dtype_by_gguf(uint32_t number)
{
	for (int t = 1; t < DTYPE_COUNT; t++)
		if (table[t].gguf >= 0 && (uint32_t)table[t].gguf == number)
			return (enum dtype)t;
	return DTYPE_UNKNOWN;
}

enum dtype dtype_by_safetensors(const char *name, size_t size)
{
	for (int t = 1; t < DTYPE_COUNT; t++) {
		const char *theirs = table[t].safetensors;

		if (theirs && strlen(theirs) == size && memcmp(theirs, name, size) == 0)
			return (enum dtype)t;
	}
	return DTYPE_UNKNOWN;
}

const char *dtype_removed_gguf(uint32_t number)
{
	switch (number) {
	case 4: return "q4_2";
	case 5: return "q4_3";
	case 31: return "q4_0_4_4";
	case 32: return "q4_0_4_8";
	case 33: return "q4_0_8_8";
	case 36: return "iq4_nl_4_4";
	case 37: return "iq4_nl_4_8";
	case 38: return "iq4_nl_8_8";
	default: return NULL;
	}
}

bool dtype_size(enum dtype t, uint64_t n, size_t *out)
{
	const struct dtype_info *info = dtype_info(t);
	size_t size;

	if (info->bytes == 0 || n % info->block != 0)
		return false;
	if (__builtin_mul_overflow(n / info->block, info->bytes, &size))
		return false;
	*out = size;
	return true;
}

bool dtype_decodes(enum dtype t)
{
	return (unsigned)t < DTYPE_COUNT && decoders[t];
}

bool dtype_encodes(enum dtype t)
{
	return (unsigned)t < DTYPE_COUNT && encoders[t];
}

void dtype_to_f32(enum dtype t, const void *src, float *dst, size_t n)
{
	decoders[t](src, dst, n);
}

void dtype_from_f32(enum dtype t, const float *src, void *dst, size_t n)
{
	encoders[t](src, dst, n);
}

float f16_to_f32(uint16_t h)
{
	return half_to_f32(h);
}

uint16_t f16_from_f32(float f)
{
	return half_from_f32(f);
}

float bf16_to_f32(uint16_t h)
{
	return brain_to_f32(h);
}

uint16_t bf16_from_f32(float f)
{
	return brain_from_f32(f);
}
