/* tests/unit/test_documents.c - documents from inputs of every kind, whole and damaged */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/data/documents_parts.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

#define GOOD "fixtures/good/docs/"

/* --- what comes out, as `SOURCE=TEXT|` and then `end` or the error --- */

static void put_documents(struct buffer *b, const char *path, const struct documents_options *o)
{
	struct documents *d;
	struct document doc;
	int got;

	buffer_clear(b);
	tap_works(documents_open(&d, &path, 1, o), "open");
	while ((got = documents_next(d, &doc)) > 0) {
		const char *name = doc.source.data;

		/* The folder of the test is left out. */
		for (size_t i = 0; i < doc.source.size; i++)
			if (doc.source.data[i] == '/')
				name = doc.source.data + i + 1;
		buffer_put(b, name, doc.source.size - (size_t)(name - doc.source.data));
		buffer_put_text(b, doc.utf8 ? "=" : "~");
		buffer_put(b, doc.text.data, doc.text.size);
		if (doc.fields.size) {
			buffer_put_text(b, " ");
			buffer_put(b, doc.fields.data, doc.fields.size);
		}
		buffer_put_text(b, "|");
	}
	buffer_put_text(b, got ? err_text() : "end");
	documents_close(d);
}

static void reads(const char *text, size_t n, const struct documents_options *o, const char *want)
{
	struct buffer b = { 0 };

	put_documents(&b, tap_file("t", text, n), o);
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "documents");
	buffer_free(&b);
}

#define READS(text, o, want) reads(text, sizeof(text) - 1, o, want)

static void test_splits(void)
{
	struct documents_options o = { .split = DOCUMENTS_LINE };

	READS("a\nb\n\nc", NULL, "t=a\nb\n\nc|end");
	READS("a\nb\n\n \t\r\nc", &o, "t:1=a|t:2=b|t:5=c|end");
	READS("\n", &o, "end");
	READS("a\\\r\n", &o, "t:1=a\\\r|end");
	o.split = DOCUMENTS_BLANK;
	READS("a\nb\n\n \t\r\nc", &o, "t:1=a\nb|t:5=c|end");
	READS("\n\na\r\n\r\nb\r\n", &o, "t:3=a\r|t:5=b\r|end");
	READS(" \n", &o, "end");
	/* Enough lines that they are passed many bytes at once. */
	READS("\none line of text\nand another line\n indented\n\ttoo, and some more\nthe last one "
	      "here\n \n"
	      "a second paragraph\nthat ends without a line end, but long",
	      &o,
	      "t:2=one line of text\nand another line\n indented\n\ttoo, and some more\nthe last "
	      "one here|"
	      "t:8=a second paragraph\nthat ends without a line end, but long|end");
	o.split = DOCUMENTS_FORM_FEED;
	READS("a\f\fb\n\f", &o, "t:1=a|t:3=b\n|end");
}

/* 3,000 lines with none to twelve empty ones behind each: every step of the number that the source ends in. */
static void test_line_numbers(void)
{
	struct documents_options o = { .split = DOCUMENTS_LINE };
	struct buffer text = { 0 }, want = { 0 };
	struct documents *d;
	struct document doc;
	size_t n = 0, line = 1, wrong = 0;
	const char *path;

	for (size_t i = 0; i < 3000; i++) {
		buffer_put_u8(&text, 'a');
		for (size_t k = 0; k <= i % 13; k++)
			buffer_put_u8(&text, '\n');
	}
	path = tap_file("9", text.data, text.size);
	tap_works(documents_open(&d, &path, 1, &o), "open");
	for (; documents_next(d, &doc) > 0; n++) {
		buffer_clear(&want);
		buffer_format(&want, "%s:%zu", path, line);
		wrong += !bytes_equal(doc.source, buffer_bytes(&want));
		line += n % 13 + 1;
	}
	tap_is_u64(n, 3000, "lines");
	tap_is_u64(wrong, 0, "each with its number");
	documents_close(d);
	buffer_free(&text);
	buffer_free(&want);
}

