/*
 * The GGUF reader on one file: rows H02, H03, H05, H06, H08, H11, H12 and H14 of the cases.
 * The good fixtures come from gguf-py, or byte by byte from scripts/gen-fixtures-gguf, where the
 * values that are wanted here stand.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/gguf.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/gguf/"
#define BAD  "fixtures/bad/gguf/"

static struct gguf *open_good(const char *name)
{
	struct gguf *g = NULL;
	char path[256];

	snprintf(path, sizeof(path), GOOD "%s", name);
	if (!tap_works(gguf_open(&g, path), "%s opens", name))
		exit(1);
	return g;
}

/* --- files made here --- */

static void put_name(struct buffer *b, const char *s)
{
	buffer_put_u64(b, strlen(s));
	buffer_put_text(b, s);
}

static void put_start(struct buffer *b, uint64_t n_tensors, uint64_t n_keys)
{
	buffer_put_text(b, "GGUF");
	buffer_put_u32(b, 3);
	buffer_put_u64(b, n_tensors);
	buffer_put_u64(b, n_keys);
}

static void put_tensor(struct buffer *b, const char *name, uint64_t n, uint64_t offset)
{
	put_name(b, name);
	buffer_put_u32(b, 1);
	buffer_put_u64(b, n);
	buffer_put_u32(b, 0);
	buffer_put_u64(b, offset);
}

static void pad(struct buffer *b, size_t alignment)
{
	while (b->size % alignment != 0)
		buffer_put_u8(b, 0);
}

static int open_buffer(struct gguf **g, const struct buffer *b)
{
	return gguf_open_memory(g, b->data, b->size, "made.gguf");
}

static float first_f32(const struct tensor_info *t)
{
	float v;

	memcpy(&v, t->data, sizeof(v));
	return v;
}

/* --- values --- */

static void check_scalars(const struct gguf *g)
{
	struct bytes s;
	uint64_t u = 0;
	double d = 0;
	bool b = false;

	tap_ok(gguf_get_u64(g, "scalar.u8", &u) == 1 && u == 200, "u8");
	tap_is_i64(gguf_value_i64(gguf_get(g, "scalar.i8")), -100, "i8");
	tap_ok(gguf_get_u64(g, "scalar.u16", &u) == 1 && u == 60000, "u16");
	tap_is_i64(gguf_value_i64(gguf_get(g, "scalar.i16")), -30000, "i16");
	tap_ok(gguf_get_u64(g, "scalar.u32", &u) == 1 && u == 4000000000U, "u32");
	tap_is_i64(gguf_value_i64(gguf_get(g, "scalar.i32")), -2000000000, "i32");
	tap_ok(gguf_get_real(g, "scalar.f32", &d) == 1 && d == (double)0.1F, "f32");
	tap_ok(gguf_get_bool(g, "scalar.bool", &b) == 1 && b, "bool");
	tap_ok(gguf_get_u64(g, "scalar.u64", &u) == 1 && u == (UINT64_C(1) << 63) + 1, "u64");
	tap_is_i64(gguf_value_i64(gguf_get(g, "scalar.i64")), INT64_MIN, "i64");
	tap_ok(gguf_get_real(g, "scalar.f64", &d) == 1 && d == 0.1, "f64");
	tap_ok(gguf_get_real(g, "scalar.i16", &d) == 1 && d == -30000, "an integer as real");
	tap_ok(gguf_get_string(g, "scalar.string", &s) == 1, "string");
	tap_is_bytes(s, bytes_of("caf\xC3\xA9 \xE2\x98\x83"), "its bytes");
	tap_ok(gguf_get_string(g, "scalar.empty", &s) == 1 && s.size == 0, "an empty string");
	tap_ok(gguf_get_u64(g, "not.there", &u) == 0 && u == (UINT64_C(1) << 63) + 1,
	       "an absent key leaves the value alone");
}

