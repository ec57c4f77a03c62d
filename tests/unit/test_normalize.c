/*
 * Normalizers against what `tokenizers` 0.23.3 gives (scripts/gen-fixtures-normalize): every code point alone, below
 * U+30000 with marks after it, and strings with spans. Cases A13 and A14.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/buffer.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/text/normalize.h"
#include "tests/tap.h"

#define FOLDER "fixtures/golden/normalize/"

static struct text text, scratch;
static struct bytes nmt_nfkc_map, rules_map;

/* --- the components by their names in the golden files --- */

#define BERT(clean, chinese, lower, strip)   \
 {                                           \
  .kind = NORMALIZER_BERT, .bert = {         \
	  .clean_text = (clean),             \
	  .handle_chinese_chars = (chinese), \
	  .lowercase = (lower),              \
	  .strip_accents = (strip)           \
  }                                          \
 }
#define REPLACE(what, with)                                    \
 {                                                             \
  .kind = NORMALIZER_REPLACE, .replace = {                     \
	  .pattern = { .text = { (what), sizeof(what) - 1 } }, \
	  .content = { (with), sizeof(with) - 1 }              \
  }                                                            \
 }
#define REPLACE_REGEX(what, with)                                                \
 {                                                                               \
  .kind = NORMALIZER_REPLACE, .replace = {                                       \
	  .pattern = { .is_regex = true, .text = { (what), sizeof(what) - 1 } }, \
	  .content = { (with), sizeof(with) - 1 }                                \
  }                                                                              \
 }
#define PREPEND(what)                                                \
 {                                                                   \
  .kind = NORMALIZER_PREPEND, .prepend = {(what), sizeof(what) - 1 } \
 }
#define STRIP(at_left, at_right)                                               \
 {                                                                             \
  .kind = NORMALIZER_STRIP, .strip = {.left = (at_left), .right = (at_right) } \
 }
#define PLAIN(name) \
 {                  \
  .kind = (name)    \
 }
#define PARTS_MAX 5

struct component {
	const char *name;
	size_t n;
	struct normalizer_spec specs[PARTS_MAX];
};

static struct component components[] = {
	{ "nfc", 1, { PLAIN(NORMALIZER_NFC) } },
	{ "nfd", 1, { PLAIN(NORMALIZER_NFD) } },
	{ "nfkc", 1, { PLAIN(NORMALIZER_NFKC) } },
	{ "nfkd", 1, { PLAIN(NORMALIZER_NFKD) } },
	{ "lowercase", 1, { PLAIN(NORMALIZER_LOWERCASE) } },
	{ "strip_accents", 1, { PLAIN(NORMALIZER_STRIP_ACCENTS) } },
	{ "nmt", 1, { PLAIN(NORMALIZER_NMT) } },
	{ "byte_level", 1, { PLAIN(NORMALIZER_BYTE_LEVEL) } },
	{ "bert_clean", 1, { BERT(true, false, false, STATE_FALSE) } },
	{ "bert_chinese", 1, { BERT(false, true, false, STATE_FALSE) } },
	{ "bert_accents", 1, { BERT(false, false, false, STATE_TRUE) } },
	{ "bert", 1, { BERT(true, true, true, STATE_NULL) } },
	{ "bert_cased", 1, { BERT(true, true, false, STATE_NULL) } },
	{ "strip", 1, { STRIP(true, true) } },
	{ "strip_left", 1, { STRIP(true, false) } },
	{ "strip_right", 1, { STRIP(false, true) } },
	{ "prepend", 1, { PREPEND("\xE2\x96\x81x") } },
	{ "prepend_nothing", 1, { PREPEND("") } },
	{ "replace", 1, { REPLACE(" ", "\xE2\x96\x81") } },
	{ "replace_two", 1, { REPLACE("aa", "b") } },
	{ "replace_nothing", 1, { REPLACE("", "q") } },
	{ "replace_away", 1, { REPLACE("\xCC\x81", "") } },
	{ "replace_regex", 1, { REPLACE_REGEX(" {2,}", " ") } },
	{ "replace_ends", 1, { REPLACE_REGEX("^|a*|$", "<>") } },
	{ "nmt_nfkc", 1, { PLAIN(NORMALIZER_PRECOMPILED) } },
	{ "rules", 1, { PLAIN(NORMALIZER_PRECOMPILED) } },
	{ "nfd_lowercase_strip",
	  3,
	  { PLAIN(NORMALIZER_NFD), PLAIN(NORMALIZER_LOWERCASE), PLAIN(NORMALIZER_STRIP_ACCENTS) } },
	{ "many",
	  5,
	  { PLAIN(NORMALIZER_NMT), PLAIN(NORMALIZER_NFKC), REPLACE(" ", "_"), PREPEND("_"),
	    STRIP(true, true) } },
	{ "nfkc_rules", 2, { PLAIN(NORMALIZER_NFKC), PLAIN(NORMALIZER_PRECOMPILED) } },
	{ "nmt_nfkc_one_space", 2, { PLAIN(NORMALIZER_PRECOMPILED), REPLACE_REGEX(" {2,}", " ") } },
	{ "identity", 0, { { 0 } } },
};
#define N_COMPONENTS (sizeof(components) / sizeof(components[0]))

