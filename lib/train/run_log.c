/*
 * lib/train/run_log.c - log.jsonl, a line at a time
 *
 * Each line goes to the place where the lines before it end, so that what a write that failed left there is written over. What is
 * past the checkpoint goes when the first line is written, not before: a run that is refused leaves the folder as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/train/run_parts.h"

/* The byte before AT ends a line. */
static int check_line_end(int fd, const char *path, uint64_t at)
{
	char last;

	if (at == 0)
		return 0;
	if (pread(fd, &last, 1, (off_t)at - 1) != 1)
		return err_system("%s", path);
	if (last != '\n')
		return err_set(ERR_MISMATCH,
			       "%s: byte %" PRIu64 ": no line ends where the checkpoint's lines do",
			       path, at - 1);
	return 0;
}

int run_log_check(struct run_folder *r)
{
	const char *path = run_path(r, RUN_LOG);
	struct stat st = { 0 };
	int fd, result = 0;

	if (!path)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 ? errno != ENOENT : fstat(fd, &st) != 0)
		result = err_system("%s", path);
	else if ((uint64_t)st.st_size < r->log_bytes)
		result = err_set(ERR_MISMATCH,
				 "%s: has %" PRIu64 " bytes, fewer than the %" PRIu64
				 " of the checkpoint: it was cut or replaced",
				 path, (uint64_t)st.st_size, r->log_bytes);
	else
		result = fd < 0 ? 0 : check_line_end(fd, path, r->log_bytes);
	if (fd >= 0)
		close(fd);
	return result;
}

/* Opens and cuts it. */
static int open_log(struct run_folder *r)
{
	const char *path;

	if (r->log >= 0)
		return 0;
	path = run_path(r, RUN_LOG);
	if (!path)
		return -1;
	r->log = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (r->log < 0)
		return err_system("%s", path);
	if (ftruncate(r->log, (off_t)r->log_bytes) == 0)
		return 0;
	err_system("%s", path);
	close(r->log);
	r->log = -1;
	return -1;
}

static int write_at(int fd, const char *data, size_t n, uint64_t at)
{
	while (n) {
		ssize_t put = pwrite(fd, data, n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			errno = put < 0 ? errno : EIO;
			return -1;
		}
		data += put;
		at += (uint64_t)put;
		n -= (size_t)put;
	}
	return 0;
}

static int append(struct run_folder *r, struct bytes line)
{
	int cut;

	if (open_log(r) < 0)
		return -1;
	if (write_at(r->log, line.data, line.size, r->log_bytes) == 0) {
		r->log_bytes += line.size;
		return 0;
	}
	err_system("%s/" RUN_LOG, r->path);
	/* Half a line goes at once where that can be; else the next one is written over it. */
	cut = ftruncate(r->log, (off_t)r->log_bytes);
	(void)cut;
	return -1;
}

int run_folder_log(struct run_folder *r, struct bytes line)
{
	struct buffer b = { 0 };
	int result;

	if (line.size && memchr(line.data, '\n', line.size))
		return err_set(ERR_ARGUMENT, "%s/" RUN_LOG ": a line end within a line", r->path);
	buffer_put(&b, line.data, line.size);
	buffer_put_u8(&b, '\n');
	result = buffer_check(&b);
	if (result == 0)
		result = append(r, buffer_bytes(&b));
	buffer_free(&b);
	return result < 0 ? run_failed(r) : 0;
}

uint64_t run_folder_log_bytes(const struct run_folder *r)
{
	return r->log_bytes;
}

int run_log_sync(struct run_folder *r)
{
	if (r->log >= 0 && fsync(r->log) != 0)
		return err_system("%s/" RUN_LOG, r->path);
	return 0;
}
