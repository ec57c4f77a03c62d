/*
 * The safetensors reader on one file: rows I02, I03, I05, I06, I08, I11 and I12 of the cases. The
 * good fixtures come from safetensors 0.8.0, or byte by byte from scripts/gen-fixtures-safetensors,
 * where the values that are wanted here stand.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/safetensors.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/safetensors/"
#define BAD  "fixtures/bad/safetensors/"

static struct safetensors *open_good(const char *name)
{
	struct safetensors *s = NULL;
	char path[256];

	snprintf(path, sizeof path, GOOD "%s.safetensors", name);
	if (!tap_works(safetensors_open(&s, path), "%s opens", name))
		exit(1);
	return s;
}

static const struct tensor_info *find(const struct safetensors *s, const char *name)
{
	const struct tensor_info *t = safetensors_find(s, bytes_of(name));

	if (!tap_ok(t != NULL, "tensor %s is there", name))
		exit(1);
	return t;
}

static int open_bad(const char *name)
{
	struct safetensors *s = NULL;
	char path[256];

	snprintf(path, sizeof path, BAD "%s.safetensors", name);
	return safetensors_open(&s, path);
}

static int open_text(const char *header, size_t data)
{
	struct safetensors *s = NULL;
	struct buffer b = { 0 };
	int rc;

	buffer_put_u64(&b, strlen(header));
	buffer_put_text(&b, header);
	buffer_put_zeros(&b, data);
	rc = safetensors_open_memory(&s, b.data, b.size, "made");
	safetensors_close(s);
	buffer_free(&b);
	return rc;
}

/* --- good files --- */

/* In the order of the data: the reference's order of types. Bytes as the generator gives them. */
static void test_every_dtype(void)
{
	static const char *const order[] = {
		"U64",	   "I64",     "F64", "C64", "F32",	   "U32",	  "I32",
		"BF16",	   "F16",     "U16", "I16", "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0",
		"F8_E4M3", "F8_E5M2", "I8",  "U8",  "F4",	   "BOOL",
	};
	struct safetensors *s = open_good("all-dtypes");
	uint64_t at = 0;

	tap_is_u64(safetensors_n_tensors(s), 20, "twenty tensors");
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		const struct tensor_info *t = safetensors_tensor(s, i);

		tap_is_bytes(t->dtype_name, bytes_of(order[i]), "type %zu", i);
		tap_ok(t->dtype != DTYPE_UNKNOWN, "the table has %s", order[i]);
		if (i > 0)
			tap_is_u64(t->offset, at, "%s follows the one before", order[i]);
		at = t->offset + t->n_bytes;
	}
	tap_is_u64(at, safetensors_file_size(s, 0), "the last ends with the file");
	tap_is_u64(find(s, "z.float4_e2m1fn_x2")->shape[0], 8, "F4 counts elements, not bytes");
	tap_is_u64(find(s, "z.int64")->data[3], 7 * 9 + 3, "bytes of int64");
	tap_is_u64(safetensors_n_pairs(s), 1, "one pair");
	tap_is_bytes(safetensors_pair(s, 0)->key, bytes_of("format"), "its key");
	tap_is_bytes(safetensors_pair(s, 0)->value, bytes_of("pt"), "its value");
	tap_ok(!safetensors_find(s, bytes_of("z.none")), "a name that is not there");
	safetensors_close(s);
}

static void test_scalar_and_empty(void)
{
	struct safetensors *s = open_good("scalar-and-empty");
	const struct tensor_info *t = find(s, "scalar");

	tap_is_u64(t->n_dims, 0, "a scalar has no dimensions");
	tap_is_u64(t->n_elements, 1, "and one element");
	t = find(s, "none");
	tap_is_u64(t->n_dims, 3, "3 x 0 x 5");
	tap_is_u64(t->n_elements, 0, "is none");
	tap_is_u64(t->n_bytes, 0, "of no bytes");
	safetensors_close(s);
	s = open_good("empty");
	tap_is_u64(safetensors_n_tensors(s), 0, "a file without tensors");
	safetensors_close(s);
}

