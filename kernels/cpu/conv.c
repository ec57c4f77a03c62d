/*
 * kernels/cpu/conv.c - convolutions of images, and their gradient by the image
 *
 * Phase 0 packs the kernel, which a plan may keep where it is a weight that stays as it is; phase 1 makes the pieces of all classes,
 * images and groups (conv_sum.c). A class is shared out by itself: its pieces take the same time.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/conv.h"

#define CLASSES_MAX 1024
#define FAR	    64 /* what taps may reach in a band */
#define SPREAD_LEAST \
 96 /* terms of a sum: with fewer, turning the result costs more than it gains */
#define LARGE_BAND  (8 * BAND_FLOATS)
#define BAND_PLACES 2048  /* whose sums of a panel stay near */
#define SPREAD_SUMS 32768 /* floats: all rows of a piece's sums stay in L2 */
#define ROWS	    384	  /* a multiple of every CONV_FLAT_ROWS */

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

/* --- how products are made --- */

/* A 1x1 kernel whose places see what lies at themselves. */
static bool is_point(const struct convolution *v)
{
	const struct conv_attributes *a = v->a;

	return v->w->shape[2] == 1 && v->w->shape[3] == 1 && a->stride[0] == 1 &&
	       a->stride[1] == 1 && !a->pad[0] && !a->pad[1] && !a->pad[2] && !a->pad[3];
}

static bool is_far(const struct conv_part *p)
{
	return band_reach(&p->grid.h) > FAR || band_reach(&p->grid.w) > FAR;
}

static enum conv_way way_of(const struct convolution *v, const struct conv_part *p)
{
	size_t padded = conv_round_up(v->rows, CONV_LANES);

	if (is_point(v) || is_far(p))
		return CONV_FLAT;
	if (v->rows == 1 && v->channels == 1)
		return CONV_DEPTH;
	return v->rows && p->k >= SPREAD_LEAST && padded - v->rows <= padded / 8 ? CONV_SPREADS
										 : CONV_FLAT;
}

/* --- how the result is cut --- */

/* N in pieces of at most MOST, nearly equal ones, so many that all parts get some where PIECES of other axes are there. */
static size_t cut(const struct convolution *v, size_t n, size_t most, size_t step, size_t pieces)
{
	size_t count = conv_ceiling(n, most ? most : 1), each;

	if (pieces && count * pieces % v->parts)
		count = conv_ceiling(conv_ceiling(count * pieces, v->parts) * v->parts, pieces);
	each = conv_round_up(conv_ceiling(n, count ? count : 1), step);
	return each ? each : step;
}

/* A row that is too long for a piece is cut; else pieces are of whole rows. */
static void cut_band(const struct convolution *v, struct conv_part *p)
{
	struct image_grid *g = &p->grid, some = *g;
	bool spread = p->way == CONV_SPREADS;
	size_t rows = conv_round_up(v->rows, CONV_LANES);
	size_t most = spread ? SPREAD_SUMS / rows : BAND_PLACES;
	size_t others = v->out->shape[0] * v->groups, channels = v->channels;

	if (spread) /* a slice's, and those of which it has some taps */
		channels = conv_least(channels, p->slice / (g->h.taps * g->w.taps) + 2);
	most = most < CONV_PLACES / 2 ? CONV_PLACES / 2 : most;
	p->piece_columns = conv_least(g->w.places, most);
	if (g->w.places > most)
		p->piece_columns = cut(v, g->w.places, most, 1, 0);
	p->across = conv_ceiling(g->w.places, p->piece_columns ? p->piece_columns : 1);
	some.w.places = p->piece_columns;
	p->band =
		band_of(&some, channels,
			p->across > 1 ? 1 : conv_least(g->h.places, most / (p->piece_columns + 1)),
			!spread);
	p->piece_rows = cut(v, g->h.places, p->band.rows, 1, p->across * others);
	p->up = conv_ceiling(g->h.places, p->piece_rows);
	p->band = band_of(&some, channels, p->piece_rows, !spread);
	p->banded = true;
	p->piece_panels = p->panels;
}