/* Lines of 1 to 3,000 bytes, and then one of 3 MB: they cross every edge of the buffer. */
static void test_lengths(void)
{
	struct documents_options o = { .split = DOCUMENTS_LINE };
	struct buffer text = { 0 };
	struct documents *d;
	struct document doc;
	size_t n = 0, wrong = 0;
	const char *path;

	for (size_t i = 1; i <= 3001; i++) {
		size_t length = i == 3001 ? 3000000 : i;

		for (size_t k = 0; k < length; k++)
			buffer_put_u8(&text, (uint8_t)('0' + i % 10));
		buffer_put_u8(&text, '\n');
	}
	path = tap_file("long", text.data, text.size);
	tap_works(documents_open(&d, &path, 1, &o), "open");
	while (documents_next(d, &doc) > 0) {
		n++;
		wrong += doc.text.size != (n == 3001 ? 3000000 : n) ||
			 doc.text.data[0] != (char)('0' + n % 10) ||
			 doc.text.data[doc.text.size - 1] != doc.text.data[0];
	}
	tap_is_u64(n, 3001, "lines");
	tap_is_u64(wrong, 0, "each of its length");
	documents_close(d);
	buffer_free(&text);
}

/* A file that is read in several pieces, whose edges lie inside of characters; its last byte is none. */
static void test_whole_file(void)
{
	struct documents_options o = { .invalid = DOCUMENTS_KEEP };
	struct buffer text = { 0 };
	struct documents *d;
	struct document doc;
	const char *path;

	buffer_put_u8(&text, 'x');
	for (size_t i = 0; i < 500000; i++)
		buffer_put_text(&text, "\xC3\xA9");
	path = tap_file("whole", text.data, text.size);
	tap_works(documents_open(&d, &path, 1, NULL), "open");
	tap_ok(documents_next(d, &doc) == 1 && doc.utf8 && doc.text.size == 1000001,
	       "a whole file of characters");
	documents_close(d);

	buffer_put_u8(&text, 0xC3);
	path = tap_file("whole", text.data, text.size);
	tap_works(documents_open(&d, &path, 1, NULL), "open");
	tap_ok(documents_next(d, &doc) < 0 && strstr(err_text(), "byte 1000001: 0xC3"),
	       "the place: %s", err_text());
	documents_close(d);
	tap_works(documents_open(&d, &path, 1, &o), "open");
	tap_ok(documents_next(d, &doc) == 1 && !doc.utf8 && doc.text.size == 1000002, "kept");
	documents_close(d);
	buffer_free(&text);
}

static void test_records(void)
{
	struct documents_options o = { .field = "body" };

	READS("{\"text\":\"a\",\"n\":[1,{}]}\n", NULL, "t:1=a \"n\":[1,{}]|end");
	READS("{\"k\\n\":1,\"body\":\"a\"}", &o, "t:1=a \"k\\n\":1|end");
	READS("{\"text\":\"x\",\"body\":\"a\"}", &o, "t:1=a|end");
	READS("{\"text_base64\":\"YQ==\"}", NULL, "t:1=a|end");
	READS("[\"text\"]\n", NULL, "t=[\"text\"]\n|end");
	READS("{\"text\"", NULL, "t={\"text\"|end"); /* no key without its colon */
	o = (struct documents_options){ .invalid = DOCUMENTS_KEEP };
	READS("{\"text_base64\":\"/w==\"}", &o, "t:1~\xFF|end");
	READS("{\"text\":\"\xFF\"}", &o, "t:1~\xFF|end");
	o.invalid = DOCUMENTS_REPLACE;
	READS("{\"text_base64\":\"/w==\"}", &o, "t:1=\xEF\xBF\xBD|end");
}

static void test_limit(void)
{
	struct documents_options o = { .max_bytes = 4, .split = DOCUMENTS_LINE };
	struct buffer b = { 0 };

	READS("1234\n123\n", &o, "t:1=1234|t:2=123|end");
	put_documents(&b, tap_file("t", "1234\n12345\n", 11), &o);
	tap_ok(bytes_start_with(buffer_bytes(&b), "t:1=1234|") &&
		       bytes_end_with(buffer_bytes(&b),
				      "/t: byte 5: a document of more than 4 bytes "
				      "(--max-bytes, or --split)"),
	       "five bytes are too many: " BYTES_FMT, BYTES_ARG(buffer_bytes(&b)));
	put_documents(&b, "/dev/zero", &(struct documents_options){ .max_bytes = 1 << 20 });
	tap_is_bytes(buffer_bytes(&b),
		     bytes_of("/dev/zero: byte 0: a document of more than 1048576 bytes "
			      "(--max-bytes, or --split)"),
		     "an endless file");
	buffer_free(&b);
}

