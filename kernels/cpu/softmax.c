/* kernels/cpu/softmax.c - softmax of rows, its logarithm, and its gradient */

#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

#define ROOMS 3 /* of a row each */

static float *room(const struct kernel_call *c, int which)
{
	return (float *)c->scratch +
	       ((size_t)c->part * ROOMS + (size_t)which) * rows_room(rows_length(&c->in[0]));
}

static size_t scratch_rows(const struct kernel_call *c)
{
	return (size_t)c->parts * ROOMS * rows_room(rows_length(&c->in[0])) * sizeof(float);
}

#define CHAINS 4 /* sums side by side, so that none waits for itself */

static float most_lane(vf32 v)
{
	float lane[SIMD_WIDTH], most;

	simd_store(lane, v);
	most = lane[0];
	for (int i = 1; i < SIMD_WIDTH; i++)
		most = lane[i] > most ? lane[i] : most;
	return most;
}

/* The largest; NaN when one is. */
static float row_most(const float *x, size_t n)
{
	vf32 most[CHAINS];
	vi32 bad = { 0 };
	size_t i = 0;

	for (int j = 0; j < CHAINS; j++)
		most[j] = simd_f32(-INFINITY);
	for (; i + CHAINS * SIMD_WIDTH <= n; i += CHAINS * SIMD_WIDTH)
		SIMD_UNROLL
	for (size_t j = 0; j < CHAINS; j++) {
		vf32 v = simd_load(x + i + j * SIMD_WIDTH);

		bad |= v != v;
		most[j] = simd_max(v, most[j]);
	}
	for (; i < n; i += SIMD_WIDTH) {
		vf32 v = vector_some(DTYPE_F32, (const uint8_t *)(x + i), n - i, -INFINITY);

		bad |= v != v;
		most[0] = simd_max(v, most[0]);
	}
	if (simd_any(bad))
		return NAN;
	return most_lane(simd_max(simd_max(most[0], most[1]), simd_max(most[2], most[3])));
}

/* y = e^(x - most), and their sum; what lies past the end counts nothing: there x is -inf. */
static float row_exp(const float *x, float *y, size_t n, float most)
{
	vf32 sum[2] = { { 0 } };
	size_t i = 0;

	for (; i + 2 * SIMD_WIDTH <= n; i += 2 * SIMD_WIDTH)
		SIMD_UNROLL
	for (size_t j = 0; j < 2; j++) {
		vf32 e = simd_exp_below(simd_load(x + i + j * SIMD_WIDTH) - simd_f32(most));

		sum[j] += e;
		simd_store(y + i + j * SIMD_WIDTH, e);
	}
	for (; i < n; i += SIMD_WIDTH) {
		vf32 e = simd_exp_below(
			vector_some(DTYPE_F32, (const uint8_t *)(x + i), n - i, -INFINITY) -
			simd_f32(most));

		sum[0] += e;
		rows_store(y + i, e, n - i);
	}
	return rows_sum(sum[0] + sum[1]);
}

/* Row I of T = (X - LESS) FACTOR, element by element where FACTORS is not NULL. */
SIMD_INLINE void row_put(const struct kernel_tensor *t, size_t i, const float *x, float less,
			 const float *factors, float factor)
{
	uint8_t *out = (uint8_t *)t->data + operand_bytes(t->dtype, rows_at(t, i));
	size_t n = rows_length(t), j = 0;
	bool stream = vector_streams(t) && vector_aligned(out);
	vf32 f[2] = { simd_f32(factor), simd_f32(factor) }, l = simd_f32(less);
	float rest[VECTOR_TWO];

	for (; j + VECTOR_TWO <= n; j += VECTOR_TWO) {
		for (size_t k = 0; k < 2 && factors; k++)
			f[k] = simd_load(factors + j + k * SIMD_WIDTH);
		vector_store_two(t->dtype, out + operand_bytes(t->dtype, (ptrdiff_t)j),
				 (simd_load(x + j) - l) * f[0],
				 (simd_load(x + j + SIMD_WIDTH) - l) * f[1], stream);
	}
	for (size_t k = 0; k < n - j; k++)
		rest[k] = (x[j + k] - less) * (factors ? factors[j + k] : factor);
	operand_store(t->dtype, rest, out + operand_bytes(t->dtype, (ptrdiff_t)j), n - j);
}

static float row_dot(const float *x, const float *y, size_t n)
{
	vf32 sum[CHAINS] = { { 0 } };
	size_t i = 0;

	for (; i + CHAINS * SIMD_WIDTH <= n; i += CHAINS * SIMD_WIDTH)
		SIMD_UNROLL
	for (size_t j = 0; j < CHAINS; j++)
		sum[j] = simd_fma(simd_load(x + i + j * SIMD_WIDTH),
				  simd_load(y + i + j * SIMD_WIDTH), sum[j]);
	for (; i < n; i += SIMD_WIDTH)
		sum[0] = simd_fma(rows_load(x + i, n - i), rows_load(y + i, n - i), sum[0]);
	return rows_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static void run_softmax(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *x = rows_get(&c->in[0], i, room(c, 0));
		float *y = room(c, 1), most = row_most(x, n), factor = 0;

		if (most == -INFINITY)
			memset(y, 0, n * sizeof(*y));
		else
			factor = 1 / row_exp(x, y, n, most);
		row_put(&c->out[0], i, y, 0, NULL, factor);
	}
	simd_stream_end();
}

static void run_log_softmax(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *x = rows_get(&c->in[0], i, room(c, 0));
		float *y = rows_new(&c->out[0], i, room(c, 1)), most = row_most(x, n);
		float lse = logf(row_exp(x, room(c, 2), n, most));

		for (size_t j = 0; j < n; j++)
			y[j] = (x[j] - most) - lse;
		rows_put(&c->out[0], i, y);
	}
}

/* y, dy: y (dy - sum(y dy)) */
static void run_softmax_grad(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *y = rows_get(&c->in[0], i, room(c, 0));
		const float *dy = rows_get(&c->in[1], i, room(c, 1));

		row_put(&c->out[0], i, dy, row_dot(y, dy, n), y, 0);
	}
	simd_stream_end();
}

static bool claims(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->in[c->n_in - 1]) && rows_serve(&c->out[0]);
}

#define KERNEL(name) \
 LEVEL_KERNEL(name, rows, .claims = claims, .scratch = scratch_rows, .run = run_##name)

KERNEL(softmax);
KERNEL(log_softmax);
KERNEL(softmax_grad);
