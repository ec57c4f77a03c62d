/* tests/unit/test_jsonl.c - lines of any length, from files and pipes, with every buffer size */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "formats/json.h"
#include "formats/jsonl.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

/* Each record as `LINE@OFFSET:RECORD|`, then `end` or the error. */
static void put_records(struct buffer *b, struct jsonl *r)
{
	struct bytes record;
	int got;

	buffer_clear(b);
	while ((got = jsonl_next(r, &record)) > 0) {
		buffer_format(b, "%llu@%llu:", (unsigned long long)jsonl_line(r),
			      (unsigned long long)jsonl_offset(r));
		buffer_put(b, record.data, record.size);
		buffer_put_text(b, "|");
	}
	buffer_put_text(b, got == 0 ? "end" : err_text());
}

static int open_text(struct jsonl **r, const void *text, size_t n, const struct jsonl_options *o)
{
	return jsonl_open(r, tap_file("in.jsonl", text, n), o);
}

static void reads(const char *text, size_t n, const char *want)
{
	struct buffer got = { 0 };
	struct jsonl *r;

	for (size_t size = 0; size < 12; size++) {
		struct jsonl_options o = { .buffer = size };

		tap_works(open_text(&r, text, n, &o), "open");
		put_records(&got, r);
		tap_is_bytes(buffer_bytes(&got), bytes_of(want), "with a buffer of %zu", size);
		jsonl_close(r);
	}
	buffer_free(&got);
}

static void test_lines(void)
{
	reads("", 0, "end");
	reads("{}", 2, "1@0:{}|end");
	reads("{}\n", 3, "1@0:{}|end");
	reads("{}\r\n[]\r\n", 8, "1@0:{}|2@4:[]|end");
	reads("1\n2\n3", 5, "1@0:1|2@2:2|3@4:3|end");
	reads("1\r", 2, "1@0:1|end");
	reads("\n\n1\n \t\r\n\n2\n\n", 12, "3@2:1|6@9:2|end");
	reads("  \n", 3, "end");
	reads("  ", 2, "end");
	reads("a\rb\n", 4, "1@0:a\rb|end"); /* a CR alone ends nothing */
	reads("abcdefghijklmnopqrstuvwxyz\n1\nABCDEFGHIJKLMNOPQRSTUVWXYZ\n", 56,
	      "1@0:abcdefghijklmnopqrstuvwxyz|2@27:1|3@29:ABCDEFGHIJKLMNOPQRSTUVWXYZ|end");
}

/* C02 */
static void test_mark(void)
{
	reads("\xef\xbb\xbf{}\n[]\n", 9, "1@3:{}|2@6:[]|end");
	reads("\xef\xbb\xbf", 3, "end");
	reads("{}\n\xef\xbb\xbf[]", 8, "1@0:{}|2@3:\xef\xbb\xbf[]|end");
	reads("\xef\xbb", 2, "1@0:\xef\xbb|end");
}

static void test_nul(void)
{
	struct bytes record;
	struct jsonl *r;

	tap_works(open_text(&r, "a\0b\nc\n", 6, NULL), "open");
	tap_is_i64(jsonl_next(r, &record), 1, "a line with a NUL");
	tap_is_bytes(record, ((struct bytes){ "a\0b", 3 }), "is whole");
	jsonl_close(r);
}

static void test_limit(void)
{
	struct jsonl_options o = { .line_max = 4, .buffer = 2 };
	struct buffer got = { 0 };
	struct bytes record;
	struct jsonl *r;

	tap_works(open_text(&r, "1234\n1234\r\n12345\n1\n", 19, &o), "open");
	put_records(&got, r);
	tap_ok(bytes_start_with(buffer_bytes(&got), "1@0:1234|2@5:1234|"), "4 bytes are allowed");
	tap_ok(bytes_end_with(buffer_bytes(&got), "in.jsonl:3: the line is longer than 4 bytes"),
	       "5 are not: " BYTES_FMT, BYTES_ARG(buffer_bytes(&got)));
	tap_fails(jsonl_next(r, &record), ERR_ARGUMENT, "read on after an error",
		  "and nothing comes after");
	jsonl_close(r);

	o.buffer = 0;
	tap_works(open_text(&r, "12345", 5, &o), "open");
	tap_fails(jsonl_next(r, &record), ERR_LIMIT, "in.jsonl:1: the line is longer than 4",
		  "the last line too");
	jsonl_close(r);
	buffer_free(&got);
}