static struct normalizer *built[N_COMPONENTS];

static void build(void)
{
	for (size_t i = 0; i < N_COMPONENTS; i++) {
		struct component *c = &components[i];

		for (size_t k = 0; k < c->n; k++)
			if (c->specs[k].kind == NORMALIZER_PRECOMPILED)
				c->specs[k].charsmap =
					strstr(c->name, "rules") ? rules_map : nmt_nfkc_map;
		if (!tap_works(normalizer_new(&built[i], c->specs, c->n), "%s", c->name))
			exit(tap_done());
	}
}

static struct normalizer *component(const char *name)
{
	for (size_t i = 0; i < N_COMPONENTS; i++)
		if (strcmp(components[i].name, name) == 0)
			return built[i];
	fprintf(stderr, "no component %s\n", name);
	exit(1);
}

static struct bytes run(const struct normalizer *n, struct bytes data, bool tracked)
{
	if (text_set(&text, data.data, data.size, 0, tracked) || normalizer_run(n, &text, &scratch))
		return (struct bytes){ NULL, SIZE_MAX };
	return (struct bytes){ text.data, text.size };
}

static void becomes(const char *name, const char *given, const char *want)
{
	tap_is_bytes(run(component(name), bytes_of(given), false), bytes_of(want), "%s", name);
}

/* --- golden files: lines of fields between tabs --- */

static char *field(char **at)
{
	char *from = *at, *end = from + strcspn(from, "\t\n");

	*at = *end ? end + 1 : end;
	*end = '\0';
	return from;
}

static uint64_t hash_add(uint64_t h, struct bytes b)
{
	for (size_t i = 0; i < b.size; i++)
		h = (h ^ (unsigned char)b.data[i]) * 0x100000001B3u;
	return h * 0x100000001B3u; /* and a NUL */
}

/* What becomes of each code point from FROM to TO with MARK (0: none) after it. */
static uint64_t hash_range(const struct normalizer *n, uint32_t from, uint32_t to, uint32_t mark)
{
	uint64_t h = 0xCBF29CE484222325u;
	char given[8];
	size_t size;

	for (uint32_t c = from; c < to; c++) {
		size = utf8_encode(c, given);
		if (!size)
			continue;
		if (mark)
			size += utf8_encode(mark, given + size);
		h = hash_add(h, run(n, (struct bytes){ given, size }, false));
	}
	return h;
}

