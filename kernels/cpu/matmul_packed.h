/*
 * kernels/cpu/matmul_packed.h - products of rounded rows by weights that are kept in a form of our own
 *
 * ROUNDED_LINES lines of the weight lie together, block by block: their f16 scales, their f16 offsets, then the words (four bytes) of
 * what else a block has, in its order, those of all lines side by side. So it takes as many bytes as the weight, and nothing is turned for
 * a row of x, which reads four streams. More rows take panels (rounded_work.h), which are made of it. Of q5_0 and q5_1 the word of fifth
 * bits is put in another order: byte i has in bit v that of value 4 v + i, so that a shift brings those of a four to their places.
 *
 * Bits of results are those of matmul_rounded.h. Phase 0 makes the form, which a plan keeps (kernel.h).
 */
#ifndef KERNELS_CPU_MATMUL_PACKED_H
#define KERNELS_CPU_MATMUL_PACKED_H

#include "kernels/cpu/rounded_work.h"

/*
 * X(name): the types that have a form. Blocks of q3_k and q6_k are not read from their first byte to their last, as a core would
 * foresee, and one row took longer by such a form than from the weight (Zen 3, two threads, 8,192 by 2,048 out of the caches: 468 us for 378, 820
 * for 460).
 */
#define PACKED(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q2_K) X(Q4_K) X(Q5_K)

#define STREAMS 4 /* stretches of lines that one row reads at the same time (rounded_straight.h) */

/* --- the form --- */

SIMD_INLINE size_t halves_bytes(enum dtype t)
{
	return (quant_has_offset(t) ? 4 : 2) * ROUNDED_LINES;
}

/* Where the words of a block begin: after its halves, or, of a type whose blocks those end, at once. */
SIMD_INLINE size_t words_at(enum dtype t)
{
	return quant_d_at(t) ? 0 : quant_has_offset(t) ? 4 : 2;
}

SIMD_INLINE size_t words_of(enum dtype t)
{
	return (block_bytes(t) - (quant_has_offset(t) ? 4 : 2)) / 4;
}

/* Of a block of all lines. */
SIMD_INLINE size_t group_bytes(enum dtype t)
{
	return block_bytes(t) * ROUNDED_LINES;
}

/* Elements of a block. */
SIMD_INLINE size_t block_of(enum dtype t)
{
	return 32 * (size_t)ROUNDED_RUNS(t);
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

/* Bit 4 v + i of FIFTHS as bit v of byte i. */
SIMD_INLINE uint32_t fifths_of_fours(uint32_t fifths)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t v = 0; v < 8; v++)
			out |= (fifths >> (4 * v + i) & 1) << (8 * i + v);
	return out;
}

/* A block of each of LINES, to P. */
SIMD_INLINE void pack_block(enum dtype t, const uint8_t *const *lines, uint8_t *p)
{
	uint8_t *words = p + halves_bytes(t);

	for (size_t l = 0; l < ROUNDED_LINES; l++) {
		const uint8_t *from = lines[l] + words_at(t);

		memcpy(p + 2 * l, lines[l] + quant_d_at(t), 2);
		if (quant_has_offset(t))
			memcpy(p + 2 * (ROUNDED_LINES + l), lines[l] + quant_d_at(t) + 2, 2);
		for (size_t i = 0; i < words_of(t); i++) {
			uint32_t word = load_u32(from + 4 * i);

			if (quant_has_fifths(t) && i == 0)
				word = fifths_of_fours(word);
			memcpy(words + i * ROUNDED_BYTES + 4 * l, &word, 4);
		}
	}
}

/* The words at byte AT of a block, which the form at P has. */
SIMD_INLINE rbytes packed_words(enum dtype t, const uint8_t *p, size_t at)
{
	return rounded_bytes(p + halves_bytes(t) + (at - words_at(t)) / 4 * ROUNDED_BYTES);
}

