/* tests/unit/test_bytes.c - comparing runs of bytes, and shell patterns */
#include "lib/base/bytes.h"

#include <stdlib.h>

#include "tests/tap.h"

#define BYTES(literal) ((struct bytes){ literal, sizeof(literal) - 1 })

static const struct bytes nothing = { NULL, 0 };

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void test_compare(void)
{
	tap_is_i64(sign(bytes_compare(BYTES("a"), BYTES("b"))), -1, "a before b");
	tap_is_i64(sign(bytes_compare(BYTES("b"), BYTES("a"))), 1, "b after a");
	tap_is_i64(sign(bytes_compare(BYTES("ab"), BYTES("abc"))), -1, "a prefix comes first");
	tap_is_i64(sign(bytes_compare(BYTES("abc"), BYTES("ab"))), 1, "what starts with it after");
	tap_is_i64(bytes_compare(BYTES("abc"), BYTES("abc")), 0, "equal");
	tap_is_i64(sign(bytes_compare(BYTES("\x7f"), BYTES("\x80"))), -1, "bytes have no sign");
	tap_is_i64(sign(bytes_compare(BYTES("a\0b"), BYTES("a\0c"))), -1, "NUL ends nothing");
	tap_is_i64(bytes_compare(nothing, BYTES("")), 0, "no data is an empty run");
	tap_is_i64(sign(bytes_compare(nothing, BYTES("a"))), -1, "and comes first");
}

static void test_equal(void)
{
	tap_ok(bytes_equal(BYTES("a\0b"), BYTES("a\0b")), "equal with a NUL inside");
	tap_ok(!bytes_equal(BYTES("a\0b"), BYTES("a\0c")), "unlike after a NUL");
	tap_ok(!bytes_equal(BYTES("a"), BYTES("a\0")), "unlike in length");
	tap_ok(bytes_equal(nothing, BYTES("")), "no data equals empty");
	tap_ok(bytes_are(BYTES("abc"), "abc") && !bytes_are(BYTES("abc\0"), "abc"), "bytes_are");
	tap_ok(bytes_start_with(BYTES("abc"), "ab"), "starts with ab");
	tap_ok(bytes_start_with(BYTES("abc"), "abc"), "starts with itself");
	tap_ok(!bytes_start_with(BYTES("abc"), "abcd"), "does not start with more than itself");
	tap_ok(!bytes_start_with(BYTES("abc"), "b"), "does not start with b");
	tap_ok(bytes_end_with(BYTES("abc"), "bc"), "ends with bc");
	tap_ok(!bytes_end_with(BYTES("abc"), "zabc"), "does not end with more than itself");
	tap_ok(!bytes_end_with(BYTES("abc"), "b"), "does not end with b");
	tap_ok(bytes_start_with(nothing, "") && bytes_end_with(nothing, ""),
	       "nothing starts and ends with nothing");
	tap_ok(!bytes_start_with(nothing, "a") && !bytes_end_with(nothing, "a"), "and not with a");
}

static void test_match(void)
{
	static const struct {
		const char *name, *pattern;
		bool matches;
	} rows[] = {
		{ "", "", true },
		{ "", "*", true },
		{ "", "**", true },
		{ "", "?", false },
		{ "a", "", false },
		{ "abc", "abc", true },
		{ "abc", "ab", false },
		{ "ab", "abc", false },
		{ "abc", "a?c", true },
		{ "ac", "a?c", false },
		{ "model.layers.0.mlp", "model.*.mlp", true },
		{ ".a/b.c", "*", true },
		{ "a/b", "a?b", true },
		{ "abcabd", "*abd", true },
		{ "abcab", "*abd", false },
		{ "aXbXc", "a*b*c", true },
		{ "aXbX", "a*b*c", false },
		{ "mississippi", "m*iss*ip*", true },
		{ "mississippi", "m*iss*ipp", false },
		{ "abab", "*ab", true },
		{ "b", "[a-c]", true },
		{ "d", "[a-c]", false },
		{ "d", "[!a-c]", true },
		{ "b", "[!a-c]", false },
		{ "layers.7", "layers.[0-4789]", true },
		{ "layers.6", "layers.[0-4789]", false },
		{ "]", "[]a]", true },
		{ "a", "[]a]", true },
		{ "b", "[]a]", false },
		{ "]", "[!]]", false },
		{ "-", "[a-]", true },
		{ "-", "[-a]", true },
		{ "b", "[a-]", false },
		{ "]", "[a\\]b]", true },
		{ "b", "[a\\]b]", true },
		{ "\\", "[a\\]b]", false },
		{ "-", "[a\\-z]", true },
		{ "b", "[a\\-z]", false },
		{ "b", "[c-a]", false },
		{ "", "[a]", false },
		{ "[", "[", true },
		{ "[a", "[a", true },
		{ "a", "[a", false },
		{ "[]", "[]", true },
		{ "[!", "[!", true },
		{ "[[x", "[[?", true },
		{ "x[y", "*[*", true },
		{ "*", "\\*", true },
		{ "a", "\\*", false },
		{ "a", "\\a", true },
		{ "\\", "\\", true },
		{ "\\", "\\\\", true },
		{ "a]", "a]", true },
		{ "\xff", "[\x80-\xff]", true },
		{ "\x7f", "[\x80-\xff]", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_ok(bytes_match(bytes_of(rows[i].name), rows[i].pattern) == rows[i].matches,
		       "'%s' %s '%s'", rows[i].name, rows[i].matches ? "matches" : "does not match",
		       rows[i].pattern);
	tap_ok(bytes_match(BYTES("a\0b"), "a?b"), "? matches a NUL");
	tap_ok(bytes_match(BYTES("a\0b"), "*b"), "* goes past a NUL");
	tap_ok(!bytes_match(BYTES("a\0"), "a\0"), "a NUL is not the pattern's end");
	tap_ok(bytes_match(nothing, "*"), "no data matches *");
}

/* Backtracking over every star would take longer than the sun lasts. */
static void test_match_time(void)
{
	size_t n = 20000;
	char *name = malloc(n);
	const char *stars = "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";

	memset(name, 'a', n);
	tap_ok(!bytes_match((struct bytes){ name, n }, stars), "many stars, no match");
	name[n - 1] = 'b';
	tap_ok(bytes_match((struct bytes){ name, n }, stars), "many stars, a match at the end");
	free(name);
}

int main(void)
{
	tap_run(test_compare);
	tap_run(test_equal);
	tap_run(test_match);
	tap_run(test_match_time);
	return tap_done();
}
