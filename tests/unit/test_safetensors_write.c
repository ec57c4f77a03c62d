/*
 * The safetensors writer: the bytes of the reference implementation for the same tensors, and what
 * must not be written; rows I03, I05, I08, I09, I11 and I12 of the cases. The fixtures that are
 * written again here come from safetensors 0.8.0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "lib/base/err.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/safetensors/"

static struct tensor_info tensor(const char *name, enum dtype dtype, uint64_t n, uint64_t bytes)
{
	return (struct tensor_info){ .name = bytes_of(name),
				     .dtype = dtype,
				     .n_dims = 1,
				     .shape = { n },
				     .n_bytes = bytes };
}

static struct safetensors_writer *new_writer(bool keep_order)
{
	struct safetensors_writer *w = NULL;

	if (!tap_works(safetensors_writer_new(&w, keep_order), "a writer"))
		exit(1);
	return w;
}

static struct outfile *new_file(const char *path)
{
	struct outfile *f = NULL;

	if (!tap_works(outfile_new(&f, path), "a file"))
		exit(1);
	return f;
}

static void is_file(const char *path, const char *want)
{
	struct bytes a, b;
	char *x = tap_fixture(path, &a.size), *y = tap_fixture(want, &b.size);

	a.data = x;
	b.data = y;
	tap_is_bytes(a, b, "the bytes of %s", want);
	free(x);
	free(y);
}

/* Declares the tensors of S, the last first when it is asked for. */
static void declare(struct safetensors_writer *w, const struct safetensors *s, bool backwards)
{
	size_t n = safetensors_n_tensors(s);

	for (size_t i = 0; i < safetensors_n_pairs(s); i++)
		safetensors_put_pair(w, safetensors_pair(s, i)->key, safetensors_pair(s, i)->value);
	for (size_t i = 0; i < n; i++)
		safetensors_put_tensor(w, safetensors_tensor(s, backwards ? n - 1 - i : i));
}

/* Writes what is in FROM again; the bytes by value when BACKWARDS, else copied between files. */
static void write_again(const char *from, const char *to, bool backwards, bool keep_order)
{
	struct safetensors_writer *w = new_writer(keep_order);
	struct outfile *f = new_file(to);
	struct safetensors *s = NULL;
	size_t n;

	if (!tap_works(safetensors_open(&s, from), "%s", from))
		exit(1);
	n = safetensors_n_tensors(s);
	declare(w, s, backwards);
	tap_works(safetensors_writer_begin(w, f), "begin");
	for (size_t i = 0; i < n; i++) {
		size_t place = safetensors_writer_order(w, i);
		const struct tensor_info *t =
			safetensors_tensor(s, backwards ? n - 1 - place : place);

		if (backwards)
			tap_works(safetensors_writer_data(w, t->data, t->n_bytes), "data");
		else
			tap_works(safetensors_writer_copy(w, safetensors_file_fd(s, 0), t->offset,
							  t->n_bytes),
				  "copied data");
	}
	tap_works(safetensors_writer_end(w), "end");
	tap_works(outfile_commit(f), "commit");
	safetensors_writer_free(w);
	safetensors_close(s);
}

/* I08 too: the reference pads the header with spaces to a multiple of 8. */
static void test_bytes_of_the_reference(void)
{
	static const char *const files[] = { "all-dtypes",	 "order",
					     "escapes",		 "empty",
					     "scalar-and-empty", "I11-transposed" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char from[256], to[512];

		snprintf(from, sizeof from, GOOD "%s.safetensors", files[i]);
		snprintf(to, sizeof to, "%s", tap_path("again.safetensors"));
		write_again(from, to, true, false);
		is_file(to, from);
		write_again(from, to, false, false);
		is_file(to, from);
		write_again(from, to, false, true);
		is_file(to, from);
	}
}

/* Header of a file of ours, without the length; ends the program when it is not there. */
static struct bytes header_of(char *data, size_t size)
{
	uint64_t n = 0;

	for (int i = 7; i >= 0; i--)
		n = n << 8 | (unsigned char)data[i];
	if (!tap_ok(n <= size - 8, "a header"))
		exit(1);
	return (struct bytes){ data + 8, n };
}

