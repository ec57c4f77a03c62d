/*
 * kernels/cpu/matmul_packed.h - products of rounded rows by weights that are kept in a form of our own
 *
 * ROUNDED_LINES lines of the weight lie together, block by block: their scales, their offsets, then their bytes, the fours of all
 * lines side by side (rounded_products.h), as many bits to a value as in the weight's own form: what is read for a row of x is one
 * stream, nothing is turned, and rows need no room for panels. Of a type with
 *
 *	4 bits: byte i of vector v holds four v in its low, four v + 4 in its high half
 *	5 bits: that of 4 bits, then one vector whose bit v is the fifth bit of four v
 *	8 bits: as they are
 *
 * Bits of results are those of matmul_rounded.h. Phase 0 makes the form, which a plan keeps (kernel.h).
 */
#ifndef KERNELS_CPU_MATMUL_PACKED_H
#define KERNELS_CPU_MATMUL_PACKED_H

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/rounded_products.h"

#define ALONE	    4 /* rows at most that each part rounds for itself */
#define X_ROWS	    32
#define COLUMNS	    64 /* of w, between epilogues */
#define COLUMN_STEP (COLUMNS + 16)
#define AHEAD	    1536 /* bytes; on Zen 3 the rate did not change from 1 to 4 KiB */

/* X(name): types that have such a form. */
#define TYPES(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0)

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

/* The eight fours of the bytes at P, as rounded_dots takes them. */
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

/* ROWS rows of x from ROW on by the group of lines at P, to OUT. T and ROWS are constants. */
SIMD_INLINE void packed_rows(enum dtype t, size_t rows, const struct rounded_rows *x, size_t row,
			     const uint8_t *p, float *out, size_t stride)
{
	const size_t k = x->k, blocks = k / 32;
	const int8_t *q = x->q + row * k;
	const float *scale = x->scale + row * blocks, *sum = x->sum + row * blocks;
	const int32_t *excess = x->excess + row * blocks;
	rfloat acc[ROUNDED_TOGETHER] = { { 0 } };

	for (size_t b = 0; b < blocks; b++, p += group_bytes(t)) {
		rint32 dot[ROUNDED_TOGETHER] = { { 0 } };
		rfloat of_w = load_halves(p), more = of_w;
		const uint8_t *bytes = p + 2 * ROUNDED_LINES;
		rbytes w[8];

		for (size_t i = 0; i < group_bytes(t); i += 64)
			__builtin_prefetch((const void *)((uintptr_t)p + AHEAD + i), 0, 3);
		if (quant_has_offset(t)) {
			more = load_halves(bytes);
			bytes += 2 * ROUNDED_LINES;
		}
		unpack(t, bytes, w);
		rounded_dots(rounded_kind(t), rows, 8, (const uint8_t *)w, q + 32 * b, k, dot);
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++) {
			if (rounded_bias(t))
				dot[r] -= rounded_all_int(excess[r * blocks + b]);
			acc[r] = rounded_step(acc[r], of_w, scale[r * blocks + b], dot[r]);
			if (quant_has_offset(t))
				acc[r] =
					rounded_fma(more, rounded_all(sum[r * blocks + b]), acc[r]);
		}
	}
	SIMD_UNROLL
	for (size_t r = 0; r < rows; r++)
		rounded_store(out + r * stride, acc[r]);
}

/* --- shares --- */

struct work {
	const struct product *p;
	struct rounded_rows x;
	uint8_t *form;
	size_t bytes; /* of a group of lines */
};

static size_t up(size_t n)
{
	return (n + 63) / 64 * 64;
}

static bool is_alone(const struct product *p)
{
	return p->m <= ALONE;
}

/* Of a group of lines; 0: the type has no form. */
static size_t bytes_of(enum dtype t, size_t k)
{
	switch (t) {
#define BYTES(t) \
case DTYPE_##t: return k / 32 * group_bytes(DTYPE_##t);
		TYPES(BYTES)
#undef BYTES
	default: return 0;
	}
}

static size_t groups_of(const struct product *p)
{
	return (p->n + ROUNDED_LINES - 1) / ROUNDED_LINES;
}

static struct work work_of(const struct kernel_call *c, const struct product *p)
{
	struct work w = { .p = p, .form = c->kept };
	size_t shared = up(p->m * rounded_row_bytes(p->k));
	uint8_t *own = (uint8_t *)c->scratch + shared +
		       (size_t)c->part * up(ALONE * rounded_row_bytes(p->k));

