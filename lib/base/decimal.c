/*
 * lib/base/decimal.c - the shortest decimal digits of a binary float
 *
 * The value is rest / scale; half the gaps to its neighbours are low / scale and high / scale; all
 * four are whole numbers. Digits come from the long division of rest by scale, which stops as soon as
 * what is left lies within a half gap of the digits so far.
 */
#include "lib/base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 1,216 bits: the smallest f64 needs 2^1076 and, above it, 53 bits times 10^324. */
#define WORDS 38

/* A whole number, the least significant word first; the top word is not 0. */
struct whole {
	int n;
	uint32_t word[WORDS];
};

static void whole_set(struct whole *a, uint64_t v, int shift)
{
	uint32_t low = (uint32_t)v, high = (uint32_t)(v >> 32);
	int bits = shift % 32;

	a->n = shift / 32;
	memset(a->word, 0, (size_t)a->n * sizeof(a->word[0]));
	a->word[a->n++] = low << bits;
	a->word[a->n++] = (uint32_t)(((uint64_t)high << bits) | ((uint64_t)low << bits >> 32));
	a->word[a->n++] = (uint32_t)((uint64_t)high << bits >> 32);
	while (a->n > 0 && a->word[a->n - 1] == 0)
		a->n--;
}

static void whole_times(struct whole *a, uint32_t factor)
{
	uint64_t carry = 0;

	for (int i = 0; i < a->n; i++) {
		carry += (uint64_t)a->word[i] * factor;
		a->word[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry)
		a->word[a->n++] = (uint32_t)carry;
}

static void whole_times_ten(struct whole *a, int power)
{
	for (; power >= 9; power -= 9)
		whole_times(a, 1000000000);
	for (; power > 0; power--)
		whole_times(a, 10);
}

static int whole_compare(const struct whole *a, const struct whole *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (int i = a->n; i-- > 0;) {
		if (a->word[i] != b->word[i])
			return a->word[i] < b->word[i] ? -1 : 1;
	}
	return 0;
}

/* Compares A + B with C. */
static int whole_compare_sum(const struct whole *a, const struct whole *b, const struct whole *c)
{
	struct whole sum;
	uint64_t carry = 0;

	sum.n = a->n > b->n ? a->n : b->n;
	for (int i = 0; i < sum.n; i++) {
		carry += i < a->n ? a->word[i] : 0;
		carry += i < b->n ? b->word[i] : 0;
		sum.word[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry)
		sum.word[sum.n++] = (uint32_t)carry;
	return whole_compare(&sum, c);
}

/* A less B, which is not above A. */
static void whole_subtract(struct whole *a, const struct whole *b)
{
	uint64_t borrow = 0;

	for (int i = 0; i < a->n; i++) {
		uint64_t take = borrow + (i < b->n ? b->word[i] : 0);

		borrow = take > a->word[i];
		a->word[i] -= (uint32_t)take;
	}
	while (a->n > 0 && a->word[a->n - 1] == 0)
		a->n--;
}

struct division {
	struct whole rest, scale, low, high;
	bool closed; /* a decimal just on the end of the gap reads back too: ties go to even */
};

static void times_ten(struct division *d)
{
	whole_times(&d->rest, 10);
	whole_times(&d->low, 10);
	whole_times(&d->high, 10);
}

/* Whether what was written so far is near enough, and whether it is with the last digit raised. */
static bool near_below(const struct division *d)
{
	return whole_compare(&d->rest, &d->low) < (d->closed ? 1 : 0);
}

static bool near_above(const struct division *d)
{
	return whole_compare_sum(&d->rest, &d->high, &d->scale) > (d->closed ? -1 : 0);
}

/*
 * V = mantissa * 2^exponent. NARROW: the neighbour below is half as far as the one above, since V is
 * a power of two and not the least normal number.
 */
static void begin(struct division *d, uint64_t mantissa, int exponent, bool narrow)
{
	int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0;

	whole_set(&d->rest, mantissa, up + 1 + narrow);
	whole_set(&d->scale, 1, down + 1 + narrow);
	whole_set(&d->low, 1, up);
	whole_set(&d->high, 1, up + narrow);
	d->closed = mantissa % 2 == 0;
}

/*
 * Brings the quotient into [1, 10), given V to estimate its power of ten. The estimate is right or
 * one too small: 1e-10 is far above the error of log10. Returns decimal.point.
 */
static int bring_in_range(struct division *d, double v)
{
	int point = (int)ceil(log10(v) - 1e-10);

	if (point >= 0) {
		whole_times_ten(&d->scale, point);
	} else {
		whole_times_ten(&d->rest, -point);
		whole_times_ten(&d->low, -point);
		whole_times_ten(&d->high, -point);
	}
	if (near_above(d))
		return point + 1;
	times_ten(d);
	return point;
}

static void divide(struct division *d, struct decimal *out)
{
	bool below, above;
	int digit, half;

	for (out->n = 0;; times_ten(d)) {
		for (digit = 0; whole_compare(&d->rest, &d->scale) >= 0; digit++)
			whole_subtract(&d->rest, &d->scale);
		below = near_below(d);
		above = near_above(d);
		if (below || above)
			break;
		out->digits[out->n++] = (char)('0' + digit);
	}
	if (below && above) {
		half = whole_compare_sum(&d->rest, &d->rest, &d->scale);
		above = half > 0 || (half == 0 && digit % 2 == 1);
	}
	out->digits[out->n++] = (char)('0' + digit + above);
}

void decimal_f64(double v, struct decimal *out)
{
	struct division d;
	uint64_t bits, mantissa;
	int exponent;

	memcpy(&bits, &v, sizeof(bits));
	exponent = (int)(bits >> 52);
	mantissa = bits & 0xFFFFFFFFFFFFF;
	if (exponent)
		mantissa |= (uint64_t)1 << 52;
	begin(&d, mantissa, (exponent ? exponent : 1) - 1075,
	      mantissa == (uint64_t)1 << 52 && exponent > 1);
	out->point = bring_in_range(&d, v);
	divide(&d, out);
}

void decimal_f32(float v, struct decimal *out)
{
	struct division d;
	uint32_t bits, mantissa;
	int exponent;

	memcpy(&bits, &v, sizeof(bits));
	exponent = (int)(bits >> 23);
	mantissa = bits & 0x7FFFFF;
	if (exponent)
		mantissa |= (uint32_t)1 << 23;
	begin(&d, mantissa, (exponent ? exponent : 1) - 150,
	      mantissa == (uint32_t)1 << 23 && exponent > 1);
	out->point = bring_in_range(&d, v);
	divide(&d, out);
}