static void check_array(const struct gguf *g, const char *key, enum gguf_type type,
			const int64_t want[3])
{
	struct gguf_value array = { 0 }, item;
	struct gguf_items it;

	if (!tap_ok(gguf_get_array(g, key, type, &array) == 1 && array.n == 3, "%s", key))
		return;
	gguf_items(&it, &array);
	for (int i = 0; i < 3; i++) {
		bool unsigned_type = type == GGUF_U8 || type == GGUF_U16 || type == GGUF_U32 ||
				     type == GGUF_U64 || type == GGUF_BOOL;

		tap_ok(gguf_items_next(&it, &item) == 1 && item.type == type && item.n == 1 &&
			       item.key.size == 0,
		       "%s: item %d", key, i);
		tap_is_i64(unsigned_type ? (int64_t)gguf_value_u64(&item) : gguf_value_i64(&item),
			   want[i], "%s: value %d", key, i);
	}
	tap_is_i64(gguf_items_next(&it, &item), 0, "%s: ends", key);
}

static void check_arrays(const struct gguf *g)
{
	check_array(g, "array.u8", GGUF_U8, (int64_t[]){ 200, 0, 1 });
	check_array(g, "array.i8", GGUF_I8, (int64_t[]){ -100, 0, 1 });
	check_array(g, "array.u16", GGUF_U16, (int64_t[]){ 60000, 0, 1 });
	check_array(g, "array.i16", GGUF_I16, (int64_t[]){ -30000, 0, 1 });
	check_array(g, "array.u32", GGUF_U32, (int64_t[]){ 4000000000, 0, 1 });
	check_array(g, "array.i32", GGUF_I32, (int64_t[]){ -2000000000, 0, 1 });
	check_array(g, "array.bool", GGUF_BOOL, (int64_t[]){ 1, 1, 1 });
	check_array(g, "array.u64", GGUF_U64, (int64_t[]){ INT64_MIN + 1, 0, 1 });
	check_array(g, "array.i64", GGUF_I64, (int64_t[]){ INT64_MIN, 0, 1 });
}

/* Every item of V, its arrays in brackets, as text. */
static void put_text(struct buffer *b, const struct gguf_value *v)
{
	struct gguf_value item;
	struct gguf_items it;

	if (v->type == GGUF_STRING) {
		buffer_put(b, gguf_value_string(v).data, gguf_value_string(v).size);
	} else if (v->type != GGUF_ARRAY) {
		buffer_format(b, "%d", (int)gguf_value_i64(v));
	} else {
		buffer_put_u8(b, '[');
		gguf_items(&it, v);
		for (int i = 0; gguf_items_next(&it, &item); i++) {
			if (i > 0)
				buffer_put_u8(b, ' ');
			put_text(b, &item);
		}
		buffer_put_u8(b, ']');
	}
}

static void is_walked(const struct gguf *g, const char *key, const char *want)
{
	struct buffer b = { 0 };

	put_text(&b, gguf_get(g, key));
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "%s", key);
	buffer_free(&b);
}

static void test_values(void)
{
	struct gguf *g = open_good("types.gguf");

	tap_is_u64(gguf_n_keys(g), 29, "keys");
	tap_is_bytes(gguf_key(g, 0)->key, bytes_of("general.architecture"), "the first key");
	tap_is_bytes(gguf_key(g, 28)->key, bytes_of("foo.bar"), "the last key");
	check_scalars(g);
	check_arrays(g);
	is_walked(g, "array.string", "[a  \xC3\xA9t\xC3\xA9]");
	is_walked(g, "foo.bar", "[kept as it is]");
	gguf_close(g);

	g = open_good("not-utf8-value.gguf");
	tap_is_bytes(gguf_value_string(gguf_get(g, "s")), ((struct bytes){ "\xFF\0\xFE", 3 }),
		     "a value may be any bytes");
	gguf_close(g);
}

