/*
 * kernels/cpu/matmul.c - matrix products of f32, bf16, f16 and, on the right, of block-quantized values, in f32
 *
 * Phase 0 packs the whole right operand, shared by all threads; in phase 1 each takes blocks of BLOCK_ROWS by BLOCK_COLUMNS
 * of the result, packs the rows of the left operand once for all its columns, sums in a block of f32 of its own, and
 * stores it with the epilogue. The sums do not depend on the cut (gemm.h).
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/gemm.h"

#define BLOCK_ROWS    96
#define BLOCK_COLUMNS 384 /* of the result: a multiple of every GEMM_COLUMNS */

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* --- scratch: the packed right operand, then for each part its left rows and its sums --- */

static size_t packed_size(const struct product *p)
{
	return round_up(p->n, GEMM_COLUMNS) * p->k;
}

static size_t part_size(const struct product *p)
{
	return BLOCK_ROWS * p->k + BLOCK_ROWS * BLOCK_COLUMNS;
}

static size_t scratch_of(const struct product *p, int parts)
{
	return (p->b_batches * round_up(packed_size(p), 16) +
		(size_t)parts * round_up(part_size(p), 16)) *
	       sizeof(float);
}

static float *packed_at(const struct kernel_call *c, const struct product *p, size_t which)
{
	return (float *)c->scratch + which * round_up(packed_size(p), 16);
}

static float *part_at(const struct kernel_call *c, const struct product *p)
{
	return packed_at(c, p, p->b_batches) + (size_t)c->part * round_up(part_size(p), 16);
}

/* --- phase 0 --- */

/* Groups of panels, GEMM_CHUNK columns each, are shared out. */
static void pack_right(const struct kernel_call *c, const struct product *p)
{
	size_t width = GEMM_CHUNK / GEMM_COLUMNS * GEMM_COLUMNS;
	size_t groups = (p->n + width - 1) / width, from, to;

	kernel_share(groups * p->b_batches, 1, c->part, c->parts, &from, &to);
	for (size_t g = from; g < to; g++) {
		struct gemm_source s = { .t = p->b, .at = product_right_at(p, g / groups) };
		size_t first = g % groups * width;
		size_t n = p->n - first < width ? p->n - first : width;

		s.line = p->b->stride[p->b->n_axes - 1];
		s.k = p->b->stride[p->b->n_axes - 2];
		LEVEL_NAME(gemm_pack)
		(&s, first, n, 0, p->k, GEMM_COLUMNS, p->k * GEMM_COLUMNS,
		 packed_at(c, p, g / groups) + first * p->k);
	}
}

/* --- phase 1 --- */

struct block {
	size_t batch, row, rows, column, columns;
};

static void sum_block(const struct product *p, const struct block *b, const float *left,
		      const float *right, float *sums)
{
	size_t tiles = (b->rows + GEMM_ROWS - 1) / GEMM_ROWS;

	memset(sums, 0, tiles * GEMM_ROWS * BLOCK_COLUMNS * sizeof(float));
	for (size_t k = 0; k < p->k; k += GEMM_DEPTH) {
		size_t kn = p->k - k < GEMM_DEPTH ? p->k - k : GEMM_DEPTH;

		for (size_t j = 0; j < b->columns; j += GEMM_COLUMNS)
			for (size_t i = 0; i < tiles; i++)
				LEVEL_NAME(gemm_tile)
		(left + i * GEMM_ROWS * p->k + k * GEMM_ROWS,
		 right + (b->column + j) * p->k + k * GEMM_COLUMNS, kn,
		 sums + i * GEMM_ROWS * BLOCK_COLUMNS + j, BLOCK_COLUMNS);
	}
}

/* Blocks are counted by row blocks, each with all its columns, so that left rows are packed once. */
static void run_blocks(const struct kernel_call *c, const struct product *p, bool accumulate)
{
	size_t down = (p->m + BLOCK_ROWS - 1) / BLOCK_ROWS;
	size_t across = (p->n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS, from, to;
	float *left = part_at(c, p), *sums = left + BLOCK_ROWS * p->k;
	size_t packed = SIZE_MAX;

	kernel_share(p->batches * down * across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct block b = { .batch = i / across / down,
				   .row = i / across % down * BLOCK_ROWS,
				   .column = i % across * BLOCK_COLUMNS };
		struct gemm_source s = { .t = p->a, .at = product_at(p, p->a, b.batch) };

		b.rows = p->m - b.row < BLOCK_ROWS ? p->m - b.row : BLOCK_ROWS;
		b.columns = p->n - b.column < BLOCK_COLUMNS ? p->n - b.column : BLOCK_COLUMNS;
		s.line = p->a->stride[p->row_axis];
		s.k = p->a->stride[p->row_axis + 1];
		if (packed != i / across)
			LEVEL_NAME(gemm_pack)
		(&s, b.row, b.rows, 0, p->k, GEMM_ROWS, GEMM_ROWS * p->k, left);
		packed = i / across;
		sum_block(p, &b, left, packed_at(c, p, product_right(p, b.batch)), sums);
		for (size_t r = 0; r < b.rows; r++)
			if (accumulate)
				epilogue_accumulate(p, b.row + r, b.column, b.columns,
						    sums + r * BLOCK_COLUMNS);
			else
				epilogue_row(c, p, b.batch, b.row + r, b.column, b.columns,
					     sums + r * BLOCK_COLUMNS);
	}
}

static void run(const struct kernel_call *c, int first)
{
	struct product p = product_of(c, first);

	if (c->phase == 0)
		pack_right(c, &p);
	else
		run_blocks(c, &p, first == 1);
}

static void run_matmul(const struct kernel_call *c)
{
	run(c, 0);
}

static void run_matmul_acc(const struct kernel_call *c)
{
	run(c, 1);
}

static size_t scratch_matmul(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return scratch_of(&p, c->parts);
}

static size_t scratch_matmul_acc(const struct kernel_call *c)
{
	struct product p = product_of(c, 1);

	return scratch_of(&p, c->parts);
}

/* --- what is claimed --- */

/* Floats with a step of 1 along one of the last two axes; on the right also blocks along either. */
static bool operand_serves(const struct kernel_tensor *t, bool right)
{
	int n = t->n_axes;

	if (n < 2 || (t->stride[n - 1] != 1 && t->stride[n - 2] != 1))
		return false;
	if (operand_is_float(t->dtype))
		return true;
	return right && dtype_info(t->dtype)->block > 1 && dtype_decodes(t->dtype);
}

static bool claims_matmul(const struct kernel_call *c)
{
	return operand_serves(&c->in[0], false) && operand_serves(&c->in[1], true) &&
	       epilogue_serves(c);
}

static bool claims_matmul_acc(const struct kernel_call *c)
{
	return operand_serves(&c->in[1], false) && operand_serves(&c->in[2], true) &&
	       epilogue_accumulates(c);
}

const struct kernel LEVEL_NAME(matmul_tiles);
const struct kernel LEVEL_NAME(matmul_tiles) = {
	.op = "matmul",
	.variant = "tiles",
	.claims = claims_matmul,
	.scratch = scratch_matmul,
	.phases = 2,
	.run = run_matmul,
};

const struct kernel LEVEL_NAME(matmul_acc_tiles);
const struct kernel LEVEL_NAME(matmul_acc_tiles) = {
	.op = "matmul_acc",
	.variant = "tiles",
	.claims = claims_matmul_acc,
	.scratch = scratch_matmul_acc,
	.phases = 2,
	.run = run_matmul_acc,
};
