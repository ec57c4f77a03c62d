/*
 * kernels/cpu/matmul_packed.h - products of rounded rows by weights that are kept in a form of our own
 *
 * ROUNDED_LINES lines of the weight lie together, block by block: their scales, their offsets, then their bytes, the fours of all
 * lines side by side, as many bits to a value as in the weight's own form: nothing is turned for a row of x, which reads four streams.
 * More rows take panels (rounded_work.h), which are made of it. Of a type with
 *
 *	4 bits: byte i of vector v holds four v in its low, four v + 4 in its high half
 *	5 bits: that of 4 bits, then one vector whose bit v is the fifth bit of four v
 *	8 bits: as they are
 *
 * Bits of results are those of matmul_rounded.h. Phase 0 makes the form, which a plan keeps (kernel.h).
 */
#ifndef KERNELS_CPU_MATMUL_PACKED_H
#define KERNELS_CPU_MATMUL_PACKED_H

#include "kernels/cpu/rounded_work.h"

#define STREAMS 4 /* stretches of lines that one row reads at the same time (rounded_straight.h) */

/* --- the form --- */

/* Vectors of bytes of a block. */
SIMD_INLINE size_t vectors_of(enum dtype t)
{
	return t == DTYPE_Q8_0 ? 8 : t == DTYPE_Q5_0 || t == DTYPE_Q5_1 ? 5 : 4;
}

SIMD_INLINE size_t group_bytes(enum dtype t)
{
	return (quant_has_offset(t) ? 4 : 2) * ROUNDED_LINES + vectors_of(t) * ROUNDED_BYTES;
}

/* ROUNDED_LINES values of f16. */
SIMD_INLINE rfloat load_halves(const uint8_t *p)
{
#if ROUNDED_LINES == 8
	return (rfloat)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
#else
	return (rfloat){ half_to_f32(load_u16(p)), half_to_f32(load_u16(p + 2)),
			 half_to_f32(load_u16(p + 4)), half_to_f32(load_u16(p + 6)) };
#endif
}

/* A block of each of LINES, to P. */
SIMD_INLINE void pack_block(enum dtype t, const uint8_t *const *lines, uint8_t *p)
{
	vbytes q[ROUNDED_LINES][32 / QUANT_LANES];
	uint8_t fours[8][ROUNDED_BYTES], *fifths;

	for (size_t l = 0; l < ROUNDED_LINES; l++) {
		memcpy(p + 2 * l, lines[l], 2);
		if (quant_has_offset(t))
			memcpy(p + 2 * (ROUNDED_LINES + l), lines[l] + 2, 2);
		for (int at = 0; at < 32; at += QUANT_LANES)
			q[l][at / QUANT_LANES] = quant_run(t, lines[l], 0, at);
	}
	p += (quant_has_offset(t) ? 4 : 2) * ROUNDED_LINES;
	rounded_turn((const vbytes(*)[32 / QUANT_LANES]) q, fours[0]);
	if (t == DTYPE_Q8_0) {
		memcpy(p, fours, sizeof(fours));
		return;
	}
	fifths = p + 4 * ROUNDED_BYTES;
	for (size_t i = 0; i < ROUNDED_BYTES; i++) {
		unsigned fifth = 0;

		for (size_t v = 0; v < 4; v++)
			p[v * ROUNDED_BYTES + i] =
				(uint8_t)((fours[v][i] & 15) | (fours[v + 4][i] & 15) << 4);
		for (size_t v = 0; v < 8; v++)
			fifth |= (unsigned)(fours[v][i] >> 4 & 1) << v;
		if (vectors_of(t) == 5)
			fifths[i] = (uint8_t)fifth;
	}
}

SIMD_INLINE rbytes bits(rbytes v, size_t shift, uint8_t mask)
{
	typedef uint16_t rshorts __attribute__((vector_size(4 * ROUNDED_LINES)));

	return (rbytes)((rshorts)v >> shift) & mask;
}

/* The eight fours of the bytes at P, as rounded_more takes them. */
SIMD_INLINE void unpack(enum dtype t, const uint8_t *p, rbytes *fours)
{
	const uint8_t more = (uint8_t)(rounded_bias(t) - quant_bias(t));

	SIMD_UNROLL
	for (size_t v = 0; v < 8; v++) {
		rbytes x = rounded_bytes(p + (t == DTYPE_Q8_0 ? v : v % 4) * ROUNDED_BYTES);

		if (t != DTYPE_Q8_0)
			x = v < 4 ? x & 15 : bits(x, 4, 15);
		if (vectors_of(t) == 5) {
			rbytes fifth = rounded_bytes(p + 4 * ROUNDED_BYTES);

			x |= v < 4 ? (fifth << (4 - v)) & 16 : bits(fifth, v - 4, 16);
		}
		fours[v] = x + more;
	}
}