static void test_every_code_point_alone(void)
{
	size_t size;
	char *golden = tap_fixture(FOLDER "alone.txt", &size), *at = golden;
	char previous[32] = "", want[32], got[32];
	size_t wrong = 0, lines = 0;

	while (*at) {
		const char *name = field(&at);
		uint32_t from = (uint32_t)strtoul(field(&at), NULL, 16);

		snprintf(want, sizeof(want), "%s", field(&at));
		snprintf(got, sizeof(got), "%016" PRIx64,
			 hash_range(component(name), from, from + 4096, 0));
		if (strcmp(want, got) != 0) {
			tap_note("%s: from U+%04" PRIX32, name, from);
			wrong++;
		}
		if (strcmp(previous, name) != 0)
			tap_note("%s", name);
		snprintf(previous, sizeof(previous), "%s", name);
		lines++;
	}
	free(golden);
	tap_is_u64(lines, 13 * 272, "13 components over all planes");
	tap_is_u64(wrong, 0, "blocks of 4,096 code points where the result differs");
}

static void test_marks_after_every_code_point(void)
{
	size_t size;
	char *golden = tap_fixture(FOLDER "marks.txt", &size), *at = golden;

	while (*at) {
		const char *name = field(&at);
		uint32_t mark = (uint32_t)strtoul(field(&at), NULL, 16);
		uint64_t want = strtoull(field(&at), NULL, 16);

		tap_is_u64(hash_range(component(name), 0, 0x30000, mark), want,
			   "%s with U+%04" PRIX32, name, mark);
	}
	free(golden);
}

static struct bytes from_hex(char *hex)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		hex[i] = (char)strtoul(digits, NULL, 16);
	}
	return (struct bytes){ hex, n };
}

/* The spans of TEXT's characters, as the golden file writes them. */
static void format_spans(struct buffer *out)
{
	for (size_t i = 0; i < text.size; i++)
		if ((text.data[i] & 0xC0) != 0x80)
			buffer_format(out, "%s%u-%u", out->size ? " " : "",
				      text_span_at(&text, i).from, text_span_at(&text, i).to);
}

static void check_string(const char *name, struct bytes given, struct bytes want, const char *spans)
{
	struct normalizer *n = component(name);
	size_t unchanged = normalizer_unchanged(n, given.data, given.size);
	struct buffer got = { 0 };

	tap_is_bytes(run(n, given, false), want, "%s: text", name);
	tap_ok(unchanged <= want.size && memcmp(given.data, want.data, unchanged) == 0 &&
		       (unchanged < given.size || want.size == given.size),
	       "%s: what is called unchanged is", name);
	tap_is_bytes(run(n, given, true), want, "%s: text with spans", name);
	format_spans(&got);
	tap_is_bytes(buffer_bytes(&got), bytes_of(spans), "%s: spans", name);
	buffer_free(&got);
}

static void test_strings_with_spans(void)
{
	size_t size, lines = 0;
	char *golden = tap_fixture(FOLDER "strings.txt", &size), *at = golden;

	for (; *at; lines++) {
		const char *name = field(&at);
		struct bytes given = from_hex(field(&at)), want = from_hex(field(&at));

		check_string(name, given, want, field(&at));
	}
	tap_is_u64(lines, 29 * 40, "strings");
	free(golden);
}

/* --- cases --- */

static void test_A13_normalisation_silently_rewrites_text(void)
{
	becomes("nmt_nfkc", "\xEF\xB8\xB0", "..");
	becomes("nmt_nfkc", "\xEF\xAC\x81nd", "find");
	becomes("nmt_nfkc", "\xEF\xBC\x92", "2");
	becomes("nmt_nfkc", "a\tb", "a b");
	becomes("nmt_nfkc",
		"a\xE2\x80\x8B"
		"b",
		"a b");
	becomes("nmt_nfkc", "a  b", "a  b");
	becomes("nmt_nfkc_one_space", "a  b", "a b");
	becomes("identity",
		"\xEF\xB8\xB0\xEF\xAC\x81nd\xEF\xBC\x92"
		"a\tb a\xE2\x80\x8B"
		"b  ",
		"\xEF\xB8\xB0\xEF\xAC\x81nd\xEF\xBC\x92"
		"a\tb a\xE2\x80\x8B"
		"b  ");
}

