/*
 * tests/unit/test_json.c - the JSON reader's calls, and the writer
 *
 * The grammar has a test of its own. Here: what strings, numbers and raw bytes come out, that
 * memory stays, that wrong calls are refused, time that is linear, and damage.
 */
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/json.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

static struct json *j;

static void start(const char *text)
{
	json_init(j, text, strlen(text), "t", NULL);
}

/* --- strings --- */

static void is_string(const char *text, const char *want, size_t n)
{
	struct bytes got = { 0 };

	start(text);
	tap_works(json_string(j, &got), "string %s", text);
	tap_is_bytes(got, ((struct bytes){ want, n }), "its bytes");
	tap_works(json_end(j), "and the end");
}

static void test_strings(void)
{
	/* From shared facts about cJSON: it cuts this one at the NUL. */
	is_string("\"ab\\u0000cd\"", "ab\0cd", 5);
	is_string("\"\"", "", 0);
	is_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	/* UTF-8 of U+007F, U+0080, U+07FF, U+0800, U+FFFF, U+10000, U+10FFFF: Unicode, table 3-6. */
	is_string("\"\\u007f\\u0080\\u07ff\"", "\x7F\xC2\x80\xDF\xBF", 5);
	is_string("\"\\u0800\\uffff\"", "\xE0\xA0\x80\xEF\xBF\xBF", 6);
	is_string("\"\\ud800\\udc00\\uDBFF\\uDFFF\"", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8);
	is_string("\"1234567\\n\"", "1234567\n", 8);
	is_string("\"12345678\\n9\"", "12345678\n9", 10);
	is_string("\"\xC3\xA9\\u00e9\"", "\xC3\xA9\xC3\xA9", 4);
}

/* An escape at every place of a string of every length up to 40. */
static void test_escape_places(void)
{
	char text[64], want[64];
	size_t wrong = 0;

	for (size_t n = 1; n < 40; n++)
		for (size_t at = 0; at < n; at++) {
			struct bytes got;
			size_t k = 0;

			text[k++] = '"';
			for (size_t i = 0; i < n; i++) {
				want[i] = i == at ? '\n' : (char)('a' + i % 26);
				if (i == at)
					text[k++] = '\\';
				text[k++] = i == at ? 'n' : want[i];
			}
			text[k++] = '"';
			json_init(j, text, k, "t", NULL);
			wrong += json_string(j, &got) || json_end(j) ||
				 !bytes_equal(got, (struct bytes){ want, n });
		}
	tap_is_u64(wrong, 0, "an escape at every place of every length to 39");
}

static void test_string_memory(void)
{
	const char *text = "[\"plain\",\"a\\nb\"]";
	struct bytes plain, first, later;
	struct buffer many = { 0 };

	start(text);
	json_array(j);
	json_item(j);
	tap_works(json_string(j, &plain), "a string without escapes");
	tap_ok(plain.data == text + 2, "points into the input");

	buffer_put_text(&many, "[\"x\\ty\"");
	for (int i = 0; i < 20000; i++)
		buffer_format(&many, ",\"number\\n%d and some more text\"", i);
	buffer_put_text(&many, "]");
	json_init(j, many.data, many.size, "t", NULL);
	json_array(j);
	json_item(j);
	json_string(j, &first);
	for (int i = 0; json_item(j) > 0; i++) {
		json_string(j, &later);
		if (i == 19999)
			tap_is_bytes(later, bytes_of("number\n19999 and some more text"),
				     "the last of many");
	}
	tap_works(json_end(j), "many strings with escapes");
	tap_is_bytes(first, bytes_of("x\ty"), "the first is still there");
	buffer_free(&many);
}

/* --- numbers --- */

static void is_u64(const char *text, uint64_t want)
{
	uint64_t got = 1;

	start(text);
	tap_works(json_u64(j, &got), "u64 %s", text);
	tap_is_u64(got, want, "its value");
}

