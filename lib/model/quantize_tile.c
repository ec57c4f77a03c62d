/* lib/model/quantize_tile.c - some rows of a tensor: decoded, made into another type, and compared with what they were */

#include "lib/model/quantize_tile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/bits.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/model/narrow.h"
#include "lib/model/rebind.h"

/* Values of a tile, or one row: 256 KiB of f32, which a core's own cache holds. */
#define TILE 65536

/* --- sizes --- */

static uint64_t tile_rows(uint64_t columns)
{
	return columns && columns < TILE ? TILE / columns : 1;
}

void quantize_job_init(struct quantize_job *j, const struct quantize *q, size_t i, enum level level)
{
	const struct tensor_info *t = q->tensors[i].from;
	uint64_t rows = rebind_n_rows(t);

	*j = (struct quantize_job){ .q = q,
				    .tensor = i,
				    .level = level,
				    .to = q->tensors[i].to,
				    .columns = rebind_row_values(t),
				    .matrices = t->n_dims > 2 && q->tensors[i].weighted
							? t->shape[t->n_dims - 3]
							: 1 };
	j->matrix_rows = rows / j->matrices;
	j->tile_rows = tile_rows(j->columns);
	dtype_size(j->to, j->columns, &j->row_bytes);
}

struct quantize_room quantize_room(const struct quantize *q, size_t threads)
{
	struct quantize_room room = { .back = q->options.errors };

	for (size_t i = 0; i < q->n; i++) {
		uint64_t columns = rebind_row_values(q->tensors[i].from);
		uint64_t values = columns * tile_rows(columns);
		size_t bytes = 0;

		if (q->tensors[i].to == q->tensors[i].from->dtype && q->tensors[i].from->data)
			continue;
		if (values > q->tensors[i].from->n_elements)
			values = q->tensors[i].from->n_elements;
		dtype_size(q->tensors[i].to, values, &bytes);
		room.tile_bytes = bytes > room.tile_bytes ? bytes : room.tile_bytes;
		room.tile_values = values > room.tile_values ? values : room.tile_values;
	}
	room.scratch = threads * room.tile_values * sizeof(float) * (room.back ? 2 : 1);
	return room;
}

int quantize_scratch_new(struct quantize_scratch *s, const struct quantize_room *room)
{
	s->values = mem_new((size_t)room->tile_values, sizeof(float));
	s->back = room->back ? mem_new((size_t)room->tile_values, sizeof(float)) : NULL;
	return s->values && (s->back || !room->back) ? 0 : -1;
}

void quantize_scratch_free(struct quantize_scratch *s)
{
	free(s->values);
	free(s->back);
}

/* --- values --- */

static struct bytes name_of(const struct quantize_job *j)
{
	return j->q->tensors[j->tensor].from->name;
}

/* NaN and infinite too. Bits of floats order as the floats do. */
static bool too_large(float x)
{
	return (f32_bits(x) & 0x7fffffff) >= f32_bits(QUANTIZE_LARGEST);
}

static int refuse_large(const struct quantize_job *j, uint64_t row, uint64_t column, float x)
{
	if (!isfinite(x))
		return err_set(ERR_FORMAT,
			       "tensor " BYTES_FMT ": row %" PRIu64 ", column %" PRIu64
			       " is %g, which %s cannot hold",
			       BYTES_ARG(name_of(j)), row, column, (double)x, dtype_name(j->to));
	return err_set(ERR_LIMIT,
		       "tensor " BYTES_FMT ": row %" PRIu64 ", columns from %" PRIu64
		       ": values as large as %g need a scale past the range of %s; --type "
		       "PATTERN=f32 holds them, --leave keeps the tensor",
		       BYTES_ARG(name_of(j)), row, column, (double)x, dtype_name(j->to));
}

/* All are looked at, so that the loop has no way out within. */
static int check_values(const struct quantize_job *j, const float *x, uint64_t first, uint64_t rows)
{
	uint64_t n = rows * j->columns, at;
	uint32_t bad = 0;

	for (uint64_t i = 0; i < n; i++)
		bad |= too_large(x[i]);
	if (!bad)
		return 0;
	for (at = 0; !too_large(x[at]);)
		at++;
	return refuse_large(j, first + at / j->columns, at % j->columns, x[at]);
}

static int check_blocks(const struct quantize_job *j, const unsigned char *out, const float *x,
			uint64_t first, uint64_t rows)
{
	uint64_t block = dtype_info(j->to)->block, n = rows * j->columns / block;
	uint64_t bad = quantize_bad_block(j->to, out, n), at = bad * block;
	float most = 0;

	if (bad == n)
		return 0;
	for (uint64_t i = at; i < at + block; i++)
		most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
	return refuse_large(j, first + at / j->columns, at % j->columns, most);
}

