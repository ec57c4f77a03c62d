/* kernels/cpu/softmax.c - softmax of rows, its logarithm, and its gradient */

#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/simd_four.h"
#include "kernels/cpu/vector.h"

#define ROOMS 3 /* the operands, and the result */
#include "kernels/cpu/row_rooms.h"

#define CHAINS 4 /* sums side by side, so that none waits for itself */
#define GROUP  (CHAINS * SIMD_WIDTH)

/*
 * A row of T, a constant in what follows, is walked in pairs of vectors whose lanes are in an order of their own (vector_split), then in
 * vectors. Rows are taken where they lie when operands and result are of one dtype, else in rooms of f32.
 */

/* The row after this one, which is asked for while this one is worked on: memory would wait meanwhile. NULL: too long for L1. */
#define NEAR_BYTES 8192

static const uint8_t *next_row(const struct kernel_call *c, int operand, size_t i, size_t end)
{
	const struct kernel_tensor *x = &c->in[operand];
	size_t bytes = operand_bytes(x->dtype, (ptrdiff_t)rows_length(x));

	return i + 1 < end && bytes <= NEAR_BYTES ? operand_at(x, rows_at(x, i + 1)) : NULL;
}

SIMD_INLINE void ask(const uint8_t *row, enum dtype t, size_t i)
{
	if (row)
		__builtin_prefetch(row_at(t, row, i), 0, 3);
}

static float most_lane(vf32 v)
{
	float lane[SIMD_WIDTH], most;

	simd_store(lane, v);
	most = lane[0];
	for (int i = 1; i < SIMD_WIDTH; i++)
		most = lane[i] > most ? lane[i] : most;
	return most;
}

/* The largest that is no NaN; -inf when there is none. */
SIMD_INLINE float row_most(enum dtype t, const uint8_t *x, size_t n)
{
	vf32 most[CHAINS];
	size_t i = 0;

	SIMD_UNROLL
	for (int j = 0; j < CHAINS; j++)
		most[j] = simd_f32(-INFINITY);
	for (; i + GROUP <= n; i += GROUP) {
		vf32 v[CHAINS];

		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j += 2)
			vector_split(t, row_at(t, x, i + j * SIMD_WIDTH), v + j);
		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j++)
			most[j] = simd_max(v[j], most[j]);
	}
	for (; i < n; i += SIMD_WIDTH)
		most[0] = simd_max(row_rest(t, x, i, n, -INFINITY), most[0]);
	return most_lane(simd_max(simd_max(most[0], most[1]), simd_max(most[2], most[3])));
}

/*
 * The sum of e^(x - most), which is NaN when an x is; the terms themselves to Y, where that is not NULL, in the order in which they were
 * loaded. What lies past the end counts nothing: there x is -inf.
 */
SIMD_INLINE float row_exp(enum dtype t, const uint8_t *x, float *y, size_t n, float most,
			  const uint8_t *next)
{
	vf32 sum[2] = { { 0 } }, less = simd_f32(most);
	size_t i = 0;

	for (; i + GROUP <= n; i += GROUP) {
		vf32 v[CHAINS];

		ask(next, t, i);
		ask(next, t, i + VECTOR_TWO);
		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j += 2)
			vector_split(t, row_at(t, x, i + j * SIMD_WIDTH), v + j);
		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j++)
			v[j] -= less;
		simd_exp_quick_four(v);
		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j++) {
			sum[j % 2] += v[j];
			if (y)
				simd_store(y + i + j * SIMD_WIDTH, v[j]);
		}
	}
	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		vf32 v[2];

		vector_split(t, row_at(t, x, i), v);
		SIMD_UNROLL
		for (size_t j = 0; j < 2; j++) {
			v[j] = simd_exp_quick(v[j] - less);
			sum[j] += v[j];
			if (y)
				simd_store(y + i + j * SIMD_WIDTH, v[j]);
		}
	}
	for (; i < n; i += SIMD_WIDTH) {
		vf32 e = simd_exp_quick(row_rest(t, x, i, n, -INFINITY) - less);

		sum[0] += e;
		if (y)
			rows_store(y + i, e, n - i);
	}
	return rows_sum(sum[0] + sum[1]);
}

