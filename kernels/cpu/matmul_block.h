/*
 * kernels/cpu/matmul_block.h - the sums of a block of the result of a product, slice of k by slice, and where they go
 *
 * One right panel of a slice meets all left panels of a group of rows. The first slice's sums begin with 0, those of others with what stands in
 * a block of f32; the last one's go from registers to the result, where at most a residual is added (or the result that was there, in
 * matmul_acc), else by way of that block and the epilogue, a few columns at a time, while they are in L1.
 */
#ifndef KERNELS_CPU_MATMUL_BLOCK_H
#define KERNELS_CPU_MATMUL_BLOCK_H

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/gemm_blocks.h"

SIMD_INLINE size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

SIMD_INLINE size_t ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

SIMD_INLINE size_t round_up(size_t n, size_t to)
{
	return ceiling(n, to) * to;
}

/* What a call works with. */
struct matmul_work {
	const struct kernel_call *c;
	struct product p;
	bool accumulate;
	struct gemm_blocks blocks; /* at most; no deeper and wider than the matrices */
	float *left, *sums;	   /* of this part */
};

/* From row to row of the sums: no power of two, whose rows would share sets of L1. */
SIMD_INLINE size_t sums_step(const struct matmul_work *w)
{
	return w->blocks.columns + 16;
}

/* Some rows and columns of matrix BATCH of the result. */
struct matmul_block {
	size_t batch, row, rows, column, columns;
};

SIMD_INLINE bool by_chains(const struct product *p)
{
	/* Who multiplies block-quantized weights in f32 asks for exactness, not for speed: that is what rounded rows are for. */
	return dtype_info(p->b->dtype)->block % GEMM_CHAIN == 0;
}

/* Where the sums of a block go after the last slice of k. */
struct result {
	const struct kernel_tensor *out;
	const struct kernel_tensor *plus; /* a residual, or what is accumulated to; or NULL */
	ptrdiff_t at, plus_at;		  /* of the first row and column */
	bool direct;			  /* from registers, where no more than PLUS is added */
};

SIMD_INLINE bool is_plain(const struct kernel_tensor *t)
{
	return t->dtype == DTYPE_F32 && t->stride[t->n_axes - 1] == 1;
}

SIMD_INLINE struct result result_of(const struct matmul_work *w, const struct matmul_block *b)
{
	const struct matmul_attributes *m = w->c->attributes;
	const struct kernel_tensor *out = w->p.out;
	struct result r = { .out = out, .at = product_row(&w->p, out, b->batch, b->row) };

	r.at += (ptrdiff_t)b->column;
	r.direct = is_plain(out) && !by_chains(&w->p);
	if (w->accumulate) {
		r.plus = out;
		r.plus_at = r.at;
		return r;
	}
	r.direct &= !epilogue_has(w->c, 2) && !m->activation;
	if (!epilogue_has(w->c, 3))
		return r;
	r.plus = &w->c->in[3];
	r.plus_at = product_row(&w->p, r.plus, b->batch, b->row) + (ptrdiff_t)b->column;
	r.direct &= is_plain(r.plus);
	return r;
}

SIMD_INLINE ptrdiff_t row_step(const struct kernel_tensor *t)
{
	return t->stride[t->n_axes - 2];
}

/* Lines of the result come into the cache while the sums are made that go there. */
SIMD_INLINE void ask_result(const struct result *r, size_t row, size_t column)
{
	ptrdiff_t step = row_step(r->out), at = r->at + (ptrdiff_t)row * step + (ptrdiff_t)column;
	const uint8_t *line = (const uint8_t *)r->out->data + operand_bytes(r->out->dtype, at);

	step *= (ptrdiff_t)operand_bytes(r->out->dtype, 1);
	for (int i = 0; i < GEMM_ROWS; i++)
		__builtin_prefetch(line + i * step, 1, 2);
}

/* The sums of the next tile, which the groups and slices between have driven out of L2, come meanwhile. */
SIMD_INLINE void ask_sums(const struct matmul_work *w, size_t row, size_t column)
{
	for (size_t i = 0; i < GEMM_ROWS; i++)
		__builtin_prefetch(w->sums + (row + i) * sums_step(w) + column, 1, 3);
}

/* A slice of k of a block: its first panels. */
struct slice {
	const float *left, *right;
	size_t kn;
	bool first, last;
};

SIMD_INLINE void finish(const struct matmul_work *w, const struct matmul_block *b, float *sums)
{
	for (size_t r = 0; r < b->rows; r++, sums += sums_step(w))
		if (w->accumulate)
			epilogue_accumulate(&w->p, b->row + r, b->column, b->columns, sums);
		else
			epilogue_row(w->c, &w->p, b->batch, b->row + r, b->column, b->columns,
				     sums);
}

