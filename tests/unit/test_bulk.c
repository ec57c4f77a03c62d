/* tests/unit/test_bulk.c - many bytes to a file: all of them, in order, with their hash; and what fails */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/bulk.h"
#include "lib/base/err.h"
#include "lib/base/outfile.h"
#include "tests/tap.h"

#define MIB ((size_t)1 << 20)

static unsigned char *data; /* 16 MiB of bytes that do not repeat */

static void make_data(void)
{
	uint64_t x = 1;

	data = malloc(16 * MIB);
	if (!data)
		exit(EXIT_FAILURE);
	for (size_t i = 0; i < 16 * MIB; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		data[i] = (unsigned char)(x >> 56);
	}
}

/* N bytes, PART at a time. */
static void check(size_t n, size_t part)
{
	const char *path = tap_path("bulk");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	struct hash128 got, want;
	unsigned char *back = malloc(n + 1);
	struct bulk *b;
	int result = 0;

	if (!tap_works(bulk_new(&b, fd, path), "%zu bytes by %zu", n, part))
		return;
	for (size_t at = 0; at < n && result == 0; at += part)
		result = bulk_put(b, data + at, n - at < part ? n - at : part);
	tap_works(result < 0 ? -1 : bulk_end(b, &got), "written");
	bulk_free(b);
	hash_memory(NULL, data, n, &want);
	tap_ok(memcmp(&got, &want, sizeof(want)) == 0, "their hash");
	tap_ok(pread(fd, back, n + 1, 0) == (ssize_t)n && memcmp(back, data, n) == 0,
	       "the same bytes, no more");
	close(fd);
	free(back);
}

static void test_bytes(void)
{
	static const size_t sizes[] = { 0,	 1,	      4095,    4096,	    4 * MIB - 1,
					4 * MIB, 4 * MIB + 1, 8 * MIB, 9 * MIB + 7, 12 * MIB - 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check(sizes[i], 16 * MIB);
		check(sizes[i], 1000003);
	}
	check(9 * MIB + 512, 77773);
}

static void test_failure(void)
{
	int fd = open("/dev/full", O_WRONLY);
	struct hash128 hash;
	struct bulk *b;
	int result = 0;

	if (!tap_works(bulk_new(&b, fd, "full"), "a device that is full"))
		return;
	/* More than there is room for: a thread that is late is waited for. */
	for (int i = 0; i < 40 && result == 0; i++)
		result = bulk_put(b, data, MIB);
	tap_fails(result, ERR_IO, "full: No space left on device", "it is told while more comes");
	tap_is_i64(errno, ENOSPC, "with its reason");
	tap_fails(bulk_end(b, &hash), ERR_IO, "full: No space left on device", "and at the end");
	bulk_free(b);
	close(fd);
}

/* A limit inside of a block: what went before it does not make the rest come out elsewhere. */
static void test_limit(void)
{
	const char *path = tap_path("limit");
	struct rlimit before, small;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	struct hash128 hash;
	struct bulk *b;
	int result;

	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 5 * MIB + 100;
	setrlimit(RLIMIT_FSIZE, &small);
	result = bulk_new(&b, fd, "limited") < 0 || bulk_put(b, data, 12 * MIB) < 0 ? -1 : 0;
	if (result == 0)
		result = bulk_end(b, &hash);
	tap_fails(result, ERR_IO, "limited: File too large", "a file that may not be so large");
	bulk_free(b);
	setrlimit(RLIMIT_FSIZE, &before);
	close(fd);
}

/* --- of a folder --- */

struct told {
	int n;
	uint64_t sizes[4];
	struct hash128 hashes[4];
	char names[4][16];
};

static int tell(void *to, const char *name, uint64_t size, const struct hash128 *hash)
{
	struct told *t = to;

	if (t->n == 3)
		return err_set(ERR_LIMIT, "enough");
	t->sizes[t->n] = size;
	t->hashes[t->n] = *hash;
	snprintf(t->names[t->n++], sizeof(t->names[0]), "%s", name);
	return 0;
}

static int put_file(struct outdir *d, const char *name, size_t n, size_t part)
{
	struct outfile *f;

	if (outdir_file(d, name, &f) < 0)
		return -1;
	for (size_t at = 0; at < n; at += part)
		if (outfile_write(f, data + at, n - at < part ? n - at : part) < 0) {
			outfile_discard(f);
			return -1;
		}
	tap_fails(outfile_patch(f, 0, "x", 1), ERR_UNSUPPORTED, "cannot go back", "no patch");
	return outfile_commit(f);
}

static void check_told(const struct told *t, int i, const char *name, size_t n)
{
	struct hash128 want;
	size_t size = 0;
	char path[512], *back;

	hash_memory(NULL, data, n, &want);
	tap_is_text(t->names[i], name, "told");
	tap_is_u64(t->sizes[i], n, "its size");
	tap_ok(memcmp(&t->hashes[i], &want, sizeof(want)) == 0, "its hash");
	snprintf(path, sizeof(path), "%s/%s", tap_path("folder"), name);
	back = tap_fixture(path, &size);
	tap_ok(back && size == n && memcmp(back, data, n) == 0, "its bytes");
	free(back);
}

static void test_folder(void)
{
	struct told t = { 0 };
	struct outdir *d;

	if (!tap_works(outdir_new(&d, tap_path("folder")), "a folder"))
		return;
	outdir_watch(d, tell, &t);
	tap_works(put_file(d, "small", 700, 31), "a file below the buffer");
	tap_works(put_file(d, "large", 10 * MIB + 5, 3 * MIB + 1), "one of some rooms");
	tap_works(put_file(d, "pieces", MIB + 1, 999), "one of many pieces");
	tap_fails(put_file(d, "more", 3, 3), ERR_LIMIT, "enough", "who is told may refuse");
	tap_works(outdir_commit(d), "whole");
	check_told(&t, 0, "small", 700);
	check_told(&t, 1, "large", 10 * MIB + 5);
	check_told(&t, 2, "pieces", MIB + 1);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	make_data();
	tap_run(test_bytes);
	tap_run(test_failure);
	tap_run(test_limit);
	tap_run(test_folder);
	free(data);
	return tap_done();
}
