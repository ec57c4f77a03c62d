/*
 * kernels/cpu/conv.c - convolutions of images, and their gradient by the image, as products of panels
 *
 * For an image, a group of channels and a class of places (image.h) the result is [rows, k] by [k, places]: on the left the
 * kernel, packed once in phase 0; on the right what the taps see, a band of places at a time (conv_band.h) or, where taps see one place
 * each or bands would be large, lines of a block of places made into panels. Classes, images, groups and bands, or blocks of
 * rows and of places, are shared out in phase 1.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/conv_band.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/image.h"

#define PLACES	    192 /* at a time: a multiple of every GEMM_COLUMNS */
#define ROWS	    384 /* a multiple of every GEMM_ROWS, and of SOME_ROWS */
#define SOME_ROWS   96	/* whose panels stay in L2 */
#define CLASSES_MAX 1024
#define LARGE_BAND  (8 * BAND_FLOATS)

struct convolution {
	const struct kernel_tensor *x, *w, *out;
	const struct conv_attributes *a;
	bool back;
	size_t groups, rows, channels; /* rows of the result and channels seen, of a group */
	size_t classes;
	size_t parts;
};

/* One class of places. */
struct part {
	struct image_grid grid;
	size_t k, places;
	size_t tiles;	     /* of rows, of a group */
	const float *left;   /* the packed kernel of all groups */
	size_t down, across; /* blocks of rows and of places, or 1 and bands */
	bool banded;
	struct band band;
};

static size_t ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

static struct convolution make_convolution(const struct kernel_call *c, bool back)
{
	struct convolution v = {
		.x = &c->in[0], .w = &c->in[1], .out = &c->out[0], .a = c->attributes, .back = back
	};
	size_t outs = v.w->shape[0] / v.a->groups;

	v.groups = v.a->groups;
	v.parts = (size_t)c->parts;
	v.rows = back ? v.w->shape[1] : outs;
	v.channels = back ? outs : v.w->shape[1];
	v.classes = back ? (size_t)v.a->stride[0] * v.a->stride[1] : 1;
	return v;
}

static size_t left_size(const struct convolution *v, const struct part *p)
{
	return v->groups * p->tiles * GEMM_ROWS * p->k;
}

/* So many rows of places that each part gets some. A result is the same wherever it is cut. */
static void make_band(const struct convolution *v, struct part *p)
{
	size_t rows = ceiling(v->out->shape[0] * v->groups * p->grid.h.places, v->parts);

	p->band = band_of(&p->grid, v->channels, rows < p->grid.h.places ? rows : p->grid.h.places);
	p->banded = !image_is_itself(&p->grid) && p->band.room <= LARGE_BAND;
	if (!p->banded)
		return;
	p->down = 1;
	p->across = ceiling(p->grid.h.places, p->band.rows);
}

static struct part make_part(const struct convolution *v, size_t which)
{
	const size_t *x = v->x->shape, *w = v->w->shape, *out = v->out->shape;
	struct part p = { .grid = { .x = v->x } };

	if (v->back) {
		p.grid.h = image_backward(v->a, 0, x[2], w[2], out[2], which / v->a->stride[1]);
		p.grid.w = image_backward(v->a, 1, x[3], w[3], out[3], which % v->a->stride[1]);
	} else {
		p.grid.h = image_forward(v->a, 0, x[2], w[2], out[2]);
		p.grid.w = image_forward(v->a, 1, x[3], w[3], out[3]);
	}
	p.k = v->channels * p.grid.h.taps * p.grid.w.taps;
	p.places = p.grid.h.places * p.grid.w.places;
	p.tiles = ceiling(v->rows, GEMM_ROWS);
	p.down = ceiling(v->rows, ROWS);
	p.across = ceiling(p.places, PLACES);
	make_band(v, &p);
	return p;
}

/* --- phase 0: the left panels --- */

/* Element K of row ROW of group GROUP. */
static ptrdiff_t weight_at(const struct convolution *v, const struct part *p, size_t group,
			   size_t row, size_t k)
{
	const struct image_axis *h = &p->grid.h, *w = &p->grid.w;
	size_t channel = k / (h->taps * w->taps);
	size_t r = h->first_tap + k / w->taps % h->taps * h->tap_step;
	size_t s = w->first_tap + k % w->taps * w->tap_step;
	size_t outs = v->back ? v->channels : v->rows;
	size_t o = group * outs + (v->back ? channel : row);

	return (ptrdiff_t)o * v->w->stride[0] +
	       (ptrdiff_t)(v->back ? row : channel) * v->w->stride[1] +
	       (ptrdiff_t)r * v->w->stride[2] + (ptrdiff_t)s * v->w->stride[3];
}

