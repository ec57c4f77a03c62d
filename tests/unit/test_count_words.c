/* Documents cut into words and counted: every kind of input, hostile ones, and the same for any number of threads. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "lib/base/printable.h"
#include "lib/data/count_words.h"
#include "lib/data/counted_line.h"
#include "tests/tap.h"

static const struct pretokenizer_spec space_split = { .kind = PRETOKENIZER_WHITESPACE_SPLIT };
static const struct pretokenizer_spec byte_level = {
	.kind = PRETOKENIZER_BYTE_LEVEL,
	.byte_level = { .use_regex = true },
};

/* What a run of count_words is made with, and what it gave. */
struct job {
	const struct pretokenizer_spec *split;
	struct count_words_options o;
	int threads;
	struct count_words_totals totals;
	struct buffer words; /* `"word" count\n`, in order */
};

static void list(struct word_counts *counts, struct buffer *out)
{
	struct bytes word;
	uint64_t count;

	if (!tap_works(word_counts_begin(counts), "begin"))
		return;
	while (word_counts_next(counts, &word, &count) > 0) {
		quote_text(out, word);
		buffer_format(out, " %" PRIu64 "\n", count);
	}
	buffer_put_u8(out, 0);
}

static int run(struct job *j, const char *const *paths, size_t n)
{
	struct tokenizer_spec spec = { .pretokenizers = j->split, .n_pretokenizers = 1 };
	struct word_counts_options options = { .parts = j->threads ? j->threads : 1 };
	struct word_counts *counts;
	struct words *words;
	int result;

	j->totals = (struct count_words_totals){ 0 };
	j->o.team = NULL;
	buffer_clear(&j->words);
	if (words_new(&words, &spec) < 0 || word_counts_new(&counts, &options) < 0 ||
	    (j->threads && team_new(&j->o.team, j->threads) < 0))
		exit(1);
	result = count_words(counts, words, paths, n, &j->o, &j->totals);
	if (result == 0)
		list(counts, &j->words);
	team_free(j->o.team);
	word_counts_free(counts);
	words_free(words);
	return result;
}

static int run_bytes(struct job *j, const void *data, size_t n)
{
	const char *path = tap_file("input", data, n);

	return run(j, &path, 1);
}

static int run_text(struct job *j, const char *text)
{
	return run_bytes(j, text, strlen(text));
}

/* TEXT's words are WANT. */
static void counts_are(struct job *j, const char *text, const char *want, const char *what)
{
	if (tap_works(run_text(j, text), "%s", what))
		tap_is_text(j->words.data, want, "%s", what);
}

/* --- JSON lines --- */

static void test_json(void)
{
	struct job j = { .split = &space_split };

	counts_are(&j, "", "", "no records");
	counts_are(&j, "{\"text\":\"b a b\"}\n{\"text\":\"a\",\"source\":\"b\"}",
		   "\"a\" 2\n\"b\" 2\n", "two records, no line end after the second");
	tap_is_u64(j.totals.documents, 2, "documents");
	tap_is_u64(j.totals.bytes, 6, "bytes of documents");
	tap_is_u64(j.totals.occurrences, 4, "occurrences");
	tap_is_u64(j.totals.cut, 0, "none cut");
	counts_are(&j, "\r\n{\"text\":\"a\"}\r\n\n \n{\"text\":\"b\"}\r\n", "\"a\" 1\n\"b\" 1\n",
		   "CR LF and blank lines");
	counts_are(&j, "{\"text\":\"\"}\n{\"text\":\" \"}\n{\"text\":\"a\"}\n", "\"a\" 1\n",
		   "empty documents");
	tap_is_u64(j.totals.documents, 3, "are documents too");
	counts_are(&j, "{\"text\":\"\\ud83d\\ude00 a\\u0000b\"}",
		   "\"a\\x00b\" 1\n\"\xf0\x9f\x98\x80\" 1\n", "escapes");
	counts_are(&j, "{\"text_base64\":\"YSBi\"}", "\"a\" 1\n\"b\" 1\n", "base64");
	j.o.field = "body";
	counts_are(&j, "{\"text\":\"a\",\"body\":\"c\"}", "\"c\" 1\n", "another field");
	counts_are(&j, "{\"body_base64\":\"YSBi\"}", "\"a\" 1\n\"b\" 1\n", "its base64");
	buffer_free(&j.words);
}

