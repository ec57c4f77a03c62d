/*
 * tests/unit/test_regex.c - patterns of Oniguruma and fancy-regex, run by PCRE2
 *
 * What each pattern matches was seen from tokenizers 0.23.3 and tiktoken 0.14.0.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/text/regex.h"
#include "tests/tap.h"

/* All matches of PATTERN in TEXT that are not empty, each in < >; or the error's text. */
static const char *matches(const char *pattern, enum regex_dialect dialect, const char *text)
{
	static struct buffer b;
	struct bytes t = bytes_of(text);
	struct regex *r = NULL;
	struct regex_scratch *s = NULL;
	size_t from = 0, begin, end;

	buffer_clear(&b);
	if (regex_new(&r, bytes_of(pattern), dialect) || regex_scratch_new(&s)) {
		buffer_put_text(&b, err_text());
	} else {
		while (from <= t.size && regex_find(r, s, t, from, &begin, &end) == 1) {
			if (end > begin) {
				buffer_put_text(&b, "<");
				buffer_put(&b, text + begin, end - begin);
				buffer_put_text(&b, ">");
			}
			from = end > begin ? end : end + 1;
			while (from < t.size && (text[from] & 0xC0) == 0x80)
				from++;
		}
	}
	buffer_put_u8(&b, 0);
	regex_free(r);
	regex_scratch_free(s);
	return b.data;
}

struct seen {
	const char *pattern, *text;
	const char *onig, *fancy; /* NULL: refused, or not asked */
};

static const struct seen cases[] = {
	{ "a{2}+", "aaaaa", "<aaaa>", "<aa><aa>" },
	{ "a{1,3}+a", "aaaa", "<aaaa>", "<aaaa>" },
	{ "a{2}?", "aaaa", "<aa><aa>", "<aa><aa>" },
	{ "a{,2}", "aaa", "<aa><a>", "<aa><a>" },
	{ "a{1", "aa{1", "<a{1>", "<a{1>" },
	{ "a{x}", "a{x}", "<a{x}>", "<a{x}>" },
	{ "a**", "aaa", "<aaa>", NULL },
	{ "a++a", "aaa", "", "" },
	{ "^a", "a\na", "<a><a>", "<a>" },
	{ "a$", "a\na", "<a><a>", "<a>" },
	{ "(?m).", "a\n", "<a><\n>", "<a>" },
	{ "(?m)^a", "a\na", "<a><a>", "<a><a>" },
	{ "(?s).", "a\n", NULL, "<a><\n>" },
	{ ".", "\r\n\xE2\x80\xA8", "<\r><\xE2\x80\xA8>", "<\r><\xE2\x80\xA8>" },
	{ "a\\Z", "a\na\n", "<a>", NULL },
	{ "a\\z", "a\na\n", "", "" },
	{ "\\h+", "12af xyz \t", "<12af>", "<12af>" },
	{ "\\H", "12g", "<g>", "<g>" },
	{ "(?i:s)", "sS\xC5\xBFt", "<s><S><\xC5\xBF>", "<s><S><\xC5\xBF>" },
	{ "(?i:k)", "kK\xE2\x84\xAA", "<k><K><\xE2\x84\xAA>", "<k><K><\xE2\x84\xAA>" },
	{ "(?i:[^s])", "sS\xC5\xBFt", "<t>", "<t>" },
	{ "(?i)[a-z]", "\xC5\xBF\xE2\x84\xAA", "<\xC5\xBF><\xE2\x84\xAA>",
	  "<\xC5\xBF><\xE2\x84\xAA>" },
	{ "(?i)\\p{Lu}", "aA", "<A>", "<a><A>" },
	{ "(?i)[^\\p{Lu}]", "aA1", "<1>", "<1>" },
	{ "(?i)[[:upper:]]", "aA", NULL, "<a><A>" },
	{ "a(?i)b|c", "aBaCcC", "<aB><aC>", "<aB><C><c><C>" },
	{ "(?-i)a", "A", "", "" },
	{ "[a-c&&b-d]", "abcd", "<b><c>", "<b><c>" },
	{ "[^a-c&&b-d]", "abcde", "<a><d><e>", "<a><d><e>" },
	{ "[a-z&&[^aeiou]]", "abcde", "<b><c><d>", "<b><c><d>" },
	{ "[[a-c][x-z]]", "axm", "<a><x>", "<a><x>" },
	{ "[a[^b]]", "abc", "<a><c>", "<a><c>" },
	{ "[^a[^b]]", "abc", "<b>", "<b>" },
	{ "[]a]", "a]", "<a><]>", "<a><]>" },
	{ "[^]a]", "a]b", "<b>", "<b>" },
	{ "[a-c-e]", "ab-e", "<a><b><-><e>", "<a><b><-><e>" },
	{ "[a&&]", "a&", "", "" },
	{ "[^\\S\\n]", "a \n", "< >", "< >" },
	{ "[\\S\\s]", "a \n", "<a>< ><\n>", "<a>< ><\n>" },
	{ "\\u0041\\x{42}\\x43", "ABC", "<ABC>", "<ABC>" },
	{ "\\u{41}", "A", NULL, "<A>" },
	{ "\\e\\a\\f\\v\\t", "\033\a\f\v\t", "<\033\a\f\v\t>", "<\033\a\f\v\t>" },
	{ "\\p{^L}\\P{^L}", "1a", "<1a>", "<1a>" },
	{ "\\p{ l e-tter}", "a1", "<a>", "<a>" },
	{ "\\pL", "a1", NULL, "<a>" },
	{ "\\p{sc=Latin}", "a1", NULL, "<a>" },
	{ "\\p{Han}",
	  "\xE6\x97\xA5"
	  "a",
	  "<\xE6\x97\xA5>", "<\xE6\x97\xA5>" },
	{ "[[:alnum:]]", "\xC3\xA9!", "<\xC3\xA9>", "" },
	{ "[[:^alpha:]]", "a1", "<1>", "<1>" },
	{ "\\w", "\xC2\xB2", "<\xC2\xB2>", "" }, /* a quirk of Oniguruma: U+00B2 */
	{ "\\ba",
	  "a \xE2\x80\x8D"
	  "a",
	  "<a><a>", "<a>" },
	{ "\\Bb", "ab b", "<b>", "<b>" },
	{ "(?x) a b # c", "ab", "<ab>", "<ab>" },
	{ "(?#hi)a", "a", "<a>", "<a>" },
	{ "(?<x>a)", "a", "<a>", "<a>" },
	{ "(?>a+)a", "aaa", "", "" },
	{ "(?<=ab|c)d", "abd cd", "<d><d>", "<d><d>" },
	{ "(?<!a)d", "ad bd", "<d>", "<d>" },
	{ "\\s+(?!\\S)", "a   b", "<  >", "<  >" },
	{ "(?:a|b)*?c", "abc", "<abc>", "<abc>" },
	{ "a|", "ba", "<a>", "<a>" },
	{ "", "ab", "", "" },
	/* U+1C89, a letter since Unicode 16: the system's PCRE2 may not know it. */
	{ "\\p{Lu}", "\xE1\xB2\x89", "<\xE1\xB2\x89>", "<\xE1\xB2\x89>" },
};