/* I08: the data starts at 8 + N whatever N is; the values are 1.0f. */
static void test_I08_unaligned_start(void)
{
	static const struct {
		const char *file, *tensor;
		uint64_t offset;
	} files[] = {
		{ "I08-header-53", "", 61 },
		{ "I08-header-54", "t", 62 },
		{ "I08-odd", "tt", 63 },
	};

	for (size_t i = 0; i < 3; i++) {
		struct safetensors *s = open_good(files[i].file);
		const struct tensor_info *t = find(s, files[i].tensor);
		float v;

		memcpy(&v, t->data, sizeof v);
		tap_is_u64(t->offset, files[i].offset, "I08 %s: 8 + N", files[i].file);
		tap_ok(v == 1, "I08 %s: the value is its own", files[i].file);
		safetensors_close(s);
	}
	tap_fails(open_bad("I08-rounded-start"), ERR_FORMAT, "2 bytes follow the last tensor",
		  "I08 a rounded start is refused");
}

static void test_I06_unknown_dtype(void)
{
	struct safetensors *s = open_good("I06-unknown-dtype");
	const struct tensor_info *t = find(s, "xyz");

	tap_ok(t->dtype == DTYPE_UNKNOWN, "I06 XYZ is unknown");
	tap_is_bytes(t->dtype_name, bytes_of("XYZ"), "I06 but named");
	tap_is_u64(t->n_bytes, 7, "I06 its bytes are by its offsets");
	tap_is_u64(t->data[0], 11, "I06 and are there");
	tap_ok(find(s, "f8")->dtype == DTYPE_F8_E5M2, "I06 F8_E5M2 is known");
	tap_ok(find(s, "f4")->dtype == DTYPE_F4, "I06 F4 is known");
	tap_is_u64(find(s, "f4")->n_bytes, 4, "I06 and has half a byte an element");
	tap_is_u64(find(s, "f6")->n_bytes, 3, "I06 F6 has three quarters");
	safetensors_close(s);
	tap_fails(open_bad("I06-unknown-past-end"), ERR_FORMAT, "cut short", "I06 past the end");
	tap_fails(open_bad("I06-unknown-hole"), ERR_FORMAT, "belong to no tensor", "I06 a hole");
	tap_fails(open_bad("I06-unknown-begin-after-end"), ERR_FORMAT, "after its end",
		  "I06 begin after end");
}

static struct bytes after_first(struct bytes b)
{
	return (struct bytes){ b.data + 1, b.size - 1 };
}

static void test_I12_names(void)
{
	static const char odd[] = "a\"\\\b\f\n\r\t\0\x01\x1f\x7f/\u00e9\u2028\U0001F600";
	struct bytes name = { odd, sizeof odd - 1 };
	struct safetensors *s = open_good("escapes");
	struct bytes key, value;

	tap_is_bytes(safetensors_tensor(s, 0)->name, name, "I12 escapes are undone, NUL kept");
	tap_ok(safetensors_find(s, name) == safetensors_tensor(s, 0), "I12 and found so");
	key = safetensors_pair(s, 0)->key;
	value = safetensors_pair(s, 0)->value;
	tap_is_u64(key.data[0], 'k', "I12 a key");
	tap_is_bytes(after_first(key), name, "I12 with the same");
	tap_is_bytes(after_first(value), name, "I12 and its value");
	safetensors_close(s);
	s = open_good("I12-escaped-name");
	find(s, "a/b");
	tap_is_u64(safetensors_n_pairs(s), 0, "I12 null metadata is none, as in the reference");
	safetensors_close(s);
}

/* I11: W is 0 1 2 / 3 4 5; what is stored of its transpose is the transpose, row by row. */
static void test_I11_transposed(void)
{
	static const float want[] = { 0, 3, 1, 4, 2, 5 };
	struct safetensors *s = open_good("I11-transposed");
	const struct tensor_info *t = find(s, "wt");

	tap_ok(t->shape[0] == 3 && t->shape[1] == 2, "I11 shape 3 x 2");
	tap_ok(memcmp(t->data, want, sizeof want) == 0, "I11 rows of the logical tensor");
	safetensors_close(s);
	tap_fails(open_bad("I11-strides"), ERR_FORMAT, "unknown key \"stride\"",
		  "I11 strides are no part of the format");
}

/* --- bad files --- */

