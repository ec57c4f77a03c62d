/*
 * kernels/cpu/conv_sum.c - a piece of a convolution: its sums, bias, activation, and where they go
 *
 * A piece is of one image and group: some panels of rows by a band of places, or by places that are copied as lines of what a tap
 * sees (a 1x1 kernel sees all of the image as it lies; taps that are far apart would make a large band).
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/conv_ahead.h"
#include "kernels/cpu/conv_piece.h"

#define TURN 64 /* places whose sums are turned at a time: a multiple of every vector */

/* --- places as they lie in a band --- */

static size_t flat_places(const struct conv_part *p)
{
	return conv_round_up(p->piece_rows * p->band.columns, CONV_FLAT_COLUMNS);
}

static void sum_flat(const struct conv_piece *b, size_t panel, const float *x, const size_t *offset,
		     size_t step, size_t places, struct ahead *next, float *sums)
{
	const struct conv_part *p = b->p;
	const float *left = b->left + panel * p->width * p->k;
	size_t k = 0;

	do {
		size_t n = conv_least(p->slice, p->k - k);

		for (size_t j = 0; j < places; j += CONV_FLAT_COLUMNS) {
			ahead_ask(next);
			conv_flat(left + k * CONV_FLAT_ROWS, x + j, offset + k, n, k == 0, sums + j,
				  step);
		}
		k += p->slice;
	} while (k < p->k);
}

static void run_flat(const struct conv_piece *b, float *room)
{
	const struct conv_part *p = b->p;
	const struct band *band = &p->band;
	size_t step = flat_places(p);
	float *x = room, *sums = x + band->room;
	size_t *offset = (size_t *)(void *)(sums + CONV_FLAT_ROWS * step);

	struct ahead next =
		ahead_of(b, b->panels * conv_ceiling(b->rows * band->columns, CONV_FLAT_COLUMNS));

	band_offsets(band, &b->grid, 0, p->k, offset);
	band_fill(band, &b->grid, b->image, b->group * b->v->channels, b->v->channels, b->row,
		  b->rows, x);
	for (size_t panel = b->panel; panel < b->panel + b->panels; panel++) {
		size_t first, n = piece_panel_rows(b, panel, &first);

		sum_flat(b, panel, x, offset, step, b->rows * band->columns, &next, sums);
		for (size_t r = 0; r < n; r++) {
			size_t channel = b->group * b->v->rows + first + r;

			piece_finish(b, channel, b->rows * band->columns, sums + r * step);
			for (size_t i = 0; i < b->rows; i++)
				piece_store(b, channel, piece_place(b, i), b->columns,
					    sums + r * step + i * band->columns);
		}
	}
}

/* --- a channel by itself --- */

/* A row of N places. */
static void depth_row(const float *x, const size_t *offset, const float *w, size_t taps, size_t n,
		      float *out)
{
	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 sum = { 0 };

		for (size_t t = 0; t < taps; t++)
			sum = simd_fma(simd_broadcast(w + t), simd_load(x + offset[t] + j), sum);
		simd_store(out + j, sum);
	}
}

/* Of 3 x 3 taps, whose weights stay in registers. */
static void depth_9(const float *x, const size_t *offset, const float *w, size_t n, float *out)
{
	const float *row[3] = { x, x + offset[3] - offset[0], x + offset[6] - offset[0] };
	size_t at[3] = { offset[0], offset[1], offset[2] };
	vf32 y[9];

	SIMD_UNROLL
	for (int t = 0; t < 9; t++)
		y[t] = simd_broadcast(w + t);
	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 sum = { 0 };

		SIMD_UNROLL
		for (int t = 0; t < 9; t++)
			sum = simd_fma(y[t], simd_load(row[t / 3] + at[t % 3] + j), sum);
		simd_store(out + j, sum);
	}
}

/* More taps than a slice: slices are added in order. */
static void depth_many(const struct conv_part *p, const float *x, const size_t *offset,
		       const float *w, size_t n, float *out)
{
	float more[SIMD_WIDTH];

	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 sum = { 0 };

		for (size_t k = 0; k < p->k; k += p->slice) {
			depth_row(x + j, offset + k, w + k, conv_least(p->slice, p->k - k), 1,
				  more);
			sum += simd_load(more);
		}
		simd_store(out + j, sum);
	}
}

static size_t depth_places(const struct conv_part *p)
{
	return conv_round_up(p->piece_rows * p->piece_columns + SIMD_WIDTH, 16);
}

