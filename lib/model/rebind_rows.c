/* lib/model/rebind_rows.c - values of a tensor, in the order and the type of another format */

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/rebind.h"

#define PART 256 /* values that are decoded at once */

uint64_t rebind_row_values(const struct tensor_info *t)
{
	return t->n_dims ? t->shape[t->n_dims - 1] : 1;
}

uint64_t rebind_n_rows(const struct tensor_info *t)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i + 1 < t->n_dims; i++)
		n *= t->shape[i];
	return n;
}

bool rebind_retype(struct rebound *r, enum dtype t)
{
	size_t size;

	if (!dtype_size(t, r->to.n_elements, &size))
		return false;
	r->to.dtype = t;
	r->to.dtype_name = bytes_of(dtype_name(t));
	r->to.n_bytes = size;
	return true;
}

bool rebind_is_plain(const struct rebound *r)
{
	return !r->paired && !r->transposed && r->added == 0 && r->to.dtype == r->from->dtype;
}

/* --- where a value comes from --- */

/* The row of FROM that is row I of TO: halves of a head, and pairs of neighbours. */
static uint64_t row_there(const struct rebound *r, uint64_t i)
{
	uint64_t half = r->paired / 2, head, k;

	if (!r->paired)
		return i;
	head = i / r->paired * r->paired;
	k = i % r->paired;
	if (r->to_pairs)
		return head + k / 2 + (k % 2 ? half : 0);
	return head + (k < half ? 2 * k : 2 * (k - half) + 1);
}

static size_t value_bytes(const struct rebound *r)
{
	return dtype_info(r->from->dtype)->bytes;
}

/* Bytes of N values of FROM, whole blocks. */
static size_t size_of(const struct rebound *r, uint64_t n)
{
	size_t size = 0;

	dtype_size(r->from->dtype, n, &size);
	return size;
}

/* --- as they are --- */

static void copy_row(const struct rebound *r, uint64_t row, char *out)
{
	uint64_t columns = rebind_row_values(&r->to), rows = rebind_n_rows(&r->to);
	size_t size = value_bytes(r);
	const unsigned char *from = r->from->data;

	if (r->to.n_dims < 2 && r->paired) {
		for (uint64_t i = 0; i < columns; i++)
			memcpy(out + i * size, from + row_there(r, i) * size, size);
	} else if (r->transposed) {
		for (uint64_t i = 0; i < columns; i++)
			memcpy(out + i * size, from + (i * rows + row) * size, size);
	} else {
		memcpy(out, from + row_there(r, row) * size_of(r, columns), size_of(r, columns));
	}
}

/* --- as f32 --- */

/* Rows FIRST to FIRST + N - 1 of what lies the other way round: N neighbours of each of its rows. */
static void decode_turned(const struct rebound *r, uint64_t first, uint64_t n, float *out)
{
	uint64_t columns = rebind_row_values(&r->to), rows = rebind_n_rows(&r->to);
	float part[PART];

	for (uint64_t i = 0; i < columns; i++)
		for (uint64_t at = 0; at < n; at += PART) {
			size_t some = n - at < PART ? (size_t)(n - at) : PART;

			dtype_to_f32(r->from->dtype,
				     r->from->data + (i * rows + first + at) * value_bytes(r), part,
				     some);
			for (size_t k = 0; k < some; k++)
				out[(at + k) * columns + i] = part[k];
		}
}

static void decode_vector(const struct rebound *r, float *out)
{
	uint64_t n = rebind_row_values(&r->to);

	for (uint64_t i = 0; i < n; i++)
		dtype_to_f32(r->from->dtype, r->from->data + row_there(r, i) * value_bytes(r),
			     &out[i], 1);
}

static void decode(const struct rebound *r, uint64_t first, uint64_t n, float *out)
{
	uint64_t columns = rebind_row_values(&r->to);
	size_t row = size_of(r, columns);

	if (r->transposed) {
		decode_turned(r, first, n, out);
		return;
	}
	if (r->to.n_dims < 2 && r->paired) {
		decode_vector(r, out);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		dtype_to_f32(r->from->dtype, r->from->data + row_there(r, first + i) * row,
			     out + i * columns, (size_t)columns);
}

int rebind_rows_f32(const struct rebound *r, uint64_t first, uint64_t n, float *out)
{
	uint64_t values = n * rebind_row_values(&r->to);

	if (!dtype_decodes(r->from->dtype))
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": values of %s are not read",
			       BYTES_ARG(r->from->name), dtype_name(r->from->dtype));
	decode(r, first, n, out);
	for (uint64_t i = 0; r->added != 0 && i < values; i++)
		out[i] = (float)((double)out[i] + r->added);
	return 0;
}

/* --- as they are to be --- */

static int convert(const struct rebound *r, uint64_t first, uint64_t n, char *out)
{
	uint64_t columns = rebind_row_values(&r->to);
	uint64_t at_once = columns < 4096 ? 4096 / (columns ? columns : 1) : 1;
	size_t size = dtype_info(r->to.dtype)->bytes;
	float *values;

	if (!dtype_encodes(r->to.dtype))
		return err_set(ERR_UNSUPPORTED, "tensor " BYTES_FMT ": %s is not turned into %s",
			       BYTES_ARG(r->from->name), dtype_name(r->from->dtype),
			       dtype_name(r->to.dtype));
	values = mem_new((size_t)(at_once * columns), sizeof(*values));
	for (uint64_t i = 0; values && i < n; i += at_once) {
		uint64_t some = n - i < at_once ? n - i : at_once;

		if (rebind_rows_f32(r, first + i, some, values) < 0) {
			free(values);
			return -1;
		}
		dtype_from_f32(r->to.dtype, values, out + i * columns * size,
			       (size_t)(some * columns));
	}
	free(values);
	return values ? 0 : -1;
}

int rebind_rows(const struct rebound *r, uint64_t first, uint64_t n, void *out)
{
	size_t row;

	if (r->added != 0 || r->to.dtype != r->from->dtype)
		return convert(r, first, n, out);
	row = size_of(r, rebind_row_values(&r->to));
	for (uint64_t i = 0; i < n; i++)
		copy_row(r, first + i, (char *)out + i * row);
	return 0;
}

int rebind_inexact(const struct rebound *r, uint64_t *out)
{
	struct rebound bare = *r;
	uint64_t n = r->to.n_elements, rows = rebind_n_rows(&r->to);
	float *before = mem_new((size_t)n, sizeof(float)),
	      *after = mem_new((size_t)n, sizeof(float));
	void *values = mem_new((size_t)r->to.n_bytes, 1);
	int result = -1;

	bare.added = 0;
	*out = 0;
	if (before && after && values && rebind_rows_f32(&bare, 0, rows, before) == 0 &&
	    rebind_rows(r, 0, rows, values) == 0) {
		dtype_to_f32(r->to.dtype, values, after, (size_t)n);
		for (uint64_t i = 0; i < n; i++)
			*out += (double)after[i] - r->added != (double)before[i];
		result = 0;
	}
	free(before);
	free(after);
	free(values);
	return result;
}
