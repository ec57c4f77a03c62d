/*
 * kernels/cpu/conv_band.h - a band of rows of a convolution, straight from a padded copy of what its taps see
 *
 * The copy holds for each channel the rows and columns that the band's places see, apart by their remainders by the steps, padding
 * as zeros: plane [lines, columns] of a remainder. Place (i, j) then sees each tap at i * columns + j behind a place that depends on the
 * tap alone, so that all places of a band are one run of memory, which is read by vectors for every tap and no panel is
 * made of it. Places past the last of a row are computed too, and dropped: they are as many as the taps reach.
 *
 * A sum is one chain of multiply-adds, over channels and then taps, whatever the band.
 */
#ifndef KERNELS_CPU_CONV_BAND_H
#define KERNELS_CPU_CONV_BAND_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/image.h"

#define BAND_FLOATS 49152 /* of a copy: with what else is in use it stays in L2 */
#define BAND_PLACES 2048  /* of a band, whose sums stay near too */
#define BAND_DEPTH  576	  /* k at a time: a left panel of it stays in L1 */

struct band {
	size_t rows;		       /* of places, at most */
	size_t columns, lines, plane;  /* of the copy */
	size_t remainders[2], channel; /* planes of a channel, and its step */
	int64_t low[2];		       /* what place (0, 0) sees at the least */
	size_t channels;
	size_t room, places; /* floats of the copy, and of a row of sums */
};

SIMD_INLINE size_t band_reach(const struct image_axis *a)
{
	return a->taps ? (a->taps - 1) * (size_t)(a->slope < 0 ? -a->slope : a->slope) : 0;
}

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

SIMD_INLINE void band_size(struct band *b, const struct image_grid *g)
{
	b->lines = b->rows + band_reach(&g->h) / (size_t)g->h.step;
	b->plane = b->lines * b->columns;
	b->channel = b->remainders[0] * b->remainders[1] * b->plane;
	b->places = (b->rows * b->columns + 31) / 32 * 32;
	b->room = (b->channels * b->channel + b->columns + 63) / 32 * 32; /* vectors read on */
}

/* For CHANNELS, of at most MOST rows: as many as stay near. */
SIMD_INLINE struct band band_of(const struct image_grid *g, size_t channels, size_t most)
{
	size_t steps[2] = { (size_t)g->h.step, (size_t)g->w.step };
	size_t reach[2] = { band_reach(&g->h), band_reach(&g->w) };
	struct band b = { .low = { band_low(&g->h), band_low(&g->w) }, .channels = channels };

	for (int i = 0; i < 2; i++)
		b.remainders[i] = reach[i] + 1 < steps[i] ? reach[i] + 1 : steps[i];
	b.columns = g->w.places + reach[1] / steps[1];
	b.rows = most ? most : 1;
	band_size(&b, g);
	while (b.rows > 1 && (b.room > BAND_FLOATS || b.places > BAND_PLACES)) {
		b.rows--;
		band_size(&b, g);
	}
	return b;
}

/* Where each tap of a channel lies behind a place. */
SIMD_INLINE void band_offsets(const struct band *b, const struct image_grid *g, size_t *out)
{
	for (size_t r = 0; r < g->h.taps; r++)
		for (size_t s = 0; s < g->w.taps; s++) {
			size_t h = band_tap(&g->h, r), w = band_tap(&g->w, s);
			size_t sh = (size_t)g->h.step, sw = (size_t)g->w.step;

			*out++ = (h % sh * b->remainders[1] + w % sw) * b->plane +
				 h / sh * b->columns + w / sw;
		}
}

