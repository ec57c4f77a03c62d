/* lib/model/importance.c - importance matrices: GGUF files that hold one, and weights for a row */

#include "lib/model/importance.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/gguf.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/names.h"

#define SQUARES ".in_sum2"
#define COUNTS	".counts"

struct importance {
	struct gguf *gguf;
	struct importance_tensor *tensors;
	size_t n;
	struct importance_about about;
	struct names *names;
};

/* --- reading --- */

static int check_values(const char *path, const struct tensor_info *t)
{
	const float *x = (const float *)(const void *)t->data;
	uint64_t columns = t->shape[t->n_dims - 1];

	for (uint64_t i = 0; i < t->n_elements; i++)
		if (!(x[i] >= 0 && x[i] <= 0x1.fffffep127f))
			return err_set(
				ERR_FORMAT,
				"%s: tensor " BYTES_FMT ": matrix %" PRIu64 ", column %" PRIu64
				" is %g: importance is finite and not negative",
				path, BYTES_ARG(t->name), i / columns, i % columns, (double)x[i]);
	return 0;
}

/* T is f32 of MATRICES rows, at a place where they can be read as such. */
static int check_shape(const char *path, const struct tensor_info *t)
{
	if (t->dtype != DTYPE_F32 || t->n_dims == 0 || t->n_elements == 0)
		return err_set(ERR_FORMAT, "%s: tensor " BYTES_FMT ": is not a matrix of f32", path,
			       BYTES_ARG(t->name));
	if ((uintptr_t)t->data % sizeof(float) != 0)
		return err_set(ERR_UNSUPPORTED, "%s: tensor " BYTES_FMT ": is not aligned", path,
			       BYTES_ARG(t->name));
	return check_values(path, t);
}

static int take(struct importance *im, const char *path, const struct tensor_info *squares)
{
	struct bytes name = { squares->name.data, squares->name.size - strlen(SQUARES) };
	char *counts_name = mem_format("%.*s" COUNTS, (int)name.size, name.data);
	const struct tensor_info *counts;
	struct importance_tensor *t = &im->tensors[im->n];

	if (!counts_name)
		return -1;
	counts = gguf_find(im->gguf, bytes_of(counts_name));
	free(counts_name);
	if (!counts)
		return err_set(ERR_MISSING, "%s: tensor " BYTES_FMT COUNTS ": is not there", path,
			       BYTES_ARG(name));
	if (check_shape(path, squares) < 0 || check_shape(path, counts) < 0)
		return -1;
	*t = (struct importance_tensor){
		.name = name,
		.columns = squares->shape[squares->n_dims - 1],
		.squares = (const float *)(const void *)squares->data,
		.counts = (const float *)(const void *)counts->data,
	};
	t->matrices = squares->n_elements / t->columns;
	if (counts->n_elements != t->matrices)
		return err_set(ERR_FORMAT,
			       "%s: tensor " BYTES_FMT COUNTS ": has %" PRIu64
			       " counts for %" PRIu64 " matrices",
			       path, BYTES_ARG(name), counts->n_elements, t->matrices);
	return names_add(im->names, name, (uint32_t)im->n++, NULL) < 0 ? -1 : 0;
}

static int read_about(struct importance *im)
{
	struct gguf_value datasets, first;
	uint64_t chunks = 0, size = 0;
	struct gguf_items it;
	int got = gguf_get_array(im->gguf, "imatrix.datasets", GGUF_STRING, &datasets);

	if (got < 0 || gguf_get_u64(im->gguf, "imatrix.chunk_count", &chunks) < 0 ||
	    gguf_get_u64(im->gguf, "imatrix.chunk_size", &size) < 0)
		return -1;
	if (got) {
		gguf_items(&it, &datasets);
		if (gguf_items_next(&it, &first))
			im->about.dataset = gguf_value_string(&first);
	}
	im->about.chunks = (uint32_t)chunks;
	im->about.chunk_size = (uint32_t)size;
	return 0;
}

static int check_type(const struct gguf *g, const char *path)
{
	struct bytes type = { 0 };
	int got = gguf_get_string(g, "general.type", &type);

	if (got < 0)
		return -1;
	if (!got || !bytes_are(type, "imatrix"))
		return err_set(ERR_FORMAT,
			       "%s: is no importance matrix: general.type is not imatrix", path);
	return 0;
}

static int open_file(struct importance *im, const char *path)
{
	size_t n;

	if (gguf_open(&im->gguf, path) < 0 || check_type(im->gguf, path) < 0 || read_about(im) < 0)
		return -1;
	n = gguf_n_tensors(im->gguf);
	im->tensors = mem_new(n, sizeof(*im->tensors));
	if (!im->tensors || names_new(&im->names) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct tensor_info *t = gguf_tensor(im->gguf, i);

		if (bytes_end_with(t->name, SQUARES) && take(im, path, t) < 0)
			return -1;
	}
	return 0;
}

int importance_open(struct importance **out, const char *path)
{
	struct importance *im = mem_new(1, sizeof(*im));

	*out = NULL;
	if (!im)
		return -1;
	if (open_file(im, path) < 0) {
		importance_close(im);
		return -1;
	}
	*out = im;
	return 0;
}

