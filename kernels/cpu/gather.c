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

#define STRIP 256 /* a multiple of every block of a quantized table */
#define BAND  2048
#define SPANS 32

/*
 * Rows by id lie anywhere. So many are walked side by side, a piece of each in turn: the processor brings several streams faster than one
 * after another (Zen 3, rows of 3 KB on one thread: 0.62 of the bandwidth by one, 0.72 by four, 0.77 by eight).
 */
#define TOGETHER 8
#define COPIED	 (4 * SIMD_BYTES)

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

/* MANY rows of N bytes side by side; STREAM as in vector_copy. */
SIMD_INLINE void copy_together(uint8_t *const *to, const uint8_t *const *from, size_t many,
			       size_t n, bool stream)
{
	size_t i = 0;

	for (; i + COPIED <= n; i += COPIED)
		for (size_t k = 0; k < many; k++)
			vector_copy(to[k] + i, from[k] + i, COPIED, stream);
	for (size_t k = 0; k < many; k++)
		vector_copy(to[k] + i, from[k] + i, n - i, stream);
}

static void gather_row(const struct kernel_tensor *table, const struct kernel_tensor *out,
		       size_t row, uint8_t *to, size_t n)
{
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

/* Rows I on, at most TOGETHER of those before END: as they are where they are copied as bytes, else one by one. */
static void gather_some(const struct kernel_call *c, size_t i, size_t end)
{
	const struct kernel_tensor *table = &c->in[0], *ids = &c->in[1], *out = &c->out[0];
	bool bytes = table->dtype == out->dtype && inner_dense(table);
	size_t n = inner(table), many = 0;
	const uint8_t *from[TOGETHER];
	uint8_t *to[TOGETHER];

	for (; i < end; i++) {
		int32_t id = id_at(ids, (ptrdiff_t)i);
		uint8_t *row = (uint8_t *)out->data + operand_bytes(out->dtype, (ptrdiff_t)(i * n));

		if (id < 0 || (size_t)id >= table->shape[0]) {
			fill_row(out, id, row, n);
		} else if (bytes) {
			from[many] = row_of(table, (size_t)id, 0);
			to[many++] = row;
		} else {
			gather_row(table, out, (size_t)id, row, n);
		}
	}
	n = operand_bytes(out->dtype, (ptrdiff_t)n);
	if (vector_streams(out))
		copy_together(to, from, many, n, true);
	else
		copy_together(to, from, many, n, false);
}

static void run_gather_rows(const struct kernel_call *c)
{
	size_t from, to;

	kernel_share(kernel_elements(&c->in[1]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i += TOGETHER)
		gather_some(c, i, i + TOGETHER < to ? i + TOGETHER : to);
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

/* AT += the sum of MANY rows, which is rounded first, as it would be as a node of its own. */
static void add_onto(enum dtype t, uint8_t *at, float *sum, size_t n)
{
	float old[STRIP];

	operand_round(t, sum, n);
	operand_load(t, at, old, n);
	add_row(sum, old, n);
	operand_store(t, sum, at, n);
}

/* The sum of the rows of ID, N columns from COLUMN on, at most STRIP. */
static void sum_strip(const struct kernel_call *c, size_t id, size_t column, size_t n)
{
	const struct kernel_tensor *out = &c->out[0], *x = &c->in[c->n_in - 2];
	struct sorted s = sorted_of(c);
	uint8_t *at = row_of(out, id, column);
	float sum[STRIP];

	add_rows(x, s.rows + s.first[id], s.first[id + 1] - s.first[id], column, n, sum);
	if (c->n_in == 3)
		add_onto(out->dtype, at, sum, n);
	else
		operand_store(out->dtype, sum, at, n);
}

/* Ids whose sums are made side by side, and their rows, one id's after another's. */
struct ids {
	uint8_t *at[TOGETHER];
	size_t end[TOGETHER], n; /* of its rows */
	const uint8_t *row[2 * TOGETHER];
};

#define PIECE (4 * SIMD_WIDTH) /* elements */

/* ALIKE: what is stored is of T too, and its order does not matter. */
SIMD_INLINE void load_piece(enum dtype t, bool alike, const uint8_t *p, vf32 v[4])
{
	SIMD_UNROLL
	for (ptrdiff_t j = 0; j < 4; j += 2) {
		const uint8_t *at = p + operand_bytes(t, j * SIMD_WIDTH);

		if (alike) {
			vector_split(t, at, v + j);
		} else {
			v[j] = vector_load(t, at);
			v[j + 1] = vector_load(t, at + operand_bytes(t, SIMD_WIDTH));
		}
	}
}

SIMD_INLINE void store_piece(enum dtype t, bool alike, uint8_t *p, const vf32 v[4])
{
	SIMD_UNROLL
	for (ptrdiff_t j = 0; j < 4; j += 2) {
		uint8_t *at = p + operand_bytes(t, j * SIMD_WIDTH);

		if (alike)
			vector_join_bare(t, at, v + j, false);
		else
			vector_store_two(t, at, v[j], v[j + 1], false);
	}
}

/* A piece from element I on of id K: the rows, of T, are added up as add_rows does it, and go to what is there, of TO, as add_onto. */
SIMD_INLINE void sum_piece(const struct ids *s, size_t k, enum dtype t, enum dtype to, bool onto,
			   size_t i)
{
	size_t row = k ? s->end[k - 1] : 0, at = operand_bytes(t, (ptrdiff_t)i);
	uint8_t *y = s->at[k] + operand_bytes(to, (ptrdiff_t)i);
	vf32 sum[4], v[4];

	load_piece(t, t == to, s->row[row] + at, sum);
	while (++row < s->end[k]) {
		load_piece(t, t == to, s->row[row] + at, v);
		SIMD_UNROLL
		for (size_t j = 0; j < 4; j++)
			sum[j] = sum[j] + v[j];
	}
	if (onto) {
		load_piece(to, t == to, y, v);
		SIMD_UNROLL
		for (size_t j = 0; j < 4; j++) {
			if (to == DTYPE_BF16)
				sum[j] = (vf32)(vector_round(sum[j]) & 0xffff0000);
			sum[j] = sum[j] + v[j];
		}
	}
	store_piece(to, t == to, y, sum);
}

SIMD_INLINE void sum_pieces(const struct ids *s, enum dtype t, enum dtype to, bool onto, size_t n)
{
	for (size_t i = 0; i < n; i += PIECE)
		for (size_t k = 0; k < s->n; k++)
			sum_piece(s, k, t, to, onto, i);
}

/* N columns, whole pieces, of the ids of S, which is empty after it. */
static void sum_together(const struct kernel_call *c, struct ids *s, size_t n)
{
	enum dtype t = c->in[c->n_in - 2].dtype, to = c->out[0].dtype;
	bool onto = c->n_in == 3;

	if (onto && t == DTYPE_F32)
		sum_pieces(s, DTYPE_F32, DTYPE_F32, true, n);
	else if (onto && to == DTYPE_F32)
		sum_pieces(s, DTYPE_BF16, DTYPE_F32, true, n);
	else if (onto)
		sum_pieces(s, DTYPE_BF16, DTYPE_BF16, true, n);
	else if (t == DTYPE_F32)
		sum_pieces(s, DTYPE_F32, DTYPE_F32, false, n);
	else if (to == DTYPE_F32)
		sum_pieces(s, DTYPE_BF16, DTYPE_F32, false, n);
	else
		sum_pieces(s, DTYPE_BF16, DTYPE_BF16, false, n);
	s->n = 0;
}

/* How many of N columns are summed side by side with those of other ids. */
static size_t columns_together(const struct kernel_call *c, size_t n)
{
	enum dtype t = c->in[c->n_in - 2].dtype, to = c->out[0].dtype;

	bool serves = t == DTYPE_F32 ? to == DTYPE_F32 : t == DTYPE_BF16 && to != DTYPE_F16;

	return serves ? n / PIECE * PIECE : 0;
}

/* Adds ID, whose rows S has room for. */
static void add_id(const struct kernel_call *c, struct ids *s, size_t id, size_t column)
{
	const struct kernel_tensor *x = &c->in[c->n_in - 2];
	struct sorted sorted = sorted_of(c);
	size_t row = s->n ? s->end[s->n - 1] : 0;

	for (size_t i = sorted.first[id]; i < sorted.first[id + 1]; i++)
		s->row[row++] = row_of(x, sorted.rows[i], column);
	s->at[s->n] = row_of(&c->out[0], id, column);
	s->end[s->n++] = row;
}

/* Ids FROM to TO - 1, N columns from COLUMN on. What is added to is added to once. */
static void sum_span(const struct kernel_call *c, size_t from, size_t to, size_t column, size_t n)
{
	size_t together = columns_together(c, n), rows = 0;
	struct sorted s = sorted_of(c);
	struct ids ids = { .n = 0 };

	for (size_t id = from; id < to; id++) {
		size_t many = s.first[id + 1] - s.first[id], first = 0;

		if (c->n_in == 3 && !many)
			continue;
		if (many && many <= 2 * TOGETHER && together) {
			if (ids.n == TOGETHER || rows + many > 2 * TOGETHER) {
				sum_together(c, &ids, together);
				rows = 0;
			}
			add_id(c, &ids, id, column);
			rows += many;
			first = together;
		}
		for (size_t i = first; i < n; i += STRIP)
			sum_strip(c, id, column + i, n - i < STRIP ? n - i : STRIP);
	}
	sum_together(c, &ids, together);
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
