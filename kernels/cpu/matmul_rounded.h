/*
 * kernels/cpu/matmul_rounded.h - products of rounded rows by block-quantized weights (x wT), straight from where those lie
 *
 * One row takes lines (rows of w) eight at a time, in registers, each from a stretch of its own. More rows take panels of them. Bits are
 * the same by either (rounded_products.h), so they depend on neither the number of rows, nor the shares. Where there is no
 * instruction for bytes by bytes of eight lines, one row takes panels too.
 */
#ifndef KERNELS_CPU_MATMUL_ROUNDED_H
#define KERNELS_CPU_MATMUL_ROUNDED_H

#ifndef ROUNDED_FORMS
# define ROUNDED_FORMS \
  0 /* 1: also of types that dequant.h alone takes apart, which a base level has */
#endif

#include "kernels/cpu/dequant.h"
#include "kernels/cpu/rounded_work.h"

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
static void pack_form(const struct work *w, const uint8_t *const *lines, size_t k, uint8_t *out)
{
	enum dtype t = w->p->b->dtype;
	const struct dequant_form *form = LEVEL_NAME(dequant_form)(t);
	struct dequant_stretch s[ROUNDED_LINES];

	for (size_t i = 0; i < k; i += DEQUANT_STRETCH) {
		size_t n = k - i < DEQUANT_STRETCH ? k - i : DEQUANT_STRETCH;

		for (size_t l = 0; l < ROUNDED_LINES; l++)
			form->unpack(lines[l] + i / dtype_info(t)->block * w->step_bytes, n, &s[l]);
		for (size_t j = 0; j < n; j += 32, out += panel_group_bytes(32, false)) {
			vbytes q[ROUNDED_LINES][32 / QUANT_LANES];

			for (size_t l = 0; l < ROUNDED_LINES; l++) {
				memcpy(out + 4 * l, &s[l].scale[j / 32], 4);
				memcpy(q[l], s[l].q + j, 32);
			}
			rounded_turn((const vbytes(*)[32 / QUANT_LANES]) q, out + ROUNDED_BYTES);
		}
	}
}
#endif

#if ROUNDED_LINES == 8
/* Eight lines that are all there, K elements of each from P on. */
static bool pack_straight(const struct work *w, const uint8_t *p, size_t k, uint8_t *to)
{
	switch (w->p->b->dtype) {
# define STRAIGHT(t) \
 case DTYPE_##t: panel_pack_straight(DTYPE_##t, p, w->unit_bytes, k, to); return true;
		TYPES(STRAIGHT)
# undef STRAIGHT
	default: return false;
	}
}
#endif

static void pack_lines(const struct work *w, const uint8_t *const *lines, size_t k, uint8_t *to)
{
	switch (w->p->b->dtype) {
#define PACK(t) \
case DTYPE_##t: panel_pack(DTYPE_##t, lines, k, to); return;
		TYPES(PACK)
#undef PACK
	default:
#if ROUNDED_FORMS
		pack_form(w, lines, k, to);
#endif
		return;
	}
}

static void pack(const struct work *w, size_t first, struct stretch k, uint8_t *to)
{
	const uint8_t *p = w->w + k.from / dtype_info(w->p->b->dtype)->block * w->step_bytes;
	const uint8_t *lines[ROUNDED_LINES];

#if ROUNDED_LINES == 8
	if (first + ROUNDED_LINES <= w->p->n &&
	    pack_straight(w, p + first * w->unit_bytes, k.to - k.from, to))
		return;
#endif
	for (size_t l = 0; l < ROUNDED_LINES; l++)
		lines[l] = p + (first + l < w->p->n ? first + l : w->p->n - 1) * w->unit_bytes;
	pack_lines(w, lines, k.to - k.from, to);
}

/* --- one row --- */

#define STRETCH_COLUMNS 32 /* of each of eight, between epilogues */

#if ROUNDED_LINES == 8
/* Each type by itself: in one function with all others the loops have too few registers (Zen 3: q4_1 from memory 22.5 to 23.3 GB/s). */
# define ONE_ROW(t)                                                                           \
  static __attribute__((noinline)) void one_row_##t(struct straight_lines b,                  \
						    const struct rounded_rows *x, float *out) \
  {                                                                                           \
   rounded_straight(DTYPE_##t, b, x, out);                                                    \
  }
TYPES(ONE_ROW)
# undef ONE_ROW

/* Row 0 by eight lines. */
static void one_row(const struct work *w, struct straight_lines b, float *out)
{
	switch (w->p->b->dtype) {
# define ONE_ROW(t) \
 case DTYPE_##t: one_row_##t(b, &w->x, out); return;
		TYPES(ONE_ROW)
# undef ONE_ROW
	default: return;
	}
}

/* N columns of each of eight stretches, SPAN columns from one to the next, the first from FIRST on. */
static void stretches(const struct kernel_call *c, const struct work *w, size_t first, size_t span,
		      size_t n)
{
	float out[8][STRETCH_COLUMNS + SIMD_WIDTH], sums[8] = { 0 };
	struct straight_lines b = { w->w + first * w->unit_bytes, span * w->unit_bytes };

	for (size_t j = 0; j < n; j++, b.p += w->unit_bytes) {
		one_row(w, b, sums);
		for (size_t l = 0; l < 8; l++)
			out[l][j] = sums[l];
	}
	n = any_size(n);
	for (size_t l = 0; l < 8; l++)
		epilogue_row(c, w->p, 0, 0, first + l * span, n, out[l]);
}

/*
 * How many of N lines one of eight stretches takes. Where they lay a multiple of 4096 bytes apart, all would meet in one set of the
 * innermost cache, which has eight ways or a few more: a line less for each then. (Zen 3: q4_1 of 1536 by 1024 23.6 to 25.2 GB/s.)
 */
static size_t span_of(const struct work *w, size_t n)
{
	size_t span = n / 8;

	return span > 1 && span * w->unit_bytes % 4096 == 0 ? span - 1 : span;
}
#endif

/* Where columns FROM to TO - 1 of one row, as far as eight equal stretches take them, end. */
static size_t by_lines(const struct kernel_call *c, const struct work *w, size_t from, size_t to)
{
#if ROUNDED_LINES == 8
	if (w->p->m > 1 || !is_taken_apart(w->p->b->dtype))
		return from;
	for (size_t span; to - from >= 8; from += 8 * span) {
		span = span_of(w, to - from);
		for (size_t j = 0; j < span; j += STRETCH_COLUMNS)
			stretches(c, w, from + j, span,
				  span - j < STRETCH_COLUMNS ? span - j : STRETCH_COLUMNS);
	}
	return from;
#else
	(void)c, (void)w, (void)to;
	return from;
#endif
}

/* --- shares --- */

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

	if (c->phase == 0 && !is_alone(&p)) {
		kernel_share(p.m, 1, c->part, c->parts, &from, &to);
		round_rows(&w, from, to);
		return;
	}
	kernel_share(p.n, ROUNDED_LINES, c->part, c->parts, &from, &to);
	if (is_alone(&p) && from < to)
		round_rows(&w, 0, p.m);
	from = by_lines(c, &w, from, to);
	if (from < to)
		by_panels(c, &w, from, to, pack);
}

static bool claims(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	if (product_is_exact(c) || !is_one_matrix(c) || !rounding_serves(p.b->dtype))
		return false;
	return ROUNDED_FORMS || is_taken_apart(p.b->dtype);
}

#endif