/* H02: arrays of arrays are walked to the documented depth. */
static void test_h02_nested(void)
{
	struct gguf *g = open_good("types.gguf");

	is_walked(g, "array.nested", "[[1 2 3] [4] [5 6]]");
	is_walked(g, "array.deep", "[[[x yz]] [[w] []]]");
	gguf_close(g);
	g = open_good("nested-8.gguf");
	is_walked(g, "deep", "[[[[[[[[x]]]]]]]]");
	is_walked(g, "none", "[]");
	is_walked(g, "bytes", "[[1 2] [] [3]]");
	is_walked(g, "end", "1");
	gguf_close(g);
}

/* H02: a depth of 10,000 is refused, and no stack is used for it. */
static void test_h02_depth_10000(void)
{
	struct buffer b = { 0 };
	struct gguf *g;

	put_start(&b, 0, 1);
	put_name(&b, "deep");
	buffer_put_u32(&b, GGUF_ARRAY);
	for (int i = 0; i < 10000; i++) {
		buffer_put_u32(&b, GGUF_ARRAY);
		buffer_put_u64(&b, 1);
	}
	buffer_put_u32(&b, GGUF_U8);
	buffer_put_u64(&b, 0);
	tap_fails(open_buffer(&g, &b), ERR_FORMAT, "nested deeper than 8", "H02 depth 10,000");
	buffer_free(&b);
}

/* H03: a value of another type than is asked for. */
static void test_h03_types(void)
{
	struct gguf *g = open_good("types.gguf");
	struct gguf_value v;
	struct bytes s;
	uint64_t u;
	double d;
	bool b;

	tap_fails(gguf_get_u64(g, "scalar.f32", &u), ERR_FORMAT,
		  "types.gguf: key scalar.f32: is f32, not an integer", "H03 u64 of a float");
	tap_fails(gguf_get_u64(g, "scalar.i8", &u), ERR_FORMAT,
		  "key scalar.i8: is -100, must not be negative", "H03 u64 of -100");
	tap_fails(gguf_get_u64(g, "scalar.bool", &u), ERR_FORMAT, "is bool, not an integer",
		  "H03 u64 of a bool");
	tap_fails(gguf_get_real(g, "scalar.string", &d), ERR_FORMAT, "is string, not a number",
		  "H03 real of a string");
	tap_fails(gguf_get_bool(g, "scalar.u8", &b), ERR_FORMAT, "is u8, not bool",
		  "H03 bool of u8");
	tap_fails(gguf_get_string(g, "array.string", &s), ERR_FORMAT, "is array, not string",
		  "H03 string of an array");
	tap_fails(gguf_get_array(g, "scalar.f32", GGUF_F32, &v), ERR_FORMAT, "is f32, not array",
		  "H03 array of a scalar");
	tap_fails(gguf_get_array(g, "array.u8", GGUF_F32, &v), ERR_FORMAT,
		  "key array.u8: is an array of u8, not of f32", "H03 f32 items of a u8 array");
	tap_fails(gguf_get_array(g, "array.i64", GGUF_I32, &v), ERR_FORMAT,
		  "is an array of i64, not of i32", "H03 i32 items of an i64 array");
	gguf_close(g);
}

/* --- tensors --- */

