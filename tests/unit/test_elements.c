/* lib/data/elements: values as text, rows and parts of rows */

#include "lib/base/err.h"
#include "lib/data/elements.h"
#include "tests/tap.h"

#include <string.h>

static struct tensor_info matrix(enum dtype t, const void *data, uint64_t rows, uint64_t columns)
{
	struct tensor_info info = { .name = bytes_of("x"), .dtype = t, .n_dims = 2, .data = data };
	size_t bytes = 0;

	info.shape[0] = rows;
	info.shape[1] = columns;
	info.n_elements = rows * columns;
	dtype_size(t, info.n_elements, &bytes);
	info.n_bytes = bytes;
	return info;
}

static void test_text(void)
{
	static const int64_t i64[] = { INT64_MIN, INT64_MAX };
	static const uint64_t u64[] = { UINT64_MAX };
	static const float f32[] = { 0.1f, -0.0f, 16777216.0f };
	static const double f64[] = { 0.1 };
	static const uint8_t bytes[] = { 0, 1, 0x80, 0x3F };
	char out[NUMBER_TEXT];

	tap_is_text(element_text(DTYPE_I64, i64, 0, out), "-9223372036854775808", "i64 in full");
	tap_is_text(element_text(DTYPE_I64, i64, 1, out), "9223372036854775807", "i64 in full");
	tap_is_text(element_text(DTYPE_U64, u64, 0, out), "18446744073709551615", "u64 in full");
	tap_is_text(element_text(DTYPE_F32, f32, 0, out), "0.1", "the shortest that reads back");
	tap_is_text(element_text(DTYPE_F32, f32, 1, out), "-0", "a zero keeps its sign");
	tap_is_text(element_text(DTYPE_F32, f32, 2, out), "16777216", "whole");
	tap_is_text(element_text(DTYPE_F64, f64, 0, out), "0.1", "f64");
	tap_is_text(element_text(DTYPE_I8, bytes, 2, out), "-128", "i8");
	tap_is_text(element_text(DTYPE_U8, bytes, 2, out), "128", "u8");
	tap_is_text(element_text(DTYPE_BOOL, bytes, 1, out), "1", "bool");
	tap_is_text(element_text(DTYPE_BF16, bytes, 1, out), "1", "bf16 3f80");
}

static void test_plain_rows(void)
{
	static const float f32[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	struct tensor_info t = matrix(DTYPE_F32, f32, 3, 4);
	struct row_reader *r;
	struct slice s;
	const void *row;
	size_t size;
	float got[2];
	double wide;

	tap_works(slice_parse(&s, "1:,1::2", t.shape, 2), "two rows, every other column");
	tap_works(row_reader_new(&r, &t, &s, DTYPE_F32), "as they are");
	row_reader_get(r, 1, &row, &size);
	memcpy(got, row, sizeof(got));
	tap_is_u64(size, 8, "two values");
	tap_ok(got[0] == 9 && got[1] == 11, "the picked ones");
	row_reader_free(r);

	tap_works(row_reader_new(&r, &t, &s, DTYPE_F64), "as f64");
	row_reader_get(r, 0, &row, &size);
	memcpy(&wide, row, sizeof(wide));
	tap_is_u64(size, 16, "two wide values");
	tap_ok(wide == 5, "the first of them");
	row_reader_free(r);
}

/* One row of two Q8_0 blocks: scale 1 (f16 3c00), values 0..31, then scale 2, values -1. */
static void test_blocks(void)
{
	unsigned char blocks[68] = { 0x00, 0x3C };
	struct tensor_info t = matrix(DTYPE_Q8_0, blocks, 1, 64);
	char text[NUMBER_TEXT];
	struct row_reader *r;
	struct slice s;
	const void *row;
	size_t size;
	float got[2];

	for (int i = 0; i < 32; i++) {
		blocks[2 + i] = (unsigned char)i;
		blocks[36 + i] = 0xFF;
	}
	blocks[35] = 0x40;
	tap_works(slice_parse(&s, "0,31:33", t.shape, 2), "across a border between blocks");
	tap_works(row_reader_new(&r, &t, &s, DTYPE_F32), "decoded");
	row_reader_get(r, 0, &row, &size);
	memcpy(got, row, sizeof(got));
	tap_is_u64(size, 8, "two values");
	tap_ok(got[0] == 31 && got[1] == -2, "one of each block");
	row_reader_free(r);
	tap_fails(row_reader_new(&r, &t, &s, DTYPE_Q8_0), ERR_ARGUMENT, "stored in blocks",
		  "a part of a row of blocks");
	tap_works(slice_parse(&s, "0", t.shape, 2), "the whole row");
	tap_works(row_reader_new(&r, &t, &s, DTYPE_Q8_0), "as blocks");
	row_reader_get(r, 0, &row, &size);
	tap_is_bytes(((struct bytes){ row, size }), ((struct bytes){ (char *)blocks, 68 }),
		     "byte for byte");
	row_reader_free(r);
	tap_is_text(tensor_element_text(&t, 30, text), "30", "an element of a block");
	tap_is_text(tensor_element_text(&t, 63, text), "-2", "the last one");
}

static void test_refused(void)
{
	static const unsigned char data[66];
	struct tensor_info t = matrix(DTYPE_IQ2_XXS, data, 1, 256);
	char text[NUMBER_TEXT];
	struct row_reader *r;
	struct slice s;

	tap_works(slice_parse(&s, NULL, t.shape, 2), "everything");
	tap_fails(row_reader_new(&r, &t, &s, DTYPE_F32), ERR_UNSUPPORTED,
		  "tensor x: iq2_xxs has no conversion", "a type that is not decoded");
	tap_works(row_reader_new(&r, &t, &s, DTYPE_IQ2_XXS), "is copied all the same");
	row_reader_free(r);
	tap_is_text(tensor_element_text(&t, 0, text), "?", "and has no text");
}

int main(void)
{
	tap_run(test_text);
	tap_run(test_plain_rows);
	tap_run(test_blocks);
	tap_run(test_refused);
	return tap_done();
}
