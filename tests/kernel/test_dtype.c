/*
 * test_dtype.c - the table of element types, and single values in and out
 *
 * What is right comes from gguf-py, NumPy, ml_dtypes and safetensors (scripts/gen-fixtures-dtype),
 * from the formats' definitions where a value is written out here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/bits.h"
#include "kernels/dtype.h"
#include "tests/kernel/fnv.h"
#include "tests/tap.h"

#define GOLDEN "fixtures/golden/dtype/"

/* One line of sizes.txt against the table. */
static bool line_agrees(const char *line)
{
	unsigned number, block, bytes, bits;
	char name[32];
	size_t size;
	enum dtype t;

	if (sscanf(line, "safetensors %31s %u", name, &bits) == 2) {
		t = dtype_by_safetensors(name, strlen(name));
		return t != DTYPE_UNKNOWN && dtype_size(t, 8, &size) && size == bits;
	}
	if (sscanf(line, "gguf %u %31s %u %u", &number, name, &block, &bytes) != 4)
		return false;
	if (number == 9)
		bytes = 36; /* kernels/blocks.h says why */
	t = dtype_by_gguf(number);
	return t != DTYPE_UNKNOWN && strcmp(dtype_name(t), name) == 0 &&
	       dtype_info(t)->block == block && dtype_info(t)->bytes == bytes;
}

static void test_sizes_are_those_of_the_formats(void)
{
	size_t n, gguf = 0, safetensors = 0, lines = 0;
	char *text = tap_fixture(GOLDEN "sizes.txt", &n), *line, *rest = text;

	while ((line = strsep(&rest, "\n")) && *line) {
		tap_ok(line_agrees(line), "%s", line);
		lines++;
	}
	for (int t = 1; t < DTYPE_COUNT; t++) {
		gguf += dtype_info((enum dtype)t)->gguf >= 0;
		safetensors += dtype_info((enum dtype)t)->safetensors != NULL;
	}
	tap_is_u64(gguf + safetensors, lines, "no type that neither format has");
	free(text);
}

static void test_names(void)
{
	bool all = true;

	for (int t = 1; t < DTYPE_COUNT; t++)
		all = all && dtype_by_name(dtype_name((enum dtype)t)) == (enum dtype)t;
	tap_ok(all, "every name leads back to its type");
	tap_is_u64(dtype_by_name("Q4_K"), DTYPE_Q4_K, "upper case");
	tap_is_u64(dtype_by_name("BF16"), DTYPE_BF16, "upper case");
	tap_is_u64(dtype_by_name("q4_"), DTYPE_UNKNOWN, "a prefix is no name");
	tap_is_u64(dtype_by_name("q4_kk"), DTYPE_UNKNOWN, "nor is a longer one");
	tap_is_u64(dtype_by_name(""), DTYPE_UNKNOWN, "nor none");
	tap_is_u64(dtype_by_name("unknown"), DTYPE_UNKNOWN, "unknown is unknown");
	tap_is_u64(dtype_by_safetensors("F16x", 3), DTYPE_F16, "the length counts");
	tap_is_u64(dtype_by_safetensors("f16", 3), DTYPE_UNKNOWN, "safetensors' case is exact");
	tap_is_u64(dtype_by_safetensors("F8_E4M3FN", 9), DTYPE_UNKNOWN, "not in its list");
	tap_is_u64(dtype_by_gguf(4), DTYPE_UNKNOWN, "a removed number");
	tap_is_u64(dtype_by_gguf(UINT32_MAX), DTYPE_UNKNOWN, "-1 is no number");
	tap_is_text(dtype_removed_gguf(4), "q4_2", "what it was");
	tap_is_text(dtype_removed_gguf(38), "iq4_nl_8_8", "what it was");
	tap_ok(!dtype_removed_gguf(12) && !dtype_removed_gguf(42), "not removed");
	tap_is_text(dtype_name((enum dtype)9999), "unknown", "past the table");
}

static void test_sizes(void)
{
	size_t size = 7;

	tap_ok(dtype_size(DTYPE_Q4_K, 512, &size) && size == 288, "two blocks");
	tap_ok(dtype_size(DTYPE_Q4_K, 0, &size) && size == 0, "none");
	tap_ok(dtype_size(DTYPE_F6_E2M3, 8, &size) && size == 6, "four elements in three bytes");
	size = 7;
	tap_ok(!dtype_size(DTYPE_Q4_K, 255, &size), "no whole block");
	tap_ok(!dtype_size(DTYPE_F4, 1, &size), "half a byte");
	tap_ok(!dtype_size(DTYPE_UNKNOWN, 1, &size), "no size");
	tap_ok(!dtype_size(DTYPE_F64, UINT64_C(1) << 61, &size), "2^64 bytes");
	tap_ok(!dtype_size(DTYPE_F32, UINT64_MAX, &size), "wraps");
	tap_is_u64(size, 7, "left alone on failure");
	tap_ok(dtype_size(DTYPE_F64, (UINT64_C(1) << 61) - 1, &size), "8 bytes less");
}