static void test_tensors(void)
{
	struct gguf *g = open_good("types.gguf");
	const struct tensor_info *t;

	tap_is_u64(gguf_version(g), 3, "version");
	tap_is_u64(gguf_alignment(g), 32, "alignment");
	tap_is_u64(gguf_n_files(g), 1, "files");
	tap_is_text(gguf_file_path(g, 0), GOOD "types.gguf", "path");
	tap_ok(gguf_file_fd(g, 0) >= 0, "descriptor");
	tap_is_u64(gguf_n_tensors(g), 5, "tensors");
	t = gguf_find(g, bytes_of("cube"));
	tap_ok(t == gguf_tensor(g, 3), "found by name");
	tap_ok(t->dtype == DTYPE_I16 && bytes_are(t->dtype_name, "i16"), "its type");
	tap_ok(t->n_dims == 3 && t->shape[0] == 2 && t->shape[1] == 3 && t->shape[2] == 4,
	       "its shape, slowest axis first");
	tap_ok(t->n_elements == 24 && t->n_bytes == 48, "its size");
	tap_ok(t->data[2] == 1 && t->data[46] == 23, "its data");
	t = gguf_find(g, bytes_of("blocks"));
	tap_ok(t->dtype == DTYPE_Q8_0 && t->shape[0] == 4 && t->shape[1] == 64 && t->n_bytes == 272,
	       "a tensor in blocks");
	tap_ok(t->data[0] == 0 && t->data[271] == 271 % 251, "its data");
	tap_ok(gguf_find(g, bytes_of("cub")) == NULL, "another name is not found");
	gguf_close(g);
}

/* Two rows of one block of each type; sizes are gguf-py's. */
static void test_dtypes(void)
{
	struct gguf *g = open_good("dtypes.gguf");

	tap_is_u64(gguf_n_tensors(g), 33, "types");
	for (size_t i = 0; i < gguf_n_tensors(g); i++) {
		const struct tensor_info *t = gguf_tensor(g, i);
		const struct dtype_info *info = dtype_info(t->dtype);

		tap_ok(bytes_equal(t->name, t->dtype_name) && t->shape[1] == info->block &&
			       t->n_bytes == 2 * info->bytes && t->data[0] == info->gguf &&
			       t->data[1] == info->gguf + 1,
		       BYTES_FMT, BYTES_ARG(t->name));
	}
	gguf_close(g);
}

static void test_scalar_and_empty(void)
{
	struct gguf *g = open_good("scalar-empty.gguf");

	tap_ok(gguf_tensor(g, 0)->n_dims == 0 && gguf_tensor(g, 0)->n_elements == 1,
	       "H08 n_dims 0");
	tap_ok(first_f32(gguf_tensor(g, 0)) == 2.5F, "its value");
	tap_ok(gguf_tensor(g, 1)->n_bytes == 0 && gguf_tensor(g, 1)->n_elements == 0, "H08 dim 0");
	tap_ok(gguf_tensor(g, 2)->n_bytes == 0 && gguf_tensor(g, 2)->shape[0] == 0,
	       "H08 dim 0 in blocks");
	tap_ok(first_f32(gguf_tensor(g, 3)) == 3, "the tensor behind them");
	gguf_close(g);
	g = open_good("gaps.gguf");
	tap_ok(first_f32(gguf_tensor(g, 0)) == 3 && first_f32(gguf_tensor(g, 1)) == 1,
	       "gaps, any order, no zeros at the end");
	gguf_close(g);
	g = open_good("empty.gguf");
	tap_ok(gguf_n_tensors(g) == 0 && gguf_n_keys(g) == 0, "nothing in it");
	tap_ok(gguf_get(g, "a") == NULL && gguf_find(g, bytes_of("a")) == NULL, "nothing is found");
	gguf_close(g);
}

/* Three tensors of 16 bytes, 1 1 1 1, 2 2 2 2, 3 3 3 3, behind a string of FILL bytes. */
static void put_three(struct buffer *b, uint32_t alignment, size_t fill)
{
	size_t step = alignment < 16 ? 16 : alignment;
	char *text = calloc(fill + 1, 1);
	size_t start;

	memset(text, 'x', fill);
	put_start(b, 3, 2);
	put_name(b, "general.alignment");
	buffer_put_u32(b, GGUF_U32);
	buffer_put_u32(b, alignment);
	put_name(b, "pad");
	buffer_put_u32(b, GGUF_STRING);
	put_name(b, text);
	put_tensor(b, "a", 4, 0);
	put_tensor(b, "b", 4, step);
	put_tensor(b, "c", 4, 2 * step);
	pad(b, alignment);
	start = b->size;
	for (size_t i = 0; i < 3; i++) {
		buffer_put_zeros(b, start + i * step - b->size);
		for (int j = 0; j < 4; j++)
			buffer_put_f32(b, (float)(i + 1));
	}
	free(text);
}

