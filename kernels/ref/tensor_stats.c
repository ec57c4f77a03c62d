/*
 * kernels/ref/tensor_stats.c - the definition of tensor_stats.h, one element at a time
 *
 * data: [n] -> counts, extremes, and sums in 16 doubles that are added as a tree.
 */
#include <math.h>

#include "kernels/tensor_lanes.h"
#include "kernels/wide.h"

static void add_value(struct stats_lanes *s, double x, size_t lane)
{
	struct tensor_stats *total = &s->total;

	if (isnan(x)) {
		total->nans++;
		return;
	}
	total->zeros += x == 0;
	total->min = x < total->min ? x : total->min;
	total->max = x > total->max ? x : total->max;
	if (isinf(x)) {
		if (x > 0)
			total->positive_infs++;
		else
			total->negative_infs++;
		return;
	}
	s->sum[lane] += x;
	s->squares[lane] += x * x;
}

void tensor_stats_piece_ref(enum dtype t, const void *src, size_t n, struct stats_lanes *s)
{
	size_t bytes = dtype_info(t)->bytes;
	float values[TENSOR_LANES];

	for (size_t done = 0; done < n; done += TENSOR_LANES) {
		size_t some = n - done < TENSOR_LANES ? n - done : TENSOR_LANES;

		dtype_to_f32(t, (const char *)src + done * bytes, values, some);
		for (size_t i = 0; i < some; i++)
			add_value(s, values[i], i);
	}
}

/* A piece of a wide type: there are no kernels of it. */
static void add_wide(enum dtype t, const void *src, size_t n, struct stats_lanes *s)
{
	double values[STATS_PIECE];

	wide_to_f64(t, src, values, n);
	for (size_t i = 0; i < n; i++)
		add_value(s, values[i], i % TENSOR_LANES);
}

/* Whatever the type, as f32. */
static void add_decoded(stats_piece *piece, enum dtype t, const void *src, size_t n,
			struct stats_lanes *s)
{
	float values[STATS_PIECE];

	dtype_to_f32(t, src, values, n);
	piece(DTYPE_F32, values, n, s);
}

/* What a level has left in its lanes. */
static void fold(struct stats_lanes *s)
{
	struct tensor_stats *total = &s->total;

	for (int k = 0; k < TENSOR_LANES; k++) {
		total->min = s->min[k] < total->min ? s->min[k] : total->min;
		total->max = s->max[k] > total->max ? s->max[k] : total->max;
		total->zeros += s->zeros[k];
	}
}

static double tree(double *lanes)
{
	for (int half = TENSOR_LANES / 2; half > 0; half /= 2)
		for (int k = 0; k < half; k++)
			lanes[k] += lanes[k + half];
	return isnan(lanes[0]) ? NAN : lanes[0]; /* no sign: processors differ */
}

void tensor_stats_chunk_by(stats_piece *piece, enum dtype t, const void *data, size_t n,
			   struct tensor_stats *out)
{
	struct stats_lanes s = { .total = { .n = n } };
	const struct dtype_info *info = dtype_info(t);
	bool native = t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;

	s.total.min = INFINITY;
	s.total.max = -INFINITY;
	for (int k = 0; k < TENSOR_LANES; k++) {
		s.min[k] = INFINITY;
		s.max[k] = -INFINITY;
	}
	for (size_t done = 0; done < n; done += STATS_PIECE) {
		const char *src = (const char *)data + done / info->block * info->bytes;
		size_t some = n - done < STATS_PIECE ? n - done : STATS_PIECE;

		if (native)
			piece(t, src, some, &s);
		else if (dtype_is_wide(t))
			add_wide(t, src, some, &s);
		else
			add_decoded(piece, t, src, some, &s);
	}
	fold(&s);
	*out = s.total;
	out->min += 0.0; /* -0 and +0 are equal: which of them came first says nothing */
	out->max += 0.0;
	out->sum = tree(s.sum);
	out->sum_squares = tree(s.squares);
}

void tensor_stats_chunk_ref(enum dtype t, const void *data, size_t n, struct tensor_stats *out)
{
	tensor_stats_chunk_by(tensor_stats_piece_ref, t, data, n, out);
}
