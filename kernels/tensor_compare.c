/* kernels/tensor_compare.c - chooses the level's kernel, and adds chunks up */
#include <math.h>

#include "kernels/tensor_lanes.h"

static compare_piece *const pieces[LEVEL_COUNT] = {
#define PIECE(name, base) [LEVEL_##name] = tensor_compare_piece_##base,
	LEVEL_LIST(PIECE)
#undef PIECE
};

void tensor_compare_start(struct tensor_compare *c)
{
	*c = (struct tensor_compare){
		.first_differ = TENSOR_NOWHERE,
		.first_nan = TENSOR_NOWHERE,
		.max_abs_at = TENSOR_NOWHERE,
		.max_rel_at = TENSOR_NOWHERE,
	};
}

void tensor_compare_chunk(enum level level, enum dtype type_a, const void *a, enum dtype type_b,
			  const void *b, size_t n, struct tensor_tolerance tolerance,
			  struct tensor_compare *out)
{
	tensor_compare_chunk_by(pieces[level], type_a, a, type_b, b, n, tolerance, out);
}

/* A place in NEXT, after FROM elements. */
static uint64_t moved(uint64_t at, uint64_t from)
{
	return at == TENSOR_NOWHERE ? at : at + from;
}

void tensor_compare_add(struct tensor_compare *total, const struct tensor_compare *next)
{
	if (total->first_differ == TENSOR_NOWHERE)
		total->first_differ = moved(next->first_differ, total->n);
	if (total->first_nan == TENSOR_NOWHERE)
		total->first_nan = moved(next->first_nan, total->n);
	if (next->max_abs > total->max_abs) {
		total->max_abs = next->max_abs;
		total->max_abs_at = moved(next->max_abs_at, total->n);
	}
	if (next->max_rel > total->max_rel) {
		total->max_rel = next->max_rel;
		total->max_rel_at = moved(next->max_rel_at, total->n);
	}
	total->n += next->n;
	total->n_differ += next->n_differ;
	total->nan_one += next->nan_one;
	total->nan_both += next->nan_both;
	total->dot += next->dot;
	total->a_squares += next->a_squares;
	total->b_squares += next->b_squares;
}

double tensor_compare_cosine(const struct tensor_compare *c)
{
	if (c->a_squares == 0 || c->b_squares == 0)
		return c->a_squares == c->b_squares ? 1 : 0;
	return c->dot / (sqrt(c->a_squares) * sqrt(c->b_squares));
}
