/* kernels/cpu/norm.c - root-mean-square and layer normalisation of rows */

#include "kernels/cpu/level.h"

#define ROOMS 5 /* x, unused, result, weight, bias */
#include "kernels/cpu/norm_row.h"

SIMD_INLINE struct moments row_moments(enum dtype t, const uint8_t *x, size_t n, bool centred,
				       double eps)
{
	struct moments m = { .mean = centred ? row_mean(t, x, n) : 0 };

	m.scale = 1 / sqrtf(row_square(t, x, n, centred, m.mean) + (float)eps);
	return m;
}

/* What a row becomes: (x - mean) scale w + b, where NULL, as a constant or not, leaves its part out. */
struct affine {
	vf32 mean, scale;
	const float *w, *b;
	bool centred;
};

/* V at element I of a row of which LEFT are there. */
SIMD_INLINE vf32 normal(const struct affine *a, vf32 v, size_t i, size_t left)
{
	v = (a->centred ? v - a->mean : v) * a->scale;
	if (a->w)
		v = v * rows_load(a->w + i, left);
	if (a->b)
		v = v + rows_load(a->b + i, left);
	return v;
}

SIMD_INLINE void pair(enum dtype t, const uint8_t *x, uint8_t *y, size_t i, const struct affine *a,
		      bool stream)
{
	vf32 v[2];

	vector_split(t, row_at(t, x, i), v);
	v[0] = normal(a, v[0], i, SIMD_WIDTH);
	v[1] = normal(a, v[1], i + SIMD_WIDTH, SIMD_WIDTH);
	vector_join_bare(t, y + operand_bytes(t, (ptrdiff_t)i), v, stream);
}

SIMD_INLINE void normalise(enum dtype t, const uint8_t *x, uint8_t *y, size_t n, struct affine a,
			   const uint8_t *next, bool stream)
{
	size_t i = 0;

	for (; i + GROUP <= n; i += GROUP) {
		ask(next, t, i, GROUP);
		SIMD_UNROLL
		for (size_t j = 0; j < GROUP; j += VECTOR_TWO)
			pair(t, x, y, i + j, &a, stream);
	}
	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO)
		pair(t, x, y, i, &a, stream);
	for (; i < n; i += SIMD_WIDTH) {
		size_t left = n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH;
		float some[SIMD_WIDTH];

		simd_store(some, normal(&a, row_rest(t, x, i, n, 0), i, left));
		operand_store(t, some, y + operand_bytes(t, (ptrdiff_t)i), left);
	}
}

SIMD_INLINE void forward_rows(const struct kernel_call *c, enum dtype t, bool centred,
			      const float *w, const float *b, size_t from, size_t to)
{
	const struct norm_attributes *attributes = c->attributes;
	size_t n = rows_length(&c->in[0]);
	bool stream = t == c->out[0].dtype && vector_streams(&c->out[0]);

	for (size_t i = from; i < to; i++) {
		const uint8_t *x = row_in(c, t, 0, i);
		const uint8_t *next = next_row(c, 0, i, to);
		uint8_t *y = row_out(c, t, i);
		struct moments m = row_moments(t, x, n, centred, attributes->eps);
		struct affine a = { simd_f32(m.mean), simd_f32(m.scale), w, b, centred };

		if (stream && vector_aligned(y))
			normalise(t, x, y, n, a, next, true);
		else
			normalise(t, x, y, n, a, next, false);
		row_put(c, t, i, y);
	}
	if (stream)
		simd_stream_end();
}

/* Weights are there as a rule, a bias where rows are centred. */
SIMD_INLINE void forward_of(const struct kernel_call *c, enum dtype t, bool centred)
{
	const struct norm_attributes *attributes = c->attributes;
	const float *w, *b;
	size_t from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	if (from == to)
		return;
	w = weights(c, 1, t, (float)attributes->offset, room(c, 3));
	b = weights(c, 2, t, 0, room(c, 4));
	if (w && !centred)
		forward_rows(c, t, false, w, NULL, from, to);
	else if (w && b)
		forward_rows(c, t, centred, w, b, from, to);
	else
		forward_rows(c, t, centred, w, b, from, to);
}

SIMD_INLINE void forward(const struct kernel_call *c, bool centred)
{
	if (c->in[0].dtype == DTYPE_BF16 && c->out[0].dtype == DTYPE_BF16)
		forward_of(c, DTYPE_BF16, centred);
	else
		forward_of(c, DTYPE_F32, centred);
}

static void run_rms_norm(const struct kernel_call *c)
{
	forward(c, false);
}

static void run_layer_norm(const struct kernel_call *c)
{
	forward(c, true);
}

static bool claims(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->out[0]) && weights_serve(c, 1);
}

#define KERNEL(name) \
 LEVEL_KERNEL(name, rows, .claims = claims, .scratch = scratch_rows, .run = run_##name)

KERNEL(rms_norm);
KERNEL(layer_norm);
