/* lib/train/run_disk.c - names on the disk that change at once: folders, links */

#define _GNU_SOURCE /* RENAME_EXCHANGE */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/run_parts.h"

#define STACK ((size_t)128 << 10) /* of a thread that only closes */

int run_sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = 0;

	/* Some file systems cannot sync a folder. */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP))
		result = err_system("%s", path);
	if (fd >= 0)
		close(fd);
	return result;
}

/* --- removing --- */

/* Files that have no name any more, held open: the disk gets their blocks back when they are closed. */
struct held {
	size_t n;
	int files[RUN_FILES_MAX];
};

static void *let_go(void *arg)
{
	struct held *h = arg;

	for (size_t i = 0; i < h->n; i++)
		close(h->files[i]);
	free(h);
	return NULL;
}

static void let_go_beside(struct held *h)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, let_go, h) != 0)
		let_go(h);
	pthread_attr_destroy(&attributes);
}

/* HELD may be NULL. A file that cannot be opened is removed all the same. */
static int remove_file(int fd, const char *path, const char *name, struct held *h)
{
	int file = h && h->n < RUN_FILES_MAX
			   ? openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
			   : -1;

	if (file >= 0)
		h->files[h->n++] = file;
	if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	return err_system("%s/%s", path, name);
}

static int remove_files(int fd, const char *path, const struct run_list *l, struct held *h)
{
	if (unlinkat(fd, RUN_COMPLETE, 0) == 0 && run_sync_folder(path) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (remove_file(fd, path, l->names[i], h) < 0)
			return -1;
	return rmdir(path) == 0 ? 0 : err_system("%s", path);
}

static int remove_folder(const char *path, struct held *h)
{
	struct run_list l;
	int fd, result;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_system("%s", path);
	result = run_list_read(&l, path);
	if (result == 0)
		result = remove_files(fd, path, &l, h);
	run_list_free(&l);
	close(fd);
	return result;
}

int run_remove_folder(const char *path)
{
	return remove_folder(path, NULL);
}

int run_remove_beside(const char *path)
{
	struct held *h = mem_new(1, sizeof(*h));
	int result;

	if (!h)
		return -1;
	result = remove_folder(path, h);
	let_go_beside(h);
	return result;
}

/* --- names --- */

static int exchange_by_three(const char *a, const char *b, const char *aside)
{
	if (rename(b, aside) != 0)
		return err_system("%s", b);
	if (rename(a, b) != 0) {
		err_system("%s", b);
		rename(aside, b);
		return -1;
	}
	return rename(aside, a) == 0 ? 0 : err_system("%s", a);
}

int run_exchange(const char *a, const char *b, const char *aside)
{
#ifdef RENAME_EXCHANGE
	if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		return err_system("%s", b);
#endif
	return exchange_by_three(a, b, aside);
}

/* --- links --- */

int run_link_set(struct run_folder *r, const char *name, uint64_t step)
{
	const char *path = run_path(r, name), *to = run_step_path(r, step, "");
	const char *made = run_path(r, strcmp(name, "last") == 0 ? "last.new" : "best.new");

	if (!path || !made || !to)
		return -1;
	if (unlink(made) != 0 && errno != ENOENT)
		return err_system("%s", made);
	if (symlink(strrchr(to, '/') + 1, made) != 0)
		return err_system("%s", path);
	if (rename(made, path) != 0) {
		err_system("%s", path);
		unlink(made);
		return -1;
	}
	return 0;
}

int run_link_get(struct run_folder *r, const char *name, uint64_t *step)
{
	const char *path = run_path(r, name);
	char to[64];
	ssize_t n;

	if (!path)
		return -1;
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0 && errno != EINVAL)
		return err_system("%s", path);
	if (n < 0)
		return err_set(ERR_MISMATCH, "%s: is no link", path);
	/* People who point it elsewhere may leave a slash. */
	while (n > 1 && to[n - 1] == '/')
		n--;
	to[n] = '\0';
	if (!run_step_name(to, "", step))
		return err_set(ERR_MISMATCH, "%s: leads to %s, which is no checkpoint's name", path,
			       to);
	return 1;
}

int run_link_remove(struct run_folder *r, const char *name)
{
	const char *path = run_path(r, name);

	if (!path)
		return -1;
	return unlink(path) == 0 || errno == ENOENT ? 0 : err_system("%s", path);
}
