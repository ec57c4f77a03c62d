/* kernels/cpu/amx/peak.c - the peaks of tdpbf16ps and tdpbusd: whole tiles by whole tiles */

#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/tiles.h"
#include "kernels/peak.h"

#define SUMS 4 /* tiles of sums: 16 cycles each, of the 52 that one product takes */

/* Rows of a tile are all alike: they lie 0 bytes apart. */
static inline __attribute__((always_inline)) void multiply(size_t rounds, const float *x, bool bf16)
{
	_tile_loadd(4, x, 0);
	_tile_loadd(5, x, 0);
	_tile_loadd(6, x + 16, 0);
	_tile_loadd(7, x + 16, 0);
	for (size_t i = 0; i < rounds; i++)
		if (bf16) {
			_tile_dpbf16ps(0, 4, 6);
			_tile_dpbf16ps(1, 4, 7);
			_tile_dpbf16ps(2, 5, 6);
			_tile_dpbf16ps(3, 5, 7);
		} else {
			_tile_dpbusd(0, 4, 6);
			_tile_dpbusd(1, 4, 7);
			_tile_dpbusd(2, 5, 6);
			_tile_dpbusd(3, 5, 7);
		}
}

/* SUM: SUMS whole tiles, of floats or of integers. */
static inline __attribute__((always_inline)) void run_tiles(size_t rounds, const float *x,
							    uint32_t (*sum)[TILE_ROWS][16],
							    bool bf16)
{
	tiles_begin();
	_tile_loadd(0, sum[0], 0);
	_tile_loadd(1, sum[1], 0);
	_tile_loadd(2, sum[2], 0);
	_tile_loadd(3, sum[3], 0);
	multiply(rounds, x, bf16);
	_tile_stored(0, sum[0], TILE_LINE);
	_tile_stored(1, sum[1], TILE_LINE);
	_tile_stored(2, sum[2], TILE_LINE);
	_tile_stored(3, sum[3], TILE_LINE);
	tiles_end();
}

static void multiply_bf16(size_t rounds, float *x)
{
	uint32_t sum[SUMS][TILE_ROWS][16];
	float first[SUMS][16];

	for (int k = 0; k < SUMS; k++) {
		for (int n = 0; n < 16; n++)
			first[k][n] = x[32 + n] + (float)k;
		memcpy(sum[k][0], first[k], sizeof(first[k]));
	}
	run_tiles(rounds, x, sum, true);
	for (int k = 0; k < SUMS; k++)
		memcpy(first[k], sum[k][0], sizeof(first[k]));
	for (int n = 0; n < 16; n++)
		x[32 + n] = (first[0][n] + first[1][n]) + (first[2][n] + first[3][n]);
}

static void multiply_int8(size_t rounds, float *x)
{
	uint32_t sum[SUMS][TILE_ROWS][16], first[16];

	memcpy(first, x + 32, sizeof(first));
	for (int k = 0; k < SUMS; k++)
		for (int n = 0; n < 16; n++)
			sum[k][0][n] = first[n] + (uint32_t)k;
	run_tiles(rounds, x, sum, false);
	for (int n = 0; n < 16; n++)
		first[n] = (sum[0][0][n] + sum[1][0][n]) + (sum[2][0][n] + sum[3][0][n]);
	memcpy(x + 32, first, sizeof(first));
}

#define OPERATIONS (2.0 * SUMS * TILE_ROWS * 16) /* of one pair or four: of one element of each */

const struct peak_loop peak_bf16_amx, peak_int8_amx;
const struct peak_loop peak_bf16_amx = { OPERATIONS * 32, multiply_bf16 };
const struct peak_loop peak_int8_amx = { OPERATIONS * 64, multiply_int8 };