static void test_as_seen(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (cases[i].onig)
			tap_is_text(matches(cases[i].pattern, REGEX_ONIGURUMA, cases[i].text),
				    cases[i].onig, "Oniguruma: %s", cases[i].pattern);
		if (cases[i].fancy)
			tap_is_text(matches(cases[i].pattern, REGEX_FANCY, cases[i].text),
				    cases[i].fancy, "fancy-regex: %s", cases[i].pattern);
	}
}

static int translate(const char *pattern, enum regex_dialect dialect)
{
	struct buffer b = { 0 };
	int result = regex_translate(&b, bytes_of(pattern), dialect);

	buffer_free(&b);
	return result;
}

static void refused(const char *pattern, enum regex_dialect dialect, enum err_code code,
		    const char *part)
{
	tap_fails(translate(pattern, dialect), code, part, "%s", pattern);
}

static void test_refused(void)
{
	refused("ab\\K", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 2: the escape \\K");
	refused("a(?~b)", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 1: a group of this kind");
	refused("(?s).", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 0");
	refused("(a)\\1", REGEX_FANCY, ERR_UNSUPPORTED, "byte 3: the escape \\1");
	refused("a\\p{Foo}", REGEX_FANCY, ERR_UNSUPPORTED, "byte 1: the property foo");
	refused("\\xE3\\x81", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 0");
	refused("[a-z--b]", REGEX_FANCY, ERR_UNSUPPORTED, "a set taken from a set");
	refused("[[:foo:]]", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 1");
	/* Oniguruma takes U+00DF for ss there. */
	refused("(?i:ss)", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 5");
	refused("(?i:\xC3\x9F)", REGEX_ONIGURUMA, ERR_UNSUPPORTED, "byte 4");
	refused("*a", REGEX_FANCY, ERR_FORMAT, "byte 0: nothing to repeat");
	refused("(a", REGEX_FANCY, ERR_FORMAT, "( without )");
	refused("a)", REGEX_FANCY, ERR_FORMAT, "byte 1: ) without (");
	refused("[a", REGEX_FANCY, ERR_FORMAT, "[ without ]");
	refused("\\", REGEX_FANCY, ERR_FORMAT, "byte 0");
	refused("a\xFF", REGEX_FANCY, ERR_FORMAT, "byte 1: not UTF-8");
	refused("a{100001}", REGEX_FANCY, ERR_LIMIT, "repetitions");
	refused("\\x{d800}", REGEX_FANCY, ERR_FORMAT, "no code point");
}

static void test_hostile(void)
{
	struct buffer b = { 0 };
	struct regex *r = NULL;
	struct regex_scratch *s = NULL;
	size_t begin, end;

	for (int i = 0; i < 10000; i++)
		buffer_put_text(&b, "(");
	tap_fails(regex_new(&r, buffer_bytes(&b), REGEX_FANCY), ERR_LIMIT, "too deep",
		  "10,000 groups");
	memset(b.data, '[', b.size);
	tap_fails(regex_new(&r, buffer_bytes(&b), REGEX_FANCY), ERR_LIMIT, "too deep",
		  "10,000 sets");
	tap_fails(regex_new(&r, bytes_of("(?:(?:(?:abc){1000}){1000}){1000}"), REGEX_FANCY),
		  ERR_LIMIT, "too large", "1000 x 1000 x 1000");

	/* (a|aa)+[bd] tries a number of ways that grows with the power of the length. */
	memset(b.data, 'a', b.size);
	tap_works(regex_new(&r, bytes_of("(?:a|aa)+[bd]"), REGEX_FANCY), "compiles");
	tap_works(regex_scratch_new(&s), "scratch");
	tap_fails(regex_find(r, s, (struct bytes){ b.data, 60 }, 0, &begin, &end), ERR_LIMIT,
		  "a match takes too much", "a match without end is an error");
	regex_free(r);
	r = NULL;

	/* A match of 10,000 rounds of a group goes past the JIT's first stack. */
	tap_works(regex_new(&r, bytes_of("(?:a|b)+"), REGEX_FANCY), "compiles");
	tap_is_i64(regex_find(r, s, buffer_bytes(&b), 0, &begin, &end), 1, "a long match");
	tap_is_u64(end, b.size, "is whole");
	regex_free(r);
	regex_scratch_free(s);
	buffer_free(&b);
}

/* A17: the same text as a literal and as a regular expression; this is the second. */
static void test_A17_regex(void)
{
	tap_is_text(matches("\\s+", REGEX_ONIGURUMA, "a b"), "< >", "Regex \\s+ finds the space");
	tap_is_text(matches("\\\\s\\+", REGEX_ONIGURUMA, "a\\s+b"), "<\\s+>",
		    "escaped, its own text");
}

/* tokenizers 0.23.3: U+00B2 is of \\w and \\p{Word}, but not between brackets. */
static void test_word_in_brackets(void)
{
	tap_is_text(matches("\\w+|[^\\w\\s]+", REGEX_ONIGURUMA, "|\xc2\xb2"), "<|\xc2\xb2>",
		    "[^\\w] has it");
	tap_is_text(matches("[\\w]", REGEX_ONIGURUMA, "\xc2\xb2"), "", "[\\w] has not");
	tap_is_text(matches("[\\p{Word}]", REGEX_ONIGURUMA, "\xc2\xb2"), "", "nor [\\p{Word}]");
	tap_is_text(matches("\\w", REGEX_ONIGURUMA, "\xc2\xb2"), "<\xc2\xb2>", "\\w has it");
	tap_is_text(matches("\\p{Word}", REGEX_ONIGURUMA, "\xc2\xb2"), "<\xc2\xb2>",
		    "\\p{Word} too");
}

int main(void)
{
	tap_run(test_word_in_brackets);
	tap_run(test_as_seen);
	tap_run(test_refused);
	tap_run(test_hostile);
	tap_run(test_A17_regex);
	return tap_done();
}
