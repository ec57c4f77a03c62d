/*
 * tests/unit/test_utf8.c - UTF-8 against table 3-7 of the Unicode standard, version 15
 *
 * Numbers of well-formed sequences follow from the ranges of code points: 128 of one byte, 0x800 -
 * 0x80 of two, 0x10000 - 0x800 less 0x800 surrogates of three, 0x110000 - 0x10000 of four.
 */
#include "lib/base/utf8.h"

#include "tests/corrupt.h"
#include "tests/tap.h"

static void test_known(void)
{
	static const struct {
		const char *bytes;
		uint32_t code_point;
	} rows[] = {
		{ "A", 0x41 },
		{ "\xc2\x80", 0x80 },
		{ "\xdf\xbf", 0x7FF },
		{ "\xe0\xa0\x80", 0x800 },
		{ "\xe2\x82\xac", 0x20AC },
		{ "\xed\x9f\xbf", 0xD7FF },
		{ "\xee\x80\x80", 0xE000 },
		{ "\xef\xbf\xbf", 0xFFFF },
		{ "\xf0\x90\x80\x80", 0x10000 },
		{ "\xf0\x9f\x99\x82", 0x1F642 },
		{ "\xf4\x8f\xbf\xbf", 0x10FFFF },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes want = bytes_of(rows[i].bytes);
		char out[4];
		uint32_t got = 0;

		tap_is_u64(utf8_decode(want.data, want.size, &got), want.size, "U+%04X: length",
			   rows[i].code_point);
		tap_is_u64(got, rows[i].code_point, "U+%04X: code point", rows[i].code_point);
		tap_is_bytes(((struct bytes){ out, utf8_encode(rows[i].code_point, out) }), want,
			     "U+%04X: bytes", rows[i].code_point);
	}
}

static void test_refused(void)
{
	static const char *const rows[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc2",
		"\xc2\xc2",
		"\xe2\x82",
		"\xe2\x82\x41",
		"\xf0\x9f\x99",
		"\xf0\x9f\x99\xc2",
	};
	uint32_t got = 77;
	char out[4];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes b = bytes_of(rows[i]);

		tap_ok(utf8_decode(b.data, b.size, &got) == 0 &&
			       utf8_valid_prefix(b.data, b.size) == 0,
		       "ill-formed sequence %zu is refused", i);
	}
	tap_is_u64(utf8_decode("", 0, &got), 0, "nothing is no sequence");
	tap_is_u64(got, 77, "a refusal leaves the code point alone");
	tap_is_u64(utf8_encode(0xD800, out), 0, "the first surrogate");
	tap_is_u64(utf8_encode(0xDFFF, out), 0, "the last surrogate");
	tap_is_u64(utf8_encode(0x110000, out), 0, "past U+10FFFF");
	tap_is_u64(utf8_encode(UINT32_MAX, out), 0, "far past it");
}

static void test_every_code_point(void)
{
	uint32_t back = 0, good = 0, valid = 0;
	size_t n, counts[5] = { 0 };
	char out[4];

	for (uint32_t c = 0; c <= 0x10FFFF; c++) {
		n = utf8_encode(c, out);
		counts[n]++;
		good += n && utf8_decode(out, n, &back) == n && back == c;
		valid += n && utf8_valid_prefix(out, n) == n;
	}
	tap_is_u64(counts[0], 0x800, "surrogates");
	tap_is_u64(counts[1], 0x80, "code points of one byte");
	tap_is_u64(counts[2], 0x800 - 0x80, "of two");
	tap_is_u64(counts[3], 0x10000 - 0x800 - 0x800, "of three");
	tap_is_u64(counts[4], 0x110000 - 0x10000, "of four");
	tap_is_u64(good, 0x110000 - 0x800, "each reads back");
	tap_is_u64(valid, 0x110000 - 0x800, "and is valid");
}

