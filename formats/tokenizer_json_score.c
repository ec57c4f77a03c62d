/* formats/tokenizer_json_score.c - a score of tokenizer.json as `tokenizers` reads it */

#include "formats/tokenizer_json_score.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define POWER_MAX 308

struct digits {
	struct bytes text;
	size_t at;
	uint64_t value;
	int64_t exponent;
};

static bool next_digit(struct digits *d, unsigned *digit)
{
	char c = d->at < d->text.size ? d->text.data[d->at] : 0;

	if (c < '0' || c > '9')
		return false;
	*digit = (unsigned)(c - '0');
	d->at++;
	return true;
}

static bool append(struct digits *d, unsigned digit)
{
	uint64_t value;

	if (__builtin_mul_overflow(d->value, 10, &value) ||
	    __builtin_add_overflow(value, digit, &value))
		return false;
	d->value = value;
	return true;
}

/* Once one does not fit, the others of its part are left out as well: before the point they still count as places. */
static void read_part(struct digits *d, bool fraction)
{
	bool full = false;
	unsigned digit;

	while (next_digit(d, &digit)) {
		full = full || !append(d, digit);
		if (full)
			d->exponent += !fraction;
		else
			d->exponent -= fraction;
	}
}

static void read_exponent(struct digits *d)
{
	bool down = d->text.data[d->at] == '-';
	int64_t exponent = 0;
	unsigned digit;

	d->at += down || d->text.data[d->at] == '+';
	while (next_digit(d, &digit))
		exponent = exponent > 100000 ? exponent : exponent * 10 + digit;
	d->exponent += down ? -exponent : exponent;
}

/* Correctly rounded, as the table there is. */
static double power_of_ten(int64_t n)
{
	static const double exact[] = { 1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,
					1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	char text[8];

	if (n < (int64_t)(sizeof(exact) / sizeof(exact[0])))
		return exact[n];
	snprintf(text, sizeof(text), "1e%d", (int)n);
	return strtod(text, NULL);
}

static double scaled(double x, int64_t exponent)
{
	while (exponent < -POWER_MAX && x != 0) {
		x /= 1e308;
		exponent += POWER_MAX;
	}
	if (x == 0)
		return x;
	if (exponent > POWER_MAX)
		return INFINITY;
	return exponent >= 0 ? x * power_of_ten(exponent) : x / power_of_ten(-exponent);
}

double tokenizer_json_score(struct bytes text)
{
	struct digits d = { .text = text };
	bool negative = text.size && text.data[0] == '-';
	double x;

	d.at += negative;
	read_part(&d, false);
	if (d.at < text.size && text.data[d.at] == '.') {
		d.at++;
		read_part(&d, true);
	}
	if (d.at + 1 < text.size && (text.data[d.at] | 0x20) == 'e') {
		d.at++;
		read_exponent(&d);
	}
	x = scaled((double)d.value, d.exponent);
	return negative ? -x : x;
}
