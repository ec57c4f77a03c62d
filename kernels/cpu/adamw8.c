/*
 * kernels/cpu/adamw8.c - adam with moments of 8 bits (Dettmers et al. 2022)
 *
 * The arithmetic is that of kernels/ref/optimizer.c in f32. A block of 256 has a scale of its own for the first moment and for the root of
 * the second; they are decoded, stepped and coded again in registers and one room.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/quantize_bytes.h"

#define RUN OPTIMIZER_RUN

/* SIMD_WIDTH bytes at P, any address, as f32. */
SIMD_INLINE vf32 bytes_load(const uint8_t *p, bool is_signed)
{
	vi32 out = { 0 };

#if SIMD_WIDTH == 8
	__m128i some = _mm_loadl_epi64((const __m128i *)(const void *)p);

	out = (vi32)(is_signed ? _mm256_cvtepi8_epi32(some) : _mm256_cvtepu8_epi32(some));
#elif SIMD_WIDTH == 16 && !defined(SIMD_EMULATED)
	__m128i some = _mm_loadu_si128((const __m128i *)(const void *)p);

	out = (vi32)(is_signed ? _mm512_cvtepi8_epi32(some) : _mm512_cvtepu8_epi32(some));
#else
	for (int j = 0; j < SIMD_WIDTH; j++)
		out[j] = is_signed ? (int8_t)p[j] : p[j];
#endif
	return __builtin_convertvector(out, vf32);
}

static float most_lane(vf32 v)
{
	float lane[SIMD_WIDTH], most = 0;

	simd_store(lane, v);
	for (int i = 0; i < SIMD_WIDTH; i++)
		most = lane[i] > most ? lane[i] : most;
	return most;
}

/* How values up to MOST become whole numbers up to LIMIT: in two factors, of which neither overflows. */
struct quantum {
	vf32 up, factor, limit, least;
};

/* LEAST: what more than 0 is less than that becomes it. */
static struct quantum quantum_of(float most, float limit, float least)
{
	float up = most < 0x1p-60f ? 0x1p64f : 1;

	return (struct quantum){ .up = simd_f32(up),
				 .factor = simd_f32(limit / (most * up)),
				 .limit = simd_f32(limit),
				 .least = simd_f32(least) };
}

/* What is to be rounded, with SHIFT, between -1/2 and 1/2, added; what is NaN becomes 0. */
SIMD_INLINE vf32 quantized(const struct quantum *q, vf32 x, vf32 shift, bool is_signed)
{
	const vf32 zero = { 0 };
	vf32 v = x * q->up * q->factor, w;

	v = simd_keep(v == v, v);
	w = simd_max(simd_min(v + shift, q->limit), is_signed ? -q->limit : zero);
	if (!is_signed)
		w = simd_select((v > zero) & (v < q->least), w, q->least);
	return w;
}

/*
 * The same where MOST is finite and not small, and X is no NaN: there is nothing to repair then, and what rounding to bytes saturates
 * needs no limit. What more than 0 is less than 1 becomes 1 where it is not signed.
 */
SIMD_INLINE vf32 quantized_plain(const struct quantum *q, vf32 x, vf32 shift, bool is_signed,
				 bool shifted)
{
	vf32 v = x * q->factor, w = shifted ? v + shift : v;

	if (!is_signed)
		w = simd_max(w, simd_keep((vi32)v > 0, q->least));
	else if (shifted)
		w = simd_max(w, -q->limit);
	return w;
}

/* (BITS mod 2^12 + 1/2) / 2^12 - 1/2, exactly. */
SIMD_INLINE vf32 shift_of(vu32 bits)
{
	vf32 whole = __builtin_convertvector((vi32)(bits & 4095), vf32);

	return simd_fma(whole, simd_f32(0x1p-12f), simd_f32(0x1p-13f - 0.5f));
}

