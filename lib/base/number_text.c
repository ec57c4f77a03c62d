/*
 * lib/base/number_text.c - numbers written for people, and reals written to be read back
 *
 * No part goes through printf's own reals, so the locale has no say.
 */
#include "lib/base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/decimal.h"

/* N / STEP, halves up. */
static uint64_t divide(uint64_t n, uint64_t step)
{
	return n / step + (n % step >= step - n % step);
}

/* Three or four digits, a power of 1000, and UNIT. */
static char *power_text(uint64_t n, const char *unit, char out[NUMBER_TEXT])
{
	static const char powers[] = "kMGTPE";
	uint64_t step = 1000;
	const char *power = powers;

	if (n < 1000) {
		snprintf(out, NUMBER_TEXT, "%" PRIu64 "%s%s", n, *unit ? " " : "", unit);
		return out;
	}
	for (; divide(n, step / 10) >= 10000; step *= 1000)
		power++;
	if (divide(n, step / 100) < 1000) {
		n = divide(n, step / 100);
		snprintf(out, NUMBER_TEXT, "%" PRIu64 ".%02" PRIu64 " %c%s", n / 100, n % 100,
			 *power, unit);
	} else {
		n = divide(n, step / 10);
		snprintf(out, NUMBER_TEXT, "%" PRIu64 ".%" PRIu64 " %c%s", n / 10, n % 10, *power,
			 unit);
	}
	return out;
}

char *number_bytes(uint64_t n, char out[NUMBER_TEXT])
{
	return power_text(n, "B", out);
}

char *number_count(uint64_t n, char out[NUMBER_TEXT])
{
	return power_text(n, "", out);
}

char *number_things(uint64_t n, const char *what, char out[NUMBER_TEXT])
{
	snprintf(out, NUMBER_TEXT, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
	return out;
}

char *number_duration(double seconds, char out[NUMBER_TEXT])
{
	uint64_t n;

	/* Not a duration, or one that no clock will see the end of. */
	if (!(seconds >= 0 && seconds < 1e15)) {
		snprintf(out, NUMBER_TEXT, "?");
		return out;
	}
	n = (uint64_t)(seconds * 10 + 0.5);
	if (n < 600) {
		snprintf(out, NUMBER_TEXT, "%" PRIu64 ".%" PRIu64 " s", n / 10, n % 10);
		return out;
	}
	n = (uint64_t)(seconds + 0.5);
	if (n < 3600)
		snprintf(out, NUMBER_TEXT, "%" PRIu64 " min %02" PRIu64 " s", n / 60, n % 60);
	else
		snprintf(out, NUMBER_TEXT, "%" PRIu64 " h %02" PRIu64 " min", n / 3600,
			 n / 60 % 60);
	return out;
}

/* From 1e-4 to below 1e16 as plain digits, else with an exponent, as Python writes them. */
static void decimal_text(const struct decimal *d, char *out)
{
	int zeros;

	if (d->point < -3 || d->point > 16) {
		*out++ = d->digits[0];
		if (d->n > 1)
			*out++ = '.';
		memcpy(out, d->digits + 1, (size_t)d->n - 1);
		snprintf(out + d->n - 1, 13, "e%d", d->point - 1);
		return;
	}
	if (d->point <= 0) {
		*out++ = '0';
		*out++ = '.';
		for (zeros = -d->point; zeros > 0; zeros--)
			*out++ = '0';
	}
	for (int i = 0; i < d->n; i++) {
		if (i == d->point && i > 0)
			*out++ = '.';
		*out++ = d->digits[i];
	}
	for (zeros = d->point - d->n; zeros > 0; zeros--)
		*out++ = '0';
	*out = '\0';
}

/* nan, inf, -inf and 0 stand for themselves; else the sign goes to OUT, and NULL comes back. */
static char *special_text(double v, char out[NUMBER_TEXT])
{
	const char *sign = signbit(v) && !isnan(v) ? "-" : "";

	if (isfinite(v) && v != 0) {
		snprintf(out, NUMBER_TEXT, "%s", sign);
		return NULL;
	}
	snprintf(out, NUMBER_TEXT, "%s%s", sign, isnan(v) ? "nan" : isinf(v) ? "inf" : "0");
	return out;
}

char *number_f32(float v, char out[NUMBER_TEXT])
{
	struct decimal d;

	if (!special_text((double)v, out)) {
		decimal_f32(fabsf(v), &d);
		decimal_text(&d, out + strlen(out));
	}
	return out;
}

char *number_f64(double v, char out[NUMBER_TEXT])
{
	struct decimal d;

	if (!special_text(v, out)) {
		decimal_f64(fabs(v), &d);
		decimal_text(&d, out + strlen(out));
	}
	return out;
}