/* H05: each tensor has its own bytes, whatever the alignment and the header's size. */
static void test_h05_alignment(void)
{
	static const uint32_t alignments[] = { 8, 16, 32, 64, 4096 };
	struct gguf *g = open_good("align-16.gguf");

	tap_is_u64(gguf_alignment(g), 16, "H05 alignment 16");
	for (size_t i = 0; i < 3; i++)
		tap_ok(first_f32(gguf_tensor(g, i)) == (float)(i + 1), "H05 tensor %zu", i);
	gguf_close(g);
	g = open_good("align-64.gguf");
	for (size_t i = 0; i < 3; i++)
		tap_ok(first_f32(gguf_tensor(g, i)) == (float)i, "alignment 64, tensor %zu", i);
	gguf_close(g);

	for (size_t a = 0; a < sizeof(alignments) / sizeof(*alignments); a++) {
		int right = 0;

		for (size_t fill = 0; fill < 32; fill++) {
			struct buffer b = { 0 };

			put_three(&b, alignments[a], fill);
			if (open_buffer(&g, &b) == 0) {
				right += first_f32(gguf_tensor(g, 0)) == 1 &&
					 first_f32(gguf_tensor(g, 1)) == 2 &&
					 first_f32(gguf_tensor(g, 2)) == 3;
				gguf_close(g);
			}
			buffer_free(&b);
		}
		tap_is_i64(right, 32, "H05 alignment %d behind 32 header sizes",
			   (int)alignments[a]);
	}
}

/* H06: no zeros where the header's size is a multiple of the alignment already. */
static void test_h06_aligned_header(void)
{
	struct gguf *g = open_good("header-aligned.gguf");
	const struct tensor_info *t = gguf_tensor(g, 0);

	tap_is_u64(t->offset, gguf_file_size(g, 0) - 32, "H06 the data follows at once");
	tap_is_u64(t->offset % 32, 0, "H06 aligned");
	tap_ok(first_f32(t) == 1, "H06 its value");
	gguf_close(g);
}

static void test_h12_version_2(void)
{
	struct gguf *g = open_good("version-2.gguf");

	tap_is_u64(gguf_version(g), 2, "H12 version 2");
	tap_ok(gguf_tensor(g, 0)->data[15] == 15, "H12 its data");
	gguf_close(g);
}

/* --- what is refused --- */

