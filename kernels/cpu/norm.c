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
#include "kernels/cpu/vector.h"

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

#define CHAINS 4 /* sums side by side, so that none waits for itself */

static float sum_chains(const vf32 *sum)
{
	return rows_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* STEP(J, V) for each vector V of N elements of X, to chain J; past the end V is REST. */
#define EACH_VECTOR(x, n, rest, STEP)                                            \
 do {                                                                            \
  size_t at_ = 0;                                                                \
  for (; at_ + CHAINS * SIMD_WIDTH <= (n); at_ += CHAINS * SIMD_WIDTH) {         \
   SIMD_UNROLL                                                                   \
   for (size_t j_ = 0; j_ < CHAINS; j_++)                                        \
    STEP(j_, simd_load((x) + at_ + j_ * SIMD_WIDTH));                            \
  }                                                                              \
  for (; at_ < (n); at_ += SIMD_WIDTH)                                           \
   STEP(0, vector_some(DTYPE_F32, (const uint8_t *)((x) + at_), (n)-at_, rest)); \
 } while (0)

static float row_mean(const float *x, size_t n)
{
	vf32 sum[CHAINS] = { { 0 } };

#define ADD(j, v) sum[j] += v
	EACH_VECTOR(x, n, 0, ADD);
#undef ADD
	return sum_chains(sum) / (float)n;
}

/* The mean of (x - m)^2. */
static float row_square(const float *x, size_t n, float mean)
{
	vf32 sum[CHAINS] = { { 0 } }, m = simd_f32(mean);

#define ADD(j, v)                    \
 do {                                \
  vf32 d_ = (v)-m;                   \
  sum[j] = simd_fma(d_, d_, sum[j]); \
 } while (0)
	EACH_VECTOR(x, n, mean, ADD);
#undef ADD
	return sum_chains(sum) / (float)n;
}

static struct moments row_moments(const float *x, size_t n, bool centred, double eps)
{
	struct moments m = { .mean = centred ? row_mean(x, n) : 0 };

	m.scale = 1 / sqrtf(row_square(x, n, m.mean) + (float)eps);
	return m;
}

/* --- forward --- */

SIMD_INLINE void normalise(const float *x, float *y, size_t n, struct moments m, const float *w,
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

		struct moments m = row_moments(x, n, centred, a->eps);

		if (w && !b)
			normalise(x, y, n, m, w, (float)a->offset, NULL);
		else
			normalise(x, y, n, m, w, (float)a->offset, b);
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

struct sums {
	vf32 squares[2], g[2], gx[2];
};

/* What a vector X - M with the slope G adds. */
SIMD_INLINE void add_sums(struct sums *s, int chain, vf32 d, vf32 g)
{
	s->squares[chain] = simd_fma(d, d, s->squares[chain]);
	s->g[chain] += g;
	s->gx[chain] = simd_fma(g, d, s->gx[chain]);
}

SIMD_INLINE vf32 slope_at(const float *dy, const float *w, float offset, size_t left)
{
	vf32 g = rows_load(dy, left); /* 0 past the end */

	return w ? g * (rows_load(w, left) + simd_f32(offset)) : g;
}

struct means {
	float g, gx; /* of g, of g x^ */
};

/* Moments and means in one pass, after that for the mean of what is centred. */
SIMD_INLINE struct means row_means(const float *x, const float *dy, size_t n, const float *w,
				   float offset, double eps, struct moments *m)
{
	struct sums s = { .squares = { { 0 } } };
	vf32 mean = simd_f32(m->mean);
	size_t i = 0;

	for (; i + 2 * SIMD_WIDTH <= n; i += 2 * SIMD_WIDTH)
		SIMD_UNROLL
	for (int j = 0; j < 2; j++) {
		size_t at = i + (size_t)j * SIMD_WIDTH;

		add_sums(&s, j, simd_load(x + at) - mean,
			 slope_at(dy + at, w ? w + at : NULL, offset, SIMD_WIDTH));
	}
	for (; i < n; i += SIMD_WIDTH)
		add_sums(&s, 0,
			 vector_some(DTYPE_F32, (const uint8_t *)(x + i), n - i, m->mean) - mean,
			 slope_at(dy + i, w ? w + i : NULL, offset, n - i));
	m->scale = 1 / sqrtf(rows_sum(s.squares[0] + s.squares[1]) / (float)n + (float)eps);
	return (struct means){ rows_sum(s.g[0] + s.g[1]) / (float)n,
			       m->scale * rows_sum(s.gx[0] + s.gx[1]) / (float)n };
}

/* dx; and dw += dy x^, db += dy where they are there. */
SIMD_INLINE void row_backward(const float *x, const float *dy, float *dx, size_t n,
			      struct moments m, struct means s, const float *w, float offset,
			      float *dw, float *db)
{
	vf32 mean = simd_f32(m.mean), scale = simd_f32(m.scale);
	vf32 less = simd_f32(s.g), by_x = simd_f32(s.gx);

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		size_t left = n - i;
		vf32 d = rows_load(dy + i, left), v = (rows_load(x + i, left) - mean) * scale;
		vf32 g = slope_at(dy + i, w ? w + i : NULL, offset, left);

		if (dw)
			rows_store(dw + i, simd_fma(d, v, rows_load(dw + i, left)), left);
		if (db)
			rows_store(db + i, rows_load(db + i, left) + d, left);
		rows_store(dx + i, scale * (g - less - v * by_x), left);
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
	float *dw = c->n_out > 1 ? piece_sums(c, piece, 0) : NULL, offset = (float)a->offset;
	float *db = c->n_out > 2 ? piece_sums(c, piece, 1) : NULL;

	for (int i = 0; i < c->n_out - 1; i++)
		memset(piece_sums(c, piece, i), 0, n * sizeof(float));
	for (size_t i = piece * PIECE; i < last; i++) {
		const float *x = rows_get(&c->in[0], i, room(c, 0));
		const float *dy = rows_get(&c->in[1], i, room(c, 1));
		float *dx = rows_new(&c->out[0], i, room(c, 2));
		struct moments m = { .mean = centred ? row_mean(x, n) : 0 };
		struct means s;

		s = w ? row_means(x, dy, n, w, offset, a->eps, &m)
		      : row_means(x, dy, n, NULL, 0, a->eps, &m);
		if (!centred)
			s.g = 0;
		if (w && dw && !db)
			row_backward(x, dy, dx, n, m, s, w, offset, dw, NULL);
		else if (w && dw)
			row_backward(x, dy, dx, n, m, s, w, offset, dw, db);
		else
			row_backward(x, dy, dx, n, m, s, w, offset, dw, db);
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