/* What is written past a row's end is written over by the next. */
static void run_depth(const struct conv_piece *b, float *room)
{
	const struct conv_part *p = b->p;
	const struct band *band = &p->band;
	float *x = room, *sums = x + band->room;
	size_t *offset = (size_t *)(void *)(sums + depth_places(p));

	band_offsets(band, &b->grid, 0, p->k, offset);
	band_fill(band, &b->grid, b->image, b->group, 1, b->row, b->rows, x);
	for (size_t i = 0; i < b->rows; i++) {
		const float *at = x + band_place(band, i, 0);

		if (b->grid.h.taps == 3 && b->grid.w.taps == 3)
			depth_9(at, offset, b->left, b->columns, sums + i * b->columns);
		else
			depth_many(p, at, offset, b->left, b->columns, sums + i * b->columns);
	}
	piece_end(b, 0, piece_place(b, 0), b->rows * b->columns, sums);
}

/* --- rows side by side, places anywhere --- */

static size_t spread_places(const struct conv_part *p)
{
	return conv_round_up(p->piece_rows * p->piece_columns, CONV_SPREAD);
}

/* Where the piece's places lie in the band; past the last one as it. */
static void find_places(const struct conv_piece *b, size_t *at)
{
	size_t n = b->rows * b->columns, i = 0;

	for (; i < n; i++)
		at[i] = band_place(&b->p->band, i / b->columns, i % b->columns);
	for (; i % CONV_SPREAD; i++)
		at[i] = at[n - 1];
}

/* Terms K to K + N - 1 of all panels. */
static void spread_slice(const struct conv_piece *b, size_t k, size_t n, const float *x,
			 const size_t *at, const size_t *offset, struct ahead *next, float *sums)
{
	const struct conv_part *p = b->p;
	size_t places = b->rows * b->columns;

	for (size_t panel = b->panel; panel < b->panel + b->panels; panel++) {
		const float *left = b->left + (panel * p->k + k) * CONV_LANES;

		for (size_t i = 0; i < places; i += CONV_SPREAD) {
			ahead_ask(next);
			conv_spread(x, at + i, offset, left, n, k == 0, sums + i * CONV_LANES);
		}
		sums += spread_places(p) * CONV_LANES;
	}
}

static void finish_spread(const struct conv_piece *b, float *sums)
{
	size_t places = b->rows * b->columns, first;
	float rows[CONV_LANES * TURN];

	for (size_t panel = b->panel; panel < b->panel + b->panels; panel++) {
		size_t n = piece_panel_rows(b, panel, &first);

		for (size_t i = 0; i < places; i += TURN) {
			size_t many = conv_least(TURN, places - i);

			LEVEL_NAME(gemm_turn)
			(sums + i * CONV_LANES, many, n, CONV_LANES, rows, TURN);
			for (size_t r = 0; r < n; r++)
				piece_end(b, first + r, piece_place(b, 0) + i, many,
					  rows + r * TURN);
		}
		sums += spread_places(b->p) * CONV_LANES;
	}
}

static void run_spread(const struct conv_piece *b, float *room)
{
	const struct conv_part *p = b->p;
	const struct band *band = &p->band;
	size_t taps = b->grid.h.taps * b->grid.w.taps;
	float *x = room, *sums = x + band->room;
	size_t *at = (size_t *)(void *)(sums + p->piece_panels * spread_places(p) * CONV_LANES);
	size_t *offset = at + spread_places(p);
	struct ahead next = ahead_of(b, conv_ceiling(p->k, p->slice) * b->panels *
						conv_ceiling(b->rows * b->columns, CONV_SPREAD));

	find_places(b, at);
	for (size_t k = 0; k < p->k; k += p->slice) {
		size_t n = conv_least(p->slice, p->k - k);
		size_t first = k / taps, channels = (k + n - 1) / taps - first + 1;

		band_offsets(band, &b->grid, k, n, offset);
		band_fill(band, &b->grid, b->image, b->group * b->v->channels + first, channels,
			  b->row, b->rows, x);
		spread_slice(b, k, n, x, at, offset, &next, sums);
	}
	finish_spread(b, sums);
}

/* --- lines that are copied --- */

/* What places see, N of them, into panels a step apart; the last is filled up with zeros. */
static void deal(const float *line, size_t n, size_t step, float *out)
{
	size_t j = 0;

	for (; j + CONV_FLAT_COLUMNS <= n; j += CONV_FLAT_COLUMNS, out += step)
		memcpy(out, line + j, CONV_FLAT_COLUMNS * sizeof(float));
	if (j == n)
		return;
	memset(out, 0, CONV_FLAT_COLUMNS * sizeof(float));
	memcpy(out, line + j, (n - j) * sizeof(float));
}

