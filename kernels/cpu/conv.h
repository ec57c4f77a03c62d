/*
 * kernels/cpu/conv.h - how a convolution of images, or its gradient by the image, is laid out
 *
 * For an image, a group of channels and a class of places (image.h) the result is [rows, k] by [k, places]: on the left the
 * kernel, on the right what the taps see. How the products are made follows from the kernel's shape and the attributes alone, so that the packed kernel
 * serves images of any size. Pieces of the result are shared out.
 */
#ifndef KERNELS_CPU_CONV_H
#define KERNELS_CPU_CONV_H

#include "kernels/cpu/conv_band.h"
#include "kernels/cpu/conv_tile.h"

#define CONV_PLACES 192 /* without a band, at a time: a multiple of every CONV_FLAT_COLUMNS */

enum conv_way {
	CONV_FLAT, /* vectors of places (conv_tile.h), of a band or of lines that are copied as they are seen */
	CONV_SPREADS, /* vectors of rows of the result */
	CONV_DEPTH,   /* a channel by itself, one row */
};

struct convolution {
	const struct kernel_tensor *x, *w, *out;
	const struct conv_attributes *a;
	bool back;
	size_t groups, rows, channels; /* rows of the result and channels seen, of a group */
	size_t classes;
	size_t parts;
};

/* One class of places. */
struct conv_part {
	struct image_grid grid;
	size_t k, slice, places;
	enum conv_way way;
	size_t width,
		panels; /* of the packed kernel: rows side by side, and how many such panels a group has */
	bool banded;
	struct band band;
	/* Pieces of an image and group: of so many panels, rows and columns of places. A piece without a band: of places, in rows' stead. */
	size_t piece_panels, piece_rows, piece_columns;
	size_t down, up, across;
};

SIMD_INLINE size_t conv_ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

SIMD_INLINE size_t conv_round_up(size_t n, size_t to)
{
	return conv_ceiling(n, to) * to;
}

SIMD_INLINE size_t conv_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Floats of one part's room. */
size_t LEVEL_NAME(conv_room)(const struct convolution *v, const struct conv_part *p);

/* Piece I of those of all images and groups; LEFT is the packed kernel of all groups. */
void LEVEL_NAME(conv_piece)(const struct kernel_call *c, const struct convolution *v,
			    const struct conv_part *p, const float *left, size_t i, float *room);

#endif
