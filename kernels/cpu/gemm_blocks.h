/*
 * kernels/cpu/gemm_blocks.h - the sizes of the blocks of a matrix product, from the caches that a thread can count on
 *
 * A block of the result is groups of ROWS by COLUMNS; its sums take DEPTH elements of k at a time. Innermost, one right panel of DEPTH
 * meets all left panels of a group, one after the other:
 *
 *	depth: a right panel is read again and again and fills five eighths of L1; left panels and lines of sums pass through the rest
 *	rows: the left panels of the group are read once for every right panel and fill at most half of L2
 *	columns: the sums of a block, read and written once for every DEPTH of k, and the right panels of DEPTH fill at most half of L3,
 *		so that the left rows stay in the other half
 *
 * Where k is cut a block has GEMM_GROUPS groups of ROWS, and each slice goes over all of them: its right panels are still near for the next
 * group, the next tile's sums are asked for, and left rows that lie across are packed in runs three times as long. Beside one group,
 * all slices of it, and sums that fit in L2 (Zen 3, two threads, memory as other guests of the host leave it): 1024 x 8192 x 384 38.7
 * to 36.3 ms, 2048 x 4096 x 768 71.0 to 69.3, 2048 x 2048 x 2048 the same (without asking for sums 4 % more).
 *
 * ROWS and COLUMNS are reckoned for slices of that DEPTH. k is cut (gemm_depth) only where its right panel would take more than
 * twice L1, since sums of one slice stay in registers: up to there the panel passes from L2 for every tile, which the products of a
 * tile hide (Zen 3: k of 352 to 512 9 to 16 % faster whole than in two, 576 to 1024 1 to 10 %). Slices are no multiples of 64:
 * panels side by side would begin in one set of L1, and packing writes 16 of them at once (384 x 384 x 4096 on two threads: 8.1 ms
 * by 320, 7.7 by 344).
 *
 * Each sum is one chain of multiply-adds in the order of k, or chains of GEMM_CHAIN, of which a slice has whole ones, whatever DEPTH is
 * (gemm.h): no size changes a bit of a result, and a run goes on to the same bits on a machine of other caches.
 */
#ifndef KERNELS_CPU_GEMM_BLOCKS_H
#define KERNELS_CPU_GEMM_BLOCKS_H

#include "kernels/cpu/gemm.h"

struct gemm_blocks {
	size_t depth;	/* a multiple of DEPTH_STEP */
	size_t rows;	/* a multiple of every GEMM_ROWS */
	size_t columns; /* a multiple of every GEMM_COLUMNS */
};

#define GEMM_DEPTH_STEP	  8
#define GEMM_ROWS_STEP	  12
#define GEMM_COLUMNS_STEP 128
#define GEMM_DEPTH_MOST	  512 /* from here on reading the sums is nothing beside the products */
#define GEMM_DEPTH_WHOLE  1024
#define GEMM_ROWS_MOST	  384 /* more leave too few blocks to share out */
#define GEMM_COLUMNS_MOST 1024
#define GEMM_GROUPS	  3

/* As many floats as BYTES hold in units of EACH floats: whole multiples of STEP, at least one, at most MOST. */
SIMD_INLINE size_t gemm_fill(size_t bytes, size_t each, size_t step, size_t most)
{
	size_t n = bytes / sizeof(float) / each / step * step;

	return n < step ? step : n > most ? most : n;
}

/* CACHES may be NULL, and what is not known is 0: then a small machine's, whose L3 sets no bound. */
SIMD_INLINE struct gemm_blocks gemm_blocks(const struct kernel_caches *caches)
{
	size_t l1 = caches && caches->l1 ? caches->l1 : 32 << 10;
	size_t l2 = caches && caches->l2 ? caches->l2 : 512 << 10;
	size_t l3 = caches && caches->l3 ? caches->l3 : SIZE_MAX;
	struct gemm_blocks b;

	b.depth = gemm_fill(l1 / 8 * 5, GEMM_COLUMNS, GEMM_DEPTH_STEP, GEMM_DEPTH_MOST);
	b.rows = gemm_fill(l2 / 2, b.depth, GEMM_ROWS_STEP, GEMM_ROWS_MOST);
	b.columns = gemm_fill(l3 / 2, GEMM_GROUPS * b.rows + b.depth, GEMM_COLUMNS_STEP,
			      GEMM_COLUMNS_MOST);
	return b;
}

/* N in as few pieces of at most MOST as there can be, all nearly of one size, whole multiples of STEP. */
SIMD_INLINE size_t gemm_even(size_t n, size_t most, size_t step)
{
	size_t pieces, each;

	/* MOST may be 0 where N is. */
	if (n <= step)
		return step;
	pieces = (n + most - 1) / most;
	each = (n + pieces - 1) / pieces;
	return (each + step - 1) / step * step;
}

/* Of a slice of K, in whole blocks of BLOCK. */
SIMD_INLINE size_t gemm_depth(const struct kernel_caches *caches, size_t k, size_t block)
{
	size_t l1 = caches && caches->l1 ? caches->l1 : 32 << 10;
	size_t step = block > GEMM_DEPTH_STEP ? block : GEMM_DEPTH_STEP;
	size_t most = gemm_fill(2 * l1, GEMM_COLUMNS, step, GEMM_DEPTH_WHOLE), depth;

	if (k > most)
		most = gemm_fill(l1 / 4 * 3, GEMM_COLUMNS, step, GEMM_DEPTH_MOST);
	depth = gemm_even(k, most, step);
	return depth < k && depth % 64 == 0 && step < 64 ? depth + step : depth;
}

/*
 * Asks for piece I of N of the panel at P, which comes after the one in hand: in L2 by then. Left to the processor, the first
 * tile of every panel waits for it.
 */
SIMD_INLINE void gemm_ask(const float *p, size_t kn, size_t i, size_t n)
{
	size_t lines = kn * GEMM_COLUMNS / 16, each = (lines + n - 1) / n;

	for (size_t l = i * each; l < (i + 1) * each && l < lines; l++)
		__builtin_prefetch(p + l * 16, 0, 2);
}

#endif
