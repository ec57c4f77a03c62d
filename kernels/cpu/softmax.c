/* kernels/cpu/softmax.c - softmax of rows, its logarithm, and its gradient */

#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

#define ROOMS 3

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

static void row_scale(float *y, size_t n, float factor)
{
	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		rows_store(y + i, rows_load(y + i, n - i) * simd_f32(factor), n - i);
}

static void run_softmax(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *x = rows_get(&c->in[0], i, room(c, 0));
		float *y = rows_new(&c->out[0], i, room(c, 1)), most = row_most(x, n);

		if (most == -INFINITY)
			memset(y, 0, n * sizeof(*y));
		else
			row_scale(y, n, 1 / row_exp(x, y, n, most));
		rows_put(&c->out[0], i, y);
	}
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
		float *dx = rows_new(&c->out[0], i, room(c, 2));
		vf32 sum = { 0 };
		float dot;

		for (size_t j = 0; j < n; j += SIMD_WIDTH)
			sum = simd_fma(rows_load(y + j, n - j), rows_load(dy + j, n - j), sum);
		dot = rows_sum(sum);
		for (size_t j = 0; j < n; j += SIMD_WIDTH)
			rows_store(dx + j,
				   rows_load(y + j, n - j) *
					   (rows_load(dy + j, n - j) - simd_f32(dot)),
				   n - j);
		rows_put(&c->out[0], i, dx);
	}
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