static void is_i64(const char *text, int64_t want)
{
	int64_t got = 1;

	start(text);
	tap_works(json_i64(j, &got), "i64 %s", text);
	tap_is_i64(got, want, "its value");
}

static void no_u64(const char *text)
{
	uint64_t got;

	start(text);
	tap_fails(json_u64(j, &got), ERR_FORMAT, "is not a whole number from 0", "no u64: %s",
		  text);
}

static void no_i64(const char *text)
{
	int64_t got;

	start(text);
	tap_fails(json_i64(j, &got), ERR_FORMAT, "is not a whole number of 64", "no i64: %s", text);
}

static void test_integers(void)
{
	is_u64("0", 0);
	is_u64("9007199254740993", UINT64_C(9007199254740993)); /* 2^53 + 1: no double holds it */
	is_u64("18446744073709551615", UINT64_MAX);
	no_u64("18446744073709551616");
	no_u64("18446744073709551625");
	no_u64("99999999999999999999");
	no_u64("100000000000000000000");
	no_u64("-1");
	no_u64("-0");
	no_u64("1.0");
	no_u64("1e3");
	is_i64("-0", 0);
	is_i64("9223372036854775807", INT64_MAX);
	is_i64("-9223372036854775808", INT64_MIN);
	no_i64("9223372036854775808");
	no_i64("-9223372036854775809");
	no_i64("18446744073709551616");
	no_i64("0.5");
}

static void is_f64(const char *text, double want)
{
	double got = NAN;

	start(text);
	tap_works(json_f64(j, &got), "f64 %.60s", text);
	tap_ok(memcmp(&got, &want, sizeof got) == 0, "is %a, wanted %a", got, want);
}

static void test_doubles(void)
{
	char *long_text = malloc(100020);

	is_f64("0", 0.0);
	is_f64("-0.0", -0.0);
	is_f64("0.1", 0x1.999999999999ap-4);
	is_f64("9007199254740993", 0x1p53); /* halfway: to even */
	is_f64("9007199254740993.000000001", 0x1.0000000000001p53);
	is_f64("1.7976931348623157e308", DBL_MAX);
	is_f64("2.2250738585072011e-308", 0x0.fffffffffffffp-1022); /* hung old parsers */
	is_f64("4.9e-324", 0x1p-1074);
	is_f64("1e-400", 0.0);
	is_f64("123456789012345678901234567890", 0x1.8ee90ff6c373ep96);
	/* 1 and 100,000 zeros, divided by 10^100000 again: 1. */
	long_text[0] = '1';
	memset(long_text + 1, '0', 100000);
	memcpy(long_text + 100001, "e-100000", sizeof "e-100000");
	is_f64(long_text, 1.0);
	free(long_text);

	start("[1e309]");
	json_array(j);
	json_item(j);
	tap_fails(json_f64(j, &(double){ 0 }), ERR_FORMAT,
		  "t: byte 1: 1e309 is past the range of a double", "overflow is an error");
}

