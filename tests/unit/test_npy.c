/*
 * tests/unit/test_npy.c - npy files against NumPy's own
 *
 * The golden files were written by NumPy 2.4.6. Their headers must come out of npy_put_header to
 * the byte, and their values are those that scripts/gen-fixtures-json computes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

static char *golden(const char *name, size_t *size)
{
	char path[128];

	snprintf(path, sizeof path, "fixtures/golden/npy/%s.npy", name);
	return tap_fixture(path, size);
}

static bool same_shape(const struct npy *n, const uint64_t *shape, uint32_t n_dims)
{
	return n->n_dims == n_dims &&
	       (n_dims == 0 || memcmp(n->shape, shape, n_dims * sizeof *shape) == 0);
}

/* The file NAME says TYPE, ORDER and SHAPE, and the header that we write for them is its own. */
static char *agrees(const char *name, enum dtype type, bool fortran, const uint64_t *shape,
		    uint32_t n_dims, struct npy *n)
{
	struct buffer b = { 0 };
	size_t size;
	char *data = golden(name, &size);

	tap_works(npy_read(n, data, size, name), "%s", name);
	tap_is_text(dtype_name(n->dtype), dtype_name(type), "%s: type", name);
	tap_ok(n->fortran == fortran, "%s: order", name);
	tap_ok(same_shape(n, shape, n_dims), "%s: shape", name);
	tap_is_u64(n->n_bytes, size - n->offset, "%s: bytes", name);
	tap_ok(n->data == (unsigned char *)data + n->offset, "%s: place", name);
	tap_works(npy_put_header(&b, type, fortran, shape, n_dims), "%s: written", name);
	if (data[6] == 1)
		tap_is_bytes(buffer_bytes(&b), ((struct bytes){ data, n->offset }), "%s: header",
			     name);
	buffer_free(&b);
	return data;
}

static void test_types(void)
{
	static const struct {
		const char *name;
		enum dtype type;
	} types[] = {
		{ "f8", DTYPE_F64 }, { "f4", DTYPE_F32 }, { "f2", DTYPE_F16 }, { "i8", DTYPE_I64 },
		{ "i4", DTYPE_I32 }, { "i2", DTYPE_I16 }, { "i1", DTYPE_I8 },  { "u8", DTYPE_U64 },
		{ "u4", DTYPE_U32 }, { "u2", DTYPE_U16 }, { "u1", DTYPE_U8 },
	};
	static const uint64_t shape[] = { 3, 4 };
	struct npy n;

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		char *data = agrees(types[i].name, types[i].type, false, shape, 2, &n);
		int minus = types[i].name[0] == 'u' ? 0 : 7;
		float values[12];
		size_t wrong = 0;

		dtype_to_f32(n.dtype, n.data, values, 12);
		for (int k = 0; k < 12; k++)
			wrong += values[k] != (float)(k * 3 - minus);
		tap_is_u64(wrong, 0, "%s: values", types[i].name);
		free(data);
	}
	free(agrees("b1", DTYPE_BOOL, false, shape, 2, &n));
	free(agrees("c8", DTYPE_C64, false, shape, 2, &n));
}

static void test_shapes(void)
{
	struct npy n;

	free(agrees("scalar", DTYPE_F32, false, NULL, 0, &n));
	tap_is_u64(n.n_elements, 1, "a scalar is one element");
	free(agrees("one-axis", DTYPE_F32, false, (uint64_t[]){ 5 }, 1, &n));
	free(agrees("empty", DTYPE_F32, false, (uint64_t[]){ 0 }, 1, &n));
	tap_is_u64(n.n_elements, 0, "empty");
	free(agrees("empty-axis", DTYPE_I16, false, (uint64_t[]){ 3, 0, 2 }, 3, &n));
	free(agrees("eight-axes", DTYPE_U16, false, (uint64_t[]){ 2, 2, 2, 2, 2, 2, 2, 2 }, 8, &n));
	free(agrees("fortran", DTYPE_F32, true, (uint64_t[]){ 3, 4 }, 2, &n));
	free(agrees("long-axis", DTYPE_F64, false, (uint64_t[]){ 123456, 0 }, 2, &n));
	free(agrees("version-2", DTYPE_F32, false, (uint64_t[]){ 3, 4 }, 2, &n));
	tap_is_u64(n.offset, 128, "version 2");
	free(agrees("version-3", DTYPE_F32, false, (uint64_t[]){ 3, 4 }, 2, &n));
}

