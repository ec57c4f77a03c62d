/*
 * kernels/cpu/quantize_plain.c - f32 to Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, f16 and bf16, a block of 32 at a time
 *
 * With the bits of ref: extremes do not depend on their order, but where the largest size is that of a positive and of a negative value.
 */
#include "kernels/blocks.h"
#include "kernels/cpu/quantize_bytes.h"
#include "kernels/cpu/quantize_level.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

/* Blocks worked on together: what comes of their extremes takes long, and is done for all at once. */
#define BATCH 16

/*
 * Asks for two lines BYTES ahead, be they there or not. Blocks are gone through twice: for their extremes, when the processor looks
 * ahead by itself, then for their integers, when memory would have nothing to do. That is when this asks.
 */
SIMD_INLINE void ask_for(const float *x, size_t bytes)
{
	__builtin_prefetch((const void *)((uintptr_t)x + bytes), 0, 3);
	__builtin_prefetch((const void *)((uintptr_t)x + bytes + 64), 0, 3);
}

/* Blocks whose extremes are found together, one in each lane. */
#define LANES (SIMD_WIDTH == 4 ? 4 : 8)

typedef float lanes __attribute__((vector_size(4 * LANES)));

SIMD_INLINE lanes lanes_load(const float *x)
{
	lanes v;

	memcpy(&v, x, sizeof(v));
	return v;
}

SIMD_INLINE lanes larger(lanes a, lanes b)
{
#if SIMD_WIDTH == 4
	return simd_max(a, b);
#else
	return (lanes)_mm256_max_ps((__m256)a, (__m256)b);
#endif
}

SIMD_INLINE lanes lesser(lanes a, lanes b)
{
#if SIMD_WIDTH == 4
	return simd_min(a, b);
#else
	return (lanes)_mm256_min_ps((__m256)a, (__m256)b);
#endif
}

/* The extremes of one block or several, each in as many lanes as are left to it. */
struct extremes {
	lanes high, low;
};

SIMD_INLINE struct extremes extremes_of(const float *x)
{
	lanes v = lanes_load(x);
	struct extremes e = { v, v };

	SIMD_UNROLL
	for (int i = LANES; i < 32; i += LANES) {
		v = lanes_load(x + i);
		e.high = larger(e.high, v);
		e.low = lesser(e.low, v);
	}
	return e;
}

#if SIMD_WIDTH == 4
# define ZIP_LOW(a, b)	__builtin_shufflevector(a, b, 0, 4, 1, 5)
# define ZIP_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
# define JOIN_LOW	ZIP_LOW
# define JOIN_HIGH	ZIP_HIGH
# define IN_ORDER(a)	__builtin_shufflevector(a, a, 0, 2, 1, 3)
#else
# define ZIP_LOW(a, b)	 __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
# define ZIP_HIGH(a, b)	 __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
# define JOIN_LOW(a, b)	 __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
# define JOIN_HIGH(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
# define IN_ORDER(a)	 __builtin_shufflevector(a, a, 0, 4, 1, 5, 2, 6, 3, 7)
#endif

/* Those of A and of B, with half of the lanes for each. */
SIMD_INLINE struct extremes join(struct extremes a, struct extremes b)
{
	return (struct extremes){
		larger(JOIN_LOW(a.high, b.high), JOIN_HIGH(a.high, b.high)),
		lesser(JOIN_LOW(a.low, b.low), JOIN_HIGH(a.low, b.low)),
	};
}

/* The same within each 16 bytes. */
SIMD_INLINE struct extremes zip(struct extremes a, struct extremes b)
{
	return (struct extremes){
		larger(ZIP_LOW(a.high, b.high), ZIP_HIGH(a.high, b.high)),
		lesser(ZIP_LOW(a.low, b.low), ZIP_HIGH(a.low, b.low)),
	};
}

/* Those of blocks 0 to LAST in their order, of that one in all further lanes. */
SIMD_INLINE struct extremes extremes_of_lanes(const float *x, size_t last)
{
	struct extremes e[LANES / 2];

	SIMD_UNROLL
	for (size_t i = 0; i < LANES / 2; i++) {
		size_t first = 2 * i < last ? 2 * i : last;
		size_t second = first < last ? first + 1 : last;

		e[i] = join(extremes_of(x + 32 * first), extremes_of(x + 32 * second));
	}
	SIMD_UNROLL
	for (int n = LANES / 4; n > 0; n /= 2)
		for (int i = 0; i < n; i++)
			e[i] = zip(e[i], e[i + n]);
	return (struct extremes){ IN_ORDER(e[0].high), IN_ORDER(e[0].low) };
}

struct batch {
	size_t n;
	float high[BATCH], low[BATCH];
	float d[BATCH], inverse[BATCH];
	uint16_t half[BATCH], half_min[BATCH]; /* of d and low, as they lie in memory */
};