	w.bytes = bytes_of(p->b->dtype, p->k);
	w.x = rounded_rows_at(is_alone(p) ? own : c->scratch, p->m, p->k);
	w.x.group = 32;
	switch (p->b->dtype) {
#define ASK(t)                           \
case DTYPE_##t:                          \
 w.x.bias = rounded_bias(DTYPE_##t);     \
 w.x.sums = quant_has_offset(DTYPE_##t); \
 break;
		TYPES(ASK)
#undef ASK
	default: break;
	}
	return w;
}

static void round_rows(struct work *w, size_t from, size_t to)
{
	const struct kernel_tensor *a = w->p->a;

	for (size_t row = from; row < to; row++)
		rounded_row(&w->x, row, a->dtype,
			    operand_at(a, (ptrdiff_t)row * a->stride[w->p->row_axis]));
}

/* Lines that are not there are the last. */
SIMD_INLINE void pack_group(enum dtype t, const struct work *w, size_t group)
{
	const struct kernel_tensor *b = w->p->b;
	const size_t bytes = dtype_info(t)->bytes;
	size_t line = (size_t)b->stride[b->n_axes - 1] / 32 * bytes, last = w->p->n - 1;
	uint8_t *to = w->form + group * w->bytes;

	for (size_t i = 0; i < w->p->k / 32; i++, to += group_bytes(t)) {
		const uint8_t *lines[ROUNDED_LINES];

		for (size_t l = 0; l < ROUNDED_LINES; l++) {
			size_t at = group * ROUNDED_LINES + l;

			lines[l] = (const uint8_t *)b->data + (at < last ? at : last) * line +
				   i * bytes;
		}
		pack_block(t, lines, to);
	}
}

static void pack(const struct kernel_call *c, const struct work *w)
{
	size_t from, to;

	kernel_share(groups_of(w->p), 1, c->part, c->parts, &from, &to);
	for (size_t g = from; g < to; g++)
		switch (w->p->b->dtype) {
#define PACK(t) \
case DTYPE_##t: pack_group(DTYPE_##t, w, g); break;
			TYPES(PACK)
#undef PACK
		default: break;
		}
}

/* Rows FROM to TO - 1; T is a constant. */
SIMD_INLINE void rows_of_type(enum dtype t, const struct work *w, size_t from, size_t to,
			      const uint8_t *p, float *out)
{
	size_t row = from;

	for (; row + 4 <= to; row += 4, out += 4 * COLUMN_STEP)
		packed_rows(t, 4, &w->x, row, p, out, COLUMN_STEP);
	switch (to - row) {
	case 3: packed_rows(t, 3, &w->x, row, p, out, COLUMN_STEP); return;
	case 2: packed_rows(t, 2, &w->x, row, p, out, COLUMN_STEP); return;
	case 1: packed_rows(t, 1, &w->x, row, p, out, COLUMN_STEP); return;
	default: return;
	}
}

static void some_rows(const struct work *w, size_t from, size_t to, const uint8_t *p, float *out)
{
	switch (w->p->b->dtype) {
#define ROWS(t) \
case DTYPE_##t: rows_of_type(DTYPE_##t, w, from, to, p, out); return;
		TYPES(ROWS)
#undef ROWS
	default: return;
	}
}

/* N columns from FIRST on, at most COLUMNS. */
static void columns(const struct kernel_call *c, const struct work *w, size_t first, size_t n)
{
	float out[X_ROWS * COLUMN_STEP];

	for (size_t row = 0; row < w->p->m; row += X_ROWS) {
		size_t to = row + X_ROWS < w->p->m ? row + X_ROWS : w->p->m;

		for (size_t j = 0; j < n; j += ROUNDED_LINES)
			some_rows(w, row, to, w->form + (first + j) / ROUNDED_LINES * w->bytes,
				  out + j);
		for (size_t r = row; r < to; r++)
			epilogue_row(c, w->p, 0, r, first, n, out + (r - row) * COLUMN_STEP);
	}
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
	if (c->phase == 1 && !is_alone(&p)) {
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

static int phases(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return is_alone(&p) ? 2 : 3;
}

static size_t scratch(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);

	return up(p.m * rounded_row_bytes(p.k)) +
	       (size_t)c->parts * up(ALONE * rounded_row_bytes(p.k));
}

static size_t kept(const struct kernel_call *c, int *in)
{
	struct product p = product_of(c, 0);

	*in = 1;
	return groups_of(&p) * bytes_of(p.b->dtype, p.k);
}

/* One matrix of lines of w that lie side by side, of a type with a form; rows of floats. */
static bool claims(const struct kernel_call *c)
{
	struct product p = product_of(c, 0);
	const struct matmul_attributes *m = c->attributes;
	const struct kernel_tensor *a = p.a, *b = p.b;

	if (!m->round || !m->pack || p.batches != 1 || p.b_batches != 1 || p.n == 0)
		return false;
	if (!operand_is_float(a->dtype) || a->stride[a->n_axes - 1] != 1 ||
	    b->stride[b->n_axes - 2] != 1 || b->stride[b->n_axes - 1] < 0)
		return false;
	return bytes_of(b->dtype, p.k) && epilogue_serves(c);
}

#endif