static void test_json_errors(void)
{
	struct job j = { .split = &space_split };

	tap_fails(run_text(&j, "{\"text\":\"a\"}\n\n{\"txt\":\"a\"}\n"), ERR_MISSING,
		  "/input:3: has no field \"text\"", "no such field");
	tap_fails(run_text(&j, "{\"text\":\"a\"}\n{\"text\":\"\\ud83d\"}\n"), ERR_FORMAT,
		  "/input:2:", "half a character");
	tap_fails(run_text(&j, "{\"text\":\"a\"}\n{\"text\":\"a\"\n"), ERR_FORMAT,
		  "/input:2:", "cut short");
	tap_fails(run_text(&j, "{\"text_base64\":\"/w==\"}\n"), ERR_FORMAT,
		  "/input:1: byte 0: not UTF-8", "bytes that are not UTF-8");
	j.o.max_document = 12;
	tap_works(run_text(&j, "{\"text\":\"a\"}\n"), "a line as long as can be");
	tap_fails(run_text(&j, "{\"text\":\"a\"}\n{\"text\":\"ab\"}\n"), ERR_LIMIT,
		  "/input:2:", "a line that is too long");
	tap_fails(run_text(&j, "{\"txt\":\"a\"}\n{\"text\":\"ab\"}\n"), ERR_MISSING,
		  "/input:1:", "a record that fails before one that cannot be read");
	buffer_free(&j.words);
}

/* A million bytes, then 64 MiB, without a line end. */
static void test_long_lines(void)
{
	static const size_t sizes[] = { 1000000, (size_t)64 << 20 };
	struct job j = { .split = &byte_level, .threads = 2 };
	char want[64];

	for (size_t i = 0; i < 2; i++) {
		size_t n = sizes[i];
		char *line = malloc(n + 16);

		memset(line, 'x', n + 16);
		memcpy(line, "{\"text\":\"", 9);
		for (size_t at = 9 + 3; at < 9 + n; at += 4)
			line[at] = ' ';
		memcpy(line + 9 + n, "\"}", 2);
		snprintf(want, sizeof(want), "\" \" 1\n\" xxx\" %zu\n\"xxx\" 1\n", n / 4 - 1);
		if (tap_works(run_bytes(&j, line, 9 + n + 2), "a line of %zu bytes", n))
			tap_is_text(j.words.data, want, "its words");
		tap_is_u64(j.totals.bytes, n, "its bytes");
		free(line);
	}
	buffer_free(&j.words);
}

/* --- plain text --- */

static void test_text(void)
{
	struct job j = { .split = &byte_level, .o = { .kind = COUNT_WORDS_TEXT }, .threads = 2 };
	const char *paths[] = { tap_file("a", "a b\n\na", 6), tap_file("empty", "", 0),
				tap_file("c",
					 "a b\0\xff\xfe"
					 " b",
					 8) };

	if (tap_works(run(&j, paths, 3), "three files"))
		tap_is_text(j.words.data,
			    "\"\\x00\" 1\n\"\\n\" 2\n\" b\" 3\n\"a\" 3\n\"\\xff\\xfe\" 1\n",
			    "line ends, NUL and bytes that are not UTF-8");
	tap_is_u64(j.totals.documents, 3, "documents");
	tap_is_u64(j.totals.bytes, 14, "bytes");
	j.split = &space_split;
	tap_fails(run(&j, paths, 3), ERR_FORMAT, "/c: byte 4: not UTF-8", "not UTF-8");
	paths[1] = "/nonexistent/text";
	tap_fails(run(&j, paths, 3), ERR_MISSING, "/nonexistent/text", "no such file");
	j.o.max_document = 5;
	tap_fails(run(&j, paths, 1), ERR_LIMIT, "/a", "a file that is too long");
	buffer_free(&j.words);
}