/* Lanes past N, up to a whole vector, get what is of no use and does no harm. */
SIMD_INLINE void batch_extremes(const float *x, size_t n, struct batch *b)
{
	b->n = n;
	for (size_t i = 0; i < n || i % SIMD_WIDTH; i += LANES) {
		size_t first = i < n ? i : n - 1;
		struct extremes e = i + LANES <= n
					    ? extremes_of_lanes(x + 32 * i, LANES - 1)
					    : extremes_of_lanes(x + 32 * first, n - first - 1);

		memcpy(b->high + i, &e.high, sizeof(e.high));
		memcpy(b->low + i, &e.low, sizeof(e.low));
	}
}

static __attribute__((noinline)) float first_of_size(const float *x, float size)
{
	while (*x != size && *x != -size)
		x++;
	return *x;
}

/* D has the values of largest size, with their signs: the first of several. Without branches, which nothing could foretell. */
SIMD_INLINE void batch_signed(const float *x, struct batch *b)
{
	vi32 ties = { 0 };

	for (size_t i = 0; i < b->n; i += SIMD_WIDTH) {
		vf32 high = simd_load(b->high + i), low = simd_load(b->low + i);

		ties |= (vi32)(high == -low);
		simd_store(b->d + i, simd_select((vi32)(high > -low), low, high));
	}
	if (!simd_any(ties))
		return;
	for (size_t i = 0; i < b->n; i++)
		if (b->high[i] == -b->low[i])
			b->d[i] = b->high[i] == 0 ? 0 : first_of_size(x + 32 * i, b->high[i]);
}

/* The least values; of several zeros the first. D has what lies between the extremes. */
SIMD_INLINE void batch_minima(const float *x, struct batch *b)
{
	vi32 zeros = { 0 };

	for (size_t i = 0; i < b->n; i += SIMD_WIDTH) {
		vf32 low = simd_load(b->low + i);

		zeros |= (vi32)(low == simd_f32(0));
		simd_store(b->d + i, simd_load(b->high + i) - low);
		simd_store_f16(b->half_min + i, low);
	}
	if (!simd_any(zeros))
		return;
	for (size_t i = 0; i < b->n; i++)
		if (b->low[i] == 0) {
			b->low[i] = first_of_size(x + 32 * i, 0);
			b->half_min[i] = half_from_f32(b->low[i]);
		}
}

/* D over DIVISOR is the scale; one without an inverse gets 0 for it. */
SIMD_INLINE void batch_scales(float divisor, struct batch *b)
{
	for (size_t i = 0; i < b->n; i += SIMD_WIDTH) {
		vf32 d = simd_load(b->d + i) / simd_f32(divisor), inverse = simd_f32(1) / d;
		vi32 good = (vi32)(simd_abs(inverse) <= simd_f32(0x1.fffffep127f));

		simd_store(b->inverse + i, simd_keep(good, inverse));
		simd_store_f16(b->half + i, d);
	}
}

/* Without a minimum. */
SIMD_INLINE void begin_symmetric(const float *x, size_t n, float divisor, struct batch *b)
{
	batch_extremes(x, n, b);
	batch_signed(x, b);
	batch_scales(divisor, b);
}

SIMD_INLINE void begin_affine(const float *x, size_t n, float divisor, struct batch *b)
{
	batch_extremes(x, n, b);
	batch_minima(x, b);
	batch_scales(divisor, b);
}

/* Without the sign of what is largest. */
SIMD_INLINE void begin_sizes(const float *x, size_t n, float divisor, struct batch *b)
{
	batch_extremes(x, n, b);
	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		simd_store(b->d + i,
			   simd_abs(simd_max(simd_load(b->high + i), -simd_load(b->low + i))));
	batch_scales(divisor, b);
}

/* (x - least) * inverse + a half, its fraction cut off: that of the largest value is what the extremes were divided by. */
SIMD_INLINE void integers(const float *x, float least, float inverse, uint8_t *l)
{
	vf32 whole[QUANTIZE_VECTORS];

	ask_for(x, 4096);
	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++) {
		vf32 v = simd_load(x + i * SIMD_WIDTH) - simd_f32(least);

		whole[i] = v * simd_f32(inverse) + simd_f32(0.5f);
	}
	quantize_bytes(whole, false, false, l);
}

SIMD_INLINE void integers_symmetric(const float *x, float inverse, float half, uint8_t *l)
{
	vf32 whole[QUANTIZE_VECTORS];

	ask_for(x, 4096);
	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++)
		whole[i] =
			simd_load(x + i * SIMD_WIDTH) * simd_f32(inverse) + simd_f32(half + 0.5f);
	quantize_bytes(whole, false, false, l);
	quantize_at_most((uint8_t)(2 * half - 1), l);
}

SIMD_INLINE void put_five(const uint8_t *l, uint8_t *qh, uint8_t *qs)
{
	store_u32(qh, quantize_fifth_bits(l));
	quantize_nibbles(l, qs);
}

