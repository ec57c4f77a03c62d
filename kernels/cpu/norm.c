/*
 * kernels/cpu/norm.c - root-mean-square and layer normalisation, and their gradients
 *
 * With x^ = (x - m) r and g = dy w: dx = r (g - mean(g) - x^ mean(g x^)), without the mean for rms. Gradients of weights are sums
 * over rows: of pieces of PIECE rows in phase 0, of the pieces in their order in phase 1.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/vector.h"

#define ROOMS 4 /* x, dy, result, weight */
#include "kernels/cpu/row_rooms.h"

#define PIECE 64

static bool has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

/*
 * Rows are bf16 where they lie when all are; else f32, where they lie or in rooms. T, which of both, is a constant in what follows.
 */
static enum dtype rows_of(const struct kernel_call *c, bool backward)
{
	bool brain = c->in[0].dtype == DTYPE_BF16 && c->out[0].dtype == DTYPE_BF16 &&
		     (!backward || c->in[1].dtype == DTYPE_BF16);

	return brain ? DTYPE_BF16 : DTYPE_F32;
}

/*
 * The row that is worked on next, which is asked for while this one is written: what a row is normalised by is known at its end only, and
 * until then no other would be on its way. NULL: rows that would not stay in L1.
 */
#define NEAR_BYTES 8192

static const uint8_t *next_row(const struct kernel_call *c, int operand, size_t i, size_t end)
{
	const struct kernel_tensor *x = &c->in[operand];
	size_t bytes = operand_bytes(x->dtype, (ptrdiff_t)rows_length(x));

	return i + 1 < end && bytes <= NEAR_BYTES ? operand_at(x, rows_at(x, i + 1)) : NULL;
}

SIMD_INLINE void ask(const uint8_t *row, enum dtype t, size_t element)
{
	if (row)
		__builtin_prefetch(row + operand_bytes(t, (ptrdiff_t)element), 0, 3);
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

SIMD_INLINE vf32 load(enum dtype t, const uint8_t *x, size_t element)
{
	return vector_load(t, x + operand_bytes(t, (ptrdiff_t)element));
}

/* The same at the end of a row: LEFT elements are there, the others are REST. */
SIMD_INLINE vf32 load_some(enum dtype t, const uint8_t *x, size_t element, size_t left, float rest)
{
	return vector_some(t, x + operand_bytes(t, (ptrdiff_t)element), left, rest);
}

/* STEP(J, V) for each vector V of N elements of X, in no order (vector_split), to chain J; past the end V is REST. */
#define EACH_VECTOR(t, x, n, rest, STEP)                                                  \
 do {                                                                                     \
  size_t at_ = 0;                                                                         \
  for (; at_ + CHAINS * SIMD_WIDTH <= (n); at_ += CHAINS * SIMD_WIDTH) {                  \
   vf32 v_[CHAINS];                                                                       \
   SIMD_UNROLL                                                                            \
   for (size_t j_ = 0; j_ < CHAINS; j_ += 2)                                              \
    vector_split(t, (x) + operand_bytes(t, (ptrdiff_t)(at_ + j_ * SIMD_WIDTH)), v_ + j_); \
   SIMD_UNROLL                                                                            \
   for (size_t j_ = 0; j_ < CHAINS; j_++)                                                 \
    STEP(j_, v_[j_]);                                                                     \
  }                                                                                       \
  for (; at_ < (n); at_ += SIMD_WIDTH)                                                    \
   STEP(0, load_some(t, x, at_, (n)-at_, rest));                                          \
 } while (0)

SIMD_INLINE float row_mean(enum dtype t, const uint8_t *x, size_t n)
{
	vf32 sum[CHAINS] = { { 0 } };

#define ADD(j, v) sum[j] += v
	EACH_VECTOR(t, x, n, 0, ADD);
#undef ADD
	return sum_chains(sum) / (float)n;
}

/* The mean of (x - m)^2. */
SIMD_INLINE float row_square(enum dtype t, const uint8_t *x, size_t n, float mean)
{
	vf32 sum[CHAINS] = { { 0 } }, m = simd_f32(mean);

#define ADD(j, v)                    \
 do {                                \
  vf32 d_ = (v)-m;                   \
  sum[j] = simd_fma(d_, d_, sum[j]); \
 } while (0)
	EACH_VECTOR(t, x, n, mean, ADD);
#undef ADD
	return sum_chains(sum) / (float)n;
}

SIMD_INLINE struct moments row_moments(enum dtype t, const uint8_t *x, size_t n, bool centred,
				       double eps)
{
	struct moments m = { .mean = centred ? row_mean(t, x, n) : 0 };

	m.scale = 1 / sqrtf(row_square(t, x, n, m.mean) + (float)eps);
	return m;
}

/* --- forward --- */

struct affine {
	const float *w, *b; /* NULL: none */
	float offset;
};

/* V at element I of a row of which LEFT are there. */
SIMD_INLINE vf32 normal(vf32 v, vf32 mean, vf32 scale, const struct affine *a, size_t i,
			size_t left)
{
	v = (v - mean) * scale;
	if (a->w)
		v = v * (rows_load(a->w + i, left) + simd_f32(a->offset));
	if (a->b)
		v = v + rows_load(a->b + i, left);
	return v;
}

SIMD_INLINE void normalise(enum dtype t, const uint8_t *x, uint8_t *y, size_t n, struct moments m,
			   struct affine a, const uint8_t *next, bool stream)
{
	vf32 mean = simd_f32(m.mean), scale = simd_f32(m.scale);
	size_t i = 0;

	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		vf32 v[2];

		ask(next, t, i);
		SIMD_UNROLL
		for (size_t j = 0; j < 2; j++)
			v[j] = normal(load(t, x, i + j * SIMD_WIDTH), mean, scale, &a,
				      i + j * SIMD_WIDTH, SIMD_WIDTH);
		vector_store_two(t, y + operand_bytes(t, (ptrdiff_t)i), v[0], v[1], stream);
	}
	for (; i < n; i += SIMD_WIDTH) {
		size_t left = n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH;
		float some[SIMD_WIDTH];

		simd_store(some, normal(load_some(t, x, i, left, 0), mean, scale, &a, i, left));
		operand_store(t, some, y + operand_bytes(t, (ptrdiff_t)i), left);
	}
}

