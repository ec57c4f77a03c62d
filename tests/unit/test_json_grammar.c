/*
 * tests/unit/test_json_grammar.c - what the JSON reader takes and what it refuses
 *
 * Two tables in the spirit of the JSON test suites, from the grammar of RFC 8259. A text that is
 * taken must be taken by json_skip whole; one that is refused must be refused at the byte and for
 * the reason that the table says. Every text is also tried behind a guard page, so that no byte
 * past its end is looked at.
 */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define TEXT(s)    \
 {                 \
  s, sizeof(s) - 1 \
 }

static const struct bytes taken[] = {
	/* values alone, white space */
	TEXT("0"),
	TEXT("-0"),
	TEXT("1"),
	TEXT("-1"),
	TEXT("\"\""),
	TEXT("[]"),
	TEXT("{}"),
	TEXT("true"),
	TEXT("false"),
	TEXT("null"),
	TEXT(" null"),
	TEXT("null "),
	TEXT("\t\r\n [ \t\r\n ] \t\r\n "),
	TEXT(" {\n\t\"a\" : 1 }\r\n"),
	TEXT("[ null , null ]"),
	/* numbers */
	TEXT("10"),
	TEXT("1234567890123456789012345678901234567890"),
	TEXT("0.0"),
	TEXT("-0.0"),
	TEXT("0.5"),
	TEXT("1.25"),
	TEXT("1e5"),
	TEXT("1E5"),
	TEXT("1e+5"),
	TEXT("1e-5"),
	TEXT("1E+05"),
	TEXT("0e0"),
	TEXT("0E-0"),
	TEXT("123.456e78"),
	TEXT("-1.0e-400"),
	TEXT("1e400"),
	TEXT("0.00000000000000000000000000000000000000000001"),
	TEXT("[-1]"),
	TEXT("[0]"),
	TEXT("[1,2.5,-3e2]"),
	TEXT("1e0000000000000000000000001"),
	/* strings */
	TEXT("\"a\""),
	TEXT("\"abcdefgh\""),
	TEXT("\"abcdefghi\""),
	TEXT("\"\\\"\""),
	TEXT("\"\\\\\""),
	TEXT("\"\\/\""),
	TEXT("\"\\b\\f\\n\\r\\t\""),
	TEXT("\"\\u0000\""),
	TEXT("\"\\u0041\""),
	TEXT("\"\\uabcd\""),
	TEXT("\"\\uABCD\""),
	TEXT("\"\\uaBcD\""),
	TEXT("\"\\ud800\\udc00\""),
	TEXT("\"\\uDBFF\\uDFFF\""),
	TEXT("\"\\ud83d\\ude00x\""),
	TEXT("\"\\uFFFF\""),
	TEXT("\"\\uFFFE\""),
	TEXT("\"\\u0022\\u005c\""),
	TEXT("\"\x7F\""),
	TEXT("\"/\""),
	TEXT("\"'\""),
	TEXT("\"\xC2\x80\""),
	TEXT("\"\xDF\xBF\""),
	TEXT("\"\xE0\xA0\x80\""),
	TEXT("\"\xED\x9F\xBF\""),
	TEXT("\"\xEE\x80\x80\""),
	TEXT("\"\xEF\xBF\xBF\""),
	TEXT("\"\xF0\x90\x80\x80\""),
	TEXT("\"\xF4\x8F\xBF\xBF\""),
	TEXT("\"\xEF\xBB\xBF\""),
	TEXT("\"\xE2\x80\xA8\xE2\x80\xA9\""),
	TEXT("\"1234567\xC3\xA9 and more\""),
	TEXT("\"[{:,}]\""),
	TEXT("\"\\\\\\\\\\\\\\\"\""),
	TEXT("\"// no comment /* here */\""),
	/* containers */
	TEXT("[[]]"),
	TEXT("[{}]"),
	TEXT("{\"a\":{}}"),
	TEXT("{\"\":0}"),
	TEXT("{\"a\":[]}"),
	TEXT("{\"a\":1,\"b\":2}"),
	TEXT("[1,\"a\",true,false,null,{},[]]"),
	TEXT("{\"a\":1,\"A\":1}"),
	TEXT("{\"a\":{\"a\":{\"a\":1}}}"),
	TEXT("[[[[[[[[[[]]]]]]]]]]"),
	TEXT("{\"a\\u0000b\":1,\"a\":2}"),
	TEXT("{\"a\":1,\"a \":2}"),
	TEXT("[{\"a\":1},{\"a\":1}]"),
	TEXT("{\"caf\xC3\xA9\":1,\"cafe\xCC\x81\":2}"),
	TEXT("[\"\",\"\",\"\"]"),
};

