/*
 * kernels/cpu/rounded_straight.h - one row by eight lines of a weight straight from where they lie, in registers
 *
 * A vector of bytes holds 16 values of line l in one half, and those of line l + 4 in the other: four vectors for eight lines, whose
 * sums three steps of a tree bring side by side. Sums of pairs stay in 16 bits as long as they fit (rounded_fit). Scales of all
 * lines are gathered four bytes a line, those of a block of 256 once for all of its groups.
 *
 * The lines may lie far apart, and best do: what a core fetches ahead by itself are streams, each as fast as its pages allow. Zen 3, one
 * core, pages of 2 MB and 4 kB: one stream 22 and 18 GB/s, two 29 and 25, four 35 and 28, eight 29 and 28, sixteen 22; asking
 * ahead changes less than that. (q8_0 out of the caches in pages of 4 kB: 17 to 24 GB/s; q4_1 packed, huge pages: 22 to 29.)
 */
#ifndef KERNELS_CPU_ROUNDED_STRAIGHT_H
#define KERNELS_CPU_ROUNDED_STRAIGHT_H

#include "kernels/cpu/line_scales.h"
#include "kernels/cpu/rounded_rows.h"

#if ROUNDED_LINES == 8

/* A block of each of eight lines, STRIDE bytes from one to the next. */
struct straight_lines {
	const uint8_t *p;
	size_t stride;
};

/* --- scales --- */

/*
 * Four bytes at AT of lines L, L + 1, L + GAP and L + GAP + 1: lane i is the right one of 16 bytes that begin 4 i before, which lie
 * within the lines.
 */
SIMD_INLINE __m128i straight_four_words(struct straight_lines b, size_t l, size_t gap, size_t at)
{
	const uint8_t *p = b.p + l * b.stride + at, *q = p + gap * b.stride;
	const size_t s = b.stride;
	__m128i v = _mm_loadu_si128((const void *)p);

	v = _mm_blend_epi32(v, _mm_loadu_si128((const void *)(p + s - 4)), 2);
	v = _mm_blend_epi32(v, _mm_loadu_si128((const void *)(q - 8)), 4);
	return _mm_blend_epi32(v, _mm_loadu_si128((const void *)(q + s - 12)), 8);
}

/* Of all lines. */
SIMD_INLINE rint32 straight_words(struct straight_lines b, size_t at)
{
	return (rint32)_mm256_set_m128i(straight_four_words(b, 4, 2, at),
					straight_four_words(b, 0, 2, at));
}

/* The f16 at AT and at AT + 2 of each line: pairs of lines 0, 1, 4, 5 and of 2, 3, 6, 7, which one shuffle takes apart. */
SIMD_INLINE void straight_halves(struct straight_lines b, size_t at, rfloat *first, rfloat *second)
{
	__m256 even = _mm256_cvtph_ps(straight_four_words(b, 0, 4, at));
	__m256 odd = _mm256_cvtph_ps(straight_four_words(b, 2, 4, at));

	*first = (rfloat)_mm256_shuffle_ps(even, odd, 0x88);
	*second = (rfloat)_mm256_shuffle_ps(even, odd, 0xdd);
}

/* T is a constant here and below. */
SIMD_INLINE struct line_scales straight_scales(enum dtype t, struct straight_lines b)
{
	struct line_scales s = { 0 };

	/* Where no offset follows d, a block of 256 ends with it. */
	if (quant_is_k(t) && !quant_has_offset(t))
		straight_halves(b, quant_d_at(t) - 2, &s.m, &s.d);
	else
		straight_halves(b, quant_d_at(t), &s.d, &s.m);
	if (quant_is_k(t)) {
		rint32 words[4];

		for (size_t i = 0; i < quant_scale_words(t); i++)
			words[i] = straight_words(b, quant_scales_at(t) + 4 * i);
		line_scales_k(t, words, &s);
	} else if (quant_has_fifths(t))
		s.fifths = straight_words(b, quant_has_offset(t) ? 4 : 2);
	return s;
}

/* --- values --- */

