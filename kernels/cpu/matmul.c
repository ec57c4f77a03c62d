/*
 * kernels/cpu/matmul.c - matrix products of f32, bf16, f16 and, on the right, of block-quantized values, in f32
 *
 * Phase 0 packs the whole right operand, shared by all threads (and kept, where it is a weight that stays as it is). In phase 1
 * each takes blocks of the result, packs the rows of the left operand once for all its columns, sums in a block of f32 of its
 * own, and stores it with the epilogue. The sums do not depend on the cut (gemm.h), whose sizes come from the caches (gemm_blocks.h).
 *
 * k is cut into slices. Panels of a slice lie side by side, so that what a block reads is one stream: one slice of a right panel
 * stays in L1 while the left panels of the block, in L2, pass it by.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/gemm_blocks.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

static size_t round_up(size_t n, size_t to)
{
	return ceiling(n, to) * to;
}

/* N in as few pieces of at most MOST as there can be, all nearly of one size, whole multiples of STEP. */
static size_t even(size_t n, size_t most, size_t step)
{
	return n <= step ? step : round_up(ceiling(n, ceiling(n, most)), step);
}

/* What a call works with. */
struct work {
	const struct kernel_call *c;
	struct product p;
	bool accumulate;
	struct gemm_blocks blocks; /* at most; no deeper and wider than the matrices */
	float *left, *sums;	   /* of this part */
};

/* Blocks of quantized values stay whole. */
static size_t depth_of(const struct product *p, size_t most)
{
	size_t block = dtype_info(p->b->dtype)->block;
	size_t step = block > GEMM_DEPTH_STEP ? block : GEMM_DEPTH_STEP;

	return even(p->k, step > most ? step : most / step * step, step);
}

static struct work work_of(const struct kernel_call *c, bool accumulate)
{
	struct work w = { .c = c,
			  .p = product_of(c, accumulate),
			  .accumulate = accumulate,
			  .blocks = gemm_blocks(c->caches) };

	w.blocks.depth = depth_of(&w.p, w.blocks.depth);
	w.blocks.columns = least(w.blocks.columns, round_up(w.p.n, GEMM_COLUMNS_STEP));
	return w;
}

/* From row to row of the sums: no power of two, whose rows would share sets of L1. */
static size_t sums_step(const struct work *w)
{
	return w->blocks.columns + 16;
}

/* --- memory: the packed right operand; for each part its left rows and its sums --- */

static size_t packed_size(const struct product *p)
{
	return round_up(round_up(p->n, GEMM_COLUMNS) * p->k, 16);
}

static size_t left_size(const struct work *w)
{
	return round_up(w->blocks.rows * w->p.k, 16);
}

static size_t part_size(const struct work *w)
{
	return left_size(w) + w->blocks.rows * sums_step(w);
}

/* Weights alone are worth keeping: matmul's, whose right operand no batch chooses. */
static bool keeps(const struct work *w)
{
	return !w->accumulate && w->p.b_batches == 1;
}

/* Of the scratch, what the packed right operands take. */
static size_t shared_size(const struct work *w)
{
	return keeps(w) ? 0 : w->p.b_batches * packed_size(&w->p);
}

static size_t scratch_of(const struct work *w)
{
	return (shared_size(w) + (size_t)w->c->parts * part_size(w)) * sizeof(float);
}

static float *packed_at(const struct work *w, size_t which)
{
	return (float *)(keeps(w) ? w->c->kept : w->c->scratch) + which * packed_size(&w->p);
}

/* --- phase 0 --- */

/* Groups of panels are shared out. */
static void pack_right(const struct work *w)
{
	const struct product *p = &w->p;
	size_t depth = w->blocks.depth;
	size_t padded = round_up(p->n, GEMM_COLUMNS),
	       width = GEMM_CHUNK / GEMM_COLUMNS * GEMM_COLUMNS;
	size_t groups = ceiling(p->n, width), from, to;

	kernel_share(groups * p->b_batches, 1, w->c->part, w->c->parts, &from, &to);
	for (size_t g = from; g < to; g++) {
		struct gemm_source s = { .t = p->b,
					 .at = product_right_at(p, g / groups),
					 .line = p->b->stride[p->b->n_axes - 1],
					 .k = p->b->stride[p->b->n_axes - 2] };
		float *out = packed_at(w, g / groups);
		size_t first = g % groups * width;

		for (size_t k = 0; k < p->k; k += depth) {
			size_t kn = least(depth, p->k - k);

			LEVEL_NAME(gemm_pack)
			(&s, first, least(width, p->n - first), k, kn, GEMM_COLUMNS,
			 kn * GEMM_COLUMNS, out + k * padded + first * kn);
		}
	}
}

/* --- phase 1 --- */

/* Some rows and columns of matrix BATCH of the result. */
struct block {
	size_t batch, row, rows, column, columns;
};

/*
 * Asks for piece I of N of the panel at P, which comes after the one in hand: in L2 by then. Left to the processor, the first
 * tile of every panel waits for it.
 */
static void ask(const float *p, size_t kn, size_t i, size_t n)
{
	size_t lines = kn * GEMM_COLUMNS / 16, each = ceiling(lines, n);

	for (size_t l = i * each; l < least((i + 1) * each, lines); l++)
		__builtin_prefetch(p + l * 16, 0, 2);
}

/* So many columns are finished together, after the last slice. Lines of the result come into L2 meanwhile. */
#define FINISH_COLUMNS 128

struct result {
	uint8_t *at; /* of the first row and column in hand; NULL: not yet asked for */
	ptrdiff_t row;
	size_t element;
};

static void ask_result(const struct result *r, size_t row, size_t column)
{
	if (r->at)
		for (size_t i = row; i < row + GEMM_ROWS; i++)
			__builtin_prefetch(r->at + (ptrdiff_t)i * r->row +
						   (ptrdiff_t)(column * r->element),
					   1, 2);
}