static void test_keep_order(void)
{
	static const char want[] =
		"{\"__metadata__\":{\"b\":\"2\",\"a\":\"1\"},"
		"\"z\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
		"\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]},"
		"\"x\":{\"dtype\":\"XYZ\",\"shape\":[3],\"data_offsets\":[6,7]}}";
	struct safetensors_writer *w = new_writer(true);
	struct tensor_info z = tensor("z", DTYPE_U8, 2, 2), a = tensor("a", DTYPE_F32, 1, 4);
	struct tensor_info x = tensor("x", DTYPE_UNKNOWN, 3, 1);
	const char *path = tap_path("kept.safetensors");
	struct outfile *f = new_file(path);
	struct bytes header, tail;
	size_t size;
	char *data;

	x.dtype_name = bytes_of("XYZ");
	safetensors_put_pair(w, bytes_of("b"), bytes_of("2"));
	safetensors_put_pair(w, bytes_of("a"), bytes_of("1"));
	safetensors_put_tensor(w, &z);
	safetensors_put_tensor(w, &a);
	safetensors_put_tensor(w, &x);
	tap_works(safetensors_writer_begin(w, f), "begin");
	for (size_t i = 0; i < 3; i++)
		tap_is_u64(safetensors_writer_order(w, i), i, "as declared");
	tap_works(safetensors_writer_data(w, "1234567", 7), "data in one run");
	tap_works(safetensors_writer_end(w), "end");
	tap_works(outfile_commit(f), "commit");
	safetensors_writer_free(w);
	data = tap_fixture(path, &size);
	header = header_of(data, size);
	tap_is_u64(header.size % 8, 0, "I08 padded to a multiple of 8");
	tap_ok(bytes_start_with(header, want), "the order of declaration, metadata too");
	tail = (struct bytes){ data + size - 7, 7 };
	tap_is_bytes(tail, bytes_of("1234567"), "the data");
	free(data);
}

/* --- what must not be written --- */

/* The error of W comes out of begin, and not a byte is written. Frees W. */
static void refuses(struct safetensors_writer *w, enum err_code code, const char *part,
		    const char *what)
{
	struct outfile *f = new_file(tap_path("refused.safetensors"));

	tap_fails(safetensors_writer_begin(w, f), code, part, "%s", what);
	tap_is_u64(outfile_offset(f), 0, "nothing is written");
	outfile_discard(f);
	safetensors_writer_free(w);
}

static void refuses_tensor(struct tensor_info t, enum err_code code, const char *part,
			   const char *what)
{
	struct safetensors_writer *w = new_writer(false);

	safetensors_put_tensor(w, &t);
	refuses(w, code, part, what);
}

/* I09: two names for one tensor are the caller's to tell apart; one name twice is refused. */
static void test_I03_I09_two_of_one_name(void)
{
	struct safetensors_writer *w = new_writer(false);
	struct tensor_info a = tensor("a", DTYPE_F32, 1, 4), b = tensor("b", DTYPE_F32, 2, 4);

	safetensors_put_tensor(w, &a);
	safetensors_put_tensor(w, &a);
	safetensors_put_tensor(w, &b); /* wrong too, but the first error is the one that counts */
	refuses(w, ERR_ARGUMENT, "tensor a: duplicate name", "I03 I09 a name twice");
	w = new_writer(false);
	safetensors_put_pair(w, bytes_of("k"), bytes_of("1"));
	safetensors_put_pair(w, bytes_of("k"), bytes_of("1"));
	refuses(w, ERR_ARGUMENT, "duplicate metadata key k", "I03 a key twice");
}

/* I11: there are no strides to give; bytes that are not those of the shape are refused. */
static void test_refused(void)
{
	struct tensor_info t = tensor("t", DTYPE_F32, 3, 8);

	refuses_tensor(t, ERR_ARGUMENT, "tensor t: its bytes do not fit", "I11 the storage's size");
	refuses_tensor(tensor("t", DTYPE_F4, 3, 2), ERR_ARGUMENT, "do not fit", "half a byte");
	refuses_tensor(tensor("t", DTYPE_Q4_0, 32, 18), ERR_UNSUPPORTED, "no type q4_0",
		       "a type of GGUF");
	refuses_tensor(tensor("__metadata__", DTYPE_U8, 1, 1), ERR_ARGUMENT, "keeps this name",
		       "the name of the metadata");
	refuses_tensor(tensor("a\xff", DTYPE_U8, 1, 1), ERR_ARGUMENT, "is not UTF-8",
		       "I12 a name that JSON cannot hold");
	t = tensor("t", DTYPE_U8, 1, 1);
	t.n_dims = 9;
	refuses_tensor(t, ERR_LIMIT, "more than 8 dimensions", "nine dimensions");
	t = tensor("t", DTYPE_U8, 1, 1);
	t.n_dims = 2;
	t.shape[0] = t.shape[1] = (uint64_t)1 << 33;
	refuses_tensor(t, ERR_ARGUMENT, "does not fit in 64 bits", "a product that wraps");
}

static void test_data_that_does_not_fit(void)
{
	struct safetensors_writer *w = new_writer(false);
	struct tensor_info a = tensor("a", DTYPE_F32, 1, 4);
	struct outfile *f = new_file(tap_path("unfinished.safetensors"));

	tap_fails(safetensors_writer_data(w, "1234", 4), ERR_ARGUMENT, "before the header",
		  "data before begin");
	tap_fails(safetensors_writer_end(w), ERR_ARGUMENT, "before the header", "end before begin");
	safetensors_put_tensor(w, &a);
	tap_works(safetensors_writer_begin(w, f), "begin");
	tap_works(safetensors_writer_data(w, "123", 3), "three of four bytes");
	tap_fails(safetensors_writer_end(w), ERR_ARGUMENT, "1 bytes of data are missing",
		  "too few");
	tap_fails(safetensors_writer_data(w, "45", 2), ERR_ARGUMENT, "1 bytes of data more",
		  "too many");
	tap_fails(safetensors_writer_begin(w, f), ERR_ARGUMENT, "begun before", "begin twice");
	outfile_discard(f);
	safetensors_writer_free(w);
}

