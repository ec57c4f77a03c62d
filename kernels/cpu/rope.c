/*
 * kernels/cpu/rope.c - pairs of elements of each head turned by their position
 *
 * Sines and cosines of a row's angles are computed once for all its heads: the angle in double, less a multiple of pi / 2 in two
 * parts, then polynomials of f32 over |r| <= pi / 4 with the coefficients of Cephes' sinf and cosf (Moshier). When neighbours
 * are pairs each stands twice, and y = x cos + swapped x (-sin, sin).
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

/* Cosines and sines, each twice when neighbours are pairs; and a head in and out. */
static size_t room_size(const struct kernel_call *c)
{
	return 2 * rows_room(2 * c->in[2].shape[0]) + 2 * rows_room(c->in[0].shape[2]);
}

static size_t scratch(const struct kernel_call *c)
{
	return (size_t)c->parts * room_size(c) * sizeof(float);
}

static int32_t integer(const struct kernel_tensor *t, ptrdiff_t at)
{
	return ((const int32_t *)t->data)[at];
}

#define PAIRS 64 /* at a time */

/* Angles of N pairs from PAIR on. Most often all pairs have one position, and frequencies lie side by side. */
static void angles_of(const struct kernel_call *c, size_t row, size_t pair, size_t n, double *angle)
{
	const struct kernel_tensor *positions = &c->in[1], *frequencies = &c->in[2];
	const float *f = frequencies->data;
	ptrdiff_t at = (ptrdiff_t)row * positions->stride[0], step = frequencies->stride[0];

	if (c->n_in <= 3 && step == 1) {
		double position = integer(positions, at);

		for (size_t i = 0; i < n; i++)
			angle[i] = position * (double)f[pair + i];
		return;
	}
	for (size_t i = 0; i < n; i++) {
		ptrdiff_t j = (ptrdiff_t)(pair + i);
		ptrdiff_t axis = c->n_in > 3 ? integer(&c->in[3], j * c->in[3].stride[0]) : 0;
		double position = integer(positions, at + axis * positions->stride[1]);

		angle[i] = position * (double)f[j * step];
	}
}

/* ANGLE = quarter pi / 2 + rest: the rest, and the quarter's two low bits. */
static void reduce_angles(const double *angle, size_t n, float *rest, int32_t *quarter)
{
	for (size_t i = 0; i < n; i++) {
		double shifted = angle[i] * 0x1.45f306dc9c883p-1 + 0x1.8p52;
		double k = shifted - 0x1.8p52;
		uint64_t bits;

		memcpy(&bits, &shifted, sizeof(bits));
		rest[i] = (float)((angle[i] - k * 0x1.921fb544p+0) - k * 0x1.0b4611a626331p-34);
		quarter[i] = (int32_t)(bits & 3);
	}
}

SIMD_INLINE void sine_cosine(vf32 r, vi32 quarter, vf32 *sine, vf32 *cosine)
{
	vf32 z = r * r, s, co;
	vi32 odd = -(quarter & 1);

	s = simd_fma(simd_f32(-1.9515295891e-4f), z, simd_f32(8.3321608736e-3f));
	s = simd_fma(s, z, simd_f32(-1.6666654611e-1f));
	s = simd_fma(s * z, r, r);
	co = simd_fma(simd_f32(2.443315711809948e-5f), z, simd_f32(-1.388731625493765e-3f));
	co = simd_fma(co, z, simd_f32(4.166664568298827e-2f));
	co = simd_fma(co * z, z, simd_fma(simd_f32(-0.5f), z, simd_f32(1.0f)));
	*sine = (vf32)((vi32)simd_select(odd, s, co) ^ (quarter & 2) << 30);
	*cosine = (vf32)((vi32)simd_select(odd, co, s) ^ ((quarter + 1) & 2) << 30);
}

