/* kernels/cpu/dequant.c - block-quantized values as small integers with scales, and as f32; layouts in kernels/blocks.h */

#include "kernels/cpu/level.h"

#include "kernels/blocks.h"
#include "kernels/cpu/dequant.h"
#include "kernels/cpu/quants.h"
#include "kernels/half.h"

#define EACH(at) for (int at = 0; at < 32; at += QUANT_LANES)

/* The 16 values of TABLE that V names. */
SIMD_INLINE vbytes choose(const int8_t *table, vbytes v)
{
#if QUANT_LANES == 32
	__m256i whole = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));

	return (vbytes)_mm256_shuffle_epi8(whole, (__m256i)v);
#else
	vbytes x = v;

	for (int i = 0; i < QUANT_LANES; i++)
		x[i] = (uint8_t)table[v[i]];
	return x;
#endif
}

/* --- blocks of 32 --- */

SIMD_INLINE int16_t half_at(const uint8_t *p)
{
	return (int16_t)load_u16(p);
}

/* The f16 at the beginning of each of N blocks of BYTES, as f32. (Eight go through no memory: they would wait there.) */
SIMD_INLINE void halves(const uint8_t *p, size_t n, size_t bytes, float *out)
{
#if SIMD_WIDTH >= 8
	const uint8_t *h = p + 4 * bytes;

	if (n == 8) {
		__m128i x = _mm_setr_epi16(half_at(p), half_at(p + bytes), half_at(p + 2 * bytes),
					   half_at(p + 3 * bytes), half_at(h), half_at(h + bytes),
					   half_at(h + 2 * bytes), half_at(h + 3 * bytes));

		_mm256_storeu_ps(out, _mm256_cvtph_ps(x));
		return;
	}
#endif
	for (size_t i = 0; i < n; i++)
		out[i] = half_to_f32((uint16_t)half_at(p + i * bytes));
}

/* A function for the N elements of blocks of TYPE, with B the block, AT the first of QUANT_LANES elements and their bytes. */
#define LEGACY(name, type, offsets, bytes)                                        \
 static void unpack_##name(const uint8_t *p, size_t n, struct dequant_stretch *s) \
 {                                                                                \
  const struct type *b = (const struct type *)p;                                  \
  size_t blocks = n / 32 < 8 ? n / 32 : 8;                                        \
                                                                                  \
  halves(p, blocks, sizeof(*b), s->scale);                                        \
  offsets;                                                                        \
  for (size_t i = 0; i < blocks; i++, b++)                                        \
   EACH(at)                                                                       \
  quant_store(s->q + 32 * i + at, bytes);                                         \
 }

#define MINIMA halves(p + 2, blocks, sizeof(*b), s->offset)

LEGACY(q4_0, block_q4_0, , quant_nibbles(b->qs, at) - 8)
LEGACY(q4_1, block_q4_1, MINIMA, quant_nibbles(b->qs, at))
LEGACY(q5_0, block_q5_0, , (quant_nibbles(b->qs, at) | quant_fifths(load_u32(b->qh), at)) - 16)
LEGACY(q5_1, block_q5_1, MINIMA, quant_nibbles(b->qs, at) | quant_fifths(load_u32(b->qh), at))
LEGACY(q8_0, block_q8_0, , quant_load(b->qs + at))

static const int8_t nl_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
				      1,    13,	  25,  38,  53,	 69,  89,  113 };

LEGACY(iq4_nl, block_iq4_nl, , choose(nl_values, quant_nibbles(b->qs, at)))

/* Twice the values of E2M1, whose scale is halved: 2^(e - 128). */
static void unpack_mxfp4(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	static const int8_t twice[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };
	const struct block_mxfp4 *b = (const struct block_mxfp4 *)p;
	size_t blocks = n / 32 < 8 ? n / 32 : 8;

	for (size_t i = 0; i < blocks; i++, b++) {
		s->scale[i] =
			f32_of_bits(b->e < 2 ? 0x00200000u << b->e : (uint32_t)(b->e - 1) << 23);
		EACH(at)
		quant_store(s->q + 32 * i + at, choose(twice, quant_nibbles(b->qs, at)));
	}
}

/* --- blocks of 256, one a stretch --- */

