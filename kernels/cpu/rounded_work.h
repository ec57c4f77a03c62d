/*
 * kernels/cpu/rounded_work.h - what products of rounded rows share, wherever their weights come from: the types, rows of x, and rows by panels
 *
 * More than one row takes panels of ROUNDED_LINES lines of w, which a part makes for itself, as many as a tile has and so much of k
 * that they stay in the innermost cache: every byte of w is read and unpacked once for X_ROWS rows. What comes next of w is asked
 * for meanwhile. Few rows are rounded by each part for itself, many by all in a phase of their own.
 */
#ifndef KERNELS_CPU_ROUNDED_WORK_H
#define KERNELS_CPU_ROUNDED_WORK_H

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/rounded_products.h"

#define ALONE  4 /* rows at most that each part rounds for itself */
#define X_ROWS 128
#define STRETCH \
 768 /* of k: two panels of so many elements have 15 KiB at most, but for groups of 16 */
#define COLUMNS 64 /* of w that one row takes between epilogues */

/* X(name): types that kernels/cpu/quants.h takes apart, of blocks of 32 and of 256. */
#define TYPES(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q2_K) X(Q3_K) X(Q4_K) X(Q5_K) X(Q6_K)

struct work {
	const struct product *p;
	struct rounded_rows x;
	uint8_t *panels; /* of this part: TILE_PANELS, PANEL bytes apart */
	size_t panel;
	const uint8_t *w; /* lines, or packed groups of UNIT of them */
	size_t unit, unit_bytes;
	size_t step_bytes; /* of 32 elements of a unit; of a block, if that has more */
};

/* N, of columns to be copied: a compiler that knows it to be small uses `rep movs`, which takes longer than a call. */
SIMD_INLINE size_t any_size(size_t n)
{
	__asm__("" : "+r"(n));
	return n;
}

static size_t up(size_t n)
{
	return (n + 63) / 64 * 64;
}

static bool is_alone(const struct product *p)
{
	return p->m <= ALONE;
}

static size_t part_bytes(size_t k)
{
	return up(ALONE * rounded_row_bytes(k)) + TILE_PANELS * up(panel_bytes(STRETCH));
}