/* 16 bytes at AT of line L and of line L + 4: of the latter with 16 before them, which lie within the lines. */
SIMD_INLINE rbytes straight_load(struct straight_lines b, size_t l, size_t at)
{
	const uint8_t *p = b.p + l * b.stride + at;
	__m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const void *)p));

	return (rbytes)_mm256_blend_epi32(
		low, _mm256_loadu_si256((const void *)(p + 4 * b.stride - 16)), 0xf0);
}

/* 16 where the bit is set that belongs to a value, AT on, of lines L and L + 4. */
SIMD_INLINE rbytes straight_fifths(rint32 fifths, size_t l, size_t at)
{
	const rbytes bit = (rbytes)_mm256_set1_epi64x((long long)0x8040201008040201u);
	const long long one = 0x0101010101010101, from = one * (long long)(4 * l + at / 8);
	rbytes spread = (rbytes)_mm256_shuffle_epi8(
		(__m256i)fifths, _mm256_setr_epi64x(from, from + one, from, from + one));

	return (rbytes)((spread & bit) == bit) & 16;
}

/* Values AT (0 or 16) to AT + 15 of run RUN of lines L and L + 4, of rounded_kind(). */
SIMD_INLINE rbytes straight_half(enum dtype t, struct straight_lines b, size_t l, int run,
				 size_t at, const struct line_scales *s)
{
	const struct quant_piece low = quant_low(t, run, at), high = quant_high(t, run, at);
	rbytes v = rounded_field(straight_load(b, l, low.at), low.right, low.mask);

	if (high.mask)
		v |= rounded_field(straight_load(b, l, high.at), high.right, high.mask);
	if (quant_has_fifths(t))
		v |= straight_fifths(s->fifths, l, at);
	return v + (uint8_t)(rounded_bias(t) - quant_bias(t));
}

/* W[l]: the two halves of the run of lines l and l + 4. */
SIMD_INLINE void straight_values(enum dtype t, struct straight_lines b, int run,
				 const struct line_scales *s, rbytes (*w)[2])
{
	SIMD_UNROLL
	for (size_t l = 0; l < 4; l++)
		for (size_t h = 0; h < 2; h++)
			w[l][h] = straight_half(t, b, l, run, 16 * h, s);
}

/* --- sums --- */

SIMD_INLINE rbytes straight_twice(const int8_t *x)
{
	return (rbytes)_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)x));
}

/* Sums of neighbours of A and of B in every half: of two fours in one, STEP 1, or of the two eights that such steps made, 2. */
SIMD_INLINE __m256i straight_step(int step, bool shorts, __m256i a, __m256i b)
{
	__m256i low = step == 1 ? _mm256_unpacklo_epi32(a, b) : _mm256_unpacklo_epi64(a, b);
	__m256i high = step == 1 ? _mm256_unpackhi_epi32(a, b) : _mm256_unpackhi_epi64(a, b);

	return shorts ? _mm256_add_epi16(low, high) : _mm256_add_epi32(low, high);
}

/* What the sums of a group of all lines are made of: of lines l and l + 4 in four[l], as rounded_more leaves them. */
struct straight_dots {
	__m256i four[4];
};

/* Products of N halves of 16 values from half FIRST on, those of lines l and l + 4 in W[l], by those of x at Q. */
SIMD_INLINE struct straight_dots straight_dots(enum rounded_kind kind, size_t n, rbytes (*w)[2],
					       size_t first, const int8_t *q)
{
	const rbytes x[2] = { straight_twice(q), straight_twice(q + (n - 1) * 16) };
	struct straight_dots d;

	SIMD_UNROLL
	for (int l = 0; l < 4; l++) {
		rint32 sum = rounded_more(kind, true, (rint32){ 0 }, w[l][first], x[0]);

		d.four[l] = (__m256i)(n == 2 ? rounded_more(kind, false, sum, w[l][1], x[1]) : sum);
	}
	return d;
}