static void test_what_decodes_and_encodes(void)
{
	unsigned decodes = 0, encodes = 0;

	for (int t = 0; t < DTYPE_COUNT + 2; t++) {
		decodes += dtype_decodes((enum dtype)t);
		encodes += dtype_encodes((enum dtype)t);
	}
	tap_is_u64(decodes, 35, "types that decode");
	tap_is_u64(encodes, 13, "types that encode");
	tap_ok(!dtype_decodes(DTYPE_UNKNOWN) && !dtype_decodes(DTYPE_C64), "complex does not");
	tap_ok(!dtype_decodes(DTYPE_IQ2_S) && !dtype_encodes(DTYPE_Q8_0), "nor these yet");
}

/* The row of a type as the man page has it. */
static void man_row(enum dtype t, char *row, size_t size)
{
	const struct dtype_info *i = dtype_info(t);
	const char *safetensors = i->safetensors ? i->safetensors : "-";
	const char *values = dtype_encodes(t) ? "both" : dtype_decodes(t) ? "decodes" : "-";
	char number[16] = "-";

	if (i->gguf >= 0)
		snprintf(number, sizeof(number), "%d", i->gguf);
	snprintf(row, size, "\n.It %s Ta %u Ta %u Ta %g Ta %s Ta %s Ta %s\n", i->name, i->block,
		 i->bytes, i->bytes * 8.0 / i->block, number, safetensors, values);
}

static void test_the_man_page_is_the_table(void)
{
	size_t n, rows = 0;
	char *text = tap_fixture("man/man7/nnutils-dtypes.7", &n), row[160];

	for (int t = 1; t < DTYPE_COUNT; t++) {
		man_row((enum dtype)t, row, sizeof(row));
		tap_ok(strstr(text, row) != NULL, "row of %s", dtype_name((enum dtype)t));
	}
	for (const char *at = text; (at = strstr(at, "\n.It ")); at++)
		rows++;
	tap_is_u64(rows, DTYPE_COUNT, "no other rows: the heading and the types");
	free(text);
}

static uint64_t golden_hash(const char *name)
{
	size_t n;
	char *text = tap_fixture(GOLDEN "halves.txt", &n);
	char *at = strstr(text, name);
	uint64_t hash = at ? strtoull(at + strlen(name), NULL, 16) : 0;

	free(text);
	return hash;
}

static void test_all_halves_decode(void)
{
	uint64_t f16 = FNV_START, bf16 = FNV_START;
	uint8_t bytes[4];

	for (unsigned h = 0; h < 65536; h++) {
		store_u32(bytes, f32_bits(f16_to_f32((uint16_t)h)));
		f16 = fnv_add(f16, bytes, 4);
		store_u32(bytes, f32_bits(bf16_to_f32((uint16_t)h)));
		bf16 = fnv_add(bf16, bytes, 4);
	}
	tap_is_u64(f16, golden_hash("f16_to_f32 "), "all 65,536 f16");
	tap_is_u64(bf16, golden_hash("\nbf16_to_f32 "), "all 65,536 bf16");
}

/* Adds what F becomes in both types to the two hashes. */
static void add_encoded(uint32_t bits, uint64_t *f16, uint64_t *bf16)
{
	float f = f32_of_bits(bits);
	uint8_t bytes[2];

	if (f != f)
		return;
	store_u16(bytes, f16_from_f32(f));
	*f16 = fnv_add(*f16, bytes, 2);
	store_u16(bytes, bf16_from_f32(f));
	*bf16 = fnv_add(*bf16, bytes, 2);
}

