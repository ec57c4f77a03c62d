/* tests/unit/test_logits_file.c - kept logits come back, say what they are of, and damage is an error */

#include <stdlib.h>
#include <string.h>

#include "formats/logits_file.h"
#include "lib/base/err.h"
#include "lib/base/mapfile.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define VOCAB 7

static const uint32_t ids[] = { 1, 6, 0, 2, 3 };
static const uint64_t starts[] = { 0, 3, 5 };
static const struct logits_tokens tokens = { ids, starts, 2 };

static struct logits_origin origin_of(enum dtype dtype)
{
	struct logits_origin o = { .name = "m.gguf",
				   .weights = "q4_1",
				   .compute = "f32",
				   .cache = "none",
				   .kernels = "generic",
				   .context = 3,
				   .vocab = VOCAB,
				   .dtype = dtype };

	memset(o.model.digest, 0x5a, sizeof(o.model.digest));
	memset(o.tokenizer.digest, 0xa5, sizeof(o.tokenizer.digest));
	return o;
}

static float value(size_t row, size_t column)
{
	return (float)row - 0.25f * (float)column;
}

static void write_file(const char *path, enum dtype dtype, size_t rows)
{
	struct logits_origin o = origin_of(dtype);
	struct logits_writer *w;
	struct outfile *f;

	tap_works(outfile_new(&f, path), "a file");
	tap_works(logits_writer_new(&w, f, &o, &tokens), "begun");
	for (size_t i = 0; i < rows; i++) {
		float row[VOCAB];

		for (size_t j = 0; j < VOCAB; j++)
			row[j] = value(i, j);
		tap_works(logits_writer_rows(w, row, 1), "a row");
	}
	if (rows == 5) {
		tap_works(logits_writer_end(w), "whole");
		tap_works(outfile_commit(f), "there");
	} else {
		tap_ok(logits_writer_end(w) < 0, "a row is missing: %s", err_text());
		outfile_discard(f);
	}
	logits_writer_free(w);
}

static void check_rows(const struct logits_file *f)
{
	float rows[3 * VOCAB];
	size_t bad = 0;

	logits_file_rows(f, 2, 3, rows);
	for (size_t i = 0; i < 3 * VOCAB; i++)
		bad += rows[i] != value(2 + i / VOCAB, i % VOCAB);
	tap_is_u64(bad, 0, "rows 2 to 4");
}

static void test_round(enum dtype dtype)
{
	struct logits_origin want = origin_of(dtype);
	const struct logits_origin *o;
	const struct logits_tokens *t;
	struct logits_file *f;

	write_file(tap_path("a.safetensors"), dtype, 5);
	tap_is_i64(logits_file_open(&f, tap_path("a.safetensors")), 1, "opened");
	o = logits_file_origin(f);
	t = logits_file_tokens(f);
	tap_is_text(o->name, "m.gguf", "name");
	tap_is_text(o->weights, "q4_1", "weights");
	tap_ok(memcmp(&o->model, &want.model, sizeof(want.model)) == 0 &&
		       memcmp(&o->tokenizer, &want.tokenizer, sizeof(want.tokenizer)) == 0,
	       "hashes");
	tap_ok(o->context == 3 && o->vocab == VOCAB && o->dtype == dtype, "sizes");
	tap_ok(t->n_windows == 2 && memcmp(t->starts, starts, sizeof(starts)) == 0 &&
		       memcmp(t->ids, ids, sizeof(ids)) == 0,
	       "tokens");
	check_rows(f);
	logits_file_close(f);
}

static void test_f32(void)
{
	test_round(DTYPE_F32);
}

static void test_f16(void)
{
	test_round(DTYPE_F16);
}

static void test_short(void)
{
	write_file(tap_path("b.safetensors"), DTYPE_F32, 4);
}

static bool same_key(const struct logits_origin *o, const struct logits_tokens *t)
{
	struct logits_origin plain = origin_of(DTYPE_F32);
	struct hash128 a, b;

	if (logits_key(&a, &plain, &tokens) < 0 || logits_key(&b, o, t) < 0)
		return false;
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static void test_key(void)
{
	static const uint32_t others[] = { 1, 6, 0, 2, 4 };
	static const uint64_t cut[] = { 0, 2, 5 };
	struct logits_origin o = origin_of(DTYPE_F32);

	o.name = "another name";
	tap_ok(same_key(&o, &tokens), "a name decides nothing");
	tap_ok(!same_key(&o, &(struct logits_tokens){ others, starts, 2 }), "a token");
	tap_ok(!same_key(&o, &(struct logits_tokens){ ids, cut, 2 }), "a window");
	o.compute = "bf16";
	tap_ok(!same_key(&o, &tokens), "the type");
	o = origin_of(DTYPE_F32);
	o.model.digest[3] ^= 1;
	tap_ok(!same_key(&o, &tokens), "the model");
	o = origin_of(DTYPE_F16);
	tap_ok(!same_key(&o, &tokens), "the type in the file");
}

static int read_damaged(void *arg, const void *data, size_t size)
{
	float rows[5 * VOCAB];
	struct logits_file *f;
	int got = logits_file_open_memory(&f, data, size, "x.safetensors");

	(void)arg;
	if (got <= 0)
		return got < 0 ? -1 : 0;
	for (uint64_t i = 0; i < logits_file_tokens(f)->starts[logits_file_tokens(f)->n_windows];
	     i++)
		if (logits_file_origin(f)->vocab <= 5 * VOCAB)
			logits_file_rows(f, i, 1, rows);
	logits_file_close(f);
	return 0;
}

static void test_damage(void)
{
	size_t size;
	char *data;

	write_file(tap_path("c.safetensors"), DTYPE_F32, 5);
	tap_works(file_read(tap_path("c.safetensors"), 1 << 20, &data, &size), "read");
	corrupt_run("damaged logits", (struct bytes){ data, size }, (struct bytes){ 0 },
		    read_damaged, NULL, 16 << 20);
	free(data);
}

int main(void)
{
	tap_run(test_f32);
	tap_run(test_f16);
	tap_run(test_short);
	tap_run(test_key);
	tap_run(test_damage);
	return tap_done();
}