static void test_refused_files(void)
{
	static const struct {
		const char *name, *part;
		int code;
	} files[] = {
		{ "refused-big-endian", "descr '>f4' is not handled here: big-endian",
		  ERR_UNSUPPORTED },
		{ "refused-bf16", "descr '<V2' is not handled here: raw bytes (bf16",
		  ERR_UNSUPPORTED },
		{ "refused-structured",
		  "descr '[('a', '<f4'), ('b', '<i' is not handled here: a structured",
		  ERR_UNSUPPORTED },
		{ "refused-object", "descr '|O' is not handled here: Python objects",
		  ERR_UNSUPPORTED },
		{ "refused-string", "descr '<U2' is not handled here: strings", ERR_UNSUPPORTED },
		{ "refused-complex128", "descr '<c16' is not handled here: no such",
		  ERR_UNSUPPORTED },
		{ "refused-date", "descr '<M8[D]' is not handled here: dates", ERR_UNSUPPORTED },
		{ "refused-nine-axes", "more than 8 axes", ERR_LIMIT },
	};
	struct npy n;
	size_t size;

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char *data = golden(files[i].name, &size);

		tap_fails(npy_read(&n, data, size, "n.npy"), files[i].code, files[i].part, "%s",
			  files[i].name);
		free(data);
	}
}

/* --- headers by hand --- */

/* A file of version MAJOR with DICTIONARY and N zero bytes behind it. */
static int read_header(struct npy *n, int major, const char *dictionary, size_t zeros)
{
	struct buffer b = { 0 };
	int result;

	buffer_put(&b, "\x93NUMPY", 6);
	buffer_put_u8(&b, (uint8_t)major);
	buffer_put_u8(&b, 0);
	if (major == 1)
		buffer_put_u16(&b, (uint16_t)strlen(dictionary));
	else
		buffer_put_u32(&b, (uint32_t)strlen(dictionary));
	buffer_put_text(&b, dictionary);
	buffer_put_zeros(&b, zeros);
	result = npy_read(n, b.data, b.size, "n.npy");
	buffer_free(&b);
	return result;
}

static void takes(const char *dictionary, size_t zeros, enum dtype type, uint32_t n_dims)
{
	struct npy n = { 0 };

	tap_works(read_header(&n, 1, dictionary, zeros), "%s", dictionary);
	tap_ok(n.dtype == type && n.n_dims == n_dims, "its type and axes");
}

static void test_spellings(void)
{
	struct npy n;

	takes("{'descr':'<f4','fortran_order':False,'shape':(2,)}", 8, DTYPE_F32, 1);
	takes("{\"shape\": (2, 3), \"descr\": \"<f4\", \"fortran_order\": True, }  \n", 24,
	      DTYPE_F32, 2);
	takes("{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n", 24, DTYPE_F32, 2);
	takes("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }\n", 24, DTYPE_F32, 2);
	/* The byte order of one byte says nothing. */
	takes("{'descr': '>u1', 'fortran_order': False, 'shape': (2,), }", 2, DTYPE_U8, 1);
	takes("{'descr': '>i1', 'fortran_order': False, 'shape': (2,), }", 2, DTYPE_I8, 1);
	takes("{'descr': '<b1', 'fortran_order': False, 'shape': (2,), }", 2, DTYPE_BOOL, 1);
	tap_fails(
		read_header(&n, 3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }", 8),
		ERR_FORMAT, "the shape needs a comma here", "no L in version 3");
}

static void refuses(const char *dictionary, size_t zeros, int code, const char *part)
{
	struct npy n;

	tap_fails(read_header(&n, 1, dictionary, zeros), code, part, "refused: %s", dictionary);
}

#define F4(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }"

