/*
 * kernels/cpu/norm_grad.c - the gradients of root-mean-square and layer normalisation of rows
 *
 * With x^ = (x - m) r and g = dy w: dx = r (g - mean(g) - x^ mean(g x^)), without the mean for rms. Gradients of weights are sums
 * over rows: of pieces of PIECE rows in phase 0, of the pieces in their order in phase 1.
 */
#include "kernels/cpu/level.h"

#define ROOMS 4 /* x, dy, result, weight */
#include "kernels/cpu/norm_row.h"

#define CHAINS 8 /* sums side by side, so that none waits for itself */
#define GROUP  (CHAINS * SIMD_WIDTH)
#define PIECE  64
#define SUMS \
 4 /* side by side; half as many of what is centred, which has one more, or registers would not do */

/* --- what is on its way --- */

/*
 * The row that is worked on next, which is asked for while this one is written: what a row is normalised by is known at its end only, and
 * until then no other would be on its way. This one where there is none before END, or where rows would not stay in L1.
 */
#define NEAR_BYTES 8192

static const uint8_t *next_row(const struct kernel_call *c, int operand, size_t i, size_t end)
{
	const struct kernel_tensor *x = &c->in[operand];
	size_t bytes = operand_bytes(x->dtype, (ptrdiff_t)rows_length(x));

	return operand_at(x, rows_at(x, i + (i + 1 < end && bytes <= NEAR_BYTES)));
}

/* The lines of N elements from I on. */
SIMD_INLINE void ask(const uint8_t *row, enum dtype t, size_t i, size_t n)
{
	for (size_t j = 0; j < operand_bytes(t, (ptrdiff_t)n); j += 64)
		__builtin_prefetch(row_at(t, row, i) + j, 0, 3);
}

/* --- what a row's gradient takes --- */

struct moments {
	float mean, scale;
};