static const struct {
	struct bytes text;
	const char *error; /* behind `t: ` */
} refused[] = {
	/* nothing, or not the whole */
	{ TEXT(""), "byte 0: expected a value, found the end" },
	{ TEXT(" \n"), "byte 2: expected a value, found the end" },
	{ TEXT("["), "byte 1: expected a value, found the end" },
	{ TEXT("[1"), "byte 2: expected ',' or ']', found the end" },
	{ TEXT("[1,"), "byte 3: expected a value, found the end" },
	{ TEXT("{"), "byte 1: expected a key in double quotes, found the end" },
	{ TEXT("{\"a\""), "byte 4: expected ':', found the end" },
	{ TEXT("{\"a\":"), "byte 5: expected a value, found the end" },
	{ TEXT("{\"a\":1"), "byte 6: expected ',' or '}', found the end" },
	{ TEXT("{\"a\":1,"), "byte 7: expected a key in double quotes, found the end" },
	{ TEXT("\""), "byte 1: the text ends inside a string" },
	{ TEXT("\"abcdefgh"), "byte 9: the text ends inside a string" },
	{ TEXT("\"\\"), "byte 1: \\u needs four" },
	{ TEXT("\"\\\""), "byte 3: the text ends inside a string" },
	{ TEXT("\"\\u12"), "byte 1: \\u needs four" },
	{ TEXT("\"\\ud800\\udc0"), "byte 1: lone surrogate" },
	{ TEXT("tru"), "byte 0: expected true" },
	{ TEXT("nul"), "byte 0: expected null" },
	{ TEXT("-"), "byte 0: - is not a JSON number" },
	{ TEXT("1."), "byte 0: 1. is not a JSON number" },
	{ TEXT("1e"), "byte 0: 1e is not a JSON number" },
	{ TEXT("1e+"), "byte 0: 1e+ is not a JSON number" },
	/* more than one value */
	{ TEXT("1 2"), "byte 2: 1 bytes after the value" },
	{ TEXT("{}{}"), "byte 2: 2 bytes after the value" },
	{ TEXT("[]]"), "byte 2: 1 bytes after the value" },
	{ TEXT("{}}"), "byte 2: 1 bytes after the value" },
	{ TEXT("null\0"), "byte 4: 1 bytes after the value" },
	{ TEXT("\"a\"x"), "byte 3: 1 bytes after the value" },
	{ TEXT("{\"a\":1}#"), "byte 7: 1 bytes after the value" },
	{ TEXT("[1],"), "byte 3: 1 bytes after the value" },
	/* words */
	{ TEXT("True"), "byte 0: expected a value, found 'T'" },
	{ TEXT("nan"), "byte 0: expected null" },
	{ TEXT("NaN"), "byte 0: NaN is not JSON" },
	{ TEXT("[NaN]"), "byte 1: NaN is not JSON" },
	{ TEXT("Infinity"), "byte 0: Infinity is not JSON" },
	{ TEXT("-Infinity"), "byte 0: -Infinity is not a JSON number" },
	{ TEXT("undefined"), "byte 0: expected a value, found 'u'" },
	{ TEXT("fALSE"), "byte 0: expected false" },
	{ TEXT("nullx"), "byte 4: 1 bytes after" },
	{ TEXT("[truefalse]"), "byte 5: expected ',' or ']', found 'f'" },
	/* numbers */
	{ TEXT("01"), "byte 0: 01 is not a JSON number" },
	{ TEXT("-01"), "byte 0: -01 is not a JSON number" },
	{ TEXT("00"), "byte 0: 00 is not a JSON number" },
	{ TEXT("+1"), "byte 0: expected a value, found '+'" },
	{ TEXT(".5"), "byte 0: expected a value, found '.'" },
	{ TEXT("-.5"), "byte 0: -.5 is not a JSON number" },
	{ TEXT("1.e5"), "byte 0: 1.e5 is not a JSON number" },
	{ TEXT("1.5.5"), "byte 0: 1.5.5 is not a JSON number" },
	{ TEXT("1e5.5"), "byte 0: 1e5.5 is not a JSON number" },
	{ TEXT("1e1e1"), "byte 0: 1e1e1 is not a JSON number" },
	{ TEXT("0x10"), "byte 0: 0x10 is not a JSON number" },
	{ TEXT("1_000"), "byte 0: 1_000 is not a JSON number" },
	{ TEXT("1f"), "byte 0: 1f is not a JSON number" },
	{ TEXT("--1"), "byte 0: --1 is not a JSON number" },
	{ TEXT("- 1"), "byte 0: - is not a JSON number" },
	{ TEXT("[1 2]"), "byte 3: expected ',' or ']', found '2'" },
	{ TEXT("\xEF\xBC\x91"), "byte 0: expected a value, found byte 0xEF" },
	/* strings */
	{ TEXT("'a'"), "byte 0: expected a value, found '''" },
	{ TEXT("\"\n\""), "byte 1: raw control character" },
	{ TEXT("\"a\tb\""), "byte 2: raw control character" },
	{ TEXT("\"abcdefg\x1F\""), "byte 8: raw control character" },
	{ TEXT("\"a\0b\""), "byte 2: raw control character" },
	{ TEXT("\"\\a\""), "byte 1: unknown escape" },
	{ TEXT("\"\\x41\""), "byte 1: unknown escape" },
	{ TEXT("\"\\'\""), "byte 1: unknown escape" },
	{ TEXT("\"\\\0\""), "byte 1: unknown escape" },
	{ TEXT("\"\\U0041\""), "byte 1: unknown escape" },
	{ TEXT("\"\\\xC3\xA9\""), "byte 1: unknown escape" },
	{ TEXT("\"\\u\""), "byte 1: \\u needs four" },
	{ TEXT("\"\\u004\""), "byte 1: \\u needs four" },
	{ TEXT("\"\\u00g0\""), "byte 1: \\u needs four" },
	{ TEXT("\"\\u 041\""), "byte 1: \\u needs four" },
	{ TEXT("\"\\u-041\""), "byte 1: \\u needs four" },
	{ TEXT("\"\\ud800\""), "byte 1: lone surrogate" },
	{ TEXT("\"\\udfff\""), "byte 1: lone surrogate" },
	{ TEXT("\"\\udc00\\ud800\""), "byte 1: lone surrogate" },
	{ TEXT("\"\\ud800\\ud800\""), "byte 1: lone surrogate" },
	{ TEXT("\"\\ud800\\u0041\""), "byte 1: lone surrogate" },
	{ TEXT("\"\\ud800x\""), "byte 1: lone surrogate" },
	{ TEXT("\"\\ud800\\n\""), "byte 1: lone surrogate" },
	/* UTF-8: Unicode table 3-7 */
	{ TEXT("\"\x80\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xC0\x80\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xC1\xBF\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xC3\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"a\xE0\x9F\xBF\""), "byte 2: ill-formed UTF-8" },
	{ TEXT("\"\xED\xA0\x80\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xF0\x8F\xBF\xBF\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xF4\x90\x80\x80\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xF8\x88\x80\x80\x80\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xFF\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"abcdefghijk\xE2\x82\""), "byte 12: ill-formed UTF-8" },
	{ TEXT("\"\xFF\n\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xFF\\x\""), "byte 1: ill-formed UTF-8" },
	{ TEXT("\"\xFF"), "byte 1: ill-formed UTF-8" },
	{ TEXT("{\"\xFF\":1}"), "byte 2: ill-formed UTF-8" },
	/* byte order marks and other encodings (I12) */
	{ TEXT("\xEF\xBB\xBF{}"), "byte 0: a byte order mark" },
	{ TEXT("\xFF\xFE{\0}\0"), "byte 0: expected a value, found byte 0xFF" },
	{ TEXT("{\0}\0"), "byte 1: expected a key in double quotes, found byte 0x00" },
	{ TEXT(" \xEF\xBB\xBF{}"), "byte 1: expected a value, found byte 0xEF" },
	/* white space that is none */
	{ TEXT("\f1"), "byte 0: expected a value, found byte 0x0C" },
	{ TEXT("\v1"), "byte 0: expected a value, found byte 0x0B" },
	{ TEXT("\xC2\xA0"
	       "1"),
	  "byte 0: expected a value, found byte 0xC2" },
	{ TEXT("[1\f]"), "byte 2: expected ',' or ']', found byte 0x0C" },
	{ TEXT("// c\n1"), "byte 0: comments are not JSON" },
	{ TEXT("[/* c */1]"), "byte 1: comments are not JSON" },
	{ TEXT("1 // c"), "byte 2: 4 bytes after" },
	/* containers */
	{ TEXT("[,]"), "byte 1: expected a value, found ','" },
	{ TEXT("[1,]"), "byte 3: expected a value, found ']'" },
	{ TEXT("[1,,2]"), "byte 3: expected a value, found ','" },
	{ TEXT("[,1]"), "byte 1: expected a value, found ','" },
	{ TEXT("[1}"), "byte 2: expected ',' or ']', found '}'" },
	{ TEXT("[1:2]"), "byte 2: expected ',' or ']', found ':'" },
	{ TEXT("]"), "byte 0: expected a value, found ']'" },
	{ TEXT("{,}"), "byte 1: expected a key in double quotes, found ','" },
	{ TEXT("{\"a\":1,}"), "byte 7: expected a key in double quotes, found '}'" },
	{ TEXT("{\"a\":1,,\"b\":2}"), "byte 7: expected a key in double quotes, found ','" },
	{ TEXT("{\"a\" 1}"), "byte 5: expected ':', found '1'" },
	{ TEXT("{\"a\",1}"), "byte 4: expected ':', found ','" },
	{ TEXT("{\"a\":}"), "byte 5: expected a value, found '}'" },
	{ TEXT("{\"a\"}"), "byte 4: expected ':', found '}'" },
	{ TEXT("{:1}"), "byte 1: expected a key in double quotes, found ':'" },
	{ TEXT("{a:1}"), "byte 1: expected a key in double quotes, found 'a'" },
	{ TEXT("{'a':1}"), "byte 1: expected a key in double quotes, found '''" },
	{ TEXT("{1:1}"), "byte 1: expected a key in double quotes, found '1'" },
	{ TEXT("{null:1}"), "byte 1: expected a key in double quotes, found 'n'" },
	{ TEXT("{\"a\":1]"), "byte 6: expected ',' or '}', found ']'" },
	{ TEXT("{\"a\":1 \"b\":2}"), "byte 7: expected ',' or '}', found '\"'" },
	{ TEXT("{\"a\"::1}"), "byte 5: expected a value, found ':'" },
	/* duplicate keys (I03) */
	{ TEXT("{\"a\":1,\"a\":1}"), "byte 7: duplicate key \"a\"" },
	{ TEXT("{\"a\":1,\"b\":2,\"a\":3}"), "byte 13: duplicate key \"a\"" },
	{ TEXT("{\"\":1,\"\":2}"), "byte 6: duplicate key \"\"" },
	{ TEXT("{\"a\":1,\"\\u0061\":2}"), "byte 7: duplicate key \"a\"" },
	{ TEXT("{\"a/b\":1,\"a\\u002fb\":2}"), "byte 9: duplicate key \"a/b\"" },
	{ TEXT("[{\"x\":{\"a\":1,\"a\":1}}]"), "byte 13: duplicate key \"a\"" },
	{ TEXT("{\"a\\u0000b\":1,\"a\\u0000b\":2}"), "byte 14: duplicate key \"a" },
};

