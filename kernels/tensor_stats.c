/* kernels/tensor_stats.c - chooses the level's kernel, and adds chunks up */
#include <math.h>

#include "kernels/tensor_lanes.h"

static stats_piece *const pieces[LEVEL_COUNT] = {
#define PIECE(name, base) [LEVEL_##name] = tensor_stats_piece_##base,
	LEVEL_LIST(PIECE)
#undef PIECE
};

void tensor_stats_start(struct tensor_stats *s)
{
	*s = (struct tensor_stats){ .min = INFINITY, .max = -INFINITY };
}

void tensor_stats_chunk(enum level level, enum dtype t, const void *data, size_t n,
			struct tensor_stats *out)
{
	tensor_stats_chunk_by(pieces[level], t, data, n, out);
}

void tensor_stats_add(struct tensor_stats *total, const struct tensor_stats *next)
{
	total->n += next->n;
	total->zeros += next->zeros;
	total->nans += next->nans;
	total->positive_infs += next->positive_infs;
	total->negative_infs += next->negative_infs;
	total->min = next->min < total->min ? next->min : total->min;
	total->max = next->max > total->max ? next->max : total->max;
	total->sum += next->sum;
	total->sum_squares += next->sum_squares;
}

static uint64_t n_finite(const struct tensor_stats *s)
{
	return s->n - s->nans - s->positive_infs - s->negative_infs;
}

double tensor_stats_mean(const struct tensor_stats *s)
{
	return n_finite(s) ? s->sum / (double)n_finite(s) : 0;
}

double tensor_stats_rms(const struct tensor_stats *s)
{
	return n_finite(s) ? sqrt(s->sum_squares / (double)n_finite(s)) : 0;
}