SIMD_INLINE float sum_chains(const vf32 sum[CHAINS])
{
	return rows_sum(((sum[0] + sum[1]) + (sum[2] + sum[3])) +
			((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

SIMD_INLINE float row_mean(enum dtype t, const uint8_t *x, size_t n)
{
	vf32 sum[CHAINS] = { { 0 } }, v[2];
	size_t i = 0;

	for (; i + GROUP <= n; i += GROUP)
		SIMD_UNROLL
	for (size_t j = 0; j < CHAINS; j += 2) {
		vector_split(t, row_at(t, x, i + j * SIMD_WIDTH), v);
		sum[j] += v[0];
		sum[j + 1] += v[1];
	}
	for (; i < n; i += SIMD_WIDTH)
		sum[0] += row_rest(t, x, i, n, 0);
	return sum_chains(sum) / (float)n;
}

struct sums {
	vf32 squares[SUMS], g[SUMS], gx[SUMS];
};

/* What a vector D = X - M with the slope G adds. */
SIMD_INLINE void add_sums(struct sums *s, size_t chain, bool centred, vf32 d, vf32 g)
{
	s->squares[chain] = simd_fma(d, d, s->squares[chain]);
	if (centred)
		s->g[chain] += g;
	s->gx[chain] = simd_fma(g, d, s->gx[chain]);
}

SIMD_INLINE float total(const vf32 sum[SUMS])
{
	return rows_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* A row of C, and the vectors that go with it: NULL, as constants or not, where they are not there. */
struct row {
	const uint8_t *x, *dy;
	uint8_t *dx;
	size_t n;
	const float *w;
	float *dw, *db;
	bool centred, stream;
};

SIMD_INLINE vf32 slope_at(const struct row *r, vf32 dy, size_t i, size_t left)
{
	return r->w ? dy * rows_load(r->w + i, left) : dy;
}

/* Of g, and of g x^. */
struct means {
	float g, gx;
};

/* What the pair of vectors at element I adds, to sums CHAIN and after. */
SIMD_INLINE void pair_sums(enum dtype t, const struct row *r, vf32 mean, size_t i, struct sums *s,
			   size_t chain)
{
	vf32 x[2], dy[2];

	vector_split(t, row_at(t, r->x, i), x);
	vector_split(t, row_at(t, r->dy, i), dy);
	SIMD_UNROLL
	for (size_t j = 0; j < 2; j++)
		add_sums(s, chain + j, r->centred, r->centred ? x[j] - mean : x[j],
			 slope_at(r, dy[j], i + j * SIMD_WIDTH, SIMD_WIDTH));
}

/* Moments and means in one pass, after that for the mean of what is centred. */
SIMD_INLINE struct means row_means(enum dtype t, const struct row *r, double eps, struct moments *m)
{
	struct sums s = { .squares = { { 0 } } };
	vf32 mean = simd_f32(m->mean);
	size_t i = 0;

	for (; i + GROUP <= r->n; i += GROUP) {
		SIMD_UNROLL
		for (size_t j = 0; j < CHAINS; j += 2)
			pair_sums(t, r, mean, i + j * SIMD_WIDTH, &s,
				  j % (r->centred ? SUMS / 2 : SUMS));
	}
	for (; i + VECTOR_TWO <= r->n; i += VECTOR_TWO)
		pair_sums(t, r, mean, i, &s, 0);
	for (; i < r->n; i += SIMD_WIDTH)
		add_sums(&s, 0, r->centred, row_rest(t, r->x, i, r->n, m->mean) - mean,
			 slope_at(r, row_rest(t, r->dy, i, r->n, 0), i, r->n - i));
	m->scale = 1 / sqrtf(total(s.squares) / (float)r->n + (float)eps);
	return (struct means){ total(s.g) / (float)r->n, m->scale * total(s.gx) / (float)r->n };
}

/* --- the gradient of a row --- */

struct slopes {
	vf32 mean, scale, less, by_x;
};

/* dx of the vectors X and DY at element I of which LEFT are there; dw += dy x^, db += dy. */
SIMD_INLINE vf32 slope(const struct row *r, const struct slopes *s, vf32 x, vf32 dy, size_t i,
		       size_t left)
{
	vf32 v = (r->centred ? x - s->mean : x) * s->scale, g = slope_at(r, dy, i, left);

	if (r->dw)
		rows_store(r->dw + i, simd_fma(dy, v, rows_load(r->dw + i, left)), left);
	if (r->db)
		rows_store(r->db + i, rows_load(r->db + i, left) + dy, left);
	g = r->centred ? g - s->less : g;
	return s->scale * (g - v * s->by_x);
}

SIMD_INLINE void pair_slopes(enum dtype t, const struct row *r, const struct slopes *s, size_t i)
{
	vf32 x[2], dy[2];

	vector_split(t, row_at(t, r->x, i), x);
	vector_split(t, row_at(t, r->dy, i), dy);
	SIMD_UNROLL
	for (size_t j = 0; j < 2; j++)
		x[j] = slope(r, s, x[j], dy[j], i + j * SIMD_WIDTH, SIMD_WIDTH);
	vector_join_bare(t, r->dx + operand_bytes(t, (ptrdiff_t)i), x, r->stream);
}

SIMD_INLINE void row_slopes(enum dtype t, const struct row *r, const struct slopes *s,
			    const uint8_t *const next[2])
{
	size_t i = 0;

	for (; i + VECTOR_TWO <= r->n; i += VECTOR_TWO) {
		ask(next[0], t, i, VECTOR_TWO);
		ask(next[1], t, i, VECTOR_TWO);
		pair_slopes(t, r, s, i);
	}
	for (; i < r->n; i += SIMD_WIDTH) {
		size_t left = r->n - i < SIMD_WIDTH ? r->n - i : SIMD_WIDTH;
		float some[SIMD_WIDTH];

		simd_store(some, slope(r, s, row_rest(t, r->x, i, r->n, 0),
				       row_rest(t, r->dy, i, r->n, 0), i, left));
		operand_store(t, some, r->dx + operand_bytes(t, (ptrdiff_t)i), left);
	}
}

SIMD_INLINE void row_backward(const struct kernel_call *c, enum dtype t, const struct row *r,
			      const uint8_t *const next[2])
{
	const struct norm_attributes *a = c->attributes;
	struct moments m = { .mean = r->centred ? row_mean(t, r->x, r->n) : 0 };
	struct means s = row_means(t, r, a->eps, &m);
	struct slopes by = { simd_f32(m.mean), simd_f32(m.scale), simd_f32(s.g), simd_f32(s.gx) };

	row_slopes(t, r, &by, next);
}

/* --- pieces of rows --- */

static size_t pieces(const struct kernel_call *c)
{
	return (rows_count(&c->in[0]) + PIECE - 1) / PIECE;
}

/* The sums of piece I for result WHICH, 0 for weights: in the order in which rows are walked. */
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

static enum dtype rows_of(const struct kernel_call *c)
{
	bool brain = c->in[0].dtype == DTYPE_BF16 && c->out[0].dtype == DTYPE_BF16 &&
		     c->in[1].dtype == DTYPE_BF16;

	return brain ? DTYPE_BF16 : DTYPE_F32;
}

/* LIKE says what goes with each row. */
SIMD_INLINE void backward_rows(const struct kernel_call *c, enum dtype t, size_t from, size_t to,
			       struct row like)
{
	for (size_t i = from; i < to; i++) {
		struct row r = like;
		const uint8_t *const next[2] = { next_row(c, 0, i, to), next_row(c, 1, i, to) };

		r.x = row_in(c, t, 0, i, 0);
		r.dy = row_in(c, t, 1, i, 1);
		r.dx = row_out(c, t, i, 2);
		r.stream = false;
		if (like.stream && vector_aligned(r.dx)) {
			r.stream = true;
			row_backward(c, t, &r, next);
		} else {
			row_backward(c, t, &r, next);
		}
		row_put(c, t, i, r.dx);
	}
}

/* Weights and their gradient are there as a rule, that of a bias where rows are centred. */
SIMD_INLINE void backward_piece(const struct kernel_call *c, enum dtype t, size_t piece,
				bool centred, const float *w)
{
	size_t rows = rows_count(&c->in[0]), from = piece * PIECE;
	size_t to = from + PIECE < rows ? from + PIECE : rows;
	struct row r = { .n = rows_length(&c->in[0]),
			 .w = w,
			 .dw = c->n_out > 1 ? piece_sums(c, piece, 0) : NULL,
			 .db = c->n_out > 2 ? piece_sums(c, piece, 1) : NULL,
			 .centred = centred,
			 .stream = t == c->out[0].dtype && vector_streams(&c->out[0]) };

	for (int i = 0; i < c->n_out - 1; i++)
		memset(piece_sums(c, piece, i), 0, r.n * sizeof(float));
	if (!centred)
		r.db = NULL;
	if (r.w && r.dw && (r.db || !centred))
		backward_rows(c, t, from, to, r);
	else
		backward_rows(c, t, from, to, r);
}

/* N elements, whole pairs first, from the order in which rows of bf16 are walked into their own. */
static void put_in_order(float *x, size_t n)
{
	for (size_t i = 0; i + VECTOR_TWO <= n; i += VECTOR_TWO) {
		float pair[VECTOR_TWO];

		memcpy(pair, x + i, sizeof(pair));
		for (size_t j = 0; j < SIMD_WIDTH; j++) {
			x[i + 2 * j] = pair[j];
			x[i + 2 * j + 1] = pair[SIMD_WIDTH + j];
		}
	}
}

static void add_pieces(const struct kernel_call *c, enum dtype t)
{
	size_t n_pieces = pieces(c), from, to;

	kernel_share(rows_length(&c->in[0]), VECTOR_TWO, c->part, c->parts, &from, &to);
	for (int which = 0; which < c->n_out - 1; which++) {
		float *sum = c->out[which + 1].data;

		for (size_t j = from; j < to; j++)
			sum[j] = 0;
		for (size_t i = 0; i < n_pieces; i++) {
			const float *more = piece_sums(c, i, which);

			for (size_t j = from; j < to; j++)
				sum[j] += more[j];
		}
		if (t == DTYPE_BF16)
			put_in_order(sum + from, to - from);
	}
}

SIMD_INLINE void backward_of(const struct kernel_call *c, enum dtype t, bool centred)
{
	const struct norm_attributes *a = c->attributes;
	const float *w;
	size_t from, to;

	if (c->phase == 1) {
		add_pieces(c, t);
		return;
	}
	kernel_share(pieces(c), 1, c->part, c->parts, &from, &to);
	if (from == to || rows_length(&c->in[0]) == 0) /* rows of nothing have no rooms */
		return;
	w = weights(c, 2, t, (float)a->offset, room(c, 3));
	for (size_t i = from; i < to; i++)
		backward_piece(c, t, i, centred, w);
	if (vector_streams(&c->out[0]))
		simd_stream_end();
}

SIMD_INLINE void backward(const struct kernel_call *c, bool centred)
{
	if (rows_of(c) == DTYPE_F32)
		backward_of(c, DTYPE_F32, centred);
	else
		backward_of(c, DTYPE_BF16, centred);
}

static void run_rms_norm_grad(const struct kernel_call *c)
{
	backward(c, false);
}

static void run_layer_norm_grad(const struct kernel_call *c)
{
	backward(c, true);
}

static bool claims(const struct kernel_call *c)
{
	return rows_serve(&c->in[0]) && rows_serve(&c->in[1]) && rows_serve(&c->out[0]) &&
	       weights_serve(c, 2);
}

#define KERNEL(name)                                                                  \
 LEVEL_KERNEL(name, rows, .claims = claims, .scratch = scratch_backward, .phases = 2, \
	      .run = run_##name)

KERNEL(rms_norm_grad);
KERNEL(layer_norm_grad);
