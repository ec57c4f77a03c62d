/* tests/unit/test_err.c - the thread's error: its code, its line, and what no line may hold */
#include "lib/base/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "tests/tap.h"

static void test_set(void)
{
	tap_is_i64(err_set(ERR_LIMIT, "f: byte %d: %s", 24, "too long"), -1, "err_set returns -1");
	tap_is_text(err_text(), "f: byte 24: too long", "the text as formatted");
	tap_is_i64(err_last(), ERR_LIMIT, "the code");
	err_set(ERR_IO, "g: %s", err_text());
	tap_is_text(err_text(), "g: f: byte 24: too long", "the old text may be an argument");
	tap_is_i64(err_set(ERR_IO, "%s", ""), -1, "an empty text is set too");
	tap_is_text(err_text(), "", "and is empty");
}

static void test_prefix(void)
{
	err_set(ERR_MISSING, "tensor x: not there");
	tap_is_i64(err_prefix("%s", "model.gguf"), -1, "err_prefix returns -1");
	tap_is_text(err_text(), "model.gguf: tensor x: not there", "the place comes first");
	tap_is_i64(err_last(), ERR_MISSING, "the code stays");
	err_set(ERR_MISSING, "\x01");
	err_prefix("a");
	err_prefix("b");
	tap_is_text(err_text(), "b: a: \\x01", "an escape is not escaped again");
}

static void test_system(void)
{
	errno = ENOSPC;
	tap_is_i64(err_system("out/%s", "x"), -1, "err_system returns -1");
	tap_is_text(err_text(), "out/x: No space left on device", "the system's reason comes last");
	tap_is_i64(err_last(), ERR_IO, "its code is ERR_IO");
	tap_is_i64(errno, ENOSPC, "errno stays");
	tap_is_i64(err_errno(), ENOSPC, "and is in the error");
	err_prefix("y");
	tap_is_i64(err_errno(), ENOSPC, "behind a prefix too");
	errno = 123456;
	err_system("x");
	tap_ok(strstr(err_text(), "123456"), "a number without a text is told as a number");
	tap_is_i64(err_memory(4096), -1, "err_memory returns -1");
	tap_is_text(err_text(), "out of memory: 4096 bytes refused", "the size that was refused");
	tap_is_i64(err_last(), ERR_MEMORY, "its code is ERR_MEMORY");
}

static void test_save(void)
{
	struct err_saved saved;

	errno = EDQUOT;
	err_system("x");
	err_save(&saved);
	err_set(ERR_FORMAT, "y");
	tap_is_i64(err_errno(), 0, "not of the system");
	tap_is_i64(err_restore(&saved), -1, "put back");
	tap_ok(strncmp(err_text(), "x: ", 3) == 0, "the text");
	tap_is_i64(err_last(), ERR_IO, "the code");
	tap_is_i64(err_errno(), EDQUOT, "the number");
}

/* Unicode 15, table 3-7 says what is well-formed; the rest is what drives a terminal. */
static void test_unprintable(void)
{
	static const struct {
		const char *raw, *clean, *what;
	} rows[] = {
		{ "a b~", "a b~", "ASCII" },
		{ "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82",
		  "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", "two, three and four bytes" },
		{ "a\x1b[2J", "a\\x1b[2J", "ESC" },
		{ "a\nb\rc\td", "a\\x0ab\\x0dc\\x09d", "line feed, return, tab" },
		{ "\x01\x1f\x7f", "\\x01\\x1f\\x7f", "the ends of C0, and DEL" },
		{ "\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0",
		  "C1, and what follows it" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9",
		  "U+2028 and U+2029" },
		{ "\xe2\x80\xaa\xe2\x80\xae", "\\xe2\\x80\\xaa\\xe2\\x80\\xae",
		  "U+202A and U+202E" },
		{ "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9",
		  "U+2066 and U+2069" },
		{ "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa",
		  "their neighbours U+2027, U+202F, U+206A stay" },
		{ "\x80\xbf\xff\xfe", "\\x80\\xbf\\xff\\xfe", "bytes that begin nothing" },
		{ "\xc0\xaf\xe0\x80\xaf", "\\xc0\\xaf\\xe0\\x80\\xaf", "overlong forms" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "a surrogate" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "past U+10FFFF" },
		{ "\xe2\x82", "\\xe2\\x82", "cut at the end" },
		{ "\xe2\x82x", "\\xe2\\x82x", "cut before a letter" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err_set(ERR_FORMAT, "%s", rows[i].raw);
		tap_is_text(err_text(), rows[i].clean, "%s", rows[i].what);
	}
}

/* A text of UNITS times UNIT between a place and a reason. */
static void set_long(const char *unit, int units)
{
	static char middle[9000];
	size_t at = 0;

	for (int i = 0; i < units; i++)
		at += (size_t)snprintf(middle + at, sizeof(middle) - at, "%s", unit);
	err_set(ERR_IO, "place %s reason", middle);
}

static void test_long(void)
{
	size_t n;

	set_long("x", ERR_TEXT_MAX - 13);
	tap_is_u64(strlen(err_text()), ERR_TEXT_MAX, "the greatest length");
	tap_ok(!strstr(err_text(), " ... "), "which is not cut");
	set_long("x", ERR_TEXT_MAX - 12);
	tap_is_u64(strlen(err_text()), ERR_TEXT_MAX, "one byte more is cut to the same length");
	tap_ok(strstr(err_text(), "x ... x"), "in the middle");
	for (int units = 200; units < 216; units++) {
		set_long("\xf0\x9f\x99\x82\x1b", units);
		n = strlen(err_text());
		tap_ok(n <= ERR_TEXT_MAX && bytes_start_with(bytes_of(err_text()), "place ") &&
			       bytes_end_with(bytes_of(err_text()), " reason"),
		       "%d pairs of a character and an escape: both ends stay", units);
	}
	tap_ok(strstr(err_text(), "\xf0\x9f\x99\x82 ... ") || strstr(err_text(), "\\x1b ... "),
	       "the cut is behind a whole character or escape");
	tap_ok(strstr(err_text(), " ... \xf0\x9f\x99\x82") || strstr(err_text(), " ... \\x1b"),
	       "and before one");
}

/* Gives the text that its thread had before it failed. The checks themselves are the main thread's. */
static void *fail_elsewhere(void *before)
{
	snprintf(before, ERR_TEXT_MAX, "%s", err_text());
	err_set(ERR_FORMAT, "elsewhere");
	return NULL;
}

static void test_threads(void)
{
	char before[ERR_TEXT_MAX] = "unset";
	pthread_t thread;

	err_set(ERR_ARGUMENT, "here");
	tap_ok(pthread_create(&thread, NULL, fail_elsewhere, before) == 0, "a thread starts");
	pthread_join(thread, NULL);
	tap_is_text(before, "", "it has no error at first");
	tap_is_text(err_text(), "here", "another thread's error is its own");
	tap_is_i64(err_last(), ERR_ARGUMENT, "and so is its code");
}

int main(void)
{
	tap_is_i64(err_last(), ERR_NONE, "no error at first");
	tap_run(test_set);
	tap_run(test_prefix);
	tap_run(test_system);
	tap_run(test_save);
	tap_run(test_unprintable);
	tap_run(test_long);
	tap_run(test_threads);
	return tap_done();
}
