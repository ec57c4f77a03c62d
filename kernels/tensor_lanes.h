/*
 * kernels/tensor_lanes.h - chunks in the making: what tensor_stats and tensor_compare share
 *
 * A chunk is worked on in pieces, each a multiple of TENSOR_LANES elements but for the last. A
 * piece function adds to the accumulators; that of a level leaves to the one of ref what
 * is rare (values that are not finite) or short (the last few elements).
 */
#ifndef KERNELS_TENSOR_LANES_H
#define KERNELS_TENSOR_LANES_H

#include "kernels/tensor_compare.h"

#define TENSOR_LANES  16
#define COMPARE_LANES 8
#define STATS_PIECE   1024 /* multiples of every block, at most WIDE_MAX */
#define COMPARE_PIECE 1024

/* Extremes and zeros are in part in the lanes, where a level keeps its own, until the chunk ends. */
struct stats_lanes {
	struct tensor_stats total; /* but for the sums */
	float min[TENSOR_LANES], max[TENSOR_LANES];
	uint32_t zeros[TENSOR_LANES];
	double sum[TENSOR_LANES], squares[TENSOR_LANES];
};

/* N elements of f32, f16 or bf16, as they lie in memory, after a multiple of 16. */
typedef void stats_piece(enum dtype t, const void *src, size_t n, struct stats_lanes *s);

struct compare_lanes {
	struct tensor_compare total; /* but for the sums; n is where the next piece starts */
	struct tensor_tolerance tolerance;
	double dot[COMPARE_LANES], aa[COMPARE_LANES], bb[COMPARE_LANES];
};

/* N pairs of f32, f16 or bf16, both of type T, after a multiple of 16. Adds N to total.n. */
typedef void compare_piece(enum dtype t, const void *a, const void *b, size_t n,
			   struct compare_lanes *c);

stats_piece tensor_stats_piece_ref;
compare_piece tensor_compare_piece_ref;

#define LANES_PIECES(name)              \
 stats_piece tensor_stats_piece_##name; \
 compare_piece tensor_compare_piece_##name;
LEVEL_BASES(LANES_PIECES)
#undef LANES_PIECES

/* A chunk by a piece function. */
void tensor_stats_chunk_by(stats_piece *piece, enum dtype t, const void *data, size_t n,
			   struct tensor_stats *out);
void tensor_compare_chunk_by(compare_piece *piece, enum dtype type_a, const void *a,
			     enum dtype type_b, const void *b, size_t n,
			     struct tensor_tolerance tolerance, struct tensor_compare *out);

/* A pair of numbers, not NaN, at place AT, whose differences are ABS and REL (0 where b is 0). */
static inline void compare_extremes(struct tensor_compare *c, double abs, double rel, uint64_t at)
{
	if (abs > c->max_abs) {
		c->max_abs = abs;
		c->max_abs_at = at;
	}
	if (rel > c->max_rel) {
		c->max_rel = rel;
		c->max_rel_at = at;
	}
}

#endif
