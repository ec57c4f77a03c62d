/*
 * The GGUF writer: bytes equal to gguf-py's, what it refuses, and rows H11 and H14 of the cases,
 * which are about writing a file whose metadata has changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"
#include "lib/base/err.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/gguf/"

static struct gguf *open_good(const char *name)
{
	struct gguf *g = NULL;
	char path[256];

	snprintf(path, sizeof(path), GOOD "%s", name);
	if (!tap_works(gguf_open(&g, path), "%s opens", name))
		exit(1);
	return g;
}

static struct gguf_writer *new_writer(uint32_t alignment)
{
	struct gguf_writer *w = NULL;

	if (!tap_works(gguf_writer_new(&w, alignment), "a writer"))
		exit(1);
	return w;
}

/* --- declaring what is in a file --- */

/* Declares V as a program would that has made the value itself; false for a type without a way. */
static bool put_typed(struct gguf_writer *w, const struct gguf_value *v, const char *key)
{
	switch (v->type) {
	case GGUF_U16: gguf_put_u16(w, key, (uint16_t)gguf_value_u64(v)); return true;
	case GGUF_U32: gguf_put_u32(w, key, (uint32_t)gguf_value_u64(v)); return true;
	case GGUF_U64: gguf_put_u64(w, key, gguf_value_u64(v)); return true;
	case GGUF_I32: gguf_put_i32(w, key, (int32_t)gguf_value_i64(v)); return true;
	case GGUF_F32: gguf_put_f32(w, key, (float)gguf_value_f64(v)); return true;
	case GGUF_BOOL: gguf_put_bool(w, key, gguf_value_u64(v) != 0); return true;
	case GGUF_STRING: gguf_put_string(w, key, gguf_value_string(v)); return true;
	default: return false;
	}
}

static void put_string_array(struct gguf_writer *w, const struct gguf_value *v, const char *key)
{
	struct bytes *items = calloc(v->n, sizeof(*items));
	struct gguf_value item;
	struct gguf_items it;
	size_t n = 0;

	gguf_items(&it, v);
	while (gguf_items_next(&it, &item))
		items[n++] = gguf_value_string(&item);
	gguf_put_strings(w, key, n, items);
	free(items);
}

static void put_made(struct gguf_writer *w, const struct gguf_value *v)
{
	char key[64];

	snprintf(key, sizeof(key), BYTES_FMT, BYTES_ARG(v->key));
	if (v->type == GGUF_ARRAY && v->item_type == GGUF_STRING)
		put_string_array(w, v, key);
	else if (v->type == GGUF_ARRAY && v->item_type != GGUF_ARRAY)
		gguf_put_array(w, key, v->item_type, v->n, v->raw.data);
	else if (!put_typed(w, v, key))
		gguf_put_value(w, v);
}

static void put_tensors(struct gguf_writer *w, const struct gguf *g)
{
	for (size_t i = 0; i < gguf_n_tensors(g); i++)
		gguf_put_tensor(w, gguf_tensor(g, i));
}

enum how {
	WHOLE,	/* gguf_writer_data, each tensor at once */
	PIECES, /* gguf_writer_data, three bytes at a time */
	COPIED, /* gguf_writer_copy */
};

static int write_tensor(struct gguf_writer *w, const struct gguf *g, const struct tensor_info *t,
			enum how how)
{
	size_t step = how == PIECES ? 3 : t->n_bytes;

	if (how == COPIED)
		return gguf_writer_copy(w, gguf_file_fd(g, t->file), t->offset, t->n_bytes);
	for (size_t at = 0; at < t->n_bytes; at += step) {
		size_t left = t->n_bytes - at;

		if (gguf_writer_data(w, t->data + at, left < step ? left : step))
			return -1;
	}
	return 0;
}

/* Writes what W declares, and G's tensors, to PATH; frees W. */
static int write_out(struct gguf_writer *w, const struct gguf *g, enum how how, const char *path)
{
	struct outfile *f = NULL;
	int result = outfile_new(&f, path);

	if (result == 0)
		result = gguf_writer_begin(w, f);
	for (size_t i = 0; i < gguf_n_tensors(g) && result == 0; i++)
		result = write_tensor(w, g, gguf_tensor(g, i), how);
	if (result == 0)
		result = gguf_writer_end(w);
	if (result == 0)
		result = outfile_commit(f);
	else
		outfile_discard(f);
	gguf_writer_free(w);
	return result;
}