/* --- counted words --- */

static void line_is(const char *line, const char *want, uint64_t want_count)
{
	struct bytes word = { 0 };
	uint64_t count = 0;

	if (!tap_works(counted_line(bytes_of(line), &word, &count), "'%s'", line))
		return;
	tap_is_bytes(word, bytes_of(want), "the word of '%s'", line);
	tap_is_u64(count, want_count, "the count of '%s'", line);
}

static void test_counted_line(void)
{
	struct bytes word;
	uint64_t count;

	line_is("the 5000000000", "the", 5000000000);
	line_is("the\t18446744073709551615", "the", UINT64_MAX);
	line_is("new york   7", "new york", 7);
	line_is(" the\t07  ", " the", 7);
	line_is("the \t7", "the ", 7);
	line_is(" \t7", " ", 7);
	line_is("the\t 7", "the", 7);
	line_is("\t\t7", "\t", 7);
	line_is("3 4", "3", 4);
	tap_fails(counted_line(bytes_of("the"), &word, &count), ERR_FORMAT,
		  "does not end in a count", "no count");
	tap_fails(counted_line(bytes_of("the7"), &word, &count), ERR_FORMAT,
		  "does not end in a count", "nothing between");
	tap_fails(counted_line(bytes_of("the -7"), &word, &count), ERR_FORMAT,
		  "does not end in a count", "a sign");
	tap_fails(counted_line(bytes_of("the 0"), &word, &count), ERR_FORMAT, "a count of 0",
		  "never");
	tap_fails(counted_line(bytes_of("the 18446744073709551616"), &word, &count), ERR_LIMIT,
		  "a count of more than 18446744073709551615", "more than 64 bits");
	tap_fails(counted_line(bytes_of("  7"), &word, &count), ERR_FORMAT, "has no word",
		  "no word");
	tap_fails(counted_line(bytes_of("7"), &word, &count), ERR_FORMAT, "has no word",
		  "a count alone");
	tap_fails(counted_line(bytes_of("\t7"), &word, &count), ERR_FORMAT, "has no word", "a TAB");
}

static void test_counted(void)
{
	struct job j = { .split = &space_split,
			 .o = { .kind = COUNT_WORDS_COUNTED },
			 .threads = 2 };

	counts_are(&j, "the 5000000000\nnew york\t2\r\n\nthe 1",
		   "\"new york\" 2\n\"the\" 5000000001\n", "words as they are, added");
	tap_is_u64(j.totals.documents, 3, "lines");
	tap_is_u64(j.totals.bytes, 14, "bytes of words");
	tap_is_u64(j.totals.occurrences, 5000000003, "occurrences");
	tap_fails(run_text(&j, "a 1\nb\n"), ERR_FORMAT, "/input:2: does not end in a count",
		  "a line without a count");
	tap_fails(run_text(&j, "a 1\nb\xff 1\n"), ERR_FORMAT, "/input:2: byte 1: not UTF-8",
		  "not UTF-8");
	tap_fails(run_text(&j, "a 18446744073709551615\na 1\n"), ERR_LIMIT, "more than",
		  "a sum past 64 bits");
	j.split = &byte_level;
	counts_are(&j, "b\xff 1\n", "\"b\\xff\" 1\n", "byte-level keeps them");
	buffer_free(&j.words);
}

/* --- long words --- */

