/* tests/unit/test_write_behind.c - bytes through another thread: all of them, in order, and its failures */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/write_behind.h"
#include "tests/tap.h"

static void put_numbers(struct buffer *b, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		buffer_put_u32(b, (uint32_t)i);
}

/* Numbers of a file from its beginning, in order. */
static size_t count_numbers(FILE *f)
{
	unsigned char word[4];
	size_t n = 0;

	rewind(f);
	for (; fread(word, 1, 4, f) == 4; n++)
		if (word[0] + ((size_t)word[1] << 8) + ((size_t)word[2] << 16) != n)
			return 0;
	return n;
}

/* Buffers of many sizes, empty ones too, some waited for. */
static void test_order(void)
{
	FILE *f = tmpfile();
	struct write_behind *w;
	struct buffer b = { 0 };
	size_t n = 0, bad = 0;

	tap_ok(f != NULL, "a file");
	if (!f || !tap_works(write_behind_new(&w, fileno(f), "out"), "a thread"))
		return;
	for (size_t i = 0; i < 500; i++) {
		size_t size = i * 7919 % 3000 * (i % 5 != 0);

		put_numbers(&b, n, size);
		n += size;
		bad += write_behind_put(w, &b) != 0 || b.size != 0;
		if (i % 50 == 49)
			bad += write_behind_wait(w) != 0 || count_numbers(f) != n;
	}
	bad += write_behind_wait(w) != 0;
	tap_is_u64(bad, 0, "500 buffers are taken, and emptied");
	tap_is_u64(count_numbers(f), n, "each number was written, in order");
	put_numbers(&b, n, 100);
	bad = write_behind_put(w, &b) != 0;
	write_behind_free(w);
	tap_is_u64(bad ? 0 : count_numbers(f), n + 100,
		   "what was taken is written before it is freed");
	buffer_free(&b);
	fclose(f);
}

static void test_failure(void)
{
	int fd = open("/dev/full", O_WRONLY), got = 0;
	struct write_behind *w;
	struct buffer b = { 0 };

	tap_ok(fd >= 0, "/dev/full");
	if (fd < 0 || !tap_works(write_behind_new(&w, fd, "out"), "a thread"))
		return;
	put_numbers(&b, 0, 10);
	tap_works(write_behind_put(w, &b), "the first buffer is taken");
	tap_fails(write_behind_wait(w), ERR_IO, "out: No space left on device",
		  "it could not be written");
	for (int i = 0; i < 10 && got == 0; i++) {
		put_numbers(&b, 0, 10);
		got = write_behind_put(w, &b);
	}
	tap_is_i64(got, -1, "nor is anything behind it");
	b.failed = true;
	tap_fails(write_behind_put(w, &b), ERR_MEMORY, "out of memory",
		  "a buffer that had no memory is refused");
	write_behind_free(w);
	buffer_free(&b);
	close(fd);
}

int main(void)
{
	tap_run(test_order);
	tap_run(test_failure);
	write_behind_free(NULL);
	return tap_done();
}