/* The moments M and R of a block as bytes; WORDS, NULL without, say what they are shifted by, as kernels/ref/optimizer.c draws. */
SIMD_INLINE void quantize_block(const float *m, const float *r, struct quantum qm,
				struct quantum qr, const uint32_t *words, bool plain,
				uint8_t *first, uint8_t *root)
{
	for (size_t i = 0; i < RUN; i += 32) {
		vf32 v[QUANTIZE_VECTORS], w[QUANTIZE_VECTORS];

		SIMD_UNROLL
		for (size_t j = 0; j < QUANTIZE_VECTORS; j++) {
			size_t at = i + j * SIMD_WIDTH;
			vf32 shift_m = { 0 }, shift_r = { 0 };

			if (words) {
				vu32 word = (vu32)simd_load(words + at);

				shift_m = shift_of(word);
				shift_r = shift_of(word >> 12);
			}
			v[j] = plain ? quantized_plain(&qm, simd_load(m + at), shift_m, true, words)
				     : quantized(&qm, simd_load(m + at), shift_m, true);
			w[j] = plain ? quantized_plain(&qr, simd_load(r + at), shift_r, false,
						       words)
				     : quantized(&qr, simd_load(r + at), shift_r, false);
		}
		quantize_bytes(v, true, true, first + i);
		quantize_bytes(w, false, true, root + i);
	}
}

/* Where the moments of a block are, whole blocks long. */
struct block {
	uint8_t *first, *root;
	float scale_m, scale_r;
};

#define SIDE 4 /* vectors side by side: a root and a quotient are long to wait for */

/* Their largest magnitudes so far, and NaN from a parameter that is, on. */
struct seen {
	vf32 m, r, none;
};

/* P and the moments, to M and R, after the step of the vectors from J on, VECTORS of them, a constant. */
SIMD_INLINE void step_some(const struct adam *a, const struct block *b, float *p, const float *g,
			   size_t j, int vectors, float *m, float *r, struct seen *seen)
{
	const vf32 zero = { 0 };
	vf32 scale_m = simd_f32(b->scale_m), scale_r = simd_f32(b->scale_r);
	vf32 first[SIDE], second[SIDE], next[SIDE];

	SIMD_UNROLL
	for (int i = 0; i < vectors; i++) {
		size_t at = j + (size_t)i * SIMD_WIDTH;
		vf32 d = simd_load(g + at) * a->scale;
		vf32 old = bytes_load(b->root + at, false) * scale_r;

		first[i] =
			simd_fma(a->beta1, bytes_load(b->first + at, true) * scale_m, a->rest1 * d);
		second[i] = simd_sqrt(simd_fma(a->beta2 * old, old, a->rest2 * d * d));
		simd_store(m + at, first[i]);
	}
	SIMD_UNROLL
	for (int i = 0; i < vectors; i++) {
		size_t at = j + (size_t)i * SIMD_WIDTH;

		simd_store(r + at, second[i]);
		seen->m = simd_max(simd_abs(first[i]), seen->m);
		seen->r = simd_max(second[i], seen->r);
		next[i] = adam_quotient(a, first[i], second[i]);
	}
	SIMD_UNROLL
	for (int i = 0; i < vectors; i++) {
		size_t at = j + (size_t)i * SIMD_WIDTH;

		next[i] = adam_moved(a, simd_load(p + at), next[i]);
		seen->none = simd_fma(next[i], zero, seen->none);
		simd_store(p + at, next[i]);
	}
}

/* P and the moments, to M and R, after the step of N elements; their largest magnitudes to MOST. Whether none is NaN, for sure. */
static bool step_block(const struct adam *a, const struct block *b, float *p, const float *g,
		       size_t n, float *m, float *r, float most[2])
{
	struct seen seen = { 0 };
	size_t j = 0;

	for (; j + SIDE * SIMD_WIDTH <= n; j += SIDE * SIMD_WIDTH)
		step_some(a, b, p, g, j, SIDE, m, r, &seen);
	for (; j < n; j += SIMD_WIDTH)
		step_some(a, b, p, g, j, 1, m, r, &seen);
	most[0] = most_lane(seen.m);
	most[1] = most_lane(seen.r);
	return !simd_any(seen.none != seen.none);
}

/* What quantized_plain takes. */
static bool is_plain(float most)
{
	return most >= 0x1p-60f && most < INFINITY;
}