static void unpack_q2_k(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_q2_k *b = (const struct block_q2_k *)p;
	float d = half_to_f32(load_u16(b->d)), dmin = half_to_f32(load_u16(b->dmin));

	(void)n;
	for (int i = 0; i < 16; i++) {
		s->scale[i] = d * (float)(b->scales[i] & 15);
		s->offset[i] = -(dmin * (float)(b->scales[i] >> 4));
	}
	for (int run = 0; run < 8; run++)
		EACH(at)
	quant_store(s->q + 32 * run + at,
		    quant_field(quant_load(b->qs + run / 4 * 32 + at), run % 4 * 2, 3));
}

static void unpack_q3_k(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_q3_k *b = (const struct block_q3_k *)p;
	float d = half_to_f32(load_u16(b->d));

	(void)n;
	for (int i = 0; i < 16; i++) {
		int low = b->scales[i % 8] >> i / 8 * 4 & 15;
		int high = b->scales[8 + i % 4] >> i / 4 * 2 & 3;

		s->scale[i] = d * (float)((low | high << 4) - 32);
	}
	for (int run = 0; run < 8; run++)
		EACH(at)
		{
			vbytes third = quant_field(quant_load(b->hmask + at), run, 1);

			quant_store(
				s->q + 32 * run + at,
				quant_field(quant_load(b->qs + run / 4 * 32 + at), run % 4 * 2, 3) +
					third * 4 - 4);
		}
}

/* 8 scales and 8 minima of 6 bits in 12 bytes: see kernels/ref/dequant_k.c. */
SIMD_INLINE void scales_k4(const uint8_t *p, float d, float dmin, struct dequant_stretch *s)
{
	uint32_t first = load_u32(p), second = load_u32(p + 4), third = load_u32(p + 8);
	uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
	uint32_t scales[2] = { first & six, (third & four) | (first >> 2 & two) };
	uint32_t minima[2] = { second & six, (third >> 4 & four) | (second >> 2 & two) };
	const uint8_t *scale = (const uint8_t *)scales, *minimum = (const uint8_t *)minima;

	for (int i = 0; i < 8; i++) {
		s->scale[i] = d * (float)scale[i];
		s->offset[i] = -(dmin * (float)minimum[i]);
	}
}

static void unpack_q4_k(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_q4_k *b = (const struct block_q4_k *)p;

	(void)n;
	scales_k4(b->scales, half_to_f32(load_u16(b->d)), half_to_f32(load_u16(b->dmin)), s);
	for (int run = 0; run < 4; run++)
		EACH(at)
		{
			vbytes v = quant_load(b->qs + 32 * run + at);

			quant_store(s->q + 64 * run + at, v & 15);
			quant_store(s->q + 64 * run + 32 + at, quant_field(v, 4, 15));
		}
}

static void unpack_q5_k(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_q5_k *b = (const struct block_q5_k *)p;

	(void)n;
	scales_k4(b->scales, half_to_f32(load_u16(b->d)), half_to_f32(load_u16(b->dmin)), s);
	for (int run = 0; run < 4; run++)
		EACH(at)
		{
			vbytes v = quant_load(b->qs + 32 * run + at), high = quant_load(b->qh + at);

			quant_store(s->q + 64 * run + at, (v & 15) | quant_field(high, 2 * run, 1)
									     << 4);
			quant_store(s->q + 64 * run + 32 + at,
				    quant_field(v, 4, 15) | quant_field(high, 2 * run + 1, 1) << 4);
		}
}

static void unpack_q6_k(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_q6_k *b = (const struct block_q6_k *)p;
	float d = half_to_f32(load_u16(b->d));

	(void)n;
	for (int i = 0; i < 16; i++)
		s->scale[i] = d * (float)b->scales[i];
	for (int run = 0; run < 8; run++)
		EACH(at)
		{
			vbytes low = quant_load(b->ql + run / 4 * 64 + run % 2 * 32 + at);
			vbytes high = quant_load(b->qh + run / 4 * 32 + at);

			quant_store(s->q + 32 * run + at, (quant_field(low, run % 4 / 2 * 4, 15) |
							   quant_field(high, run % 4 * 2, 3) << 4) -
								  32);
		}
}

