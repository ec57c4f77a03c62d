/*
 * lib/base/scan.h - look at several bytes at once: which of them are what is sought
 *
 * SCAN_WIDTH bytes are loaded as one value; comparing it gives another, whose bytes are all ones where they
 * match; scan_mask makes a number of that, with one bit for each byte that matches. The bit of the first byte is
 * the lowest, and one byte's bit is SCAN_STRIDE above the one before. Every processor that a width stands
 * for here has it without being asked; the rest take eight bytes in a word.
 *
 *	mask = scan_mask(scan_equal(scan_load(p), '\n'));
 *	if (mask)
 *		line_end = p + scan_first(mask);
 */
#ifndef LIB_BASE_SCAN_H
#define LIB_BASE_SCAN_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __SSE2__ /* all of x86-64 */
# include <emmintrin.h>

# define SCAN_WIDTH  16
# define SCAN_STRIDE 1
typedef __m128i scan_bytes;

static inline scan_bytes scan_load(const void *p)
{
	return _mm_loadu_si128(p);
}

static inline void scan_store(void *p, scan_bytes v)
{
	_mm_storeu_si128(p, v);
}

static inline scan_bytes scan_equal(scan_bytes v, char c)
{
	return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}

/* Bytes of at most MOST, unsigned. */
static inline scan_bytes scan_at_most(scan_bytes v, unsigned char most)
{
	return _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8((char)most)), v);
}

static inline scan_bytes scan_or(scan_bytes a, scan_bytes b)
{
	return _mm_or_si128(a, b);
}

static inline uint64_t scan_mask(scan_bytes matches)
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(matches);
}

/* The mask of the bytes past 0x7F. */
static inline uint64_t scan_high(scan_bytes v)
{
	return scan_mask(v);
}

/* TALLY and one more in each byte that matches: at most 255 times before scan_tally_sum. */
static inline scan_bytes scan_tally(scan_bytes tally, scan_bytes matches)
{
	return _mm_sub_epi8(tally, matches);
}

/* All that was tallied. */
static inline uint64_t scan_tally_sum(scan_bytes tally)
{
	__m128i sums = _mm_sad_epu8(tally, _mm_setzero_si128());

	return (uint64_t)(unsigned)(_mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4));
}

#elif defined __ARM_NEON && defined __aarch64__ /* all of aarch64 */
# include <arm_neon.h>

# define SCAN_WIDTH  16
# define SCAN_STRIDE 4
typedef uint8x16_t scan_bytes;

static inline scan_bytes scan_load(const void *p)
{
	return vld1q_u8(p);
}

static inline void scan_store(void *p, scan_bytes v)
{
	vst1q_u8(p, v);
}

static inline scan_bytes scan_equal(scan_bytes v, char c)
{
	return vceqq_u8(v, vdupq_n_u8((uint8_t)c));
}

static inline scan_bytes scan_at_most(scan_bytes v, unsigned char most)
{
	return vcleq_u8(v, vdupq_n_u8(most));
}

static inline scan_bytes scan_or(scan_bytes a, scan_bytes b)
{
	return vorrq_u8(a, b);
}

/* Four bits of each byte, of which the highest is kept. */
static inline uint64_t scan_mask(scan_bytes matches)
{
	uint8x8_t narrow = vshrn_n_u16(vreinterpretq_u16_u8(matches), 4);

	return vget_lane_u64(vreinterpret_u64_u8(narrow), 0) & UINT64_C(0x8888888888888888);
}

static inline uint64_t scan_high(scan_bytes v)
{
	return scan_mask(vcgtq_u8(v, vdupq_n_u8(0x7F)));
}

static inline scan_bytes scan_tally(scan_bytes tally, scan_bytes matches)
{
	return vsubq_u8(tally, matches);
}

static inline uint64_t scan_tally_sum(scan_bytes tally)
{
	return vaddlvq_u8(tally);
}

#else

# define SCAN_WIDTH  8
# define SCAN_STRIDE 8
# define SCAN_ONES   UINT64_C(0x0101010101010101)
# define SCAN_HIGHS  UINT64_C(0x8080808080808080)
typedef uint64_t scan_bytes; /* the first byte is the lowest; a match is the highest bit alone */

static inline scan_bytes scan_load(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

static inline void scan_store(void *p, scan_bytes v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
}

/* No sum below carries from one byte to the next. */
static inline scan_bytes scan_equal(scan_bytes v, char c)
{
	uint64_t x = v ^ (SCAN_ONES * (unsigned char)c);

	return ~(((x & ~SCAN_HIGHS) + ~SCAN_HIGHS) | x) & SCAN_HIGHS;
}

static inline scan_bytes scan_at_most(scan_bytes v, unsigned char most)
{
	uint64_t low = (v & ~SCAN_HIGHS) + SCAN_ONES * (0x7Fu - most);

	return ~(low | v) & SCAN_HIGHS;
}

static inline scan_bytes scan_or(scan_bytes a, scan_bytes b)
{
	return a | b;
}

static inline uint64_t scan_mask(scan_bytes matches)
{
	return matches;
}

static inline uint64_t scan_high(scan_bytes v)
{
	return v & SCAN_HIGHS;
}

static inline scan_bytes scan_tally(scan_bytes tally, scan_bytes matches)
{
	return tally + (matches >> 7);
}

/* Added in pairs, then all four sums into the highest two bytes. */
static inline uint64_t scan_tally_sum(scan_bytes tally)
{
	const uint64_t evens = UINT64_C(0x00FF00FF00FF00FF);

	return ((tally & evens) + (tally >> 8 & evens)) * UINT64_C(0x0001000100010001) >> 48;
}

#endif

#define SCAN_BLOCK ((size_t)64 / SCAN_STRIDE) /* bytes of which one mask tells */

/* The mask of the bytes among SCAN_BLOCK that are C. */
static inline uint64_t scan_block(const char *p, char c)
{
	uint64_t mask = 0;

	for (size_t at = 0; at < SCAN_BLOCK; at += SCAN_WIDTH)
		mask |= scan_mask(scan_equal(scan_load(p + at), c)) << (at * SCAN_STRIDE);
	return mask;
}

/* The value that nothing was tallied in. */
static inline scan_bytes scan_none(void)
{
	static const unsigned char zeros[SCAN_WIDTH];

	return scan_load(zeros);
}

/* How many bytes match: the bits of MASK, added in pairs, then fours, then bytes. */
static inline uint64_t scan_count(uint64_t mask)
{
	mask -= mask >> 1 & UINT64_C(0x5555555555555555);
	mask = (mask & UINT64_C(0x3333333333333333)) + (mask >> 2 & UINT64_C(0x3333333333333333));
	mask = (mask + (mask >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
	return mask * UINT64_C(0x0101010101010101) >> 56;
}

/* MASK without what is above the lowest bit of STOP; all of it when STOP is 0. */
static inline uint64_t scan_up_to(uint64_t mask, uint64_t stop)
{
	return mask & (stop ^ (stop - 1));
}

/* The number of the first byte that matches; MASK has one. */
static inline size_t scan_first(uint64_t mask)
{
	return (size_t)__builtin_ctzll(mask) / SCAN_STRIDE;
}

/* The same of the last one. */
static inline size_t scan_last(uint64_t mask)
{
	return (size_t)(63 - __builtin_clzll(mask)) / SCAN_STRIDE;
}

#endif