/* After an error nothing comes, and nothing is read. */
static void test_sticks(void)
{
	const char *path = tap_path("nowhere");
	struct documents *d;
	struct document doc;

	tap_works(documents_open(&d, &path, 1, NULL), "open");
	tap_fails(documents_next(d, &doc), ERR_MISSING, "nowhere: No such file", "not there");
	tap_fails(documents_next(d, &doc), ERR_ARGUMENT, "read on after an error", "and again");
	documents_close(d);
	documents_close(NULL);
}

static void test_counts(void)
{
	struct documents_options o = { .split = DOCUMENTS_LINE, .dedup = true, .min_bytes = 2 };
	const char *path = tap_file("t", "aa\nb\naa\r\naa\n", 12);
	const struct documents_counts *c;
	struct documents *d;
	struct document doc;

	tap_works(documents_open(&d, &path, 1, &o), "open");
	while (documents_next(d, &doc) > 0)
		;
	c = documents_counts(d);
	tap_is_u64(c->documents, 2, "aa and aa with its CR");
	tap_is_u64(c->bytes, 5, "their bytes");
	tap_is_u64(c->too_short, 1, "b");
	tap_is_u64(c->duplicates, 1, "the last");
	tap_is_u64(c->with_crlf, 1, "CR LF");
	documents_close(d);
}

/* --- replacing --- */

static void mends(const char *text, const char *want, uint64_t n)
{
	struct buffer b = { 0 };

	tap_is_u64(mend_text(&b, bytes_of(text)), n, "replacements");
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "mended");
	buffer_free(&b);
}

/* The examples of Unicode 15, tables 3-8 to 3-11; one `?` a U+FFFD. */
static void mends_as(const char *text, const char *pattern)
{
	struct buffer want = { 0 };
	uint64_t n = 0;

	for (const char *p = pattern; *p; p++) {
		n += *p == '?';
		buffer_put(&want, *p == '?' ? "\xEF\xBF\xBD" : p, *p == '?' ? 3 : 1);
	}
	buffer_put_u8(&want, 0);
	mends(text, want.data, n);
	buffer_free(&want);
}

