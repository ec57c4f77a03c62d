/*
 * kernels/cpu/tensor_compare.c - differences of two tensors of one type, 16 pairs a step
 *
 * a, b: [n] of f32, f16 or bf16. A piece is done as if all were finite, as in tensor_stats.c. The
 * largest differences are rare news: the steps only ask whether a pair could be larger than the
 * largest so far, and when one could, the piece is searched once more. Pieces of the same bytes
 * need the sums alone.
 */
#include "kernels/cpu/simd.h"
#include "kernels/tensor_lanes.h"

/* Doubles in 8 lanes, in the order of the elements. */
#define VECTORS (2 * COMPARE_LANES / SIMD_WIDTH)

struct vectors {
	vf64 dot[VECTORS], aa[VECTORS], bb[VECTORS];
	vi32 differ;	  /* counts, of exact comparison */
	vi64 differ_wide; /* counts, with a tolerance */
	vi32 news;	  /* a sign bit: a larger difference may be there */
	vf32 max_abs, max_rel;
	vf64 atol, rtol;
};

/* How the pairs of a piece are looked at. */
enum looking { SAME_BYTES, EXACT, TOLERANT };

SIMD_INLINE void add_sums(size_t k, vf64 a, vf64 b, struct vectors *s)
{
	s->dot[k] = simd_any_fma64(a, b, s->dot[k]);
	s->aa[k] = simd_any_fma64(a, a, s->aa[k]);
	s->bb[k] = simd_any_fma64(b, b, s->bb[k]);
}

/* Counts |a - b| = ABS past the tolerance. */
SIMD_INLINE void count_past(vf64 abs, vf64 b, struct vectors *s)
{
	vf64 size = (vf64)((vi64)b & INT64_MAX);

	s->differ_wide -= (vi64)(abs > s->atol + s->rtol * size);
}

/*
 * Notes whether ABS is more than the largest, or more than the largest quotient times |b|. An equal
 * quotient is no news as long as it is exact; and a b of 0 is news that comes to nothing.
 */
SIMD_INLINE void look_for_news(vf32 abs, vf32 b, struct vectors *s)
{
	s->news |= (vi32)(s->max_abs - abs) | simd_sign_fms(s->max_rel, simd_abs(b), abs);
}

/* Which accumulator half HALF of vector V of 16 elements adds to. */
SIMD_INLINE size_t accumulator(enum dtype t, size_t v, size_t half)
{
	int k = SIMD_WIDTH == 8 ? simd_quarter(t, (int)(2 * v + half)) : (int)(2 * v + half);

	return (size_t)k % VECTORS;
}

/* Vector V of 16 pairs of f32, or of what simd_to_f32 has made of type T; any address. */
SIMD_INLINE void step(enum dtype t, enum looking how, const uint8_t *p, const uint8_t *q, size_t v,
		      struct vectors *s)
{
	vf32 b = simd_load(q), abs = simd_abs(simd_load(p) - b);
	uint8_t differences[SIMD_BYTES];

	if (how == TOLERANT)
		simd_store(differences, abs);
	SIMD_UNROLL
	for (size_t half = 0; half < 2; half++) {
		vf64 x = simd_widen(p + half * SIMD_HALF);
		vf64 y = how == SAME_BYTES ? x : simd_widen(q + half * SIMD_HALF);

		add_sums(accumulator(t, v, half), x, y, s);
		if (how == TOLERANT)
			count_past(simd_widen(differences + half * SIMD_HALF), y, s);
	}
	if (how == EXACT)
		s->differ -= (vi32)((vi32)abs > 0); /* as integers: its sign is + */
	if (how != SAME_BYTES)
		look_for_news(abs, b, s);
}

SIMD_INLINE void step16(enum dtype t, enum looking how, const uint8_t *p, const uint8_t *q,
			struct vectors *s)
{
	SIMD_UNROLL
	for (size_t v = 0; v < 16 / SIMD_WIDTH; v++)
		step(t, how, p + v * SIMD_BYTES, q + v * SIMD_BYTES, v, s);
}

SIMD_INLINE void add_f32(enum looking how, const uint8_t *p, const uint8_t *q, size_t n,
			 struct vectors *s)
{
	for (size_t i = 0; i < n; i += 16) {
		simd_prefetch(p + 4 * i);
		simd_prefetch(q + 4 * i);
		step16(DTYPE_F32, how, p + 4 * i, q + 4 * i, s);
	}
}