/* The same numbers in the same order as spread() of the generator. */
static void test_halves_encode(void)
{
	uint64_t f16 = FNV_START, bf16 = FNV_START;

	for (uint64_t i = 0; i < 65536; i++)
		add_encoded((uint32_t)(i * 2654435761u), &f16, &bf16);
	for (uint32_t step = 0; step < 3; step++)
		for (unsigned h = 0; h < 0x7bff; h++) {
			float sum = f16_to_f32((uint16_t)h) + f16_to_f32((uint16_t)(h + 1));

			add_encoded(f32_bits(sum * 0.5f) + step - 1, &f16, &bf16);
		}
	for (uint32_t step = 0; step < 3; step++)
		for (uint32_t h = 0; h < 0x7f80; h++)
			add_encoded((h << 16 | 0x8000) + step - 1, &f16, &bf16);
	tap_is_u64(f16, golden_hash("\nf16_from_f32 "), "f16: spread, and around every tie");
	tap_is_u64(bf16, golden_hash("\nbf16_from_f32 "), "bf16: spread, and around every tie");
}

/* Case G10. */
static void test_bf16_rounding(void)
{
	static const struct {
		uint32_t f32;
		uint16_t bf16;
		const char *what;
	} cases[] = {
		{ 0x7f7fffff, 0x7f80, "the largest f32 becomes infinity" },
		{ 0xff7fffff, 0xff80, "and its negative" },
		{ 0x7f7f7fff, 0x7f7f, "just below half way to it does not" },
		{ 0x7f800000, 0x7f80, "infinity stays" },
		{ 0x7fffffff, 0x7fff, "NaN keeps its top bits" },
		{ 0x7f800001, 0x7fc0, "a signalling NaN is quiet, and no infinity" },
		{ 0xff812345, 0xffc1, "its sign and top bits are kept" },
		{ 0x80000000, 0x8000, "-0" },
		{ 0x00000001, 0x0000, "the least subnormal" },
		{ 0x00008000, 0x0000, "a tie to even below" },
		{ 0x00018000, 0x0002, "a tie to even above" },
		{ 0x00008001, 0x0001, "past a tie" },
		{ 0x3f808000, 0x3f80, "1 + 2^-8 ties to 1" },
		{ 0x3f818000, 0x3f82, "1 + 3 * 2^-8 ties up" },
		{ 0x3f808001, 0x3f81, "past the tie" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		tap_is_u64(bf16_from_f32(f32_of_bits(cases[i].f32)), cases[i].bf16, "%s",
			   cases[i].what);
}

static void test_f16_rounding(void)
{
	static const struct {
		uint32_t f32;
		uint16_t f16;
		const char *what;
	} cases[] = {
		{ 0x477fe000, 0x7bff, "65504, the largest" },
		{ 0x477fefff, 0x7bff, "just below 65520" },
		{ 0x477ff000, 0x7c00, "65520 ties to infinity" },
		{ 0x47800000, 0x7c00, "65536" },
		{ 0x7f7fffff, 0x7c00, "the largest f32" },
		{ 0xff800000, 0xfc00, "-inf" },
		{ 0x7f800001, 0x7e00, "a signalling NaN is quiet" },
		{ 0xffaaa000, 0xff55, "its sign and top bits are kept" },
		{ 0x80000000, 0x8000, "-0" },
		{ 0x33000000, 0x0000, "2^-25 ties to 0" },
		{ 0x33000001, 0x0001, "past it" },
		{ 0x33800000, 0x0001, "2^-24, the least subnormal" },
		{ 0x387fe000, 0x0400, "a subnormal tie that becomes normal" },
		{ 0x38800000, 0x0400, "2^-14, the least normal" },
		{ 0x00000001, 0x0000, "the least f32" },
		{ 0x3f801000, 0x3c00, "1 + 2^-11 ties to 1" },
		{ 0x3f803000, 0x3c02, "1 + 3 * 2^-11 ties up" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		tap_is_u64(f16_from_f32(f32_of_bits(cases[i].f32)), cases[i].f16, "%s",
			   cases[i].what);
	tap_is_u64(f32_bits(f16_to_f32(0x0001)), 0x33800000, "2^-24");
	tap_is_u64(f32_bits(f16_to_f32(0x83ff)), 0xb87fc000, "the largest negative subnormal");
	tap_is_u64(f32_bits(f16_to_f32(0xfc00)), 0xff800000, "-inf");
	tap_is_u64(f32_bits(f16_to_f32(0xfc01)), 0xffc02000, "a NaN comes out quiet");
}

static int64_t as_i64(enum dtype t, float f)
{
	uint8_t bytes[8];
	int64_t value;

	memset(bytes, 0xaa, sizeof(bytes));
	dtype_from_f32(t, &f, bytes, 1);
	value = (int64_t)load_u64(bytes);
	switch (t) {
	case DTYPE_I8: return (int8_t)value;
	case DTYPE_U8: return (uint8_t)value;
	case DTYPE_I16: return (int16_t)value;
	case DTYPE_U16: return (uint16_t)value;
	case DTYPE_I32: return (int32_t)value;
	case DTYPE_U32: return (uint32_t)value;
	default: return value;
	}
}

static void test_integers_saturate_and_round(void)
{
	tap_is_i64(as_i64(DTYPE_I8, 127.5f), 127, "past i8");
	tap_is_i64(as_i64(DTYPE_I8, -1e30f), -128, "below i8");
	tap_is_i64(as_i64(DTYPE_I8, 2.5f), 2, "ties to even");
	tap_is_i64(as_i64(DTYPE_I8, -3.5f), -4, "ties to even");
	tap_is_i64(as_i64(DTYPE_U8, -0.75f), 0, "below u8");
	tap_is_i64(as_i64(DTYPE_U8, 255.5f), 255, "past u8");
	tap_is_i64(as_i64(DTYPE_I16, 32767.6f), 32767, "past i16");
	tap_is_i64(as_i64(DTYPE_I16, -32768.4f), -32768, "i16's least");
	tap_is_i64(as_i64(DTYPE_U16, INFINITY), 65535, "u16 of infinity");
	tap_is_i64(as_i64(DTYPE_I32, 0x1p31f), INT32_MAX, "2^31");
	tap_is_i64(as_i64(DTYPE_I32, -0x1p31f), INT32_MIN, "-2^31");
	tap_is_i64(as_i64(DTYPE_U32, 0x1p32f), UINT32_MAX, "2^32");
	tap_is_i64(as_i64(DTYPE_U32, 4294967040.0f), 4294967040, "the last f32 below it");
	tap_is_i64(as_i64(DTYPE_I64, 0x1p63f), INT64_MAX, "2^63");
	tap_is_i64(as_i64(DTYPE_I64, -INFINITY), INT64_MIN, "-inf");
	tap_is_i64(as_i64(DTYPE_U64, 0x1p64f), -1, "2^64 gives the largest u64");
	tap_is_i64(as_i64(DTYPE_U64, 0x1p63f), INT64_MIN, "2^63 fits u64");
	tap_is_i64(as_i64(DTYPE_I32, NAN), 0, "NaN is 0");
	tap_is_i64(as_i64(DTYPE_I64, NAN), 0, "NaN is 0");
	tap_is_i64(as_i64(DTYPE_U64, NAN), 0, "NaN is 0");
}

static float as_f32(enum dtype t, const void *bytes)
{
	float f;

	dtype_to_f32(t, bytes, &f, 1);
	return f;
}

static void test_integers_and_f64_decode(void)
{
	uint8_t bytes[8];

	store_u64(bytes, UINT64_MAX);
	tap_ok(as_f32(DTYPE_U64, bytes) == 0x1p64f, "2^64 - 1 rounds up");
	tap_ok(as_f32(DTYPE_I64, bytes) == -1, "-1");
	tap_ok(as_f32(DTYPE_U32, bytes) == 0x1p32f, "2^32 - 1 rounds up");
	tap_ok(as_f32(DTYPE_I8, bytes) == -1 && as_f32(DTYPE_U8, bytes) == 255, "8 bits");
	tap_ok(as_f32(DTYPE_I16, bytes) == -1 && as_f32(DTYPE_U16, bytes) == 65535, "16 bits");
	tap_ok(as_f32(DTYPE_BOOL, bytes) == 1, "any byte but 0 is true");
	store_u64(bytes, (UINT64_C(1) << 24) + 1);
	tap_ok(as_f32(DTYPE_I64, bytes) == 0x1p24f, "2^24 + 1 ties to even");
	store_u64(bytes, (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1);
	tap_ok(as_f32(DTYPE_U64, bytes) == 0x1p63f + 0x1p40f, "one past a tie");
	store_u64(bytes, f64_bits(0x1.000001p0));
	tap_ok(as_f32(DTYPE_F64, bytes) == 1, "f64 ties to even");
	store_u64(bytes, f64_bits(1e300));
	tap_ok(as_f32(DTYPE_F64, bytes) == INFINITY, "f64 past the range");
}

int main(void)
{
	tap_run(test_sizes_are_those_of_the_formats);
	tap_run(test_names);
	tap_run(test_sizes);
	tap_run(test_what_decodes_and_encodes);
	tap_run(test_the_man_page_is_the_table);
	tap_run(test_all_halves_decode);
	tap_run(test_halves_encode);
	tap_run(test_bf16_rounding);
	tap_run(test_f16_rounding);
	tap_run(test_integers_saturate_and_round);
	tap_run(test_integers_and_f64_decode);
	return tap_done();
}
