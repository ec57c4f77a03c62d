/* lib/base/utf8.c - UTF-8 as Unicode 15 section 3.9, table 3-7 defines it */
#include "lib/base/utf8.h"

#include <endian.h>
#include <stdbool.h>

#include "lib/base/scan.h"

static bool is_trail(unsigned char c)
{
	return (c & 0xC0) == 0x80;
}

/*
 * Length of the well-formed sequence of two bytes or more at S; 0 when there is none. The second
 * byte's range depends on the first: that is where overlong forms, surrogates and what is past
 * U+10FFFF show.
 */
static size_t long_sequence(const unsigned char *s, size_t n)
{
	unsigned char low = 0x80, high = 0xBF;
	size_t need;

	if (s[0] < 0xC2 || s[0] > 0xF4)
		return 0;
	need = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
	if (n < need)
		return 0;
	if (s[0] == 0xE0)
		low = 0xA0;
	else if (s[0] == 0xED)
		high = 0x9F;
	else if (s[0] == 0xF0)
		low = 0x90;
	else if (s[0] == 0xF4)
		high = 0x8F;
	if (s[1] < low || s[1] > high)
		return 0;
	if ((need > 2 && !is_trail(s[2])) || (need > 3 && !is_trail(s[3])))
		return 0;
	return need;
}

/* The end of the run of pairs of characters of three bytes each, none of which begins with a byte that has a rule of its own. */
static size_t pass_threes(const unsigned char *s, size_t n, size_t at)
{
	/* The last four bits of E1 to EC, EE and EF. */
	const uint32_t plain = 0xDFFE;

	for (; n - at >= 8; at += 6) {
		uint64_t word;

		memcpy(&word, s + at, sizeof(word));
		word = le64toh(word);
		if ((word & 0xC0C0F0C0C0F0u) != 0x8080E08080E0u ||
		    !(plain >> (word & 15) & plain >> (word >> 24 & 15) & 1))
			break;
	}
	return at;
}

/* The first byte from AT on that is not ASCII; N when there is none. */
static size_t ascii_end(const unsigned char *s, size_t at, size_t n)
{
	while (n - at >= SCAN_WIDTH) {
		uint64_t high = scan_high(scan_load(s + at));

		if (high)
			return at + scan_first(high);
		at += SCAN_WIDTH;
	}
	/* What is left, with bytes before it that were looked at already. */
	if (n >= SCAN_WIDTH && !scan_high(scan_load(s + n - SCAN_WIDTH)))
		return n;
	while (at < n && s[at] < 0x80)
		at++;
	return at;
}

size_t utf8_valid_prefix(const void *data, size_t n)
{
	const unsigned char *s = data;
	size_t at = 0;

	while ((at = ascii_end(s, at, n)) < n) {
		at = pass_threes(s, n, at);
		while (at < n && s[at] >= 0x80) {
			size_t length = long_sequence(s + at, n - at);

			if (!length)
				return at;
			at += length;
		}
	}
	return at;
}

size_t utf8_decode(const void *data, size_t n, uint32_t *out)
{
	const unsigned char *s = data;
	size_t length;

	if (n == 0)
		return 0;
	if (s[0] < 0x80) {
		*out = s[0];
		return 1;
	}
	length = long_sequence(s, n);
	if (!length)
		return 0;
	*out = s[0] & (0xFFu >> (length + 1));
	for (size_t i = 1; i < length; i++)
		*out = *out << 6 | (s[i] & 0x3Fu);
	return length;
}

size_t utf8_encode(uint32_t code_point, char out[4])
{
	static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
	uint32_t c = code_point;
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		return 0;
	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3F));
	out[0] = (char)(lead[n] | c);
	return n;
}