static const struct {
	const char *name;
	enum err_code code;
	const char *part;
} bad[] = {
	{ "H02-depth-9", ERR_FORMAT, "key deep: arrays nested deeper than 8" },
	{ "H02-depth-200", ERR_FORMAT, "key deep: arrays nested deeper than 8" },
	{ "H02-count-nested", ERR_FORMAT, "key a: needs 4611686018427387904 arrays" },
	{ "H02-count-u8", ERR_FORMAT, "key a: needs 4611686018427387904 u8" },
	{ "H02-count-u64", ERR_FORMAT, "key a: needs 2305843009213693953 u64" },
	{ "H02-count-strings", ERR_FORMAT, "key a: needs 9223372036854775808 strings" },
	{ "H02-count-bool", ERR_FORMAT, "key a: needs 18446744073709551615 bools" },
	{ "H02-inner-count", ERR_FORMAT, "key a: needs 4611686018427387904 u32" },
	{ "H02-string-length", ERR_FORMAT, "key a: needs 18446744073709551615 bytes of a string" },
	{ "H02-item-type-13", ERR_FORMAT, "byte 81: key a: unknown value type 13" },
	{ "H02-type-13", ERR_FORMAT, "byte 77: key a: unknown value type 13" },
	{ "H02-bool-2", ERR_FORMAT, "key a: a bool is 2, not 0 or 1" },
	{ "H02-bool-array-255", ERR_FORMAT, "key a: a bool is 255, not 0 or 1" },
	{ "H03-alignment-u64", ERR_FORMAT, "key general.alignment: is u64, not u32" },
	{ "H03-alignment-string", ERR_FORMAT, "key general.alignment: is string, not u32" },
	{ "H03-split-count-string", ERR_FORMAT, "key split.count: is string, not an integer" },
	{ "H05-alignment-0", ERR_FORMAT, "key general.alignment: is 0, not a power of two" },
	{ "H05-alignment-12", ERR_FORMAT, "key general.alignment: is 12, not a power of two" },
	{ "H05-alignment-4", ERR_FORMAT, "key general.alignment: is 4, not a power of two from 8" },
	{ "H05-offset-16", ERR_FORMAT, "tensor b: offset 16, no multiple of the alignment 32" },
	{ "H06-cut-after-aligned-header", ERR_FORMAT,
	  "tensor t: data ends at byte 144, the file at 143: the file is cut short" },
	{ "H06-cut-before-data", ERR_FORMAT,
	  "tensor t: data ends at byte 144, the file at 127: the file is cut short" },
	{ "H08-dims-5", ERR_FORMAT, "tensor t: 5 dimensions, at most 4" },
	{ "H08-dims-9", ERR_FORMAT, "tensor t: 9 dimensions, at most 4" },
	{ "H08-dims-2-32", ERR_FORMAT, "tensor t: 4294967295 dimensions, at most 4" },
	{ "H08-product-2-66", ERR_FORMAT, "tensor t: more elements than 64 bits count" },
	{ "H08-product-wraps-to-4", ERR_FORMAT, "tensor t: more elements than 64 bits count" },
	{ "H08-bytes-2-64", ERR_FORMAT, "tensor t: more bytes than 64 bits count" },
	{ "H08-dim-2-63", ERR_FORMAT, "tensor t: a dimension of 9223372036854775808" },
	{ "H08-dim-2-63-and-0", ERR_FORMAT, "tensor t: a dimension of 9223372036854775808" },
	{ "H08-block-row", ERR_FORMAT, "tensor t: rows of 16, no multiple of the 32 of a q8_0" },
	{ "H08-block-scalar", ERR_FORMAT, "tensor t: rows of 1, no multiple of the 32 of a q8_0" },
	{ "H08-type-99", ERR_UNSUPPORTED, "tensor t: unknown ggml type 99" },
	{ "H08-type-removed-4", ERR_UNSUPPORTED, "tensor t: type 4 (" },
	{ "H08-tensors-2-62", ERR_FORMAT, "4611686018427387904 tensors cannot be in the" },
	{ "H08-keys-2-64", ERR_FORMAT, "18446744073709551615 keys cannot be in the" },
	{ "H08-name-length", ERR_FORMAT, "tensor: needs 1099511627776 bytes" },
	{ "H08-name-empty", ERR_FORMAT, "the name of tensor 0 is empty" },
	{ "H08-name-not-utf8", ERR_FORMAT, "the name of tensor 0 is not UTF-8" },
	{ "H08-name-nul", ERR_FORMAT, "the name of tensor 0 holds a NUL byte" },
	{ "H08-name-65536", ERR_FORMAT, "the name of tensor 0 is longer than 65535 bytes" },
	{ "H08-key-empty", ERR_FORMAT, "the name of key 0 is empty" },
	{ "H11-overlap", ERR_FORMAT, "tensor b: data from byte 192 overlaps that of tensor a" },
	{ "H11-overlap-unsorted", ERR_FORMAT,
	  "tensor a: data from byte 192 overlaps that of tensor b" },
	{ "H11-same-place", ERR_FORMAT, "overlaps that of tensor" },
	{ "H11-offset-8", ERR_FORMAT, "tensor t: offset 8, no multiple of the alignment 32" },
	{ "H11-offset-2-64", ERR_FORMAT, "tensor t: offset 18446744073709551584 and 16 bytes" },
	{ "H11-past-the-end", ERR_FORMAT,
	  "tensor t: data ends at byte 208, the file at 160: the file is cut short" },
	{ "H11-cut-short", ERR_FORMAT,
	  "tensor t: data ends at byte 448, the file at 348: the file is cut short" },
	{ "H11-tensor-twice", ERR_FORMAT, "tensor t: is there twice" },
	{ "H12-version-0", ERR_UNSUPPORTED, "unsupported version 0" },
	{ "H12-version-1", ERR_UNSUPPORTED, "unsupported version 1" },
	{ "H12-version-1-real", ERR_UNSUPPORTED, "unsupported version 1" },
	{ "H12-version-4", ERR_UNSUPPORTED, "unsupported version 4" },
	{ "H12-big-endian-2", ERR_UNSUPPORTED, "unsupported byte order (big-endian)" },
	{ "H12-big-endian-3", ERR_UNSUPPORTED, "unsupported byte order (big-endian)" },
	{ "H12-magic", ERR_FORMAT, "not a GGUF file" },
	{ "H12-no-bytes", ERR_FORMAT, "not a GGUF file" },
	{ "H12-4-bytes", ERR_FORMAT, "byte 4: version: needs 4 bytes, 0 left" },
	{ "H12-23-bytes", ERR_FORMAT, "byte 8: 1 tensors cannot be in the 7 bytes" },
	{ "H14-key-twice", ERR_FORMAT, "key foo.bar: is there twice" },
};