/* Four V of run RUN, as rounded_more takes them. */
SIMD_INLINE rbytes packed_four(enum dtype t, const uint8_t *p, int run, size_t v)
{
	const struct quant_piece low = quant_low(t, run, 4 * v), high = quant_high(t, run, 4 * v);
	rbytes x = rounded_field(packed_words(t, p, low.at), low.right, low.mask);

	if (high.mask)
		x |= rounded_field(packed_words(t, p, high.at), high.right, high.mask);
	if (quant_has_fifths(t))
		x |= rounded_field(packed_words(t, p, words_at(t)), (int)v - 4, 16);
	return x + (uint8_t)(rounded_bias(t) - quant_bias(t));
}

SIMD_INLINE struct line_scales packed_scales(enum dtype t, const uint8_t *p)
{
	struct line_scales s = { .d = load_halves(p) };
	rint32 words[4];

	if (quant_has_offset(t))
		s.m = load_halves(p + 2 * ROUNDED_LINES);
	if (!quant_is_k(t))
		return s;
	for (size_t i = 0; i < quant_scale_words(t); i++)
		words[i] = (rint32)packed_words(t, p, quant_scales_at(t) + 4 * i);
	line_scales_k(t, words, &s);
	return s;
}

/* --- products --- */

/* Run RUN of a block by the same run of x, group G. T and RUN are constants. */
SIMD_INLINE rfloat packed_run(enum dtype t, const uint8_t *p, int run, const struct line_scales *s,
			      const struct rounded_rows *x, size_t g, rfloat acc)
{
	const enum rounded_kind kind = rounded_kind(t);
	const size_t group = quant_group(t), n = group / 4;
	const size_t fit = rounded_fit(kind) < n ? rounded_fit(kind) : n;

	SIMD_UNROLL
	for (size_t h = 0; h < 32 / group; h++, g++) {
		const int8_t *q = x->q + g * group;
		rint32 dot = { 0 }, sum = { 0 };

		SIMD_UNROLL
		for (size_t i = 0; i < n; i++) {
			sum = rounded_more(kind, i % fit == 0, sum,
					   packed_four(t, p, run, h * n + i),
					   rounded_spread(q + 4 * i));
			if ((i + 1) % fit == 0)
				dot = rounded_total(kind, i < fit, dot, sum);
		}
		if (rounded_bias(t))
			dot -= rounded_all_int(x->excess[g]);
		acc = rounded_step(acc, line_scale(t, s, (size_t)run * (32 / group) + h),
				   x->scale[g * group / 32], dot);
		if (quant_has_offset(t))
			acc = rounded_fma(line_offset(t, s, (size_t)run * (32 / group) + h),
					  rounded_all(x->sum[g]), acc);
	}
	return acc;
}

/* A block of 256 by the groups of x from G on. */
SIMD_INLINE rfloat packed_block_k(enum dtype t, const uint8_t *p, const struct rounded_rows *x,
				  size_t g, rfloat acc)
{
	struct line_scales s = packed_scales(t, p);

	SIMD_UNROLL
	for (int run = 0; run < 8; run++, g += 32 / quant_group(t))
		acc = packed_run(t, p, run, &s, x, g, acc);
	return acc;
}

/* Row 0 of x by N groups of lines, STEP bytes from one to the next, the first at P; to OUT, group by group. T and N are constants. */
SIMD_INLINE void packed_row(enum dtype t, size_t n, const struct rounded_rows *x, const uint8_t *p,
			    size_t step, float *out)
{
	rfloat acc[STREAMS] = { { 0 } };

	for (size_t e = 0; e < x->k; e += block_of(t), p += group_bytes(t)) {
		if (quant_is_k(t)) {
			for (size_t i = 0; i < n; i++)
				acc[i] = packed_block_k(t, p + i * step, x, e / quant_group(t),
							acc[i]);
			continue;
		}
		SIMD_UNROLL
		for (size_t i = 0; i < n; i++) {
			struct line_scales s = packed_scales(t, p + i * step);

			acc[i] = packed_run(t, p + i * step, 0, &s, x, e / 32, acc[i]);
		}
	}
	for (size_t i = 0; i < n; i++)
		rounded_store(out + i * ROUNDED_LINES, acc[i]);
}

