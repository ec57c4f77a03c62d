/*
 * kernels/cpu/conv_dw.c - the gradient of a convolution by its kernel, as products of panels
 *
 * For a group: dy [rows, places] by the lines that the taps see, [places, k] (image.h), summed over images. Images are cut
 * into pieces of about PIECE places by shape; phase 0 sums each piece, a block of rows and columns at a time, and phase 1 adds
 * the pieces in their order in double. A group of one row is summed without panels.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/image.h"
#include "kernels/cpu/rows.h"

#define PIECE	8192
#define ROWS	192 /* a multiple of every GEMM_ROWS */
#define COLUMNS 192 /* and of every GEMM_COLUMNS */

struct weights {
	const struct kernel_tensor *dy, *out;
	struct image_grid grid; /* of x */
	size_t groups, rows, channels, k, places;
	size_t images, images_a_piece, pieces;
	size_t down, across; /* blocks of rows and columns */
};

static size_t ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

static struct weights make_weights(const struct kernel_call *c)
{
	const struct conv_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *dy = &c->in[1], *w = &c->out[0];
	struct weights v = { .dy = dy, .out = w, .grid = { .x = x }, .groups = a->groups };

	v.grid.h = image_forward(a, 0, x->shape[2], w->shape[2], dy->shape[2]);
	v.grid.w = image_forward(a, 1, x->shape[3], w->shape[3], dy->shape[3]);
	v.rows = w->shape[0] / v.groups;
	v.channels = w->shape[1];
	v.k = v.channels * w->shape[2] * w->shape[3];
	v.places = dy->shape[2] * dy->shape[3];
	v.images = x->shape[0];
	v.images_a_piece = v.places && v.places < PIECE ? ceiling(PIECE, v.places) : 1;
	v.pieces = ceiling(v.images, v.images_a_piece);
	v.down = ceiling(v.rows, ROWS);
	v.across = ceiling(v.k, COLUMNS);
	return v;
}

struct block {
	size_t piece, group, row, rows, column, columns;
};

/* Of a part: panels of both operands, and the sums. */
struct room {
	float left[ROWS * GEMM_DEPTH], right[COLUMNS * GEMM_DEPTH], sums[ROWS * COLUMNS];
};

/* --- a block of a piece --- */

static ptrdiff_t dy_at(const struct weights *v, const struct block *b, size_t image, size_t place)
{
	return (ptrdiff_t)image * v->dy->stride[0] +
	       (ptrdiff_t)(b->group * v->rows + b->row) * v->dy->stride[1] + (ptrdiff_t)place;
}

/* N places of the block's lines into panels: lines are the columns. */
static void pack_right(const struct weights *v, const struct block *b, size_t image, size_t place,
		       size_t n, float *out)
{
	float lines[GEMM_COLUMNS][GEMM_DEPTH];

	for (size_t j = 0; j < b->columns; j += GEMM_COLUMNS) {
		for (size_t l = 0; l < GEMM_COLUMNS; l++)
			if (j + l < b->columns)
				image_line(&v->grid, image, b->group * v->channels,
					   b->column + j + l, place, n, lines[l]);
			else
				memset(lines[l], 0, n * sizeof(float));
		for (size_t i = 0; i < n; i++)
			for (size_t l = 0; l < GEMM_COLUMNS; l++)
				out[j * GEMM_DEPTH + i * GEMM_COLUMNS + l] = lines[l][i];
	}
}

static void add_places(const struct weights *v, const struct block *b, size_t image, size_t place,
		       size_t n, struct room *room)
{
	struct gemm_source s = {
		.t = v->dy, .at = dy_at(v, b, image, place), .line = v->dy->stride[1], .k = 1
	};

	LEVEL_NAME(gemm_pack)
	(&s, 0, b->rows, 0, n, GEMM_ROWS, GEMM_ROWS * GEMM_DEPTH, room->left);
	pack_right(v, b, image, place, n, room->right);
	for (size_t j = 0; j < b->columns; j += GEMM_COLUMNS)
		for (size_t i = 0; i < b->rows; i += GEMM_ROWS)
			LEVEL_NAME(gemm_tile)
	(room->left + i * GEMM_DEPTH, room->right + j * GEMM_DEPTH, n, room->sums + i * COLUMNS + j,
	 COLUMNS);
}