#define N_BAD (sizeof(bad) / sizeof(*bad))

static void test_refused(void)
{
	for (size_t i = 0; i < N_BAD; i++) {
		struct gguf *g = NULL;
		char path[256];

		snprintf(path, sizeof(path), BAD "%s.gguf", bad[i].name);
		if (!tap_fails(gguf_open(&g, path), bad[i].code, bad[i].part, "%s", bad[i].name))
			continue;
		tap_ok(strncmp(err_text(), path, strlen(path)) == 0, "%s: the file is named",
		       bad[i].name);
	}
}

static bool is_listed(const char *file)
{
	for (size_t i = 0; i < N_BAD; i++) {
		size_t n = strlen(bad[i].name);

		if (strncmp(file, bad[i].name, n) == 0 && strcmp(file + n, ".gguf") == 0)
			return true;
	}
	return false;
}

/* A fixture that no test looks at is a mistake. H15 is in test_gguf_parts, the others open. */
static void test_all_listed(void)
{
	DIR *d = opendir(BAD);
	struct dirent *e;

	if (!tap_ok(d != NULL, "the folder of bad files"))
		return;
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.' && strncmp(e->d_name, "H15", 3) != 0 &&
		    !strstr(e->d_name, "-config-") && !is_listed(e->d_name))
			tap_ok(false, "%s is tested", e->d_name);
	}
	closedir(d);
}

/* Every cut of a good file is an error, up to the last tensor's last byte. */
static void test_every_cut(void)
{
	size_t size, refused = 0, from;
	char *data = tap_fixture(GOOD "types.gguf", &size);
	struct gguf *g = open_good("types.gguf");
	const struct tensor_info *last = gguf_tensor(g, gguf_n_tensors(g) - 1);

	from = last->offset + last->n_bytes;
	gguf_close(g);
	for (size_t n = 0; n < from; n++) {
		if (gguf_open_memory(&g, data, n, "cut.gguf") == -1)
			refused++;
		else
			gguf_close(g);
	}
	tap_is_u64(refused, from, "every cut is refused");
	tap_works(gguf_open_memory(&g, data, from, "cut.gguf"), "zeros at the end may be missing");
	gguf_close(g);
	free(data);
}