static void test_mend(void)
{
	mends_as("", "");
	mends_as("abc", "abc");
	mends_as("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "????????A");
	mends_as("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "????????A");
	mends_as("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "?????A??B");
	mends_as("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "????A");
	mends_as("x\xC3", "x?");
	mends_as("x\xF1\x80\x80", "x?");
}

static void test_mend_json(void)
{
	static const char text[] = "{\"\\\\ud800\":\"\\ud800\\udc00 \\uD800\\u0041 \\udfff\"}\\";
	struct buffer b = { 0 };

	tap_is_u64(mend_json(&b, bytes_of(text)), 2, "lone surrogates");
	tap_is_bytes(buffer_bytes(&b),
		     bytes_of("{\"\\\\ud800\":\"\\ud800\\udc00 \\ufffd\\u0041 \\ufffd\"}\\"),
		     "become \\ufffd");
	buffer_clear(&b);
	tap_is_u64(mend_json(&b, bytes_of("\\uD8")), 0, "an escape that is cut off");
	buffer_free(&b);
}

/* --- memory: 64 MB of lines in what is there after the first --- */

static void test_memory(void)
{
	struct documents_options o = { .split = DOCUMENTS_LINE };
	struct rlimit before, tight;
	struct buffer text = { 0 };
	struct documents *d;
	struct document doc;
	const char *path;
	size_t n = 0;

	for (size_t i = 0; i < 1 << 20; i++)
		buffer_put_text(&text,
				"a line of sixty-four bytes, with its end, here it is .........."
				"\n");
	path = tap_file("large", text.data, text.size);
	tap_works(documents_open(&d, &path, 1, &o), "open");
	tap_is_i64(documents_next(d, &doc), 1, "the first");
	getrlimit(RLIMIT_DATA, &before);
	tight = (struct rlimit){ 1 << 20, before.rlim_max };
	setrlimit(RLIMIT_DATA, &tight); /* no further memory from here */
	while (documents_next(d, &doc) > 0)
		n++;
	setrlimit(RLIMIT_DATA, &before);
	tap_is_u64(n + 1, 1 << 20, "lines of %zu bytes in all", text.size);
	documents_close(d);
	buffer_free(&text);
}

/* --- damage --- */

struct damage {
	const char *path;
	int fd;
	struct documents_options options;
};

static int read_damaged(void *arg, const void *data, size_t size)
{
	struct damage *g = arg;
	struct documents *d;
	struct document doc;
	int got;

	/* Never cut to nothing: some file systems wait for the disk then. */
	if (pwrite(g->fd, data, size, 0) != (ssize_t)size || ftruncate(g->fd, (off_t)size))
		return 1;
	if (documents_open(&d, &g->path, 1, &g->options))
		return -1;
	while ((got = documents_next(d, &doc)) > 0)
		;
	documents_close(d);
	return got;
}

static void damaged(const char *name, const char *fixture, const char *other, bool group)
{
	struct damage g = {
		.path = tap_path(name),
		.options = { .max_bytes = 1 << 20, .split = DOCUMENTS_LINE, .group = group },
	};
	struct bytes good, second = { 0 };
	char *a, *b = NULL;

	g.fd = open(g.path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	tap_works(g.fd, "a file for damage");
	a = tap_fixture(fixture, &good.size);
	good.data = a;
	if (other)
		second.data = b = tap_fixture(other, &second.size);
	tap_is_i64(read_damaged(&g, good.data, good.size), 0, "%s reads", fixture);
	corrupt_run(name, good, second, read_damaged, &g, 96 << 20);
	free(a);
	free(b);
	close(g.fd);
}

static void test_damage(void)
{
	damaged("damaged-tar", GOOD "docs.tar", GOOD "names-pax.tar", false);
	damaged("damaged-samples", GOOD "samples.tar", GOOD "docs.tar", true);
	damaged("damaged-zip", GOOD "docs.zip", GOOD "a.txt.gz", false);
	damaged("damaged-tar-gz", GOOD "docs.tar.gz", GOOD "docs.tar", false);
	damaged("damaged-xz", GOOD "a.txt.xz", GOOD "a.txt.zst", false);
	damaged("damaged-zst", GOOD "a.txt.zst", GOOD "a.txt.lz4", false);
	damaged("damaged-lz4", GOOD "a.txt.lz4", GOOD "a.txt.bz2", false);
}

static void test_damaged_records(void)
{
	static const char good[] = "{\"text\":\"first\",\"n\":1}\n{\"text\":\"caf\xC3\xA9\"}\r\n\n"
				   "{\"text_base64\":\"YWJj\",\"source\":{\"a\":[null]}}\n";
	struct damage g = { .path = tap_path("damaged.jsonl"),
			    .options = { .max_bytes = 1 << 20, .invalid = DOCUMENTS_REPLACE } };

	g.fd = open(g.path, O_RDWR | O_CREAT, 0600);
	tap_works(g.fd, "a file for damage");
	tap_is_i64(read_damaged(&g, good, sizeof good - 1), 0, "the good lines");
	corrupt_run("damaged records", (struct bytes){ good, sizeof good - 1 },
		    (struct bytes){ NULL, 0 }, read_damaged, &g, 64 << 20);
	close(g.fd);
}

int main(void)
{
	tap_run(test_splits);
	tap_run(test_line_numbers);
	tap_run(test_lengths);
	tap_run(test_whole_file);
	tap_run(test_records);
	tap_run(test_limit);
	tap_run(test_sticks);
	tap_run(test_counts);
	tap_run(test_mend);
	tap_run(test_mend_json);
	tap_run(test_memory);
	tap_run(test_damage);
	tap_run(test_damaged_records);
	return tap_done();
}