/* quantize_block, whose choices are constants in it. */
static void quantize(const float *m, const float *r, const float most[2], const uint32_t *words,
		     bool plain, const struct block *b)
{
	struct quantum qm = quantum_of(most[0], 127, 0), qr = quantum_of(most[1], 255, 1);

	if (words && plain)
		quantize_block(m, r, qm, qr, words, true, b->first, b->root);
	else if (words)
		quantize_block(m, r, qm, qr, words, false, b->first, b->root);
	else if (plain)
		quantize_block(m, r, qm, qr, NULL, true, b->first, b->root);
	else
		quantize_block(m, r, qm, qr, NULL, false, b->first, b->root);
}

/* Elements AT to AT + N - 1 by blocks' moments at B, which is written back. */
static void adam_block(const struct kernel_call *c, const struct adam *a, size_t at, size_t n,
		       const struct block *b, float most[2])
{
	const struct optimizer_attributes *attributes = c->attributes;
	float rooms[2][RUN], m[RUN], r[RUN];
	float *p = optimizer_get(&c->in[0], at, n, rooms[0]);
	const float *g = optimizer_get(&c->in[5], at, n, rooms[1]);
	uint32_t room[RUN], *words = NULL;
	bool plain;

	plain = step_block(a, b, p, g, n, m, r, most) && is_plain(most[0]) && is_plain(most[1]);
	for (size_t i = n; i < RUN; i++)
		m[i] = r[i] = 0;
	optimizer_put_parameter(c, at, p, n);
	if (attributes->stochastic & STOCHASTIC_MOMENTS) {
		optimizer_draw(c->key, 1, at, room);
		words = room;
	}
	quantize(m, r, most, words, plain, b);
}

/* Block number BLOCK, of N elements. */
static void update_block(const struct kernel_call *c, const struct adam *a, size_t block, size_t n,
			 uint8_t *first, uint8_t *root)
{
	struct block b = { first, root, optimizer_scalar(c, 3, block) / 127,
			   optimizer_scalar(c, 4, block) / 255 };
	float most[2];

	adam_block(c, a, block * RUN, n, &b, most);
	((float *)c->out[3].data)[(ptrdiff_t)block * c->out[3].stride[0]] = most[0];
	((float *)c->out[4].data)[(ptrdiff_t)block * c->out[4].stride[0]] = most[1];
}

/* The last block's moments pass through rooms. */
static void update_last(const struct kernel_call *c, const struct adam *a, size_t block, size_t n,
			uint8_t *first, uint8_t *root)
{
	uint8_t rooms[2][RUN] = { { 0 } };

	memcpy(rooms[0], first, n);
	memcpy(rooms[1], root, n);
	update_block(c, a, block, n, rooms[0], rooms[1]);
	memcpy(first, rooms[0], n);
	memcpy(root, rooms[1], n);
}

static void run_adamw8(const struct kernel_call *c)
{
	size_t n = kernel_elements(&c->out[0]), from, to;
	struct adam a = adam_of(c, 6);

	kernel_share((n + RUN - 1) / RUN, 1, c->part, c->parts, &from, &to);
	for (size_t block = from; block < to; block++) {
		uint8_t *first = (uint8_t *)c->out[1].data + block * RUN;
		uint8_t *root = (uint8_t *)c->out[2].data + block * RUN;

		if (n - block * RUN < RUN)
			update_last(c, &a, block, n - block * RUN, first, root);
		else
			update_block(c, &a, block, RUN, first, root);
	}
}

static bool claims_adamw8(const struct kernel_call *c)
{
	return optimizer_dense(&c->in[0]) && optimizer_dense(&c->in[5]) &&
	       kernel_dense(&c->in[1]) && kernel_dense(&c->in[2]) && c->in[1].dtype == DTYPE_I8 &&
	       c->in[2].dtype == DTYPE_U8 && c->in[3].dtype == DTYPE_F32 &&
	       c->in[4].dtype == DTYPE_F32 && c->in[6].dtype == DTYPE_F32;
}

LEVEL_KERNEL(adamw8, flat, .claims = claims_adamw8, .run = run_adamw8);
