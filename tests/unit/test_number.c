/* tests/unit/test_number.c - numbers that people wrote, and numbers written for them */
#include "lib/base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/tap.h"

static void test_u64(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{ "0", 0 },
		{ "007", 7 },
		{ "18446744073709551615", UINT64_MAX },
		{ "8k", 8000 },
		{ "3M", 3000000 },
		{ "2G", 2000000000 },
		{ "1T", 1000000000000 },
		{ "8Ki", 8192 },
		{ "1Mi", 1048576 },
		{ "1Gi", 1073741824 },
		{ "4Ti", 4398046511104 },
		{ "1.5M", 1500000 },
		{ "0.5Ki", 512 },
		{ "0.001k", 1 },
		{ "2.0", 2 },
		{ "2.000000000000000000000000000000", 2 },
		{ "0.9990234375Ki", 1023 },
		{ "0.0000000000009094947017729282379150390625Ti", 1 },
		{ "18446744073709551.615k", UINT64_MAX },
		{ "18446744.073709551615T", UINT64_MAX },
	};
	static const char *const bad[] = {
		"",
		" 1",
		"1 ",
		"-1",
		"+1",
		"x",
		"1x",
		"1kk",
		"1K",
		"1m",
		"1ki",
		"1KI",
		"0x10",
		"1e3",
		".5k",
		"1.",
		"1.k",
		"1.5",
		"1.0001k",
		"0.0001k",
		"1.5.5k",
		"18446744073709551616",
		"99999999999999999999999",
		"18446744073709551.616k",
		"16777216Ti",
		"18446745T",
		"1,5k",
		"1_000",
		"\xd9\xa1",
	};
	uint64_t v = 77;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		v = 77;
		tap_works(number_u64(good[i].text, 0, UINT64_MAX, &v), "%s", good[i].text);
		tap_is_u64(v, good[i].value, "%s: its value", good[i].text);
	}
	v = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_fails(number_u64(bad[i], 0, UINT64_MAX, &v), ERR_ARGUMENT, "0 or more",
			  "'%s' is refused", bad[i]);
	tap_works(number_u64("1k", 1000, 2000, &v), "the lower end");
	tap_works(number_u64("2k", 1000, 2000, &v), "the upper end");
	tap_fails(number_u64("999", 1000, 2000, &v), ERR_ARGUMENT,
		  "'999' is not a whole number from 1000 to 2000", "below it");
	tap_fails(number_u64("2001", 1000, 2000, &v), ERR_ARGUMENT, "from 1000 to 2000",
		  "above it");
	tap_is_u64(v, 2000, "a refusal leaves the result alone");
}

static void test_i64(void)
{
	static const char *const bad[] = {
		"",
		"-",
		"+",
		"--1",
		"1k",
		"1.0",
		" 1",
		"1 ",
		"9223372036854775808",
		"-9223372036854775809",
		"99999999999999999999",
	};
	int64_t v = 77;

	tap_works(number_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v), "the least");
	tap_is_i64(v, INT64_MIN, "the least");
	tap_works(number_i64("9223372036854775807", INT64_MIN, INT64_MAX, &v), "the greatest");
	tap_is_i64(v, INT64_MAX, "the greatest");
	tap_works(number_i64("+5", -5, 5, &v), "a plus sign");
	tap_is_i64(v, 5, "a plus sign");
	tap_works(number_i64("-0", 0, 5, &v), "minus zero");
	tap_is_i64(v, 0, "minus zero");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_fails(number_i64(bad[i], INT64_MIN, INT64_MAX, &v), ERR_ARGUMENT,
			  "not a whole number", "'%s' is refused", bad[i]);
	tap_fails(number_i64("-6", -5, 5, &v), ERR_ARGUMENT, "from -5 to 5", "below the range");
	tap_fails(number_i64("6", -5, 5, &v), ERR_ARGUMENT, "from -5 to 5", "above the range");
	tap_is_i64(v, 0, "a refusal leaves the result alone");
}

static void test_real(void)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {
		{ "0", 0 },
		{ "3e-4", 3e-4 },
		{ "-1.5E+2", -150 },
		{ ".5", 0.5 },
		{ "5.", 5 },
		{ "+2", 2 },
		{ "1e-400", 0 },
		{ "4.9e-324", 0x1p-1074 },
		{ "1.7976931348623157e308", DBL_MAX },
		{ "0.1", 0.1 },
		{ "1e22", 1e22 },
	};
	static const char *const bad[] = {
		"",	 ".",	  "e5",	  "1e", "1e+", "-",   "nan",   "inf", "-inf", "infinity",
		"1e309", "0x1p3", "0x10", " 1", "1 ",  "1,5", "1.5.5", "1f",  "1%",   "--1",
	};
	double v = 77;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tap_works(number_real(good[i].text, -DBL_MAX, DBL_MAX, &v), "%s", good[i].text);
		tap_ok(v == good[i].value, "%s: its value, %.17g", good[i].text, v);
	}
	v = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_fails(number_real(bad[i], -DBL_MAX, INFINITY, &v), ERR_ARGUMENT, "not a number",
			  "'%s' is refused", bad[i]);
	tap_fails(number_real("1.01", 0, 1, &v), ERR_ARGUMENT, "'1.01' is not a number from 0 to 1",
		  "above the range");
	tap_fails(number_real("-1e-9", 0, 0.5, &v), ERR_ARGUMENT, "from 0 to 0.5",
		  "below the range");
	tap_ok(v == 77, "a refusal leaves the result alone");
	tap_works(number_real("0.5", 0.5, 0.5, &v), "both ends belong to the range");
}

