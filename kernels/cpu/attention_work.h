/*
 * kernels/cpu/attention_work.h - what attention works on: a tile of columns and a tile of keys
 */
#ifndef KERNELS_CPU_ATTENTION_WORK_H
#define KERNELS_CPU_ATTENTION_WORK_H

#include "kernels/cpu/attention_seen.h"

/* What a part works on. */
struct attention_work_room {
	float *rows, *key, *value, *q, *out, *scores, *added;
	float *most, *sum, *factor; /* of each column */
};

struct attention_work {
	const struct attention *t;
	struct attention_columns columns;
	size_t head, first, n, value_step; /* columns of this tile */
	const float *key, *value;	   /* of the tile */
	struct attention_keys k;
	size_t tile, keys;			      /* of the tile */
	bool whole;				      /* all columns see all of them */
	bool finite;				      /* all values are */
	struct attention_span seen[ATTENTION_PANELS]; /* keys that the panel sees */
	struct attention_work_room r;
};

/* The scores of key J and a vector of columns. */
SIMD_INLINE float *attention_score_at(const struct attention_work *w, size_t j, size_t panel,
				      size_t v)
{
	return w->r.scores + j * ATTENTION_TILE + panel * GEMM_COLUMNS + v * SIMD_WIDTH;
}

/* Scores of a panel of columns and all keys that it sees, as probabilities towards its largest one so far (attention_scores.c). */
void LEVEL_NAME(attention_scores)(const struct attention_work *w, size_t panel);

#endif