/* TEXT to the byte before a guard page, through json_skip and json_end. */
static int skip_text(struct json *j, struct bytes text)
{
	unsigned char *at_guard = guard_new(text.size);
	struct bytes raw;
	int result;

	if (text.size)
		memcpy(at_guard, text.data, text.size);
	json_init(j, at_guard, text.size, "t", NULL);
	result = json_skip(j, &raw) || json_end(j) ? -1 : 0;
	guard_free(at_guard);
	return result;
}

static void test_taken(void)
{
	struct json *j;

	tap_works(json_new(&j), "a reader");
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
		tap_works(skip_text(j, taken[i]), "taken: " BYTES_FMT, BYTES_ARG(taken[i]));
	json_free(j);
}

static void test_refused(void)
{
	struct json *j;
	char want[128];

	tap_works(json_new(&j), "a reader");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		snprintf(want, sizeof want, "t: %s", refused[i].error);
		tap_fails(skip_text(j, refused[i].text), ERR_FORMAT, want, "refused: %s",
			  refused[i].error);
	}
	json_free(j);
}

/* Every text that is taken, cut anywhere, is refused; but a number's head is a number. */
static void test_cut(void)
{
	struct json *j;
	size_t wrong = 0, tried = 0;

	tap_works(json_new(&j), "a reader");
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
		char last = taken[i].data[taken[i].size - 1];

		if (last != ']' && last != '}' && last != '"')
			continue;
		for (size_t n = 0; n < taken[i].size; n++, tried++)
			wrong += skip_text(j, (struct bytes){ taken[i].data, n }) == 0;
	}
	tap_ok(tried > 500, "%zu cuts tried", tried);
	tap_is_u64(wrong, 0, "every cut text is refused");
	json_free(j);
}

