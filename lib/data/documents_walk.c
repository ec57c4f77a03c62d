/*
 * lib/data/documents_walk.c - paths and what lies in folders, in order
 *
 * Names in a folder are taken in the order of their bytes. Links in folders are not followed: what they
 * point to either lies in the folder and is read there, or lies outside. What is no file is left
 * out too; both are counted.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

#define FOLDERS_MAX 256 /* folders in folders */

struct folder {
	char *path;
	char **names;
	size_t n_names, at, capacity;
};

struct walk {
	const char *const *paths;
	size_t n_paths, at;
	struct documents_counts *counts;
	struct folder folders[FOLDERS_MAX];
	size_t depth;
	char *path; /* given out last */
};

int walk_open(struct walk **out, const char *const *paths, size_t n,
	      struct documents_counts *counts)
{
	struct walk *w = mem_new(1, sizeof *w);

	if (!w)
		return -1;
	w->paths = paths;
	w->n_paths = n;
	w->counts = counts;
	*out = w;
	return 0;
}

static void folder_free(struct folder *f)
{
	for (size_t i = 0; i < f->n_names; i++)
		free(f->names[i]);
	free(f->names);
	free(f->path);
	*f = (struct folder){ 0 };
}

void walk_close(struct walk *w)
{
	if (!w)
		return;
	while (w->depth > 0)
		folder_free(&w->folders[--w->depth]);
	free(w->path);
	free(w);
}

/* --- one folder --- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct folder *f, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (mem_grow(&f->names, &f->capacity, f->n_names + 1, sizeof *f->names))
		return -1;
	f->names[f->n_names] = mem_copy(name, strlen(name));
	return f->names[f->n_names] ? (f->n_names++, 0) : -1;
}

static int read_names(struct folder *f, DIR *dir)
{
	const struct dirent *entry;

	while ((errno = 0, entry = readdir(dir)))
		if (add_name(f, entry->d_name))
			return -1;
	if (errno)
		return err_system("%s", f->path);
	if (f->n_names)
		qsort(f->names, f->n_names, sizeof *f->names, compare_names);
	return 0;
}

static int enter(struct walk *w, const char *path)
{
	struct folder *f = &w->folders[w->depth];
	int result;
	DIR *dir;

	if (w->depth == FOLDERS_MAX)
		return err_set(ERR_LIMIT, "%s: more than %d folders in each other", path,
			       FOLDERS_MAX);
	dir = opendir(path);
	if (!dir)
		return err_system("%s", path);
	w->depth++;
	f->path = mem_copy(path, strlen(path));
	result = f->path ? read_names(f, dir) : -1;
	closedir(dir);
	return result;
}

static char *join(const char *folder, const char *name)
{
	return mem_format("%s%s%s", folder, bytes_end_with(bytes_of(folder), "/") ? "" : "/", name);
}

/* --- the walk --- */

/* The present w->path, found in a folder: 1 for a file, 2 when there is nothing to give out, -1. */
static int visit(struct walk *w)
{
	struct stat st;

	if (lstat(w->path, &st))
		return err_system("%s", w->path);
	if (S_ISDIR(st.st_mode))
		return enter(w, w->path) ? -1 : 2;
	if (S_ISREG(st.st_mode))
		return 1;
	if (S_ISLNK(st.st_mode))
		w->counts->links++;
	else
		w->counts->special++;
	return 2;
}

/* The next path that was given: 1 for what is to be read, 2 when it was a folder, 0 after the last, -1. */
static int next_given(struct walk *w)
{
	const char *path;
	struct stat st;

	if (w->at == w->n_paths)
		return 0;
	path = w->paths[w->at++];
	free(w->path);
	w->path = mem_copy(path, strlen(path));
	if (!w->path)
		return -1;
	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return enter(w, path) ? -1 : 2;
	return 1;
}

static int next_inside(struct walk *w)
{
	struct folder *f = &w->folders[w->depth - 1];

	if (f->at == f->n_names) {
		folder_free(f);
		w->depth--;
		return 2;
	}
	free(w->path);
	w->path = join(f->path, f->names[f->at++]);
	return w->path ? visit(w) : -1;
}

int walk_next(struct walk *w, const char **path, bool *inside)
{
	int got;

	do {
		*inside = w->depth > 0;
		got = *inside ? next_inside(w) : next_given(w);
	} while (got == 2);
	*path = w->path;
	return got;
}