static void same_files(const char *got, const char *want, const char *name)
{
	size_t n_got, n_want;
	char *a = tap_fixture(got, &n_got), *b = tap_fixture(want, &n_want);

	tap_is_bytes(((struct bytes){ a, n_got }), ((struct bytes){ b, n_want }), "%s", name);
	free(a);
	free(b);
}

/* --- bytes --- */

/* All types of keys, declared one by one, and tensors of all sorts: the bytes of gguf-py. */
static void test_as_gguf_py(void)
{
	static const char *const names[] = { "whole", "in pieces", "copied" };
	struct gguf *g = open_good("types.gguf");
	const char *path = tap_path("made.gguf");

	for (int how = WHOLE; how <= COPIED; how++) {
		struct gguf_writer *w = new_writer(32);

		for (size_t i = 0; i < gguf_n_keys(g); i++)
			put_made(w, gguf_key(g, i));
		put_tensors(w, g);
		tap_works(write_out(w, g, (enum how)how, path), "written %s", names[how]);
		same_files(path, GOOD "types.gguf", names[how]);
	}
	gguf_close(g);
}

/* A file of gguf-py, copied value by value. */
static void copy_of(const char *name)
{
	struct gguf *g = open_good(name);
	struct gguf_writer *w = new_writer(gguf_alignment(g));
	const char *path = tap_path("copy.gguf");
	char source[256];

	for (size_t i = 0; i < gguf_n_keys(g); i++)
		gguf_put_value(w, gguf_key(g, i));
	put_tensors(w, g);
	tap_works(write_out(w, g, COPIED, path), "%s: copied", name);
	snprintf(source, sizeof(source), GOOD "%s", name);
	same_files(path, source, name);
	gguf_close(g);
}

static void test_copies(void)
{
	copy_of("types.gguf");
	copy_of("dtypes.gguf");
	copy_of("align-64.gguf");
	copy_of("nested-8.gguf");
	copy_of("scalar-empty.gguf");
	copy_of("header-aligned.gguf");
}

/* --- edits --- */

/* The tensors of two files, which may lie elsewhere, are the same. */
static void same_tensors(const struct gguf *a, const struct gguf *b, const char *name)
{
	size_t same = 0, n = gguf_n_tensors(a);

	for (size_t i = 0; i < n && n == gguf_n_tensors(b); i++) {
		const struct tensor_info *s = gguf_tensor(a, i), *t = gguf_tensor(b, i);

		same += bytes_equal(s->name, t->name) && s->dtype == t->dtype &&
			s->n_dims == t->n_dims && s->n_bytes == t->n_bytes &&
			memcmp(s->shape, t->shape, sizeof(s->shape)) == 0 &&
			memcmp(s->data, t->data, s->n_bytes) == 0;
	}
	tap_is_u64(same, n, "%s", name);
}

static void same_other_keys(const struct gguf *a, const struct gguf *b, const char *changed)
{
	size_t same = 0, n = gguf_n_keys(a);

	for (size_t i = 0; i < n && n == gguf_n_keys(b); i++) {
		const struct gguf_value *s = gguf_key(a, i), *t = gguf_key(b, i);

		same += bytes_equal(s->key, t->key) &&
			(bytes_are(s->key, changed) ||
			 (s->type == t->type && s->item_type == t->item_type && s->n == t->n &&
			  bytes_equal(s->raw, t->raw)));
	}
	tap_is_u64(same, n, "H14 every other key, in order, byte for byte");
}

/* H11, H14: one string changes its length; offsets are new, nothing else is. */
static void test_h11_h14_edit(void)
{
	struct gguf *g = open_good("types.gguf"), *edited = NULL;
	const char *path = tap_path("edited.gguf");
	char text[100];

	memset(text, 'y', sizeof(text));
	for (size_t n = 0; n < 66; n += 13) {
		struct gguf_writer *w = new_writer(32);
		struct bytes s;

		for (size_t i = 0; i < gguf_n_keys(g); i++) {
			if (bytes_are(gguf_key(g, i)->key, "scalar.string"))
				gguf_put_string(w, "scalar.string", (struct bytes){ text, n });
			else
				gguf_put_value(w, gguf_key(g, i));
		}
		put_tensors(w, g);
		tap_works(write_out(w, g, COPIED, path), "H11 a string of %zu bytes", n);
		if (!tap_works(gguf_open(&edited, path), "H11 it opens"))
			continue;
		tap_ok(gguf_get_string(edited, "scalar.string", &s) == 1 && s.size == n,
		       "H11 the string is changed");
		same_tensors(g, edited, "H11 tensor by tensor the same");
		same_other_keys(g, edited, "scalar.string");
		gguf_close(edited);
	}
	gguf_close(g);
}