static void test_ratio(void)
{
	static const char *const bad[] = { "",	   "%",	   "1.01", "101%", "-0.1",  "-1%",
					   "25 %", "25%%", "nan",  "1e9",  "1e-2%x" };
	double v = 77;

	tap_works(number_ratio("0.25", &v), "0.25");
	tap_ok(v == 0.25, "0.25: its value");
	tap_works(number_ratio("25%", &v), "25%%");
	tap_ok(v == 0.25, "25%%: its value");
	tap_works(number_ratio("0.5%", &v), "0.5%%");
	tap_ok(v == 0.005, "0.5%%: its value");
	tap_works(number_ratio("100%", &v), "100%%");
	tap_ok(v == 1, "100%%: its value");
	tap_works(number_ratio("35%", &v), "35%%");
	tap_ok(v == 0.35, "35%%: the double nearest to 0.35");
	tap_works(number_ratio("1", &v), "1");
	tap_works(number_ratio("0", &v), "0");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_fails(number_ratio(bad[i], &v), ERR_ARGUMENT, "from 0 to 1, or 0% to 100%",
			  "'%s' is refused", bad[i]);
}

static void test_bytes(void)
{
	static const struct {
		uint64_t n;
		const char *bytes, *count;
	} rows[] = {
		{ 0, "0 B", "0" },
		{ 999, "999 B", "999" },
		{ 1000, "1.00 kB", "1.00 k" },
		{ 1004, "1.00 kB", "1.00 k" },
		{ 1005, "1.01 kB", "1.01 k" },
		{ 9994, "9.99 kB", "9.99 k" },
		{ 9995, "10.0 kB", "10.0 k" },
		{ 12600000, "12.6 MB", "12.6 M" },
		{ 99949, "99.9 kB", "99.9 k" },
		{ 253100000, "253.1 MB", "253.1 M" },
		{ 999949, "999.9 kB", "999.9 k" },
		{ 999950, "1.00 MB", "1.00 M" },
		{ 999950000000, "1.00 TB", "1.00 T" },
		{ 7000000000000000, "7.00 PB", "7.00 P" },
		{ UINT64_MAX, "18.4 EB", "18.4 E" },
	};
	char out[NUMBER_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_is_text(number_bytes(rows[i].n, out), rows[i].bytes, "%s", rows[i].bytes);
		tap_is_text(number_count(rows[i].n, out), rows[i].count, "%s", rows[i].count);
	}
}

static void test_things(void)
{
	char out[NUMBER_TEXT];

	tap_is_text(number_things(0, "document", out), "0 documents", "none");
	tap_is_text(number_things(1, "document", out), "1 document", "one");
	tap_is_text(number_things(2, "token", out), "2 tokens", "two");
	tap_is_text(number_things(UINT64_MAX, "occurrence", out),
		    "18446744073709551615 occurrences", "the most");
}

static void test_duration(void)
{
	static const struct {
		double seconds;
		const char *text;
	} rows[] = {
		{ 0, "0.0 s" },
		{ 3.2, "3.2 s" },
		{ 59.9, "59.9 s" },
		{ 59.96, "1 min 00 s" },
		{ 65, "1 min 05 s" },
		{ 250, "4 min 10 s" },
		{ 3599.4, "59 min 59 s" },
		{ 3599.6, "1 h 00 min" },
		{ 7500, "2 h 05 min" },
		{ 360000, "100 h 00 min" },
		{ -1, "?" },
		{ NAN, "?" },
		{ INFINITY, "?" },
		{ 9e14, "250000000000 h 00 min" },
	};
	char out[NUMBER_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_is_text(number_duration(rows[i].seconds, out), rows[i].text, "%g seconds",
			    rows[i].seconds);
}

/*
 * Shortest digits as Python's repr gives them for f64 and NumPy for f32. The powers of two 2^-44 (f64),
 * 2^-96, 2^87 and 2^90 (f32) are where rounding to their number of digits gives another value: below a
 * power of two the gap is half as wide as above it.
 */
static void test_shortest(void)
{
	static const struct {
		double v;
		const char *text;
	} f64[] = {
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 1.0, "1" },
		{ -100.0, "-100" },
		{ 0.1, "0.1" },
		{ 0.3, "0.3" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1.0 / 3.0, "0.3333333333333333" },
		{ 123456.789, "123456.789" },
		{ 0x1p-44, "5.684341886080802e-14" },
		{ 9007199254740992.0, "9007199254740992" },
		{ 9007199254740994.0, "9007199254740994" },
		{ 1e16, "1e16" },
		{ 1e15, "1000000000000000" },
		{ 0.0001, "0.0001" },
		{ 0.00001, "1e-5" },
		{ 1e22, "1e22" },
		{ 1e23, "1e23" },
		{ 5e-324, "5e-324" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ -DBL_MAX, "-1.7976931348623157e308" },
		{ INFINITY, "inf" },
		{ -INFINITY, "-inf" },
		{ NAN, "nan" },
		{ -NAN, "nan" },
	};
	static const struct {
		float v;
		const char *text;
	} f32[] = {
		{ 0.1f, "0.1" },
		{ -0.0f, "-0" },
		{ 16777216.0f, "16777216" },
		{ 33554432.0f, "33554432" },
		{ 1.0f / 3.0f, "0.33333334" },
		{ 0x1.99999cp-4f, "0.10000001" },
		{ FLT_MAX, "3.4028235e38" },
		{ FLT_MIN, "1.1754944e-38" },
		{ 0x1p-149f, "1e-45" },
		{ -INFINITY, "-inf" },
		{ NAN, "nan" },
		{ 0x1p-96f, "1.2621775e-29" },
		{ 0x1p87f, "1.5474251e26" },
		{ 0x1p90f, "1.2379401e27" },
	};
	char out[NUMBER_TEXT];

	for (size_t i = 0; i < sizeof(f64) / sizeof(f64[0]); i++)
		tap_is_text(number_f64(f64[i].v, out), f64[i].text, "f64 %s", f64[i].text);
	for (size_t i = 0; i < sizeof(f32) / sizeof(f32[0]); i++)
		tap_is_text(number_f32(f32[i].v, out), f32[i].text, "f32 %s", f32[i].text);
}