/* Pieces of the same bytes, decoded once and one step ahead, as in tensor_stats.c. */
SIMD_INLINE void add_same_halves(enum dtype t, const uint8_t *p, const uint8_t *q, size_t n,
				 struct vectors *s)
{
	uint8_t a[4 * (COMPARE_PIECE + 16)];

	simd_to_f32(t, p, a);
	for (size_t i = 0; i < n; i += 16) {
		size_t next = i + 16 < n ? i + 16 : i;

		simd_to_f32(t, p + 2 * next, a + 4 * (i + 16));
		simd_prefetch(p + 2 * i);
		simd_prefetch(q + 2 * i);
		step16(t, SAME_BYTES, a + 4 * i, a + 4 * i, s);
	}
}

/* Here decoding goes first: all at once needs more registers than there are. */
SIMD_INLINE void add_halves(enum dtype t, enum looking how, const uint8_t *p, const uint8_t *q,
			    size_t n, struct vectors *s)
{
	uint8_t a[4 * COMPARE_PIECE], b[4 * COMPARE_PIECE];

	for (size_t i = 0; i < n; i += 16) {
		simd_to_f32(t, p + 2 * i, a + 4 * i);
		simd_to_f32(t, q + 2 * i, b + 4 * i);
	}
	for (size_t i = 0; i < n; i += 16) {
		simd_prefetch(p + 2 * i);
		simd_prefetch(q + 2 * i);
		step16(t, how, a + 4 * i, b + 4 * i, s);
	}
}

/* |a - b| and, where b is not 0, |a - b| / |b|, of SIMD_WIDTH pairs. */
SIMD_INLINE vf32 abs_of(const float *a, const float *b)
{
	return simd_abs(simd_load(a) - simd_load(b));
}

SIMD_INLINE vf32 rel_of(const float *a, const float *b)
{
	vf32 size = simd_abs(simd_load(b));

	return simd_keep(size != 0, abs_of(a, b) / size);
}

SIMD_INLINE float largest(vf32 x)
{
	float most = x[0];

	for (int j = 1; j < SIMD_WIDTH; j++)
		most = x[j] > most ? x[j] : most;
	return most;
}

/* The first pair whose difference is VALUE, which is there. */
SIMD_INLINE size_t place_of(float value, bool relative, const float *a, const float *b)
{
	for (size_t i = 0;; i += SIMD_WIDTH) {
		vf32 x = relative ? rel_of(a + i, b + i) : abs_of(a + i, b + i);

		if (!simd_any((vi32)(x == value)))
			continue;
		for (size_t j = 0; j < SIMD_WIDTH; j++)
			if (x[j] == value)
				return i + j;
	}
}

static __attribute__((noinline)) void search(const float *a, const float *b, size_t n,
					     struct tensor_compare *c)
{
	vf32 abs = { 0 }, rel = { 0 };
	float most;

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		abs = simd_max(abs_of(a + i, b + i), abs);
		rel = simd_max(rel_of(a + i, b + i), rel);
	}
	most = largest(abs);
	if (most > c->max_abs) {
		c->max_abs = most;
		c->max_abs_at = c->n + place_of(most, false, a, b);
	}
	most = largest(rel);
	if (most > c->max_rel) {
		c->max_rel = most;
		c->max_rel_at = c->n + place_of(most, true, a, b);
	}
}

static uint64_t first_past(const float *a, const float *b, size_t n, const struct compare_lanes *c)
{
	for (size_t i = 0; i < n; i++) {
		double size = __builtin_fabsf(b[i]);

		if (__builtin_fabsf(a[i] - b[i]) > c->tolerance.atol + c->tolerance.rtol * size)
			return c->total.n + i;
	}
	return TENSOR_NOWHERE;
}

SIMD_INLINE bool same_bytes(const uint8_t *p, const uint8_t *q, size_t n)
{
	size_t i = 0;

	for (; i + sizeof(vi32) <= n; i += sizeof(vi32))
		if (simd_any((vi32)simd_load(p + i) ^ (vi32)simd_load(q + i)))
			return false;
	return memcmp(p + i, q + i, n - i) == 0;
}

SIMD_INLINE bool all_finite(const struct vectors *s)
{
	vf64 rest = { 0 };

	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++)
		rest += (s->aa[k] - s->aa[k]) + (s->bb[k] - s->bb[k]);
	return !simd_any((vi32)(rest != 0));
}

