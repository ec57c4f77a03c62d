/*
 * kernels/cpu/order.c - where the largest is, the largest few, the order of a row, running sums, counts
 *
 * A row is a task. Rows are sorted as keys: the bits of a float turned so that integers order them, NaN at the end that the op
 * names, and its place below, so that equal values keep their order and no two keys are equal. Both zeros are one value.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"

/* --- keys --- */

/* Rising with X; falling when FALLING; a NaN before all or after all. */
static uint64_t key_of(float x, size_t place, bool falling, bool nan_first)
{
	uint32_t bits = f32_bits(x + 0.0f); /* -0 becomes 0 */

	bits = bits >> 31 ? ~bits : bits | UINT32_C(0x80000000);
	if (falling)
		bits = ~bits;
	if (isnan(x))
		bits = nan_first ? 0 : UINT32_MAX;
	return (uint64_t)bits << 32 | (uint32_t)place;
}

static size_t place_of(uint64_t key)
{
	return (uint32_t)key;
}

/* Four passes over the values, a byte each, by counting; places, which are in order, stay so. N keys; ROOM for as many. */
static void sort_keys(uint64_t *key, uint64_t *room, size_t n)
{
	for (int shift = 32; shift < 64; shift += 8) {
		size_t count[257] = { 0 };
		uint64_t *swap;

		for (size_t i = 0; i < n; i++)
			count[(key[i] >> shift & 255) + 1]++;
		for (int i = 0; i < 256; i++)
			count[i + 1] += count[i];
		for (size_t i = 0; i < n; i++)
			room[count[key[i] >> shift & 255]++] = key[i];
		swap = key;
		key = room;
		room = swap;
	}
}

/* --- rows --- */

/* A part's keys, room for as many, and a row of floats. */
static uint64_t *keys_of(const struct kernel_call *c)
{
	return (uint64_t *)c->scratch + (size_t)c->part * 3 * rows_room(rows_length(&c->in[0]));
}

static size_t scratch(const struct kernel_call *c)
{
	return (size_t)c->parts * 3 * rows_room(rows_length(&c->in[0])) * sizeof(uint64_t);
}

static const float *row_of(const struct kernel_call *c, size_t i)
{
	uint64_t *beyond = keys_of(c) + 2 * rows_room(rows_length(&c->in[0]));

	return rows_get(&c->in[0], i, (float *)beyond);
}

static void run_argmax(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *x = row_of(c, i);
		size_t best = 0;

		for (size_t j = 1; j < n && !isnan(x[best]); j++)
			if (x[j] > x[best] || isnan(x[j]))
				best = j;
		((int32_t *)c->out[0].data)[i] = (int32_t)best;
	}
}

static void run_argsort(const struct kernel_call *c)
{
	const struct axis_attributes *a = c->attributes;
	size_t n = rows_length(&c->in[0]), from, to;
	uint64_t *key = keys_of(c);

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *x = row_of(c, i);
		int32_t *y = (int32_t *)c->out[0].data + rows_at(&c->out[0], i);

		for (size_t j = 0; j < n; j++)
			key[j] = key_of(x[j], j, a->reverse, false);
		sort_keys(key, key + rows_room(n), n);
		for (size_t j = 0; j < n; j++)
			y[j] = (int32_t)place_of(key[j]);
	}
}

/* KEY 0 to N - 1 with the last in order at the top: the one at AT is moved down to its place. */
static void sift(uint64_t *key, size_t n, size_t at)
{
	uint64_t moved = key[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && key[child + 1] > key[child];
		if (key[child] <= moved)
			break;
		key[at] = key[child];
	}
	key[at] = moved;
}

/* The first K of N keys in order are kept in a heap whose top is the last of them. */
static void keep_first(const float *x, size_t n, uint64_t *key, size_t k)
{
	for (size_t j = 0; j < k; j++)
		key[j] = key_of(x[j], j, true, true);
	for (size_t j = k / 2; j-- > 0;)
		sift(key, k, j);
	for (size_t j = k; j < n; j++) {
		uint64_t next = key_of(x[j], j, true, true);

		if (next < key[0]) {
			key[0] = next;
			sift(key, k, 0);
		}
	}
	for (size_t left = k; left > 1; left--) {
		uint64_t last = key[0];

		key[0] = key[left - 1];
		key[left - 1] = last;
		sift(key, left - 1, 0);
	}
}

