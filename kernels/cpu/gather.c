/*
 * kernels/cpu/gather.c - rows and elements by index, and their sums
 *
 * Sums of rows by id: part 0 sorts the rows by their ids, keeping their order (counting sort), in phase 0; in phase 1 bands of BAND
 * columns by SPANS ranges of ids, which have about as many rows each, are shared out, and each id's rows are added up in their order.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector.h"

#define STRIP  256 /* a multiple of every block of a quantized table */
#define BAND   2048
#define SPANS  32
#define AHEAD  2 /* rows that are asked for before their turn */
#define COPIED (4 * SIMD_BYTES)

static int32_t id_at(const struct kernel_tensor *ids, ptrdiff_t at)
{
	return ((const int32_t *)ids->data)[at];
}

/* Elements of all axes but the first. */
static size_t inner(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = 1; i < t->n_axes; i++)
		n *= t->shape[i];
	return n;
}

/* Whether they lie side by side. */
static bool inner_dense(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = t->n_axes - 1; i > 0; i--) {
		if (t->shape[i] != 1 && t->stride[i] != (ptrdiff_t)n)
			return false;
		n *= t->shape[i];
	}
	return t->n_axes > 0;
}

static uint8_t *row_of(const struct kernel_tensor *t, size_t row, size_t column)
{
	ptrdiff_t at = (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)column;

	return (uint8_t *)t->data + operand_bytes(t->dtype, at);
}

/* --- rows of a table --- */

/* N elements of ROW from COLUMN on: of blocks whole ones. */
static void decode(const struct kernel_tensor *table, size_t row, size_t column, float *out,
		   size_t n)
{
	const struct dtype_info *info = dtype_info(table->dtype);
	size_t at = (size_t)((ptrdiff_t)row * table->stride[0]) + column;

	dtype_to_f32(table->dtype, (const uint8_t *)table->data + at / info->block * info->bytes,
		     out, n);
}

static void copy_strided(const struct kernel_tensor *table, size_t row, uint8_t *out, size_t n)
{
	size_t size = operand_bytes(table->dtype, 1);
	const uint8_t *in = operand_at(table, (ptrdiff_t)row * table->stride[0]);

	for (size_t i = 0; i < n; i++)
		memcpy(out + i * size,
		       in + operand_bytes(table->dtype, (ptrdiff_t)i * table->stride[1]), size);
}

/* N bytes, while as many at NEXT, where that is not NULL, are asked for. */
SIMD_INLINE void copy_asking(uint8_t *to, const uint8_t *from, const uint8_t *next, size_t n,
			     bool stream)
{
	size_t i = 0;

	for (; i + COPIED <= n; i += COPIED) {
		for (size_t j = 0; j < COPIED && next; j += 64)
			__builtin_prefetch(next + i + j, 0, 3);
		vector_copy(to + i, from + i, COPIED, stream);
	}
	vector_copy(to + i, from + i, n - i, stream);
}

static void gather_row(const struct kernel_tensor *table, const struct kernel_tensor *out,
		       size_t row, const uint8_t *next, uint8_t *to, size_t n)
{
	if (table->dtype == out->dtype && inner_dense(table)) {
		size_t bytes = operand_bytes(out->dtype, (ptrdiff_t)n);

		if (vector_streams(out) && vector_aligned(to))
			copy_asking(to, row_of(table, row, 0), next, bytes, true);
		else
			copy_asking(to, row_of(table, row, 0), next, bytes, false);
		return;
	}
	if (table->dtype == out->dtype) {
		copy_strided(table, row, to, n);
		return;
	}
	for (size_t i = 0; i < n; i += STRIP) {
		float room[STRIP];
		size_t many = n - i < STRIP ? n - i : STRIP;

		decode(table, row, i, room, many);
		operand_store(out->dtype, room, to + operand_bytes(out->dtype, (ptrdiff_t)i), many);
	}
}