/* Of lines 0 to 7: the sum of the products of N halves. */
SIMD_INLINE rint32 straight_sums(enum rounded_kind kind, size_t n, struct straight_dots d)
{
	const size_t fit = rounded_is_narrow(kind) ? rounded_fit(kind) / n : 0;
	__m256i two[2], one;

	for (int i = 0; i < 2; i++) {
		two[i] = straight_step(1, fit >= 2, d.four[2 * i], d.four[2 * i + 1]);
		if (fit == 2)
			two[i] = (__m256i)rounded_widen((rint16)two[i]);
	}
	one = straight_step(2, fit >= 4, two[0], two[1]);
	return fit >= 4 ? rounded_widen((rint16)one) : (rint32)one;
}

/* --- products --- */

/* Group G of x, group H of the lines' block, whose products D are. T and H are constants. */
SIMD_INLINE rfloat straight_group(enum dtype t, const struct line_scales *s, size_t h,
				  struct straight_dots d, const struct rounded_rows *x, size_t g,
				  rfloat acc)
{
	const size_t group = quant_group(t);
	rint32 dot = straight_sums(rounded_kind(t), group / 16, d);

	if (rounded_bias(t))
		dot -= rounded_all_int(x->excess[g]);
	acc = rounded_step(acc, line_scale(t, s, h), x->scale[g * group / 32], dot);
	if (quant_has_offset(t))
		acc = rounded_fma(line_offset(t, s, h), rounded_all(x->sum[g]), acc);
	return acc;
}

/* Run RUN of the lines by the same run of x, group G. T and RUN are constants. */
SIMD_INLINE rfloat straight_run(enum dtype t, struct straight_lines b, int run,
				const struct line_scales *s, const struct rounded_rows *x, size_t g,
				rfloat acc)
{
	const size_t group = quant_group(t), n = group / 16;
	rbytes w[4][2];

	straight_values(t, b, run, s, w);
	SIMD_UNROLL
	for (size_t h = 0; h < 2 / n; h++, g++)
		acc = straight_group(t, s, (size_t)run * (2 / n) + h,
				     straight_dots(rounded_kind(t), n, w, h, x->q + g * group), x,
				     g, acc);
	return acc;
}

/* Row 0 of x by eight lines of blocks of 256. */
SIMD_INLINE rfloat straight_k(enum dtype t, struct straight_lines b, const struct rounded_rows *x)
{
	const size_t groups = 32 / quant_group(t);
	rfloat acc = { 0 };

	for (size_t g = 0; g < x->k / quant_group(t); b.p += block_bytes(t)) {
		struct line_scales s = straight_scales(t, b);

		SIMD_UNROLL
		for (int run = 0; run < 8; run++, g += groups)
			acc = straight_run(t, b, run, &s, x, g, acc);
	}
	return acc;
}

/* A block of 32 of each line by group G of x. */
SIMD_INLINE struct straight_dots straight_block(enum dtype t, struct straight_lines b,
						const struct rounded_rows *x, size_t g)
{
	struct line_scales s = straight_scales(t, b);
	rbytes w[4][2];

	straight_values(t, b, 0, &s, w);
	return straight_dots(rounded_kind(t), 2, w, 0, x->q + g * 32);
}

/*
 * Of blocks of 32. The products of a block come before the sums of the one before it: each waits less for what it needs, and more of them
 * find room in the core (Zen 3, q4_1: 26.5 to 28.0 GB/s in L2, 22.9 to 24.8 in memory).
 */
SIMD_INLINE rfloat straight_32(enum dtype t, struct straight_lines b, const struct rounded_rows *x)
{
	const size_t n = x->k / 32;
	struct straight_dots now, next;
	struct line_scales s;
	rfloat acc = { 0 };

	if (n == 0)
		return acc;
	now = straight_block(t, b, x, 0);
	for (size_t g = 1; g < n; g++, now = next) {
		s = straight_scales(t, b);
		b.p += block_bytes(t);
		next = straight_block(t, b, x, g);
		acc = straight_group(t, &s, 0, now, x, g - 1, acc);
	}
	s = straight_scales(t, b);
	return straight_group(t, &s, 0, now, x, n - 1, acc);
}

/* Row 0 of x by eight lines. T is a constant. */
SIMD_INLINE void rounded_straight(enum dtype t, struct straight_lines b,
				  const struct rounded_rows *x, float *out)
{
	rounded_store(out, quant_is_k(t) ? straight_k(t, b, x) : straight_32(t, b, x));
}

#endif

#endif