static void run_top_k(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), k = rows_length(&c->out[0]), from, to;
	uint64_t *key = keys_of(c);

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to && k; i++) {
		const struct kernel_tensor *out = &c->out[0];
		const float *x = row_of(c, i);
		int32_t *places = (int32_t *)c->out[1].data + rows_at(&c->out[1], i);

		keep_first(x, n, key, k);
		for (size_t j = 0; j < k; j++) {
			ptrdiff_t at = rows_at(out, i) + (ptrdiff_t)j;

			places[j] = (int32_t)place_of(key[j]);
			operand_store(out->dtype, &x[places[j]],
				      (uint8_t *)out->data + operand_bytes(out->dtype, at), 1);
		}
	}
}

static bool rows_fit(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_length(&c->in[0]) <= INT32_MAX;
}

static bool claims_places(const struct kernel_call *c)
{
	return rows_fit(c) && c->out[0].dtype == DTYPE_I32 && kernel_dense(&c->out[0]);
}

static bool claims_top_k(const struct kernel_call *c)
{
	return rows_fit(c) && rows_serve(&c->out[0]) && c->out[1].dtype == DTYPE_I32 &&
	       kernel_dense(&c->out[1]);
}

/* --- cumsum: lines along the axis, sums in double --- */

/* Lines that lie side by side are summed together. */
#define LINES 64

static void sum_lines(const struct kernel_call *c, ptrdiff_t from, ptrdiff_t to, size_t lines)
{
	const struct axis_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *y = &c->out[0];
	size_t n = x->shape[a->axis];
	double sum[LINES] = { 0 };

	for (size_t j = 0; j < n; j++) {
		ptrdiff_t at = (ptrdiff_t)(a->reverse ? n - 1 - j : j);
		float row[LINES], out[LINES];

		operand_load(x->dtype, operand_at(x, from + at * x->stride[a->axis]), row, lines);
		for (size_t l = 0; l < lines; l++) {
			double with = sum[l] + row[l];

			out[l] = (float)(a->exclusive ? sum[l] : with);
			sum[l] = with;
		}
		operand_store(y->dtype, out,
			      (uint8_t *)y->data +
				      operand_bytes(y->dtype, to + at * y->stride[a->axis]),
			      lines);
	}
}

/* Groups of lines along the last axis; along any other axis, of neighbours of the last. */
static void run_cumsum(const struct kernel_call *c)
{
	const struct axis_attributes *a = c->attributes;
	struct kernel_tensor x = c->in[0], y = c->out[0];
	int last = x.n_axes - 1;
	bool across = (int)a->axis != last;
	size_t width = across ? x.shape[last] : 1, groups = (width + LINES - 1) / LINES, from, to;

	x.shape[a->axis] = x.shape[last] = 1; /* what is left counts the planes */
	kernel_share(kernel_elements(&x) * groups, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t plane = i / groups, first = i % groups * LINES;
		ptrdiff_t in = (ptrdiff_t)first, out = (ptrdiff_t)first;

		for (int axis = last - 1; axis >= 0; axis--) {
			in += (ptrdiff_t)(plane % x.shape[axis]) * x.stride[axis];
			out += (ptrdiff_t)(plane % x.shape[axis]) * y.stride[axis];
			plane /= x.shape[axis];
		}
		sum_lines(c, in, out, width - first < LINES ? width - first : LINES);
	}
}

static bool claims_cumsum(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->out[0]) && kernel_elements(&c->in[0]) > 0;
}

/* --- histogram: one part counts --- */

static void run_histogram(const struct kernel_call *c)
{
	const struct kernel_tensor *ids = &c->in[0];
	const int32_t *id = ids->data;
	int32_t *count = c->out[0].data;
	size_t n = kernel_elements(ids), bins = c->out[0].shape[0];

	if (c->part != 0)
		return;
	memset(count, 0, bins * sizeof(*count));
	for (size_t i = 0; i < n; i++)
		if (id[i] >= 0 && (size_t)id[i] < bins)
			count[id[i]]++;
}

static bool claims_histogram(const struct kernel_call *c)
{
	return c->in[0].dtype == DTYPE_I32 && c->out[0].dtype == DTYPE_I32 &&
	       kernel_dense(&c->in[0]) && kernel_dense(&c->out[0]);
}

#define KERNEL(name, claim, room) \
 LEVEL_KERNEL(name, rows, .claims = claim, .scratch = room, .run = run_##name)

KERNEL(argmax, claims_places, scratch);
KERNEL(argsort, claims_places, scratch);
KERNEL(top_k, claims_top_k, scratch);
KERNEL(cumsum, claims_cumsum, NULL);
KERNEL(histogram, claims_histogram, NULL);