typedef void tile_sums(const float *a, const float *b, size_t kn, float *c, size_t stride);

/* Who multiplies block-quantized weights in f32 asks for exactness, not for speed: that is what rounded rows are for. */
static tile_sums *tile_of(const struct product *p)
{
	return dtype_info(p->b->dtype)->block % GEMM_CHAIN ? LEVEL_NAME(gemm_tile)
							   : LEVEL_NAME(gemm_tile_chains);
}

/* TILES tiles by COLUMNS columns over one slice: LEFT and RIGHT are its first panels that are taken. */
static void sum_slice(const struct work *w, size_t tiles, size_t columns, size_t kn,
		      const float *left, const float *right, const struct result *r, float *sums)
{
	tile_sums *tile = tile_of(&w->p);
	const size_t step = sums_step(w);

	for (size_t j = 0; j < columns; j += GEMM_COLUMNS, right += GEMM_COLUMNS * kn)
		for (size_t i = 0; i < tiles; i++) {
			ask(right + GEMM_COLUMNS * kn, kn, i, tiles);
			ask_result(r, i * GEMM_ROWS, j);
			tile(left + i * GEMM_ROWS * kn, right, kn, sums + i * GEMM_ROWS * step + j,
			     step);
		}
}

static void finish(const struct work *w, const struct block *b, float *sums)
{
	for (size_t r = 0; r < b->rows; r++, sums += sums_step(w))
		if (w->accumulate)
			epilogue_accumulate(&w->p, b->row + r, b->column, b->columns, sums);
		else
			epilogue_row(w->c, &w->p, b->batch, b->row + r, b->column, b->columns,
				     sums);
}

/* The last slice, a few columns at a time, and what follows the sums. */
static void sum_last(const struct work *w, const struct block *b, size_t kn, const float *left,
		     const float *right)
{
	const struct kernel_tensor *out = w->p.out;

	for (size_t j = 0; j < b->columns; j += FINISH_COLUMNS) {
		struct block some = *b;
		struct result r = { .element = operand_bytes(out->dtype, 1) };

		some.column += j;
		some.columns = least(FINISH_COLUMNS, b->columns - j);
		r.row = out->stride[out->n_axes - 2] * (ptrdiff_t)r.element;
		r.at = (uint8_t *)out->data +
		       operand_bytes(out->dtype, product_row(&w->p, out, b->batch, b->row) +
							 (ptrdiff_t)some.column);
		sum_slice(w, ceiling(b->rows, GEMM_ROWS), some.columns, kn, left, right + j * kn,
			  &r, w->sums + j);
		finish(w, &some, w->sums + j);
	}
}

/*
 * RIGHT is the packed right operand. PACK: the left rows are not yet packed; a slice is, just before it is used. ONCE: no other
 * block will read it.
 */
static void sum_block(const struct work *w, const struct block *b, bool pack, bool once,
		      const float *right)
{
	const struct product *p = &w->p;
	size_t rows = round_up(b->rows, GEMM_ROWS), padded = round_up(p->n, GEMM_COLUMNS), k = 0;
	struct gemm_source s = { .t = p->a,
				 .at = product_at(p, p->a, b->batch),
				 .line = p->a->stride[p->row_axis],
				 .k = p->a->stride[p->row_axis + 1] };

	memset(w->sums, 0, rows * sums_step(w) * sizeof(float));
	do {
		size_t kn = least(w->blocks.depth, p->k - k);
		float *left = once ? w->left : w->left + k * rows;
		const float *panels = right + k * padded + b->column * kn;

		if (pack)
			LEVEL_NAME(gemm_pack)
		(&s, b->row, b->rows, k, kn, GEMM_ROWS, GEMM_ROWS * kn, left);
		k += kn;
		if (k < p->k)
			sum_slice(w, rows / GEMM_ROWS, b->columns, kn, left, panels,
				  &(struct result){ 0 }, w->sums);
		else
			sum_last(w, b, kn, left, panels);
	} while (k < p->k);
}

/* In blocks, each row block with all its columns, so that left rows are packed once. */
static void run_region(const struct work *w, const struct block *b)
{
	size_t rows = even(b->rows, w->blocks.rows, GEMM_ROWS);
	size_t columns = even(b->columns, w->blocks.columns, GEMM_COLUMNS);
	const float *right = packed_at(w, product_right(&w->p, b->batch));

	for (size_t i = 0; i < b->rows; i += rows)
		for (size_t j = 0; j < b->columns; j += columns) {
			struct block some = { .batch = b->batch,
					      .row = b->row + i,
					      .rows = least(rows, b->rows - i),
					      .column = b->column + j,
					      .columns = least(columns, b->columns - j) };

			sum_block(w, &some, j == 0, columns >= b->columns, right);
		}
}

#define FEW_ROWS \
 48 /* of a part: fewer, and packing all left rows in each part costs less than reading all right panels */

/* One matrix is shared out by its rows, or by its columns where rows are few; many, by blocks of rows. */
static void run_blocks(const struct work *w)
{
	const struct kernel_call *c = w->c;
	const struct product *p = &w->p;
	size_t rows = w->blocks.rows, down = ceiling(p->m, rows), from, to;
	struct block b = { .rows = p->m, .columns = p->n };

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
	struct work w = work_of(c, accumulate);

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
	struct work w = work_of(c, false);

	return scratch_of(&w);
}

static size_t scratch_matmul_acc(const struct kernel_call *c)
{
	struct work w = work_of(c, true);

	return scratch_of(&w);
}

static size_t kept_matmul(const struct kernel_call *c, int *in)
{
	struct work w = work_of(c, false);

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