/* --- size --- */

static void put_many(struct buffer *b, unsigned n_tensors, unsigned n_strings)
{
	char name[32];

	put_start(b, n_tensors, 1);
	put_name(b, "tokens");
	buffer_put_u32(b, GGUF_ARRAY);
	buffer_put_u32(b, GGUF_STRING);
	buffer_put_u64(b, n_strings);
	for (unsigned i = 0; i < n_strings; i++) {
		snprintf(name, sizeof(name), "piece%u", i);
		put_name(b, name);
	}
	for (unsigned i = 0; i < n_tensors; i++) {
		snprintf(name, sizeof(name), "blk.%u.weight", i);
		put_tensor(b, name, 8, 32 * (uint64_t)i);
	}
	pad(b, 32);
	buffer_put_zeros(b, 32 * (size_t)n_tensors);
}

/* Processor seconds of one opening, the best of three. */
static double open_seconds(unsigned n_tensors, unsigned n_strings)
{
	struct buffer b = { 0 };
	double best = 1e9;

	put_many(&b, n_tensors, n_strings);
	for (int i = 0; i < 3; i++) {
		clock_t start = clock();
		struct gguf *g = NULL;
		double seconds;

		if (open_buffer(&g, &b))
			break;
		seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
		best = seconds < best ? seconds : best;
		gguf_close(g);
	}
	buffer_free(&b);
	return best;
}

/* 4 times as much takes about 4 times as long; 16 times would be quadratic. */
static void test_linear(void)
{
	double few = open_seconds(25000, 250000), many = open_seconds(100000, 1000000);

	tap_note("25,000 tensors and 250,000 strings: %.1f ms; 4 times that: %.1f ms", few * 1e3,
		 many * 1e3);
	tap_ok(many < 10 * few, "opening is linear");
	tap_ok(many < 5, "100,000 tensors and 1,000,000 strings open");
}

/* --- damage --- */

/* Reads all that the header says, and a byte of each end of each tensor. */
static int read_all(void *arg, const void *data, size_t size)
{
	struct buffer text = { 0 };
	volatile unsigned char touched;
	struct gguf *g;

	if (gguf_open_memory(&g, data, size, "damaged.gguf"))
		return -1;
	for (size_t i = 0; i < gguf_n_keys(g); i++)
		put_text(&text, gguf_key(g, i));
	for (size_t i = 0; i < gguf_n_tensors(g); i++) {
		const struct tensor_info *t = gguf_tensor(g, i);

		if (t->n_bytes) {
			touched = t->data[0];
			touched = t->data[t->n_bytes - 1];
		}
	}
	(void)touched;
	buffer_free(&text);
	gguf_close(g);
	return 0;
}

static void test_damage(void)
{
	size_t n_types, n_dtypes;
	char *types = tap_fixture(GOOD "types.gguf", &n_types);
	char *dtypes = tap_fixture(GOOD "dtypes.gguf", &n_dtypes);
	struct bytes a = { types, n_types }, b = { dtypes, n_dtypes };

	corrupt_run("10,000 damaged files with every type of value", a, b, read_all, NULL,
		    16 << 20);
	corrupt_run("10,000 damaged files with every type of tensor", b, a, read_all, NULL,
		    16 << 20);
	free(types);
	free(dtypes);
}

int main(void)
{
	tap_run(test_values);
	tap_run(test_h02_nested);
	tap_run(test_h02_depth_10000);
	tap_run(test_h03_types);
	tap_run(test_tensors);
	tap_run(test_dtypes);
	tap_run(test_scalar_and_empty);
	tap_run(test_h05_alignment);
	tap_run(test_h06_aligned_header);
	tap_run(test_h12_version_2);
	tap_run(test_refused);
	tap_run(test_all_listed);
	tap_run(test_every_cut);
	tap_run(test_linear);
	tap_run(test_damage);
	return tap_done();
}