static void test_A14_the_space_mark_in_the_input(void)
{
	becomes("nmt_nfkc", "\xE2\x96\x81the", " the");
	becomes("replace", "\xE2\x96\x81the", "\xE2\x96\x81the");
	becomes("identity", "\xE2\x96\x81the", "\xE2\x96\x81the");
	becomes("byte_level", "\xE2\x96\x81the", "\xC3\xA2\xC4\xB8\xC4\xA3the");
}

/* Facts about the peer that surprise. */
static void test_unicode_versions(void)
{
	becomes("nfkc", "\xE3\x8B\xBF", "\xE3\x8B\xBF");	      /* U+32FF came in 12.1 */
	becomes("lowercase", "\xCE\x91\xCE\xA3", "\xCE\xB1\xCF\x83"); /* no final sigma */
	becomes("lowercase", "\xC4\xB0", "i\xCC\x87");
	becomes("strip_accents", "\xE0\xA4\x95\xE0\xA4\xBE\xE2\x83\x9D",
		"\xE0\xA4\x95"); /* Mc, Me */
}

/* A mark of the same class between the two keeps them apart. */
static void test_blocked_marks(void)
{
	becomes("nfc", "a\xCC\x8D\xCC\x81", "a\xCC\x8D\xCC\x81");
	becomes("nfc", "a\xCC\x96\xCC\x81", "\xC3\xA1\xCC\x96");
}

/* Conjuncts and joined pictographs are one cluster, too long to be looked up whole, so that the accent stays. */
static void test_long_clusters(void)
{
	becomes("rules", "\xE0\xA4\x95\xCC\x81", "KA");
	becomes("rules", "\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\x95\xCC\x81",
		"KA\xE0\xA5\x8DKA\xCC\x81");
	becomes("rules", "\xC2\xA9\xE2\x80\x8D\xC2\xA9\xCC\x81", "(c)\xE2\x80\x8D(c)\xCC\x81");
}

/* --- hostile --- */

static double seconds_for_marks(size_t count)
{
	struct normalizer *n = component("nfc");
	size_t size = 1 + count * 2;
	char *data = malloc(size);
	uint64_t start;

	data[0] = 'a';
	for (size_t i = 0; i < count; i++)
		memcpy(data + 1 + 2 * i, i % 2 ? "\xCC\x81" : "\xCC\x96", 2);
	start = clock_ns();
	tap_is_u64(run(n, (struct bytes){ data, size }, true).size, size - 1,
		   "a, a million marks: the first acute goes into the a");
	free(data);
	return clock_seconds(start, clock_ns());
}

static void test_a_million_marks(void)
{
	double once = seconds_for_marks(500000), twice = seconds_for_marks(1000000);

	tap_ok(twice < 10 * once + 0.5, "time grows with the length: %.3f s, %.3f s", once, twice);
}

static int open_map(const void *data, size_t size)
{
	struct normalizer_spec spec = { .kind = NORMALIZER_PRECOMPILED,
					.charsmap = { data, size } };
	struct normalizer *n = NULL;
	int result = normalizer_new(&n, &spec, 1);

	if (!result)
		result = run(n, bytes_of("abc"), false).size == SIZE_MAX ? -1 : 0;
	normalizer_free(n);
	return result;
}