/* Terms K to K + N - 1 of places ROW on into panels [n][CONV_FLAT_COLUMNS]. */
static void copy_lines(const struct conv_piece *b, size_t k, size_t n, float *out)
{
	const struct kernel_tensor *x = b->grid.x;
	bool lies = image_is_itself(&b->grid) && x->dtype == DTYPE_F32;
	float line[CONV_PLACES];

	for (size_t i = 0; i < n; i++) {
		ptrdiff_t channel = (ptrdiff_t)(b->group * b->v->channels + k + i);
		const float *p = line;

		if (lies)
			p = (const float *)x->data + (ptrdiff_t)b->image * x->stride[0] +
			    channel * x->stride[1] + (ptrdiff_t)b->row;
		else
			image_line(&b->grid, b->image, b->group * b->v->channels, k + i, b->row,
				   b->rows, line);
		deal(p, b->rows, n * CONV_FLAT_COLUMNS, out + i * CONV_FLAT_COLUMNS);
	}
}

static size_t lines_places(const struct conv_part *p)
{
	return conv_round_up(p->piece_rows, CONV_FLAT_COLUMNS);
}

static void run_lines(const struct conv_piece *b, float *room)
{
	const struct conv_part *p = b->p;
	size_t step = lines_places(p), k = 0;
	float *lines = room, *sums = lines + step * CONV_SLICE;
	size_t offset[CONV_SLICE];

	for (size_t i = 0; i < CONV_SLICE; i++)
		offset[i] = i * CONV_FLAT_COLUMNS;
	do {
		size_t n = conv_least(p->slice, p->k - k);
		const float *left = b->left + (b->panel * p->k + k) * CONV_FLAT_ROWS;

		copy_lines(b, k, n, lines);
		for (size_t j = 0; j < b->rows; j += CONV_FLAT_COLUMNS)
			for (size_t i = 0; i < b->panels; i++)
				conv_flat(left + i * p->k * CONV_FLAT_ROWS, lines + j * n, offset,
					  n, k == 0, sums + i * CONV_FLAT_ROWS * step + j, step);
		k += p->slice;
	} while (k < p->k);
	for (size_t i = 0; i < b->panels; i++) {
		size_t first, n = piece_panel_rows(b, b->panel + i, &first);

		for (size_t r = 0; r < n; r++)
			piece_end(b, first + r, b->row, b->rows,
				  sums + (i * CONV_FLAT_ROWS + r) * step);
	}
}

/* --- pieces --- */

size_t LEVEL_NAME(conv_room)(const struct convolution *v, const struct conv_part *p)
{
	size_t words = sizeof(size_t) / sizeof(float);

	(void)v;
	if (!p->banded)
		return lines_places(p) * (CONV_SLICE + p->piece_panels * CONV_FLAT_ROWS);
	switch (p->way) {
	case CONV_FLAT: return p->band.room + CONV_FLAT_ROWS * flat_places(p) + words * p->k;
	case CONV_DEPTH: return p->band.room + depth_places(p) + words * p->k;
	default:
		return p->band.room + p->piece_panels * spread_places(p) * CONV_LANES +
		       words * (spread_places(p) + CONV_SLICE);
	}
}

void LEVEL_NAME(conv_piece)(const struct kernel_call *c, const struct convolution *v,
			    const struct conv_part *p, const float *left, size_t i, float *room)
{
	struct conv_piece b = { .c = c, .v = v, .p = p, .grid = p->grid };

	b.column = i % p->across * p->piece_columns;
	i /= p->across;
	b.row = i % p->up * p->piece_rows;
	i /= p->up;
	b.panel = i % p->down * p->piece_panels;
	i /= p->down;
	b.group = i % v->groups;
	b.image = i / v->groups;
	b.left = left + b.group * p->panels * p->width * p->k;
	b.panels = conv_least(p->piece_panels, p->panels - b.panel);
	b.rows = conv_least(p->piece_rows, (p->banded ? p->grid.h.places : p->places) - b.row);
	if (!p->banded) {
		run_lines(&b, room);
		return;
	}
	b.columns = conv_least(p->piece_columns, p->grid.w.places - b.column);
	b.grid.w.places = b.columns;
	b.grid.w.base += (int64_t)b.column * p->grid.w.step;
	(p->way == CONV_FLAT ? run_flat : p->way == CONV_DEPTH ? run_depth : run_spread)(&b, room);
}