static void test_refused_headers(void)
{
	refuses("", 0, ERR_FORMAT, "n.npy: byte 10: the header needs { here");
	refuses("{}", 0, ERR_FORMAT, "the header has no key 'descr'");
	refuses("{'descr': '<f4', 'shape': (1,)}", 4, ERR_FORMAT, "no key 'fortran_order'");
	refuses("{'descr': '<f4', 'fortran_order': False}", 4, ERR_FORMAT, "no key 'shape'");
	refuses("{'descr': '<f4', 'descr': '<f4'}", 4, ERR_FORMAT, "duplicate key 'descr'");
	refuses("{'describe': '<f4'}", 4, ERR_FORMAT, "unknown key 'describe'");
	refuses("{'descr': '<f4' 'shape': (1,)}", 4, ERR_FORMAT,
		"byte 26: the header needs a comma");
	refuses("{'descr: '<f4'}", 4, ERR_FORMAT, "the header needs : here");
	refuses("{'descr': <f4}", 4, ERR_FORMAT, "the header needs descr in quotes here");
	refuses("{'descr': '<f4", 4, ERR_FORMAT, "descr that does not end");
	refuses("{'descr': '<\\x664'}", 4, ERR_FORMAT, "has a backslash");
	refuses("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", 4, ERR_FORMAT,
		"needs False here");
	refuses("{'descr': '', 'fortran_order': False, 'shape': (1,)}", 4, ERR_UNSUPPORTED,
		"descr ''");
	refuses("{'descr': '|f4'}", 4, ERR_UNSUPPORTED,
		"descr '|f4' is not handled here: no byte order");
	refuses("{'descr': '<f16'}", 4, ERR_UNSUPPORTED, "descr '<f16' is not handled here");
	refuses("{'descr': '|V1'}", 4, ERR_UNSUPPORTED,
		"descr '|V1' is not handled here: raw bytes");
	refuses("{'descr': '<f1'}", 4, ERR_UNSUPPORTED, "descr '<f1' is not handled here");
	refuses("{'descr': ('<f4', (2,))}", 4, ERR_UNSUPPORTED, "a structured type");
	refuses(F4("(1)"), 4, ERR_FORMAT, "a number, not a tuple");
	refuses(F4("[1]"), 4, ERR_FORMAT, "the header needs ( here");
	refuses(F4("(,)"), 4, ERR_FORMAT, "a whole number here");
	refuses(F4("(1 2)"), 8, ERR_FORMAT, "the shape needs a comma here");
	refuses(F4("(-1,)"), 4, ERR_FORMAT, "a whole number here");
	refuses(F4("(1.0,)"), 4, ERR_FORMAT, "the shape needs a comma here");
	refuses(F4("(9223372036854775808,)"), 4, ERR_FORMAT, "past 2^63 - 1");
	refuses(F4("(9223372036854775807,)"), 4, ERR_FORMAT, "product does not fit");
	refuses(F4("(4294967296, 4294967296)"), 4, ERR_FORMAT, "product does not fit");
	refuses(F4("(4294967296, 1073741824)"), 4, ERR_FORMAT, "product does not fit");
	refuses(F4("(1,)") " x", 4, ERR_FORMAT, "bytes after the header's dictionary");
	refuses(F4("(2,)"), 7, ERR_FORMAT, "elements: needs 8 bytes, 7 left");
	refuses(F4("(2,)"), 9, ERR_FORMAT, "1 bytes after the elements");
}

static void test_preambles(void)
{
	struct npy n;

	tap_fails(npy_read(&n, "", 0, "n.npy"), ERR_FORMAT, "byte 0: magic: needs 6", "no bytes");
	tap_fails(npy_read(&n, "PK\3\4..", 6, "n.npy"), ERR_FORMAT, "byte 0: not an npy file",
		  "npz");
	tap_fails(npy_read(&n, "\x93NUMPY\4\0v\0\0\0", 12, "n.npy"), ERR_UNSUPPORTED,
		  "byte 6: npy version 4.0", "version 4.0");
	tap_fails(npy_read(&n, "\x93NUMPY\0\0v\0", 10, "n.npy"), ERR_UNSUPPORTED, "version 0.0",
		  "0.0");
	tap_fails(npy_read(&n, "\x93NUMPY\1\1v\0", 10, "n.npy"), ERR_UNSUPPORTED, "version 1.1",
		  "1.1");
	tap_fails(npy_read(&n, "\x93NUMPY\1\0v", 9, "n.npy"), ERR_FORMAT, "header size: needs 2",
		  "cut");
	tap_fails(npy_read(&n, "\x93NUMPY\1\0v\0{", 11, "n.npy"), ERR_FORMAT, "header: needs 118",
		  "cut");
	tap_fails(npy_read(&n, "\x93NUMPY\2\0\xFF\xFF\xFF\xFF{", 13, "n.npy"), ERR_LIMIT,
		  "byte 8: a header of 4294967295 bytes; at most 10000", "a huge header");
}

