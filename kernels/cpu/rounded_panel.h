/*
 * kernels/cpu/rounded_panel.h - ROUNDED_LINES lines of a block-quantized weight as a panel, whose bytes need no more unpacking
 *
 * Group by group: a vector of scales, one of offsets where the type has them, then the bytes, the fours of all lines side by side.
 * Lines that follow each other are read as rounded_straight.h reads them.
 */
#ifndef KERNELS_CPU_ROUNDED_PANEL_H
#define KERNELS_CPU_ROUNDED_PANEL_H

#include "kernels/cpu/rounded_straight.h"

#define ROUNDED_RUNS(t) (quant_is_k(t) ? 8 : 1) /* of a block */

/* Of a block of each line: a vector a group. */
struct rounded_scales {
	rfloat scale[16], offset[16];
};

/* --- of blocks of 32 --- */

#if ROUNDED_LINES == 8
/* The four bytes at each line's P. */
SIMD_INLINE __m256i rounded_words(const uint8_t *const *p)
{
	return _mm256_setr_epi32((int)load_u32(p[0]), (int)load_u32(p[1]), (int)load_u32(p[2]),
				 (int)load_u32(p[3]), (int)load_u32(p[4]), (int)load_u32(p[5]),
				 (int)load_u32(p[6]), (int)load_u32(p[7]));
}

SIMD_INLINE void rounded_scales_short(enum dtype t, const uint8_t *const *p,
				      struct rounded_scales *s)
{
	__m256i v = rounded_words(p);

	v = _mm256_shuffle_epi8(v, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11,
						    14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7,
						    10, 11, 14, 15));
	v = _mm256_permute4x64_epi64(v, 0xd8);
	s->scale[0] = (rfloat)_mm256_cvtph_ps(_mm256_castsi256_si128(v));
	if (quant_has_offset(t))
		s->offset[0] = (rfloat)_mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
}
#else
SIMD_INLINE void rounded_scales_short(enum dtype t, const uint8_t *const *p,
				      struct rounded_scales *s)
{
	s->scale[0] = rounded_halves(p, 0);
	if (quant_has_offset(t))
		s->offset[0] = rounded_halves(p, 2);
}
#endif

/* --- of blocks of 256 --- */

/* Byte G of each of the lines' 16, for all G: OUT[G * ROUNDED_LINES + line]. */
SIMD_INLINE void rounded_turn_bytes(int8_t (*in)[16], int8_t *out)
{
#if ROUNDED_LINES == 8
	__m128i a[8], b[8];

	for (int i = 0; i < 8; i++)
		a[i] = _mm_loadu_si128((const void *)in[i]);
	/* Lines i and i + 4, then i and i + 2, then 0 and 1: each time two bytes that belong together come to lie so. */
	for (int i = 0; i < 4; i++) {
		b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 4]);
		b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 4]);
	}
	for (int i = 0; i < 2; i++)
		for (int half = 0; half < 2; half++) {
			__m128i x = b[2 * i + half], y = b[2 * (i + 2) + half];

			a[4 * i + 2 * half] = _mm_unpacklo_epi8(x, y);
			a[4 * i + 2 * half + 1] = _mm_unpackhi_epi8(x, y);
		}
	for (int i = 0; i < 4; i++) {
		_mm_storeu_si128((void *)(out + 32 * i), _mm_unpacklo_epi8(a[i], a[i + 4]));
		_mm_storeu_si128((void *)(out + 32 * i + 16), _mm_unpackhi_epi8(a[i], a[i + 4]));
	}
#else
	for (int g = 0; g < 16; g++)
		for (int l = 0; l < ROUNDED_LINES; l++)
			out[g * ROUNDED_LINES + l] = in[l][g];
#endif
}

SIMD_INLINE rfloat rounded_small(const int8_t *p)
{
#if ROUNDED_LINES == 8
	return (rfloat)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
#else
	return (rfloat){ p[0], p[1], p[2], p[3] };
#endif
}

SIMD_INLINE void rounded_scales_k(enum dtype t, const uint8_t *const *p, struct rounded_scales *s)
{
	int8_t scale[ROUNDED_LINES][16] = { { 0 } }, minimum[ROUNDED_LINES][16] = { { 0 } };
	int8_t turned[16 * ROUNDED_LINES];
	rfloat d = rounded_halves(p, quant_d_at(t));

	for (int l = 0; l < ROUNDED_LINES; l++)
		quant_scales(t, p[l], scale[l], minimum[l]);
	rounded_turn_bytes(scale, turned);
	for (size_t g = 0; g < 256 / quant_group(t); g++)
		s->scale[g] = d * rounded_small(turned + g * ROUNDED_LINES);
	if (!quant_has_offset(t))
		return;
	d = -rounded_halves(p, quant_d_at(t) + 2);
	rounded_turn_bytes(minimum, turned);
	for (size_t g = 0; g < 256 / quant_group(t); g++)
		s->offset[g] = d * rounded_small(turned + g * ROUNDED_LINES);
}