static void test_cut(void)
{
	struct job j = { .split = &space_split, .o = { .max_word = 4 } };

	counts_are(&j, "{\"text\":\"abcd abcde abcdefgh\"}", "\"abcd\" 3\n\"e\" 1\n\"efgh\" 1\n",
		   "parts of four bytes");
	tap_is_u64(j.totals.cut, 2, "two words were cut");
	tap_is_u64(j.totals.occurrences, 5, "into four of five");
	counts_are(&j, "{\"text\":\"abc\xc3\xa4z\"}", "\"abc\" 1\n\"\xc3\xa4z\" 1\n",
		   "not within a character");
	counts_are(&j, "{\"text\":\"a\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"}",
		   "\"a\" 1\n\"\xf0\x9f\x98\x80\" 2\n", "of four bytes");
	j.o.max_word = 1;
	counts_are(&j, "{\"text\":\"a\xe2\x82\xac\xc3\xa4z\"}",
		   "\"a\" 1\n\"z\" 1\n\"\xc3\xa4\" 1\n\"\xe2\x82\xac\" 1\n",
		   "a character that is longer stays whole");
	j.split = &byte_level;
	j.o.max_word = 3;
	j.o.kind = COUNT_WORDS_COUNTED;
	counts_are(&j, "\x80\x80\x80\x80\x80\x80\x80 6\n", "\"\\x80\" 6\n\"\\x80\\x80\\x80\" 12\n",
		   "bytes that are no character");
	tap_is_u64(j.totals.cut, 6, "occurrences of words that were cut");
	buffer_free(&j.words);
}

/* --- threads --- */

#define MANY 30000

/* Records of different lengths in three files; record BAD of the second is broken, and two after it. */
static void make_files(const char *paths[3], size_t bad)
{
	struct buffer b = { 0 };

	for (size_t f = 0; f < 3; f++) {
		buffer_clear(&b);
		for (size_t i = 0; i < MANY; i++) {
			bool broken =
				f == 1 && bad && (i == bad || i == bad + 9 || i == bad + 20000);

			buffer_format(&b, "{\"%s\":\"", broken ? "nothing" : "text");
			for (size_t k = 0; k < i * 7919 % 23; k++)
				buffer_format(&b, " w%zu", (i + k * k) % 977);
			buffer_put_text(&b, "\"}\n");
		}
		paths[f] = tap_file(f == 0 ? "0" : f == 1 ? "1" : "2", b.data, b.size);
	}
	buffer_free(&b);
}

static void test_threads(void)
{
	struct job one = { .split = &byte_level }, many = { .split = &byte_level };
	const char *paths[3], *turned[3];

	make_files(paths, 0);
	turned[0] = paths[2];
	turned[1] = paths[0];
	turned[2] = paths[1];
	if (!tap_works(run(&one, paths, 3), "without a team"))
		return;
	tap_is_u64(one.totals.documents, 3 * MANY, "documents");
	for (many.threads = 1; many.threads <= 7; many.threads += 2) {
		if (!tap_works(run(&many, turned, 3), "%d threads, another order", many.threads))
			continue;
		tap_ok(strcmp(many.words.data, one.words.data) == 0, "the same words");
		tap_ok(memcmp(&many.totals, &one.totals, sizeof(one.totals)) == 0,
		       "the same totals");
	}
	buffer_free(&one.words);
	buffer_free(&many.words);
}

static void test_first_failure(void)
{
	struct job j = { .split = &byte_level };
	const char *paths[3];

	make_files(paths, 9000);
	for (j.threads = 1; j.threads <= 7; j.threads += 2)
		for (int i = 0; i < 5; i++)
			tap_fails(run(&j, paths, 3), ERR_MISSING, "/1:9001: has no field",
				  "the first of three failures, %d threads", j.threads);
	paths[2] = "/nonexistent/2";
	tap_fails(run(&j, paths, 3), ERR_MISSING, "/1:9001: has no field",
		  "also before a file that is not there");
	tap_fails(run(&j, paths + 2, 1), ERR_MISSING, "/nonexistent/2", "which fails by itself");
	buffer_free(&j.words);
}

int main(void)
{
	tap_run(test_json);
	tap_run(test_json_errors);
	tap_run(test_long_lines);
	tap_run(test_text);
	tap_run(test_counted_line);
	tap_run(test_counted);
	tap_run(test_cut);
	tap_run(test_threads);
	tap_run(test_first_failure);
	return tap_done();
}
