/*
 * kernels/cpu/attention_grad.h - what the gradient of attention keeps, and where
 *
 * Scratch, in floats: positions and documents of keys; where dq has begun; the bias's sum over heads; per head of keys and tile of columns its rows of
 * q and dout with what belongs to them; per range of keys dq of each tile of columns; rooms of parts.
 */
#ifndef KERNELS_CPU_ATTENTION_GRAD_H
#define KERNELS_CPU_ATTENTION_GRAD_H

#include "kernels/cpu/attention_seen.h"

/* Ranges of keys of all heads together: as many as 2, 3, 4 and 6 parts share evenly. */
#define ATTENTION_RANGES 12

/*
 * Tiles of keys of a range that a tile of columns meets one after another, so that its q, dout and dq come half as often from the
 * third level of the cache: 3 % of the time at T = 4096 on Zen 3. Three would not fit beside them in 512 kB.
 */
#define ATTENTION_TOGETHER 2

enum { ATTENTION_DOUT, ATTENTION_OUT, ATTENTION_LSE, ATTENTION_OPERANDS };

struct attention_grad {
	struct attention t;
	const struct kernel_call *c;
	size_t ranges; /* of the keys of a head: range r has every RANGES-th tile from r on */
	bool shared_bias;
	size_t step, value_step; /* of rows: dims in whole GEMM_COLUMNS */
};

SIMD_INLINE struct attention_grad attention_grad_of(const struct kernel_call *c)
{
	struct attention_grad g = { .t = attention_of(c, ATTENTION_OPERANDS), .c = c };

	g.shared_bias = g.t.bias && g.t.bias->shape[0] == 1;
	g.ranges =
		g.shared_bias ? ATTENTION_RANGES : (ATTENTION_RANGES + g.t.heads - 1) / g.t.heads;
	g.ranges = g.ranges < g.t.tiles ? g.ranges : g.t.tiles;
	g.step = attention_up(g.t.dim, GEMM_COLUMNS);
	g.value_step = attention_up(g.t.value_dim, GEMM_COLUMNS);
	return g;
}

/* A tile of columns: q times the scale and log2 e and dout by rows, log-sum-exps times log2 e, and D. */
struct attention_block {
	float *q, *dout, *lse, *d;
	struct attention_columns *columns;
	int32_t *finite; /* whether all of q is, and all of dout */
};

/* What a part works on. */
struct attention_room {
	float *p, *ds;				/* scores, columns down and keys across */
	float *added;				/* to the scores of a column */
	float *key, *key_across, *value_across; /* a tile of keys, by rows and by panels */
	float *dk, *dv;				/* of the tile, by rows */
};

#define ATTENTION_COLUMNS_FLOATS (sizeof(struct attention_columns) / sizeof(float))

SIMD_INLINE size_t attention_block_size(const struct attention_grad *g)
{
	return attention_up(
		ATTENTION_TILE * (g->step + g->value_step + 2) + ATTENTION_COLUMNS_FLOATS + 2, 16);
}

/* What it keeps of a tile of keys. */
SIMD_INLINE size_t attention_keys_room_size(const struct attention_grad *g)
{
	return ATTENTION_TILE * (2 * g->step + g->value_step + g->t.dim + g->t.value_dim);
}

SIMD_INLINE size_t attention_room_size(const struct attention_grad *g)
{
	return attention_up(ATTENTION_TOGETHER * attention_keys_room_size(g) +
				    ATTENTION_TILE * (2 * ATTENTION_TILE + 1),
			    16);
}

/* dq of a tile of columns, from one range of keys. */
SIMD_INLINE size_t attention_dq_size(const struct attention_grad *g)
{
	return ATTENTION_TILE * g->step;
}

/* Which of these have anything. */
SIMD_INLINE size_t attention_begun_size(const struct attention_grad *g)
{
	return attention_up(g->ranges * g->t.heads * g->t.blocks, 16);
}

SIMD_INLINE size_t attention_bias_size(const struct attention_grad *g)
{
	return g->shared_bias ? attention_up(g->t.rows * g->t.keys, 16) : 0;
}

