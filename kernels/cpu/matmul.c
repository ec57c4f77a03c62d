/*
 * kernels/cpu/matmul.c - matrix products of f32, bf16, f16 and, on the right, of block-quantized values, in f32
 *
 * Phase 0 packs the whole right operand, shared by all threads (and kept, where it is a weight that stays as it is). In phase 1
 * each takes blocks of the result, packs their rows of the left operand a slice of k at a time, sums in a block of f32 of its
 * own, and stores it with the epilogue. The sums do not depend on the cut (gemm.h), whose sizes come from the caches (gemm_blocks.h).
 *
 * k is cut into slices. Panels of a slice lie side by side, so that what a block reads is one stream: one slice of a right panel
 * stays in L1 while the left panels of a group, in L2, pass it by.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/matmul_block.h"

static struct matmul_work work_of(const struct kernel_call *c, bool accumulate)
{
	struct matmul_work w = { .c = c,
				 .p = product_of(c, accumulate),
				 .accumulate = accumulate,
				 .blocks = gemm_blocks(c->caches) };

	w.blocks.depth = gemm_depth(c->caches, w.p.k, dtype_info(w.p.b->dtype)->block);
	w.blocks.columns = least(w.blocks.columns, round_up(w.p.n, GEMM_COLUMNS_STEP));
	return w;
}

/* --- memory: the packed right operand; for each part its left rows and its sums --- */

static size_t packed_size(const struct product *p)
{
	return round_up(round_up(p->n, GEMM_COLUMNS) * p->k, 16);
}

/* Of a block at most (gemm_blocks.h). */
static size_t block_rows(const struct matmul_work *w)
{
	return w->p.k > w->blocks.depth ? GEMM_GROUPS * w->blocks.rows : w->blocks.rows;
}

static size_t left_size(const struct matmul_work *w)
{
	return round_up(block_rows(w) * least(w->blocks.depth, w->p.k), 16);
}

static size_t part_size(const struct matmul_work *w)
{
	return left_size(w) + block_rows(w) * sums_step(w);
}

/* Weights alone are worth keeping: matmul's, whose right operand no batch chooses. */
static bool keeps(const struct matmul_work *w)
{
	return !w->accumulate && w->p.b_batches == 1;
}

/* Of the scratch, what the packed right operands take. */
static size_t shared_size(const struct matmul_work *w)
{
	return keeps(w) ? 0 : w->p.b_batches * packed_size(&w->p);
}

static size_t scratch_of(const struct matmul_work *w)
{
	return (shared_size(w) + (size_t)w->c->parts * part_size(w)) * sizeof(float);
}

static float *packed_at(const struct matmul_work *w, size_t which)
{
	return (float *)(keeps(w) ? w->c->kept : w->c->scratch) + which * packed_size(&w->p);
}

/* --- phase 0 --- */

/* Panels FIRST to FIRST + N - 1 columns wide of operand WHICH over the slice of k that begins at K. */
static void pack_some(const struct matmul_work *w, size_t which, size_t k, size_t first, size_t n)
{
	const struct product *p = &w->p;
	size_t kn = least(w->blocks.depth, p->k - k), padded = round_up(p->n, GEMM_COLUMNS);
	struct gemm_source s = { .t = p->b,
				 .at = product_right_at(p, which),
				 .line = p->b->stride[p->b->n_axes - 1],
				 .k = p->b->stride[p->b->n_axes - 2] };

	LEVEL_NAME(gemm_pack)
	(&s, first, least(n, p->n - first), k, kn, GEMM_COLUMNS, kn * GEMM_COLUMNS,
	 packed_at(w, which) + k * padded + first * kn);
}

/* Slices of groups of panels are shared out. */
static void pack_right(const struct matmul_work *w)
{
	const size_t width = GEMM_CHUNK / GEMM_COLUMNS * GEMM_COLUMNS, depth = w->blocks.depth;
	size_t slices = ceiling(w->p.k, depth), groups = ceiling(w->p.n, width), from, to;

	kernel_share(w->p.b_batches * slices * groups, 1, w->c->part, w->c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		pack_some(w, i / groups / slices, i / groups % slices * depth, i % groups * width,
			  width);
}

/* --- phase 1 --- */

/* In blocks; left rows of one slice are packed once for all columns, of several once for each block. */
static void run_region(const struct matmul_work *w, const struct matmul_block *b)
{
	size_t rows = gemm_even(b->rows, block_rows(w), GEMM_ROWS);
	size_t columns = gemm_even(b->columns, w->blocks.columns, GEMM_COLUMNS);
	const float *right = packed_at(w, product_right(&w->p, b->batch));

	for (size_t i = 0; i < b->rows; i += rows)
		for (size_t j = 0; j < b->columns; j += columns) {
			struct matmul_block some = { .batch = b->batch,
						     .row = b->row + i,
						     .rows = least(rows, b->rows - i),
						     .column = b->column + j,
						     .columns = least(columns, b->columns - j) };

			sum_block(w, &some, j > 0 && w->p.k <= w->blocks.depth, right);
		}
}

#define FEW_ROWS \
 48 /* of a part: fewer, and packing all left rows in each part costs less than reading all right panels */

/* One matrix is shared out by its rows, or by its columns where rows are few; many, by blocks of rows. */
static void run_blocks(const struct matmul_work *w)
{
	const struct kernel_call *c = w->c;
	const struct product *p = &w->p;
	size_t rows = w->blocks.rows, down = ceiling(p->m, rows), from, to;
	struct matmul_block b = { .rows = p->m, .columns = p->n };

	if (p->batches == 1 && p->m / (size_t)c->parts < FEW_ROWS && p->n > p->m) {
		kernel_share(p->n, GEMM_COLUMNS, c->part, c->parts, &b.column, &to);
		b.columns = to - b.column;
		run_region(w, &b);
		return;
	}
	if (p->batches == 1) {
		kernel_share(p->m, GEMM_ROWS, c->part, c->parts, &b.row, &to);
		b.rows = to - b.row;
		run_region(w, &b);
		return;
	}
	kernel_share(p->batches * down, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		b.batch = i / down;
		b.row = i % down * rows;
		b.rows = least(rows, p->m - b.row);
		run_region(w, &b);
	}
}

static void run(const struct kernel_call *c, bool accumulate)
{
	struct matmul_work w = work_of(c, accumulate);

	if (c->phase == 0) {
		pack_right(&w);
		return;
	}
	w.left = (float *)c->scratch + shared_size(&w) + (size_t)c->part * part_size(&w);
	w.sums = w.left + left_size(&w);
	run_blocks(&w);
}

static void run_matmul(const struct kernel_call *c)
{
	run(c, false);
}

static void run_matmul_acc(const struct kernel_call *c)
{
	run(c, true);
}

static size_t scratch_matmul(const struct kernel_call *c)
{
	struct matmul_work w = work_of(c, false);

	return scratch_of(&w);
}

static size_t scratch_matmul_acc(const struct kernel_call *c)
{
	struct matmul_work w = work_of(c, true);

	return scratch_of(&w);
}

static size_t kept_matmul(const struct kernel_call *c, int *in)
{
	struct matmul_work w = work_of(c, false);

	*in = 1;
	return keeps(&w) ? packed_size(&w.p) * sizeof(float) : 0;
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
	return product_is_exact(c) && operand_serves(&c->in[0], false) &&
	       operand_serves(&c->in[1], true) && epilogue_serves(c);
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
	.kept = kept_matmul,
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