SIMD_INLINE void forward_rows(const struct kernel_call *c, enum dtype t, bool centred,
			      struct affine a)
{
	const struct norm_attributes *attributes = c->attributes;
	size_t n = rows_length(&c->in[0]), from, to;
	bool stream = t == c->out[0].dtype && vector_streams(&c->out[0]);

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		const uint8_t *x = row_in(c, t, 0, i), *next = next_row(c, 0, i, to);
		uint8_t *y = row_out(c, t, i);
		struct moments m = row_moments(t, x, n, centred, attributes->eps);

		if (stream && vector_aligned(y))
			normalise(t, x, y, n, m, a, next, true);
		else
			normalise(t, x, y, n, m, a, next, false);
		row_put(c, t, i, y);
	}
	if (stream)
		simd_stream_end();
}

SIMD_INLINE void forward(const struct kernel_call *c, bool centred)
{
	const struct norm_attributes *attributes = c->attributes;
	struct affine a = { .w = has(c, 1) ? rows_vector(&c->in[1], room(c, 1)) : NULL,
			    .b = has(c, 2) ? rows_vector(&c->in[2], room(c, 3)) : NULL,
			    .offset = (float)attributes->offset };
	enum dtype t = rows_of(c, false);

	if (t == DTYPE_F32)
		forward_rows(c, DTYPE_F32, centred, a);
	else
		forward_rows(c, DTYPE_BF16, centred, a);
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

SIMD_INLINE vf32 slope_at(vf32 dy, const float *w, float offset, size_t left)
{
	return w ? dy * (rows_load(w, left) + simd_f32(offset)) : dy;
}

struct means {
	float g, gx; /* of g, of g x^ */
};

/* Moments and means in one pass, after that for the mean of what is centred. */
SIMD_INLINE struct means row_means(enum dtype t, const uint8_t *x, const uint8_t *dy, size_t n,
				   const float *w, float offset, double eps, struct moments *m)
{
	struct sums s = { .squares = { { 0 } } };
	vf32 mean = simd_f32(m->mean);
	size_t i = 0;

	for (; i + 2 * SIMD_WIDTH <= n; i += 2 * SIMD_WIDTH)
		SIMD_UNROLL
	for (int j = 0; j < 2; j++) {
		size_t at = i + (size_t)j * SIMD_WIDTH;

		add_sums(&s, j, load(t, x, at) - mean,
			 slope_at(load(t, dy, at), w ? w + at : NULL, offset, SIMD_WIDTH));
	}
	for (; i < n; i += SIMD_WIDTH)
		add_sums(&s, 0, load_some(t, x, i, n - i, m->mean) - mean,
			 slope_at(load_some(t, dy, i, n - i, 0), w ? w + i : NULL, offset, n - i));
	m->scale = 1 / sqrtf(rows_sum(s.squares[0] + s.squares[1]) / (float)n + (float)eps);
	return (struct means){ rows_sum(s.g[0] + s.g[1]) / (float)n,
			       m->scale * rows_sum(s.gx[0] + s.gx[1]) / (float)n };
}

/* What a row's gradient takes: its moments, and the sums that are added to, where they are there. */
struct slopes {
	vf32 mean, scale, less, by_x;
	const float *w;
	float offset, *dw, *db;
};

/* dx of the vectors X and DY at element I of which LEFT are there; dw += dy x^, db += dy. */
SIMD_INLINE vf32 row_slope(const struct slopes *s, vf32 x, vf32 dy, size_t i, size_t left)
{
	vf32 v = (x - s->mean) * s->scale;
	vf32 g = slope_at(dy, s->w ? s->w + i : NULL, s->offset, left);

	if (s->dw)
		rows_store(s->dw + i, simd_fma(dy, v, rows_load(s->dw + i, left)), left);
	if (s->db)
		rows_store(s->db + i, rows_load(s->db + i, left) + dy, left);
	return s->scale * (g - s->less - v * s->by_x);
}

SIMD_INLINE void row_backward(enum dtype t, const uint8_t *x, const uint8_t *dy, uint8_t *dx,
			      size_t n, struct slopes s, const uint8_t *const next[2], bool stream)
{
	size_t i = 0;

	for (; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		vf32 v[2];

		ask(next[0], t, i);
		ask(next[1], t, i);
		SIMD_UNROLL
		for (size_t j = 0; j < 2; j++) {
			size_t at = i + j * SIMD_WIDTH;

			v[j] = row_slope(&s, load(t, x, at), load(t, dy, at), at, SIMD_WIDTH);
		}
		vector_store_two(t, dx + operand_bytes(t, (ptrdiff_t)i), v[0], v[1], stream);
	}
	for (; i < n; i += SIMD_WIDTH) {
		size_t left = n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH;
		float some[SIMD_WIDTH];

		simd_store(some, row_slope(&s, load_some(t, x, i, left, 0),
					   load_some(t, dy, i, left, 0), i, left));
		operand_store(t, some, dx + operand_bytes(t, (ptrdiff_t)i), left);
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

/* One row of T: DW, DB and W are NULL as constants where they are. */
SIMD_INLINE void backward_row(const struct kernel_call *c, enum dtype t, size_t i, size_t end,
			      bool centred, const float *w, float *dw, float *db)
{
	const struct norm_attributes *a = c->attributes;
	size_t n = rows_length(&c->in[0]);
	const uint8_t *x = row_in(c, t, 0, i), *dy = row_in(c, t, 1, i);
	const uint8_t *const next[2] = { next_row(c, 0, i, end), next_row(c, 1, i, end) };
	uint8_t *dx = row_out(c, t, i);
	struct moments m = { .mean = centred ? row_mean(t, x, n) : 0 };
	struct means s = row_means(t, x, dy, n, w, (float)a->offset, a->eps, &m);
	struct slopes by = { .mean = simd_f32(m.mean),
			     .scale = simd_f32(m.scale),
			     .less = simd_f32(centred ? s.g : 0),
			     .by_x = simd_f32(s.gx),
			     .w = w,
			     .offset = (float)a->offset,
			     .dw = dw,
			     .db = db };

	if (t == c->out[0].dtype && vector_streams(&c->out[0]) && vector_aligned(dx))
		row_backward(t, x, dy, dx, n, by, next, true);
	else
		row_backward(t, x, dy, dx, n, by, next, false);
	row_put(c, t, i, dx);
}

SIMD_INLINE void backward_piece(const struct kernel_call *c, enum dtype t, size_t piece,
				bool centred, const float *w)
{
	size_t n = rows_length(&c->in[0]), rows = rows_count(&c->in[0]);
	size_t last = (piece + 1) * PIECE < rows ? (piece + 1) * PIECE : rows;
	float *dw = c->n_out > 1 ? piece_sums(c, piece, 0) : NULL;
	float *db = c->n_out > 2 ? piece_sums(c, piece, 1) : NULL;

	for (int i = 0; i < c->n_out - 1; i++)
		memset(piece_sums(c, piece, i), 0, n * sizeof(float));
	for (size_t i = piece * PIECE; i < last; i++)
		if (w && dw && !db)
			backward_row(c, t, i, rows, centred, w, dw, NULL);
		else
			backward_row(c, t, i, rows, centred, w, dw, db);
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

SIMD_INLINE void backward(const struct kernel_call *c, bool centred)
{
	const float *w = has(c, 2) ? rows_vector(&c->in[2], room(c, 3)) : NULL;
	enum dtype t = rows_of(c, true);
	size_t from, to;

	if (c->phase == 1) {
		add_pieces(c);
		return;
	}
	kernel_share(pieces(c), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		if (t == DTYPE_F32)
			backward_piece(c, DTYPE_F32, i, centred, w);
		else
			backward_piece(c, DTYPE_BF16, i, centred, w);
	if (vector_streams(&c->out[0]))
		simd_stream_end();
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

#define KERNEL(name, claim, room_needed, n_phases)                                     \
 LEVEL_KERNEL(name, rows, .claims = claim, .scratch = room_needed, .phases = n_phases, \
	      .run = run_##name)

KERNEL(rms_norm, claims_forward, scratch_rows, 1);
KERNEL(layer_norm, claims_forward, scratch_rows, 1);
KERNEL(rms_norm_grad, claims_backward, scratch_backward, 2);
KERNEL(layer_norm_grad, claims_backward, scratch_backward, 2);
