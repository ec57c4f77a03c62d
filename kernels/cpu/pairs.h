/*
 * kernels/cpu/pairs.h - products of bf16 by units that multiply two elements of k at once
 *
 * Both operands are packed (pairs_pack.h): lines and elements beyond the ends are zeros.
 *
 * A file that includes this defines PAIRS_ROWS, of a left panel; PAIRS_STEP, left panels that pairs_tile takes at once;
 * PAIRS_BLOCK, the most rows in L2, a multiple of both; PAIRS_NAME; and pairs_tile. This file then defines its two kernels. The
 * sums of a tile are of f32: they take the pieces in the order of k, from the sums that are there on, so that no cut of the work
 * changes a bit.
 *
 * Phase 0 packs the whole right operand; in phase 1 each thread takes blocks of rows, packs them, and runs over the columns.
 * Sizes, for 48 kB of L1 and 1 to 2 MB of L2 a core: PAIRS_NEAR pieces of two right panels are 24 kB and stay in L1 while the
 * block's rows, in L2, go by; the next ones are asked for meanwhile. A sum over more than PAIRS_DEEP pieces is cut, so that
 * PAIRS_CUT pieces of the rows and all sums of the block stay in L2.
 */
#ifndef KERNELS_CPU_PAIRS_H
#define KERNELS_CPU_PAIRS_H

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/pairs_pack.h"

#define PAIRS_GROUP 128 /* columns that are finished at once */
/* Of sums: rows in a column fall into all sets of a cache. */
#define PAIRS_STRIDE (PAIRS_GROUP + 16)
#define PAIRS_WIDE   1024 /* columns of a block */
#define PAIRS_NEAR   12
#define PAIRS_DEEP   64
#define PAIRS_CUT    32

/*
 * C, PAIRS_STEP panels of rows, PAIRS_STRIDE apart, by two right panels, += the product over PIECES; = it when FIRST. Panels
 * lie LEFT_PANEL and RIGHT_PANEL bytes apart. Only ROWS of the rows are needed. Per piece, 4 lines from AHEAD on are asked for.
 */
static void pairs_tile(const uint8_t *left, size_t left_panel, const uint8_t *right,
		       size_t right_panel, size_t pieces, float *c, size_t rows, bool first,
		       uintptr_t ahead);
/* Around all tiles of a run. */
static void pairs_begin(void);
static void pairs_end(void);

/* --- how the work is cut --- */

struct pairs {
	struct product p;
	size_t pieces;	   /* of k; at least one, of zeros when k is 0 */
	size_t cut;	   /* pieces of the left block that are packed at a time */
	size_t rows, wide; /* of a block: by the number of parts, which changes no bit */
	size_t down, across;
};

SIMD_INLINE size_t pairs_ceiling(size_t n, size_t by)
{
	return n / by + (n % by != 0);
}

SIMD_INLINE void pairs_count(struct pairs *w)
{
	w->down = pairs_ceiling(w->p.m, w->rows);
	w->across = pairs_ceiling(w->p.n, w->wide);
}

SIMD_INLINE struct pairs pairs_of(const struct kernel_call *c, int first)
{
	struct pairs w = { .p = product_of(c, first), .rows = PAIRS_BLOCK, .wide = PAIRS_WIDE };
	size_t enough = 4 * (size_t)c->parts;

	w.pieces = w.p.k ? pairs_ceiling(w.p.k, PAIRS_PIECE) : 1;
	w.cut = w.pieces > PAIRS_DEEP ? PAIRS_CUT : w.pieces;
	pairs_count(&w);
	/* Smaller blocks where there are too few for all, but not so small that packing costs more than sums. */
	while (c->parts > 1 && w.p.batches * w.down * w.across < enough &&
	       (w.wide > 4 * PAIRS_GROUP || w.rows > PAIRS_BLOCK / 2)) {
		if (w.wide > 4 * PAIRS_GROUP)
			w.wide /= 2;
		else
			w.rows = PAIRS_BLOCK / 2;
		pairs_count(&w);
	}
	return w;
}

/* --- kept: the packed right operands. Scratch: for each part its left rows and its sums --- */

SIMD_INLINE size_t pairs_right_size(const struct pairs *w)
{
	return pairs_ceiling(w->p.n, 2 * PAIRS_COLUMNS) * 2 * w->pieces * PAIRS_RIGHT;
}

SIMD_INLINE size_t pairs_left_size(const struct pairs *w)
{
	return w->rows / PAIRS_ROWS * w->cut * PAIRS_LEFT;
}

SIMD_INLINE size_t pairs_part_size(const struct pairs *w)
{
	size_t groups = w->cut < w->pieces ? w->wide / PAIRS_GROUP : 1;

	return pairs_left_size(w) + groups * w->rows * PAIRS_STRIDE * sizeof(float);
}

SIMD_INLINE size_t pairs_scratch(const struct kernel_call *c, int first)
{
	struct pairs w = pairs_of(c, first);

	return (size_t)c->parts * pairs_part_size(&w);
}

