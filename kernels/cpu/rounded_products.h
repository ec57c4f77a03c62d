/*
 * kernels/cpu/rounded_products.h - rows by panels
 *
 * A result is one chain over the groups of k, in their order, of f32:
 *
 *	acc = fma(scale of the group x scale of x's block, the integers' product, acc)
 *	acc = fma(offset of the group, sum of x over it, acc)		where the type has offsets
 *
 * The integers' products are exact, so that a result has the same bits by panels and by lines straight from memory, however many
 * rows there are.
 *
 * A tile is four rows by two panels: a four of x is spread for two panels, a vector of w is loaded for four rows, and the sums have
 * registers. Panels are so few that they stay in the innermost cache with what rows of a batch have of x. (Zen 3, bytes by bytes: a product
 * and a sum in 16 bits are 1.6 a cycle and not 2, for sums take units of products; with a group's five operations more that is 42
 * multiply-adds a cycle of q4_1. By four rows and two panels 37 were seen, by two and four 34.) Chains lie in the innermost cache.
 */
#ifndef KERNELS_CPU_ROUNDED_PRODUCTS_H
#define KERNELS_CPU_ROUNDED_PRODUCTS_H

#include "kernels/cpu/rounded_panel.h"
#include "kernels/cpu/rounded_rows.h"

#define TILE_ROWS   4
#define TILE_PANELS 2
#define TILE_LINES  (TILE_PANELS * ROUNDED_LINES)

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

/* One group: ROWS rows, whose fours lie STEP apart from Q on, by panels of SIZE bytes, from W on. All but Q, STEP, W and SIZE are constants. */
SIMD_INLINE void tile_dots(struct rounded_form f, size_t rows, const int8_t *q, size_t step,
			   const uint8_t *w, size_t size, rint32 (*sum)[TILE_PANELS])
{
	const size_t n = f.group / 4, fit = rounded_fit(f.kind) < n ? rounded_fit(f.kind) : n;

	SIMD_UNROLL
	for (size_t i = 0; i < n; i += fit) {
		rint32 some[TILE_ROWS][TILE_PANELS];

		SIMD_UNROLL
		for (size_t j = i; j < i + fit; j++) {
			rbytes x[TILE_ROWS];

			SIMD_UNROLL
			for (size_t r = 0; r < rows; r++)
				x[r] = rounded_spread(q + r * step + 4 * j);
			SIMD_UNROLL
			for (size_t p = 0; p < TILE_PANELS; p++) {
				rbytes v = rounded_bytes(w + p * size + j * ROUNDED_BYTES);

				SIMD_UNROLL
				for (size_t r = 0; r < rows; r++) {
					some[r][p] =
						rounded_more(f.kind, j == i, some[r][p], v, x[r]);
					ROUNDED_HERE(some[r][p]);
				}
			}
		}
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++)
			for (size_t p = 0; p < TILE_PANELS; p++)
				sum[r][p] = rounded_total(f.kind, i == 0, sum[r][p], some[r][p]);
	}
}

/* Chains of TILE_LINES results a row, from one row to the next STRIDE floats. */
struct chains {
	float *out;
	size_t stride;
};

SIMD_INLINE void tile_chains(size_t rows, bool load, struct chains c, rfloat (*acc)[TILE_PANELS])
{
	SIMD_UNROLL
	for (size_t r = 0; r < rows; r++)
		for (size_t j = 0; j < TILE_PANELS; j++) {
			float *at = c.out + r * c.stride + j * ROUNDED_LINES;

			if (load)
				acc[r][j] = rounded_load(at);
			else
				rounded_store(at, acc[r][j]);
		}
}

/*
 * ROWS rows of x from ROW on by TILE_PANELS panels, SIZE bytes apart from P on, of elements FROM to TO - 1 of k. The
 * chains begin where FROM is 0. F and ROWS are constants.
 */
SIMD_INLINE void rounded_tile(struct rounded_form f, size_t rows, const struct rounded_rows *x,
			      size_t row, size_t from, size_t to, const uint8_t *p, size_t size,
			      struct chains out)
{
	const size_t k = x->k, groups = k / f.group, halves = 32 / f.group;
	const int8_t *q = x->q + row * k;
	const float *scale = x->scale + row * (k / 32), *sum = x->sum + row * groups;
	const int32_t *excess = x->excess + row * groups;
	rfloat acc[TILE_ROWS][TILE_PANELS] = { { { 0 } } };

	if (from)
		tile_chains(rows, true, out, acc);
	for (size_t g = from / f.group; g < to / f.group;
	     g++, p += panel_group_bytes(f.group, f.offset)) {
		rint32 dot[TILE_ROWS][TILE_PANELS];

		tile_dots(f, rows, q + g * f.group, k, p + panel_scale_bytes(f.offset), size, dot);
		SIMD_UNROLL
		for (size_t r = 0; r < rows; r++) {
			const float by = scale[r * (k / 32) + g / halves];

			SIMD_UNROLL
			for (size_t j = 0; j < TILE_PANELS; j++) {
				rfloat of_w = rounded_load(p + j * size);

				if (f.biased)
					dot[r][j] -= rounded_all_int(excess[r * groups + g]);
				acc[r][j] = rounded_step(acc[r][j], of_w, by, dot[r][j]);
				if (!f.offset)
					continue;
				of_w = rounded_load(p + j * size + ROUNDED_BYTES);
				acc[r][j] = rounded_fma(of_w, rounded_all(sum[r * groups + g]),
							acc[r][j]);
			}
		}
	}
	tile_chains(rows, false, out, acc);
}

#endif
