/*
 * tests/unit/test_scanner.c - the scanners against their own regular expressions, and known pieces
 *
 * The pieces that are spelled out here came from tokenizers 0.23.3 and tiktoken 0.14.0. The translator, which
 * test_regex.c holds against the same peers, then judges the scanners on random text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/utf8.h"
#include "lib/text/regex.h"
#include "lib/text/scanner.h"
#include "tests/tap.h"

/* The pieces of TEXT with `|` between them. */
static const char *pieces(enum scanner s, const char *text)
{
	static struct buffer b;
	struct bytes t = bytes_of(text);

	buffer_clear(&b);
	for (size_t at = 0; at < t.size;) {
		size_t end = scanner_next(s, t, at);

		if (at)
			buffer_put_text(&b, "|");
		buffer_put(&b, text + at, end - at);
		at = end;
	}
	buffer_put_u8(&b, 0);
	return b.data;
}

/* A16: symbol runs stay whole, and numbers are cut as each family does. */
static void test_A16_families(void)
{
	tap_is_text(pieces(SCANNER_QWEN2, "->"), "->", "Qwen2: a run of signs");
	tap_is_text(pieces(SCANNER_QWEN2, "1234567"), "1|2|3|4|5|6|7", "Qwen2: single digits");
	tap_is_text(pieces(SCANNER_LLAMA3, "1234567"), "123|456|7", "Llama 3: by three");
	tap_is_text(pieces(SCANNER_GPT2, "1234567"), "1234567", "GPT-2: one run");
	tap_is_text(pieces(SCANNER_TEKKEN, "1234567"), "1|2|3|4|5|6|7", "Tekken: single digits");
	tap_is_text(pieces(SCANNER_O200K, "1234567"), "123|456|7", "o200k: by three");
	tap_is_text(pieces(SCANNER_QWEN2, "(x):\n"), "(x|):\n", "signs take the newline");
	tap_is_text(pieces(SCANNER_GPT2, "(x):\n"), "(|x|):|\n", "but not in GPT-2");
}

static void test_words(void)
{
	tap_is_text(pieces(SCANNER_LLAMA3, "I'LL it\'\xC5\xBF a"), "I|'LL| it|\'\xC5\xBF| a",
		    "any case, U+017F too");
	tap_is_text(pieces(SCANNER_GPT2, "I'LL we'll"), "I|'|LL| we|'ll",
		    "GPT-2 knows lower case only");
	tap_is_text(pieces(SCANNER_O200K, "camelCase HTTPServer's"), "camel|Case| HTTPServer's",
		    "o200k cuts at capitals");
	tap_is_text(pieces(SCANNER_TEKKEN, "HTTPServer's"), "HTTPServer|'s",
		    "Tekken has no contractions");
	tap_is_text(pieces(SCANNER_O200K, "\xE6\x97\xA5"
					  "ABC"),
		    "\xE6\x97\xA5|ABC", "capitals are given back");
	tap_is_text(pieces(SCANNER_DEEPSEEK, "a.b12 12c"), "a|.b|12| |1|2c",
		    "DeepSeek's gaps are pieces");
}

static void test_space(void)
{
	tap_is_text(pieces(SCANNER_GPT2, "a   b  "), "a|  | b|  ",
		    "the last space goes with the word");
	tap_is_text(pieces(SCANNER_LLAMA3, "a \n \n b \n "), "a| \n \n| b| \n| ",
		    "lines, then the rest");
	tap_is_text(pieces(SCANNER_CL100K, "a \n \n b \n "), "a| \n \n| b| \n ",
		    "cl100k: the end is one piece");
}

static void test_names(void)
{
	for (int s = SCANNER_NONE + 1; s < SCANNER_COUNT; s++) {
		tap_is_u64(scanner_by_name(scanner_name((enum scanner)s)), (unsigned)s,
			   "%s by its name", scanner_name((enum scanner)s));
		for (int d = REGEX_ONIGURUMA; d <= REGEX_FANCY; d++)
			tap_is_u64(scanner_find(
					   scanner_pattern((enum scanner)s, (enum regex_dialect)d),
					   (enum regex_dialect)d),
				   (unsigned)s, "and by its text");
	}
	tap_is_u64(scanner_by_name("gpt3"), SCANNER_NONE, "an unknown name");
	tap_is_u64(scanner_find(bytes_of("\\s+"), REGEX_FANCY), SCANNER_NONE, "an unknown text");
	/* {1,3}+ and $ mean other things in Ruby's syntax. */
	tap_is_u64(scanner_find(scanner_pattern(SCANNER_CL100K, REGEX_FANCY), REGEX_ONIGURUMA),
		   SCANNER_NONE, "the text alone is not enough");
}

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'A' + 10;
}

/* A quoted piece of the golden file at *P: its bytes appended to B, its end marked in ENDS. */
static const char *read_piece(const char *p, struct buffer *text, struct buffer *ends)
{
	for (p++; *p != '"'; p++) {
		if (*p != '\\') {
			buffer_put_u8(text, (uint8_t)*p);
			continue;
		}
		buffer_put_u8(text, (uint8_t)(hex_digit(p[2]) << 4 | hex_digit(p[3])));
		p += 3;
	}
	buffer_put_u32(ends, (uint32_t)text->size);
	return p + 1;
}