static void turns(const struct kernel_call *c, size_t row, float *cosines, float *sines)
{
	const struct rope_attributes *a = c->attributes;
	float scale = (float)(a->scale == 0 ? 1 : a->scale);
	vf32 by = simd_f32(scale), sign = simd_f32(a->inverse ? -scale : scale);
	size_t pairs = c->in[2].shape[0];

	for (size_t i = 0; i < pairs; i += PAIRS) {
		size_t n = pairs - i < PAIRS ? pairs - i : PAIRS;
		double angle[PAIRS];
		float rest[PAIRS];
		int32_t quarter[PAIRS];

		angles_of(c, row, i, n, angle);
		for (size_t j = n; j % SIMD_WIDTH; j++)
			angle[j] = 0;
		reduce_angles(angle, (n + SIMD_WIDTH - 1) / SIMD_WIDTH * SIMD_WIDTH, rest, quarter);
		for (size_t j = 0; j < n; j += SIMD_WIDTH) {
			vf32 sine, cosine;

			sine_cosine(simd_load(rest + j), (vi32)simd_load(quarter + j), &sine,
				    &cosine);
			rows_store(cosines + i + j, cosine * by, n - j);
			rows_store(sines + i + j, sine * sign, n - j);
		}
	}
}

/* Each twice, from the last on, the first of two sines negative. */
static void double_turns(float *cosines, float *sines, size_t pairs)
{
	for (size_t i = pairs; i-- > 0;) {
		float co = cosines[i], si = sines[i];

		cosines[2 * i] = cosines[2 * i + 1] = co;
		sines[2 * i] = -si;
		sines[2 * i + 1] = si;
	}
}

/* (x, y) -> (x cos - y sin, y cos + x sin), LEFT pairs of which are there. */
SIMD_INLINE void turn_some(const float *x, float *y, size_t pairs, const float *cosines,
			   const float *sines, size_t left)
{
	vf32 u = rows_load(x, left), v = rows_load(x + pairs, left);
	vf32 co = rows_load(cosines, left), si = rows_load(sines, left);

	rows_store(y, simd_fma(u, co, -(v * si)), left);
	rows_store(y + pairs, simd_fma(v, co, u * si), left);
}

static void turn_halves(const float *x, float *y, size_t pairs, const float *cosines,
			const float *sines)
{
	size_t i = 0;

	for (; i + SIMD_WIDTH <= pairs; i += SIMD_WIDTH)
		turn_some(x + i, y + i, pairs, cosines + i, sines + i, SIMD_WIDTH);
	if (i < pairs)
		turn_some(x + i, y + i, pairs, cosines + i, sines + i, pairs - i);
}

/* The same of f32 or bf16 in whole vectors, from where they lie to where they go, past the caches where STREAM; what lies
 * STEP elements on, where it is not 0, is asked for. */
SIMD_INLINE void turn_whole(enum dtype t, const uint8_t *x, uint8_t *y, size_t pairs,
			    const float *cosines, const float *sines, ptrdiff_t step, bool stream)
{
	ptrdiff_t half = (ptrdiff_t)operand_bytes(t, (ptrdiff_t)pairs);

	for (size_t i = 0; i < pairs; i += VECTOR_TWO) {
		const uint8_t *next = x + operand_bytes(t, step + (ptrdiff_t)i);
		vf32 a[2], b[2];

		if (step) {
			__builtin_prefetch(next, 0, 3);
			__builtin_prefetch(next + half, 0, 3);
		}
		SIMD_UNROLL
		for (size_t j = 0; j < 2; j++) {
			size_t k = i + j * SIMD_WIDTH, at = operand_bytes(t, (ptrdiff_t)k);
			vf32 u = vector_load(t, x + at), v = vector_load(t, x + half + at);
			vf32 co = simd_load(cosines + k), si = simd_load(sines + k);

			a[j] = simd_fma(u, co, -(v * si));
			b[j] = simd_fma(v, co, u * si);
		}
		vector_store_two(t, y + operand_bytes(t, (ptrdiff_t)i), a[0], a[1], stream);
		vector_store_two(t, y + half + operand_bytes(t, (ptrdiff_t)i), b[0], b[1], stream);
	}
}

#if SIMD_WIDTH == 16
# define SWAP(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#elif SIMD_WIDTH == 8
# define SWAP(x) __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6)
#else
# define SWAP(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#endif

