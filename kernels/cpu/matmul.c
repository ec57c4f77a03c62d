/*
 * kernels/cpu/matmul.c - matrix products of f32, bf16, f16 and, on the right, of block-quantized values, in f32
 *
 * Phase 0 packs the whole right operand, shared by all threads; in phase 1 each takes blocks of BLOCK_ROWS by BLOCK_COLUMNS
 * of the result, packs the rows of the left operand once for all its columns, sums in a block of f32 of its own, and
 * stores it with the epilogue. The sums do not depend on the cut (gemm.h).
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm.h"

#define BLOCK_ROWS    96
#define BLOCK_COLUMNS 384 /* of the result: a multiple of every GEMM_COLUMNS */

/* One product, or many of one shape: leading axes but those that b lacks are batches. */
struct product {
	const struct kernel_tensor *a, *b, *out;
	size_t m, n, k;
	size_t batches;	  /* matrices of the result */
	size_t b_batches; /* packed right operands: 1 when all share one */
	int row_axis;	  /* of a */
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Whether axes 0 to the row axis of T step evenly, as the rows of one matrix. */
static bool rows_are_one(const struct kernel_tensor *t)
{
	for (int i = t->n_axes - 3; i >= 0; i--)
		if (t->shape[i] != 1 && t->shape[i + 1] != 1 &&
		    t->stride[i] != t->stride[i + 1] * (ptrdiff_t)t->shape[i + 1])
			return false;
	return true;
}

static size_t leading(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = 0; i < t->n_axes - 2; i++)
		n *= t->shape[i];
	return n;
}

static struct product make_product(const struct kernel_call *c, int first)
{
	struct product p = { .a = &c->in[first], .b = &c->in[first + 1], .out = &c->out[0] };

	p.m = p.a->shape[p.a->n_axes - 2];
	p.k = p.a->shape[p.a->n_axes - 1];
	p.n = p.b->shape[p.b->n_axes - 1];
	p.batches = leading(p.out);
	p.b_batches = leading(p.b);
	p.row_axis = p.a->n_axes - 2;
	if (p.b_batches == 1 && p.a->n_axes == p.out->n_axes && rows_are_one(p.a) &&
	    rows_are_one(p.out)) {
		p.m *= p.batches;
		p.batches = 1;
	}
	return p;
}

/* Where matrix BATCH of the result finds its own in T. */
static ptrdiff_t matrix_at(const struct product *p, const struct kernel_tensor *t, size_t batch)
{
	ptrdiff_t at = 0;

	for (int i = p->out->n_axes - 3; i >= 0 && p->batches > 1; i--) {
		size_t x = batch % p->out->shape[i];
		int axis = i + t->n_axes - p->out->n_axes;

		batch /= p->out->shape[i];
		if (axis >= 0 && t->shape[axis] != 1)
			at += (ptrdiff_t)x * t->stride[axis];
	}
	return at;
}