/* Every bracket sequence of up to 8 over []{} is judged as a matcher with a stack judges it. */
static void test_brackets(void)
{
	static const char set[4] = "[]{}";
	struct json *j;
	size_t wrong = 0;

	tap_works(json_new(&j), "a reader");
	for (unsigned size = 1; size <= 8; size++)
		for (unsigned code = 0; code < 1u << (2 * size); code++) {
			char text[8], stack[8];
			unsigned depth = 0;
			bool good = true;

			/* Inside an object a key is due, so only [ may nest, and values follow no comma. */
			for (unsigned i = 0; i < size; i++) {
				char c = text[i] = set[code >> (2 * i) & 3];

				if (c == '[' || c == '{') {
					good &= i == 0 || (text[i - 1] == '[' && depth);
					stack[depth++] = c == '[' ? ']' : '}';
				} else {
					good = good && depth && stack[depth - 1] == c;
					depth -= depth > 0;
				}
			}
			good &= depth == 0;
			wrong += (skip_text(j, (struct bytes){ text, size }) == 0) != good;
		}
	tap_is_u64(wrong, 0, "all 87,380 sequences of up to 8 brackets");
	json_free(j);
}

int main(void)
{
	tap_run(test_taken);
	tap_run(test_refused);
	tap_run(test_cut);
	tap_run(test_brackets);
	return tap_done();
}