/* OUT = Y FACTOR, where Y is in the order in which row_exp left it. */
SIMD_INLINE void row_scale(enum dtype t, const float *y, uint8_t *out, size_t n, float factor,
			   bool stream)
{
	vf32 f = simd_f32(factor);
	float rest[VECTOR_TWO];
	size_t i = 0;

	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		vf32 v[2] = { simd_load(y + i) * f, simd_load(y + i + SIMD_WIDTH) * f };

		vector_join_bare(t, out + operand_bytes(t, (ptrdiff_t)i), v, stream);
	}
	for (size_t k = 0; k < n - i; k++)
		rest[k] = y[i + k] * factor;
	operand_store(t, rest, out + operand_bytes(t, (ptrdiff_t)i), n - i);
}

/* OUT = (X - LESS) - LSE */
SIMD_INLINE void row_less(enum dtype t, const uint8_t *x, uint8_t *out, size_t n, float less,
			  float lse, bool stream)
{
	vf32 l = simd_f32(less), m = simd_f32(lse);
	float rest[VECTOR_TWO];
	size_t i = 0;

	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		vf32 v[2];

		vector_split(t, row_at(t, x, i), v);
		v[0] = (v[0] - l) - m;
		v[1] = (v[1] - l) - m;
		vector_join_bare(t, out + operand_bytes(t, (ptrdiff_t)i), v, stream);
	}
	operand_load(t, row_at(t, x, i), rest, n - i);
	for (size_t k = 0; k < n - i; k++)
		rest[k] = (rest[k] - less) - lse;
	operand_store(t, rest, out + operand_bytes(t, (ptrdiff_t)i), n - i);
}

SIMD_INLINE float row_dot(enum dtype t, const uint8_t *x, const uint8_t *y, size_t n)
{
	vf32 sum[CHAINS] = { { 0 } };
	size_t i = 0;

	for (; i + GROUP <= n; i += GROUP) {
		vf32 v[CHAINS], w[CHAINS];

		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j += 2) {
			vector_split(t, row_at(t, x, i + j * SIMD_WIDTH), v + j);
			vector_split(t, row_at(t, y, i + j * SIMD_WIDTH), w + j);
		}
		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j++)
			sum[j] = simd_fma(v[j], w[j], sum[j]);
	}
	for (; i < n; i += SIMD_WIDTH)
		sum[0] = simd_fma(row_rest(t, x, i, n, 0), row_rest(t, y, i, n, 0), sum[0]);
	return rows_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* OUT = Y (DY - LESS) */
SIMD_INLINE void row_slope(enum dtype t, const uint8_t *y, const uint8_t *dy, uint8_t *out,
			   size_t n, float less, const uint8_t *const next[2], bool stream)
{
	float rest[2][VECTOR_TWO];
	vf32 l = simd_f32(less);
	size_t i = 0;

	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		vf32 v[2], w[2];

		ask(next[0], t, i);
		ask(next[1], t, i);
		vector_split(t, row_at(t, y, i), v);
		vector_split(t, row_at(t, dy, i), w);
		v[0] = v[0] * (w[0] - l);
		v[1] = v[1] * (w[1] - l);
		vector_join_bare(t, out + operand_bytes(t, (ptrdiff_t)i), v, stream);
	}
	operand_load(t, row_at(t, y, i), rest[0], n - i);
	operand_load(t, row_at(t, dy, i), rest[1], n - i);
	for (size_t k = 0; k < n - i; k++)
		rest[0][k] = rest[0][k] * (rest[1][k] - less);
	operand_store(t, rest[0], out + operand_bytes(t, (ptrdiff_t)i), n - i);
}

/* --- rows of a call --- */

/* What rows are of: bf16 when all operands and results are, else f32. */
static enum dtype rows_of(const struct kernel_call *c)
{
	bool brain = c->out[0].dtype == DTYPE_BF16;

