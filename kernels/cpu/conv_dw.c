/*
 * kernels/cpu/conv_dw.c - the gradient of a convolution by its kernel
 *
 * For a group: dy [rows, places] by what the taps see, [places, k], summed over images. Images are cut into pieces of about PIECE
 * places by shape; phase 0 sums each piece, a block of rows and terms of k at a time, and phase 1 adds the pieces in their order in
 * double.
 *
 * By bands of places: dy is turned into panels [places][rows], and what taps see is broadcast from a padded copy (conv_band.h), in
 * which a term lies at a distance of its own behind any place. Few rows, and taps that are far apart, are multiplied as panels of
 * lines that are copied, and a group of one row without panels.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/conv_band.h"
#include "kernels/cpu/conv_tile.h"
#include "kernels/cpu/rows.h"

#define PIECE	  8192
#define ROWS	  192 /* without a band: a multiple of every GEMM_ROWS */
#define COLUMNS	  192 /* and of every GEMM_COLUMNS */
#define PLACES	  256 /* at a time: a right panel of them stays in L1, a left block in L2 */
#define BAND_ROWS 128 /* a multiple of every CONV_LANES */
#define TERMS	  288 /* a multiple of every CONV_SPREAD */
#define FAR	  64  /* what taps may reach in a band */

struct weights {
	const struct kernel_tensor *dy, *out;
	struct image_grid grid; /* of x */
	size_t groups, rows, channels, k, places;
	size_t images, images_a_piece, pieces;
	size_t block_rows, block_columns, down, across; /* blocks of rows and terms */
	bool banded;
	struct band band;
	size_t band_columns;
};

static size_t ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* N in pieces of at most MOST, nearly equal ones. */
static size_t even(size_t n, size_t most)
{
	return n ? ceiling(n, ceiling(n, most)) : 1;
}

/* Bands of as many places as a slice has terms. */
static void make_bands(struct weights *v)
{
	struct image_grid some = v->grid;
	size_t taps = some.h.taps * some.w.taps;

	v->banded = 2 * v->rows >= CONV_LANES && taps && band_reach(&some.h) <= FAR &&
		    band_reach(&some.w) <= FAR;
	v->block_rows = v->banded ? BAND_ROWS : ROWS;
	v->block_columns = v->banded ? TERMS : COLUMNS;
	if (!v->banded)
		return;
	v->band_columns = even(some.w.places, CONV_SLICE);
	some.w.places = v->band_columns;
	v->band = band_of(&some, least(v->channels, TERMS / taps + 2),
			  even(v->grid.h.places, CONV_SLICE / v->band_columns), false);
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
	make_bands(&v);
	v.down = ceiling(v.rows, v.block_rows);
	v.across = ceiling(v.k, v.block_columns);
	return v;
}

struct block {
	size_t piece, group, row, rows, column, columns;
};

/* Of a part: panels of both operands, and the sums; of a band, whose copy comes after it. */
struct room {
	float left[ROWS * PLACES], right[COLUMNS * PLACES], sums[ROWS * COLUMNS];
};

struct band_room {
	float dy[BAND_ROWS * CONV_SLICE], sums[BAND_ROWS * TERMS];
	size_t term[TERMS], place[CONV_SLICE];
	float x[];
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
	float lines[GEMM_COLUMNS][PLACES];

	for (size_t j = 0; j < b->columns; j += GEMM_COLUMNS) {
		for (size_t l = 0; l < GEMM_COLUMNS; l++)
			if (j + l < b->columns)
				image_line(&v->grid, image, b->group * v->channels,
					   b->column + j + l, place, n, lines[l]);
			else
				memset(lines[l], 0, n * sizeof(float));
		for (size_t i = 0; i < n; i++)
			for (size_t l = 0; l < GEMM_COLUMNS; l++)
				out[j * PLACES + i * GEMM_COLUMNS + l] = lines[l][i];
	}
}

static void add_places(const struct weights *v, const struct block *b, size_t image, size_t place,
		       size_t n, struct room *room)
{
	struct gemm_source s = {
		.t = v->dy, .at = dy_at(v, b, image, place), .line = v->dy->stride[1], .k = 1
	};

	LEVEL_NAME(gemm_pack)
	(&s, 0, b->rows, 0, n, GEMM_ROWS, GEMM_ROWS * PLACES, room->left);
	pack_right(v, b, image, place, n, room->right);
	for (size_t j = 0; j < b->columns; j += GEMM_COLUMNS)
		for (size_t i = 0; i < b->rows; i += GEMM_ROWS)
			LEVEL_NAME(gemm_tile)
	(room->left + i * PLACES, room->right + j * PLACES, n, room->sums + i * COLUMNS + j,
	 COLUMNS);
}