/* An endless line is given up at the limit, not read to its end. */
static void test_endless(void)
{
	struct jsonl_options o = { .line_max = 1 << 20 };
	struct bytes record;
	struct jsonl *r;

	tap_works(jsonl_open(&r, "/dev/zero", &o), "a device without lines");
	tap_fails(jsonl_next(r, &record), ERR_LIMIT, "/dev/zero:1: the line is longer than 1048576",
		  "gives up");
	jsonl_close(r);
}

static void test_errors(void)
{
	struct bytes record;
	struct jsonl *r;

	tap_fails(jsonl_open(&r, tap_path("nowhere"), NULL), ERR_MISSING, "nowhere: No such file",
		  "a file that is not there");
	tap_works(jsonl_open(&r, tap_folder(), NULL), "a folder opens");
	tap_fails(jsonl_next(r, &record), ERR_IO, "Is a directory", "but does not read");
	jsonl_close(r);
}

/* --- a pipe that gives few bytes at a time --- */

struct pipe_writer {
	int fd;
	const char *data;
	size_t size, piece;
};

static void *write_pieces(void *arg)
{
	struct pipe_writer *w = arg;

	for (size_t at = 0; at < w->size; at += w->piece) {
		size_t n = w->size - at < w->piece ? w->size - at : w->piece;

		if (write(w->fd, w->data + at, n) != (ssize_t)n)
			break;
	}
	close(w->fd);
	return NULL;
}

static void test_pipe(void)
{
	static const char text[] = "{\"text\":\"first\"}\n\n{\"text\":\"second\"}\r\nlast";
	struct buffer got = { 0 };
	struct pipe_writer w;
	struct jsonl *r;
	pthread_t thread;
	int fds[2];

	for (size_t piece = 1; piece < 20; piece += 6) {
		if (pipe(fds)) {
			tap_ok(false, "a pipe");
			return;
		}
		w = (struct pipe_writer){ fds[1], text, sizeof text - 1, piece };
		tap_works(jsonl_open_fd(&r, fds[0], "pipe", &(struct jsonl_options){ .buffer = 3 }),
			  "open a pipe");
		pthread_create(&thread, NULL, write_pieces, &w);
		put_records(&got, r);
		pthread_join(thread, NULL);
		tap_is_bytes(buffer_bytes(&got),
			     bytes_of("1@0:{\"text\":\"first\"}|3@18:{\"text\":\"second\"}|4@37:"
				      "last|end"),
			     "pieces of %zu", piece);
		jsonl_close(r);
		tap_works(close(fds[0]), "the descriptor is still the caller's");
	}
	buffer_free(&got);
}

/* Line I is I times the digit of I: lengths cross every edge of the buffer. */
static void test_lengths(void)
{
	struct buffer text = { 0 };
	struct bytes record;
	struct jsonl *r;
	size_t n = 0, wrong = 0;

	for (size_t i = 1; i <= 3000; i++) {
		for (size_t k = 0; k < i; k++)
			buffer_put_u8(&text, (uint8_t)('0' + i % 10));
		buffer_put_u8(&text, '\n');
	}
	tap_works(open_text(&r, text.data, text.size, &(struct jsonl_options){ .buffer = 64 }),
		  "open");
	while (jsonl_next(r, &record) > 0) {
		n++;
		wrong += record.size != n || record.data[0] != (char)('0' + n % 10) ||
			 record.data[n - 1] != record.data[0] || jsonl_line(r) != n;
	}
	tap_is_u64(n, 3000, "3,000 lines");
	tap_is_u64(wrong, 0, "each of its length");
	jsonl_close(r);
	buffer_free(&text);
}

