/* kernels/cpu/softmax.c - softmax of rows, its logarithm, and its gradient */

#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"

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

/* The largest; NaN when one is. */
static float row_most(const float *x, size_t n)
{
	float most = -INFINITY;

	for (size_t i = 0; i < n; i++)
		most = x[i] > most || x[i] != x[i] ? x[i] : most;
	for (size_t i = 0; i < n && most == most; i++)
		if (x[i] != x[i])
			most = x[i];
	return most;
}

/* y = e^(x - most), and their sum; what lies past the end counts nothing. */
static float row_exp(const float *x, float *y, size_t n, float most)
{
	vf32 sum = { 0 };

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		float lane[SIMD_WIDTH];
		vf32 e = simd_exp(rows_load(x + i, n - i) - simd_f32(most));

		if (n - i < SIMD_WIDTH) {
			simd_store(lane, e);
			e = rows_load(lane, n - i);
		}
		sum += e;
		rows_store(y + i, e, n - i);
	}
	return rows_sum(sum);
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

#define KERNEL(name)                             \
 const struct kernel LEVEL_NAME(name##_rows);    \
 const struct kernel LEVEL_NAME(name##_rows) = { \
	 .op = #name,                            \
	 .variant = "rows",                      \
	 .claims = claims,                       \
	 .scratch = scratch_rows,                \
	 .run = run_##name,                      \
 }

KERNEL(softmax);
KERNEL(log_softmax);
KERNEL(softmax_grad);