SIMD_INLINE void rounded_scales(enum dtype t, const uint8_t *const *p, struct rounded_scales *s)
{
	if (quant_is_k(t))
		rounded_scales_k(t, p, s);
	else
		rounded_scales_short(t, p, s);
}

/* --- panels --- */

SIMD_INLINE size_t panel_scale_bytes(bool offset)
{
	return (offset ? 2 : 1) * ROUNDED_BYTES;
}

SIMD_INLINE size_t panel_group_bytes(size_t group, bool offset)
{
	return panel_scale_bytes(offset) + group * ROUNDED_LINES;
}

/* Of K elements, whatever the type. */
SIMD_INLINE size_t panel_bytes(size_t k)
{
	return k / 16 * panel_group_bytes(16, true);
}

/* A run of each line, 32 bytes, turned so that the fours of all lines lie side by side. */
SIMD_INLINE void rounded_turn(const vbytes (*q)[32 / QUANT_LANES], uint8_t *out)
{
#if ROUNDED_LINES == 8
	__m256i a[8], b[8];

	for (int i = 0; i < 8; i += 2) {
		a[i] = _mm256_unpacklo_epi32((__m256i)q[i][0], (__m256i)q[i + 1][0]);
		a[i + 1] = _mm256_unpackhi_epi32((__m256i)q[i][0], (__m256i)q[i + 1][0]);
	}
	for (int i = 0; i < 8; i += 4)
		for (int half = 0; half < 2; half++) {
			b[i + 2 * half] = _mm256_unpacklo_epi64(a[i + half], a[i + 2 + half]);
			b[i + 2 * half + 1] = _mm256_unpackhi_epi64(a[i + half], a[i + 2 + half]);
		}
	for (int i = 0; i < 4; i++) {
		_mm256_storeu_si256((void *)(out + 32 * i),
				    _mm256_permute2x128_si256(b[i], b[i + 4], 0x20));
		_mm256_storeu_si256((void *)(out + 32 * (i + 4)),
				    _mm256_permute2x128_si256(b[i], b[i + 4], 0x31));
	}
#else
	for (size_t l = 0; l < ROUNDED_LINES; l++) {
		uint8_t line[32];

		memcpy(line, q[l], sizeof(line));
		for (size_t i = 0; i < 8; i++)
			memcpy(out + i * ROUNDED_BYTES + 4 * l, line + 4 * i, 4);
	}
#endif
}

/* The scales of group G of a block, to P. */
SIMD_INLINE void panel_scales(enum dtype t, rfloat scale, rfloat offset, uint8_t *p)
{
	rounded_store(p, scale);
	if (quant_has_offset(t))
		rounded_store(p + ROUNDED_BYTES, offset);
}

/* Lines LINES, wherever they lie, of K elements to the panel at OUT. T is a constant. */
SIMD_INLINE void panel_pack(enum dtype t, const uint8_t *const *lines, size_t k, uint8_t *out)
{
	const size_t bytes = dtype_info(t)->bytes, halves = 32 / quant_group(t);
	const uint8_t *p[ROUNDED_LINES];

	memcpy(p, lines, sizeof(p));
	for (size_t i = 0; i < k; i += 32 * (size_t)ROUNDED_RUNS(t)) {
		struct rounded_scales s;

		rounded_scales(t, p, &s);
		for (size_t run = 0; run < ROUNDED_RUNS(t); run++) {
			vbytes q[ROUNDED_LINES][32 / QUANT_LANES];
			uint8_t turned[32 * ROUNDED_LINES];

			for (size_t l = 0; l < ROUNDED_LINES; l++)
				for (int at = 0; at < 32; at += QUANT_LANES)
					q[l][at / QUANT_LANES] = rounded_run(t, p[l], (int)run, at);
			rounded_turn((const vbytes(*)[32 / QUANT_LANES]) q, turned);
			for (size_t h = 0, g = run * halves; h < halves; h++, g++) {
				const size_t n = quant_group(t) * ROUNDED_LINES;

				panel_scales(t, s.scale[g], s.offset[g], out);
				out += panel_scale_bytes(quant_has_offset(t));
				memcpy(out, turned + h * n, n);
				out += n;
			}
		}
		for (size_t l = 0; l < ROUNDED_LINES; l++)
			p[l] += bytes;
	}
}

