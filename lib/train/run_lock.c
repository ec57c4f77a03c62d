/*
 * lib/train/run_lock.c - one process in a run folder at a time
 *
 * A record lock (fcntl) ends with its process, however that ends, and tells which process has it. The file is removed again when
 * nothing else was written, so that a lock may be had on a file that has lost its name: then it is taken anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/train/run_parts.h"

static int in_use(const struct run_folder *r, pid_t pid)
{
	if (pid > 0)
		return err_set(ERR_ARGUMENT, "%s: is in use by process %ld", r->path, (long)pid);
	return err_set(ERR_ARGUMENT, "%s: is in use by another process", r->path);
}

bool run_lock_held(struct run_folder *r)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const char *path = run_path(r, RUN_LOCK);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
	bool held = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	if (held)
		in_use(r, lock.l_pid);
	return held;
}

/* 1: locked; 0: the file has lost its name meanwhile; -1. */
static int lock_file(struct run_folder *r, int fd, const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET }, other = lock;
	struct stat open_one, named;

	if (fcntl(fd, F_SETLK, &lock) != 0) {
		if (errno != EACCES && errno != EAGAIN)
			return err_system("%s", path);
		if (fcntl(fd, F_GETLK, &other) != 0 || other.l_type == F_UNLCK)
			other.l_pid = 0;
		return in_use(r, other.l_pid);
	}
	if (fstat(fd, &open_one) != 0)
		return err_system("%s", path);
	return lstat(path, &named) == 0 && named.st_ino == open_one.st_ino &&
	       named.st_dev == open_one.st_dev;
}

int run_lock_take(struct run_folder *r, bool *there)
{
	const char *path = run_path(r, RUN_LOCK);
	int got = 0, fd;

	if (!path)
		return -1;
	while (got == 0) {
		*there = true;
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 && errno == ENOENT) {
			*there = false;
			fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		}
		if (fd < 0)
			return err_system("%s", path);
		got = lock_file(r, fd, path);
		if (got != 1)
			close(fd);
	}
	r->lock = got == 1 ? fd : -1;
	return got == 1 ? 0 : -1;
}