/* A group of one row: a vector of sums for each column. */
static void dot_places(const struct weights *v, const struct block *b, size_t image, size_t place,
		       size_t n, struct room *room)
{
	float *dy = room->left, *line = room->left + PLACES;
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

static size_t elements(const struct weights *v)
{
	return v->groups * v->rows * v->k;
}

/* Where a block's sums of its piece go; rows are K apart. */
static float *sums_at(const struct kernel_call *c, const struct weights *v, const struct block *b)
{
	return (float *)c->scratch + b->piece * elements(v) + (b->group * v->rows + b->row) * v->k +
	       b->column;
}

static size_t last_image(const struct weights *v, const struct block *b)
{
	return least(v->images, (b->piece + 1) * v->images_a_piece);
}

static void sum_panels(const struct weights *v, const struct block *b, struct room *room,
		       float *out)
{
	memset(v->rows == 1 ? room->right : room->sums, 0, sizeof(room->sums));
	for (size_t image = b->piece * v->images_a_piece; image < last_image(v, b); image++)
		for (size_t place = 0; place < v->places; place += PLACES)
			(v->rows == 1 ? dot_places : add_places)(
				v, b, image, place, least(PLACES, v->places - place), room);
	for (size_t j = 0; j < b->columns && v->rows == 1; j++)
		room->sums[j] = rows_sum(simd_load(room->right + j * SIMD_WIDTH));
	for (size_t r = 0; r < b->rows; r++)
		memcpy(out + r * v->k, room->sums + r * COLUMNS, b->columns * sizeof(float));
}

/* --- a block of a piece, by bands --- */

/* ROWS by COLUMNS places from (ROW, COLUMN) on. */
struct window {
	size_t image, row, rows, column, columns;
};

/* The block's dy: panels [places][CONV_LANES]. */
static void turn_dy(const struct weights *v, const struct block *b, const struct window *w,
		    float *out)
{
	struct gemm_source s = { .t = v->dy,
				 .at = dy_at(v, b, w->image, w->row * v->grid.w.places + w->column),
				 .line = v->dy->stride[1],
				 .k = 1 };
	size_t n = w->rows * w->columns;

	LEVEL_NAME(gemm_pack)(&s, 0, b->rows, 0, n, CONV_LANES, CONV_LANES * n, out);
}

/* What the block's terms see, where they lie (past the last as it), and where places do. */
static void copy_x(const struct weights *v, const struct block *b, const struct window *w,
		   struct band_room *room)
{
	size_t taps = v->grid.h.taps * v->grid.w.taps, first = b->column / taps;
	size_t channels = (b->column + b->columns - 1) / taps - first + 1;
	struct image_grid grid = v->grid;

	grid.w.base += (int64_t)w->column * grid.w.step;
	band_offsets(&v->band, &grid, b->column, b->columns, room->term);
	for (size_t i = b->columns; i % CONV_SPREAD; i++)
		room->term[i] = room->term[b->columns - 1];
	for (size_t i = 0; i < w->rows * w->columns; i++)
		room->place[i] = band_place(&v->band, i / w->columns, i % w->columns);
	band_fill(&v->band, &grid, w->image, b->group * v->channels + first, channels, w->row,
		  w->rows, room->x);
}

static void add_window(const struct weights *v, const struct block *b, const struct window *w,
		       bool first, struct band_room *room)
{
	size_t n = w->rows * w->columns;
	const float *dy = room->dy;
	float *sums = room->sums;

	turn_dy(v, b, w, room->dy);
	copy_x(v, b, w, room);
	for (size_t r = 0; r < b->rows; r += CONV_LANES, dy += n * CONV_LANES)
		for (size_t i = 0; i < b->columns;
		     i += CONV_SPREAD, sums += CONV_SPREAD * CONV_LANES)
			conv_spread(room->x, room->term + i, room->place, dy, n, first, sums);
}

static void sum_bands(const struct weights *v, const struct block *b, struct band_room *room,
		      float *out)
{
	size_t padded = ceiling(b->columns, CONV_SPREAD) * CONV_SPREAD;
	struct window w = { .image = b->piece * v->images_a_piece };
	bool first = true;

	for (; w.image < last_image(v, b); w.image++)
		for (w.row = 0; w.row < v->grid.h.places; w.row += v->band.rows)
			for (w.column = 0; w.column < v->grid.w.places;
			     w.column += v->band_columns) {
				w.rows = least(v->band.rows, v->grid.h.places - w.row);
				w.columns = least(v->band_columns, v->grid.w.places - w.column);
				add_window(v, b, &w, first, room);
				first = false;
			}
	if (first)
		memset(room->sums, 0, sizeof(room->sums));
	for (size_t r = 0; r < b->rows; r += CONV_LANES)
		LEVEL_NAME(gemm_turn)
	(room->sums + r * padded, b->columns, least(CONV_LANES, b->rows - r), CONV_LANES,
	 out + r * v->k, v->k);
}

/* --- the kernel --- */

static size_t room_size(const struct weights *v)
{
	size_t size = v->banded ? sizeof(struct band_room) + v->band.room * sizeof(float)
				: sizeof(struct room);

	return ceiling(size, 64) * 64;
}

static void *room_of(const struct kernel_call *c, const struct weights *v)
{
	return (uint8_t *)c->scratch + ceiling(v->pieces * elements(v), 16) * 16 * sizeof(float) +
	       (size_t)c->part * room_size(v);
}

static void sum_pieces(const struct kernel_call *c, const struct weights *v)
{
	void *room = room_of(c, v);
	size_t from, to;

	kernel_share(v->pieces * v->groups * v->down * v->across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct block b = { .column = i % v->across * v->block_columns,
				   .row = i / v->across % v->down * v->block_rows,
				   .group = i / v->across / v->down % v->groups,
				   .piece = i / v->across / v->down / v->groups };

		b.rows = least(v->block_rows, v->rows - b.row);
		b.columns = least(v->block_columns, v->k - b.column);
		if (v->banded)
			sum_bands(v, &b, room, sums_at(c, v, &b));
		else
			sum_panels(v, &b, room, sums_at(c, v, &b));
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
	       (size_t)c->parts * room_size(&v);
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
