/* tests/unit/test_stop_text.c - stops over every border between pieces, beside a search in the whole text */

#include <string.h>

#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/infer/stop_text.h"
#include "tests/tap.h"

/* Where the text ends by the definition: the first byte at which a stop is whole, without the longest of those. */
static size_t end_plainly(struct bytes text, const struct bytes *stops, size_t n, int *found)
{
	*found = -1;
	for (size_t end = 1; end <= text.size && *found < 0; end++) {
		size_t longest = 0;

		for (size_t i = 0; i < n; i++)
			if (stops[i].size <= end && stops[i].size > longest &&
			    memcmp(text.data + end - stops[i].size, stops[i].data, stops[i].size) ==
				    0) {
				longest = stops[i].size;
				*found = (int)i;
			}
		if (*found >= 0)
			return end - longest;
	}
	return text.size;
}

/* TEXT in pieces of STEP bytes; whether the result is the plain one, and no byte was given that had to be taken back. */
static bool same(struct bytes text, const struct bytes *stops, size_t n, size_t step)
{
	struct stop_text *s;
	struct buffer out = { 0 };
	int want, got = 0;
	size_t end = end_plainly(text, stops, n, &want);
	bool good;

	if (stop_text_new(&s, stops, n) < 0)
		return false;
	for (size_t at = 0; at < text.size && got == 0; at += step) {
		size_t size = text.size - at < step ? text.size - at : step;

		got = stop_text_add(s, (struct bytes){ text.data + at, size }, &out);
		if (out.size > end)
			break;
	}
	stop_text_end(s, &out);
	good = got == (want >= 0) && stop_text_found(s) == want && out.size == end &&
	       (end == 0 || memcmp(out.data, text.data, end) == 0);
	buffer_free(&out);
	stop_text_free(s);
	return good;
}

static void test_borders(void)
{
	const struct bytes stops[] = { bytes_of("\n\n"), bytes_of("</end>"), bytes_of("end") };
	const char *texts[] = { "one line\nand\n\nmore",
				"text</end>more",
				"text</en",
				"bend",
				"\n",
				"",
				"</</end>",
				"a\n</e\n\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (size_t step = 1; step < 20; step++)
			if (!same(bytes_of(texts[i]), stops, 3, step))
				tap_ok(false, "text %zu in pieces of %zu", i, step);
	tap_ok(same(bytes_of("as it is"), NULL, 0, 3), "without stops nothing is held");
}

/* Texts of two letters are full of beginnings that come to nothing. */
static void test_random(void)
{
	const struct bytes sets[][3] = {
		{ bytes_of("aab"), bytes_of("abaab"), bytes_of("bbbb") },
		{ bytes_of("ab"), bytes_of("bab"), bytes_of("abaaab") },
		{ bytes_of("aaaaaab"), bytes_of("babababb"), bytes_of("bbaabbaa") },
	};
	struct random_stream r = random_at(5, 0, 0);
	size_t bad = 0, ended = 0;

	for (uint64_t i = 0; i < 3000; i++) {
		char text[24];
		int found;
		size_t n = sizeof(text);

		for (size_t k = 0; k < n; k++)
			text[k] = random_uniform53(&r, i, k) < 0.5 ? 'a' : 'b';
		bad += !same((struct bytes){ text, n }, sets[i % 3], 3, 1 + i % 7);
		end_plainly((struct bytes){ text, n }, sets[i % 3], 3, &found);
		ended += found >= 0;
	}
	tap_is_u64(bad, 0, "texts that end elsewhere");
	tap_ok(ended > 1000 && ended < 3000, "%zu of 3000 have a stop", ended);
}

static void test_held(void)
{
	const struct bytes stop = bytes_of("###");
	struct stop_text *s;
	struct buffer out = { 0 };

	tap_works(stop_text_new(&s, &stop, 1), "one stop");
	tap_is_i64(stop_text_add(s, bytes_of("a##"), &out), 0, "not whole yet");
	tap_is_bytes(buffer_bytes(&out), bytes_of("a"), "its beginning is held");
	tap_is_i64(stop_text_add(s, bytes_of("b"), &out), 0, "nor will it be");
	tap_is_bytes(buffer_bytes(&out), bytes_of("a##b"), "and comes");
	tap_is_i64(stop_text_add(s, bytes_of("#"), &out), 0, "another beginning");
	tap_is_i64(stop_text_add(s, bytes_of("##c"), &out), 1, "that becomes one");
	tap_is_i64(stop_text_add(s, bytes_of("d"), &out), 1, "nothing comes behind it");
	stop_text_end(s, &out);
	tap_is_bytes(buffer_bytes(&out), bytes_of("a##b"), "all that stood before");
	stop_text_free(s);
	buffer_free(&out);
	tap_fails(stop_text_new(&s, &(struct bytes){ "", 0 }, 1), ERR_ARGUMENT, "empty", "no text");
	stop_text_free(NULL);
}

int main(void)
{
	tap_run(test_borders);
	tap_run(test_random);
	tap_run(test_held);
	return tap_done();
}
