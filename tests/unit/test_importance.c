/* test_importance.c - importance matrices: written, read again, and as weights */
#include <math.h>
#include <stdlib.h>

#include "formats/gguf.h"
#include "lib/base/err.h"
#include "lib/model/importance.h"
#include "tests/tap.h"

#define COLUMNS 32

static float squares[2 * COLUMNS];
static const float counts[] = { 2, 0 };

static const char *write_file(const struct importance_tensor *t, size_t n)
{
	const struct importance_about about = { bytes_of("words.txt"), 7, 512 };
	const char *path = tap_path("im.gguf");
	struct outfile *f;

	tap_works(outfile_new(&f, path), "outfile_new");
	tap_works(importance_write(f, &about, t, n), "importance_write");
	tap_works(outfile_commit(f), "outfile_commit");
	return path;
}

static struct importance *again(const struct importance_tensor *t, size_t n)
{
	struct importance *im = NULL;

	tap_works(importance_open(&im, write_file(t, n)), "importance_open");
	return im;
}

static struct importance_tensor tensor(uint64_t matrices)
{
	return (struct importance_tensor){ bytes_of("blk.0.ffn_up.weight"), COLUMNS, matrices,
					   squares, counts };
}

static void test_round_trip(void)
{
	struct importance_tensor t = tensor(2), got;
	struct importance *im;

	for (size_t i = 0; i < 2 * COLUMNS; i++)
		squares[i] = (float)i;
	im = again(&t, 1);
	tap_is_u64(importance_n(im), 1, "one tensor");
	got = importance_at(im, 0);
	tap_ok(bytes_equal(got.name, t.name), "its name");
	tap_ok(got.columns == COLUMNS && got.matrices == 2, "its shape");
	tap_ok(memcmp(got.squares, squares, sizeof(squares)) == 0, "its values");
	tap_ok(got.counts[0] == 2 && got.counts[1] == 0, "its counts");
	tap_ok(bytes_are(importance_about(im).dataset, "words.txt"), "the dataset");
	tap_is_u64(importance_about(im).chunks, 7, "chunks");
	tap_is_u64(importance_about(im).chunk_size, 512, "tokens of a chunk");
	importance_close(im);
}

/* Mean squares over a power of two: their quotients are exact. */
static void test_weights(void)
{
	struct importance_tensor t = tensor(2);
	struct importance *im;
	float w[COLUMNS], sum = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		squares[i] = i < 16 ? 3e-30f * (float)(i + 1) : 0;
	im = again(&t, 1);
	tap_is_i64(importance_weights(im, t.name, 2, 0, COLUMNS, w), 1, "known");
	tap_ok(w[2] / w[1] == squares[2] / squares[1], "in proportion");
	for (size_t i = 0; i < COLUMNS; i++)
		sum += w[i];
	tap_ok(sum / COLUMNS >= 0.5f && sum / COLUMNS < 1.001f, "a mean near 1: %g",
	       (double)(sum / COLUMNS));
	tap_ok(frexpf(w[1] / squares[1], &(int){ 0 }) == 0.5f, "a power of two");
	tap_ok(w[16] > 0 && w[16] == w[31] && w[16] < 1e-5f, "16 unused columns have a little");
	tap_is_i64(importance_weights(im, t.name, 2, 1, COLUMNS, w), 0, "an expert never used");
	tap_is_i64(importance_weights(im, bytes_of("other"), 2, 0, COLUMNS, w), 0, "not there");
	tap_fails(importance_weights(im, t.name, 1, 0, COLUMNS, w), ERR_MISMATCH, "2 x 32 columns",
		  "other matrices");
	tap_fails(importance_weights(im, t.name, 2, 0, 64, w), ERR_MISMATCH, "2 x 64",
		  "other columns");
	importance_close(im);
}

static void test_zeros(void)
{
	struct importance_tensor t = tensor(1);
	struct importance *im;
	float w[COLUMNS];

	memset(squares, 0, sizeof(squares));
	im = again(&t, 1);
	tap_is_i64(importance_weights(im, t.name, 1, 0, COLUMNS, w), 0, "all zeros are no weights");
	importance_close(im);
}

static void test_bad_values(void)
{
	static const float bad[] = { NAN, INFINITY, -1 };
	struct importance_tensor t = tensor(2);
	struct importance *im;

	for (size_t i = 0; i < 3; i++) {
		memset(squares, 0, sizeof(squares));
		squares[COLUMNS + 5] = bad[i];
		tap_fails(importance_open(&im, write_file(&t, 1)), ERR_FORMAT,
			  "blk.0.ffn_up.weight.in_sum2: matrix 1, column 5", "%g", (double)bad[i]);
		tap_ok(!im, "nothing");
	}
}

static void put(struct gguf_writer *w, const char *name, uint64_t rows, uint64_t columns,
		enum dtype dtype)
{
	struct tensor_info t = { .name = bytes_of(name),
				 .dtype = dtype,
				 .n_dims = 2,
				 .shape = { rows, columns },
				 .n_elements = rows * columns };
	size_t size;

	dtype_size(dtype, rows * columns, &size);
	t.n_bytes = size;
	gguf_put_tensor(w, &t);
}

/* A file of type TYPE whose tensors' values are all 0. */
static const char *other_file(const char *type, uint64_t counts_n, enum dtype dtype, bool both)
{
	const char *path = tap_path("other.gguf");
	static const char zeros[4096];
	struct gguf_writer *w;
	struct outfile *f;

	tap_works(gguf_writer_new(&w, 32), "gguf_writer_new");
	gguf_put_string(w, "general.type", bytes_of(type));
	put(w, "x.in_sum2", 1, 32, dtype);
	if (both)
		put(w, "x.counts", counts_n, 1, DTYPE_F32);
	tap_works(outfile_new(&f, path), "outfile_new");
	tap_works(gguf_writer_begin(w, f), "gguf_writer_begin");
	tap_works(gguf_writer_data(w, zeros, 32 * dtype_info(dtype)->bytes), "gguf_writer_data");
	if (both)
		tap_works(gguf_writer_data(w, zeros, 4 * counts_n), "gguf_writer_data");
	tap_works(gguf_writer_end(w), "gguf_writer_end");
	gguf_writer_free(w);
	tap_works(outfile_commit(f), "outfile_commit");
	return path;
}

static void test_bad_files(void)
{
	struct importance *im;

	tap_fails(importance_open(&im, other_file("model", 1, DTYPE_F32, true)), ERR_FORMAT,
		  "no importance matrix", "a model");
	tap_fails(importance_open(&im, other_file("imatrix", 2, DTYPE_F32, true)), ERR_FORMAT,
		  "2 counts for 1 matrices", "too many counts");
	tap_fails(importance_open(&im, other_file("imatrix", 1, DTYPE_F16, true)), ERR_FORMAT,
		  "not a matrix of f32", "f16");
	tap_fails(importance_open(&im, other_file("imatrix", 1, DTYPE_F32, false)), ERR_MISSING,
		  "x.counts", "no counts");
	tap_fails(importance_open(&im, tap_file("short", "GGUF", 4)), ERR_FORMAT, "", "cut");
}

int main(void)
{
	tap_run(test_round_trip);
	tap_run(test_weights);
	tap_run(test_zeros);
	tap_run(test_bad_values);
	tap_run(test_bad_files);
	return tap_done();
}