/* The group of lines at P, K elements long, as a panel. T is a constant. */
SIMD_INLINE void panel_of(enum dtype t, const uint8_t *p, size_t k, uint8_t *to)
{
	const size_t groups = 32 / quant_group(t), fours = quant_group(t) / 4;
	const size_t n = block_of(t) / quant_group(t);

	for (size_t e = 0; e < k; e += block_of(t), p += group_bytes(t)) {
		struct line_scales s = packed_scales(t, p);

		SIMD_UNROLL
		for (size_t g = 0; g < n; g++) {
			panel_scales(t, line_scale(t, &s, g), line_offset(t, &s, g), to);
			to += panel_scale_bytes(quant_has_offset(t));
			SIMD_UNROLL
			for (size_t i = 0; i < fours; i++, to += ROUNDED_BYTES)
				rounded_store(to, (rfloat)packed_four(t, p, (int)(g / groups),
								      g % groups * fours + i));
		}
	}
}

/* --- shares --- */

/* Of a group of lines of K elements; 0: the type has no form. */
static size_t bytes_of(enum dtype t, size_t k)
{
	switch (t) {
#define BYTES(t) \
case DTYPE_##t: return k / block_of(DTYPE_##t) * group_bytes(DTYPE_##t);
		PACKED(BYTES)
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
	const size_t last = w->p->n - 1;
	const uint8_t *lines[ROUNDED_LINES];

	for (size_t l = 0; l < ROUNDED_LINES; l++) {
		size_t at = group * ROUNDED_LINES + l;

		lines[l] = w->w + (at < last ? at : last) * w->unit_bytes;
	}
	form += group * bytes_of(t, w->p->k);
	for (size_t e = 0; e < w->p->k; e += block_of(t), form += group_bytes(t)) {
		pack_block(t, lines, form);
		for (size_t l = 0; l < ROUNDED_LINES; l++)
			lines[l] += block_bytes(t);
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
			PACKED(PACK)
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
	const size_t block = dtype_info(w->p->b->dtype)->block;
	const uint8_t *p = group_at(w, first) + k.from / block * w->step_bytes;

	switch (w->p->b->dtype) {
#define PANEL(t) \
case DTYPE_##t: panel_of(DTYPE_##t, p, k.to - k.from, to); return;
		PACKED(PANEL)
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
		PACKED(ROW)
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

/*
 * How many of N groups one of STREAMS stretches takes: a few less than its part where that brings blocks of the streams that are read at the same time
 * to other sets of the innermost cache.
 */
static size_t span_of(const struct work *w, size_t n)
{
	const size_t most = n / STREAMS;

	for (size_t span = most; span > 0 && most - span < 8; span--)
		if (span * w->unit_bytes % 4096 >= 1024 && span * w->unit_bytes % 4096 <= 3072)
			return span;
	return most;
}

/* Columns FROM to TO - 1. */
static void columns(const struct kernel_call *c, const struct work *w, size_t from, size_t to)
{
	if (w->p->m > 1) {
		by_panels(c, w, from, to, unpack_panel);
		return;
	}
	for (size_t span; to - from >= STREAMS * ROUNDED_LINES;
	     from += span * STREAMS * ROUNDED_LINES) {
		span = span_of(w, (to - from) / ROUNDED_LINES);
		streams(c, w, from, span);
	}
	one_stream(c, w, from, to);
}

/* W from here on is the form. */
static void take_form(const struct kernel_call *c, struct work *w)
{
	w->w = c->kept;
	w->unit = ROUNDED_LINES;
	w->unit_bytes = bytes_of(w->p->b->dtype, w->p->k);
	w->step_bytes = dtype_info(w->p->b->dtype)->bytes * ROUNDED_LINES;
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
