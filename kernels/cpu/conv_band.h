/*
 * kernels/cpu/conv_band.h - a padded copy of what a band of a convolution's places sees
 *
 * The copy holds for each channel the lines and columns that the band's places see, padding as zeros. Place (i, j) then sees each
 * tap at a distance that depends on the tap alone behind where the place itself lies. Where steps are SPLIT, lines and columns lie apart by
 * their remainders by the steps, plane [lines, columns] of a remainder, so that places of a row lie side by side; places past
 * the last of a row, as many as the taps reach, are then between those of two rows.
 */
#ifndef KERNELS_CPU_CONV_BAND_H
#define KERNELS_CPU_CONV_BAND_H

#include "kernels/cpu/image.h"

#define BAND_FLOATS 49152 /* of a copy: with what else is in use it stays in L2 */

struct band {
	size_t rows; /* of places, at most */
	size_t channels;
	size_t split[2], step[2]; /* of the image's, between planes and within one */
	size_t planes[2];	  /* remainders that are seen */
	size_t columns, lines;	  /* of a plane */
	size_t plane, channel;	  /* their steps */
	size_t room;		  /* floats of the copy */
};

SIMD_INLINE size_t band_reach(const struct image_axis *a)
{
	return a->taps ? (a->taps - 1) * (size_t)(a->slope < 0 ? -a->slope : a->slope) : 0;
}

/* What place 0 sees at the least. */
SIMD_INLINE int64_t band_low(const struct image_axis *a)
{
	return a->base - (a->slope < 0 ? (int64_t)band_reach(a) : 0);
}

/* How far tap T sees from the least. */
SIMD_INLINE size_t band_tap(const struct image_axis *a, size_t t)
{
	size_t at = t * (size_t)(a->slope < 0 ? -a->slope : a->slope);

	return a->slope < 0 ? band_reach(a) - at : at;
}

SIMD_INLINE size_t band_length(const struct band *b, const struct image_axis *a, int axis,
			       size_t places)
{
	return (places ? places - 1 : 0) * b->step[axis] + band_reach(a) / b->split[axis] + 1;
}

SIMD_INLINE void band_size(struct band *b, const struct image_grid *g)
{
	b->lines = band_length(b, &g->h, 0, b->rows);
	b->plane = b->lines * b->columns;
	b->channel = b->planes[0] * b->planes[1] * b->plane;
	b->room = (b->channels * b->channel + b->columns + 95) / 16 * 16; /* vectors read on */
}

/* For CHANNELS and all places of a row, of at most ROWS rows: as many as stay near. */
SIMD_INLINE struct band band_of(const struct image_grid *g, size_t channels, size_t rows,
				bool split)
{
	const struct image_axis *axes[2] = { &g->h, &g->w };
	struct band b = { .channels = channels, .rows = rows ? rows : 1 };

	for (int i = 0; i < 2; i++) {
		const struct image_axis *a = axes[i];
		size_t reach = band_reach(a);

		b.split[i] = split ? (size_t)a->step : 1;
		b.step[i] = split ? 1 : (size_t)a->step;
		b.planes[i] = reach + 1 < b.split[i] ? reach + 1 : b.split[i];
	}
	b.columns = band_length(&b, &g->w, 1, g->w.places);
	band_size(&b, g);
	while (b.rows > 1 && b.room > BAND_FLOATS) {
		b.rows--;
		band_size(&b, g);
	}
	return b;
}

/* Where place (I, J) lies. */
SIMD_INLINE size_t band_place(const struct band *b, size_t i, size_t j)
{
	return i * b->step[0] * b->columns + j * b->step[1];
}

/* Where terms K to K + N - 1 lie behind a place; channels are counted from K's on. */
SIMD_INLINE void band_offsets(const struct band *b, const struct image_grid *g, size_t k, size_t n,
			      size_t *out)
{
	size_t taps = g->h.taps * g->w.taps, channel = 0;
	size_t r = taps ? k % taps / g->w.taps : 0, s = taps ? k % g->w.taps : 0;

	for (size_t i = 0; i < n; i++) {
		size_t h = band_tap(&g->h, r), w = band_tap(&g->w, s);

		out[i] = channel + (h % b->split[0] * b->planes[1] + w % b->split[1]) * b->plane +
			 h / b->split[0] * b->columns + w / b->split[1];
		if (++s < g->w.taps)
			continue;
		s = 0;
		if (++r < g->h.taps)
			continue;
		r = 0;
		channel += b->channel;
	}
}

/* A plane of the copy, of a grid that may begin at any place: lines H on, columns W on, of the image's plane AT. */
SIMD_INLINE void band_fill_plane(const struct band *b, const struct image_grid *g, ptrdiff_t at,
				 size_t row, size_t lines, size_t h, size_t w, float *out)
{
	struct image_grid seen = *g;
	struct image_span span;

	seen.w.step = (int64_t)b->split[1];
	span = image_span(&seen, (int64_t)w + band_low(&g->w), 0, b->columns);
	for (size_t l = 0; l < lines; l++, out += b->columns) {
		int64_t y =
			(int64_t)(row * (size_t)g->h.step + l * b->split[0] + h) + band_low(&g->h);

		if (y < 0 || y >= (int64_t)g->h.length)
			memset(out, 0, b->columns * sizeof(float));
		else
			image_see(&seen, operand_at(g->x, at + (ptrdiff_t)y * g->x->stride[2]),
				  &span, out);
	}
}

/* The copy for ROWS rows of places, ROW on, of CHANNELS channels FIRST on of image IMAGE. */
SIMD_INLINE void band_fill(const struct band *b, const struct image_grid *g, size_t image,
			   size_t first, size_t channels, size_t row, size_t rows, float *out)
{
	size_t lines = band_length(b, &g->h, 0, rows);

	for (size_t channel = first; channel < first + channels; channel++) {
		ptrdiff_t at =
			(ptrdiff_t)image * g->x->stride[0] + (ptrdiff_t)channel * g->x->stride[1];
		float *plane = out + (channel - first) * b->channel;

		for (size_t h = 0; h < b->planes[0]; h++)
			for (size_t w = 0; w < b->planes[1]; w++, plane += b->plane)
				band_fill_plane(b, g, at, row, lines, h, w, plane);
	}
}

#endif
