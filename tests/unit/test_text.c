/* The text under way: spans of characters, of what replaces them, of insertions; what tokenizers' transform does. */
#include "lib/base/err.h"
#include "lib/text/text.h"
#include "tests/tap.h"

static struct text in, out;

static void is_span(const struct text *t, size_t from, size_t to, uint32_t first, uint32_t last,
		    const char *what)
{
	struct text_span s = text_original(t, from, to);

	tap_is_u64(s.from, first, "%s: from", what);
	tap_is_u64(s.to, last, "%s: to", what);
}

static void is_text(const struct text *t, const char *want, const char *what)
{
	tap_is_bytes(((struct bytes){ t->data, t->size }), bytes_of(want), "%s", what);
}

static void test_sets_spans_of_whole_characters(void)
{
	tap_works(text_set(&in, "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80", 10, 100, true), "set");
	is_span(&in, 0, 1, 100, 101, "one byte");
	is_span(&in, 2, 3, 101, 103, "the second byte of two has the span of both");
	is_span(&in, 3, 6, 103, 106, "three bytes");
	is_span(&in, 9, 10, 106, 110, "the last of four");
	is_span(&in, 1, 8, 101, 110, "across characters");
}

static void test_setting_again_begins_anew(void)
{
	tap_works(text_set(&in, "abc", 3, 0, false), "set");
	is_text(&in, "abc", "the text");
	tap_ok(!in.tracked, "not tracked");
	tap_works(text_set(&in, "", 0, 7, true), "an empty text");
	tap_is_u64(in.size, 0, "empty");
}

static void test_refuses_offsets_past_4_gib(void)
{
	tap_fails(text_set(&in, "ab", 2, UINT32_MAX - 1, true), ERR_LIMIT, "4 GiB",
		  "ends past the last offset");
	tap_works(text_set(&in, "a", 1, UINT32_MAX - 1, true), "ends at the last offset");
	tap_works(text_set(&in, "ab", 2, SIZE_MAX - 1, false), "without offsets there is no limit");
}

/* a [é -> e] [x gone] b, then ! at the end. */
static void test_rewrites(void)
{
	struct text_rewrite w;

	tap_works(text_set(&in, "a\xC3\xA9xb", 5, 10, true), "set");
	text_rewrite_begin(&w, &in, &out);
	text_keep(&w, 1);
	text_put(&w, "e", 1, 2);
	text_drop(&w, 1);
	text_keep(&w, 1);
	text_put(&w, "!?", 2, 0);
	tap_works(text_rewrite_end(&w), "end");
	is_text(&out, "aeb!?", "the text");
	is_span(&out, 1, 2, 11, 13, "what replaces a character has its span");
	is_span(&out, 2, 3, 14, 15, "what comes after a removed one keeps its own");
	is_span(&out, 3, 4, 14, 15, "an insertion has the span of the character before");
	is_span(&out, 0, 5, 10, 15, "the whole");
}

static void test_end_keeps_the_rest(void)
{
	struct text_rewrite w;

	tap_works(text_set(&in, "abcdefghijklmnopqrstuvwxyz", 26, 0, true), "set");
	text_rewrite_begin(&w, &in, &out);
	text_drop(&w, 1);
	text_keep(&w, 3);
	text_put(&w, "_", 1, 1);
	tap_works(text_rewrite_end(&w), "end");
	is_text(&out, "bcd_fghijklmnopqrstuvwxyz", "the text");
	is_span(&out, 24, 25, 25, 26, "the last");
}

static void test_insertions_at_the_start(void)
{
	struct text_rewrite w;

	tap_works(text_set(&in, "\xC3\xA9", 2, 5, true), "set");
	text_rewrite_begin(&w, &in, &out);
	text_put(&w, "_", 1, 0);
	tap_works(text_rewrite_end(&w), "end");
	is_span(&out, 0, 1, 5, 7, "has the span of the first character");
	text_rewrite_begin(&w, &in, &out);
	text_change(&w, "_", 1, 1);
	tap_works(text_rewrite_end(&w), "end");
	is_span(&out, 0, 1, 5, 5, "as a change: the empty span");
	tap_works(text_set(&in, "", 0, 9, true), "an empty text");
	text_rewrite_begin(&w, &in, &out);
	text_put(&w, "_", 1, 0);
	tap_works(text_rewrite_end(&w), "end");
	is_span(&out, 0, 1, 9, 9, "into an empty text: the empty span");
}