/* Adds to COUNTS the length of what decodes from LEAD and every choice of the bytes after it. */
static void count_sequences(unsigned lead, size_t counts[5])
{
	static const unsigned char ends[] = { 0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xFF };
	uint32_t c;

	for (unsigned second = 0; second < 256; second++) {
		for (size_t i = 0; i < sizeof(ends); i++) {
			for (size_t k = 0; k < sizeof(ends); k++) {
				unsigned char s[4] = { (unsigned char)lead, (unsigned char)second,
						       ends[i], ends[k] };

				counts[utf8_decode(s, 4, &c)]++;
			}
		}
	}
}

/* Two of the seven last bytes are trail bytes. */
static void test_every_beginning(void)
{
	size_t counts[5] = { 0 };

	for (unsigned lead = 0; lead < 256; lead++)
		count_sequences(lead, counts);
	tap_is_u64(counts[1], 128 * 256 * 49, "one byte, then anything");
	tap_is_u64(counts[2], 30 * 64 * 49, "two bytes: C2 to DF, any trail byte");
	tap_is_u64(counts[3], (32 + 12 * 64 + 32 + 2 * 64) * 2 * 7, "three bytes: E0 to EF");
	tap_is_u64(counts[4], (48 + 3 * 64 + 16) * 2 * 2, "four bytes: F0 to F4");
}

/* One odd place at each offset of texts of each length, at the end of a page. */
static void test_prefix(void)
{
	static const char *const odd[] = { "\xff", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x99\x82" };
	size_t wrong = 0, cut_wrong = 0;

	for (size_t n = 0; n <= 40; n++) {
		char *text = guard_new(n);

		for (size_t at = 0; at < n; at++) {
			for (size_t i = 0; i < 4; i++) {
				size_t size = strlen(odd[i]), fits = size <= n - at;

				memset(text, 'a', n);
				memcpy(text + at, odd[i], fits ? size : n - at);
				if (fits)
					wrong += utf8_valid_prefix(text, n) != (i == 0 ? at : n);
				else
					cut_wrong += utf8_valid_prefix(text, n) != at;
			}
		}
		memset(text, 'a', n);
		wrong += utf8_valid_prefix(text, n) != n;
		guard_free(text);
	}
	tap_is_u64(wrong, 0, "the prefix ends at the first bad byte, or nowhere");
	tap_is_u64(cut_wrong, 0, "a sequence cut at the end is not part of it");
	tap_is_u64(utf8_valid_prefix("", 0), 0, "nothing is well-formed");
	tap_is_u64(utf8_valid_prefix("a\0b\0", 4), 4, "NUL is a character");
	tap_is_u64(utf8_valid_prefix("\xe2\x82\xac\xe2\x82\xac\xed\xa0\x80", 9), 6,
		   "after two characters a surrogate");
}

/* Whatever three bytes, alone and as the first or second of a pair of characters of three bytes, and both ways to decode them. */
static void test_every_three(void)
{
	unsigned char pair[] = "......abcdef";
	size_t wrong_decode = 0, wrong_prefix = 0;

	for (uint32_t i = 0xE00000; i < 0xF00000; i++) {
		const unsigned char three[3] = { (unsigned char)(i >> 16), (unsigned char)(i >> 8),
						 (unsigned char)i };
		uint32_t c = 0, fast = 0;
		size_t n;

		n = utf8_decode(three, 3, &c);
		wrong_decode += utf8_decode_fast(three, 3, &fast) != n || (n && fast != c);
		for (size_t at = 0; at <= 3; at += 3) {
			memcpy(pair, "\xe4\xb8\xad\xe4\xb8\xad", 6);
			memcpy(pair + at, three, 3);
			wrong_prefix += utf8_valid_prefix(pair, 12) != (n ? 12 : at);
		}
	}
	tap_is_u64(wrong_decode, 0, "decoded alike");
	tap_is_u64(wrong_prefix, 0, "in pairs");
}

int main(void)
{
	tap_run(test_known);
	tap_run(test_refused);
	tap_run(test_every_code_point);
	tap_run(test_every_beginning);
	tap_run(test_prefix);
	tap_run(test_every_three);
	return tap_done();
}