static int put_blocks(const struct quantize_job *j, const float *x, uint64_t first, uint64_t rows,
		      unsigned char *out)
{
	if (check_values(j, x, first, rows) < 0)
		return -1;
	for (uint64_t r = 0; r < rows; r++)
		quantize_row(j->level, j->to, x + r * j->columns, j->weights, j->columns,
			     out + r * j->row_bytes);
	return check_blocks(j, out, x, first, rows);
}

/* What is past the range of f16 is rare: then all is done once more, and counted. */
static int put_floats(const struct quantize_job *j, float *x, uint64_t rows, unsigned char *out,
		      uint64_t *clamped)
{
	uint64_t n = rows * j->columns;
	struct narrow narrow = { .clamp = j->q->options.clamp };

	if (j->to == DTYPE_F32) {
		dtype_from_f32(DTYPE_F32, x, out, n);
		return 0;
	}
	quantize_row(j->level, j->to, x, NULL, n, out);
	if (quantize_bad_block(j->to, out, n) == n)
		return 0;
	if (narrow_values(&narrow, j->to, x, n, out, name_of(j)) < 0)
		return -1;
	*clamped = narrow.clamped;
	return 0;
}

/* --- errors --- */

static double difference_squares(const float *a, const float *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double d = (double)a[i] - b[i];

		sum += d * d;
	}
	return sum;
}

static void measure(const struct quantize_job *j, struct quantize_scratch *s, const float *x,
		    uint64_t rows, const unsigned char *out, struct quantize_tile_result *result)
{
	uint64_t n = rows * j->columns;

	dtype_to_f32(j->to, out, s->back, n);
	for (uint64_t at = 0; at < n; at += TENSOR_CHUNK) {
		size_t some = n - at < TENSOR_CHUNK ? (size_t)(n - at) : TENSOR_CHUNK;
		struct tensor_compare c;

		tensor_compare_chunk(j->level, DTYPE_F32, x + at, DTYPE_F32, s->back + at, some,
				     (struct tensor_tolerance){ 0 }, &c);
		tensor_compare_add(&result->compare, &c);
		result->squares += difference_squares(x + at, s->back + at, some);
	}
}

/* As f32: where they lie, or decoded into S. Blocks alone are made of the former. */
static int take_values(const struct quantize_job *j, struct quantize_scratch *s, uint64_t first,
		       uint64_t rows, float **out)
{
	const struct tensor_info *t = j->q->tensors[j->tensor].from;
	const float *there = (const float *)(const void *)t->data;

	*out = s->values;
	if (t->data && t->dtype == DTYPE_F32 && (uintptr_t)there % sizeof(float) == 0 &&
	    dtype_info(j->to)->block > 1) {
		*out = (float *)(uintptr_t)(there + first * j->columns);
		return 0;
	}
	return gguf_source_rows_f32(j->q->source, j->tensor, first, rows, s->values);
}

int quantize_tile(const struct quantize_job *j, struct quantize_scratch *s, uint64_t first,
		  uint64_t rows, unsigned char *out, struct quantize_tile_result *result)
{
	float *x;
	int done;

	*result = (struct quantize_tile_result){ 0 };
	tensor_compare_start(&result->compare);
	if (j->to == j->q->tensors[j->tensor].from->dtype)
		return gguf_source_rows(j->q->source, j->tensor, first, rows, out);
	if (take_values(j, s, first, rows, &x) < 0)
		return -1;
	if (dtype_info(j->to)->block > 1)
		done = put_blocks(j, x, first, rows, out);
	else
		done = put_floats(j, x, rows, out, &result->clamped);
	if (done == 0 && j->q->options.errors)
		measure(j, s, x, rows, out, result);
	return done;
}

/* --- sums --- */

void quantize_sum_start(struct quantize_sum *s)
{
	*s = (struct quantize_sum){ 0 };
	tensor_compare_start(&s->compare);
}

void quantize_sum_add(struct quantize_sum *s, const struct quantize_tile_result *r)
{
	tensor_compare_add(&s->compare, &r->compare);
	s->squares += r->squares;
	s->clamped += r->clamped;
}

void quantize_sum_end(const struct quantize_sum *s, struct quantize_tensor *t)
{
	t->error = (struct quantize_error){
		.rms = s->compare.n ? sqrt(s->squares / (double)s->compare.n) : 0,
		.max = s->compare.max_abs,
		.cosine = tensor_compare_cosine(&s->compare),
	};
}