void importance_close(struct importance *im)
{
	if (!im)
		return;
	names_free(im->names);
	free(im->tensors);
	gguf_close(im->gguf);
	free(im);
}

size_t importance_n(const struct importance *im)
{
	return im->n;
}

struct importance_tensor importance_at(const struct importance *im, size_t n)
{
	return im->tensors[n];
}

struct importance_about importance_about(const struct importance *im)
{
	return im->about;
}

/* --- weights --- */

/* 0 where all are 0. */
static double mean_of(const float *x, uint64_t n)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* Where 16 in a row are all 0 they are as good as each other. */
static void fill_unused(float *x, uint64_t n, float little)
{
	for (uint64_t at = 0; at < n; at += 16) {
		uint64_t end = at + 16 < n ? at + 16 : n;
		bool used = false;

		for (uint64_t i = at; i < end; i++)
			used |= x[i] > 0;
		for (uint64_t i = at; i < end && !used; i++)
			x[i] = little;
	}
}

int importance_weights(const struct importance *im, struct bytes name, uint64_t matrices,
		       uint64_t matrix, uint64_t columns, float *out)
{
	const struct importance_tensor *t;
	const float *squares;
	uint32_t at;
	double mean;
	int exponent;

	if (!names_find(im->names, name, &at))
		return 0;
	t = &im->tensors[at];
	if (t->columns != columns || t->matrices != matrices)
		return err_set(ERR_MISMATCH,
			       "%s: tensor " BYTES_FMT ": importance of %" PRIu64 " x %" PRIu64
			       " columns, the tensor has %" PRIu64 " x %" PRIu64,
			       gguf_file_path(im->gguf, 0), BYTES_ARG(name), t->matrices,
			       t->columns, matrices, columns);
	squares = t->squares + matrix * columns;
	mean = t->counts[matrix] > 0 ? mean_of(squares, columns) / t->counts[matrix] : 0;
	if (!(mean > 0))
		return 0;
	/* Powers of two change no digit of what follows. */
	frexp(mean, &exponent);
	for (uint64_t i = 0; i < columns; i++)
		out[i] = (float)ldexp((double)(squares[i] / t->counts[matrix]), -exponent);
	fill_unused(out, columns, 0x1p-20f);
	return 1;
}

/* --- writing --- */

static void put_shape(struct tensor_info *out, char *name, uint64_t rows, uint64_t columns)
{
	*out = (struct tensor_info){
		.name = bytes_of(name),
		.dtype = DTYPE_F32,
		.n_dims = 2,
		.shape = { rows, columns },
		.n_elements = rows * columns,
		.n_bytes = rows * columns * sizeof(float),
	};
}

static int declare(struct gguf_writer *w, const struct importance_tensor *t)
{
	char *squares = mem_format("%.*s" SQUARES, (int)t->name.size, t->name.data);
	char *counts = mem_format("%.*s" COUNTS, (int)t->name.size, t->name.data);
	struct tensor_info info;
	int result = squares && counts ? 0 : -1;

	if (result == 0) {
		put_shape(&info, squares, t->matrices, t->columns);
		gguf_put_tensor(w, &info);
		put_shape(&info, counts, t->matrices, 1);
		gguf_put_tensor(w, &info);
	}
	free(squares);
	free(counts);
	return result;
}

static int write_values(struct gguf_writer *w, const float *x, uint64_t n)
{
	unsigned char bytes[4 * 1024];

	for (uint64_t at = 0; at < n; at += 1024) {
		size_t some = n - at < 1024 ? (size_t)(n - at) : 1024;

		dtype_from_f32(DTYPE_F32, x + at, bytes, some);
		if (gguf_writer_data(w, bytes, 4 * some) < 0)
			return -1;
	}
	return 0;
}

static int write_all(struct gguf_writer *w, struct outfile *f, const struct importance_about *about,
		     const struct importance_tensor *tensors, size_t n)
{
	gguf_put_string(w, "general.type", bytes_of("imatrix"));
	gguf_put_strings(w, "imatrix.datasets", 1, &about->dataset);
	gguf_put_u32(w, "imatrix.chunk_count", about->chunks);
	gguf_put_u32(w, "imatrix.chunk_size", about->chunk_size);
	for (size_t i = 0; i < n; i++)
		if (declare(w, &tensors[i]) < 0)
			return -1;
	if (gguf_writer_begin(w, f) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct importance_tensor *t = &tensors[i];

		if (write_values(w, t->squares, t->matrices * t->columns) < 0 ||
		    write_values(w, t->counts, t->matrices) < 0)
			return -1;
	}
	return gguf_writer_end(w);
}

int importance_write(struct outfile *f, const struct importance_about *about,
		     const struct importance_tensor *tensors, size_t n)
{
	struct gguf_writer *w;
	int result;

	if (gguf_writer_new(&w, 32) < 0)
		return -1;
	result = write_all(w, f, about, tensors, n);
	gguf_writer_free(w);
	return result;
}
