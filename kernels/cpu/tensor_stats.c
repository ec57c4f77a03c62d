/*
 * kernels/cpu/tensor_stats.c - statistics of f32, f16 and bf16, 16 elements a step
 *
 * data: [n]. The f32 go through memory to become doubles (simd_widen). A piece is done as if all were finite. Whatever is not shows in the sums, since
 * no sum of squares of finite f32 can leave the range of double; then the piece is forgotten and ref
 * does it.
 */
#include "kernels/cpu/simd.h"
#include "kernels/tensor_lanes.h"

/* Doubles in 16 lanes, in the order of the elements. */
#define VECTORS (2 * TENSOR_LANES / SIMD_WIDTH)

struct vectors {
	vf64 sum[VECTORS], squares[VECTORS];
	vf32 min, max;
	vi32 zeros;
};

/* 16 floats at any address; those of type T were put there by simd_to_f32, f32 are as they were. */
SIMD_INLINE void add_sums(enum dtype t, const uint8_t *p, struct vectors *s)
{
	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++) {
		int at = SIMD_WIDTH == 8 ? simd_quarter(t, k) : k;
		vf64 x = simd_widen(p + (size_t)at * SIMD_HALF);

		s->sum[k] += x;
		s->squares[k] = simd_any_fma64(x, x, s->squares[k]);
	}
}

SIMD_INLINE void add_extremes(const uint8_t *p, struct vectors *s)
{
	SIMD_UNROLL
	for (size_t i = 0; i < 64; i += SIMD_BYTES) {
		vf32 x = simd_load(p + i);

		s->min = simd_min(x, s->min);
		s->max = simd_max(x, s->max);
		s->zeros -= (vi32)(x == 0);
	}
}

SIMD_INLINE void begin(const struct stats_lanes *lanes, struct vectors *s)
{
	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++) {
		s->sum[k] = simd_load64(lanes->sum + k * SIMD_WIDTH / 2);
		s->squares[k] = simd_load64(lanes->squares + k * SIMD_WIDTH / 2);
	}
	s->min = simd_load(lanes->min);
	s->max = simd_load(lanes->max);
	s->zeros = (vi32)simd_load(lanes->zeros);
}

SIMD_INLINE void end(const struct vectors *s, struct stats_lanes *lanes)
{
	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++) {
		simd_store64(lanes->sum + k * SIMD_WIDTH / 2, s->sum[k]);
		simd_store64(lanes->squares + k * SIMD_WIDTH / 2, s->squares[k]);
	}
	simd_store(lanes->min, s->min);
	simd_store(lanes->max, s->max);
	simd_store(lanes->zeros, (vf32)s->zeros);
}

/* x - x is 0 for what is finite, NaN for the rest. */
SIMD_INLINE bool all_finite(const vf64 *x)
{
	vf64 rest = { 0 };

	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++)
		rest += x[k] - x[k];
	return !simd_any((vi32)(rest != 0));
}

SIMD_INLINE void add_f32(const uint8_t *p, size_t n, struct vectors *s)
{
	for (size_t i = 0; i < n; i += 16) {
		simd_prefetch(p + 4 * i);
		add_sums(DTYPE_F32, p + 4 * i, s);
		add_extremes(p + 4 * i, s);
	}
}

/*
 * Extremes of 16-bit floats without decoding them, twice as many at a time: their bits order as
 * integers do, upwards when positive, downwards when negative. So the largest as signed is the
 * maximum if any is positive, else the least as signed is; the largest as unsigned is
 * the minimum if any is negative, else the least as unsigned is.
 */
struct half_extremes {
	vi16 signed_min, signed_max;
	vu16 unsigned_min, unsigned_max;
};

SIMD_INLINE void look_at_halves(const uint8_t *p, struct half_extremes *e)
{
	vi16 x = (vi16)simd_load(p);

	e->signed_min = simd_min_i16(x, e->signed_min);
	e->signed_max = simd_max_i16(x, e->signed_max);
	e->unsigned_min = simd_min_u16((vu16)x, e->unsigned_min);
	e->unsigned_max = simd_max_u16((vu16)x, e->unsigned_max);
}