/* --- products --- */

/* Row 0 of x by N groups of lines, STEP bytes from one to the next, the first at P; to OUT, group by group. T and N are constants. */
SIMD_INLINE void packed_row(enum dtype t, size_t n, const struct rounded_rows *x, const uint8_t *p,
			    size_t step, float *out)
{
	const size_t blocks = x->k / 32, fit = rounded_fit(rounded_kind(t));
	rfloat acc[STREAMS] = { { 0 } };

	for (size_t b = 0; b < blocks; b++, p += group_bytes(t)) {
		SIMD_UNROLL
		for (size_t g = 0; g < n; g++) {
			const uint8_t *at = p + g * step;
			rint32 dot = { 0 }, sum = { 0 };
			rbytes w[8];

			unpack(t, at + (quant_has_offset(t) ? 4 : 2) * ROUNDED_LINES, w);
			SIMD_UNROLL
			for (size_t i = 0; i < 8; i++) {
				sum = rounded_more(rounded_kind(t), i % fit == 0, sum, w[i],
						   rounded_spread(x->q + 32 * b + 4 * i));
				if ((i + 1) % fit == 0)
					dot = rounded_total(rounded_kind(t), i < fit, dot, sum);
			}
			if (rounded_bias(t))
				dot -= rounded_all_int(x->excess[b]);
			acc[g] = rounded_step(acc[g], load_halves(at), x->scale[b], dot);
			if (quant_has_offset(t))
				acc[g] = rounded_fma(load_halves(at + 2 * ROUNDED_LINES),
						     rounded_all(x->sum[b]), acc[g]);
		}
	}
	for (size_t g = 0; g < n; g++)
		rounded_store(out + g * ROUNDED_LINES, acc[g]);
}

/* The group of lines at P, K elements long, as a panel. T is a constant. */
SIMD_INLINE void panel_of(enum dtype t, const uint8_t *p, size_t k, uint8_t *to)
{
	for (size_t b = 0; b < k / 32; b++, p += group_bytes(t)) {
		const uint8_t *bytes = p + (quant_has_offset(t) ? 4 : 2) * ROUNDED_LINES;
		rbytes w[8];

		unpack(t, bytes, w);
		panel_scales(t, load_halves(p), load_halves(p + 2 * ROUNDED_LINES), to);
		to += panel_scale_bytes(quant_has_offset(t));
		SIMD_UNROLL
		for (size_t i = 0; i < 8; i++, to += ROUNDED_BYTES)
			rounded_store(to, (rfloat)w[i]);
	}
}

/* --- shares --- */

/* Of a group of lines; 0: the type has no form. */
static size_t bytes_of(enum dtype t, size_t k)
{
	switch (t) {
#define BYTES(t) \
case DTYPE_##t: return k / 32 * group_bytes(DTYPE_##t);
		SHORT_TYPES(BYTES)
#undef BYTES
	default: return 0;
	}
}

static size_t groups_of(const struct product *p)
{
	return (p->n + ROUNDED_LINES - 1) / ROUNDED_LINES;
}

/* A group of lines to the form at FORM; lines that are not there are the last. T is a constant. */
SIMD_INLINE void pack_group(enum dtype t, const struct work *w, uint8_t *form, size_t group)
{
	const size_t bytes = dtype_info(t)->bytes, last = w->p->n - 1;
	const uint8_t *lines[ROUNDED_LINES];

	for (size_t l = 0; l < ROUNDED_LINES; l++) {
		size_t at = group * ROUNDED_LINES + l;

		lines[l] = w->w + (at < last ? at : last) * w->unit_bytes;
	}
	form += group * bytes_of(t, w->p->k);
	for (size_t i = 0; i < w->p->k / 32; i++, form += group_bytes(t)) {
		pack_block(t, lines, form);
		for (size_t l = 0; l < ROUNDED_LINES; l++)
			lines[l] += bytes;
	}
}

static void pack(const struct kernel_call *c, const struct work *w)
{
	size_t from, to;

	kernel_share(groups_of(w->p), 1, c->part, c->parts, &from, &to);
	for (size_t g = from; g < to; g++)
		switch (w->p->b->dtype) {
#define PACK(t) \
case DTYPE_##t: pack_group(DTYPE_##t, w, c->kept, g); break;
			SHORT_TYPES(PACK)
#undef PACK
		default: break;
		}
}