	for (int i = 0; i < c->n_in; i++)
		brain = brain && c->in[i].dtype == DTYPE_BF16;
	return brain ? DTYPE_BF16 : DTYPE_F32;
}

static bool row_streams(const struct kernel_call *c, enum dtype t, const uint8_t *row)
{
	return t == c->out[0].dtype && vector_streams(&c->out[0]) && vector_aligned(row);
}

SIMD_INLINE bool has_nan(enum dtype t, const uint8_t *x, size_t n)
{
	vi32 bad = { 0 };

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = row_rest(t, x, i, n, 0);

		bad |= v != v;
	}
	return simd_any(bad);
}

/* A row of nothing but -inf gives 0. */
SIMD_INLINE void softmax_row(const struct kernel_call *c, enum dtype t, size_t i, size_t end)
{
	size_t n = rows_length(&c->in[0]);
	const uint8_t *x = row_in(c, t, 0, i, 0);
	uint8_t *out = row_out(c, t, i, 2);
	float *y = room(c, 1), most = row_most(t, x, n), factor = 0;

	if (most == -INFINITY && !has_nan(t, x, n))
		memset(y, 0, n * sizeof(*y));
	else
		factor = 1 / row_exp(t, x, y, n, most, next_row(c, 0, i, end));
	if (row_streams(c, t, out))
		row_scale(t, y, out, n, factor, true);
	else
		row_scale(t, y, out, n, factor, false);
	row_put(c, t, i, out);
}

SIMD_INLINE void log_softmax_row(const struct kernel_call *c, enum dtype t, size_t i, size_t end)
{
	size_t n = rows_length(&c->in[0]);
	const uint8_t *x = row_in(c, t, 0, i, 0);
	uint8_t *out = row_out(c, t, i, 2);
	float most = row_most(t, x, n);
	float lse = logf(row_exp(t, x, NULL, n, most, next_row(c, 0, i, end)));

	if (row_streams(c, t, out))
		row_less(t, x, out, n, most, lse, true);
	else
		row_less(t, x, out, n, most, lse, false);
	row_put(c, t, i, out);
}

/* y, dy: y (dy - sum(y dy)) */
SIMD_INLINE void softmax_grad_row(const struct kernel_call *c, enum dtype t, size_t i, size_t end)
{
	size_t n = rows_length(&c->in[0]);
	const uint8_t *y = row_in(c, t, 0, i, 0), *dy = row_in(c, t, 1, i, 1);
	const uint8_t *const next[2] = { next_row(c, 0, i, end), next_row(c, 1, i, end) };
	uint8_t *out = row_out(c, t, i, 2);
	float less = row_dot(t, y, dy, n);

	if (row_streams(c, t, out))
		row_slope(t, y, dy, out, n, less, next, true);
	else
		row_slope(t, y, dy, out, n, less, next, false);
	row_put(c, t, i, out);
}

/* run_NAME: NAME_row for the rows of this part, of either dtype; rows of nothing have no rooms. */
#define EACH_ROW(name)                                                   \
 static void run_##name(const struct kernel_call *c)                     \
 {                                                                       \
  enum dtype t = rows_of(c);                                             \
  size_t from, to;                                                       \
                                                                         \
  if (rows_length(&c->in[0]) == 0)                                       \
   return;                                                               \
  kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to); \
  for (size_t i = from; i < to; i++)                                     \
   if (t == DTYPE_BF16)                                                  \
    name##_row(c, DTYPE_BF16, i, to);                                    \
   else                                                                  \
    name##_row(c, DTYPE_F32, i, to);                                     \
  simd_stream_end();                                                     \
 }
EACH_ROW(softmax)
EACH_ROW(log_softmax)
EACH_ROW(softmax_grad)

static bool claims(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->in[c->n_in - 1]) && rows_serve(&c->out[0]);
}

#define KERNEL(name) \
 LEVEL_KERNEL(name, rows, .claims = claims, .scratch = scratch_rows, .run = run_##name)

KERNEL(softmax);
KERNEL(log_softmax);
KERNEL(softmax_grad);