static void cut_places(const struct convolution *v, struct conv_part *p)
{
	p->banded = false;
	p->piece_columns = 0;
	p->piece_panels = conv_least(p->panels, ROWS / CONV_FLAT_ROWS);
	p->down = p->panels ? conv_ceiling(p->panels, p->piece_panels) : 0;
	p->piece_rows = conv_least(cut(v, p->places, CONV_PLACES, CONV_FLAT_COLUMNS,
				       v->out->shape[0] * v->groups * p->down),
				   CONV_PLACES);
	p->up = conv_ceiling(p->places, p->piece_rows);
	p->across = 1;
}

/* Where there are fewer pieces than parts, panels are shared out too. */
static void cut_panels(const struct convolution *v, struct conv_part *p)
{
	size_t pieces = v->out->shape[0] * v->groups * p->up * p->across;

	if (pieces && pieces < v->parts)
		p->piece_panels = conv_ceiling(p->panels, conv_ceiling(v->parts, pieces));
	if (p->panels)
		p->down = conv_ceiling(p->panels, p->piece_panels);
}

static struct conv_part make_part(const struct convolution *v, size_t which)
{
	const size_t *x = v->x->shape, *w = v->w->shape, *out = v->out->shape;
	struct conv_part p = { .grid = { .x = v->x } };

	if (v->back) {
		p.grid.h = image_backward(v->a, 0, x[2], w[2], out[2], which / v->a->stride[1]);
		p.grid.w = image_backward(v->a, 1, x[3], w[3], out[3], which % v->a->stride[1]);
	} else {
		p.grid.h = image_forward(v->a, 0, x[2], w[2], out[2]);
		p.grid.w = image_forward(v->a, 1, x[3], w[3], out[3]);
	}
	p.k = v->channels * p.grid.h.taps * p.grid.w.taps;
	p.slice = conv_slice(p.k, p.grid.h.taps * p.grid.w.taps);
	p.places = p.grid.h.places * p.grid.w.places;
	p.way = way_of(v, &p);
	p.width = p.way == CONV_SPREADS ? CONV_LANES : p.way == CONV_DEPTH ? 1 : CONV_FLAT_ROWS;
	p.panels = conv_ceiling(v->rows, p.width);
	if (!is_point(v) && !is_far(&p))
		cut_band(v, &p);
	if (!p.banded || (p.way == CONV_FLAT && p.band.room > LARGE_BAND))
		cut_places(v, &p);
	cut_panels(v, &p);
	return p;
}

static size_t pieces_of(const struct convolution *v, const struct conv_part *p)
{
	return v->out->shape[0] * v->groups * p->down * p->up * p->across;
}

static size_t left_size(const struct convolution *v, const struct conv_part *p)
{
	return conv_round_up(v->groups * p->panels * p->width * p->k, 16);
}

/* --- phase 0: the packed kernel, [panel][k][row] --- */

/* Of the kernel's element for tap (0, 0) of the class, channel 0 and row ROW of group GROUP. */
static ptrdiff_t weight_at(const struct convolution *v, const struct conv_part *p, size_t group,
			   size_t row)
{
	const ptrdiff_t *step = v->w->stride;
	size_t o = group * (v->back ? v->channels : v->rows) + (v->back ? 0 : row);

	return (ptrdiff_t)o * step[0] + (ptrdiff_t)(v->back ? row : 0) * step[1] +
	       (ptrdiff_t)p->grid.h.first_tap * step[2] + (ptrdiff_t)p->grid.w.first_tap * step[3];
}

/* Whether a row's elements lie side by side. */
static bool rows_are_runs(const struct convolution *v)
{
	struct kernel_tensor t = *v->w;

	t.shape[0] = 1;
	return !v->back && kernel_dense(&t);
}