/* The group of lines that FIRST begins; where there is none, the last. */
static const uint8_t *group_at(const struct work *w, size_t first)
{
	size_t group = first / ROUNDED_LINES, last = groups_of(w->p) - 1;

	return w->w + (group < last ? group : last) * w->unit_bytes;
}

static void unpack_panel(const struct work *w, size_t first, struct stretch k, uint8_t *to)
{
	const uint8_t *p = group_at(w, first) + k.from / 32 * w->step_bytes;

	switch (w->p->b->dtype) {
#define PANEL(t) \
case DTYPE_##t: panel_of(DTYPE_##t, p, k.to - k.from, to); return;
		SHORT_TYPES(PANEL)
#undef PANEL
	default: return;
	}
}

/* N groups of lines, SPAN groups from one to the next, from the one on that FIRST begins. N is a constant. */
SIMD_INLINE void some_groups(size_t n, const struct work *w, size_t first, size_t span, float *out)
{
	const uint8_t *p = group_at(w, first);
	const size_t step = span * w->unit_bytes;

	switch (w->p->b->dtype) {
#define ROW(t) \
case DTYPE_##t: packed_row(DTYPE_##t, n, &w->x, p, step, out); return;
		SHORT_TYPES(ROW)
#undef ROW
	default: return;
	}
}

/* Columns of one row: FROM to TO - 1, a group after the other. */
static void one_stream(const struct kernel_call *c, const struct work *w, size_t from, size_t to)
{
	float out[COLUMNS + SIMD_WIDTH];

	for (size_t n; from < to; from += n) {
		n = to - from < COLUMNS ? to - from : COLUMNS;
		for (size_t j = 0; j < n; j += ROUNDED_LINES)
			some_groups(1, w, from + j, 0, out + j);
		epilogue_row(c, w->p, 0, 0, from, n, out);
	}
}

/* STREAMS stretches of SPAN groups each, from column FROM on. */
static void streams(const struct kernel_call *c, const struct work *w, size_t from, size_t span)
{
	float out[STREAMS][COLUMNS + SIMD_WIDTH], sums[STREAMS * ROUNDED_LINES] = { 0 };
	const size_t lines = span * ROUNDED_LINES;

	for (size_t j = 0, n; j < lines; j += n) {
		n = lines - j < COLUMNS ? lines - j : COLUMNS;
		for (size_t i = 0; i < n; i += ROUNDED_LINES) {
			some_groups(STREAMS, w, from + j + i, span, sums);
			for (size_t s = 0; s < STREAMS; s++)
				rounded_store(out[s] + i, rounded_load(sums + s * ROUNDED_LINES));
		}
		for (size_t s = 0; s < STREAMS; s++)
			epilogue_row(c, w->p, 0, 0, from + s * lines + j, n, out[s]);
	}
}

/* Columns FROM to TO - 1. */
static void columns(const struct kernel_call *c, const struct work *w, size_t from, size_t to)
{
	const size_t span = (to - from) / (STREAMS * ROUNDED_LINES);

	if (w->p->m > 1) {
		by_panels(c, w, from, to, unpack_panel);
		return;
	}
	streams(c, w, from, span);
	one_stream(c, w, from + span * STREAMS * ROUNDED_LINES, to);
}

/* W from here on is the form. */
static void take_form(const struct kernel_call *c, struct work *w)
{
	w->w = c->kept;
	w->unit = ROUNDED_LINES;
	w->unit_bytes = bytes_of(w->p->b->dtype, w->p->k);
	w->step_bytes = bytes_of(w->p->b->dtype, 32);
}

static void run(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);
	struct work w = work_of(c, &p);
	size_t from, to;

	if (c->phase == 0) {
		pack(c, &w);
		return;
	}
	take_form(c, &w);
	if (c->phase == 1 && !is_alone(&p)) {
		kernel_share(p.m, 1, c->part, c->parts, &from, &to);
		round_rows(&w, from, to);
		return;
	}
	kernel_share(p.n, ROUNDED_LINES, c->part, c->parts, &from, &to);
	if (is_alone(&p) && from < to)
		round_rows(&w, 0, p.m);
	columns(c, &w, from, to);
}

static int phases(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return is_alone(&p) ? 2 : 3;
}

static size_t kept(const struct kernel_call *c, int *in)
{
	struct product p = product_of(c, 0);

	*in = 1;
	return groups_of(&p) * bytes_of(p.b->dtype, p.k);
}

/* Of a type with a form. */
static bool claims(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);
	const struct matmul_attributes *m = c->attributes;

	return m->round && m->pack && is_one_matrix(c) && bytes_of(p.b->dtype, p.k);
}

#endif
