/*
 * kernels/cpu/attention_few.h - what the files of attention of few queries share
 *
 * One query and one tile of the keys that it sees give, for each head,
 *
 *	m = max s,  l = sum exp(s - m),  o = sum exp(s - m) v
 */
#ifndef KERNELS_CPU_ATTENTION_FEW_H
#define KERNELS_CPU_ATTENTION_FEW_H

#include "kernels/cpu/attention.h"

#define FEW_STRETCH  32			   /* of a row: dims are multiples of it */
#define FEW_TOGETHER 4			   /* heads of a group at once; its last ones are fewer */
#define FEW_SCORES   (ATTENTION_TILE + 16) /* from a head's scores to the next one's */

/* Of the heads of a group: o, m and l, one behind the other. */
struct few_state {
	float *out;	   /* [group, value_dim] */
	float *most, *sum; /* [group] */
};

SIMD_INLINE size_t few_state_floats(const struct attention *t)
{
	return attention_up(t->group * (t->value_dim + 2), 16);
}

SIMD_INLINE struct few_state few_state_at(const struct attention *t, float *p)
{
	return (struct few_state){ .out = p,
				   .most = p + t->group * t->value_dim,
				   .sum = p + t->group * (t->value_dim + 1) };
}

/* Keys of one tile that a query sees, and what it asks of them. */
struct few_tile {
	const struct attention *t;
	size_t from, to; /* heads of keys */
	const float *
		q; /* [heads of keys, group, dim], times the scale: of FEW_TOGETHER heads a vector of each, then the next ones */
	const int32_t *rows; /* of the cache */
	size_t n;	     /* 1 to ATTENTION_TILE */
	float *scores;	     /* room: [heads of keys, group, FEW_SCORES] */
	const uint8_t *
		next; /* rows of keys that come next, side by side, as many bytes as these have; NULL: none */
};

/* The states of heads FROM to TO - 1, one after another at STATES. */
void LEVEL_NAME(attention_few_tile)(const struct few_tile *f, float *states);

#endif
