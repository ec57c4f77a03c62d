/*
 * kernels/cpu/amx/matmul.c - matrix products of bf16 on tiles
 *
 * Tiles 0 to 3 hold the sums of 32 x 32, 4 and 5 the rows of the left, 6 and 7 the columns of the right panels. Intel's manual,
 * volume 2, TDPBF16PS: within a piece the even and the odd elements of k are summed apart, each a chain of multiply-adds
 * from 0 on in the order of k; their sum is added to what is there. Subnormals, of operands and of sums, are zeros.
 *
 * A piece takes 4 loads of 1 KiB and 4 products of 16 cycles: with the left panels in L2 and the right ones in L1 the loads
 * leave 80 % of the products' rate, so measured on the Xeon of choice.c.
 */
#include "kernels/cpu/level.h"

#define PAIRS_ROWS  16
#define PAIRS_STEP  2
#define PAIRS_BLOCK 256
#define PAIRS_NAME  "amx"

#include "kernels/cpu/pairs.h"
#include "kernels/cpu/tiles.h"

static void pairs_begin(void)
{
	tiles_begin();
}

static void pairs_end(void)
{
	tiles_end();
}

SIMD_INLINE void ask(uintptr_t ahead)
{
	for (int i = 0; i < 4; i++)
		_mm_prefetch((const char *)(ahead + (uintptr_t)i * PAIRS_LINE), _MM_HINT_T1);
}

/* At most 16 rows: the second left panel has none of them. */
static void half_tile(const uint8_t *left, const uint8_t *right, size_t right_panel, size_t pieces,
		      float *c, bool first)
{
	const size_t stride = PAIRS_STRIDE * sizeof(float);

	if (first) {
		_tile_zero(0);
		_tile_zero(1);
	} else {
		_tile_loadd(0, c, stride);
		_tile_loadd(1, c + PAIRS_COLUMNS, stride);
	}
	for (size_t i = 0; i < pieces; i++) {
		_tile_loadd(4, left + i * PAIRS_LEFT, PAIRS_LINE);
		_tile_loadd(6, right + i * PAIRS_RIGHT, PAIRS_LINE);
		_tile_dpbf16ps(0, 4, 6);
		_tile_loadd(7, right + right_panel + i * PAIRS_RIGHT, PAIRS_LINE);
		_tile_dpbf16ps(1, 4, 7);
	}
	_tile_stored(0, c, stride);
	_tile_stored(1, c + PAIRS_COLUMNS, stride);
}

static void pairs_tile(const uint8_t *left, size_t left_panel, const uint8_t *right,
		       size_t right_panel, size_t pieces, float *c, size_t rows, bool first,
		       uintptr_t ahead)
{
	const size_t stride = PAIRS_STRIDE * sizeof(float);
	float *below = c + PAIRS_ROWS * PAIRS_STRIDE;

	if (rows <= PAIRS_ROWS) {
		half_tile(left, right, right_panel, pieces, c, first);
		return;
	}
	if (first) {
		_tile_zero(0);
		_tile_zero(1);
		_tile_zero(2);
		_tile_zero(3);
	} else {
		_tile_loadd(0, c, stride);
		_tile_loadd(1, c + PAIRS_COLUMNS, stride);
		_tile_loadd(2, below, stride);
		_tile_loadd(3, below + PAIRS_COLUMNS, stride);
	}
	for (size_t i = 0; i < pieces; i++) {
		_tile_loadd(6, right + i * PAIRS_RIGHT, PAIRS_LINE);
		_tile_loadd(4, left + i * PAIRS_LEFT, PAIRS_LINE);
		_tile_dpbf16ps(0, 4, 6);
		_tile_loadd(7, right + right_panel + i * PAIRS_RIGHT, PAIRS_LINE);
		_tile_dpbf16ps(1, 4, 7);
		_tile_loadd(5, left + left_panel + i * PAIRS_LEFT, PAIRS_LINE);
		_tile_dpbf16ps(2, 5, 6);
		ask(ahead + i * PAIRS_RIGHT);
		_tile_dpbf16ps(3, 5, 7);
	}
	_tile_stored(0, c, stride);
	_tile_stored(1, c + PAIRS_COLUMNS, stride);
	_tile_stored(2, below, stride);
	_tile_stored(3, below + PAIRS_COLUMNS, stride);
}
