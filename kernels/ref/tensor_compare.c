/*
 * kernels/ref/tensor_compare.c - the definition of tensor_compare.h, one pair at a time
 *
 * a, b: [n] -> counts, the largest differences and their places, and three sums in 8 doubles
 * each that are added as a tree.
 */
#include <math.h>

#include "kernels/bits.h"
#include "kernels/tensor_lanes.h"
#include "kernels/wide.h"

static void add_differing(struct tensor_compare *c, uint64_t at)
{
	if (c->n_differ++ == 0)
		c->first_differ = at;
}

static void add_nan(struct tensor_compare *c, bool both, uint64_t at)
{
	if (c->nan_one + c->nan_both == 0)
		c->first_nan = at;
	if (both) {
		c->nan_both++;
		return;
	}
	c->nan_one++;
	add_differing(c, at);
}

/* What is not finite: true when the pair is dealt with. */
static bool add_special(struct tensor_compare *c, double a, double b, uint64_t at)
{
	if (isfinite(a) && isfinite(b))
		return false;
	if (isnan(a) || isnan(b)) {
		add_nan(c, isnan(a) && isnan(b), at);
	} else if (a != b) {
		add_differing(c, at);
		compare_extremes(c, INFINITY, INFINITY, at);
	}
	return true;
}

/* Two finite numbers, whose differences are known. */
static void add_pair(struct compare_lanes *c, double a, double b, double abs, double rel,
		     uint64_t at)
{
	size_t lane = at % COMPARE_LANES;

	if (abs > c->tolerance.atol + c->tolerance.rtol * fabs(b))
		add_differing(&c->total, at);
	compare_extremes(&c->total, abs, rel, at);
	c->dot[lane] += a * b;
	c->aa[lane] += a * a;
	c->bb[lane] += b * b;
}

static void add_narrow(struct compare_lanes *c, float a, float b, uint64_t at)
{
	float abs = fabsf(a - b);

	if (!add_special(&c->total, a, b, at))
		add_pair(c, a, b, abs, b != 0 ? abs / fabsf(b) : 0, at);
}

void tensor_compare_piece_ref(enum dtype t, const void *a, const void *b, size_t n,
			      struct compare_lanes *c)
{
	size_t bytes = dtype_info(t)->bytes;
	float left[TENSOR_LANES], right[TENSOR_LANES];

	for (size_t done = 0; done < n; done += TENSOR_LANES) {
		size_t some = n - done < TENSOR_LANES ? n - done : TENSOR_LANES;

		dtype_to_f32(t, (const char *)a + done * bytes, left, some);
		dtype_to_f32(t, (const char *)b + done * bytes, right, some);
		for (size_t i = 0; i < some; i++)
			add_narrow(c, left[i], right[i], c->total.n + i);
		c->total.n += some;
	}
}

/* The difference of 64-bit integers is exact before it becomes a double. */
static double integer_difference(enum dtype type_a, const uint8_t *a, enum dtype type_b,
				 const uint8_t *b)
{
	__extension__ typedef __int128 i128;
	i128 left = type_a == DTYPE_I64 ? (i128)(int64_t)load_u64(a) : (i128)load_u64(a);
	i128 right = type_b == DTYPE_I64 ? (i128)(int64_t)load_u64(b) : (i128)load_u64(b);

	return (double)(left < right ? right - left : left - right);
}

static bool is_long(enum dtype t)
{
	return t == DTYPE_I64 || t == DTYPE_U64;
}

static void add_wide(enum dtype type_a, const uint8_t *a, enum dtype type_b, const uint8_t *b,
		     size_t n, struct compare_lanes *c)
{
	double left[COMPARE_PIECE], right[COMPARE_PIECE];

	wide_to_f64(type_a, a, left, n);
	wide_to_f64(type_b, b, right, n);
	for (size_t i = 0; i < n; i++, c->total.n++) {
		double abs = fabs(left[i] - right[i]);

		if (add_special(&c->total, left[i], right[i], c->total.n))
			continue;
		if (is_long(type_a) && is_long(type_b))
			abs = integer_difference(type_a, a + 8 * i, type_b, b + 8 * i);
		add_pair(c, left[i], right[i], abs, right[i] != 0 ? abs / fabs(right[i]) : 0,
			 c->total.n);
	}
}

static void add_decoded(compare_piece *piece, enum dtype type_a, const void *a, enum dtype type_b,
			const void *b, size_t n, struct compare_lanes *c)
{
	float left[COMPARE_PIECE], right[COMPARE_PIECE];

	dtype_to_f32(type_a, a, left, n);
	dtype_to_f32(type_b, b, right, n);
	piece(DTYPE_F32, left, right, n, c);
}

static double tree(double *lanes)
{
	for (int half = COMPARE_LANES / 2; half > 0; half /= 2)
		for (int k = 0; k < half; k++)
			lanes[k] += lanes[k + half];
	return isnan(lanes[0]) ? NAN : lanes[0];
}

static bool is_native(enum dtype t)
{
	return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

static const uint8_t *element(enum dtype t, const void *data, size_t i)
{
	return (const uint8_t *)data + i / dtype_info(t)->block * dtype_info(t)->bytes;
}

void tensor_compare_chunk_by(compare_piece *piece, enum dtype type_a, const void *a,
			     enum dtype type_b, const void *b, size_t n,
			     struct tensor_tolerance tolerance, struct tensor_compare *out)
{
	struct compare_lanes c = { .tolerance = tolerance };
	bool wide = dtype_is_wide(type_a) || dtype_is_wide(type_b);

	tensor_compare_start(&c.total);
	for (size_t done = 0; done < n; done += COMPARE_PIECE) {
		const uint8_t *left = element(type_a, a, done), *right = element(type_b, b, done);
		size_t some = n - done < COMPARE_PIECE ? n - done : COMPARE_PIECE;

		if (wide)
			add_wide(type_a, left, type_b, right, some, &c);
		else if (type_a == type_b && is_native(type_a))
			piece(type_a, left, right, some, &c);
		else
			add_decoded(piece, type_a, left, type_b, right, some, &c);
	}
	*out = c.total;
	out->dot = tree(c.dot);
	out->a_squares = tree(c.aa);
	out->b_squares = tree(c.bb);
}

void tensor_compare_chunk_ref(enum dtype type_a, const void *a, enum dtype type_b, const void *b,
			      size_t n, struct tensor_tolerance tolerance,
			      struct tensor_compare *out)
{
	tensor_compare_chunk_by(tensor_compare_piece_ref, type_a, a, type_b, b, n, tolerance, out);
}