static void test_writer(void)
{
	struct buffer b = { 0 };
	const uint64_t shape[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct npy n;

	tap_fails(npy_put_header(&b, DTYPE_BF16, false, shape, 1), ERR_UNSUPPORTED,
		  "npy has no type for bf16", "bf16");
	tap_fails(npy_put_header(&b, DTYPE_F8_E4M3, false, shape, 1), ERR_UNSUPPORTED, "f8_e4m3",
		  "F8");
	tap_fails(npy_put_header(&b, DTYPE_Q4_0, false, shape, 1), ERR_UNSUPPORTED, "q4_0",
		  "blocks");
	tap_fails(npy_put_header(&b, DTYPE_F32, false, shape, 9), ERR_LIMIT, "9 axes; at most 8",
		  "axes");
	tap_is_u64(b.size, 0, "and nothing was written");
	tap_ok(!npy_descr(DTYPE_BF16), "bf16 has no descr");
	tap_is_text(npy_descr(DTYPE_F32), "<f4", "f32 has one");

	/* A header goes where the buffer ends, and its padding counts from itself. */
	buffer_put_text(&b, "abc");
	tap_works(npy_put_header(&b, DTYPE_U8, true, (uint64_t[]){ 2, 2 }, 2), "after other bytes");
	buffer_put_zeros(&b, 4);
	tap_works(npy_read(&n, b.data + 3, b.size - 3, "n.npy"), "read back");
	tap_ok(n.offset == 128 && n.fortran, "its offset and order");
	buffer_free(&b);
}

/* Headers whose length is where the rules about padding and room to grow show. */
static void test_edge_headers(void)
{
	static const struct {
		const char *name;
		bool fortran;
		uint64_t shape[8];
		size_t size;
	} headers[] = {
		{ "header-exact", false, { 7, 1111, 1111, 1111, 1111, 1111, 1111, 111 }, 192 },
		{ "header-fortran", true, { 11111, 1111, 1111, 1111, 1111, 1111, 1111, 1 }, 192 },
	};

	for (size_t i = 0; i < 2; i++) {
		struct buffer b = { 0 };
		size_t size;
		char *want = golden(headers[i].name, &size);

		tap_is_u64(size, headers[i].size, "%s: its size", headers[i].name);
		tap_works(npy_put_header(&b, DTYPE_F32, headers[i].fortran, headers[i].shape, 8),
			  "%s", headers[i].name);
		tap_is_bytes(buffer_bytes(&b), ((struct bytes){ want, size }), "as NumPy has it");
		buffer_free(&b);
		free(want);
	}
}

/* Every shape of digits 1 to 20 keeps the alignment, past the step where 64 more are needed. */
static void test_padding(void)
{
	uint64_t shape[8];
	size_t wrong = 0;

	for (uint64_t v = 1; v < UINT64_MAX / 100; v *= 10)
		for (uint32_t n_dims = 0; n_dims <= 8; n_dims++) {
			struct buffer b = { 0 };

			for (uint32_t i = 0; i < n_dims; i++)
				shape[i] = v;
			wrong += npy_put_header(&b, DTYPE_F64, n_dims % 2, shape, n_dims) != 0;
			wrong += b.size % 64 != 0 || b.data[b.size - 1] != '\n' ||
				 (size_t)(unsigned char)b.data[8] +
						 256u * (unsigned char)b.data[9] + 10 !=
					 b.size;
			buffer_free(&b);
		}
	tap_is_u64(wrong, 0, "headers end at a multiple of 64");
}

static int read_npy(void *arg, const void *data, size_t size)
{
	struct npy n;

	if (npy_read(&n, data, size, "damaged"))
		return -1;
	/* What was taken lies within the file. */
	return n.offset <= size && n.n_bytes == size - n.offset ? 0 : 1;
}

static void test_damage(void)
{
	size_t n1, n2;
	char *good = golden("f4", &n1), *second = golden("version-3", &n2);

	corrupt_run("damaged npy", (struct bytes){ good, n1 }, (struct bytes){ second, n2 },
		    read_npy, NULL, 16 << 20);
	free(good);
	free(second);
}

int main(void)
{
	tap_run(test_types);
	tap_run(test_shapes);
	tap_run(test_refused_files);
	tap_run(test_spellings);
	tap_run(test_refused_headers);
	tap_run(test_preambles);
	tap_run(test_writer);
	tap_run(test_edge_headers);
	tap_run(test_padding);
	tap_run(test_damage);
	return tap_done();
}
