/*
 * kernels/cpu/matmul_rounded.h - products of rounded rows by block-quantized weights (x wT), straight from where those lie
 *
 * One row takes lines (rows of w) eight at a time, in registers. More rows take a panel of them, which a part unpacks for itself:
 * every byte of w is read once for X_ROWS rows. Bits are the same by either (rounded_products.h), so they depend on neither the
 * number of rows, nor the shares. Where there is no instruction for bytes by bytes of eight lines, one row takes panels too.
 *
 * Few rows are rounded by each part for itself, many in phase 0 by all.
 */
#ifndef KERNELS_CPU_MATMUL_ROUNDED_H
#define KERNELS_CPU_MATMUL_ROUNDED_H

#ifndef ROUNDED_FORMS
# define ROUNDED_FORMS \
  0 /* 1: also of types that dequant.h alone takes apart, which a base level has */
#endif

#include "kernels/cpu/dequant.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/rounded_products.h"

#define ALONE	    4 /* rows at most that each part rounds for itself */
#define X_ROWS	    32
#define COLUMNS	    64 /* of w, between epilogues */
#define COLUMN_STEP (COLUMNS + 16)
#define PANELS	    (COLUMNS / ROUNDED_LINES)

struct work {
	const struct product *p;
	struct rounded_rows x;
	uint8_t *panels;
	const uint8_t *w; /* line 0 */
	size_t line_bytes;
};

static size_t up(size_t n)
{
	return (n + 63) / 64 * 64;
}

static size_t part_bytes(size_t k)
{
	return up(ALONE * rounded_row_bytes(k)) + PANELS * up(rounded_panel_bytes(k));
}

static bool is_alone(const struct product *p)
{
	return p->m <= ALONE;
}

static struct work work_of(const struct kernel_call *c, const struct product *p)
{
	const struct kernel_tensor *b = p->b;
	const struct dtype_info *info = dtype_info(b->dtype);
	size_t shared = up(p->m * rounded_row_bytes(p->k));
	uint8_t *own = (uint8_t *)c->scratch + shared + (size_t)c->part * part_bytes(p->k);
	struct work w = { .p = p, .w = b->data };

	w.x = rounded_rows_at(is_alone(p) ? own : c->scratch, p->m, p->k);
	w.panels = own + up(ALONE * rounded_row_bytes(p->k));
	w.line_bytes = (size_t)b->stride[b->n_axes - 1] / info->block * info->bytes;
	return w;
}

static void round_rows(struct work *w, size_t from, size_t to)
{
	const struct kernel_tensor *a = w->p->a;

	for (size_t row = from; row < to; row++)
		rounded_row(&w->x, row, a->dtype,
			    operand_at(a, (ptrdiff_t)row * a->stride[w->p->row_axis]));
}

/* Where the lines from FIRST on begin; those that are not there are the last. */
static void find_lines(const struct work *w, size_t first, const uint8_t **lines)
{
	size_t last = w->p->n - 1;

	for (size_t l = 0; l < ROUNDED_LINES; l++)
		lines[l] = w->w + (first + l < last ? first + l : last) * w->line_bytes;
}

/* Whether all lines from FIRST on are there, and long enough (rounded_words_close). */
static bool is_close(const struct work *w, size_t first)
{
	return ROUNDED_LINES == 8 && first + ROUNDED_LINES <= w->p->n && w->line_bytes >= 28;
}

/* --- types --- */

/* X(name): those that kernels/cpu/quants.h takes apart. */
#define TYPES(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q2_K) X(Q3_K) X(Q4_K) X(Q5_K) X(Q6_K)