static uint64_t count(const struct vectors *s)
{
	uint64_t n = 0;

	for (int j = 0; j < SIMD_WIDTH; j++)
		n += (uint32_t)s->differ[j];
	for (int j = 0; j < SIMD_WIDTH / 2; j++)
		n += (uint64_t)s->differ_wide[j];
	return n;
}

SIMD_INLINE void begin(const struct compare_lanes *c, struct vectors *s)
{
	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++) {
		s->dot[k] = simd_load64(c->dot + k * SIMD_WIDTH / 2);
		s->aa[k] = simd_load64(c->aa + k * SIMD_WIDTH / 2);
		s->bb[k] = simd_load64(c->bb + k * SIMD_WIDTH / 2);
	}
	s->differ = (vi32){ 0 };
	s->differ_wide = (vi64){ 0 };
	s->news = (vi32){ 0 };
	s->max_abs = simd_f32((float)c->total.max_abs);
	s->max_rel = simd_f32((float)c->total.max_rel);
	s->atol = simd_f64(c->tolerance.atol);
	s->rtol = simd_f64(c->tolerance.rtol);
}

SIMD_INLINE void end(const struct vectors *s, struct compare_lanes *c)
{
	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++) {
		simd_store64(c->dot + k * SIMD_WIDTH / 2, s->dot[k]);
		simd_store64(c->aa + k * SIMD_WIDTH / 2, s->aa[k]);
		simd_store64(c->bb + k * SIMD_WIDTH / 2, s->bb[k]);
	}
}

/* What is rare: decoded anew, in order. */
static __attribute__((noinline)) void look_closer(enum dtype t, const uint8_t *p, const uint8_t *q,
						  size_t n, bool news, struct compare_lanes *c)
{
	float a[COMPARE_PIECE], b[COMPARE_PIECE];

	dtype_to_f32(t, p, a, n);
	dtype_to_f32(t, q, b, n);
	if (news)
		search(a, b, n, &c->total);
	if (c->total.first_differ == TENSOR_NOWHERE)
		c->total.first_differ = first_past(a, b, n, c);
}

/* N is at most COMPARE_PIECE, a multiple of 16, not 0. */
SIMD_INLINE void piece(enum dtype t, enum looking how, const uint8_t *p, const uint8_t *q, size_t n,
		       struct compare_lanes *c)
{
	uint64_t differ;
	bool news;
	struct vectors s;

	begin(c, &s);
	if (t == DTYPE_F32)
		add_f32(how, p, q, n, &s);
	else if (how == SAME_BYTES)
		add_same_halves(t, p, q, n, &s);
	else
		add_halves(t, how, p, q, n, &s);
	if (!all_finite(&s)) {
		tensor_compare_piece_ref(t, p, q, n, c);
		return;
	}
	end(&s, c);
	differ = how == SAME_BYTES ? 0 : count(&s);
	news = simd_any_sign(s.news);
	if (news || (differ && c->total.first_differ == TENSOR_NOWHERE))
		look_closer(t, p, q, n, news, c);
	c->total.n_differ += differ;
	c->total.n += n;
}

SIMD_INLINE void piece_of(enum dtype t, const uint8_t *p, const uint8_t *q, size_t n,
			  struct compare_lanes *c)
{
	size_t bytes = t == DTYPE_F32 ? 4 : 2, whole = n & ~(size_t)15;

	if (whole && same_bytes(p, q, whole * bytes))
		piece(t, SAME_BYTES, p, q, whole, c);
	else if (whole && c->tolerance.atol == 0 && c->tolerance.rtol == 0)
		piece(t, EXACT, p, q, whole, c);
	else if (whole)
		piece(t, TOLERANT, p, q, whole, c);
	tensor_compare_piece_ref(t, p + whole * bytes, q + whole * bytes, n - whole, c);
}

void LEVEL_NAME(tensor_compare_piece)(enum dtype t, const void *a, const void *b, size_t n,
				      struct compare_lanes *c)
{
	if (t == DTYPE_F32)
		piece_of(DTYPE_F32, a, b, n, c);
	else if (t == DTYPE_BF16)
		piece_of(DTYPE_BF16, a, b, n, c);
	else
		piece_of(DTYPE_F16, a, b, n, c);
}
