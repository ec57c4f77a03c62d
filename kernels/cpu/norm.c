/*
 * kernels/cpu/norm.c - root-mean-square and layer normalisation, and their gradients
 *
 * With x^ = (x - m) r and g = dy w: dx = r (g - mean(g) - x^ mean(g x^)), without the mean for rms. Gradients of weights are sums
 * over rows: of pieces of PIECE rows in phase 0, of the pieces in their order in phase 1.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"

#define PIECE 64
#define ROOMS 4 /* rows of scratch a part: x, dy, result, weight */

static bool has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

static float *room(const struct kernel_call *c, int which)
{
	return (float *)c->scratch +
	       ((size_t)c->part * ROOMS + (size_t)which) * rows_room(rows_length(&c->in[0]));
}

static size_t scratch_rows(const struct kernel_call *c)
{
	return (size_t)c->parts * ROOMS * rows_room(rows_length(&c->in[0])) * sizeof(float);
}

/* --- what a row is normalised by --- */

struct moments {
	float mean, scale;
};

static float row_mean(const float *x, size_t n)
{
	vf32 sum = { 0 };

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		sum += rows_load(x + i, n - i);
	return rows_sum(sum) / (float)n;
}

/* The mean of (x - m)^2; lanes past the end do not count. */
static float row_square(const float *x, size_t n, float mean)
{
	vf32 sum = { 0 }, m = simd_f32(mean);
	size_t whole = n / SIMD_WIDTH * SIMD_WIDTH;
	float rest = 0;

	for (size_t i = 0; i < whole; i += SIMD_WIDTH) {
		vf32 d = simd_load(x + i) - m;

		sum = simd_fma(d, d, sum);
	}
	for (size_t i = whole; i < n; i++)
		rest += (x[i] - mean) * (x[i] - mean);
	return (rows_sum(sum) + rest) / (float)n;
}

static struct moments row_moments(const float *x, size_t n, bool centred, double eps)
{
	struct moments m = { .mean = centred ? row_mean(x, n) : 0 };

	m.scale = 1 / sqrtf(row_square(x, n, m.mean) + (float)eps);
	return m;
}

/* --- forward --- */

static void normalise(const float *x, float *y, size_t n, struct moments m, const float *w,
		      float offset, const float *b)
{
	vf32 mean = simd_f32(m.mean), scale = simd_f32(m.scale), more = simd_f32(offset);

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 v = (rows_load(x + i, n - i) - mean) * scale;

		if (w)
			v = v * (rows_load(w + i, n - i) + more);
		if (b)
			v = v + rows_load(b + i, n - i);
		rows_store(y + i, v, n - i);
	}
}

static void forward(const struct kernel_call *c, bool centred)
{
	const struct norm_attributes *a = c->attributes;
	size_t n = rows_length(&c->in[0]), from, to;
	const float *w = has(c, 1) ? rows_vector(&c->in[1], room(c, 1)) : NULL;
	const float *b = has(c, 2) ? rows_vector(&c->in[2], room(c, 3)) : NULL;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const float *x = rows_get(&c->in[0], i, room(c, 0));
		float *y = rows_new(&c->out[0], i, room(c, 2));

		normalise(x, y, n, row_moments(x, n, centred, a->eps), w, (float)a->offset, b);
		rows_put(&c->out[0], i, y);
	}
}

static void run_rms_norm(const struct kernel_call *c)
{
	forward(c, false);
}

static void run_layer_norm(const struct kernel_call *c)
{
	forward(c, true);
}

/* --- backward: x, dy, w ? --- */

struct means {
	float g, gx;
};

static struct means row_means(const float *x, const float *dy, size_t n, struct moments m,
			      const float *w, float offset)
{
	vf32 g_sum = { 0 }, gx_sum = { 0 };

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 g = rows_load(dy + i, n - i);
		vf32 v = (rows_load(x + i, n - i) - simd_f32(m.mean)) * simd_f32(m.scale);

		if (w)
			g = g * (rows_load(w + i, n - i) + simd_f32(offset));
		g_sum += g;
		gx_sum = simd_fma(g, v, gx_sum); /* g is 0 past the end */
	}
	return (struct means){ rows_sum(g_sum) / (float)n, rows_sum(gx_sum) / (float)n };
}

static void row_backward(const float *x, const float *dy, float *dx, size_t n, struct moments m,
			 struct means s, const float *w, float offset)
{
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 g = rows_load(dy + i, n - i);
		vf32 v = (rows_load(x + i, n - i) - simd_f32(m.mean)) * simd_f32(m.scale);

		if (w)
			g = g * (rows_load(w + i, n - i) + simd_f32(offset));
		rows_store(dx + i, simd_f32(m.scale) * (g - simd_f32(s.g) - v * simd_f32(s.gx)),
			   n - i);
	}
}