/* Batches of b in its own order; 0 for all when there is one. */
static size_t packed_of(const struct product *p, size_t batch)
{
	size_t place = 0, scale = 1;

	if (p->b_batches == 1)
		return 0;
	for (int i = p->out->n_axes - 3; i >= 0; i--) {
		size_t x = batch % p->out->shape[i];
		int axis = i + p->b->n_axes - p->out->n_axes;

		batch /= p->out->shape[i];
		if (axis < 0)
			continue;
		place += (p->b->shape[axis] == 1 ? 0 : x) * scale;
		scale *= p->b->shape[axis];
	}
	return place;
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

static ptrdiff_t b_matrix(const struct product *p, size_t which)
{
	ptrdiff_t at = 0;

	for (int i = p->b->n_axes - 3; i >= 0; i--) {
		at += (ptrdiff_t)(which % p->b->shape[i]) * p->b->stride[i];
		which /= p->b->shape[i];
	}
	return at;
}

/* Groups of panels, GEMM_CHUNK columns each, are shared out. */
static void pack_right(const struct kernel_call *c, const struct product *p)
{
	size_t width = GEMM_CHUNK / GEMM_COLUMNS * GEMM_COLUMNS;
	size_t groups = (p->n + width - 1) / width, from, to;

	kernel_share(groups * p->b_batches, 1, c->part, c->parts, &from, &to);
	for (size_t g = from; g < to; g++) {
		struct gemm_source s = { .t = p->b, .at = b_matrix(p, g / groups) };
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

/* --- the epilogue --- */

/* N values of operand T from AT on, STEP apart, as f32. */
static const float *values(const struct kernel_tensor *t, ptrdiff_t at, ptrdiff_t step, size_t n,
			   float *room)
{
	if (step == 1 && t->dtype == DTYPE_F32)
		return (const float *)t->data + at;
	if (step == 1)
		operand_load(t->dtype, operand_at(t, at), room, n);
	else
		for (size_t i = 0; i < n; i++)
			operand_load(t->dtype, operand_at(t, at + (ptrdiff_t)i * step), room + i,
				     1);
	return room;
}

static void add_bias(const struct kernel_call *c, const struct block *b, float *x)
{
	float room[BLOCK_COLUMNS];
	const float *bias = values(&c->in[2], (ptrdiff_t)b->column * c->in[2].stride[0],
				   c->in[2].stride[0], b->columns, room);

	for (size_t j = 0; j < b->columns; j++)
		x[j] += bias[j];
}

static ptrdiff_t row_at(const struct product *p, const struct kernel_tensor *t, size_t batch,
			size_t row)
{
	return matrix_at(p, t, batch) + (ptrdiff_t)row * t->stride[t->n_axes - 2];
}

static void add_residual(const struct kernel_call *c, const struct product *p,
			 const struct block *b, size_t row, float *x)
{
	const struct kernel_tensor *t = &c->in[3];
	float room[BLOCK_COLUMNS];
	ptrdiff_t step = t->stride[t->n_axes - 1];
	const float *y = values(t, row_at(p, t, b->batch, row) + (ptrdiff_t)b->column * step, step,
				b->columns, room);

	for (size_t j = 0; j < b->columns; j++)
		x[j] += y[j];
}

static bool has(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].data;
}

/* Rounded between its parts as nodes of their own would be. */
static void finish_row(const struct kernel_call *c, const struct product *p, const struct block *b,
		       size_t row, float *x)
{
	const struct matmul_attributes *m = c->attributes;
	const struct kernel_tensor *out = p->out;
	ptrdiff_t at = row_at(p, out, b->batch, row) + (ptrdiff_t)b->column;

	if (has(c, 2))
		add_bias(c, b, x);
	if (m->activation) {
		operand_round(out->dtype, x, b->columns);
		activation_row(x, b->columns, m->activation);
	}
	if (has(c, 3)) {
		operand_round(out->dtype, x, b->columns);
		add_residual(c, p, b, row, x);
	}
	operand_store(out->dtype, x, (uint8_t *)out->data + operand_bytes(out->dtype, at),
		      b->columns);
}

/* c += the sums, of f32 */
static void accumulate_row(const struct product *p, const struct block *b, size_t row,
			   const float *x)
{
	float *y = (float *)p->out->data + row_at(p, p->out, b->batch, row) + (ptrdiff_t)b->column;

	for (size_t j = 0; j < b->columns; j++)
		y[j] += x[j];
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
		struct gemm_source s = { .t = p->a, .at = matrix_at(p, p->a, b.batch) };

		b.rows = p->m - b.row < BLOCK_ROWS ? p->m - b.row : BLOCK_ROWS;
		b.columns = p->n - b.column < BLOCK_COLUMNS ? p->n - b.column : BLOCK_COLUMNS;
		s.line = p->a->stride[p->row_axis];
		s.k = p->a->stride[p->row_axis + 1];
		if (packed != i / across)
			LEVEL_NAME(gemm_pack)
		(&s, b.row, b.rows, 0, p->k, GEMM_ROWS, GEMM_ROWS * p->k, left);
		packed = i / across;
		sum_block(p, &b, left, packed_at(c, p, packed_of(p, b.batch)), sums);
		for (size_t r = 0; r < b.rows; r++)
			if (accumulate)
				accumulate_row(p, &b, b.row + r, sums + r * BLOCK_COLUMNS);
			else
				finish_row(c, p, &b, b.row + r, sums + r * BLOCK_COLUMNS);
	}
}

static void run(const struct kernel_call *c, int first)
{
	struct product p = make_product(c, first);

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
	struct product p = make_product(c, 0);

	return scratch_of(&p, c->parts);
}

static size_t scratch_matmul_acc(const struct kernel_call *c)
{
	struct product p = make_product(c, 1);

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

static bool epilogue_serves(const struct kernel_call *c)
{
	for (int i = 2; i < c->n_in; i++)
		if (c->in[i].n_axes && !operand_is_float(c->in[i].dtype))
			return false;
	return true;
}

static bool output_serves(const struct kernel_tensor *t)
{
	return operand_is_float(t->dtype) &&
	       (t->shape[t->n_axes - 1] == 1 || t->stride[t->n_axes - 1] == 1);
}

static bool claims_matmul(const struct kernel_call *c)
{
	return operand_serves(&c->in[0], false) && operand_serves(&c->in[1], true) &&
	       output_serves(&c->out[0]) && epilogue_serves(c);
}

static bool claims_matmul_acc(const struct kernel_call *c)
{
	return operand_serves(&c->in[1], false) && operand_serves(&c->in[2], true) &&
	       c->out[0].dtype == DTYPE_F32 && output_serves(&c->out[0]);
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
