/* tests/unit/test_progress.c - what a line of progress says, and when one is written */
#include "lib/base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

static const struct progress_options hash = { .label = "hash model.gguf",
					      .unit = "B",
					      .total = 253100000 };
static const struct progress_options read_lines = { .label = "read corpus.jsonl", .unit = "lines" };
static const struct progress_options train = { .label = "train", .unit = "steps", .total = 1000 };

static void is_line(const struct progress_options *o, uint64_t done, double seconds, size_t columns,
		    const char *want, const char *what)
{
	struct buffer b = { 0 };

	progress_render(&b, o, done, seconds, columns);
	tap_is_bytes(buffer_bytes(&b), bytes_of(want), "%s", what);
	buffer_free(&b);
}

static void test_figures(void)
{
	is_line(&hash, 86054000, 0.1, 0,
		"hash model.gguf: 34 % of 253.1 MB, 860.5 MB/s, 0.2 s left",
		"bytes with a total: share, rate, time left");
	is_line(&hash, 0, 0, 0, "hash model.gguf: 0 % of 253.1 MB",
		"at the start there is no rate");
	is_line(&hash, 0, 5, 0, "hash model.gguf: 0 % of 253.1 MB",
		"nor after waiting for nothing");
	is_line(&hash, 253099999, 1, 0, "hash model.gguf: 99 % of 253.1 MB, 253.1 MB/s, 0.0 s left",
		"100 % is never said before the end");
	is_line(&hash, 253100000, 2, 0,
		"hash model.gguf: 100 % of 253.1 MB, 126.6 MB/s, 0.0 s left", "100 % at the end");
	is_line(&hash, 300000000, 2, 0,
		"hash model.gguf: 100 % of 253.1 MB, 150.0 MB/s, 0.0 s left", "nor more after it");
	is_line(&read_lines, 12600000, 40.6, 0,
		"read corpus.jsonl: 12.6 M lines, 310.3 k lines/s, 40.6 s",
		"no total: amount, rate, time so far");
	is_line(&read_lines, 7, 0, 0, "read corpus.jsonl: 7 lines, 0.0 s", "no total, no time");
	is_line(&train, 31, 100, 0, "train: 3 % of 1.00 k steps, 0.31 steps/s, 52 min 06 s left",
		"less than ten a second keep their hundredths");
	is_line(&train, 999, 100, 0, "train: 99 % of 1.00 k steps, 9.99 steps/s, 0.1 s left",
		"up to 9.99");
	is_line(&train, 500, 50, 0, "train: 50 % of 1.00 k steps, 10 steps/s, 50.0 s left",
		"but not 10");
	is_line(&train, 1, 1e9, 0,
		"train: 0 % of 1.00 k steps, 0.00 steps/s, 277500000 h 00 min left",
		"very slow work");
}

static void test_extremes(void)
{
	struct progress_options o = { .label = "x", .unit = "B", .total = UINT64_MAX };

	is_line(&o, UINT64_MAX - 1, 1e-9, 0, "x: 99 % of 18.4 EB, 18.4 EB/s, 0.0 s left",
		"the greatest numbers");
	o.label = "a\x1b[2J\n\xe2\x80\xae\xc3\xa9";
	o.total = 0;
	is_line(&o, 5, 0, 0, "a\\x1b[2J\\x0a\\xe2\\x80\\xae\xc3\xa9: 5 B, 0.0 s",
		"a hostile name in the label");
}

static void test_columns(void)
{
	struct progress_options o = { .label = "0123456789", .unit = "B" };

	is_line(&o, 5, 0, 22, "0123456789: 5 B, 0.0 s", "what just fits is not cut");
	is_line(&o, 5, 0, 21, "..3456789: 5 B, 0.0 s", "a label loses its front");
	is_line(&o, 5, 0, 15, "..9: 5 B, 0.0 s", "down to its last byte");
	is_line(&o, 5, 0, 13, "9: 5 B, 0.0 s", "one column has no room for dots");
	is_line(&o, 5, 0, 12, ": 5 B, 0.0 s", "or all of it");
	is_line(&o, 5, 0, 5, ": 5 B", "then the figures lose their end");
	is_line(&o, 5, 0, 1, ":", "to the last column");
	o.label = "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
	is_line(&o, 5, 0, 20, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9: 5 B, 0.0 s",
		"characters outside ASCII count as two");
	is_line(&o, 5, 0, 19, "..\xc3\xa9\xc3\xa9: 5 B, 0.0 s", "and are not split");
}

/* Whether GOT matches; shows it where not. */
static void matches(struct bytes got, const char *pattern, const char *what)
{
	if (!tap_ok(bytes_match(got, pattern), "%s", what))
		tap_is_bytes(got, bytes_of(pattern), "what was written, and the pattern");
}