SIMD_INLINE void put_q4_0(const float *x, const struct batch *b, size_t i, struct block_q4_0 *out)
{
	uint8_t l[32];

	integers_symmetric(x, b->inverse[i], 8, l);
	memcpy(out->d, &b->half[i], 2);
	quantize_nibbles(l, out->qs);
}

SIMD_INLINE void put_q5_0(const float *x, const struct batch *b, size_t i, struct block_q5_0 *out)
{
	uint8_t l[32];

	integers_symmetric(x, b->inverse[i], 16, l);
	memcpy(out->d, &b->half[i], 2);
	put_five(l, out->qh, out->qs);
}

SIMD_INLINE void put_q4_1(const float *x, const struct batch *b, size_t i, struct block_q4_1 *out)
{
	uint8_t l[32];

	integers(x, b->low[i], b->inverse[i], l);
	memcpy(out->d, &b->half[i], 2);
	memcpy(out->m, &b->half_min[i], 2);
	quantize_nibbles(l, out->qs);
}

SIMD_INLINE void put_q5_1(const float *x, const struct batch *b, size_t i, struct block_q5_1 *out)
{
	uint8_t l[32];

	integers(x, b->low[i], b->inverse[i], l);
	memcpy(out->d, &b->half[i], 2);
	memcpy(out->m, &b->half_min[i], 2);
	put_five(l, out->qh, out->qs);
}

/* Halves are rounded away from zero: the float below a half is added, and the fraction cut off. */
SIMD_INLINE void rounded(const float *x, float inverse, int8_t *out)
{
	const vi32 sign = (vi32)simd_f32(-0.0f);
	vf32 whole[QUANTIZE_VECTORS];

	ask_for(x, 4096);
	SIMD_UNROLL
	for (int i = 0; i < QUANTIZE_VECTORS; i++) {
		vf32 v = simd_load(x + i * SIMD_WIDTH) * simd_f32(inverse);

		whole[i] = v + (vf32)(((vi32)v & sign) | (vi32)simd_f32(0x1.fffffep-2f));
	}
	quantize_bytes(whole, true, false, out);
}

SIMD_INLINE void put_q8_0(const float *x, const struct batch *b, size_t i, struct block_q8_0 *out)
{
	rounded(x, b->inverse[i], out->qs);
	memcpy(out->d, &b->half[i], 2);
}

/* Every batch of a row: BEGIN finds its scales, PUT makes a block. */
#define BATCHES(begin, divisor, put, block)            \
 do {                                                  \
  struct block *to = out;                              \
  struct batch b;                                      \
  for (size_t left = n / 32; left > 0; left -= b.n) {  \
   begin(x, left < BATCH ? left : BATCH, divisor, &b); \
   for (size_t i = 0; i < b.n; i++, x += 32)           \
    put(x, &b, i, to++);                               \
  }                                                    \
 } while (0)

void LEVEL_NAME(quantize_q4_0)(const float *x, size_t n, void *out)
{
	BATCHES(begin_symmetric, -8, put_q4_0, block_q4_0);
}

void LEVEL_NAME(quantize_q4_1)(const float *x, size_t n, void *out)
{
	BATCHES(begin_affine, 15, put_q4_1, block_q4_1);
}

void LEVEL_NAME(quantize_q5_0)(const float *x, size_t n, void *out)
{
	BATCHES(begin_symmetric, -16, put_q5_0, block_q5_0);
}

void LEVEL_NAME(quantize_q5_1)(const float *x, size_t n, void *out)
{
	BATCHES(begin_affine, 31, put_q5_1, block_q5_1);
}

void LEVEL_NAME(quantize_q8_0)(const float *x, size_t n, void *out)
{
	BATCHES(begin_sizes, 127, put_q8_0, block_q8_0);
}

void LEVEL_NAME(quantize_f16)(const float *x, size_t n, void *out)
{
	size_t whole = n & ~(size_t)31;
	uint8_t *y = out;

	for (size_t i = 0; i < whole; i += SIMD_WIDTH)
		simd_store_f16(y + 2 * i, simd_load(x + i));
	dtype_from_f32(DTYPE_F16, x + whole, y + 2 * whole, n - whole);
}

void LEVEL_NAME(quantize_bf16)(const float *x, size_t n, void *out)
{
	size_t whole = n & ~(size_t)31;
	uint8_t *y = out;

	for (size_t i = 0; i < whole; i += 32) {
		ask_for(x + i, 1024);
		SIMD_UNROLL
		for (size_t j = i; j < i + 32; j += VECTOR_TWO)
			vector_store_two(DTYPE_BF16, y + 2 * j, simd_load(x + j),
					 simd_load(x + j + SIMD_WIDTH), false);
	}
	dtype_from_f32(DTYPE_BF16, x + whole, y + 2 * whole, n - whole);
}