/* H11: a source with gaps and out of order is written without. */
static void test_h11_gaps(void)
{
	struct gguf *g = open_good("gaps.gguf"), *tight = NULL;
	struct gguf_writer *w = new_writer(32);
	const char *path = tap_path("tight.gguf");

	put_tensors(w, g);
	tap_works(write_out(w, g, WHOLE, path), "H11 written anew");
	if (tap_works(gguf_open(&tight, path), "H11 it opens")) {
		same_tensors(g, tight, "H11 the same tensors");
		tap_is_u64(gguf_tensor(tight, 1)->offset, gguf_tensor(tight, 0)->offset + 32,
			   "H11 without gaps");
	}
	gguf_close(tight);
	gguf_close(g);
}

/* --- alignment --- */

static void test_alignment(void)
{
	struct gguf *g = open_good("align-64.gguf"), *made = NULL;
	struct gguf_writer *w = new_writer(4096);
	const char *path = tap_path("aligned.gguf");

	gguf_put_string(w, "general.architecture", bytes_of("test"));
	put_tensors(w, g);
	tap_works(write_out(w, g, WHOLE, path), "alignment 4096");
	if (tap_works(gguf_open(&made, path), "it opens")) {
		tap_is_u64(gguf_alignment(made), 4096, "the key is added");
		tap_is_u64(gguf_n_keys(made), 2, "once");
		tap_is_u64(gguf_tensor(made, 2)->offset % 4096, 0, "tensors are aligned");
		tap_is_u64(gguf_file_size(made, 0) % 4096, 0, "and the end");
		same_tensors(g, made, "the same tensors");
	}
	gguf_close(made);
	gguf_close(g);
}

/* --- what is refused --- */

/* The error that begin gives; frees W. */
static int begin(struct gguf_writer *w)
{
	struct outfile *f = NULL;
	int result = outfile_new(&f, tap_path("refused.gguf"));

	if (result == 0)
		result = gguf_writer_begin(w, f);
	outfile_discard(f);
	gguf_writer_free(w);
	return result;
}

static struct tensor_info make_tensor(const char *name, enum dtype dtype, uint64_t n,
				      uint64_t n_bytes)
{
	return (struct tensor_info){ .name = bytes_of(name),
				     .dtype = dtype,
				     .n_dims = 1,
				     .shape = { n },
				     .n_bytes = n_bytes };
}

static void refused_tensor(struct tensor_info t, enum err_code code, const char *part,
			   const char *name)
{
	struct gguf_writer *w = new_writer(32);

	gguf_put_tensor(w, &t);
	tap_fails(begin(w), code, part, "%s", name);
}

static void test_refused_tensors(void)
{
	char long_name[65] = { 0 };
	struct tensor_info t = make_tensor("t", DTYPE_F32, 4, 16);
	struct gguf_writer *w = new_writer(32);

	gguf_put_tensor(w, &t);
	gguf_put_tensor(w, &t);
	gguf_put_string(w, "", bytes_of("a later error"));
	tap_fails(begin(w), ERR_ARGUMENT, "refused.gguf: tensor t: is declared twice",
		  "a tensor twice; the first error counts");

	memset(long_name, 'n', 64);
	refused_tensor(make_tensor(long_name, DTYPE_F32, 4, 16), ERR_LIMIT,
		       "a name of 64 bytes, and llama.cpp reads at most 63", "64 bytes of name");
	refused_tensor(make_tensor("", DTYPE_F32, 4, 16), ERR_ARGUMENT,
		       "the name of tensor 0 is empty", "no name");
	refused_tensor(make_tensor("t", DTYPE_F32, 4, 15), ERR_ARGUMENT,
		       "tensor t: 15 bytes of f32 do not fit its shape", "a wrong size");
	refused_tensor(make_tensor("t", DTYPE_Q8_0, 33, 68), ERR_ARGUMENT, "do not fit its shape",
		       "no whole blocks");
	refused_tensor(make_tensor("t", DTYPE_F8_E4M3, 4, 4), ERR_UNSUPPORTED,
		       "tensor t: GGUF has no type f8_e4m3", "a type that GGUF lacks");
	refused_tensor(make_tensor("t", DTYPE_UNKNOWN, 4, 4), ERR_UNSUPPORTED,
		       "GGUF has no type unknown", "no type at all");
	t.n_dims = 5;
	refused_tensor(t, ERR_LIMIT, "tensor t: 5 dimensions", "5 dimensions");
	long_name[63] = '\0';
	t = make_tensor(long_name, DTYPE_F32, 4, 16);
	w = new_writer(32);
	gguf_put_tensor(w, &t);
	tap_works(begin(w), "63 bytes of name are written");
}

