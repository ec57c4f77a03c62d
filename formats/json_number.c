/*
 * formats/json_number.c - numbers of the JSON reader
 *
 * The grammar is RFC 8259, section 6. Integers are converted here, exactly; doubles by strtod in
 * the C locale, which rounds correctly for any number of digits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_internal.h"
#include "lib/base/memory.h"

static const unsigned char *digits_end(const unsigned char *p, const unsigned char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Passes a fraction or an exponent's digits: at least one. NULL without. */
static const unsigned char *some_digits(const unsigned char *p, const unsigned char *end)
{
	const unsigned char *after = digits_end(p, end);

	return after > p ? after : NULL;
}

/* The end of the number at P, or NULL when the grammar knows none. */
static const unsigned char *number_end(const unsigned char *p, const unsigned char *end)
{
	if (p < end && *p == '-')
		p++;
	p = p < end && *p == '0' ? p + 1 : some_digits(p, end);
	if (p && p < end && *p == '.')
		p = some_digits(p + 1, end);
	if (p && p < end && (*p | 0x20) == 'e') {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		p = some_digits(p, end);
	}
	return p;
}

/* Bytes that are part of a number, or of a word, or of somebody's idea of a number. */
static bool number_like(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '.' ||
	       c == '+' || c == '-' || c == '_';
}

int json_take_number(struct json *j, struct bytes *out)
{
	const unsigned char *from = j->at, *to = number_end(from, j->end);

	if (!to || (to < j->end && number_like(*to))) {
		for (to = from; to < j->end && number_like(*to) && to - from < 40;)
			to++;
		return json_fail_at(j, from, ERR_FORMAT, "%.*s is not a JSON number",
				    (int)(to - from), (const char *)from);
	}
	*out = (struct bytes){ (const char *)from, (size_t)(to - from) };
	j->at = to;
	return 0;
}

int json_number(struct json *j, struct bytes *out)
{
	if (json_want(j, JSON_NUMBER) || json_take_number(j, out))
		return -1;
	json_value_done(j);
	return 0;
}

/* The whole number TEXT without its sign; false when it is not whole, or past LIMIT. */
static bool whole(struct bytes text, uint64_t limit, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = text.size && text.data[0] == '-'; i < text.size; i++) {
		unsigned digit = (unsigned char)text.data[i] - '0';

		if (digit > 9 || v > (limit - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

static int fail_range(struct json *j, struct bytes text, const char *range)
{
	const unsigned char *at = (const unsigned char *)text.data;

	return json_fail_at(j, at, ERR_FORMAT, BYTES_FMT " is not a whole number %s",
			    BYTES_ARG(text), range);
}

int json_u64(struct json *j, uint64_t *out)
{
	struct bytes text;

	if (json_number(j, &text))
		return -1;
	if (text.data[0] == '-' || !whole(text, UINT64_MAX, out))
		return fail_range(j, text, "from 0 to 18446744073709551615");
	return 0;
}

int json_i64(struct json *j, int64_t *out)
{
	struct bytes text;
	uint64_t v;
	bool minus;

	if (json_number(j, &text))
		return -1;
	minus = text.data[0] == '-';
	if (!whole(text, (uint64_t)INT64_MAX + minus, &v))
		return fail_range(j, text, "of 64 bits");
	/* -2^63 is reached without leaving the type. */
	*out = minus && v ? -(int64_t)(v - 1) - 1 : (int64_t)v;
	return 0;
}

int json_to_double(struct json *j, struct bytes text, double *out)
{
	char few[64], *copy = few;
	locale_t before;

	if (text.size >= sizeof few) {
		if (mem_grow(&j->digits, &j->digits_capacity, text.size + 1, 1))
			return json_keep_error(j);
		copy = j->digits;
	}
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	before = uselocale(j->c_locale);
	*out = strtod(copy, NULL);
	uselocale(before);
	return 0;
}

int json_f64(struct json *j, double *out)
{
	struct bytes text;
	double v;

	if (json_number(j, &text) || json_to_double(j, text, &v))
		return -1;
	if (isinf(v))
		return json_fail_at(j, (const unsigned char *)text.data, ERR_FORMAT,
				    BYTES_FMT " is past the range of a double", BYTES_ARG(text));
	*out = v;
	return 0;
}