/* A locale with a decimal comma, made here where the system has its source. */
static bool use_comma(void)
{
	char command[512];

	if (setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		return true;
	snprintf(command, sizeof command,
		 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", tap_folder());
	if (system(command) != 0)
		tap_note("localedef says no");
	setenv("LOCPATH", tap_folder(), 1);
	return setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
}

/* The point is a point whatever the program's locale says. */
static void test_locale(void)
{
	if (!use_comma() || localeconv()->decimal_point[0] != ',') {
		tap_skip("locale: de_DE.UTF-8 cannot be made here",
			 "numbers beside a decimal comma");
		return;
	}
	is_f64("1.5", 1.5);
	setlocale(LC_NUMERIC, "C");
}

static void test_number_text(void)
{
	struct bytes got;

	start(" -1.50E+03 ");
	tap_works(json_number(j, &got), "a number as text");
	tap_is_bytes(got, bytes_of("-1.50E+03"), "as it stands");
	tap_works(json_end(j), "and the end");
}

/* --- structure --- */

static void test_walk(void)
{
	struct bytes key, name = { 0 }, raw = { 0 };
	uint64_t sum = 0, n;
	bool yes = false;
	int got;

	start("{\"name\":\"n\", \"more\": {\"x\":[1, {\"y\":null}]} "
	      ",\"list\":[1,2,3],\"yes\":true}");
	tap_works(json_object(j), "an object");
	while ((got = json_key(j, &key)) > 0) {
		if (bytes_are(key, "name")) {
			json_string(j, &name);
		} else if (bytes_are(key, "list")) {
			json_array(j);
			while ((got = json_item(j)) > 0)
				if (json_u64(j, &n) == 0)
					sum += n;
		} else if (bytes_are(key, "yes")) {
			json_bool(j, &yes);
		} else {
			json_skip(j, &raw);
		}
	}
	tap_is_i64(got, 0, "the object ends");
	tap_works(json_end(j), "the text ends");
	tap_is_bytes(name, bytes_of("n"), "the string");
	tap_is_u64(sum, 6, "the list");
	tap_ok(yes, "the boolean");
	tap_is_bytes(raw, bytes_of("{\"x\":[1, {\"y\":null}]}"), "what was skipped, as it stood");
}

static void test_peek(void)
{
	static const enum json_type want[] = { JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER,
					       JSON_TRUE,   JSON_FALSE, JSON_NULL };
	size_t i = 0;

	start("[{},[],\"\",-1,true,false,null]");
	json_array(j);
	for (; json_item(j) > 0; i++) {
		if (i < 7)
			tap_is_i64(json_peek(j), want[i], "type %zu", i);
		tap_is_i64(json_peek(j), json_peek(j), "peeking consumes nothing");
		json_skip(j, NULL);
	}
	tap_is_u64(i, 7, "seven items");
}

static void test_types(void)
{
	struct bytes s;
	uint64_t n;
	bool b;

	start("12");
	tap_fails(json_string(j, &s), ERR_FORMAT, "t: byte 0: expected a string, found a number",
		  "type");
	start("  \"x\"");
	tap_fails(json_u64(j, &n), ERR_FORMAT, "t: byte 2: expected a number, found a string",
		  "type");
	start("null");
	tap_fails(json_object(j), ERR_FORMAT, "expected an object, found null", "type");
	start("not so");
	tap_fails(json_object(j), ERR_FORMAT, "expected an object, found 'n'", "no word of JSON");
	start("{}");
	tap_fails(json_array(j), ERR_FORMAT, "expected an array, found an object", "type");
	start("1");
	tap_fails(json_bool(j, &b), ERR_FORMAT, "expected true or false, found a number", "type");
	start("\"true\"");
	tap_fails(json_bool(j, &b), ERR_FORMAT, "expected true or false, found a string", "type");
}

/* Calls in an order that a caller must not make: an error, and no read astray. */
static void test_misuse(void)
{
	struct bytes key;

	start("[1]");
	tap_fails(json_key(j, &key), ERR_ARGUMENT, "was not read", "a key before anything");
	start("[1]");
	json_array(j);
	tap_fails(json_key(j, &key), ERR_ARGUMENT, "not in an object", "a key in an array");
	start("{\"a\":1}");
	json_object(j);
	tap_fails(json_item(j), ERR_ARGUMENT, "not in an array", "an item in an object");
	start("{\"a\":1}");
	json_object(j);
	tap_fails(json_peek(j), ERR_ARGUMENT, "no value is due", "a value where a key is due");
	start("{\"a\":1,\"b\":2}");
	json_object(j);
	json_key(j, &key);
	tap_fails(json_key(j, &key), ERR_ARGUMENT, "was not read", "a key before its value");
	start("1");
	json_skip(j, NULL);
	tap_fails(json_skip(j, NULL), ERR_ARGUMENT, "no value is due", "a value after the last");
	start("1");
	json_skip(j, NULL);
	tap_fails(json_item(j), ERR_ARGUMENT, "not in an array", "an item outside");
	start("[1]");
	json_array(j);
	tap_fails(json_end(j), ERR_ARGUMENT, "not read to its end", "the end in the middle");
}

static void test_errors(void)
{
	struct json_limits at_line = { .line = 41 };
	struct bytes s;

	json_init(j, "{\"a\":01}", 8, "data.jsonl", &at_line);
	json_object(j);
	json_key(j, &s);
	tap_fails(json_skip(j, NULL), ERR_FORMAT,
		  "data.jsonl:41: byte 5 of the line: 01 is not a JSON number", "with a line");
	err_set(ERR_IO, "something else");
	tap_fails(json_end(j), ERR_FORMAT, "data.jsonl:41: byte 5 of the line: 01 is",
		  "the first error is set again");
	tap_fails(json_fail(j, "other"), ERR_FORMAT, "01 is not",
		  "a later one does not replace it");

	start("[\"XYZ\"]");
	json_array(j);
	json_item(j);
	json_string(j, &s);
	tap_is_u64(json_offset(j), 6, "the place of the next read");
	tap_fails(json_fail(j, "dtype " BYTES_FMT, BYTES_ARG(s)), ERR_FORMAT,
		  "t: byte 6: dtype XYZ", "the caller's own error");
	tap_fails(json_item(j), ERR_FORMAT, "dtype XYZ", "sticks too");
	start("1");
	json_skip(j, NULL);
	json_fail(j, "too small");
	tap_fails(json_end(j), ERR_FORMAT, "t: byte 1: too small", "also at the end of the text");
	start("1");
	tap_works(json_skip(j, NULL), "json_init forgets it");
}

static char *nested(size_t depth, char open, char close)
{
	char *text = malloc(2 * depth);

	memset(text, open, depth);
	memset(text + depth, close, depth);
	return text;
}

static void test_depth(void)
{
	struct json_limits three = { .depth = 3 };
	char *text = nested(1000000, '[', ']');

	json_init(j, text + 1000000 - 128, 256, "t", NULL);
	tap_works(json_skip(j, NULL), "128 deep");
	tap_works(json_end(j), "and the end");
	json_init(j, text, 2000000, "t", NULL);
	tap_fails(json_skip(j, NULL), ERR_LIMIT, "t: byte 128: nested deeper than 128",
		  "a million deep");
	json_init(j, "[[[[]]]]", 8, "t", &three);
	tap_fails(json_skip(j, NULL), ERR_LIMIT, "byte 3: nested deeper than 3", "a limit of 3");
	json_init(j, "[[[]]]", 6, "t", &three);
	tap_works(json_skip(j, NULL), "3 deep with a limit of 3");
	free(text);
}

/* --- duplicate keys --- */

/* An object of N keys; the last once more when DUPLICATE. */
static void put_keys(struct buffer *b, size_t n, bool duplicate)
{
	buffer_put_text(b, "{");
	for (size_t i = 0; i < n; i++)
		buffer_format(b, "%s\"key%zu\":0", i ? "," : "", i);
	if (duplicate)
		buffer_format(b, ",\"key%zu\":0", n - 1);
	buffer_put_text(b, "}");
}

static int skip_buffer(struct buffer *b)
{
	json_init(j, b->data, b->size, "t", NULL);
	return json_skip(j, NULL) || json_end(j) ? -1 : 0;
}

static void test_duplicates(void)
{
	static const size_t counts[] = { 1, 2, 8, 15, 16, 17, 18, 100, 256, 257, 5000 };

	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		struct buffer b = { 0 };

		put_keys(&b, counts[i], false);
		tap_works(skip_buffer(&b), "%zu keys, none twice", counts[i]);
		buffer_clear(&b);
		put_keys(&b, counts[i], true);
		tap_fails(skip_buffer(&b), ERR_FORMAT, "duplicate key \"key", "%zu keys, one twice",
			  counts[i]);
		/* Tables are reused: the same keys in a sibling, and the object around, are no duplicates. */
		buffer_clear(&b);
		buffer_put_text(&b, "[");
		put_keys(&b, counts[i], false);
		buffer_put_text(&b, ",{\"key0\":");
		put_keys(&b, counts[i], false);
		buffer_put_text(&b, "},");
		put_keys(&b, counts[i], false);
		buffer_put_text(&b, "]");
		tap_works(skip_buffer(&b), "%zu keys in siblings", counts[i]);
		buffer_free(&b);
	}
}

/* The first key, not the last, is given again after many. */
static void test_duplicate_of_first(void)
{
	struct buffer b = { 0 };

	put_keys(&b, 17, false);
	b.size--;
	buffer_put_text(&b, ",\"key0\":1}");
	tap_fails(skip_buffer(&b), ERR_FORMAT, "duplicate key \"key0\"", "the first of 17");
	buffer_free(&b);
}

/* Of this thread: what else the machine does is not counted. */
static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_to_skip(struct buffer *b)
{
	double best = INFINITY;

	for (int i = 0; i < 5; i++) {
		double before = seconds_now();

		tap_works(skip_buffer(b), "%zu bytes", b->size);
		best = fmin(best, seconds_now() - before);
	}
	return best;
}

/*
 * Four times the keys take about four times as long; quadratic would be sixteen. And a large
 * object before many small ones at its depth does not make those slow.
 */
static void test_linear(void)
{
	struct buffer few = { 0 }, many = { 0 }, mixed = { 0 };
	double a, b, c;

	put_keys(&few, 50000, false);
	put_keys(&many, 200000, false);
	a = seconds_to_skip(&few);
	b = seconds_to_skip(&many);
	tap_ok(b < a * 10, "200,000 keys: %.1f times 50,000 keys", b / a);

	buffer_put_text(&mixed, "[");
	put_keys(&mixed, 200000, false);
	for (int i = 0; i < 10000; i++) {
		buffer_put_text(&mixed, ",");
		put_keys(&mixed, 20, false);
	}
	buffer_put_text(&mixed, "]");
	c = seconds_to_skip(&mixed);
	tap_ok(c < b * 10, "and 10,000 small objects after them: %.1f times that", c / b);
	buffer_free(&few);
	buffer_free(&many);
	buffer_free(&mixed);
}

/* --- writing --- */

static void test_writer(void)
{
	struct buffer b = { 0 };

	buffer_put_text(&b, "{");
	json_put_key(&b, "a");
	json_put_u64(&b, UINT64_MAX);
	json_put_key(&b, "b\n");
	json_put_i64(&b, INT64_MIN);
	json_put_key(&b, "c");
	buffer_put_text(&b, "[");
	json_put_comma(&b);
	json_put_f64(&b, 0.1);
	json_put_comma(&b);
	json_put_f32(&b, 0.1f);
	json_put_comma(&b);
	json_put_f64(&b, NAN);
	json_put_comma(&b);
	json_put_f32(&b, -INFINITY);
	json_put_comma(&b);
	json_put_string(&b, bytes_of("["));
	json_put_comma(&b);
	json_put_f64(&b, -0.0);
	buffer_put_text(&b, "]}");
	tap_works(buffer_check(&b), "writing");
	tap_is_bytes(buffer_bytes(&b),
		     bytes_of("{\"a\":18446744073709551615,\"b\\n\":-9223372036854775808,"
			      "\"c\":[0.1,0.1,null,null,\"[\",-0]}"),
		     "an object");
	buffer_free(&b);
}

static void writes(const char *from, size_t n, const char *want)
{
	struct buffer b = { 0 };

	json_put_string(&b, (struct bytes){ from, n });
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "a string written");
	buffer_free(&b);
}

