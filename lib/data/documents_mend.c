/*
 * lib/data/documents_mend.c - text that is not what it should be
 *
 * The rule is the practice that Unicode 15 recommends in section 3.9, U+FFFD Substitution of Maximal
 * Subparts: the longest start of a well-formed sequence, or else one byte, becomes one U+FFFD.
 */
#include "lib/base/utf8.h"
#include "lib/data/documents_parts.h"

#define REPLACEMENT "\xEF\xBF\xBD"

/* Bytes of the maximal subpart at S, where no well-formed sequence starts. */
static size_t subpart(const unsigned char *s, size_t n)
{
	static const struct {
		unsigned char from, to, low, high;
		size_t length;
	} leads[] = {
		{ 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 },
		{ 0xE1, 0xEC, 0x80, 0xBF, 3 }, { 0xED, 0xED, 0x80, 0x9F, 3 },
		{ 0xEE, 0xEF, 0x80, 0xBF, 3 }, { 0xF0, 0xF0, 0x90, 0xBF, 4 },
		{ 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 },
	};

	for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
		size_t at = 2;

		if (s[0] < leads[i].from || s[0] > leads[i].to)
			continue;
		if (n < 2 || s[1] < leads[i].low || s[1] > leads[i].high)
			return 1;
		while (at < n && at < leads[i].length && (s[at] & 0xC0) == 0x80)
			at++;
		return at;
	}
	return 1;
}

uint64_t mend_text(struct buffer *b, struct bytes text)
{
	uint64_t replaced = 0;

	for (;;) {
		size_t n = utf8_valid_prefix(text.data, text.size);

		buffer_put(b, text.data, n);
		text.data += n;
		text.size -= n;
		if (!text.size)
			return replaced;
		n = subpart((const unsigned char *)text.data, text.size);
		buffer_put(b, REPLACEMENT, 3);
		replaced++;
		text.data += n;
		text.size -= n;
	}
}

/* --- JSON --- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The surrogate that the escape at P is: 'h'igh, 'l'ow, or 0. */
static char surrogate_at(const char *p, const char *end)
{
	if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || (p[2] | 0x20) != 'd' ||
	    hex_digit(p[4]) < 0 || hex_digit(p[5]) < 0)
		return 0;
	switch (hex_digit(p[3])) {
	case 8:
	case 9:
	case 10:
	case 11: return 'h';
	case 12:
	case 13:
	case 14:
	case 15: return 'l';
	default: return 0;
	}
}

/* In JSON a backslash stands in strings only, and what it escapes is one byte or u and four digits. */
static uint64_t mend_surrogates(struct buffer *b, size_t from)
{
	char *p = b->data + from, *end = b->data + b->size;
	uint64_t replaced = 0;

	while (p < end && (p = memchr(p, '\\', (size_t)(end - p)))) {
		char kind = surrogate_at(p, end);

		if (kind == 'h' && surrogate_at(p + 6, end) == 'l') {
			p += 12;
			continue;
		}
		if (kind) {
			memcpy(p + 2, "fffd", 4);
			replaced++;
		}
		p += kind ? 6 : 2;
	}
	return replaced;
}

uint64_t mend_json(struct buffer *b, struct bytes text)
{
	size_t from = b->size;
	uint64_t replaced = mend_text(b, text);

	if (b->failed || b->size == from)
		return replaced;
	return replaced + mend_surrogates(b, from);
}