/* Whether a row's elements lie side by side. */
static bool rows_are_runs(const struct convolution *v)
{
	struct kernel_tensor t = *v->w;

	t.shape[0] = 1;
	return !v->back && kernel_dense(&t);
}

static void pack_tile(const struct convolution *v, const struct part *p, size_t group, size_t tile,
		      float *out)
{
	size_t first = tile * GEMM_ROWS;
	size_t n = v->rows - first < GEMM_ROWS ? v->rows - first : GEMM_ROWS;

	if (rows_are_runs(v)) {
		struct gemm_source s = { .t = v->w,
					 .at = weight_at(v, p, group, 0, 0),
					 .line = v->w->stride[0],
					 .k = 1 };

		LEVEL_NAME(gemm_pack)(&s, first, n, 0, p->k, GEMM_ROWS, 0, out);
		return;
	}
	memset(out, 0, GEMM_ROWS * p->k * sizeof(float));
	for (size_t k = 0; k < p->k; k++)
		for (size_t i = 0; i < n; i++)
			operand_load(v->w->dtype,
				     operand_at(v->w, weight_at(v, p, group, first + i, k)),
				     out + k * GEMM_ROWS + i, 1);
}

static void pack_left(const struct kernel_call *c, const struct convolution *v)
{
	float *out = c->scratch;

	for (size_t which = 0; which < v->classes; which++) {
		struct part p = make_part(v, which);
		size_t from, to;

		kernel_share(v->groups * p.tiles, 1, c->part, c->parts, &from, &to);
		for (size_t i = from; i < to; i++)
			pack_tile(v, &p, i / p.tiles, i % p.tiles, out + i * GEMM_ROWS * p.k);
		out += left_size(v, &p);
	}
}

/* --- phase 1 --- */

struct block {
	size_t image, group, row, rows, place, places;
};

#define RIGHT_SIZE (GEMM_DEPTH * PLACES)
#define SUMS_SIZE  (ROWS * PLACES)

/* Lines K to K + KN - 1 into panels. */
static void pack_right(const struct convolution *v, const struct part *p, const struct block *b,
		       size_t k, size_t kn, float *out)
{
	float line[PLACES];
	size_t padded = ceiling(b->places, GEMM_COLUMNS) * GEMM_COLUMNS;

	memset(line, 0, sizeof(line));
	for (size_t i = 0; i < kn; i++) {
		image_line(&p->grid, b->image, b->group * v->channels, k + i, b->place, b->places,
			   line);
		for (size_t j = 0; j < padded; j += GEMM_COLUMNS)
			memcpy(out + j * GEMM_DEPTH + i * GEMM_COLUMNS, line + j,
			       GEMM_COLUMNS * sizeof(float));
	}
}

static void sum_panels(const struct part *p, const struct block *b, const float *left,
		       const float *right, size_t k, size_t kn, float *sums)
{
	for (size_t first = 0; first < b->rows; first += SOME_ROWS) {
		size_t end = b->rows - first < SOME_ROWS ? b->rows : first + SOME_ROWS;

		for (size_t j = 0; j < b->places; j += GEMM_COLUMNS)
			for (size_t i = first; i < end; i += GEMM_ROWS)
				LEVEL_NAME(gemm_tile)
		(left + i * p->k + k * GEMM_ROWS, right + j * GEMM_DEPTH, kn, sums + i * PLACES + j,
		 PLACES);
	}
}

static void sum_block(const struct convolution *v, const struct part *p, const struct block *b,
		      float *room)
{
	const float *left =
		p->left + (b->group * p->tiles * GEMM_ROWS + b->row) * p->k; /* whole tiles */
	float *right = room, *sums = room + RIGHT_SIZE;

	memset(sums, 0, ceiling(b->rows, GEMM_ROWS) * GEMM_ROWS * PLACES * sizeof(float));
	for (size_t k = 0; k < p->k; k += GEMM_DEPTH) {
		size_t kn = p->k - k < GEMM_DEPTH ? p->k - k : GEMM_DEPTH;

		pack_right(v, p, b, k, kn, right);
		sum_panels(p, b, left, right, k, kn, sums);
	}
}