#if ROUNDED_LINES == 8
/* 16 bytes of each line, W[l] those of lines l and l + 4: their fours, those of all lines side by side. */
SIMD_INLINE void panel_turn(const rbytes *w, rbytes *out)
{
	__m256i a[4];

	for (int i = 0; i < 2; i++) {
		a[2 * i] = _mm256_unpacklo_epi32((__m256i)w[2 * i], (__m256i)w[2 * i + 1]);
		a[2 * i + 1] = _mm256_unpackhi_epi32((__m256i)w[2 * i], (__m256i)w[2 * i + 1]);
	}
	for (int i = 0; i < 2; i++) {
		out[2 * i] = (rbytes)_mm256_unpacklo_epi64(a[i], a[i + 2]);
		out[2 * i + 1] = (rbytes)_mm256_unpackhi_epi64(a[i], a[i + 2]);
	}
}

/* Of blocks whose bytes have a value in either half they are turned, and not the values. */
SIMD_INLINE void panel_nibbles(enum dtype t, struct straight_lines b, rbytes (*turned)[4])
{
	const int more = rounded_bias(t) - quant_bias(t);
	rbytes w[4];

	SIMD_UNROLL
	for (size_t l = 0; l < 4; l++)
		w[l] = straight_load(b, l, t == DTYPE_Q4_0 ? 2 : 4);
	panel_turn(w, turned[1]);
	SIMD_UNROLL
	for (size_t i = 0; i < 4; i++) {
		turned[0][i] = straight_field(turned[1][i], 0, 15) + (uint8_t)more;
		turned[1][i] = straight_field(turned[1][i], 4, 15) + (uint8_t)more;
	}
}

SIMD_INLINE void panel_values(enum dtype t, struct straight_lines b, int run,
			      const struct straight_scales *s, rbytes (*turned)[4])
{
	SIMD_UNROLL
	for (size_t h = 0; h < 2; h++) {
		rbytes w[4];

		SIMD_UNROLL
		for (size_t l = 0; l < 4; l++)
			w[l] = straight_half(t, b, l, run, 16 * h, s);
		panel_turn(w, turned[h]);
	}
}

/* Run RUN of a block of eight lines, to OUT. T and RUN are constants. */
SIMD_INLINE void panel_run(enum dtype t, struct straight_lines b, int run,
			   const struct straight_scales *s, uint8_t *out)
{
	const size_t group = quant_group(t), scales = panel_scale_bytes(quant_has_offset(t));
	const size_t each = panel_group_bytes(group, quant_has_offset(t));
	rbytes turned[2][4];

	if (t == DTYPE_Q4_0 || t == DTYPE_Q4_1)
		panel_nibbles(t, b, turned);
	else
		panel_values(t, b, run, s, turned);
	SIMD_UNROLL
	for (size_t h = 0; h < 32 / group; h++) {
		const size_t g = (size_t)run * (32 / group) + h;

		panel_scales(t, straight_scale(t, s, g), straight_offset(t, s, g), out + h * each);
	}
	SIMD_UNROLL
	for (size_t h = 0; h < 2; h++)
		SIMD_UNROLL
	for (size_t i = 0; i < 4; i++)
		rounded_store(out + scales + h * (group == 16 ? each : 4 * ROUNDED_BYTES) +
				      i * ROUNDED_BYTES,
			      (rfloat)turned[h][i]);
}

/* The same as panel_pack of eight lines STRIDE bytes apart from P on. */
SIMD_INLINE void panel_pack_straight(enum dtype t, const uint8_t *p, size_t stride, size_t k,
				     uint8_t *out)
{
	const size_t each =
		32 / quant_group(t) * panel_group_bytes(quant_group(t), quant_has_offset(t));
	struct straight_lines b = { p, stride };

	for (size_t i = 0; i < k; i += 32 * (size_t)ROUNDED_RUNS(t), b.p += straight_size(t)) {
		struct straight_scales s = straight_scales(t, b);

		if (!quant_is_k(t)) {
			panel_run(t, b, 0, &s, out);
			out += each;
			continue;
		}
		SIMD_UNROLL
		for (int run = 0; run < 8; run++, out += each)
			panel_run(t, b, run, &s, out);
	}
}
#endif

#endif