/* A negative id gives 0, one past the table NaN. */
static void fill_row(const struct kernel_tensor *out, int32_t id, uint8_t *to, size_t n)
{
	float x = id < 0 ? 0 : NAN;

	for (size_t i = 0; i < n; i++)
		operand_store(out->dtype, &x, to + operand_bytes(out->dtype, (ptrdiff_t)i), 1);
}

/* The row that comes AHEAD rows on, of those before END: rows by id lie anywhere, and nothing else brings them near. */
static const uint8_t *row_ahead(const struct kernel_call *c, size_t i, size_t end)
{
	const struct kernel_tensor *table = &c->in[0], *ids = &c->in[1];
	int32_t id = i + AHEAD < end ? id_at(ids, (ptrdiff_t)(i + AHEAD)) : -1;

	return id >= 0 && (size_t)id < table->shape[0] && table->dtype == c->out[0].dtype
		       ? row_of(table, (size_t)id, 0)
		       : NULL;
}

static void run_gather_rows(const struct kernel_call *c)
{
	const struct kernel_tensor *table = &c->in[0], *ids = &c->in[1], *out = &c->out[0];
	size_t n = inner(table), from, to;

	kernel_share(kernel_elements(ids), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		int32_t id = id_at(ids, (ptrdiff_t)i);
		uint8_t *row = (uint8_t *)out->data + operand_bytes(out->dtype, (ptrdiff_t)(i * n));

		if (id < 0 || (size_t)id >= table->shape[0])
			fill_row(out, id, row, n);
		else
			gather_row(table, out, (size_t)id, row_ahead(c, i, to), row, n);
	}
	simd_stream_end();
}

static bool claims_gather_rows(const struct kernel_call *c)
{
	const struct kernel_tensor *table = &c->in[0], *out = &c->out[0];

	if (!operand_is_float(out->dtype) || !kernel_dense(&c->in[1]) || !kernel_dense(out))
		return false;
	if (table->dtype == out->dtype)
		return inner_dense(table) || table->n_axes == 2;
	return dtype_info(table->dtype)->block > 1 && dtype_decodes(table->dtype) &&
	       inner_dense(table);
}

/* --- sums of rows by id --- */

/* Rows in the order of their ids: those of id I are rows[first[I]] to rows[first[I + 1] - 1]. */
struct sorted {
	uint32_t *first, *rows;
};

static struct sorted sorted_of(const struct kernel_call *c)
{
	uint32_t *first = c->scratch;

	return (struct sorted){ first, first + c->out[0].shape[0] + 2 };
}

static size_t scratch_sums(const struct kernel_call *c)
{
	return (c->out[0].shape[0] + 2 + c->in[c->n_in - 1].shape[0]) * sizeof(uint32_t);
}

/* Counts stand two places on, so that filling leaves the starts in theirs. */
static void sort_rows(const struct kernel_call *c)
{
	const struct kernel_tensor *ids = &c->in[c->n_in - 1];
	struct sorted s = sorted_of(c);
	size_t n = c->out[0].shape[0];

	memset(s.first, 0, (n + 2) * sizeof(*s.first));
	for (size_t i = 0; i < ids->shape[0]; i++) {
		int32_t id = id_at(ids, (ptrdiff_t)i * ids->stride[0]);

		if (id >= 0 && (size_t)id < n)
			s.first[id + 2]++;
	}
	for (size_t i = 2; i < n + 2; i++)
		s.first[i] += s.first[i - 1];
	for (size_t i = 0; i < ids->shape[0]; i++) {
		int32_t id = id_at(ids, (ptrdiff_t)i * ids->stride[0]);

		if (id >= 0 && (size_t)id < n)
			s.rows[s.first[id + 1]++] = (uint32_t)i;
	}
}

/* X += Y, N of each. */
static void add_row(float *x, const float *y, size_t n)
{
	size_t j = 0;

	for (; j + SIMD_WIDTH <= n; j += SIMD_WIDTH)
		simd_store(x + j, simd_load(x + j) + simd_load(y + j));
	for (; j < n; j++)
		x[j] += y[j];
}