/* --- the epilogue --- */

static float bias_of(const struct kernel_call *c, size_t channel)
{
	float bias = 0;

	if (c->n_in > 2 && c->in[2].data)
		operand_load(c->in[2].dtype,
			     operand_at(&c->in[2], (ptrdiff_t)channel * c->in[2].stride[0]), &bias,
			     1);
	return bias;
}

/* Places lie side by side in the result, or a class of them apart. */
static void store_places(const struct convolution *v, const struct part *p, const struct block *b,
			 size_t channel, const float *x)
{
	const struct image_axis *h = &p->grid.h, *w = &p->grid.w;
	ptrdiff_t plane =
		(ptrdiff_t)b->image * v->out->stride[0] + (ptrdiff_t)channel * v->out->stride[1];
	uint8_t *out = v->out->data;

	if (h->place_step == 1 && w->place_step == 1) {
		operand_store(v->out->dtype, x,
			      out + operand_bytes(v->out->dtype, plane + (ptrdiff_t)b->place),
			      b->places);
		return;
	}
	for (size_t n = 0, i = b->place / w->places, j = b->place % w->places; n < b->places;
	     i++, j = 0) {
		ptrdiff_t row =
			plane + (ptrdiff_t)(h->first_place + i * h->place_step) * v->out->stride[2];

		for (; n < b->places && j < w->places; n++, j++) {
			ptrdiff_t at = row + (ptrdiff_t)(w->first_place + j * w->place_step);

			operand_store(v->out->dtype, x + n, out + operand_bytes(v->out->dtype, at),
				      1);
		}
	}
}

/* N sums of a channel, in whole vectors. */
static void finish_sums(const struct kernel_call *c, const struct convolution *v, size_t channel,
			float *x, size_t n)
{
	float bias = bias_of(c, channel);

	for (size_t j = 0; j < n; j++)
		x[j] += bias;
	if (v->back || !v->a->activation)
		return;
	operand_round(v->out->dtype, x, n);
	activation_row(x, n, v->a->activation);
}

static void finish_block(const struct kernel_call *c, const struct convolution *v,
			 const struct part *p, const struct block *b, float *sums)
{
	for (size_t i = 0; i < b->rows; i++) {
		size_t channel = b->group * v->rows + b->row + i;

		finish_sums(c, v, channel, sums + i * PLACES, b->places);
		store_places(v, p, b, channel, sums + i * PLACES);
	}
}

static void run_block(const struct kernel_call *c, const struct convolution *v,
		      const struct part *p, size_t i, float *room)
{
	struct block b = { .place = i % p->across * PLACES };

	i /= p->across;
	b.row = i % p->down * ROWS;
	b.group = i / p->down % v->groups;
	b.image = i / p->down / v->groups;
	b.rows = v->rows - b.row < ROWS ? v->rows - b.row : ROWS;
	b.places = p->places - b.place < PLACES ? p->places - b.place : PLACES;
	sum_block(v, p, &b, room);
	finish_block(c, v, p, &b, room + RIGHT_SIZE);
}

/* --- by bands --- */

/* The band B.place on, of ROWS rows, for a channel whose sums are X. */
static void finish_band(const struct kernel_call *c, const struct convolution *v,
			const struct part *p, const struct block *b, size_t channel, size_t rows,
			float *x)
{
	struct block row = *b;

	finish_sums(c, v, channel, x, rows * p->band.columns);
	row.places = p->grid.w.places;
	for (size_t i = 0; i < rows; i++, row.place += row.places)
		store_places(v, p, &row, channel, x + i * p->band.columns);
}

