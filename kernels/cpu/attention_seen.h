/*
 * kernels/cpu/attention_seen.h - products whose rows keep to what they see, where some of it is not finite
 *
 * In a tile that not all of its columns see whole, what is hidden is multiplied by a probability (or a slope) of 0, and 0 times NaN or
 * infinity is NaN. So tiles are looked at once, as they are loaded; one that is not finite is multiplied by what follows, which
 * leaves out what is hidden. It gives the bits of attention_tile.h where what is seen is finite: to add 0 to such a sum changes none.
 */
#ifndef KERNELS_CPU_ATTENTION_SEEN_H
#define KERNELS_CPU_ATTENTION_SEEN_H

#include "kernels/cpu/attention.h"

/* N floats times FACTOR; whether they then are finite. N is a multiple of ATTENTION_TILE. */
SIMD_INLINE bool attention_scaled(float *p, size_t n, float factor)
{
	vf32 none[4] = { { 0 } };

	for (size_t i = 0; i < n; i += 4 * SIMD_WIDTH)
		for (size_t v = 0; v < 4; v++) {
			vf32 x = simd_load(p + i + v * SIMD_WIDTH);

			if (factor != 1) {
				x *= simd_f32(factor);
				simd_store(p + i + v * SIMD_WIDTH, x);
			}
			none[v] = simd_fma(x, (vf32){ 0 }, none[v]);
		}
	none[0] += none[1] + (none[2] + none[3]);
	return !simd_any(none[0] != none[0]);
}

/* A tile of columns, from column FIRST of head of keys on, and a tile of keys from KEY on. */
struct attention_sight {
	const struct attention *t;
	const struct attention_columns *q;
	const struct attention_keys *k;
	size_t first, columns, key, keys;
};

/* A product of scores (probabilities, slopes) and rows: the score of column c and key j lies at c COLUMN_STEP + j KEY_STEP. */
struct attention_product {
	const float *scores;
	size_t column_step, key_step;
	const float *rows;
	float *out;
	size_t step; /* of rows and of out: whole GEMM_COLUMNS */
};

/* Row c of out = row c factor[c] + the sum over keys that column c sees; FACTOR may be NULL: 1. */
void LEVEL_NAME(attention_seen_keys)(const struct attention_sight *s,
				     const struct attention_product *p, const float *factor);
/* Row j of out += the sum over columns that see key j. */
void LEVEL_NAME(attention_seen_columns)(const struct attention_sight *s,
					const struct attention_product *p);

#endif
