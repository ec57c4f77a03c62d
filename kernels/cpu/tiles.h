/*
 * kernels/cpu/tiles.h - the tile instructions of AMX by name, or what stands in for them, and tiles as all of its files use them
 *
 * Intel's manual, volume 1, chapter 18: a thread configures its tiles before it uses them, and releases them after, so that the
 * operating system need not keep 8 KiB for it.
 */
#ifndef KERNELS_CPU_TILES_H
#define KERNELS_CPU_TILES_H

#include <stdint.h>

#include "kernels/cpu/intrinsics.h"
#include "kernels/cpu/level.h"

#if defined(SIMD_EMULATED)
# include "kernels/cpu/amx_emulated.h"

# undef _tile_loadconfig
# undef _tile_release
# undef _tile_zero
# undef _tile_loadd
# undef _tile_stored
# undef _tile_dpbf16ps
# undef _tile_dpbusd
# define _tile_loadconfig(config)	 amx_configure(config)
# define _tile_release()		 amx_release()
# define _tile_zero(tile)		 amx_zero(tile)
# define _tile_loadd(tile, from, stride) amx_load(tile, from, (ptrdiff_t)(stride))
# define _tile_stored(tile, to, stride)	 amx_store(tile, to, (ptrdiff_t)(stride))
# define _tile_dpbf16ps(c, a, b)	 amx_dpbf16ps(c, a, b)
# define _tile_dpbusd(c, a, b)		 amx_dpb(c, a, b, 0, 1)
#endif

#define TILES	  8
#define TILE_ROWS 16
#define TILE_LINE 64 /* bytes of a row */

struct tile_config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

/* All tiles are whole: 16 rows of 64 bytes. */
static inline void tiles_begin(void)
{
	struct tile_config config = { .palette = 1 };

	level_tiles();
	for (int i = 0; i < TILES; i++) {
		config.row_bytes[i] = TILE_LINE;
		config.rows[i] = TILE_ROWS;
	}
	_tile_loadconfig(&config);
}

static inline void tiles_end(void)
{
	_tile_release();
}

#endif