/* A group of one row: a vector of sums for each column. */
static void dot_places(const struct weights *v, const struct block *b, size_t image, size_t place,
		       size_t n, struct room *room)
{
	float *dy = room->left, *line = room->left + GEMM_DEPTH;
	size_t padded = ceiling(n, SIMD_WIDTH) * SIMD_WIDTH;

	operand_load(v->dy->dtype, operand_at(v->dy, dy_at(v, b, image, place)), dy, n);
	memset(dy + n, 0, (padded - n) * sizeof(float));
	for (size_t j = 0; j < b->columns; j++) {
		vf32 sum = simd_load(room->right + j * SIMD_WIDTH);

		image_line(&v->grid, image, b->group * v->channels, b->column + j, place, n, line);
		memset(line + n, 0, (padded - n) * sizeof(float));
		for (size_t i = 0; i < padded; i += SIMD_WIDTH)
			sum = simd_fma(simd_load(dy + i), simd_load(line + i), sum);
		simd_store(room->right + j * SIMD_WIDTH, sum);
	}
}

static void sum_block(const struct weights *v, const struct block *b, struct room *room)
{
	size_t first = b->piece * v->images_a_piece;
	size_t last = v->images - first < v->images_a_piece ? v->images : first + v->images_a_piece;

	memset(v->rows == 1 ? room->right : room->sums, 0, sizeof(room->sums));
	for (size_t image = first; image < last; image++)
		for (size_t place = 0; place < v->places; place += GEMM_DEPTH)
			(v->rows == 1 ? dot_places : add_places)(
				v, b, image, place,
				v->places - place < GEMM_DEPTH ? v->places - place : GEMM_DEPTH,
				room);
	for (size_t j = 0; j < b->columns && v->rows == 1; j++)
		room->sums[j] = rows_sum(simd_load(room->right + j * SIMD_WIDTH));
}

/* --- the kernel --- */

static size_t elements(const struct weights *v)
{
	return v->groups * v->rows * v->k;
}

static struct room *room_of(const struct kernel_call *c, const struct weights *v)
{
	return (struct room *)((float *)c->scratch + ceiling(v->pieces * elements(v), 16) * 16) +
	       c->part;
}

static void sum_pieces(const struct kernel_call *c, const struct weights *v)
{
	struct room *room = room_of(c, v);
	size_t from, to;

	kernel_share(v->pieces * v->groups * v->down * v->across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct block b = { .column = i % v->across * COLUMNS,
				   .row = i / v->across % v->down * ROWS,
				   .group = i / v->across / v->down % v->groups,
				   .piece = i / v->across / v->down / v->groups };

		b.rows = v->rows - b.row < ROWS ? v->rows - b.row : ROWS;
		b.columns = v->k - b.column < COLUMNS ? v->k - b.column : COLUMNS;
		sum_block(v, &b, room);
		for (size_t r = 0; r < b.rows; r++)
			memcpy((float *)c->scratch + b.piece * elements(v) +
				       (b.group * v->rows + b.row + r) * v->k + b.column,
			       room->sums + r * COLUMNS, b.columns * sizeof(float));
	}
}

#define CHUNK 256

static void add_pieces(const struct kernel_call *c, const struct weights *v)
{
	const float *sums = c->scratch;
	size_t from, to;

	kernel_share(elements(v), CHUNK, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i += CHUNK) {
		size_t n = to - i < CHUNK ? to - i : CHUNK;
		double sum[CHUNK] = { 0 };
		float y[CHUNK];

		for (size_t piece = 0; piece < v->pieces; piece++)
			for (size_t j = 0; j < n; j++)
				sum[j] += sums[piece * elements(v) + i + j];
		for (size_t j = 0; j < n; j++)
			y[j] = (float)sum[j];
		operand_store(v->out->dtype, y,
			      (uint8_t *)v->out->data + operand_bytes(v->out->dtype, (ptrdiff_t)i),
			      n);
	}
}

static void run(const struct kernel_call *c)
{
	struct weights v = make_weights(c);

	if (c->phase == 0)
		sum_pieces(c, &v);
	else
		add_pieces(c, &v);
}

static size_t scratch(const struct kernel_call *c)
{
	struct weights v = make_weights(c);

	return ceiling(v.pieces * elements(&v), 16) * 16 * sizeof(float) +
	       (size_t)c->parts * sizeof(struct room);
}

/* Floats; rows of the image side by side, planes of dy and the result too. */
static bool claims(const struct kernel_call *c)
{
	struct kernel_tensor plane = c->in[1];

	plane.shape[0] = plane.shape[1] = 1;
	return operand_is_float(c->in[0].dtype) && operand_is_float(c->in[1].dtype) &&
	       operand_is_float(c->out[0].dtype) && kernel_dense(&plane) &&
	       kernel_dense(&c->out[0]) && (c->in[0].stride[3] == 1 || c->in[0].shape[3] == 1);
}

const struct kernel LEVEL_NAME(conv2d_dw_panels);
const struct kernel LEVEL_NAME(conv2d_dw_panels) = {
	.op = "conv2d_dw",
	.variant = "panels",
	.claims = claims,
	.scratch = scratch,
	.phases = 2,
	.run = run,
};
