/*
 * kernels/cpu/rounded_products.h - one row by lines straight from memory, and some rows by a panel
 *
 * A result is one chain over the groups of k, in their order, of f32:
 *
 *	acc = fma(scale of the group x scale of x's block, the integers' product, acc)
 *	acc = fma(offset of the group, sum of x over it, acc)		where the type has offsets
 *
 * The integers' products are exact, so that a result has the same bits by either way, however many rows there are.
 */
#ifndef KERNELS_CPU_ROUNDED_PRODUCTS_H
#define KERNELS_CPU_ROUNDED_PRODUCTS_H

#include "kernels/cpu/rounded_lines.h"
#include "kernels/cpu/rounded_rows.h"

#define ROUNDED_TOGETHER 4 /* rows by a panel at once */

/* What decides how a panel is multiplied; types that agree in it share the code. */
struct rounded_form {
	enum rounded_kind kind;
	size_t group;
	bool offset, biased;
};

SIMD_INLINE struct rounded_form rounded_form_of(enum dtype t)
{
	return (struct rounded_form){ rounded_kind(t), quant_group(t), quant_has_offset(t),
				      rounded_bias(t) != 0 };
}

SIMD_INLINE rfloat rounded_step(rfloat acc, rfloat scale, float by, rint32 sum)
{
	return rounded_fma(scale * rounded_all(by), rounded_floats(sum), acc);
}

/* ROWS rows of x from ROW on by a panel, to OUT, STRIDE apart; F and ROWS are constants. */
SIMD_INLINE void rounded_panel_rows(struct rounded_form f, size_t rows,
				    const struct rounded_rows *x, size_t row,
				    const struct rounded_panel *p, float *out, size_t stride)
{
	const size_t k = x->k, groups = k / f.group, halves = 32 / f.group;
	const int8_t *q = x->q + row * k;
	const float *scale = x->scale + row * (k / 32), *sum = x->sum + row * groups;
	const int32_t *excess = x->excess + row * groups;
	rfloat acc[ROUNDED_TOGETHER] = { { 0 } };

	for (size_t g = 0; g < groups; g++) {
		rint32 dot[ROUNDED_TOGETHER] = { { 0 } };
		rfloat of_w = rounded_load(p->scale + g * ROUNDED_LINES);

		rounded_dots(f.kind, rows, f.group / 4, p->bytes + g * f.group * ROUNDED_LINES,
			     q + g * f.group, k, dot);
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++) {
			if (f.biased)
				dot[r] -= rounded_all_int(excess[r * groups + g]);
			acc[r] = rounded_step(acc[r], of_w, scale[r * (k / 32) + g / halves],
					      dot[r]);
		}
		if (!f.offset)
			continue;
		of_w = rounded_load(p->offset + g * ROUNDED_LINES);
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++)
			acc[r] = rounded_fma(of_w, rounded_all(sum[r * groups + g]), acc[r]);
	}
	SIMD_UNROLL
	for (size_t r = 0; r < rows; r++)
		rounded_store(out + r * stride, acc[r]);
}

#if ROUNDED_LINES == 8
/* Sums of the fours of each line, 0 to 3 and 4 to 7. */
SIMD_INLINE void rounded_tree(const __m256i *v, rint32 *low, rint32 *high)
{
	__m256i two[4], four[2];

	for (int i = 0; i < 4; i++)
		two[i] = _mm256_add_epi32(_mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
					  _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
	for (int i = 0; i < 2; i++)
		four[i] = _mm256_add_epi32(_mm256_unpacklo_epi64(two[2 * i], two[2 * i + 1]),
					   _mm256_unpackhi_epi64(two[2 * i], two[2 * i + 1]));
	*low = (rint32)_mm256_permute2x128_si256(four[0], four[1], 0x20);
	*high = (rint32)_mm256_permute2x128_si256(four[0], four[1], 0x31);
}

/* A run of each line by the same run of x, at group G. T is a constant. */
SIMD_INLINE rfloat rounded_line_run(enum dtype t, const uint8_t *const *p, int run,
				    const struct rounded_rows *x, size_t g,
				    const struct rounded_scales *s, rfloat acc)
{
	const size_t group = quant_group(t), halves = 32 / group, own = (size_t)run * halves;
	rbytes q = rounded_bytes((const uint8_t *)x->q + g * group);
	__m256i v[8];
	rint32 dot[2];

	SIMD_UNROLL
	for (int l = 0; l < 8; l++)
		v[l] = (__m256i)rounded_fours(rounded_kind(t), rounded_run(t, p[l], run, 0), q,
					      (rint32){ 0 });
	rounded_tree(v, &dot[0], &dot[1]);
	if (group == 32)
		dot[0] += dot[1];
	SIMD_UNROLL
	for (size_t h = 0; h < halves; h++) {
		if (rounded_bias(t))
			dot[h] -= rounded_all_int(x->excess[g + h]);
		acc = rounded_step(acc, s->scale[own + h], x->scale[g / halves], dot[h]);
		if (quant_has_offset(t))
			acc = rounded_fma(s->offset[own + h], rounded_all(x->sum[g + h]), acc);
	}
	return acc;
}

/* Row 0 of x by lines of NEXT bytes in all, whose followers are asked for meanwhile. T and CLOSE are constants. */
SIMD_INLINE void rounded_lines(enum dtype t, const uint8_t *const *lines, bool close, size_t next,
			       const struct rounded_rows *x, float *out)
{
	const size_t bytes = dtype_info(t)->bytes, groups = 32 / quant_group(t);
	const uint8_t *p[8];
	uintptr_t ahead = (uintptr_t)lines[0] + next, asked = ahead;
	rfloat acc = { 0 };
	size_t g = 0;

	memcpy(p, lines, sizeof(p));
	for (size_t i = 0; i < x->k; i += 32 * (size_t)ROUNDED_RUNS(t)) {
		struct rounded_scales s;

		for (ahead += 8 * bytes; asked < ahead; asked += 64)
			__builtin_prefetch((const void *)asked, 0, 3);
		rounded_scales(t, p, close, &s);
		if (!quant_is_k(t))
			acc = rounded_line_run(t, p, 0, x, g, &s, acc);
		else {
			SIMD_UNROLL
			for (int run = 0; run < 8; run++)
				acc = rounded_line_run(t, p, run, x, g + (size_t)run * groups, &s,
						       acc);
		}
		g += (size_t)ROUNDED_RUNS(t) * groups;
		SIMD_UNROLL
		for (int l = 0; l < 8; l++)
			p[l] += bytes;
	}
	rounded_store(out, acc);
}
#endif

#endif