/* The copy for ROWS rows of places, ROW on, of channels FIRST on of image IMAGE. */
SIMD_INLINE void band_fill(const struct band *b, const struct image_grid *g, size_t image,
			   size_t first, size_t row, size_t rows, float *out)
{
	size_t lines = b->lines - (b->rows - rows);

	for (size_t channel = 0; channel < b->channels; channel++)
		for (size_t i = 0; i < b->remainders[0] * b->remainders[1]; i++) {
			size_t h = i / b->remainders[1], w = i % b->remainders[1];
			float *plane = out + channel * b->channel + i * b->plane;
			ptrdiff_t at = (ptrdiff_t)image * g->x->stride[0] +
				       (ptrdiff_t)(first + channel) * g->x->stride[1];

			for (size_t l = 0; l < lines; l++, plane += b->columns) {
				int64_t y = (int64_t)(row + l) * g->h.step + (int64_t)h + b->low[0];

				if (y < 0 || y >= (int64_t)g->h.length)
					memset(plane, 0, b->columns * sizeof(float));
				else
					image_row(g,
						  operand_at(g->x,
							     at + (ptrdiff_t)y * g->x->stride[2]),
						  (int64_t)w + b->low[1], 0, b->columns, plane);
			}
		}
}

/* GEMM_ROWS rows of sums, STEP apart, += a left panel by GEMM_COLUMNS places at X, over CHANNELS. */
SIMD_INLINE void band_tile(const struct band *b, const size_t *offset, size_t taps, const float *a,
			   const float *x, size_t channels, float *c, size_t step)
{
	vf32 sum[GEMM_ROWS][2];

	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS; i++) {
		sum[i][0] = simd_load(c + i * step);
		sum[i][1] = simd_load(c + i * step + SIMD_WIDTH);
	}
	for (size_t channel = 0; channel < channels; channel++, x += b->channel)
		for (size_t t = 0; t < taps; t++, a += GEMM_ROWS) {
			vf32 x0 = simd_load(x + offset[t]);
			vf32 x1 = simd_load(x + offset[t] + SIMD_WIDTH);

			SIMD_UNROLL
			for (size_t i = 0; i < GEMM_ROWS; i++) {
				vf32 w = simd_broadcast(a + i);

				sum[i][0] = simd_fma(w, x0, sum[i][0]);
				sum[i][1] = simd_fma(w, x1, sum[i][1]);
			}
		}
	SIMD_UNROLL
	for (size_t i = 0; i < GEMM_ROWS; i++) {
		simd_store(c + i * step, sum[i][0]);
		simd_store(c + i * step + SIMD_WIDTH, sum[i][1]);
	}
}

/* N rows of sums, of one panel LEFT: PLACES of them, STEP apart. */
SIMD_INLINE void band_sums(const struct band *b, const size_t *offset, size_t taps,
			   const float *left, const float *x, size_t places, float *sums)
{
	size_t depth = taps < BAND_DEPTH ? BAND_DEPTH / (taps ? taps : 1) : 1;

	memset(sums, 0, GEMM_ROWS * b->places * sizeof(float));
	for (size_t channel = 0; channel < b->channels; channel += depth) {
		size_t n = b->channels - channel < depth ? b->channels - channel : depth;

		for (size_t j = 0; j < places; j += GEMM_COLUMNS)
			band_tile(b, offset, taps, left + channel * taps * GEMM_ROWS,
				  x + channel * b->channel + j, n, sums + j, b->places);
	}
}

/* One row of sums, of the first row of panel LEFT. */
SIMD_INLINE void band_row(const struct band *b, const size_t *offset, size_t taps,
			  const float *left, const float *x, size_t places, float *sums)
{
	for (size_t j = 0; j < places; j += 2 * SIMD_WIDTH) {
		vf32 low = { 0 }, high = { 0 };
		const float *a = left;

		for (size_t channel = 0; channel < b->channels; channel++)
			for (size_t t = 0; t < taps; t++, a += GEMM_ROWS) {
				const float *p = x + channel * b->channel + offset[t] + j;
				vf32 w = simd_broadcast(a);

				low = simd_fma(w, simd_load(p), low);
				high = simd_fma(w, simd_load(p + SIMD_WIDTH), high);
			}
		simd_store(sums + j, low);
		simd_store(sums + j + SIMD_WIDTH, high);
	}
}

#endif
