/* tests/unit/test_scan.c - several bytes at once give what one byte at a time gives */
#include "lib/base/scan.h"

#include "lib/data/documents_parts.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

/* Every byte at every place, among bytes on either side of it. */
static void test_places(void)
{
	size_t wrong_equal = 0, wrong_most = 0, wrong_high = 0, wrong_last = 0;

	for (int c = 0; c < 256; c++)
		for (size_t at = 0; at < SCAN_WIDTH; at++) {
			unsigned char bytes[SCAN_WIDTH];
			scan_bytes v;
			uint64_t mask;

			memset(bytes, c ^ (at % 2 ? 1 : 0x80), sizeof bytes);
			bytes[at] = (unsigned char)c;
			v = scan_load(bytes);
			mask = scan_mask(scan_equal(v, (char)c));
			wrong_equal += !mask || scan_first(mask) != at || scan_count(mask) != 1;
			wrong_last += !mask || scan_last(mask) != at;
			for (int most = 0; most < 128; most++) {
				size_t want = 0;

				for (size_t i = 0; i < SCAN_WIDTH; i++)
					want += bytes[i] <= most;
				mask = scan_mask(scan_at_most(v, (unsigned char)most));
				wrong_most += scan_count(mask) != want;
				wrong_most += want == 1 && c <= most && scan_first(mask) != at;
			}
			mask = scan_high(v);
			wrong_high += scan_count(mask) !=
				      (c >= 128) + (bytes[!at] >= 128) * (SCAN_WIDTH - 1u);
		}
	tap_is_u64(wrong_equal, 0, "equal: the one byte, first");
	tap_is_u64(wrong_last, 0, "equal: the one byte, last");
	tap_is_u64(wrong_most, 0, "at most: how many, and which");
	tap_is_u64(wrong_high, 0, "past 0x7F");
}

static void test_up_to(void)
{
	unsigned char bytes[SCAN_WIDTH];
	size_t wrong = 0;

	memset(bytes, 'a', sizeof bytes);
	for (size_t at = 0; at < SCAN_WIDTH; at++) {
		uint64_t all = scan_mask(scan_equal(scan_load(bytes), 'a')), stop;

		bytes[at] = 'b';
		stop = scan_mask(scan_equal(scan_load(bytes), 'b'));
		bytes[at] = 'a';
		wrong += scan_count(scan_up_to(all, stop)) != at + 1 || scan_up_to(all, 0) != all;
	}
	tap_is_u64(wrong, 0, "up to a byte, and all without one");
}

/* As many matches in each byte as a tally holds. */
static void test_tally(void)
{
	unsigned char bytes[SCAN_WIDTH];
	scan_bytes tally = scan_none();
	uint64_t want = 0;

	for (size_t round = 0; round < 255; round++) {
		for (size_t i = 0; i < SCAN_WIDTH; i++) {
			bytes[i] = i < round % (SCAN_WIDTH + 1) || i == 0 ? 'a' : 'b';
			want += bytes[i] == 'a';
		}
		tally = scan_tally(tally, scan_equal(scan_load(bytes), 'a'));
	}
	tap_is_u64(scan_tally_sum(scan_none()), 0, "nothing tallied");
	tap_is_u64(scan_tally_sum(tally), want, "255 times");
	memset(bytes, 'a', sizeof bytes);
	tally = scan_none();
	for (size_t round = 0; round < 255; round++)
		tally = scan_tally(tally, scan_equal(scan_load(bytes), 'a'));
	tap_is_u64(scan_tally_sum(tally), 255 * SCAN_WIDTH, "255 times everywhere");
}

/* --- lines --- */

static bool is_blank(const char *p, size_t n)
{
	while (n && (*p == ' ' || *p == '\t' || *p == '\r')) {
		p++;
		n--;
	}
	return n == 0 || *p == '\n';
}

/* What full_lines promises, a line after the other. */
static bool is_full(const char *p, size_t n, size_t got, uint64_t lines)
{
	uint64_t seen = 0;
	size_t at = 0;

	while (at < got) {
		const char *end = memchr(p + at, '\n', n - at);

		if (!end || is_blank(p + at, n - at))
			return false;
		at = (size_t)(end + 1 - p);
		seen++;
	}
	return at == got && seen == lines;
}

/* Lines are left to be looked at again only near the end, before one that may be blank, or from the first on. */
static bool is_enough(const char *p, size_t n, size_t got)
{
	const char *end = got < n ? memchr(p + got, '\n', n - got) : NULL;

	return !end || is_blank(p + got, n - got) || (!got && (unsigned char)*p <= ' ') ||
	       n - (size_t)(end - p) <= 2 * SCAN_WIDTH;
}

#define LONGEST 100

static uint64_t state = 1;

static size_t below(size_t n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (size_t)(state >> 33) % n;
}

/* Texts that end where nothing can be read any more. */
static void test_full_lines(void)
{
	static const char letters[] = "abc\xC3\n\n \t\r";
	size_t wrong = 0, short_of = 0;
	uint64_t passed = 0;
	char *room = guard_new(LONGEST);

	for (int round = 0; round < 100000; round++) {
		size_t n = below(LONGEST + 1), few = 1 + below(sizeof letters - 1), got;
		char *p = room + LONGEST - n;
		uint64_t lines = 0;

		for (size_t i = 0; i < n; i++)
			p[i] = below(8) ? 'a' : letters[below(few)];
		got = full_lines(p, n, &lines);
		wrong += !is_full(p, n, got, lines);
		short_of += !is_enough(p, n, got);
		passed += lines;
	}
	guard_free(room);
	tap_is_u64(wrong, 0, "whole lines that are not blank");
	tap_is_u64(short_of, 0, "all of them but at the end");
	tap_ok(passed > 10000, "%llu lines were passed", (unsigned long long)passed);
}

int main(void)
{
	tap_run(test_places);
	tap_run(test_up_to);
	tap_run(test_tally);
	tap_run(test_full_lines);
	return tap_done();
}