SIMD_INLINE size_t pairs_kept(const struct kernel_call *c, int first, int *in)
{
	struct pairs w = pairs_of(c, first);

	*in = first + 1;
	return w.p.b_batches * pairs_right_size(&w);
}

/* --- phase 0 --- */

SIMD_INLINE void pairs_pack_right(const struct kernel_call *c, const struct pairs *w)
{
	const struct kernel_tensor *b = w->p.b;
	size_t groups = pairs_ceiling(w->p.n, PAIRS_GROUP), from, to;
	struct pairs_source s = { .line = b->stride[b->n_axes - 1],
				  .k = b->stride[b->n_axes - 2],
				  .lines = w->p.n,
				  .depth = w->p.k };

	kernel_share(groups * w->p.b_batches, 1, c->part, c->parts, &from, &to);
	for (size_t g = from; g < to; g++) {
		size_t which = g / groups, first = g % groups * PAIRS_GROUP;
		size_t columns = pairs_some(w->p.n, first, PAIRS_GROUP);

		s.data = (const uint16_t *)b->data + product_right_at(&w->p, which);
		pairs_pack(&s, first, pairs_ceiling(columns, 2 * PAIRS_COLUMNS) * 2, PAIRS_COLUMNS,
			   0, w->pieces, false, w->pieces * PAIRS_RIGHT,
			   (uint8_t *)c->kept + which * pairs_right_size(w) +
				   first / PAIRS_COLUMNS * w->pieces * PAIRS_RIGHT);
	}
}

/* --- phase 1 --- */

struct pairs_block {
	size_t batch, row, rows, column, columns;
	const uint8_t *right; /* all panels of the batch */
	uint8_t *left;
	float *sums;
};

/* Panels COLUMN / 16 and the next one, pieces PIECE to PIECE + N - 1 of CUT that are packed, by all rows. */
SIMD_INLINE void pairs_sum_panel(const struct pairs *w, const struct pairs_block *b, size_t column,
				 size_t piece, size_t n, float *sums)
{
	size_t right_panel = w->pieces * PAIRS_RIGHT, left_panel = w->cut * PAIRS_LEFT;
	const uint8_t *right = b->right + column / PAIRS_COLUMNS * right_panel;
	size_t step = PAIRS_STEP * PAIRS_ROWS;

	for (size_t i = 0, many; i < n; i += many) {
		const uint8_t *here = right + (piece + i) * PAIRS_RIGHT;
		uintptr_t next;

		many = n - i < PAIRS_NEAR ? n - i : PAIRS_NEAR;
		next = (uintptr_t)here +
		       (i + many < n ? many * PAIRS_RIGHT : 2 * right_panel - i * PAIRS_RIGHT);
		for (size_t r = 0; r < b->rows; r += step)
			pairs_tile(b->left + r / PAIRS_ROWS * left_panel + i * PAIRS_LEFT,
				   left_panel, here, right_panel, many, sums + r * PAIRS_STRIDE,
				   b->rows - r < step ? b->rows - r : step, piece + i == 0,
				   next + r / step / 4 % 2 * right_panel +
					   r / step % 4 * 4 * PAIRS_LINE);
	}
}

/* Sums without an epilogue, as bf16: they are never subnormal, so that the units' own instruction rounds as others do. */
SIMD_INLINE void pairs_store_bf16(const float *x, size_t n, uint8_t *out)
{
	size_t j = 0;

	for (; j + 32 <= n; j += 32) {
		__m512bh y =
			_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + j + 16), _mm512_loadu_ps(x + j));

		memcpy(out + 2 * j, &y, sizeof(y));
	}
	operand_store(DTYPE_BF16, x + j, out + 2 * j, n - j);
}

SIMD_INLINE bool pairs_plain(const struct kernel_call *c)
{
	const struct matmul_attributes *m = c->attributes;

	return c->out[0].dtype == DTYPE_BF16 && !m->activation && !epilogue_has(c, 2) &&
	       !epilogue_has(c, 3);
}

SIMD_INLINE void pairs_finish(const struct kernel_call *c, const struct pairs *w,
			      const struct pairs_block *b, size_t column, bool accumulate,
			      float *sums)
{
	size_t n = pairs_some(b->column + b->columns, column, PAIRS_GROUP);
	const struct kernel_tensor *out = w->p.out;

	for (size_t r = 0; r < b->rows; r++) {
		float *x = sums + r * PAIRS_STRIDE;
		ptrdiff_t at;

		if (accumulate)
			epilogue_accumulate(&w->p, b->row + r, column, n, x);
		else if (!pairs_plain(c))
			epilogue_row(c, &w->p, b->batch, b->row + r, column, n, x);
		else {
			at = product_row(&w->p, out, b->batch, b->row + r) + (ptrdiff_t)column;
			pairs_store_bf16(x, n, (uint8_t *)out->data + 2 * at);
		}
	}
}

