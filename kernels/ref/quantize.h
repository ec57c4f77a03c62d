/*
 * kernels/ref/quantize.h - scales of groups: what is looked for, and by whom
 *
 * The searches are ggml's (ggml-quants.c): a few scales near the one that fits the largest value are tried, for each the integers are the
 * nearest ones and the scale is then the one of least weighted squares, and the best is taken. A group's values are X, its
 * weights W, its integers L. All arithmetic is f32, in the order of the values; an integer is rounded to nearest even after it was held
 * to its range, which also makes a NaN the least of it.
 */
#ifndef KERNELS_REF_QUANTIZE_H
#define KERNELS_REF_QUANTIZE_H

#include "kernels/bits.h"
#include "kernels/quantize.h"

/* Below this a group is all zeros to ggml. */
#define QUANTIZE_NOTHING 1e-15f

/* Where the weights of a search come from. */
enum quantize_weights {
	WEIGHTS_GIVEN,
	WEIGHTS_SIZE,	  /* |x| */
	WEIGHTS_RMS_SIZE, /* the root of the mean square of the group, plus |x| */
};

/* x = scale * l - min with l from 0 to MOST and min >= 0: scales of (FIRST + STEP * i + MOST) steps a range, i from 0 to STEPS, are tried. */
struct quantize_affine {
	size_t length; /* of a group: 16 or 32 */
	int most;
	float first, step;
	int steps;
	bool absolute; /* errors as they are, not their squares */
	enum quantize_weights weights;
};

/* x = scale * l with l from -HALF to HALF - 1. */
struct quantize_symmetric {
	size_t length;
	int half;
};

/*
 * What is found for GROUPS of them, side by side: SCALE and, of each, the integers L, less the least of them; SUM: of the weights. A level
 * has functions of its own, with ref's bits.
 */
struct quantize_search {
	void (*affine)(const struct quantize_affine *a, const float *x, const float *w,
		       size_t groups, float *scale, float *min, float *sum, uint8_t *l);
	/* Weights of NULL: x * x; SUM of NULL is not asked for. */
	void (*symmetric)(const struct quantize_symmetric *s, const float *x, const float *w,
			  size_t groups, float *scale, float *sum, uint8_t *l);
	/* The same, unweighted, by going from integer to better integer. */
	void (*descend)(const struct quantize_symmetric *s, const float *x, size_t groups,
			float *scale, uint8_t *l);
	/* LENGTH values of 0 or more as scale * l, l from 0 to MOST. */
	void (*positive)(const float *x, const float *w, size_t groups, size_t length, int most,
			 float *scale, uint8_t *l);
	/* Of IQ4_NL, groups of 32: the integers are places in its table. */
	void (*table)(const float *x, const float *w, size_t groups, float *scale, uint8_t *l);
	/* W: importance times the root of (ADDED[group of LENGTH] + x * x). */
	void (*weigh)(const float *x, const float *importance, const float *added, size_t groups,
		      size_t length, float *w);
	/* The integers nearest to (x + min) / scale, in LOW to HIGH, less LOW; groups whose scale is 0 are left as they are. */
	void (*nearest)(const float *x, const float *scale, const float *min, size_t groups,
			size_t length, float low, float high, uint8_t *l);
};

extern const struct quantize_search quantize_search_ref;

/* A row of a K type by S. */
void quantize_k(const struct quantize_search *s, enum dtype t, const float *x,
		const float *importance, size_t n, void *out);
/* A row of q4_0 q4_1 q5_0 q5_1 iq4_nl with importance, or of iq4_nl without. */
void quantize_weighted(const struct quantize_search *s, enum dtype t, const float *x,
		       const float *importance, size_t n, void *out);

/* Rows of the others without. */
typedef void quantize_plain(const float *x, size_t n, void *out);
quantize_plain quantize_q4_0_ref, quantize_q4_1_ref, quantize_q5_0_ref, quantize_q5_1_ref,
	quantize_q8_0_ref, quantize_f16_ref, quantize_bf16_ref;

/* 32 integers: the low four bits of element j in the low half of byte j, of element j + 16 in the high one; a fifth is bit j of qh. */
static inline void quantize_pack_4(const uint8_t *l, uint8_t *qs)
{
	for (int j = 0; j < 16; j++)
		qs[j] = (uint8_t)((l[j] & 15) | (l[j + 16] & 15) << 4);
}

static inline void quantize_pack_5(const uint8_t *l, uint8_t *qh, uint8_t *qs)
{
	uint32_t high = 0;

	for (int j = 0; j < 32; j++)
		high |= (uint32_t)(l[j] >> 4) << j;
	store_u32(qh, high);
	quantize_pack_4(l, qs);
}

static inline float quantize_hold(float x, float low, float high)
{
	x = x > low ? x : low;
	return x < high ? x : high;
}

/* To nearest even, of |x| < 2^22: the sum has no room for a fraction. */
static inline float quantize_round(float x)
{
	return x + 0x1.8p23f - 0x1.8p23f;
}

#endif
