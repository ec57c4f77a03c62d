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

/* The four bytes at each line's P + AT. */
SIMD_INLINE rint32 rounded_words(const uint8_t *const *p, size_t at)
{
	int32_t words[ROUNDED_LINES];
	rint32 v;

	for (size_t l = 0; l < ROUNDED_LINES; l++)
		words[l] = (int32_t)load_u32(p[l] + at);
	memcpy(&v, words, sizeof(v));
	return v;
}

/* Of a block of each line. */
SIMD_INLINE struct line_scales rounded_scales(enum dtype t, const uint8_t *const *p)
{
	struct line_scales s = { .d = rounded_halves(p, quant_d_at(t)) };
	rint32 words[4];

	if (quant_has_offset(t))
		s.m = rounded_halves(p, quant_d_at(t) + 2);
	if (!quant_is_k(t))
		return s;
	for (size_t i = 0; i < quant_scale_words(t); i++)
		words[i] = rounded_words(p, quant_scales_at(t) + 4 * i);
	line_scales_k(t, words, &s);
	return s;
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
		struct line_scales s = rounded_scales(t, p);

		for (size_t run = 0; run < ROUNDED_RUNS(t); run++) {
			vbytes q[ROUNDED_LINES][32 / QUANT_LANES];
			uint8_t turned[32 * ROUNDED_LINES];

			for (size_t l = 0; l < ROUNDED_LINES; l++)
				for (int at = 0; at < 32; at += QUANT_LANES)
					q[l][at / QUANT_LANES] = rounded_run(t, p[l], (int)run, at);
			rounded_turn((const vbytes(*)[32 / QUANT_LANES]) q, turned);
			for (size_t h = 0, g = run * halves; h < halves; h++, g++) {
				const size_t n = quant_group(t) * ROUNDED_LINES;

				panel_scales(t, line_scale(t, &s, g), line_offset(t, &s, g), out);
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
		turned[0][i] = rounded_field(turned[1][i], 0, 15) + (uint8_t)more;
		turned[1][i] = rounded_field(turned[1][i], 4, 15) + (uint8_t)more;
	}
}

SIMD_INLINE void panel_values(enum dtype t, struct straight_lines b, int run,
			      const struct line_scales *s, rbytes (*turned)[4])
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
			   const struct line_scales *s, uint8_t *out)
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

		panel_scales(t, line_scale(t, s, g), line_offset(t, s, g), out + h * each);
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

	for (size_t i = 0; i < k; i += 32 * (size_t)ROUNDED_RUNS(t), b.p += block_bytes(t)) {
		struct line_scales s = straight_scales(t, b);

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