/* A block: the rows are packed a cut of k at a time, and the sums of all columns go on. */
SIMD_INLINE void pairs_block(const struct kernel_call *c, const struct pairs *w,
			     const struct pairs_block *b, bool packed, bool accumulate)
{
	const struct kernel_tensor *a = w->p.a;
	struct pairs_source s = { .data = (const uint16_t *)a->data +
					  product_at(&w->p, a, b->batch),
				  .line = a->stride[w->p.row_axis],
				  .k = a->stride[w->p.row_axis + 1],
				  .lines = b->row + b->rows,
				  .depth = w->p.k };
	size_t step = PAIRS_STEP * PAIRS_ROWS;

	for (size_t piece = 0; piece < w->pieces; piece += w->cut) {
		size_t n = pairs_some(w->pieces, piece, w->cut);

		if (!packed)
			pairs_pack(&s, b->row, pairs_ceiling(b->rows, step) * PAIRS_STEP,
				   PAIRS_ROWS, piece * PAIRS_PIECE, n, true, w->cut * PAIRS_LEFT,
				   b->left);
		for (size_t j = 0; j < b->columns; j += PAIRS_GROUP) {
			float *sums = b->sums;

			if (w->cut < w->pieces)
				sums += j / PAIRS_GROUP * w->rows * PAIRS_STRIDE;
			for (size_t i = 0; i < PAIRS_GROUP && j + i < b->columns;
			     i += 2 * PAIRS_COLUMNS)
				pairs_sum_panel(w, b, b->column + j + i, piece, n, sums + i);
			if (piece + n == w->pieces)
				pairs_finish(c, w, b, b->column + j, accumulate, sums);
		}
	}
}

/* Blocks of the same rows follow each other, so that these are packed once where k is in one cut. */
SIMD_INLINE void pairs_blocks(const struct kernel_call *c, const struct pairs *w, bool accumulate)
{
	const uint8_t *rights = c->kept;
	uint8_t *room = (uint8_t *)c->scratch + (size_t)c->part * pairs_part_size(w);
	size_t from, to;

	kernel_share(w->p.batches * w->down * w->across, 1, c->part, c->parts, &from, &to);
	if (from == to)
		return;
	pairs_begin();
	for (size_t i = from; i < to; i++) {
		struct pairs_block b = { .batch = i / w->across / w->down,
					 .row = i / w->across % w->down * w->rows,
					 .column = i % w->across * w->wide,
					 .left = room,
					 .sums = (float *)(room + pairs_left_size(w)) };

		b.rows = pairs_some(w->p.m, b.row, w->rows);
		b.columns = pairs_some(w->p.n, b.column, w->wide);
		b.right = rights + product_right(&w->p, b.batch) * pairs_right_size(w);
		pairs_block(c, w, &b, i > from && b.column && w->cut == w->pieces, accumulate);
	}
	pairs_end();
}

SIMD_INLINE void pairs_run(const struct kernel_call *c, int first)
{
	struct pairs w = pairs_of(c, first);

	if (c->phase == 0)
		pairs_pack_right(c, &w);
	else
		pairs_blocks(c, &w, first == 1);
}

/* --- what is claimed: bf16 by bf16, enough rows to pay for packing b --- */

#define PAIRS_FEW 16

SIMD_INLINE bool pairs_operand(const struct kernel_tensor *t)
{
	int n = t->n_axes;

	return t->dtype == DTYPE_BF16 && n >= 2 && (t->stride[n - 1] == 1 || t->stride[n - 2] == 1);
}

SIMD_INLINE bool pairs_claims(const struct kernel_call *c, int first)
{
	return pairs_operand(&c->in[first]) && pairs_operand(&c->in[first + 1]) &&
	       product_of(c, first).m >= PAIRS_FEW;
}

static bool claims_matmul(const struct kernel_call *c)
{
	return product_is_exact(c) && pairs_claims(c, 0) && epilogue_serves(c);
}

static bool claims_matmul_acc(const struct kernel_call *c)
{
	return pairs_claims(c, 1) && epilogue_accumulates(c);
}

static size_t scratch_matmul(const struct kernel_call *c)
{
	return pairs_scratch(c, 0);
}

static size_t scratch_matmul_acc(const struct kernel_call *c)
{
	return pairs_scratch(c, 1);
}

static size_t kept_matmul(const struct kernel_call *c, int *in)
{
	return pairs_kept(c, 0, in);
}

static size_t kept_matmul_acc(const struct kernel_call *c, int *in)
{
	return pairs_kept(c, 1, in);
}

static void run_matmul(const struct kernel_call *c)
{
	pairs_run(c, 0);
}

static void run_matmul_acc(const struct kernel_call *c)
{
	pairs_run(c, 1);
}

const struct kernel LEVEL_NAME(matmul);
const struct kernel LEVEL_NAME(matmul) = {
	.op = "matmul",
	.variant = PAIRS_NAME,
	.claims = claims_matmul,
	.scratch = scratch_matmul,
	.kept = kept_matmul,
	.phases = 2,
	.run = run_matmul,
};

const struct kernel LEVEL_NAME(matmul_acc);
const struct kernel LEVEL_NAME(matmul_acc) = {
	.op = "matmul_acc",
	.variant = PAIRS_NAME,
	.claims = claims_matmul_acc,
	.scratch = scratch_matmul_acc,
	.kept = kept_matmul_acc,
	.phases = 2,
	.run = run_matmul_acc,
};

#endif