/* At most STATS_PIECE: the count is as wide as the elements, so that vectors stay whole. */
static uint16_t half_zeros(const uint8_t *p, size_t n)
{
	uint16_t zeros = 0;

	for (size_t i = 0; i < n; i++)
		zeros = (uint16_t)(zeros + ((load_u16(p + 2 * i) & 0x7fff) == 0));
	return zeros;
}

/* A zero shows as the least of either kind: rare enough to be counted apart. */
static void add_half_extremes(enum dtype t, const struct half_extremes *e, const uint8_t *p,
			      size_t n, struct tensor_stats *total)
{
	int16_t smin = INT16_MAX, smax = INT16_MIN;
	uint16_t umin = UINT16_MAX, umax = 0;
	uint8_t bytes[4];
	float extremes[2];

	for (int j = 0; j < 2 * SIMD_WIDTH; j++) {
		smin = e->signed_min[j] < smin ? e->signed_min[j] : smin;
		smax = e->signed_max[j] > smax ? e->signed_max[j] : smax;
		umin = e->unsigned_min[j] < umin ? e->unsigned_min[j] : umin;
		umax = e->unsigned_max[j] > umax ? e->unsigned_max[j] : umax;
	}
	if (umin == 0 || smin == INT16_MIN)
		total->zeros += half_zeros(p, n);
	store_u16(bytes, umax & 0x8000 ? umax : umin);
	store_u16(bytes + 2, (uint16_t)(smax >= 0 ? smax : smin));
	dtype_to_f32(t, bytes, extremes, 2);
	total->min = extremes[0] < total->min ? extremes[0] : total->min;
	total->max = extremes[1] > total->max ? extremes[1] : total->max;
}

/*
 * Decoding runs one step ahead of adding: the two then overlap, and no compiler turns the way
 * through memory into one through registers.
 */
SIMD_INLINE void add_halves(enum dtype t, const uint8_t *p, size_t n, struct half_extremes *e,
			    struct vectors *s)
{
	vi16 first = (vi16)simd_load(p);
	uint8_t buffer[4 * (STATS_PIECE + 16)];

	*e = (struct half_extremes){ first, first, (vu16)first, (vu16)first };
	simd_to_f32(t, p, buffer);
	for (size_t i = 0; i < n; i += 16) {
		size_t next = i + 16 < n ? i + 16 : i;

		if (i % 32 == 0)
			simd_prefetch(p + 2 * i);
		simd_to_f32(t, p + 2 * next, buffer + 4 * (i + 16));
		add_sums(t, buffer + 4 * i, s);
		for (size_t j = i; j < i + 16; j += 2 * SIMD_WIDTH)
			if (j % (2 * SIMD_WIDTH) == 0)
				look_at_halves(p + 2 * j, e);
	}
}

/* N is at most STATS_PIECE, and a multiple of 32. */
SIMD_INLINE void piece(enum dtype t, const uint8_t *p, size_t n, struct stats_lanes *lanes)
{
	struct half_extremes e;
	struct vectors s;

	begin(lanes, &s);
	if (t == DTYPE_F32)
		add_f32(p, n, &s);
	else
		add_halves(t, p, n, &e, &s);
	if (!all_finite(s.squares)) {
		tensor_stats_piece_ref(t, p, n, lanes);
		return;
	}
	end(&s, lanes);
	if (t != DTYPE_F32)
		add_half_extremes(t, &e, p, n, &lanes->total);
}

void LEVEL_NAME(tensor_stats_piece)(enum dtype t, const void *src, size_t n, struct stats_lanes *s)
{
	const uint8_t *p = src;
	size_t whole = n & ~(size_t)31;

	if (whole && t == DTYPE_F32)
		piece(DTYPE_F32, p, whole, s);
	else if (whole && t == DTYPE_BF16)
		piece(DTYPE_BF16, p, whole, s);
	else if (whole)
		piece(DTYPE_F16, p, whole, s);
	tensor_stats_piece_ref(t, p + whole * dtype_info(t)->bytes, n - whole, s);
}
