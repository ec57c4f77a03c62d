/*
 * kernels/cpu/pairs_pack.h - bf16 operands for units that multiply two elements of k at once
 *
 * vdpbf16ps and AMX's tdpbf16ps take pairs (k, k + 1) of both operands. These are copied into panels, cut along k into pieces of
 * 32 elements, 64 bytes a line: a piece of a left panel is PAIRS_ROWS rows, each its 32 elements; a piece of a right panel is 16
 * rows, each one pair of all 16 columns. What lies the other way round is turned on the way, 16 x 16 pairs in registers, so
 * that no transpose passes over memory. Lines and elements beyond the ends are zeros.
 */
#ifndef KERNELS_CPU_PAIRS_PACK_H
#define KERNELS_CPU_PAIRS_PACK_H

#include "kernels/cpu/simd.h"

#define PAIRS_PIECE   32				   /* elements of k */
#define PAIRS_COLUMNS 16				   /* of a right panel */
#define PAIRS_LINE    64				   /* bytes */
#define PAIRS_RIGHT   ((size_t)PAIRS_COLUMNS * PAIRS_LINE) /* bytes of a piece */
#define PAIRS_LEFT    ((size_t)PAIRS_ROWS * PAIRS_LINE)

/* A matrix seen as lines (rows of the left, columns of the right operand) of K elements. */
struct pairs_source {
	const uint16_t *data;
	ptrdiff_t line, k; /* steps in elements; one is 1 */
	size_t lines, depth;
};

typedef uint32_t pairs_vector __attribute__((vector_size(64)));

SIMD_INLINE size_t pairs_some(size_t n, size_t from, size_t most)
{
	return n <= from ? 0 : n - from < most ? n - from : most;
}

/* Elements K to K + 31 of 16 lines from FIRST on, of which N are there. */
SIMD_INLINE void pairs_load_lines(const struct pairs_source *s, size_t first, size_t n, size_t k,
				  pairs_vector row[16])
{
	uint32_t mask = (uint32_t)((UINT64_C(1) << pairs_some(s->depth, k, PAIRS_PIECE)) - 1);
	const uint16_t *p = s->data + (ptrdiff_t)first * s->line + (ptrdiff_t)k;

	for (size_t l = 0; l < 16; l++)
		row[l] = l < n ? (pairs_vector)_mm512_maskz_loadu_epi16(mask,
									p + (ptrdiff_t)l * s->line)
			       : (pairs_vector){ 0 };
}

/* Pairs K / 2 to K / 2 + 15 of N lines side by side. */
SIMD_INLINE void pairs_load_pairs(const struct pairs_source *s, size_t first, size_t n, size_t k,
				  pairs_vector row[16])
{
	__mmask16 mask = (__mmask16)((1u << n) - 1);
	const uint16_t *p = s->data + (ptrdiff_t)k * s->k + (ptrdiff_t)first;
	size_t depth = pairs_some(s->depth, k, PAIRS_PIECE);

	for (size_t j = 0; j < 16; j++) {
		pairs_vector x = { 0 }, y = { 0 };

		if (2 * j < depth)
			x = (pairs_vector)_mm512_cvtepu16_epi32(
				_mm256_maskz_loadu_epi16(mask, p + (ptrdiff_t)(2 * j) * s->k));
		if (2 * j + 1 < depth)
			y = (pairs_vector)_mm512_cvtepu16_epi32(
				_mm256_maskz_loadu_epi16(mask, p + (ptrdiff_t)(2 * j + 1) * s->k));
		row[j] = x | y << 16;
	}
}

#define PAIRS_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define PAIRS_LOW_32(a, b)   PAIRS_MIX(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define PAIRS_HIGH_32(a, b) \
 PAIRS_MIX(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define PAIRS_LOW_64(a, b) PAIRS_MIX(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define PAIRS_HIGH_64(a, b) \
 PAIRS_MIX(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define PAIRS_EVEN_128(a, b) \
 PAIRS_MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define PAIRS_ODD_128(a, b) \
 PAIRS_MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)

/* 16 x 16 pairs, the other way round. */
SIMD_INLINE void pairs_turn(pairs_vector row[16])
{
	pairs_vector t[16];

	SIMD_UNROLL
	for (int i = 0; i < 16; i += 2) {
		t[i] = PAIRS_LOW_32(row[i], row[i + 1]);
		t[i + 1] = PAIRS_HIGH_32(row[i], row[i + 1]);
	}
	/* row[g + c], lane l: column 4 l + c of rows g to g + 3. */
	SIMD_UNROLL
	for (int g = 0; g < 16; g += 4) {
		row[g] = PAIRS_LOW_64(t[g], t[g + 2]);
		row[g + 1] = PAIRS_HIGH_64(t[g], t[g + 2]);
		row[g + 2] = PAIRS_LOW_64(t[g + 1], t[g + 3]);
		row[g + 3] = PAIRS_HIGH_64(t[g + 1], t[g + 3]);
	}
	SIMD_UNROLL
	for (int c = 0; c < 4; c++) {
		pairs_vector even = PAIRS_EVEN_128(row[c], row[4 + c]);
		pairs_vector odd = PAIRS_ODD_128(row[c], row[4 + c]);
		pairs_vector even_2 = PAIRS_EVEN_128(row[8 + c], row[12 + c]);
		pairs_vector odd_2 = PAIRS_ODD_128(row[8 + c], row[12 + c]);

		t[c] = PAIRS_EVEN_128(even, even_2);
		t[4 + c] = PAIRS_EVEN_128(odd, odd_2);
		t[8 + c] = PAIRS_ODD_128(even, even_2);
		t[12 + c] = PAIRS_ODD_128(odd, odd_2);
	}
	memcpy(row, t, sizeof(t));
}

/* A piece of the panel of WIDTH lines (a constant) from FIRST on: LEFT rows of 32 elements, else rows of pairs. */
SIMD_INLINE void pairs_pack_piece(const struct pairs_source *s, size_t first, size_t width,
				  size_t k, bool left, uint8_t *out)
{
	size_t n = pairs_some(s->lines, first, width);
	pairs_vector row[16];

	if (s->k == 1) {
		pairs_load_lines(s, first, n, k, row);
		if (!left)
			pairs_turn(row);
	} else {
		pairs_load_pairs(s, first, n, k, row);
		if (left)
			pairs_turn(row);
	}
	for (size_t l = 0; l < (left ? width : 16); l++)
		memcpy(out + l * PAIRS_LINE, &row[l], PAIRS_LINE);
}

/*
 * Pieces K / 32 to K / 32 + PIECES - 1 of PANELS panels from line FIRST on, in the order in which memory has them. Panels lie
 * STEP bytes apart.
 */
SIMD_INLINE void pairs_pack(const struct pairs_source *s, size_t first, size_t panels, size_t width,
			    size_t k, size_t pieces, bool left, size_t step, uint8_t *out)
{
	size_t size = left ? PAIRS_LEFT : PAIRS_RIGHT;

	if (s->k == 1)
		for (size_t p = 0; p < panels; p++)
			for (size_t i = 0; i < pieces; i++)
				pairs_pack_piece(s, first + p * width, width, k + i * PAIRS_PIECE,
						 left, out + p * step + i * size);
	else
		for (size_t i = 0; i < pieces; i++)
			for (size_t p = 0; p < panels; p++)
				pairs_pack_piece(s, first + p * width, width, k + i * PAIRS_PIECE,
						 left, out + p * step + i * size);
}

#endif
