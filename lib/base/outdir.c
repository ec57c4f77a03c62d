/*
 * lib/base/outdir.c - a folder of output that appears whole or not at all
 *
 * Files are written under their own names into a temporary folder, and each stays a temporary of
 * the process until the folder has got its name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/outfile_inner.h"
#include "lib/base/target.h"

struct outdir {
	char *path;   /* as it was given */
	char *target; /* with links followed */
	mode_t mode;  /* of the empty folder that was there, or 0 */
	struct temporary folder;
	struct temporary *files;  /* those that were committed */
	size_t n, made, capacity; /* MADE counts the others too */
	int (*told)(void *to, const char *name, uint64_t size, const struct hash128 *hash);
	void *to;
};

/* Whether the folder at PATH is empty; -1 with the error set when it cannot be read. */
static int is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int empty = 1;

	if (!dir)
		return err_system("%s", path);
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return empty;
}

/* The target's last name must be one that rename can put there. */
static bool ends_in_dots(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int check_target(const struct target *t, const char *shown)
{
	int empty;

	if (t->kind == TARGET_NONE)
		return 0;
	if (t->kind != TARGET_FOLDER)
		return err_set(ERR_ARGUMENT, "%s: exists, and is not a folder", shown);
	empty = is_empty(t->path);
	if (empty == 0)
		return err_set(ERR_ARGUMENT, "%s: exists, and is not empty", shown);
	return empty < 0 ? -1 : 0;
}

static void outdir_free(struct outdir *d)
{
	free(d->path);
	free(d->target);
	free(d->files);
	free(d);
}

/* Finds what is at D's path, and makes the temporary beside it. */
static int open_folder(struct outdir *d)
{
	struct target t;
	int result = -1;

	/* `name/` is `name`: the temporary stands beside it, not in it. */
	for (size_t n = strlen(d->path); n > 1 && d->path[n - 1] == '/'; n--)
		d->path[n - 1] = 0;
	if (!d->path[0] || ends_in_dots(d->path) || strcmp(d->path, "/") == 0)
		return err_set(ERR_ARGUMENT, "%s: not a name that a new folder can get", d->path);
	if (target_find(&t, d->path) != 0)
		return -1;
	d->target = t.path;
	d->mode = t.mode;
	if (check_target(&t, d->path) == 0)
		result = temporary_folder(&d->folder, t.path, t.mode ? t.mode | 0700 : 0777,
					  d->path);
	return result;
}

int outdir_new(struct outdir **out, const char *path)
{
	struct outdir *d = mem_new(1, sizeof(*d));

	if (!d)
		return -1;
	d->path = mem_copy(path, strlen(path));
	if (!d->path || open_folder(d) != 0) {
		outdir_free(d);
		return -1;
	}
	*out = d;
	return 0;
}

int outdir_file(struct outdir *d, const char *name, struct outfile **out)
{
	char *path = NULL, *shown = NULL;
	struct temporary t;
	int fd, result = -1;

	if (!*name || strchr(name, '/') || ends_in_dots(name))
		return err_set(ERR_ARGUMENT, "%s: not a file name: %s", d->path, name);
	if (mem_grow(&d->files, &d->capacity, d->made + 1, sizeof(*d->files)) != 0)
		return -1;
	d->made++;
	path = mem_format("%s/%s", d->folder.path, name);
	shown = mem_format("%s/%s", d->path, name);
	if (path && shown) {
		fd = temporary_file_at(&t, path, shown);
		result = fd < 0 ? -1 : outfile_inside(out, d, &t, fd, shown);
	}
	if (result == 0 && d->told)
		outfile_watch(*out);
	free(path);
	free(shown);
	return result;
}

void outdir_take(struct outdir *d, struct temporary *t)
{
	d->files[d->n++] = *t;
}

void outdir_watch(struct outdir *d,
		  int (*told)(void *to, const char *name, uint64_t size,
			      const struct hash128 *hash),
		  void *to)
{
	d->told = told;
	d->to = to;
}

int outdir_tell(struct outdir *d, const char *path, uint64_t size, const struct hash128 *hash)
{
	return d->told(d->to, strrchr(path, '/') + 1, size, hash);
}

/* fsync of the folder's own entries, and its name. */
static int put_in_place(struct outdir *d)
{
	int fd = open(d->folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int synced = fd < 0 ? -1 : fsync(fd);
	int failure = errno;

	if (fd >= 0)
		close(fd);
	errno = failure;
	if (synced != 0 && errno != EINVAL && errno != EACCES)
		return err_system("%s", d->path);
	if (d->mode && chmod(d->folder.path, d->mode) != 0)
		return err_system("%s", d->path);
	if (rename(d->folder.path, d->target) != 0)
		return err_system("%s", d->path);
	return 0;
}

int outdir_text(struct outdir *d, const char *name, struct bytes text)
{
	struct outfile *f;

	if (outdir_file(d, name, &f) < 0)
		return -1;
	if (outfile_write(f, text.data, text.size) == 0)
		return outfile_commit(f);
	outfile_discard(f);
	return -1;
}

int outdir_commit(struct outdir *d)
{
	int result;

	if (put_in_place(d) != 0) {
		outdir_discard(d);
		return -1;
	}
	for (size_t i = 0; i < d->n; i++)
		temporary_keep(&d->files[i]);
	temporary_keep(&d->folder);
	result = outfile_sync_folder(d->target, d->path);
	outdir_free(d);
	return result;
}

void outdir_discard(struct outdir *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		temporary_remove(&d->files[i]);
	temporary_remove(&d->folder);
	outdir_free(d);
}
