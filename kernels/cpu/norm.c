/*
 * kernels/cpu/norm.c - root-mean-square and layer normalisation of rows
 *
 * What a row is normalised by is known at its end only, and until then nothing could be written: so one is written while the squares of the
 * next are summed, and, where rows are centred, one more while the mean of that after it is.
 */
#include "kernels/cpu/level.h"

#define ROOMS 6 /* three of x, result, weight, bias */
#include "kernels/cpu/norm_row.h"

#define CHAINS 4 /* sums side by side, so that none waits for itself */
#define GROUP  (CHAINS * SIMD_WIDTH)

/*
 * Bytes after those of three rows that are read first, which are asked for, be they there or not. Two rows the processor brings faster by
 * itself (Zen 3, rms of f32: 0.84 of the bandwidth without, 0.76 with it).
 */
#define AHEAD 1024

/* What is done in one walk: the mean of AHEAD (centred), the squares of NEAR, and Y, unless it is NULL, as a constant, from X. */
struct walk {
	const uint8_t *ahead, *near, *x;
	uint8_t *y;
	size_t n;
	const float *w, *b; /* NULL, as constants or not, where they are not there */
	bool centred, stream;
	vf32 near_mean, mean, scale;
};

struct sums {
	vf32 x[CHAINS], squares[CHAINS];
};

/* (x - mean) scale w + b of V at element I of which LEFT are there. */
SIMD_INLINE vf32 normal(const struct walk *s, vf32 v, size_t i, size_t left)
{
	v = (s->centred ? v - s->mean : v) * s->scale;
	if (s->w)
		v = v * rows_load(s->w + i, left);
	if (s->b)
		v = v + rows_load(s->b + i, left);
	return v;
}

SIMD_INLINE void add_square(const struct walk *s, struct sums *sums, size_t chain, vf32 v)
{
	v = s->centred ? v - s->near_mean : v;
	sums->squares[chain] = simd_fma(v, v, sums->squares[chain]);
}

/* The pair of vectors at element I. */
SIMD_INLINE void pair(enum dtype t, const struct walk *s, size_t i, size_t chain, struct sums *sums)
{
	vf32 v[2];

	if (s->centred) {
		__builtin_prefetch((const void *)((uintptr_t)row_at(t, s->ahead, i) + AHEAD), 0, 3);
		vector_split(t, row_at(t, s->ahead, i), v);
		sums->x[chain] += v[0];
		sums->x[chain + 1] += v[1];
	}
	vector_split(t, row_at(t, s->near, i), v);
	add_square(s, sums, chain, v[0]);
	add_square(s, sums, chain + 1, v[1]);
	if (!s->y)
		return;
	vector_split(t, row_at(t, s->x, i), v);
	v[0] = normal(s, v[0], i, SIMD_WIDTH);
	v[1] = normal(s, v[1], i + SIMD_WIDTH, SIMD_WIDTH);
	vector_join_bare(t, s->y + operand_bytes(t, (ptrdiff_t)i), v, s->stream);
}

/* The vector at element I, of which not all may be there; MEAN is that of NEAR. */
SIMD_INLINE void rest(enum dtype t, const struct walk *s, size_t i, float mean, struct sums *sums)
{
	size_t left = s->n - i < SIMD_WIDTH ? s->n - i : SIMD_WIDTH;
	float some[SIMD_WIDTH];

	if (s->centred)
		sums->x[0] += row_rest(t, s->ahead, i, s->n, 0);
	add_square(s, sums, 0, row_rest(t, s->near, i, s->n, mean));
	if (!s->y)
		return;
	simd_store(some, normal(s, row_rest(t, s->x, i, s->n, 0), i, left));
	operand_store(t, some, s->y + operand_bytes(t, (ptrdiff_t)i), left);
}

SIMD_INLINE float mean_of(const vf32 sum[CHAINS], size_t n)
{
	return rows_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)n;
}

struct moments {
	float mean, square; /* of AHEAD; of NEAR less MEAN */
};

SIMD_INLINE struct moments walk(enum dtype t, const struct walk *s, float mean)
{
	struct sums sums = { .x = { { 0 } } };
	size_t i = 0;

	for (; i + GROUP <= s->n; i += GROUP)
		SIMD_UNROLL
	for (size_t j = 0; j < CHAINS; j += 2)
		pair(t, s, i + j * SIMD_WIDTH, j, &sums);
	for (; i + VECTOR_TWO <= s->n; i += VECTOR_TWO)
		pair(t, s, i, 0, &sums);
	for (; i < s->n; i += SIMD_WIDTH)
		rest(t, s, i, mean, &sums);
	return (struct moments){ mean_of(sums.x, s->n), mean_of(sums.squares, s->n) };
}

/* Y is a constant in each. */
SIMD_INLINE struct moments walk_to(enum dtype t, struct walk s, float mean, uint8_t *y)
{
	s.stream = s.stream && vector_aligned(y);
	s.y = NULL;
	if (!y)
		return walk(t, &s, mean);
	s.y = y;
	if (!s.stream)
		return walk(t, &s, mean);
	s.stream = true;
	return walk(t, &s, mean);
}

SIMD_INLINE void forward_rows(const struct kernel_call *c, enum dtype t, bool centred,
			      const float *w, const float *b, size_t from, size_t to)
{
	const struct norm_attributes *attributes = c->attributes;
	const size_t late =
		centred ? 2 : 1; /* walks from that which first reads a row to its own */
	const uint8_t *first = row_in(c, t, 0, from, 0);
	struct walk s = { .ahead = first,
			  .near = first,
			  .n = rows_length(&c->in[0]),
			  .w = w,
			  .b = b,
			  .centred = centred,
			  .stream = t == c->out[0].dtype && vector_streams(&c->out[0]) };
	struct moments m = { 0, 0 };

	for (size_t k = 0; from + k < to + late; k++) {
		uint8_t *y = k >= late ? row_out(c, t, from + k - late, 3) : NULL;
		float mean = m.mean;

		s.x = s.near;
		s.near = s.ahead;
		if (from + k < to)
			s.ahead = row_in(c, t, 0, from + k, (int)(k % 3));
		if (!centred)
			s.near = s.ahead;
		s.mean = s.near_mean;
		s.near_mean = simd_f32(mean);
		s.scale = simd_f32(1 / sqrtf(m.square + (float)attributes->eps));
		m = walk_to(t, s, mean, y);
		if (y)
			row_put(c, t, from + k - late, y);
	}
	if (s.stream)
		simd_stream_end();
}

/* Weights are there as a rule, a bias where rows are centred. */
SIMD_INLINE void forward_of(const struct kernel_call *c, enum dtype t, bool centred)
{
	const struct norm_attributes *attributes = c->attributes;
	const float *w, *b;
	size_t from, to;

	kernel_share(rows_count(&c->in[0]), 1, c->part, c->parts, &from, &to);
	if (from == to || rows_length(&c->in[0]) == 0) /* rows of nothing have no rooms */
		return;
	w = weights(c, 1, t, (float)attributes->offset, room(c, 4));
	b = weights(c, 2, t, 0, room(c, 5));
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