/* What P writes into a file while it adds 1,000 after SECONDS, and after it has ended. */
static struct bytes written(bool terminal, double seconds, char out[512])
{
	int fd = open(tap_file("lines", "", 0), O_RDWR | O_TRUNC);
	struct progress_options o = {
		.label = "work", .unit = "items", .total = 2000, .fd = fd, .terminal = terminal
	};
	struct timespec pause = { 0, (long)(seconds * 1e9) };
	struct progress *p = NULL;
	ssize_t n;

	tap_works(progress_new(&p, &o), "new progress");
	progress_add(p, 1);
	nanosleep(&pause, NULL);
	progress_add(p, 999);
	progress_end(p);
	n = pread(fd, out, 512, 0);
	close(fd);
	return (struct bytes){ out, n > 0 ? (size_t)n : 0 };
}

static void test_written(void)
{
	char out[512];
	struct bytes b = written(true, 0.6, out);

	matches(b, "\rwork: 50 % of 2.00 k items, *items/s, * s left\033\\[K\r\033\\[K",
		"a terminal after half a second: one line, wiped at the end");
	b = written(false, 0.6, out);
	tap_is_u64(b.size, 0, "elsewhere not a byte so soon");
}

/* Adds from four threads at once. */
static void *add_many(void *p)
{
	for (int i = 0; i < 100000; i++)
		progress_add(p, 1);
	return NULL;
}

static void test_threads(void)
{
	int fd = open(tap_file("threads", "", 0), O_RDWR | O_TRUNC);
	struct progress_options o = {
		.label = "work", .unit = "items", .fd = fd, .terminal = true
	};
	struct timespec pause = { 0, 600000000 };
	struct progress *p = NULL;
	pthread_t threads[4];
	char out[4096];
	ssize_t n;

	tap_works(progress_new(&p, &o), "new progress");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, add_many, p);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	nanosleep(&pause, NULL);
	progress_add(p, 600000);
	progress_end(p);
	n = pread(fd, out, sizeof(out), 0);
	close(fd);
	matches((struct bytes){ out, n > 0 ? (size_t)n : 0 },
		"*\rwork: 1.00 M items, *items/s, * s\033\\[K\r\033\\[K",
		"what four threads added is all counted");
}

static void test_nothing(void)
{
	int fd = open(tap_file("nothing", "", 0), O_RDWR | O_TRUNC);
	struct progress_options o = {
		.label = "work", .unit = "items", .fd = fd, .terminal = true
	};
	struct progress *p = NULL;

	tap_works(progress_new(&p, &o), "new progress");
	progress_end(p);
	tap_is_i64(lseek(fd, 0, SEEK_END), 0, "no line was drawn, so none is wiped");
	close(fd);
}

static void test_silent(void)
{
	struct progress_options o = { .label = "work", .unit = "B", .fd = -1, .terminal = true };
	struct progress *p = NULL;
	int closed = dup(STDOUT_FILENO);

	progress_add(NULL, 5);
	progress_end(NULL);
	tap_works(progress_new(&p, &o), "nowhere to write");
	progress_add(p, 5);
	progress_end(p);

	close(closed);
	o.fd = closed;
	tap_works(progress_new(&p, &o), "a closed descriptor");
	nanosleep(&(struct timespec){ 0, 600000000 }, NULL);
	errno = 0;
	progress_add(p, 5);
	tap_is_i64(errno, 0, "a write that fails is no trouble of the work");
	progress_end(p);
}

/* A line of the caller's own, in place on a terminal and whole elsewhere. */
static void test_own_line(void)
{
	int fd = open(tap_file("own", "", 0), O_RDWR | O_TRUNC);
	struct progress_options o = {
		.label = "work", .unit = "items", .fd = fd, .terminal = true
	};
	struct progress *p = NULL;
	char out[256];
	ssize_t n;

	tap_ok(!progress_due(NULL), "it is never time for nobody");
	progress_line(NULL, "x");
	tap_works(progress_new(&p, &o), "new progress");
	tap_ok(!progress_due(p), "not at once");
	nanosleep(&(struct timespec){ 0, 600000000 }, NULL);
	tap_ok(progress_due(p), "after half a second");
	progress_line(p, "step 3");
	tap_ok(!progress_due(p), "not twice");
	progress_wipe(p);
	progress_wipe(p);
	progress_end(p);
	n = pread(fd, out, sizeof(out), 0);
	close(fd);
	matches((struct bytes){ out, n > 0 ? (size_t)n : 0 }, "\rstep 3\033\\[K\r\033\\[K",
		"drawn once, wiped once");
}

int main(void)
{
	tap_run(test_figures);
	tap_run(test_extremes);
	tap_run(test_columns);
	tap_run(test_written);
	tap_run(test_threads);
	tap_run(test_nothing);
	tap_run(test_silent);
	tap_run(test_own_line);
	return tap_done();
}