static void test_I02_offsets(void)
{
	static const struct {
		const char *file, *part;
	} files[] = {
		{ "I02-shape",
		  "tensor t: shape and dtype need 4000000 bytes, data_offsets give 4" },
		{ "I02-shape-and-offsets", "its tensors take 4000000 bytes, 4 are there" },
		{ "I02-begin-after-end", "tensor t: data begins at 4, after its end at 0" },
		{ "I02-one-offset", "tensor t: data_offsets is not a pair" },
		{ "I02-three-offsets", "tensor t: data_offsets is not a pair" },
		{ "I02-negative", "-4 is not a whole number" },
		{ "I02-negative-dim", "-1 is not a whole number" },
		{ "I02-2-to-63", "take 9223372036854775808 bytes, 4 are there" },
		{ "I02-2-to-64", "18446744073709551616 is not a whole number" },
		{ "I02-product-wraps", "tensor t: the shape's product does not fit" },
		{ "I02-bytes-wrap", "tensor t: 4611686018427387904 elements of F32" },
		{ "I02-overlap", "tensor b: its data overlaps that of tensor a" },
		{ "I02-hole", "tensor b: 4 bytes before its data belong to no tensor" },
		{ "I02-hole-first", "tensor t: 4 bytes before its data" },
		{ "I02-half-a-byte", "tensor t: 3 elements of F4 are no whole number of bytes" },
	};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		tap_fails(open_bad(files[i].file), ERR_FORMAT, files[i].part, "%s", files[i].file);
}

static void test_I03_duplicates(void)
{
	tap_fails(open_bad("I03-duplicate"), ERR_FORMAT, "duplicate key \"t\"", "I03");
	tap_fails(open_bad("I03-duplicate-escaped"), ERR_FORMAT, "duplicate key \"t\"",
		  "I03 also when one is escaped");
	tap_fails(open_bad("I03-duplicate-key"), ERR_FORMAT, "duplicate key \"dtype\"",
		  "I03 and within a tensor");
}

static void test_I12_refused(void)
{
	static const struct {
		const char *file, *part;
	} files[] = {
		{ "I12-metadata-number", "expected a string, found a number" },
		{ "I12-metadata-list", "expected an object, found an array" },
		{ "I12-metadata-twice", "duplicate key \"a\"" },
		{ "I12-leading-space", "does not begin with {" },
		{ "I12-byte-order-mark", "does not begin with {" },
		{ "I12-trailing-nul", "2 bytes after the value" },
		{ "I12-ill-formed-utf8", "ill-formed UTF-8" },
		{ "I12-not-an-object", "does not begin with {" },
	};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		tap_fails(open_bad(files[i].file), ERR_FORMAT, files[i].part, "%s", files[i].file);
}

static void test_cut(void)
{
	static const struct {
		const char *file, *part;
	} files[] = {
		{ "cut-data", "cut short: its tensors take 4 bytes, 3 are there" },
		{ "cut-header", "cut short: its header takes 54 bytes, 32 are there" },
		{ "cut-length", "needs 8 bytes, 4 left" },
		{ "nothing", "needs 8 bytes, 0 left" },
		{ "no-header", "does not begin with {" },
		{ "trailing-bytes", "1 bytes follow the last tensor, which ends at byte 66" },
		{ "no-dtype", "tensor t: no dtype" },
		{ "no-shape", "tensor t: no shape" },
		{ "no-offsets", "tensor t: no data_offsets" },
		{ "float-dimension", "1.0 is not a whole number" },
	};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		tap_fails(open_bad(files[i].file), ERR_FORMAT, files[i].part, "%s", files[i].file);
	tap_fails(open_bad("nine-dimensions"), ERR_LIMIT, "tensor t: more than 8 dimensions",
		  "nine dimensions");
	tap_fails(open_bad("I05-header-too-long"), ERR_LIMIT, "the limit is 100000000",
		  "I05 a length past the limit");
	tap_ok(open_bad("deep") < 0, "ten thousand brackets");
}