/* The tile of panels LEFT and RIGHT, at ROW and COLUMN of the block; after the last slice to its place in R. */
SIMD_INLINE void sum_tile(const struct matmul_work *w, const struct matmul_block *b,
			  const struct slice *s, const struct result *r, const float *left,
			  const float *right, size_t row, size_t column)
{
	float *sums = w->sums + row * sums_step(w) + column;
	ptrdiff_t step = (ptrdiff_t)sums_step(w);
	struct gemm_ends e = {
		.from = s->first ? NULL : sums, .from_step = step, .to = sums, .to_step = step
	};
	bool whole = row + GEMM_ROWS <= b->rows && column + GEMM_COLUMNS <= b->columns;

	if (s->last && r->direct && whole) {
		e.to_step = row_step(r->out);
		e.to = (float *)r->out->data + r->at + (ptrdiff_t)row * e.to_step +
		       (ptrdiff_t)column;
		if (r->plus) {
			e.plus_step = row_step(r->plus);
			e.plus = (const float *)r->plus->data + r->plus_at +
				 (ptrdiff_t)row * e.plus_step + (ptrdiff_t)column;
		}
	}
	LEVEL_NAME(gemm_tile_ends)(left, right, s->kn, &e);
	if (s->last && r->direct && !whole) {
		struct matmul_block some = { .batch = b->batch,
					     .row = b->row + row,
					     .rows = least(GEMM_ROWS, b->rows - row),
					     .column = b->column + column,
					     .columns = least(GEMM_COLUMNS, b->columns - column) };

		finish(w, &some, sums);
	}
}

/* Rows FIRST to FIRST + ROWS - 1 and columns FROM to TO - 1 of a block over one slice. */
SIMD_INLINE void sum_slice(const struct matmul_work *w, const struct matmul_block *b,
			   const struct slice *s, const struct result *r, size_t first, size_t rows,
			   size_t from, size_t to)
{
	const size_t tiles = ceiling(rows, GEMM_ROWS), kn = s->kn, step = sums_step(w);
	const bool chains = by_chains(&w->p);

	for (size_t j = from; j < to; j += GEMM_COLUMNS)
		for (size_t i = 0; i < tiles; i++) {
			size_t row = first + i * GEMM_ROWS;
			const float *left = s->left + row * kn, *right = s->right + j * kn;

			gemm_ask(right + GEMM_COLUMNS * kn, kn, i, tiles);
			if (!s->first)
				ask_sums(w, row + GEMM_ROWS, j);
			if (s->last)
				ask_result(r, row, j);
			if (chains)
				LEVEL_NAME(gemm_tile_chains)
			(left, right, kn, w->sums + row * step + j, step);
			else sum_tile(w, b, s, r, left, right, row, j);
		}
}

/* So many columns are finished together. */
#define FINISH_COLUMNS 128

/* The last slice, and what follows the sums. */
SIMD_INLINE void sum_last(const struct matmul_work *w, const struct matmul_block *b,
			  const struct slice *s, size_t first, size_t rows)
{
	struct result r = result_of(w, b);

	if (r.direct) {
		sum_slice(w, b, s, &r, first, rows, 0, b->columns);
		return;
	}
	for (size_t j = 0; j < b->columns; j += FINISH_COLUMNS) {
		struct matmul_block some = { .batch = b->batch,
					     .row = b->row + first,
					     .rows = rows,
					     .column = b->column + j,
					     .columns = least(FINISH_COLUMNS, b->columns - j) };

		sum_slice(w, b, s, &r, first, rows, j, j + some.columns);
		finish(w, &some, w->sums + first * sums_step(w) + j);
	}
}

/* All columns of a slice, a group of rows at a time, whose left panels stay in L2. */
SIMD_INLINE void sum_groups(const struct matmul_work *w, const struct matmul_block *b,
			    const struct slice *s)
{
	size_t group = gemm_even(b->rows, w->blocks.rows, GEMM_ROWS);

	for (size_t i = 0; i < b->rows; i += group) {
		size_t rows = least(group, b->rows - i);

		if (s->last)
			sum_last(w, b, s, i, rows);
		else
			sum_slice(w, b, s, NULL, i, rows, 0, b->columns);
	}
}

/*
 * RIGHT is the packed right operand. PACKED: of one slice of k, whose left rows the columns before have packed; else a slice is, just
 * before it is used.
 */
SIMD_INLINE void sum_block(const struct matmul_work *w, const struct matmul_block *b, bool packed,
			   const float *right)
{
	const struct product *p = &w->p;
	size_t padded = round_up(p->n, GEMM_COLUMNS), k = 0;
	struct gemm_source source = { .t = p->a,
				      .at = product_at(p, p->a, b->batch),
				      .line = p->a->stride[p->row_axis],
				      .k = p->a->stride[p->row_axis + 1] };

	if (by_chains(p))
		memset(w->sums, 0, round_up(b->rows, GEMM_ROWS) * sums_step(w) * sizeof(float));
	do {
		size_t kn = least(w->blocks.depth, p->k - k);
		struct slice s = { .left = w->left,
				   .right = right + k * padded + b->column * kn,
				   .kn = kn,
				   .first = k == 0,
				   .last = k + kn >= p->k };

		if (!packed)
			LEVEL_NAME(gemm_pack)
		(&source, b->row, b->rows, k, kn, GEMM_ROWS, GEMM_ROWS * kn, w->left);
		sum_groups(w, b, &s);
		k += kn;
	} while (k < p->k);
}

#endif