/* 64 MB of short lines are read with a few MB of memory. */
static void test_memory(void)
{
	struct rlimit before, tight;
	struct buffer text = { 0 };
	struct bytes record;
	struct jsonl *r;
	size_t lines = 0;
	const char *path;

	for (size_t i = 0; i < 1 << 20; i++)
		buffer_put_text(
			&text,
			"{\"text\":\"a line of sixty-four bytes, with its end ............\"}\n");
	path = tap_file("large.jsonl", text.data, text.size);
	tap_works(jsonl_open(&r, path, NULL), "open");
	getrlimit(RLIMIT_DATA, &before);
	tight = (struct rlimit){ 1 << 20, before.rlim_max };
	setrlimit(RLIMIT_DATA, &tight); /* no further memory from here */
	while (jsonl_next(r, &record) > 0)
		lines++;
	setrlimit(RLIMIT_DATA, &before);
	tap_is_u64(lines, 1 << 20, "lines of a file of %zu bytes, in the first buffer", text.size);
	jsonl_close(r);
	buffer_free(&text);
}

/* --- damage: every record through the JSON reader --- */

struct damage {
	int fd;
	struct json *json;
};

static int read_records(void *arg, const void *data, size_t size)
{
	struct damage *d = arg;
	struct jsonl_options o = { .buffer = 16, .line_max = 1 << 20 };
	struct bytes record;
	struct jsonl *r;
	int got;

	if (ftruncate(d->fd, 0) || pwrite(d->fd, data, size, 0) != (ssize_t)size ||
	    lseek(d->fd, 0, SEEK_SET))
		return 1;
	if (jsonl_open_fd(&r, d->fd, "damaged", &o))
		return -1;
	while ((got = jsonl_next(r, &record)) > 0) {
		json_init(d->json, record.data, record.size, jsonl_name(r),
			  &(struct json_limits){ .line = jsonl_line(r) });
		if (json_skip(d->json, NULL) || json_end(d->json)) {
			got = -1;
			break;
		}
	}
	jsonl_close(r);
	return got;
}

/* Short lines around one of 8 MB: what is behind it is kept when its memory goes back, at any place and after every line. */
static void test_shrink(void)
{
	struct buffer text = { 0 }, want = { 0 }, got = { 0 };
	struct bytes record;
	struct jsonl *r;
	size_t n = 0, wrong = 0;

	for (size_t i = 0; i < 60; i++) {
		size_t size = i == 20 ? (size_t)8 << 20 : i * i;

		for (size_t k = 0; k < size; k++)
			buffer_put_u8(&text, (uint8_t)('0' + i));
		buffer_put_text(&text, "x\n");
	}
	tap_works(open_text(&r, text.data, text.size, NULL), "open");
	put_records(&want, r);
	jsonl_close(r);
	tap_works(open_text(&r, text.data, text.size, NULL), "open again");
	while (jsonl_next(r, &record) > 0) {
		buffer_format(&got, "%llu@%llu:", (unsigned long long)jsonl_line(r),
			      (unsigned long long)jsonl_offset(r));
		buffer_put(&got, record.data, record.size);
		buffer_put_text(&got, "|");
		jsonl_shrink(r);
		n++;
	}
	buffer_put_text(&got, "end");
	wrong = !bytes_equal(buffer_bytes(&got), buffer_bytes(&want));
	tap_is_u64(n, 60, "lines");
	tap_is_u64(wrong, 0, "the same, at the same places");
	jsonl_close(r);
	buffer_free(&text);
	buffer_free(&want);
	buffer_free(&got);
}

static void test_damage(void)
{
	static const char good[] = "{\"text\":\"first\",\"n\":1}\n{\"text\":\"caf\xC3\xA9\"}\r\n\n"
				   "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\nb\"}]}\n";
	static const char second[] = "\n\n[1]\n[2]\n  \n";
	struct damage d = { .fd = open(tap_path("damaged"), O_RDWR | O_CREAT, 0600) };

	tap_works(d.fd, "a file for damage");
	tap_works(json_new(&d.json), "a reader");
	tap_is_i64(read_records(&d, good, sizeof good - 1), 0, "the good lines");
	corrupt_run("damaged lines", (struct bytes){ good, sizeof good - 1 },
		    (struct bytes){ second, sizeof second - 1 }, read_records, &d, 64 << 20);
	json_free(d.json);
	close(d.fd);
}

int main(void)
{
	tap_run(test_lines);
	tap_run(test_mark);
	tap_run(test_nul);
	tap_run(test_limit);
	tap_run(test_endless);
	tap_run(test_errors);
	tap_run(test_pipe);
	tap_run(test_lengths);
	tap_run(test_memory);
	tap_run(test_shrink);
	tap_run(test_damage);
	return tap_done();
}