static void turn_neighbours(const float *x, float *y, size_t pairs, const float *cosines,
			    const float *sines)
{
	for (size_t i = 0; i < 2 * pairs; i += SIMD_WIDTH) {
		size_t left = 2 * pairs - i;
		vf32 u = rows_load(x + i, left);
		vf32 turned = SWAP(u) * rows_load(sines + i, left);

		rows_store(y + i, simd_fma(u, rows_load(cosines + i, left), turned), left);
	}
}

static ptrdiff_t head_at(const struct kernel_tensor *t, size_t row, size_t head)
{
	return (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)head * t->stride[1];
}

static void turn_head(const struct kernel_call *c, size_t row, size_t head, const float *cosines,
		      const float *sines, float *rooms)
{
	const struct rope_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];
	size_t pairs = c->in[2].shape[0], dim = x->shape[2];
	float *in = rooms, *made = rooms + rows_room(dim), *y = made;
	const float *h = in;

	if (x->dtype == DTYPE_F32)
		h = (const float *)x->data + head_at(x, row, head);
	else
		operand_load(x->dtype, operand_at(x, head_at(x, row, head)), in, dim);
	if (out->dtype == DTYPE_F32)
		y = (float *)out->data + head_at(out, row, head);
	if (a->interleaved)
		turn_neighbours(h, y, pairs, cosines, sines);
	else
		turn_halves(h, y, pairs, cosines, sines);
	for (size_t i = 2 * pairs; i < dim; i++)
		y[i] = h[i];
	if (y == made)
		operand_store(out->dtype, y,
			      (uint8_t *)out->data +
				      operand_bytes(out->dtype, head_at(out, row, head)),
			      dim);
}

/* Whether all heads are of T, whole vectors, and turned as a whole by halves. */
static bool heads_whole(const struct kernel_call *c, enum dtype t)
{
	const struct rope_attributes *a = c->attributes;
	size_t pairs = c->in[2].shape[0];

	return c->in[0].dtype == t && c->out[0].dtype == t && !a->interleaved &&
	       pairs % VECTOR_TWO == 0 && 2 * pairs == c->in[0].shape[2];
}

SIMD_INLINE void turn_heads(const struct kernel_call *c, enum dtype t, size_t row,
			    const float *cosines, const float *sines)
{
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];
	size_t pairs = c->in[2].shape[0];
	bool large = vector_streams(out);
	ptrdiff_t step = row + 1 < x->shape[0] ? x->stride[0] : 0;

	for (size_t head = 0; head < x->shape[1]; head++) {
		const uint8_t *from = operand_at(x, head_at(x, row, head));
		uint8_t *to = (uint8_t *)out->data + operand_bytes(t, head_at(out, row, head));

		if (large && vector_aligned(to))
			turn_whole(t, from, to, pairs, cosines, sines, step, true);
		else
			turn_whole(t, from, to, pairs, cosines, sines, step, false);
	}
}

static void turn_row(const struct kernel_call *c, size_t row, const float *cosines,
		     const float *sines, float *rooms)
{
	if (heads_whole(c, DTYPE_F32))
		turn_heads(c, DTYPE_F32, row, cosines, sines);
	else if (heads_whole(c, DTYPE_BF16))
		turn_heads(c, DTYPE_BF16, row, cosines, sines);
	else
		for (size_t head = 0; head < c->in[0].shape[1]; head++)
			turn_head(c, row, head, cosines, sines, rooms);
}

static void run_rope(const struct kernel_call *c)
{
	const struct rope_attributes *a = c->attributes;
	size_t pairs = c->in[2].shape[0], from, to;
	float *cosines = (float *)c->scratch + (size_t)c->part * room_size(c);
	float *sines = cosines + rows_room(2 * pairs), *rooms = sines + rows_room(2 * pairs);

	kernel_share(c->in[0].shape[0], 1, c->part, c->parts, &from, &to);
	for (size_t row = from; row < to; row++) {
		turns(c, row, cosines, sines);
		if (a->interleaved)
			double_turns(cosines, sines, pairs);
		turn_row(c, row, cosines, sines, rooms);
	}
	simd_stream_end();
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