static void test_refused_keys(void)
{
	struct gguf_writer *w = new_writer(32);

	gguf_put_u32(w, "a", 1);
	gguf_put_bool(w, "a", true);
	tap_fails(begin(w), ERR_ARGUMENT, "key a: is declared twice", "H14 a key twice");
	w = new_writer(32);
	gguf_put_u32(w, "", 1);
	tap_fails(begin(w), ERR_ARGUMENT, "the name of key 0 is empty", "an empty key");
	w = new_writer(32);
	gguf_put_array(w, "a", GGUF_STRING, 1, "x");
	tap_fails(begin(w), ERR_ARGUMENT, "key a: an array of 1 string", "strings as an array");
	w = new_writer(32);
	gguf_put_array(w, "a", GGUF_U64, UINT64_C(1) << 61, "x");
	tap_fails(begin(w), ERR_ARGUMENT, "key a: an array of 2305843009213693952 u64",
		  "an array of 2^64 bytes");
	w = new_writer(32);
	gguf_put_u32(w, "general.alignment", 64);
	tap_fails(begin(w), ERR_MISMATCH, "key general.alignment: must be u32 and 32",
		  "another alignment");
	w = new_writer(64);
	gguf_put_u64(w, "general.alignment", 64);
	tap_fails(begin(w), ERR_MISMATCH, "key general.alignment: must be u32 and 64",
		  "an alignment of another type");
	w = new_writer(64);
	gguf_put_u32(w, "general.alignment", 64);
	tap_works(begin(w), "the same alignment");
	w = NULL;
	tap_fails(gguf_writer_new(&w, 4), ERR_ARGUMENT, "alignment 4", "alignment 4");
	tap_fails(gguf_writer_new(&w, 48), ERR_ARGUMENT, "alignment 48", "alignment 48");
	tap_fails(gguf_writer_new(&w, 1 << 17), ERR_ARGUMENT, "alignment 131072", "alignment 2^17");
}

/* Too much data, too little, and data that nothing was declared for. */
static void test_refused_data(void)
{
	struct gguf_writer *w = new_writer(32);
	struct tensor_info a = make_tensor("a", DTYPE_F32, 2, 8),
			   b = make_tensor("b", DTYPE_I8, 3, 3);
	struct tensor_info none = make_tensor("none", DTYPE_F32, 0, 0);
	struct outfile *f = NULL;

	gguf_put_tensor(w, &none);
	gguf_put_tensor(w, &a);
	gguf_put_tensor(w, &b);
	gguf_put_tensor(w, &none);
	none.name = bytes_of("none too");
	tap_works(outfile_new(&f, tap_path("data.gguf")), "a file");
	tap_fails(gguf_writer_begin(w, f), ERR_ARGUMENT, "tensor none: is declared twice", "begin");
	gguf_writer_free(w);

	w = new_writer(32);
	gguf_put_tensor(w, &none);
	gguf_put_tensor(w, &a);
	gguf_put_tensor(w, &b);
	tap_works(gguf_writer_begin(w, f), "begin");
	tap_works(gguf_writer_data(w, "12345", 5), "5 of 8 bytes");
	tap_fails(gguf_writer_end(w), ERR_ARGUMENT, "tensor a: 5 of 8 bytes written",
		  "an early end");
	tap_fails(gguf_writer_data(w, "1234", 4), ERR_ARGUMENT, "tensor a: 4 bytes, 3 are to come",
		  "one byte too much");
	tap_fails(gguf_writer_copy(w, 0, 0, 4), ERR_ARGUMENT, "tensor a: 4 bytes, 3 are to come",
		  "a copy of one byte too much");
	tap_works(gguf_writer_data(w, "123", 3), "the rest");
	tap_fails(gguf_writer_end(w), ERR_ARGUMENT, "tensor b: 0 of 3 bytes written", "no second");
	tap_works(gguf_writer_data(w, "xyz", 3), "the second");
	tap_works(gguf_writer_end(w), "the end");
	tap_fails(gguf_writer_data(w, "x", 1), ERR_ARGUMENT, "1 bytes after the last tensor",
		  "data that nothing was declared for");
	outfile_discard(f);
	gguf_writer_free(w);
}

int main(void)
{
	tap_run(test_as_gguf_py);
	tap_run(test_copies);
	tap_run(test_h11_h14_edit);
	tap_run(test_h11_gaps);
	tap_run(test_alignment);
	tap_run(test_refused_tensors);
	tap_run(test_refused_keys);
	tap_run(test_refused_data);
	return tap_done();
}