static void unpack_iq4_xs(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_iq4_xs *b = (const struct block_iq4_xs *)p;
	float d = half_to_f32(load_u16(b->d));
	uint32_t high = load_u16(b->scales_h);

	(void)n;
	for (int i = 0; i < 8; i++) {
		int low = b->scales_l[i / 2] >> i % 2 * 4 & 15;

		s->scale[i] = d * (float)((low | (int)(high >> 2 * i & 3) << 4) - 32);
		EACH(at)
		quant_store(s->q + 32 * i + at,
			    choose(nl_values, quant_nibbles(b->qs + 16 * i, at)));
	}
}

static void unpack_tq2_0(const uint8_t *p, size_t n, struct dequant_stretch *s)
{
	const struct block_tq2_0 *b = (const struct block_tq2_0 *)p;
	float d = half_to_f32(load_u16(b->d));

	(void)n;
	for (int run = 0; run < 8; run++) {
		s->scale[run] = d;
		EACH(at)
		quant_store(s->q + 32 * run + at,
			    quant_field(quant_load(b->qs + run / 4 * 32 + at), run % 4 * 2, 3) - 1);
	}
}

static const struct dequant_form forms[DTYPE_COUNT] = {
	[DTYPE_Q4_0] = { 32, false, unpack_q4_0 },
	[DTYPE_Q4_1] = { 32, true, unpack_q4_1 },
	[DTYPE_Q5_0] = { 32, false, unpack_q5_0 },
	[DTYPE_Q5_1] = { 32, true, unpack_q5_1 },
	[DTYPE_Q8_0] = { 32, false, unpack_q8_0 },
	[DTYPE_Q2_K] = { 16, true, unpack_q2_k },
	[DTYPE_Q3_K] = { 16, false, unpack_q3_k },
	[DTYPE_Q4_K] = { 32, true, unpack_q4_k },
	[DTYPE_Q5_K] = { 32, true, unpack_q5_k },
	[DTYPE_Q6_K] = { 16, false, unpack_q6_k },
	[DTYPE_IQ4_NL] = { 32, false, unpack_iq4_nl },
	[DTYPE_IQ4_XS] = { 32, false, unpack_iq4_xs },
	[DTYPE_MXFP4] = { 32, false, unpack_mxfp4 },
	[DTYPE_TQ2_0] = { 32, false, unpack_tq2_0 },
};

const struct dequant_form *LEVEL_NAME(dequant_form)(enum dtype t)
{
	return forms[t].unpack ? &forms[t] : NULL;
}

/* --- rows of f32 --- */

/* Two roundings, as in the definition. GROUP and OFFSET are constants. */
SIMD_INLINE void floats(const struct dequant_stretch *s, size_t n, size_t group, bool offset,
			float *out)
{
	const int8_t *q = s->q;

	for (size_t g = 0; g < n / group; g++, q += group, out += group) {
		vf32 scale = simd_broadcast(s->scale + g);
		vf32 more = offset ? simd_broadcast(s->offset + g) : scale;

		SIMD_UNROLL
		for (size_t i = 0; i < group; i += SIMD_WIDTH) {
			vf32 x = scale * dequant_floats(q + i);

			simd_store(out + i, offset ? x + more : x);
		}
	}
}

void LEVEL_NAME(dequant_row)(enum dtype t, const uint8_t *p, float *out, size_t n)
{
	const struct dequant_form *f = LEVEL_NAME(dequant_form)(t);
	const struct dtype_info *info = dtype_info(t);
	struct dequant_stretch s;

	if (!f) {
		dtype_to_f32(t, p, out, n);
		return;
	}
	for (size_t i = 0; i < n; i += DEQUANT_STRETCH) {
		size_t many = n - i < DEQUANT_STRETCH ? n - i : DEQUANT_STRETCH;

		f->unpack(p + i / info->block * info->bytes, many, &s);
		if (f->group == 16 && f->offset)
			floats(&s, many, 16, true, out + i);
		else if (f->group == 16)
			floats(&s, many, 16, false, out + i);
		else if (f->offset)
			floats(&s, many, 32, true, out + i);
		else
			floats(&s, many, 32, false, out + i);
	}
}