/*
 * I05: 125 tensors with names of a little less than 800,000 bytes make a header that is just within
 * the limit, to the byte; with one byte more it is refused before anything is written.
 */
static struct safetensors_writer *declare_long(size_t more)
{
	struct safetensors_writer *w = new_writer(true);
	size_t fixed = strlen("\"\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},");
	size_t n = 125, each = 800000 - fixed;
	char *name = malloc(each + 16);

	if (!name)
		exit(1);
	memset(name, 'n', each + 16);
	for (size_t i = 0; i < n; i++) {
		struct tensor_info t = tensor("", DTYPE_U8, 0, 0);

		name[0] = (char)('a' + i % 26);
		name[1] = (char)('a' + i / 26);
		/* All entries but the last have a comma, and there are two braces. */
		t.name = (struct bytes){ name, i + 1 < n ? each : each - 1 + more };
		safetensors_put_tensor(w, &t);
	}
	free(name);
	return w;
}

static void test_I05_longest_header(void)
{
	const char *path = tap_path("longest.safetensors");
	struct safetensors_writer *w = declare_long(0);
	struct outfile *f = new_file(path);
	struct safetensors *s = NULL;

	tap_works(safetensors_writer_begin(w, f), "I05 a header of 100,000,000 bytes");
	tap_is_u64(outfile_offset(f), SAFETENSORS_HEADER_MAX + 8, "I05 to the byte");
	tap_works(safetensors_writer_end(w), "end");
	tap_works(outfile_commit(f), "commit");
	safetensors_writer_free(w);
	tap_works(safetensors_open(&s, path), "I05 it can be read back");
	tap_is_u64(s ? safetensors_n_tensors(s) : 0, 125, "I05 whole");
	safetensors_close(s);
	remove(path);
	refuses(declare_long(1), ERR_LIMIT, "write shards", "I05 one byte more");
}

/* --- the index --- */

static void test_index(void)
{
	struct bytes names[] = { bytes_of("c"), bytes_of("b\u00e9"), bytes_of("a") };
	struct bytes one = bytes_of("model-00001-of-00002.safetensors");
	struct bytes files[] = { one, bytes_of("model-00002-of-00002.safetensors"), one };
	const char *path = tap_path("model.safetensors.index.json");
	struct outfile *f = new_file(path);

	tap_works(safetensors_write_index(f, names, files, 3, 24), "an index");
	tap_works(outfile_commit(f), "commit");
	is_file(path, GOOD "sharded/model.safetensors.index.json");
}

/* json.dumps of {"\x00\x1f\x7f\"\\\b\f\n\r\t\u2028\U0001F600": "f"} and of {} */
static void test_index_escapes(void)
{
	static const char odd[] = "\0\x1f\x7f\"\\\b\f\n\r\t\u2028\U0001F600";
	struct bytes names[] = { { odd, sizeof odd - 1 }, bytes_of("a\xff") };
	struct bytes files[] = { bytes_of("f"), bytes_of("f") };
	const char *path = tap_path("odd.index.json");
	struct outfile *f = new_file(path);
	struct bytes got;
	char *text;

	tap_works(safetensors_write_index(f, names, files, 1, 0), "an index with an odd name");
	tap_works(outfile_commit(f), "commit");
	text = tap_fixture(path, &got.size);
	tap_is_text(text,
		    "{\n  \"metadata\": {\n    \"total_size\": 0\n  },\n  \"weight_map\": {\n"
		    "    \"\\u0000\\u001f\\u007f\\\"\\\\\\b\\f\\n\\r\\t\\u2028\\ud83d\\ude00\": "
		    "\"f\"\n  }\n}\n",
		    "ASCII alone");
	free(text);
	f = new_file(path);
	tap_works(safetensors_write_index(f, names, files, 0, 0), "no tensors");
	tap_fails(safetensors_write_index(f, names, files, 2, 0), ERR_ARGUMENT, "is not UTF-8",
		  "a name that is not UTF-8");
	names[1] = names[0];
	tap_fails(safetensors_write_index(f, names, files, 2, 0), ERR_ARGUMENT, "duplicate name",
		  "a name twice");
	tap_works(outfile_commit(f), "commit");
	text = tap_fixture(path, &got.size);
	tap_is_text(text,
		    "{\n  \"metadata\": {\n    \"total_size\": 0\n  },\n  \"weight_map\": {}\n}\n",
		    "an empty map, and nothing of what was refused");
	free(text);
}

int main(void)
{
	tap_run(test_bytes_of_the_reference);
	tap_run(test_keep_order);
	tap_run(test_I03_I09_two_of_one_name);
	tap_run(test_refused);
	tap_run(test_data_that_does_not_fit);
	tap_run(test_I05_longest_header);
	tap_run(test_index);
	tap_run(test_index_escapes);
	return tap_done();
}