SIMD_INLINE size_t attention_grad_scratch(const struct kernel_call *c)
{
	struct attention_grad g = attention_grad_of(c);
	size_t blocks = g.t.heads * g.t.blocks;

	return (attention_keys_size(&g.t) + attention_begun_size(&g) + attention_bias_size(&g) +
		blocks * (attention_block_size(&g) + g.ranges * attention_dq_size(&g)) +
		(size_t)c->parts * attention_room_size(&g)) *
	       sizeof(float);
}

SIMD_INLINE struct attention_keys attention_keys_at(const struct attention_grad *g)
{
	return attention_keys_in(&g->t, g->c->scratch);
}

SIMD_INLINE int32_t *attention_begun_at(const struct attention_grad *g, size_t range, size_t head,
					size_t block)
{
	return (int32_t *)g->c->scratch + attention_keys_size(&g->t) +
	       (range * g->t.heads + head) * g->t.blocks + block;
}

SIMD_INLINE float *attention_bias_at(const struct attention_grad *g)
{
	return (float *)g->c->scratch + attention_keys_size(&g->t) + attention_begun_size(g);
}

SIMD_INLINE struct attention_block attention_block_at(const struct attention_grad *g, size_t head,
						      size_t block)
{
	struct attention_block b;

	b.q = attention_bias_at(g) + attention_bias_size(g) +
	      (head * g->t.blocks + block) * attention_block_size(g);
	b.dout = b.q + ATTENTION_TILE * g->step;
	b.lse = b.dout + ATTENTION_TILE * g->value_step;
	b.d = b.lse + ATTENTION_TILE;
	b.columns = (struct attention_columns *)(void *)(b.d + ATTENTION_TILE);
	b.finite = (int32_t *)(b.columns + 1);
	return b;
}

SIMD_INLINE float *attention_dq_at(const struct attention_grad *g, size_t range, size_t head,
				   size_t block)
{
	size_t blocks = g->t.heads * g->t.blocks;
	float *first =
		attention_bias_at(g) + attention_bias_size(g) + blocks * attention_block_size(g);

	return first + (range * blocks + head * g->t.blocks + block) * attention_dq_size(g);
}

/* With the TURN-th of the tiles of keys that are worked on together. */
SIMD_INLINE struct attention_room attention_room_at(const struct attention_grad *g, size_t turn)
{
	float *first = attention_dq_at(g, g->ranges, 0, 0);
	struct attention_room r;

	r.p = first + (size_t)g->c->part * attention_room_size(g);
	r.ds = r.p + ATTENTION_SQUARE;
	r.added = r.ds + ATTENTION_SQUARE;
	r.key = r.added + ATTENTION_TILE + turn * attention_keys_room_size(g);
	r.key_across = r.key + ATTENTION_TILE * g->step;
	r.value_across = r.key_across + ATTENTION_TILE * g->t.dim;
	r.dk = r.value_across + ATTENTION_TILE * g->t.value_dim;
	r.dv = r.dk + ATTENTION_TILE * g->step;
	return r;
}

/* A tile of keys of a head towards a tile of columns. */
struct attention_pair {
	const struct attention_grad *g;
	struct attention_room r;
	struct attention_keys k;
	size_t head, tile, keys;
	struct attention_block q;
	size_t block, columns;
	const float *next, *next_dq; /* q and dout, dq of the next tile of columns, or NULL */
	struct attention_span seen[ATTENTION_PANELS]; /* the columns that see keys of each panel */
	bool whole;				      /* all columns see all keys of the tile */
	bool finite;				      /* all elements of the tile's keys are */
};

/* Of ALL, how many are in tile TILE. */
SIMD_INLINE size_t attention_in_tile(size_t all, size_t tile)
{
	size_t left = all - tile * ATTENTION_TILE;

	return left < ATTENTION_TILE ? left : ATTENTION_TILE;
}

/* p and ds of a tile of keys and a tile of columns; false when no column sees any key (attention_slopes.c). */
bool LEVEL_NAME(attention_slopes)(struct attention_pair *w);
/* Where values of dbias of query I of head H with keys from KEY on lie in B. */
SIMD_INLINE ptrdiff_t attention_bias_offset(const struct kernel_tensor *b, size_t h, size_t i,
					    size_t key)
{
	return (b->shape[0] == 1 ? 0 : (ptrdiff_t)h * b->stride[0]) + (ptrdiff_t)i * b->stride[1] +
	       (ptrdiff_t)key;
}

#endif