/* Rows one by one, N of them, STEP apart from AT on. */
static void pack_each(const struct convolution *v, const struct conv_part *p, ptrdiff_t at,
		      ptrdiff_t step, size_t n, float *out)
{
	const struct image_axis *h = &p->grid.h, *w = &p->grid.w;
	const ptrdiff_t *s = v->w->stride;

	memset(out, 0, p->width * p->k * sizeof(float));
	for (size_t channel = 0; channel < v->channels; channel++, at += s[v->back ? 0 : 1])
		for (size_t tap = 0; tap < h->taps * w->taps; tap++, out += p->width) {
			ptrdiff_t from = at + (ptrdiff_t)(tap / w->taps * h->tap_step) * s[2] +
					 (ptrdiff_t)(tap % w->taps * w->tap_step) * s[3];

			for (size_t i = 0; i < n; i++)
				operand_load(v->w->dtype,
					     operand_at(v->w, from + (ptrdiff_t)i * step), out + i,
					     1);
		}
}

static void pack_panel(const struct convolution *v, const struct conv_part *p, size_t group,
		       size_t panel, float *out)
{
	size_t first = panel * p->width;
	size_t n = conv_least(v->rows - first, p->width);
	ptrdiff_t at = weight_at(v, p, group, first);
	struct gemm_source s = { .t = v->w, .at = at, .line = v->w->stride[0], .k = 1 };

	if (rows_are_runs(v) && p->width > 1)
		LEVEL_NAME(gemm_pack)(&s, 0, n, 0, p->k, p->width, 0, out);
	else
		pack_each(v, p, at, v->w->stride[v->back ? 1 : 0], n, out);
}

static void pack_left(const struct kernel_call *c, const struct convolution *v)
{
	float *out = c->kept;

	for (size_t which = 0; which < v->classes; which++) {
		struct conv_part p = make_part(v, which);
		size_t from, to;

		kernel_share(v->groups * p.panels, 1, c->part, c->parts, &from, &to);
		for (size_t i = from; i < to; i++)
			pack_panel(v, &p, i / p.panels, i % p.panels, out + i * p.width * p.k);
		out += left_size(v, &p);
	}
}

/* --- phase 1 --- */

static size_t room_of(const struct convolution *v)
{
	size_t most = 0;

	for (size_t which = 0; which < v->classes; which++) {
		struct conv_part p = make_part(v, which);
		size_t size = LEVEL_NAME(conv_room)(v, &p);

		most = size > most ? size : most;
	}
	return conv_round_up(most, 16);
}

static void run_pieces(const struct kernel_call *c, const struct convolution *v)
{
	float *room = (float *)c->scratch + (size_t)c->part * room_of(v);
	const float *left = c->kept;

	for (size_t which = 0; which < v->classes; which++) {
		struct conv_part p = make_part(v, which);
		size_t from, to;

		kernel_share(pieces_of(v, &p), 1, c->part, c->parts, &from, &to);
		for (; from < to; from++)
			LEVEL_NAME(conv_piece)(c, v, &p, left, from, room);
		left += left_size(v, &p);
	}
}

static void run(const struct kernel_call *c, bool back)
{
	struct convolution v = make_convolution(c, back);

	if (c->phase == 0)
		pack_left(c, &v);
	else
		run_pieces(c, &v);
}

static size_t scratch(const struct kernel_call *c, bool back)
{
	struct convolution v = make_convolution(c, back);

	return (size_t)c->parts * room_of(&v) * sizeof(float);
}

static size_t kept(const struct kernel_call *c, bool back, int *in)
{
	struct convolution v = make_convolution(c, back);
	size_t size = 16;

	for (size_t which = 0; which < v.classes; which++) {
		struct conv_part p = make_part(&v, which);

		size += left_size(&v, &p);
	}
	*in = 1;
	return size * sizeof(float);
}

/* --- the kernels --- */

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

#define KERNEL(name, back)                                                                    \
 static void run_##name(const struct kernel_call *c)                                          \
 {                                                                                            \
  run(c, back);                                                                               \
 }                                                                                            \
 static size_t scratch_##name(const struct kernel_call *c)                                    \
 {                                                                                            \
  return scratch(c, back);                                                                    \
 }                                                                                            \
 static size_t kept_##name(const struct kernel_call *c, int *in)                              \
 {                                                                                            \
  return kept(c, back, in);                                                                   \
 }                                                                                            \
 LEVEL_KERNEL(name, panels, .claims = claims, .scratch = scratch_##name, .kept = kept_##name, \
	      .phases = 2, .run = run_##name)

KERNEL(conv2d, false);
KERNEL(conv2d_dx, true);