static void run_band(const struct kernel_call *c, const struct convolution *v, const struct part *p,
		     size_t i, float *room)
{
	const struct band *band = &p->band;
	size_t first = i % p->across * band->rows, taps = p->grid.h.taps * p->grid.w.taps;
	size_t rows = p->grid.h.places - first < band->rows ? p->grid.h.places - first : band->rows;
	struct block b = { .image = i / p->across / v->groups,
			   .group = i / p->across % v->groups,
			   .place = first * p->grid.w.places };
	const float *left = p->left + b.group * p->tiles * GEMM_ROWS * p->k;
	float *x = room, *sums = x + band->room;
	size_t *offset = (size_t *)(void *)(sums + GEMM_ROWS * band->places);

	band_offsets(band, &p->grid, offset);
	band_fill(band, &p->grid, b.image, b.group * v->channels, first, rows, x);
	for (size_t row = 0; row < v->rows; row += GEMM_ROWS, left += GEMM_ROWS * p->k) {
		size_t n = v->rows - row < GEMM_ROWS ? v->rows - row : GEMM_ROWS;

		(n == 1 ? band_row : band_sums)(band, offset, taps, left, x, rows * band->columns,
						sums);
		for (size_t r = 0; r < n; r++)
			finish_band(c, v, p, &b, b.group * v->rows + row + r, rows,
				    sums + r * band->places);
	}
}

/* --- the kernel --- */

/* Of a part, in floats. */
static size_t room_of(const struct convolution *v)
{
	size_t most = RIGHT_SIZE + SUMS_SIZE;

	for (size_t which = 0; which < v->classes; which++) {
		struct part p = make_part(v, which);
		size_t taps = p.grid.h.taps * p.grid.w.taps;
		size_t size = p.band.room + GEMM_ROWS * p.band.places + ceiling(2 * taps, 16) * 16;

		if (p.banded && size > most)
			most = ceiling(size, 16) * 16;
	}
	return most;
}

static size_t all_left(const struct convolution *v, size_t *blocks)
{
	size_t size = 0;

	*blocks = 0;
	for (size_t which = 0; which < v->classes; which++) {
		struct part p = make_part(v, which);

		size += left_size(v, &p);
		*blocks += v->out->shape[0] * v->groups * p.down * p.across;
	}
	return ceiling(size, 16) * 16;
}

static void run_blocks(const struct kernel_call *c, const struct convolution *v)
{
	size_t blocks, begin = 0, from, to;
	size_t left = all_left(v, &blocks);
	float *room = (float *)c->scratch + left + (size_t)c->part * room_of(v);
	const float *packed = c->scratch;

	kernel_share(blocks, 1, c->part, c->parts, &from, &to);
	for (size_t which = 0; which < v->classes; which++) {
		struct part p = make_part(v, which);
		size_t end = begin + v->out->shape[0] * v->groups * p.down * p.across;

		p.left = packed;
		packed += left_size(v, &p);
		for (; from < to && from < end; from++)
			(p.banded ? run_band : run_block)(c, v, &p, from - begin, room);
		begin = end;
	}
}

static void run(const struct kernel_call *c, bool back)
{
	struct convolution v = make_convolution(c, back);

	if (c->phase == 0)
		pack_left(c, &v);
	else
		run_blocks(c, &v);
}

static void run_conv2d(const struct kernel_call *c)
{
	run(c, false);
}

static void run_conv2d_dx(const struct kernel_call *c)
{
	run(c, true);
}

static size_t scratch(const struct kernel_call *c, bool back)
{
	struct convolution v = make_convolution(c, back);
	size_t blocks;

	return (all_left(&v, &blocks) + (size_t)c->parts * room_of(&v)) * sizeof(float);
}

static size_t scratch_conv2d(const struct kernel_call *c)
{
	return scratch(c, false);
}

static size_t scratch_conv2d_dx(const struct kernel_call *c)
{
	return scratch(c, true);
}

/* --- what is claimed --- */

/* Floats; rows of the image side by side, planes of the result too. */
static bool claims(const struct kernel_call *c)
{
	const struct conv_attributes *a = c->attributes;
	struct kernel_tensor plane = c->out[0];

	plane.shape[0] = plane.shape[1] = 1;
	for (int i = 0; i < c->n_in; i++)
		if (c->in[i].n_axes && !operand_is_float(c->in[i].dtype))
			return false;
	return operand_is_float(c->out[0].dtype) && kernel_dense(&plane) &&
	       (c->in[0].stride[3] == 1 || c->in[0].shape[3] == 1) &&
	       (size_t)a->stride[0] * a->stride[1] <= CLASSES_MAX;
}

#define KERNEL(name)                                                                  \
 LEVEL_KERNEL(name, panels, .claims = claims, .scratch = scratch_##name, .phases = 2, \
	      .run = run_##name)

KERNEL(conv2d);
KERNEL(conv2d_dx);
