/*
 * kernels/cpu/conv_ahead.h - what the next piece of a convolution will see, asked for while the sums of this one are made
 *
 * A processor looks ahead within a row of an image alone. Zen 3, 3 channels of 640 x 640 by 16 of 3 x 3, one thread: 1.95 and 2.17 ms
 * without this, 1.71 and 1.72 with it, in turn.
 */
#ifndef KERNELS_CPU_CONV_AHEAD_H
#define KERNELS_CPU_CONV_AHEAD_H

#include "kernels/cpu/conv_piece.h"

/* Rows of an image's channels, line by line. */
struct ahead {
	const uint8_t *channel, *row;
	ptrdiff_t channel_step, row_step;
	size_t channels, rows, bytes; /* of a row */
	size_t i, at;		      /* which row, and how far in it */
	size_t each;		      /* lines at a time */
};

#define AHEAD_LINE 64 /* of the cache, in bytes */

/* Of TIMES times that some are asked for. */
SIMD_INLINE struct ahead ahead_of(const struct conv_piece *b, size_t times)
{
	const struct kernel_tensor *x = b->grid.x;
	const struct image_axis *h = &b->grid.h;
	int64_t from = (int64_t)(b->row + b->rows) * h->step + band_low(h) +
		       (int64_t)band_reach(h) + 1 - h->step;
	int64_t to = from + (int64_t)b->rows * h->step;
	ptrdiff_t at = (ptrdiff_t)b->image * x->stride[0] +
		       (ptrdiff_t)(b->group * b->v->channels) * x->stride[1];
	struct ahead a = { .channels = b->v->channels,
			   .channel_step = (ptrdiff_t)operand_bytes(x->dtype, x->stride[1]),
			   .row_step = (ptrdiff_t)operand_bytes(x->dtype, x->stride[2]),
			   .bytes = operand_bytes(x->dtype, (ptrdiff_t)b->grid.w.length) };

	from = from < 0 ? 0 : from;
	to = to > (int64_t)h->length ? (int64_t)h->length : to;
	a.rows = to > from ? (size_t)(to - from) : 0;
	if (!a.rows || !a.bytes || b->columns < b->p->grid.w.places)
		a.channels = 0; /* a piece of a row: none */
	a.row = a.channel = operand_at(x, at + (ptrdiff_t)from * x->stride[2]);
	a.each = conv_ceiling(a.channels * a.rows * conv_ceiling(a.bytes, AHEAD_LINE),
			      times ? times : 1);
	return a;
}

SIMD_INLINE void ahead_ask(struct ahead *a)
{
	for (size_t n = 0; n < a->each && a->channels; n++) {
		__builtin_prefetch(a->row + a->at, 0, 2);
		a->at += AHEAD_LINE;
		if (a->at < a->bytes)
			continue;
		a->at = 0;
		a->row += a->row_step;
		if (++a->i < a->rows)
			continue;
		a->i = 0;
		a->channels--;
		a->row = a->channel += a->channel_step;
	}
}

#endif