static void test_several_characters_give_the_last_ones_span(void)
{
	struct text_rewrite w;

	tap_works(text_set(&in, "xab", 3, 0, true), "set");
	text_rewrite_begin(&w, &in, &out);
	text_keep(&w, 1);
	text_put(&w, "C", 1, 2);
	tap_works(text_rewrite_end(&w), "end");
	is_text(&out, "xC", "the text");
	is_span(&out, 1, 2, 2, 3, "the span of b");
}

/* NFC of e, acute, dot below: the first takes the place of e and of one more. */
static void test_changes(void)
{
	struct text_rewrite w;

	tap_works(text_set(&in, "e\xCC\x81\xCC\xA3x", 6, 0, true), "set");
	text_rewrite_begin(&w, &in, &out);
	text_change(&w, "\xE1\xBA\xB9", 3, -1);
	text_change(&w, "\xCC\x81", 2, 0);
	text_change(&w, "+", 1, 1);
	tap_works(text_rewrite_end(&w), "end");
	is_text(&out, "\xE1\xBA\xB9\xCC\x81+x", "the text");
	is_span(&out, 0, 3, 0, 1, "stands for the first");
	is_span(&out, 3, 5, 3, 5, "after the removed one");
	is_span(&out, 5, 6, 3, 5, "an insertion");
	is_span(&out, 6, 7, 5, 6, "the rest");
}

/* What is written while the room grows, many times over. */
static void test_grows(void)
{
	struct text_rewrite w;
	uint64_t sum = 0;

	tap_works(text_set(&in, "ab", 2, 0, true), "set");
	text_rewrite_begin(&w, &in, &out);
	text_keep(&w, 1);
	for (int i = 0; i < 5000; i++)
		text_put(&w, "0123456789", 1 + (size_t)i % 10, 0);
	tap_works(text_rewrite_end(&w), "end");
	tap_is_u64(out.size, 2 + 27500, "bytes");
	for (size_t i = 0; i < out.size; i++)
		sum += text_span_at(&out, i).to;
	tap_is_u64(sum, 1 + 27500 + 2, "every byte has a span");
}

/* Spans far into a document. */
static void test_wide(void)
{
	struct text_rewrite w;
	struct text part = { 0 };

	for (size_t i = 0; i < 3; i++) {
		static const uint32_t places[] = { 0x1FFFFFFC, 0x1FFFFFFD, 0xFFFFFFFC };
		uint32_t at = places[i];

		tap_works(text_set(&in, "a\xc3\xa9", 3, at, true), "set");
		text_rewrite_begin(&w, &in, &out);
		text_put(&w, "__", 2, 0);
		tap_works(text_rewrite_end(&w), "end");
		is_span(&out, 0, 1, at, at + 1, "what was put");
		is_span(&out, 3, 5, at + 1, at + 3, "what was kept");
		tap_works(text_cut(&part, &out, 3, 5), "cut");
		is_span(&part, 0, 2, at + 1, at + 3, "the part");
	}
	tap_works(text_set(&in, "a\x80", 2, 0xFFFFFFFD, true), "not UTF-8, far away");
	is_span(&in, 0, 1, 0xFFFFFFFD, 0xFFFFFFFF, "its span");
	text_free(&part);
}

/* Spans that end where the next one begins, and are longer than characters. */
static void test_chained(void)
{
	struct text_rewrite w;
	struct text part = { 0 };

	for (size_t i = 0; i < 2; i++) {
		uint32_t at = i ? 0xFFFFFF00 : 0;

		tap_works(text_set(&in, "abc", 3, at, true), "set");
		text_rewrite_begin(&w, &in, &out);
		text_rewrite_chained(&w);
		text_keep(&w, 3);
		out.narrow[2] = at + 90;
		out.end = at + 100;
		tap_works(text_rewrite_end(&w), "end");
		is_span(&out, 0, 1, at, at + 1, "as it was");
		is_span(&out, 1, 2, at + 1, at + 90, "up to the next");
		is_span(&out, 2, 3, at + 90, at + 100, "up to the end");
		tap_works(text_cut(&part, &out, 1, 2), "cut");
		is_span(&part, 0, 1, at + 1, at + 90, "the part");
		tap_works(text_cut(&part, &out, 1, 3), "cut to its end");
		is_span(&part, 1, 2, at + 90, at + 100, "the end");
		text_rewrite_begin(&w, &out, &part);
		text_put(&w, "-", 1, 0);
		tap_works(text_rewrite_end(&w), "rewritten again");
		is_span(&part, 0, 1, at, at + 1, "what was put");
		is_span(&part, 2, 3, at + 1, at + 90, "it stays");
		is_span(&part, 3, 4, at + 90, at + 100, "so does the last");
	}
	text_free(&part);
}

