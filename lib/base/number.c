/*
 * lib/base/number.c - numbers that people wrote
 *
 * Parsers check the form themselves and compute whole numbers themselves. Reals go through strtod
 * in the C locale, whatever the program's locale says.
 */
#include "lib/base/number.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(const char *s)
{
	size_t n = 0;

	while (is_digit(s[n]))
		n++;
	return n;
}

/* N digits to *OUT; false when they do not fit. */
static bool read_digits(const char *s, size_t n, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(*out, (uint64_t)10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(s[i] - '0'), out))
			return false;
	}
	return true;
}

/* What a suffix multiplies by: 1 for none, 0 for one that is not known. */
static uint64_t suffix_factor(const char *s)
{
	static const struct {
		const char *name;
		uint64_t factor;
	} known[] = {
		{ "", 1 },
		{ "k", 1000 },
		{ "M", 1000000 },
		{ "G", 1000000000 },
		{ "T", 1000000000000 },
		{ "Ki", (uint64_t)1 << 10 },
		{ "Mi", (uint64_t)1 << 20 },
		{ "Gi", (uint64_t)1 << 30 },
		{ "Ti", (uint64_t)1 << 40 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(s, known[i].name) == 0)
			return known[i].factor;
	}
	return 0;
}

/*
 * 0.DIGITS times FACTOR, where that is whole. From the last digit up: the sum so far is a whole number of
 * tenths of the digit's place, and its last decimal must be 0, since nothing later can change it.
 */
static bool times_fraction(const char *digits, size_t n, uint64_t factor, uint64_t *out)
{
	uint64_t sum = 0;

	while (n-- > 0) {
		sum += (uint64_t)(digits[n] - '0') * factor;
		if (sum % 10)
			return false;
		sum /= 10;
	}
	*out = sum;
	return true;
}

/* DIGITS[.DIGITS][SUFFIX], the whole string. */
static bool read_size(const char *text, uint64_t *out)
{
	size_t before = count_digits(text), after = 0;
	const char *fraction = text + before, *suffix = fraction;
	uint64_t factor, rest;

	if (*fraction == '.') {
		after = count_digits(++fraction);
		suffix = fraction + after;
		if (after == 0)
			return false;
	}
	factor = suffix_factor(suffix);
	return before && factor && read_digits(text, before, out) &&
	       times_fraction(fraction, after, factor, &rest) &&
	       !__builtin_mul_overflow(*out, factor, out) &&
	       !__builtin_add_overflow(*out, rest, out);
}

int number_u64(const char *text, uint64_t lo, uint64_t hi, uint64_t *out)
{
	uint64_t v;

	if (read_size(text, &v) && v >= lo && v <= hi) {
		*out = v;
		return 0;
	}
	if (hi == UINT64_MAX)
		return err_set(ERR_ARGUMENT,
			       "'%.100s' is not a whole number of %" PRIu64
			       " or more (suffixes: k M G T Ki Mi Gi Ti)",
			       text, lo);
	return err_set(ERR_ARGUMENT,
		       "'%.100s' is not a whole number from %" PRIu64 " to %" PRIu64
		       " (suffixes: k M G T Ki Mi Gi Ti)",
		       text, lo, hi);
}

static bool read_signed(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	const char *digits = text + (negative || *text == '+');
	size_t n = count_digits(digits);
	uint64_t size;

	if (n == 0 || digits[n] || !read_digits(digits, n, &size) ||
	    size > (uint64_t)INT64_MAX + negative)
		return false;
	/* Through size - 1, since the least number has no positive counterpart. */
	*out = !negative ? (int64_t)size : size == 0 ? 0 : -(int64_t)(size - 1) - 1;
	return true;
}

int number_i64(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
	int64_t v;

	if (!read_signed(text, &v) || v < lo || v > hi)
		return err_set(ERR_ARGUMENT,
			       "'%.100s' is not a whole number from %" PRId64 " to %" PRId64, text,
			       lo, hi);
	*out = v;
	return 0;
}

/* Bytes of a decimal number at S, as C writes one: [sign] digits [. digits] [e [sign] digits]; or 0. */
static size_t real_length(const char *s)
{
	size_t at = *s == '-' || *s == '+', before = count_digits(s + at), after = 0, power;

	at += before;
	if (s[at] == '.') {
		after = count_digits(s + at + 1);
		at += 1 + after;
	}
	if (before + after == 0)
		return 0;
	if (s[at] == 'e' || s[at] == 'E') {
		size_t digits = at + 1 + (s[at + 1] == '-' || s[at + 1] == '+');

		power = count_digits(s + digits);
		at = power ? digits + power : at;
	}
	return at;
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod with a point, and no other sign, before the fraction. */
static int read_real(const char *text, double *out)
{
	locale_t mine;

	pthread_once(&c_locale_once, make_c_locale);
	if (!c_locale)
		return err_system("the C locale");
	mine = uselocale(c_locale);
	*out = strtod(text, NULL);
	uselocale(mine);
	return 0;
}

int number_real(const char *text, double lo, double hi, double *out)
{
	size_t length = real_length(text);
	char low[NUMBER_TEXT], high[NUMBER_TEXT];
	double v = 0;

	if (length && !text[length]) {
		if (read_real(text, &v))
			return -1;
		if (isfinite(v) && v >= lo && v <= hi) {
			*out = v;
			return 0;
		}
	}
	return err_set(ERR_ARGUMENT, "'%.100s' is not a number from %s to %s", text,
		       number_f64(lo, low), number_f64(hi, high));
}

int number_ratio(const char *text, double *out)
{
	size_t length = real_length(text);
	bool percent = length && strcmp(text + length, "%") == 0;
	double v = 0;

	if (length && (percent || !text[length])) {
		if (read_real(text, &v))
			return -1;
		if (v >= 0 && v <= (percent ? 100 : 1)) {
			*out = percent ? v / 100 : v;
			return 0;
		}
	}
	return err_set(ERR_ARGUMENT, "'%.100s' is not a share from 0 to 1, or 0%% to 100%%", text);
}