/* Digits from the first that is not 0 to the last, before an exponent. */
static int significant(const char *text)
{
	int n = 0, last = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (*text == '0' && n == 0))
			continue;
		n++;
		last = *text == '0' ? last : n;
	}
	return last;
}

/* Values of every exponent: each reads back, and printf with one digit less never does. */
static void test_round_trip(void)
{
	char out[NUMBER_TEXT], shorter[64];
	uint32_t bad = 0, long_f32 = 0, long_f64 = 0;
	float f;
	double d;

	for (uint64_t bits = 1; bits < 0x7F800000; bits += 26003) {
		uint32_t low = (uint32_t)bits;

		memcpy(&f, &low, sizeof(f));
		number_f32(f, out);
		bad += strtof(out, NULL) != f;
		snprintf(shorter, sizeof(shorter), "%.*e", significant(out) - 2, (double)f);
		long_f32 += significant(out) > 1 && strtof(shorter, NULL) == f;
	}
	for (uint64_t bits = 1; bits < 0x7FF0000000000000; bits += 0x00018A6E32246C99) {
		memcpy(&d, &bits, sizeof(d));
		number_f64(d, out);
		bad += strtod(out, NULL) != d;
		snprintf(shorter, sizeof(shorter), "%.*e", significant(out) - 2, d);
		long_f64 += significant(out) > 1 && strtod(shorter, NULL) == d;
	}
	tap_is_u64(bad, 0, "each reads back as itself");
	tap_is_u64(long_f32, 0, "no f32 has a shorter decimal");
	tap_is_u64(long_f64, 0, "no f64 has a shorter decimal");
}

/* A locale with a decimal comma, made in the test's folder. False where that cannot be. */
static bool set_german(void)
{
	char command[4200];

	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 '%s' >'%s' 2>&1",
		 tap_path("de_DE.UTF-8"), tap_path("log"));
	return system(command) == 0 && setenv("LOCPATH", tap_folder(), 1) == 0 &&
	       setlocale(LC_ALL, "de_DE.UTF-8");
}

static void test_locale(void)
{
	char out[NUMBER_TEXT];
	double v = 0;

	if (!set_german()) {
		tap_skip("locale: localedef made none with a decimal comma", "numbers in a locale");
		return;
	}
	snprintf(out, sizeof(out), "%.1f", 1.5);
	tap_is_text(out, "1,5", "the locale has a comma");
	tap_works(number_real("1.5", 0, 2, &v), "1.5 is read all the same");
	tap_ok(v == 1.5, "whole");
	tap_fails(number_real("1,5", 0, 2, &v), ERR_ARGUMENT, "not a number", "1,5 is not");
	tap_works(number_ratio("2.5%", &v), "2.5%% is read");
	tap_ok(v == 0.025, "whole");
	tap_is_text(number_f64(1.5, out), "1.5", "and 1.5 is written");
	tap_is_text(number_duration(1.5, out), "1.5 s", "in a duration too");
	tap_is_text(number_bytes(1500, out), "1.50 kB", "and in a size");
	snprintf(out, sizeof(out), "%.1f", 1.5);
	tap_is_text(out, "1,5", "the program keeps its locale");
	setlocale(LC_ALL, "C");
}

int main(void)
{
	tap_run(test_u64);
	tap_run(test_i64);
	tap_run(test_real);
	tap_run(test_ratio);
	tap_run(test_bytes);
	tap_run(test_things);
	tap_run(test_duration);
	tap_run(test_shortest);
	tap_run(test_round_trip);
	tap_run(test_locale);
	return tap_done();
}