/* What is put before a text as it stood there has no spans of its own. */
static void test_lead(void)
{
	struct text_rewrite w;
	struct text part = { 0 };

	tap_works(text_set(&in, "\xC3\xA9z", 3, 10, true), "set");
	text_rewrite_begin(&w, &in, &out);
	tap_ok(text_rewrite_lead(&w, "__", 2), "a lead");
	tap_works(text_rewrite_end(&w), "end");
	is_text(&out, "__\xC3\xA9z", "the text");
	tap_ok(out.plain, "is plain");
	is_span(&out, 0, 1, 10, 12, "the first byte of it");
	is_span(&out, 1, 2, 10, 12, "the last byte of it");
	is_span(&out, 3, 4, 10, 12, "the first character");
	is_span(&out, 4, 5, 12, 13, "the second");
	tap_works(text_cut(&part, &out, 1, 5), "cut within it");
	is_span(&part, 0, 2, 10, 12, "a part of it");
	is_span(&part, 3, 4, 12, 13, "and the end");
	tap_works(text_cut(&part, &out, 4, 5), "cut behind it");
	is_span(&part, 0, 1, 12, 13, "the end");
	text_rewrite_begin(&w, &out, &part);
	tap_ok(!text_rewrite_lead(&w, "-", 1), "no lead before another");
	text_put(&w, "-", 1, 0);
	tap_works(text_rewrite_end(&w), "end");
	is_span(&part, 0, 3, 10, 12, "both");
	is_span(&part, 5, 6, 12, 13, "and the end");
	tap_works(text_set(&in, "a\x80", 2, 0, true), "not UTF-8");
	text_rewrite_begin(&w, &in, &out);
	tap_ok(!text_rewrite_lead(&w, "-", 1), "no lead");
	text_free(&part);
}

/* A part of a text as it stood there, and of one that was changed or is not UTF-8. */
static void test_cuts(void)
{
	struct text_rewrite w;
	struct text part = { 0 };

	tap_works(text_set(&in, "a\xc3\xa9z", 4, 10, true), "set");
	tap_works(text_cut(&part, &in, 1, 4), "its end");
	tap_is_bytes(((struct bytes){ part.data, part.size }), bytes_of("\xc3\xa9z"), "is cut");
	is_span(&part, 0, 2, 11, 13, "a character of it");
	is_span(&part, 1, 2, 11, 13, "half a character");
	is_span(&part, 2, 3, 13, 14, "the last one");
	text_rewrite_begin(&w, &in, &out);
	text_drop(&w, 1);
	text_put(&w, "long", 4, 2);
	tap_works(text_rewrite_end(&w), "end");
	tap_works(text_cut(&part, &out, 3, 5), "the end of what it became");
	is_span(&part, 0, 1, 11, 13, "a new byte");
	is_span(&part, 1, 2, 13, 14, "one that was kept");
	tap_works(text_set(&in, "a\x80\x80\x80\x80z", 6, 0, true), "not UTF-8");
	tap_works(text_cut(&part, &in, 3, 6), "its end");
	is_span(&part, 0, 1, 0, 4, "bytes behind a character");
	is_span(&part, 1, 2, 4, 5, "a byte by itself");
	text_free(&part);
}

int main(void)
{
	tap_run(test_sets_spans_of_whole_characters);
	tap_run(test_setting_again_begins_anew);
	tap_run(test_refuses_offsets_past_4_gib);
	tap_run(test_rewrites);
	tap_run(test_end_keeps_the_rest);
	tap_run(test_insertions_at_the_start);
	tap_run(test_several_characters_give_the_last_ones_span);
	tap_run(test_changes);
	tap_run(test_grows);
	tap_run(test_wide);
	tap_run(test_chained);
	tap_run(test_lead);
	tap_run(test_cuts);
	text_free(&in);
	text_free(&out);
	return tap_done();
}