static void test_writer_strings(void)
{
	writes("", 0, "\"\"");
	writes("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
	writes("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
	writes("\0\x01\x1F\x7F", 4, "\"\\u0000\\u0001\\u001f\x7F\"");
	writes("caf\xC3\xA9 \xF0\x9F\x98\x80", 10, "\"caf\xC3\xA9 \xF0\x9F\x98\x80\"");
	/* Ill-formed: each byte of it one U+FFFD, what is good stays. */
	writes("a\x80z", 3, "\"a\xEF\xBF\xBDz\"");
	writes("\xE3\x81", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
	writes("\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
	writes("\xC3\n\xFF", 3, "\"\xEF\xBF\xBD\\n\xEF\xBF\xBD\"");
}

#define LONG 300

/*
 * A text is what its bytes are one by one, whatever stands behind it: here more of the like, and at last a page that
 * cannot be read.
 */
static void test_behind(void)
{
	static const char letters[] = "aaaaaaa\"\n\\\001\x7F";
	char *text = guard_new(2 * LONG);
	struct buffer all = { 0 }, each = { 0 };
	size_t wrong = 0;

	for (size_t i = 0; i < 2 * LONG; i++)
		text[i] = letters[i * i % 37 % (sizeof letters - 1)];
	for (size_t n = 0; n < LONG; n++)
		for (size_t at = 0; at <= 2 * LONG - n; at += 7) {
			buffer_clear(&all);
			buffer_clear(&each);
			json_put_escaped(&all, (struct bytes){ text + at, n }, 2 * LONG - n - at);
			for (size_t i = 0; i < n; i++)
				json_put_escaped(&each, (struct bytes){ text + at + i, 1 }, 0);
			wrong += !bytes_equal(buffer_bytes(&all), buffer_bytes(&each));
		}
	tap_is_u64(wrong, 0, "texts with something behind them");
	buffer_free(&all);
	buffer_free(&each);
	guard_free(text);
}

#define SHORT 40

/* Every byte at every place of a short string, which nothing can be read behind, is read back as it was written. */
static void test_round_trip(void)
{
	char *room = guard_new(SHORT);
	struct buffer b = { 0 };
	size_t wrong = 0;

	for (unsigned c = 0; c < 128; c++)
		for (size_t i = 0; i < SHORT * SHORT; i++) {
			size_t n = i / SHORT + 1, at = i % SHORT;
			char *text = room + SHORT - n;
			struct bytes got;

			if (at >= n)
				continue;
			memset(text, at % 5 ? 'x' : '\n', n);
			text[at] = (char)c;
			buffer_clear(&b);
			json_put_string(&b, (struct bytes){ text, n });
			json_init(j, b.data, b.size, "t", NULL);
			wrong += json_string(j, &got) || json_end(j) ||
				 !bytes_equal(got, (struct bytes){ text, n });
		}
	tap_is_u64(wrong, 0, "what is written is read back");
	buffer_free(&b);
	guard_free(room);
}

/* --- fixtures and damage --- */

static int read_all(void *arg, const void *data, size_t size)
{
	json_init(j, data, size, "damaged", NULL);
	return json_skip(j, NULL) || json_end(j) ? -1 : 0;
}

/* Walks instead of skipping: every string is decoded, every number converted. */
static int walk_all(void *arg, const void *data, size_t size)
{
	struct bytes text, key;
	int64_t n;
	double v;
	int got;

	json_init(j, data, size, "damaged", NULL);
	if (json_object(j))
		return -1;
	while ((got = json_key(j, &key)) > 0)
		switch (json_peek(j)) {
		case JSON_STRING: json_string(j, &text); break;
		case JSON_NUMBER:
			if (key.size % 2)
				json_i64(j, &n);
			else
				json_f64(j, &v);
			break;
		default: json_skip(j, &text);
		}
	return got < 0 ? -1 : json_end(j);
}

static void test_damage(void)
{
	static const char good[] =
		"{\"__metadata__\":{\"format\":\"pt\",\"caf\xC3\xA9\":\"\\u00e9\\ud83d\\ude00\"},"
		"\"a\":-1234567890123,\"bb\":1.5e-7,\"text\":\"line\\nline\\ttab \xE2\x82\xAC\",\n"
		" \"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},\"n\":null,"
		"\"k1\":0,\"k2\":0,\"k3\":0,\"k4\":0,\"k5\":0,\"k6\":0,\"k7\":0,\"k8\":0,\"k9\":0,"
		"\"l1\":0,\"l2\":0,\"l3\":0,\"l4\":true,\"l5\":[[[[]]]]}";
	static const char second[] = "[\"a string\",[1,2,3],{\"x\":{\"y\":[]}},false,\"\\\\\"]";

	tap_works(walk_all(NULL, good, sizeof good - 1), "the good text");
	corrupt_run("json_skip on damaged text", (struct bytes){ good, sizeof good - 1 },
		    (struct bytes){ second, sizeof second - 1 }, read_all, NULL, 64 << 20);
	corrupt_run("reading damaged text", (struct bytes){ good, sizeof good - 1 },
		    (struct bytes){ second, sizeof second - 1 }, walk_all, NULL, 64 << 20);
}

static void refuses_fixture(const char *name, int code, const char *part)
{
	char path[128];
	size_t size;
	char *text;

	snprintf(path, sizeof path, "fixtures/bad/json/%s", name);
	text = tap_fixture(path, &size);
	json_init(j, text, size, name, NULL);
	tap_fails(json_skip(j, NULL) || json_end(j) ? -1 : 0, code, part, "%s", name);
	free(text);
}

static void test_fixtures(void)
{
	refuses_fixture("bom.json", ERR_FORMAT, "byte 0: a byte order mark");
	refuses_fixture("control.json", ERR_FORMAT, "byte 7: raw control character");
	refuses_fixture("deep.json", ERR_LIMIT, "byte 128: nested deeper than 128");
	refuses_fixture("duplicate.json", ERR_FORMAT, "byte 54: duplicate key \"t\"");
	refuses_fixture("duplicate-escaped.json", ERR_FORMAT, "byte 9: duplicate key \"a/b\"");
	refuses_fixture("empty.json", ERR_FORMAT, "byte 0: expected a value, found the end");
	refuses_fixture("latin1.json", ERR_FORMAT, "byte 9: ill-formed UTF-8");
	refuses_fixture("nan.json", ERR_FORMAT, "byte 5: NaN is not JSON");
	refuses_fixture("surrogate.json", ERR_FORMAT, "byte 6: lone surrogate");
	refuses_fixture("trailing.json", ERR_FORMAT, "byte 8: 1 bytes after the value");
	refuses_fixture("trailing-comma.json", ERR_FORMAT, "byte 7: expected a key");
	refuses_fixture("truncated.json", ERR_FORMAT, "byte 15: the text ends inside a string");
	refuses_fixture("utf16.json", ERR_FORMAT, "byte 0: expected a value, found byte 0xFF");
}

int main(void)
{
	tap_works(json_new(&j), "a reader");
	tap_run(test_strings);
	tap_run(test_escape_places);
	tap_run(test_string_memory);
	tap_run(test_integers);
	tap_run(test_doubles);
	tap_run(test_locale);
	tap_run(test_number_text);
	tap_run(test_walk);
	tap_run(test_peek);
	tap_run(test_types);
	tap_run(test_misuse);
	tap_run(test_errors);
	tap_run(test_depth);
	tap_run(test_duplicates);
	tap_run(test_duplicate_of_first);
	tap_run(test_linear);
	tap_run(test_writer);
	tap_run(test_writer_strings);
	tap_run(test_behind);
	tap_run(test_round_trip);
	tap_run(test_damage);
	tap_run(test_fixtures);
	json_free(j);
	return tap_done();
}
