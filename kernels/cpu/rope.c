/*
 * kernels/cpu/rope.c - pairs of elements of each head turned by their position
 *
 * Sines and cosines of a row's angles are computed once in double for all its heads.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"

/* Cosines, sines; and a head in and out. */
static size_t room_size(const struct kernel_call *c)
{
	return 2 * rows_room(c->in[2].shape[0]) + 2 * rows_room(c->in[0].shape[2]);
}

static size_t scratch(const struct kernel_call *c)
{
	return (size_t)c->parts * room_size(c) * sizeof(float);
}

static int32_t integer(const struct kernel_tensor *t, ptrdiff_t at)
{
	return ((const int32_t *)t->data)[at];
}

static void turns(const struct kernel_call *c, size_t row, float *cosines, float *sines)
{
	const struct rope_attributes *a = c->attributes;
	const struct kernel_tensor *positions = &c->in[1], *frequencies = &c->in[2];
	double scale = a->scale == 0 ? 1 : a->scale;

	for (size_t i = 0; i < frequencies->shape[0]; i++) {
		ptrdiff_t axis =
			c->n_in > 3 ? integer(&c->in[3], (ptrdiff_t)i * c->in[3].stride[0]) : 0;
		double position = integer(positions, (ptrdiff_t)row * positions->stride[0] +
							     axis * positions->stride[1]);
		double angle =
			position *
			(double)((const float *)
					 frequencies->data)[(ptrdiff_t)i * frequencies->stride[0]];

		cosines[i] = (float)(cos(angle) * scale);
		sines[i] = (float)((a->inverse ? -sin(angle) : sin(angle)) * scale);
	}
}

/* (x, y) -> (x cos - y sin, y cos + x sin) */
static void turn_halves(const float *x, float *y, size_t pairs, const float *cosines,
			const float *sines)
{
	for (size_t i = 0; i < pairs; i += SIMD_WIDTH) {
		size_t left = pairs - i;
		vf32 u = rows_load(x + i, left), v = rows_load(x + pairs + i, left);
		vf32 co = rows_load(cosines + i, left), si = rows_load(sines + i, left);

		rows_store(y + i, simd_fma(u, co, -(v * si)), left);
		rows_store(y + pairs + i, simd_fma(v, co, u * si), left);
	}
}

static void turn_neighbours(const float *x, float *y, size_t pairs, const float *cosines,
			    const float *sines)
{
	for (size_t i = 0; i < pairs; i++) {
		float u = x[2 * i], v = x[2 * i + 1];

		y[2 * i] = u * cosines[i] - v * sines[i];
		y[2 * i + 1] = v * cosines[i] + u * sines[i];
	}
}

static void run_rope(const struct kernel_call *c)
{
	const struct rope_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];
	size_t pairs = c->in[2].shape[0], dim = x->shape[2], heads = x->shape[1], from, to;
	float *cosines = (float *)c->scratch + (size_t)c->part * room_size(c);
	float *sines = cosines + rows_room(pairs), *in = sines + rows_room(pairs);
	float *made = in + rows_room(dim);

	kernel_share(x->shape[0], 1, c->part, c->parts, &from, &to);
	for (size_t row = from; row < to; row++) {
		turns(c, row, cosines, sines);
		for (size_t head = 0; head < heads; head++) {
			const float *h = rows_get(x, row * heads + head, in);
			float *y = rows_new(out, row * heads + head, made);

			if (a->interleaved)
				turn_neighbours(h, y, pairs, cosines, sines);
			else
				turn_halves(h, y, pairs, cosines, sines);
			memcpy(y + 2 * pairs, h + 2 * pairs, (dim - 2 * pairs) * sizeof(*y));
			rows_put(out, row * heads + head, y);
		}
	}
}

static bool claims(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->out[0]) && c->in[2].dtype == DTYPE_F32;
}

const struct kernel LEVEL_NAME(rope_rows);
const struct kernel LEVEL_NAME(rope_rows) = {
	.op = "rope",
	.variant = "rows",
	.claims = claims,
	.scratch = scratch,
	.run = run_rope,
};