/* dw += dy x^, and db += dy when it is there. */
static void add_weights(const float *x, const float *dy, size_t n, struct moments m, float *dw,
			float *db)
{
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 d = rows_load(dy + i, n - i);
		vf32 v = (rows_load(x + i, n - i) - simd_f32(m.mean)) * simd_f32(m.scale);

		rows_store(dw + i, simd_fma(d, v, rows_load(dw + i, n - i)), n - i);
		if (db)
			rows_store(db + i, rows_load(db + i, n - i) + d, n - i);
	}
}

static size_t pieces(const struct kernel_call *c)
{
	return (rows_count(&c->in[0]) + PIECE - 1) / PIECE;
}

/* The sums of piece I for result WHICH, 0 for weights. */
static float *piece_sums(const struct kernel_call *c, size_t i, int which)
{
	size_t length = rows_room(rows_length(&c->in[0]));

	return (float *)c->scratch +
	       ((size_t)c->parts * ROOMS + i * (size_t)(c->n_out - 1) + (size_t)which) * length;
}

static size_t scratch_backward(const struct kernel_call *c)
{
	return scratch_rows(c) + pieces(c) * (size_t)(c->n_out - 1) *
					 rows_room(rows_length(&c->in[0])) * sizeof(float);
}

static void backward_piece(const struct kernel_call *c, size_t piece, bool centred, const float *w)
{
	const struct norm_attributes *a = c->attributes;
	size_t n = rows_length(&c->in[0]), rows = rows_count(&c->in[0]);
	size_t last = (piece + 1) * PIECE < rows ? (piece + 1) * PIECE : rows;
	float *dw = c->n_out > 1 ? piece_sums(c, piece, 0) : NULL;
	float *db = c->n_out > 2 ? piece_sums(c, piece, 1) : NULL;

	for (int i = 0; i < c->n_out - 1; i++)
		memset(piece_sums(c, piece, i), 0, n * sizeof(float));
	for (size_t i = piece * PIECE; i < last; i++) {
		const float *x = rows_get(&c->in[0], i, room(c, 0));
		const float *dy = rows_get(&c->in[1], i, room(c, 1));
		float *dx = rows_new(&c->out[0], i, room(c, 2));
		struct moments m = row_moments(x, n, centred, a->eps);
		struct means s = row_means(x, dy, n, m, w, (float)a->offset);

		if (dw)
			add_weights(x, dy, n, m, dw, db);
		if (!centred)
			s.g = 0;
		row_backward(x, dy, dx, n, m, s, w, (float)a->offset);
		rows_put(&c->out[0], i, dx);
	}
}

static void add_pieces(const struct kernel_call *c)
{
	size_t n = rows_length(&c->in[0]), from, to;

	kernel_share(n, SIMD_WIDTH, c->part, c->parts, &from, &to);
	for (int which = 0; which < c->n_out - 1; which++) {
		float *sum = c->out[which + 1].data;

		for (size_t j = from; j < to; j++)
			sum[j] = 0;
		for (size_t i = 0; i < pieces(c); i++) {
			const float *more = piece_sums(c, i, which);

			for (size_t j = from; j < to; j++)
				sum[j] += more[j];
		}
	}
}

static void backward(const struct kernel_call *c, bool centred)
{
	const float *w = has(c, 2) ? rows_vector(&c->in[2], room(c, 3)) : NULL;
	size_t from, to;

	if (c->phase == 1) {
		add_pieces(c);
		return;
	}
	kernel_share(pieces(c), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		backward_piece(c, i, centred, w);
}

static void run_rms_norm_grad(const struct kernel_call *c)
{
	backward(c, false);
}

static void run_layer_norm_grad(const struct kernel_call *c)
{
	backward(c, true);
}

/* --- what is claimed --- */

static bool vectors_serve(const struct kernel_call *c, int from)
{
	for (int i = from; i < c->n_in; i++)
		if (c->in[i].n_axes && !(c->in[i].n_axes == 1 && rows_serve(&c->in[i])))
			return false;
	return true;
}

static bool claims_forward(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->out[0]) && vectors_serve(c, 1);
}

static bool claims_backward(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->in[1]) && rows_serve(&c->out[0]) &&
	       vectors_serve(c, 2);
}

#define KERNEL(name, claim, room_needed, n_phases) \
 const struct kernel LEVEL_NAME(name##_rows);      \
 const struct kernel LEVEL_NAME(name##_rows) = {   \
	 .op = #name,                              \
	 .variant = "rows",                        \
	 .claims = claim,                          \
	 .scratch = room_needed,                   \
	 .phases = n_phases,                       \
	 .run = run_##name,                        \
 }

KERNEL(rms_norm, claims_forward, scratch_rows, 1);
KERNEL(layer_norm, claims_forward, scratch_rows, 1);
KERNEL(rms_norm_grad, claims_backward, scratch_backward, 2);
KERNEL(layer_norm_grad, claims_backward, scratch_backward, 2);