/* What the type's integers are too large by, and whether it asks for sums. */
static void ask_of_rows(struct work *w)
{
	switch (w->p->b->dtype) {
#define ASK(t)                            \
case DTYPE_##t:                           \
 w->x.bias = rounded_bias(DTYPE_##t);     \
 w->x.sums = quant_has_offset(DTYPE_##t); \
 w->x.group = quant_group(DTYPE_##t);     \
 return;
		TYPES(ASK)
#undef ASK
	default: w->x.group = 32; return;
	}
}

static struct work work_of(const struct kernel_call *c, const struct product *p)
{
	const struct kernel_tensor *b = p->b;
	const struct dtype_info *info = dtype_info(b->dtype);
	size_t shared = up(p->m * rounded_row_bytes(p->k));
	uint8_t *own = (uint8_t *)c->scratch + shared + (size_t)c->part * part_bytes(p->k);
	struct work w = { .p = p, .w = b->data, .unit = 1, .step_bytes = info->bytes };

	w.x = rounded_rows_at(is_alone(p) ? own : c->scratch, p->m, p->k);
	w.panels = own + up(ALONE * rounded_row_bytes(p->k));
	w.panel = up(panel_bytes(STRETCH));
	w.unit_bytes = (size_t)b->stride[b->n_axes - 1] / info->block * info->bytes;
	ask_of_rows(&w);
	return w;
}

static size_t scratch(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return up(p.m * rounded_row_bytes(p.k)) + (size_t)c->parts * part_bytes(p.k);
}

static void round_rows(struct work *w, size_t from, size_t to)
{
	const struct kernel_tensor *a = w->p->a;

	for (size_t row = from; row < to; row++)
		rounded_row(&w->x, row, a->dtype,
			    operand_at(a, (ptrdiff_t)row * a->stride[w->p->row_axis]));
}

/* --- rows by panels --- */

/* Elements FROM to TO - 1 of k, which the panels hold. */
struct stretch {
	size_t from, to;
};

/* The first of N rows from ROW on: how many were taken. F is a constant. */
SIMD_INLINE size_t rows_of_form(struct rounded_form f, const struct work *w, size_t row, size_t n,
				struct stretch k, struct chains out)
{
	if (n >= 4) {
		rounded_tile(f, 4, &w->x, row, k.from, k.to, w->panels, w->panel, out);
		return 4;
	}
	if (n >= 2) {
		rounded_tile(f, 2, &w->x, row, k.from, k.to, w->panels, w->panel, out);
		return 2;
	}
	rounded_tile(f, 1, &w->x, row, k.from, k.to, w->panels, w->panel, out);
	return 1;
}

/* Types that have the same form are served by one of them. */
static size_t some_rows(const struct work *w, size_t row, size_t n, struct stretch k,
			struct chains out)
{
	switch (w->p->b->dtype) {
	case DTYPE_Q4_0: return rows_of_form(rounded_form_of(DTYPE_Q4_0), w, row, n, k, out);
	case DTYPE_Q4_1:
	case DTYPE_Q4_K: return rows_of_form(rounded_form_of(DTYPE_Q4_1), w, row, n, k, out);
	case DTYPE_Q5_0: return rows_of_form(rounded_form_of(DTYPE_Q5_0), w, row, n, k, out);
	case DTYPE_Q5_1:
	case DTYPE_Q5_K: return rows_of_form(rounded_form_of(DTYPE_Q5_1), w, row, n, k, out);
	case DTYPE_Q2_K: return rows_of_form(rounded_form_of(DTYPE_Q2_K), w, row, n, k, out);
	case DTYPE_Q3_K: return rows_of_form(rounded_form_of(DTYPE_Q3_K), w, row, n, k, out);
	case DTYPE_Q6_K: return rows_of_form(rounded_form_of(DTYPE_Q6_K), w, row, n, k, out);
	default: return rows_of_form(rounded_form_of(DTYPE_Q8_0), w, row, n, k, out);
	}
}

/* Asks for share SHARE of SHARES of what a tile of lines from FIRST on has of elements FROM to TO - 1. */
static void ask_for(const struct work *w, size_t first, struct stretch k, size_t share,
		    size_t shares)
{
	const size_t units = TILE_LINES / w->unit, last = (share + 1) * units / shares;
	const size_t block = dtype_info(w->p->b->dtype)->block;
	const size_t from = k.from / block * w->step_bytes, to = k.to / block * w->step_bytes;
	uintptr_t line = (uintptr_t)w->w + first / w->unit * w->unit_bytes;

	for (size_t u = share * units / shares; u < last; u++)
		for (uintptr_t at = line + u * w->unit_bytes + from, end = at + to - from; at < end;
		     at += 64)
			__builtin_prefetch((const void *)at, 0, 3);
}

/* Where the stretch from FROM on ends: stretches are as long as each other, in whole blocks. */
static struct stretch stretch_at(const struct work *w, size_t from)
{
	const size_t k = w->p->k, block = dtype_info(w->p->b->dtype)->block;
	const size_t step = block > 32 ? block : 32, n = (k + STRETCH - 1) / STRETCH;
	const size_t each = ((k + n - 1) / n + step - 1) / step * step;

	return (struct stretch){ from, from + each < k ? from + each : k };
}

/* Makes panel TO of the lines from FIRST on; those that are not there are the last. */
typedef void make_panel(const struct work *w, size_t first, struct stretch k, uint8_t *to);

/* Rows ROW to TO - 1 by columns FIRST on, a tile of them. */
static void tile(const struct work *w, size_t row, size_t to, size_t first, make_panel *make,
		 struct chains out)
{
	struct stretch k = stretch_at(w, 0), next;
	const size_t shares = (to - row + TILE_ROWS - 1) / TILE_ROWS;

	for (; k.from < w->p->k; k = next) {
		bool last = k.to == w->p->k;
		struct chains at = out;

		for (size_t j = 0; j < TILE_PANELS; j++)
			make(w, first + j * ROUNDED_LINES, k, w->panels + j * w->panel);
		next = stretch_at(w, last ? 0 : k.to);
		for (size_t r = row, i = 0, n; r < to; r += n, at.out += n * at.stride, i++) {
			n = some_rows(w, r, to - r, k, at);
			if (i < shares)
				ask_for(w, last ? first + TILE_LINES : first, next, i, shares);
		}
		if (last)
			return;
	}
}

/* Columns that ROWS rows take between epilogues: more of few, so that what is stored of a row are lines that follow each other. */
static size_t columns_of(size_t rows)
{
	return rows <= X_ROWS / 4 ? 4 * TILE_LINES * 2 : TILE_LINES * 2;
}

/* Columns FROM to TO - 1 of all rows. */
static void by_panels(const struct kernel_call *c, const struct work *w, size_t from, size_t to,
		      make_panel *make)
{
	float out[X_ROWS * TILE_LINES * 2];

	for (size_t row = 0; row < w->p->m; row += X_ROWS) {
		const size_t rows = w->p->m - row < X_ROWS ? w->p->m - row : X_ROWS;
		const size_t columns = columns_of(rows);

		for (size_t j = from; j < to; j += columns) {
			size_t n = to - j < columns ? to - j : columns;

			for (size_t i = 0; i < n; i += TILE_LINES)
				tile(w, row, row + rows, j + i, make,
				     (struct chains){ out + i, columns });
			n = any_size(n);
			for (size_t r = 0; r < rows; r++)
				epilogue_row(c, w->p, 0, row + r, j, n, out + r * columns);
		}
	}
}

/* --- what is claimed --- */

/* One matrix of lines of w that lie side by side; rows of floats. */
static bool is_one_matrix(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);
	const struct kernel_tensor *a = p.a, *b = p.b;

	return p.batches == 1 && p.b_batches == 1 && p.n > 0 && operand_is_float(a->dtype) &&
	       a->stride[a->n_axes - 1] == 1 && b->stride[b->n_axes - 2] == 1 &&
	       b->stride[b->n_axes - 1] >= 0 && epilogue_serves(c);
}

#endif
