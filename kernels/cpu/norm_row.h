/*
 * kernels/cpu/norm_row.h - what the norms of rows and their gradients share: how a row is walked, and what it is normalised by
 *
 * A row of T, a constant in what follows, is bf16 where it lies when all rows are; else f32, where it lies or in a room. It is walked in
 * groups of CHAINS vectors, then in pairs, whose lanes are in an order of their own (vector_split); what is left is in order, a
 * vector at a time. A file that includes this defines ROOMS (row_rooms.h).
 */
#ifndef KERNELS_CPU_NORM_ROW_H
#define KERNELS_CPU_NORM_ROW_H

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/row_rooms.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

#define CHAINS 8 /* sums side by side, so that none waits for itself */
#define GROUP  (CHAINS * SIMD_WIDTH)

static bool has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

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

/* --- what a row is normalised by --- */

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

/* The mean of (x - m)^2. */
SIMD_INLINE float row_square(enum dtype t, const uint8_t *x, size_t n, bool centred, float mean)
{
	vf32 sum[CHAINS] = { { 0 } }, m = simd_f32(mean), v[2];
	size_t i = 0;

	for (; i + GROUP <= n; i += GROUP)
		SIMD_UNROLL
	for (size_t j = 0; j < CHAINS; j += 2) {
		vector_split(t, row_at(t, x, i + j * SIMD_WIDTH), v);
		SIMD_UNROLL
		for (size_t k = 0; k < 2; k++) {
			v[k] = centred ? v[k] - m : v[k];
			sum[j + k] = simd_fma(v[k], v[k], sum[j + k]);
		}
	}
	for (; i < n; i += SIMD_WIDTH) {
		v[0] = row_rest(t, x, i, n, mean) - m;
		sum[0] = simd_fma(v[0], v[0], sum[0]);
	}
	return sum_chains(sum) / (float)n;
}

/* --- weights --- */

/* Whether those from operand FROM on are vectors. */
static bool weights_serve(const struct kernel_call *c, int from)
{
	for (int i = from; i < c->n_in; i++)
		if (c->in[i].n_axes && !(c->in[i].n_axes == 1 && rows_serve(&c->in[i])))
			return false;
	return true;
}

/*
 * W + OFFSET, in ROOM where that is not W itself, in the order in which rows of T are walked; NULL without. NaN has nothing below its
 * upper half there (vector_join_bare).
 */
SIMD_INLINE const float *weights(const struct kernel_call *c, int operand, enum dtype t,
				 float offset, float *room)
{
	const struct kernel_tensor *w = &c->in[operand];
	size_t i = 0;

	if (!has(c, operand))
		return NULL;
	if (t == DTYPE_F32 && w->dtype == DTYPE_F32 && offset == 0)
		return w->data;
	operand_load(w->dtype, w->data, room, w->shape[0]);
	for (; i + VECTOR_TWO <= w->shape[0]; i += VECTOR_TWO) {
		vf32 v[2] = { simd_load(room + i), simd_load(room + i + SIMD_WIDTH) };

		for (size_t j = 0; j < 2; j++) {
			v[j] += simd_f32(offset);
			v[j] = simd_select(v[j] != v[j], v[j], simd_f32(NAN));
		}
		vector_apart(t, v);
		simd_store(room + i, v[0]);
		simd_store(room + i + SIMD_WIDTH, v[1]);
	}
	for (; i < w->shape[0]; i++)
		room[i] += offset;
	return room;
}

#endif