/* SUM = the rows of X that ROWS names, N columns from COLUMN on; 0 where it names none. */
static void add_rows(const struct kernel_tensor *x, const uint32_t *rows, size_t n_rows,
		     size_t column, size_t n, float *sum)
{
	float room[STRIP];

	if (n_rows)
		operand_load(x->dtype, row_of(x, rows[0], column), sum, n);
	else
		memset(sum, 0, n * sizeof(*sum));
	for (size_t i = 1; i < n_rows; i++) {
		operand_load(x->dtype, row_of(x, rows[i], column), room, n);
		add_row(sum, room, n);
	}
}

/*
 * Asks for N columns of row number PLACE of those sorted, and of what it is added to: they lie anywhere, and nothing else brings them
 * near.
 */
static void ask_row(const struct kernel_call *c, size_t place, size_t column, size_t n, bool onto)
{
	const struct kernel_tensor *x = &c->in[c->n_in - 2], *ids = &c->in[c->n_in - 1];
	const struct kernel_tensor *out = &c->out[0];
	struct sorted s = sorted_of(c);

	if (place >= s.first[out->shape[0]])
		return;
	for (size_t i = 0; i < operand_bytes(x->dtype, (ptrdiff_t)n); i += 64)
		__builtin_prefetch(row_of(x, s.rows[place], column) + i, 0, 3);
	if (onto) {
		size_t id = (size_t)id_at(ids, (ptrdiff_t)s.rows[place] * ids->stride[0]);

		for (size_t i = 0; i < operand_bytes(out->dtype, (ptrdiff_t)n); i += 64)
			__builtin_prefetch(row_of(out, id, column) + i, 1, 3);
	}
}

/* AT += the sum of MANY rows, which is rounded first, as it would be as a node of its own. */
static void add_onto(enum dtype t, uint8_t *at, float *sum, size_t n)
{
	float old[STRIP];

	operand_round(t, sum, n);
	operand_load(t, at, old, n);
	add_row(sum, old, n);
	operand_store(t, sum, at, n);
}

/* The sum of the MANY rows of ID, N columns from COLUMN on, at most STRIP. */
static void sum_strip(const struct kernel_call *c, size_t id, size_t many, size_t column, size_t n)
{
	const struct kernel_tensor *out = &c->out[0], *x = &c->in[c->n_in - 2];
	struct sorted s = sorted_of(c);
	uint8_t *at = row_of(out, id, column);
	float sum[STRIP];

	add_rows(x, s.rows + s.first[id], many, column, n, sum);
	if (c->n_in == 3)
		add_onto(out->dtype, at, sum, n);
	else
		operand_store(out->dtype, sum, at, n);
}

/* Ids FROM to TO - 1, N columns from COLUMN on. What is added to is added to once. */
static void sum_span(const struct kernel_call *c, size_t from, size_t to, size_t column, size_t n)
{
	const struct kernel_tensor *out = &c->out[0], *x = &c->in[c->n_in - 2];
	struct sorted s = sorted_of(c);
	bool onto = c->n_in == 3, plain = x->dtype == DTYPE_F32 && out->dtype == DTYPE_F32;

	for (size_t id = from; id < to; id++) {
		size_t many = s.first[id + 1] - s.first[id];

		if (onto && !many)
			continue;
		for (size_t i = 0; i < many; i++)
			ask_row(c, s.first[id] + i + AHEAD, column, n, onto);
		if (onto && many == 1 && plain) {
			add_row((float *)(void *)row_of(out, id, column),
				(const float *)(const void *)row_of(x, s.rows[s.first[id]], column),
				n);
			continue;
		}
		for (size_t i = 0; i < n; i += STRIP)
			sum_strip(c, id, many, column + i, n - i < STRIP ? n - i : STRIP);
	}
}