/* All that lies in the folder, whether a test above names it or not. */
static void test_every_bad_file(void)
{
	DIR *d = opendir(BAD);
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		struct safetensors *s = NULL;
		char path[512];

		if (!bytes_end_with(bytes_of(e->d_name), ".safetensors"))
			continue;
		snprintf(path, sizeof path, BAD "%s", e->d_name);
		tap_ok(safetensors_open(&s, path) < 0 && strstr(err_text(), e->d_name),
		       "%s is refused, naming the file", e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	tap_ok(n > 40, "%zu bad files", n);
}

static void test_sizes(void)
{
	static const char fits[] = "{\"t\":{\"dtype\":\"U8\",\"shape\":[0,9223372036854775808,4],"
				   "\"data_offsets\":[0,0]}}";

	tap_works(open_text(fits, 0), "a dimension of 0 beside ones that overflow is 0");
	tap_works(open_text("{\"t\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],"
			    "\"data_offsets\":[0,1]}}",
			    1),
		  "eight dimensions");
	tap_fails(open_text("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
			    "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}",
			    2),
		  ERR_FORMAT, "overlaps", "nothing, but inside another's data");
	tap_fails(open_text("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],"
			    "\"note\":1}}",
			    1),
		  ERR_FORMAT, "unknown key \"note\"", "a key that is not of the format");
}

/* --- time --- */

static double seconds_to_open(size_t n)
{
	struct safetensors *s = NULL;
	struct buffer b = { 0 }, header = { 0 };
	struct timespec from, to;

	buffer_put_text(&header, "{");
	for (size_t i = 0; i < n; i++)
		buffer_format(&header,
			      "%s\"model.layers.%zu.weight\":{\"dtype\":\"U8\",\"shape\":[1],"
			      "\"data_offsets\":[%zu,%zu]}",
			      i ? "," : "", i, n - 1 - i, n - i);
	buffer_put_text(&header, "}");
	buffer_put_u64(&b, header.size);
	buffer_put(&b, header.data, header.size);
	buffer_put_zeros(&b, n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	tap_works(safetensors_open_memory(&s, b.data, b.size, "made"), "%zu tensors", n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	tap_is_u64(safetensors_find(s, bytes_of("model.layers.0.weight"))->offset,
		   8 + header.size + n - 1, "the first name has the last byte");
	safetensors_close(s);
	buffer_free(&b);
	buffer_free(&header);
	return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

/* 4 times the tensors in about 4 times the time; quadratic would be 16. */
static void test_linear(void)
{
	double few = seconds_to_open(25000), many = seconds_to_open(100000);

	tap_note("25,000 tensors: %.3f s; 100,000: %.3f s", few, many);
	tap_ok(many < 8 * few + 0.02, "linear in the number of tensors");
}

/* --- damage --- */

static int open_memory(void *arg, const void *data, size_t size)
{
	struct safetensors *s = NULL;
	uint64_t sum = 0;

	if (safetensors_open_memory(&s, data, size, "damaged") < 0)
		return -1;
	for (size_t i = 0; i < safetensors_n_tensors(s); i++) {
		const struct tensor_info *t = safetensors_tensor(s, i);

		if (t->n_bytes)
			sum += t->data[0] + t->data[t->n_bytes - 1];
		if (safetensors_find(s, t->name) != t)
			abort();
	}
	*(uint64_t *)arg = sum;
	safetensors_close(s);
	return 0;
}

static void test_damaged(void)
{
	struct bytes good, second;
	uint64_t sum;
	char *a = tap_fixture(GOOD "all-dtypes.safetensors", &good.size);
	char *b = tap_fixture(GOOD "escapes.safetensors", &second.size);

	good.data = a;
	second.data = b;
	corrupt_run("damaged safetensors", good, second, open_memory, &sum, (size_t)64 << 20);
	free(a);
	free(b);
}

int main(void)
{
	tap_run(test_every_dtype);
	tap_run(test_scalar_and_empty);
	tap_run(test_I08_unaligned_start);
	tap_run(test_I06_unknown_dtype);
	tap_run(test_I12_names);
	tap_run(test_I11_transposed);
	tap_run(test_I02_offsets);
	tap_run(test_I03_duplicates);
	tap_run(test_I12_refused);
	tap_run(test_cut);
	tap_run(test_every_bad_file);
	tap_run(test_sizes);
	tap_run(test_linear);
	tap_run(test_damaged);
	return tap_done();
}