#if ROUNDED_LINES == 8
static void one_row(const struct work *w, size_t first, float *out)
{
	const uint8_t *lines[ROUNDED_LINES];
	size_t next = ROUNDED_LINES * w->line_bytes;

	find_lines(w, first, lines);
	switch (w->p->b->dtype) {
# define ONE_ROW(t)                                          \
 case DTYPE_##t:                                             \
  if (is_close(w, first))                                    \
   rounded_lines(DTYPE_##t, lines, true, next, &w->x, out);  \
  else                                                       \
   rounded_lines(DTYPE_##t, lines, false, next, &w->x, out); \
  return;
		TYPES(ONE_ROW)
# undef ONE_ROW
	default: return;
	}
}
#endif

static bool is_taken_apart(enum dtype t)
{
	switch (t) {
#define TAKEN(t) case DTYPE_##t:
		TYPES(TAKEN)
#undef TAKEN
		return true;
	default: return false;
	}
}

#if ROUNDED_FORMS
/* Of other types, by way of dequant.h: signed bytes, 32 to a scale. */
static void pack_form(const struct work *w, const uint8_t *const *lines, struct rounded_panel o)
{
	enum dtype t = w->p->b->dtype;
	const struct dequant_form *form = LEVEL_NAME(dequant_form)(t);
	const struct dtype_info *info = dtype_info(t);
	struct dequant_stretch s[ROUNDED_LINES];

	for (size_t i = 0; i < w->p->k; i += DEQUANT_STRETCH) {
		size_t n = w->p->k - i < DEQUANT_STRETCH ? w->p->k - i : DEQUANT_STRETCH;

		for (size_t l = 0; l < ROUNDED_LINES; l++)
			form->unpack(lines[l] + i / info->block * info->bytes, n, &s[l]);
		for (size_t j = 0; j < n; j += 32, o.bytes += 32 * ROUNDED_LINES) {
			vbytes q[ROUNDED_LINES][32 / QUANT_LANES];

			for (size_t l = 0; l < ROUNDED_LINES; l++) {
				*o.scale++ = s[l].scale[j / 32];
				memcpy(q[l], s[l].q + j, 32);
			}
			rounded_turn((const vbytes(*)[32 / QUANT_LANES]) q, o.bytes);
		}
	}
}
#endif

static struct rounded_panel pack(const struct work *w, size_t first, void *to)
{
	struct rounded_panel o = rounded_panel_at(to, w->p->k);
	const uint8_t *lines[ROUNDED_LINES];

	find_lines(w, first, lines);
	switch (w->p->b->dtype) {
#define PACK(t)                                       \
case DTYPE_##t:                                       \
 if (is_close(w, first))                              \
  rounded_pack(DTYPE_##t, lines, true, w->p->k, &o);  \
 else                                                 \
  rounded_pack(DTYPE_##t, lines, false, w->p->k, &o); \
 break;
		TYPES(PACK)
#undef PACK
	default:
#if ROUNDED_FORMS
		pack_form(w, lines, o);
#endif
		break;
	}
	return o;
}

/* --- rows by a panel --- */

/* Rows FROM to TO - 1; F is a constant. */
SIMD_INLINE void rows_of_form(struct rounded_form f, const struct work *w, size_t from, size_t to,
			      const struct rounded_panel *p, float *out)
{
	size_t row = from;

	for (; row + 4 <= to; row += 4, out += 4 * COLUMN_STEP)
		rounded_panel_rows(f, 4, &w->x, row, p, out, COLUMN_STEP);
	switch (to - row) {
	case 3: rounded_panel_rows(f, 3, &w->x, row, p, out, COLUMN_STEP); return;
	case 2: rounded_panel_rows(f, 2, &w->x, row, p, out, COLUMN_STEP); return;
	case 1: rounded_panel_rows(f, 1, &w->x, row, p, out, COLUMN_STEP); return;
	default: return;
	}
}

/* Types that have the same form are served by one of them. */
static void some_rows(const struct work *w, size_t from, size_t to, const struct rounded_panel *p,
		      float *out)
{
	switch (w->p->b->dtype) {
	case DTYPE_Q4_0: rows_of_form(rounded_form_of(DTYPE_Q4_0), w, from, to, p, out); return;
	case DTYPE_Q4_1:
	case DTYPE_Q4_K: rows_of_form(rounded_form_of(DTYPE_Q4_1), w, from, to, p, out); return;
	case DTYPE_Q5_0: rows_of_form(rounded_form_of(DTYPE_Q5_0), w, from, to, p, out); return;
	case DTYPE_Q5_1:
	case DTYPE_Q5_K: rows_of_form(rounded_form_of(DTYPE_Q5_1), w, from, to, p, out); return;
	case DTYPE_Q2_K: rows_of_form(rounded_form_of(DTYPE_Q2_K), w, from, to, p, out); return;
	case DTYPE_Q3_K: rows_of_form(rounded_form_of(DTYPE_Q3_K), w, from, to, p, out); return;
	case DTYPE_Q6_K: rows_of_form(rounded_form_of(DTYPE_Q6_K), w, from, to, p, out); return;
	default: rows_of_form(rounded_form_of(DTYPE_Q8_0), w, from, to, p, out); return;
	}
}

/* --- shares --- */

static void finish(const struct kernel_call *c, const struct work *w, size_t row, size_t rows,
		   size_t column, size_t n, float *out)
{
	for (size_t r = 0; r < rows; r++)
		epilogue_row(c, w->p, 0, row + r, column, n, out + r * COLUMN_STEP);
}

/* N columns from FIRST on, at most COLUMNS. */
static void many_rows(const struct kernel_call *c, const struct work *w, size_t first, size_t n)
{
	const size_t size = up(rounded_panel_bytes(w->p->k));
	struct rounded_panel p[PANELS];
	float out[X_ROWS * COLUMN_STEP];

	for (size_t j = 0; j < n; j += ROUNDED_LINES)
		p[j / ROUNDED_LINES] = pack(w, first + j, w->panels + j / ROUNDED_LINES * size);
	for (size_t row = 0; row < w->p->m; row += X_ROWS) {
		size_t to = row + X_ROWS < w->p->m ? row + X_ROWS : w->p->m;

		for (size_t j = 0; j < n; j += ROUNDED_LINES)
			some_rows(w, row, to, &p[j / ROUNDED_LINES], out + j);
		finish(c, w, row, to - row, first, n, out);
	}
}

static void columns(const struct kernel_call *c, const struct work *w, size_t first, size_t n)
{
#if ROUNDED_LINES == 8
	if (w->p->m == 1 && is_taken_apart(w->p->b->dtype)) {
		float out[COLUMN_STEP];

		for (size_t j = 0; j < n; j += ROUNDED_LINES)
			one_row(w, first + j, out + j);
		finish(c, w, 0, 1, first, n, out);
		return;
	}
#endif
	many_rows(c, w, first, n);
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

static int phases(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return is_alone(&p) ? 1 : 2;
}

static void run(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);
	struct work w = work_of(c, &p);
	size_t from, to;

	ask_of_rows(&w);
	if (c->phase == 0 && !is_alone(&p)) {
		kernel_share(p.m, 1, c->part, c->parts, &from, &to);
		round_rows(&w, from, to);
		return;
	}
	kernel_share(p.n, ROUNDED_LINES, c->part, c->parts, &from, &to);
	if (is_alone(&p) && from < to)
		round_rows(&w, 0, p.m);
	for (size_t j = from; j < to; j += COLUMNS)
		columns(c, &w, j, to - j < COLUMNS ? to - j : COLUMNS);
}

static size_t scratch(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return up(p.m * rounded_row_bytes(p.k)) + (size_t)c->parts * part_bytes(p.k);
}

/* One matrix of lines of w that lie side by side; rows of floats. */
static bool claims(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);
	const struct kernel_tensor *a = p.a, *b = p.b;

	if (product_is_exact(c) || p.batches != 1 || p.b_batches != 1 || p.n == 0)
		return false;
	if (!operand_is_float(a->dtype) || a->stride[a->n_axes - 1] != 1 ||
	    b->stride[b->n_axes - 2] != 1 || b->stride[b->n_axes - 1] < 0)
		return false;
	if (!ROUNDED_FORMS && !is_taken_apart(b->dtype))
		return false;
	return rounding_serves(b->dtype) && epilogue_serves(c);
}

#endif
