/*
 * kernels/cpu/rounded_lines.h - ROUNDED_LINES lines of a block-quantized weight at once: scales, and panels of their bytes
 */
#ifndef KERNELS_CPU_ROUNDED_LINES_H
#define KERNELS_CPU_ROUNDED_LINES_H

#include "kernels/cpu/rounded.h"

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

/*
 * The same of lines that follow each other, each at least 28 bytes long: lane L is the right one of the 32 bytes that begin 4 L bytes
 * before line L's P, which never lie outside the lines.
 */
SIMD_INLINE __m256i rounded_words_close(const uint8_t *const *p)
{
	__m256i v = _mm256_loadu_si256((const void *)p[0]);

	v = _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[1] - 4)), 2);
	v = _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[2] - 8)), 4);
	v = _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[3] - 12)), 8);
	v = _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[4] - 16)), 16);
	v = _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[5] - 20)), 32);
	v = _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[6] - 24)), 64);
	return _mm256_blend_epi32(v, _mm256_loadu_si256((const void *)(p[7] - 28)), 128);
}

/* CLOSE: lines follow each other. */
SIMD_INLINE void rounded_scales_short(enum dtype t, const uint8_t *const *p, bool close,
				      struct rounded_scales *s)
{
	__m256i v = close ? rounded_words_close(p) : rounded_words(p);

	v = _mm256_shuffle_epi8(v, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11,
						    14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7,
						    10, 11, 14, 15));
	v = _mm256_permute4x64_epi64(v, 0xd8);
	s->scale[0] = (rfloat)_mm256_cvtph_ps(_mm256_castsi256_si128(v));
	if (quant_has_offset(t))
		s->offset[0] = (rfloat)_mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
}
#else
SIMD_INLINE void rounded_scales_short(enum dtype t, const uint8_t *const *p, bool close,
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

SIMD_INLINE void rounded_scales(enum dtype t, const uint8_t *const *p, bool close,
				struct rounded_scales *s)
{
	if (quant_is_k(t))
		rounded_scales_k(t, p, s);
	else
		rounded_scales_short(t, p, close, s);
}

/* --- panels --- */

/*
 * ROUNDED_LINES lines of K elements: the bytes that rounded_dots takes, run after run, and scales and offsets, a vector a group.
 */
struct rounded_panel {
	uint8_t *bytes;
	float *scale, *offset;
};

SIMD_INLINE size_t rounded_panel_bytes(size_t k)
{
	return (k + k / 16 * 8) * ROUNDED_LINES;
}

SIMD_INLINE struct rounded_panel rounded_panel_at(void *memory, size_t k)
{
	struct rounded_panel p = { .bytes = memory };

	p.scale = (float *)(p.bytes + k * ROUNDED_LINES);
	p.offset = p.scale + k / 16 * ROUNDED_LINES;
	return p;
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

/* Lines AT to a panel. T and CLOSE are constants. */
SIMD_INLINE void rounded_pack(enum dtype t, const uint8_t *const *lines, bool close, size_t k,
			      struct rounded_panel *out)
{
	const size_t bytes = dtype_info(t)->bytes, groups = ROUNDED_RUNS(t) * 32 / quant_group(t);
	const uint8_t *p[ROUNDED_LINES];
	struct rounded_panel o = *out;

	memcpy(p, lines, sizeof(p));
	for (size_t i = 0; i < k; i += 32 * (size_t)ROUNDED_RUNS(t)) {
		struct rounded_scales s;

		rounded_scales(t, p, close, &s);
		for (size_t g = 0; g < groups; g++, o.scale += ROUNDED_LINES) {
			rounded_store(o.scale, s.scale[g]);
			if (quant_has_offset(t)) {
				rounded_store(o.offset, s.offset[g]);
				o.offset += ROUNDED_LINES;
			}
		}
		for (int run = 0; run < ROUNDED_RUNS(t); run++, o.bytes += 32 * ROUNDED_LINES) {
			vbytes q[ROUNDED_LINES][32 / QUANT_LANES];

			for (size_t l = 0; l < ROUNDED_LINES; l++)
				for (int at = 0; at < 32; at += QUANT_LANES)
					q[l][at / QUANT_LANES] = rounded_run(t, p[l], run, at);
			rounded_turn((const vbytes(*)[32 / QUANT_LANES]) q, o.bytes);
		}
		for (size_t l = 0; l < ROUNDED_LINES; l++)
			p[l] += bytes;
	}
}

#endif