/* fixtures/golden/regex/pieces.txt: a scanner's name and its pieces a line, from tokenizers 0.23.3. */
static void test_golden(void)
{
	size_t size, lines = 0;
	char *data = tap_fixture("fixtures/golden/regex/pieces.txt", &size);
	struct buffer text = { 0 }, want = { 0 }, got = { 0 };

	for (const char *p = data, *line; p < data + size; p++, lines++) {
		char name[16] = { 0 };
		enum scanner s;

		for (size_t i = 0; *p != ' ' && i < sizeof(name) - 1; p++)
			name[i++] = *p;
		buffer_clear(&text);
		buffer_clear(&want);
		buffer_clear(&got);
		for (line = p; *p == ' ';)
			p = read_piece(p + 1, &text, &want);
		s = scanner_by_name(name);
		for (size_t at = 0; s && at < text.size;) {
			at = scanner_next(s, buffer_bytes(&text), at);
			buffer_put_u32(&got, (uint32_t)at);
		}
		tap_is_bytes(buffer_bytes(&got), buffer_bytes(&want), "%s:%.*s", name,
			     (int)(p - line), line);
	}
	tap_ok(lines > 90, "%zu lines", lines);
	buffer_free(&text);
	buffer_free(&want);
	buffer_free(&got);
	free(data);
}

static void put_random(struct buffer *b, const struct random_stream *r, uint64_t row,
		       uint64_t element)
{
	static const char *const parts[] = {
		" ",
		"  ",
		"\n",
		"\r\n",
		"\t",
		"\xC2\x85",
		"\xE2\x80\xA8",
		"\xE3\x80\x80",
		"'",
		"'s",
		"'LL",
		"\xC5\xBF",
		"a",
		"zB",
		"ABC",
		"1",
		"\xD9\xA3",
		"\xC2\xBD",
		"!?",
		"/",
		"-",
		"\xCC\x81",
		"\xE0\xA4\x83",
		"\xE6\x97\xA5",
		"\xEA\xB0\x80",
		"\xCA\xB0",
		"\xC7\x85",
		"\xE2\x80\x8D",
		"\xF0\x9F\x98\x80",
		"\x1B",
	};
	uint64_t draw = random_below(r, row, element, 40);
	char encoded[4];

	if (draw < sizeof(parts) / sizeof(*parts))
		buffer_put_text(b, parts[draw]);
	else
		buffer_put(b, encoded,
			   utf8_encode((uint32_t)random_below(r, row, element + 1000,
							      draw & 1 ? 0x3000 : 0x110000),
				       encoded));
}

/* Counts the places where the scanner and the regular expression do not agree. */
static size_t disagreements(enum scanner s, const struct regex *r, struct regex_scratch *scratch,
			    struct bytes t)
{
	size_t wrong = 0;

	for (size_t at = 0, end; at < t.size; at = end) {
		size_t first = t.size, last = t.size;

		end = scanner_next(s, t, at);
		if (regex_find(r, scratch, t, at, &first, &last) < 0 || end <= at)
			return wrong + 1;
		wrong += end != (first > at ? first : last);
	}
	return wrong;
}

static void test_random(void)
{
	struct random_stream random = random_at(20, 0, 1);
	struct buffer text = { 0 };

	for (int s = SCANNER_NONE + 1; s < SCANNER_COUNT; s++) {
		for (int d = REGEX_ONIGURUMA; d <= REGEX_FANCY; d++) {
			struct regex *r = NULL;
			struct regex_scratch *scratch = NULL;
			size_t wrong = 0;

			tap_works(regex_new(&r,
					    scanner_pattern((enum scanner)s, (enum regex_dialect)d),
					    (enum regex_dialect)d) ||
						  regex_scratch_new(&scratch)
					  ? -1
					  : 0,
				  "%s compiles", scanner_name((enum scanner)s));
			for (uint64_t row = 0; r && scratch && row < 3000; row++) {
				buffer_clear(&text);
				for (uint64_t i = 0; i < 12; i++)
					put_random(&text, &random, row, i);
				wrong += disagreements((enum scanner)s, r, scratch,
						       buffer_bytes(&text));
			}
			tap_is_u64(wrong, 0, "%s agrees with its regular expression",
				   scanner_name((enum scanner)s));
			regex_free(r);
			regex_scratch_free(scratch);
		}
	}
	buffer_free(&text);
}

static double seconds_for(enum scanner s, const char *text, size_t n)
{
	uint64_t start = clock_ns();
	struct bytes t = { text, n };

	for (size_t at = 0; at < n;)
		at = scanner_next(s, t, at);
	return clock_seconds(start, clock_ns());
}

/* A20: a million of one character takes time in proportion, never its square (which would be minutes). */
static void test_A20_linear(void)
{
	static const char *const units[] = { " ",	 "a",	"A",  "^",   "_",
					     "'",	 "1",	"\n", " \n", "\xE6\x97\xA5",
					     "\xCC\x81", "\x1B" };
	struct buffer b = { 0 };

	for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++) {
		double worst = 0;

		buffer_clear(&b);
		for (int i = 0; i < 1000000; i++)
			buffer_put_text(&b, units[u]);
		buffer_put_text(&b, "x");
		for (int s = SCANNER_NONE + 1; s < SCANNER_COUNT; s++) {
			double took = seconds_for((enum scanner)s, b.data, b.size);

			worst = took > worst ? took : worst;
		}
		tap_ok(worst < 5, "a million of number %zu takes %.3f s at most", u, worst);
	}
	buffer_free(&b);
}

int main(void)
{
	tap_run(test_A16_families);
	tap_run(test_words);
	tap_run(test_space);
	tap_run(test_names);
	tap_run(test_golden);
	tap_run(test_random);
	tap_run(test_A20_linear);
	return tap_done();
}