/* The first id of span I: the work before it, rows, and ids where each is written, is I parts of SPANS. */
static size_t span_start(const struct kernel_call *c, size_t i)
{
	struct sorted s = sorted_of(c);
	size_t n = c->out[0].shape[0], each = c->n_in == 3 ? 0 : 1;
	size_t work = (s.first[n] + each * n) * i / SPANS, low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s.first[middle] + each * middle < work)
			low = middle + 1;
		else
			high = middle;
	}
	return i == SPANS ? n : low;
}

static void run_sums(const struct kernel_call *c)
{
	size_t width = inner(&c->out[0]), bands = (width + BAND - 1) / BAND, from, to;

	if (c->phase == 0) {
		if (c->part == 0)
			sort_rows(c);
		return;
	}
	kernel_share(bands * SPANS, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t column = i / SPANS * BAND;

		sum_span(c, span_start(c, i % SPANS), span_start(c, i % SPANS + 1), column,
			 width - column < BAND ? width - column : BAND);
	}
}

/* Row numbers are kept in 32 bits. */
static bool claims_sums(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[c->n_in - 2], *out = &c->out[0];

	return operand_is_float(x->dtype) && operand_is_float(out->dtype) && inner_dense(x) &&
	       inner_dense(out) && x->shape[0] < UINT32_MAX;
}

/* --- along the last axis --- */

static void run_take_along(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *ids = &c->in[1], *out = &c->out[0];
	size_t n = rows_length(out), most = rows_length(x), from, to;
	int last = out->n_axes - 1;

	kernel_share(rows_count(out), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		for (size_t k = 0; k < n; k++) {
			int32_t id = id_at(ids, rows_at(ids, i) + (ptrdiff_t)k * ids->stride[last]);
			ptrdiff_t at = rows_at(out, i) + (ptrdiff_t)k * out->stride[last];
			float value = NAN;

			if (id >= 0 && (size_t)id < most)
				operand_load(x->dtype,
					     operand_at(x, rows_at(x, i) + id * x->stride[last]),
					     &value, 1);
			operand_store(out->dtype, &value,
				      (uint8_t *)out->data + operand_bytes(out->dtype, at), 1);
		}
}

static size_t scratch_put_along(const struct kernel_call *c)
{
	return (size_t)c->parts * rows_room(rows_length(&c->out[0])) * sizeof(float);
}

/* A row is summed in f32, in the order of x, and rounded once. */
static void run_put_along(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *ids = &c->in[1], *out = &c->out[0];
	size_t n = rows_length(out), many = rows_length(x), from, to;
	float *room = (float *)c->scratch + (size_t)c->part * rows_room(n);
	int last = x->n_axes - 1;

	kernel_share(rows_count(out), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		float *row = rows_new(out, i, room);

		memset(row, 0, n * sizeof(*row));
		for (size_t k = 0; k < many; k++) {
			int32_t id = id_at(ids, rows_at(ids, i) + (ptrdiff_t)k * ids->stride[last]);
			float value;

			operand_load(x->dtype,
				     operand_at(x, rows_at(x, i) + (ptrdiff_t)k * x->stride[last]),
				     &value, 1);
			if (id >= 0 && (size_t)id < n)
				row[id] += value;
		}
		rows_put(out, i, row);
	}
}

static bool claims_take_along(const struct kernel_call *c)
{
	return operand_is_float(c->in[0].dtype) && c->in[0].dtype == c->out[0].dtype;
}

static bool claims_put_along(const struct kernel_call *c)
{
	return operand_is_float(c->in[0].dtype) && rows_serve(&c->out[0]);
}

#define KERNEL(name, claim, room_needed, n_phases, function)                            \
 LEVEL_KERNEL(name, index, .claims = claim, .scratch = room_needed, .phases = n_phases, \
	      .run = function)

KERNEL(gather_rows, claims_gather_rows, NULL, 1, run_gather_rows);
KERNEL(scatter_add_rows, claims_sums, scratch_sums, 2, run_sums);
KERNEL(scatter_acc, claims_sums, scratch_sums, 2, run_sums);
KERNEL(take_along, claims_take_along, NULL, 1, run_take_along);
KERNEL(put_along, claims_put_along, scratch_put_along, 1, run_put_along);