static void test_damaged_character_maps(void)
{
	/* One unit: a root whose children lie far outside. */
	static const char outside[] = "\4\0\0\0\0\0\xF0\xFFx";
	/* Two units at 'a' ^ 'a' and 1: a key `a` whose value is past the texts. */
	unsigned char past[4 + 4 * 256 + 1] = { 0, 4, 0, 0 };
	unsigned char *units = past + 4;

	tap_fails(open_map("", 0), ERR_FORMAT, "size of the trie", "nothing");
	tap_fails(open_map("\0\0\0\0", 4), ERR_FORMAT, "a trie of 0 bytes", "no unit");
	tap_fails(open_map("\6\0\0\0abcdef", 10), ERR_FORMAT, "a trie of 6 bytes", "half a unit");
	tap_fails(open_map("\10\0\0\0abcd", 8), ERR_FORMAT, "trie", "cut");
	tap_fails(open_map("\4\0\0\0abcd\xFF", 9), ERR_FORMAT, "not UTF-8", "texts");
	tap_works(open_map(outside, sizeof(outside) - 1), "children outside the trie: no key");

	units[4 * 'a'] = 'a';	  /* the unit of `a`: its label, */
	units[4 * 'a' + 1] = 5;	  /* a key ends here, children at 'a' ^ 1 */
	units[4 * ('a' ^ 1)] = 9; /* the value */
	tap_fails(open_map(past, sizeof(past)), ERR_FORMAT, "byte 9 of 1",
		  "a value past the texts");
	units[4 * 'a' + 2] = 0xFF;
	tap_fails(open_map(past, sizeof(past)), ERR_FORMAT, "of 256", "a value past the trie");
}

static void test_bytes_that_are_not_utf8_do_no_harm(void)
{
	for (size_t i = 0; i < N_COMPONENTS; i++)
		for (unsigned lead = 0x80; lead < 0x100; lead++) {
			char *data = malloc(2);

			data[0] = 'a';
			data[1] = (char)lead;
			run(built[i], (struct bytes){ data, 2 }, true);
			normalizer_unchanged(built[i], data, 2);
			free(data);
		}
	tap_ok(true, "a lead byte at the end, whatever the component");
}

static void test_unchanged(void)
{
	struct normalizer *nfc = component("nfc");

	tap_is_u64(normalizer_unchanged(nfc, "plain", 5), 5, "ASCII under NFC");
	tap_is_u64(normalizer_unchanged(nfc, "caf\xC3\xA9", 5), 5, "composed text");
	tap_is_u64(normalizer_unchanged(nfc, "cafe\xCC\x81", 6), 3,
		   "the e may still change, and what is before it not");
	tap_is_u64(normalizer_unchanged(component("lowercase"), "abC", 3), 2, "lowercase");
	tap_is_u64(normalizer_unchanged(component("strip"), "ab  ", 4), 2, "strip");
	tap_is_u64(normalizer_unchanged(component("replace_two"), "xaab", 4), 1, "replace");
	tap_is_u64(normalizer_unchanged(component("prepend"), "x", 1), 0, "prepend");
	tap_is_u64(normalizer_unchanged(component("identity"), "x", 1), 1, "no step");
	tap_is_u64(normalizer_unchanged(component("nmt_nfkc"), "ab c", 4), 4, "a character map");
	tap_is_u64(normalizer_unchanged(component("nfd_lowercase_strip"), "abCd", 4), 2,
		   "the least of all steps");
}

int main(void)
{
	nmt_nfkc_map.data = tap_fixture(FOLDER "nmt_nfkc.charsmap", &nmt_nfkc_map.size);
	rules_map.data = tap_fixture(FOLDER "rules.charsmap", &rules_map.size);
	tap_run(build);
	tap_run(test_every_code_point_alone);
	tap_run(test_marks_after_every_code_point);
	tap_run(test_strings_with_spans);
	tap_run(test_A13_normalisation_silently_rewrites_text);
	tap_run(test_A14_the_space_mark_in_the_input);
	tap_run(test_unicode_versions);
	tap_run(test_blocked_marks);
	tap_run(test_long_clusters);
	tap_run(test_a_million_marks);
	tap_run(test_damaged_character_maps);
	tap_run(test_bytes_that_are_not_utf8_do_no_harm);
	tap_run(test_unchanged);
	for (size_t i = 0; i < N_COMPONENTS; i++)
		normalizer_free(built[i]);
	free((char *)nmt_nfkc_map.data);
	free((char *)rules_map.data);
	text_free(&text);
	text_free(&scratch);
	return tap_done();
}
