/*
 * lib/base/temporary.c - files and folders that go away unless they are kept
 *
 * The table is two arrays of atomic pointers to paths. Whoever takes a pointer out owns the path:
 * its maker frees it, while outfile_remove_all, which may run in a signal handler or beside
 * another thread, only unlinks it. A maker that comes too late waits for that to end.
 */
#include "lib/base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/outfile.h"
#include "lib/base/target.h"

#define SUFFIX_LETTERS 6
#define NAME_KEPT      240 /* bytes of the target's name, so that the whole is below 255 */
#define TRIES	       100
#define TAKEN	       (-2) /* something has that name */

static _Atomic(char *) files[TEMPORARY_FILES], folders[TEMPORARY_FOLDERS]; /* NULL: free */
static atomic_int removing; /* calls of outfile_remove_all that have not ended */

/* Enters T, whose path is set; owns it then. */
static int enter(struct temporary *t, const char *shown)
{
	_Atomic(char *) *slots = t->folder ? folders : files;
	size_t n = t->folder ? TEMPORARY_FOLDERS : TEMPORARY_FILES;

	for (size_t i = 0; i < n; i++) {
		char *none = NULL;

		if (!atomic_compare_exchange_strong(&slots[i], &none, t->path))
			continue;
		t->slot = &slots[i];
		return 0;
	}
	return err_set(ERR_LIMIT, "%s: more than %zu unfinished at once", shown, n);
}

void temporary_keep(struct temporary *t)
{
	char *path = t->path;

	if (!path)
		return;
	/* Were it no longer in the slot, outfile_remove_all has it and may still read it. */
	if (!atomic_compare_exchange_strong(t->slot, &path, NULL))
		while (atomic_load(&removing))
			sched_yield();
	free(t->path);
	t->path = NULL;
}

void temporary_remove(struct temporary *t)
{
	if (!t->path)
		return;
	if (t->folder)
		rmdir(t->path);
	else
		unlink(t->path);
	temporary_keep(t);
}

void outfile_remove_all(void)
{
	int kept = errno;
	char *path;

	atomic_fetch_add(&removing, 1);
	for (size_t i = 0; i < TEMPORARY_FILES; i++)
		if ((path = atomic_exchange(&files[i], NULL)))
			unlink(path);
	for (size_t i = 0; i < TEMPORARY_FOLDERS; i++)
		if ((path = atomic_exchange(&folders[i], NULL)))
			rmdir(path);
	atomic_fetch_sub(&removing, 1);
	errno = kept;
}

/* Enters T, whose path is set, and makes it: a file's descriptor, 0 for a folder, or with the
   error set -1 or TAKEN. */
static int make(struct temporary *t, mode_t mode, const char *shown)
{
	int made, failure;

	if (enter(t, shown) != 0) {
		free(t->path);
		t->path = NULL;
		return -1;
	}
	if (t->folder)
		made = mkdir(t->path, mode);
	else
		made = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);
	if (made >= 0)
		return made;
	failure = errno;
	err_system("%s", shown);
	temporary_keep(t);
	return failure == EEXIST ? TAKEN : -1;
}

/* A name beside TARGET that is most likely free; NULL with the error set. The caller frees. */
static char *name_beside(const char *target)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	const char *slash = strrchr(target, '/');
	char suffix[SUFFIX_LETTERS + 1] = "", *folder = target_folder(target), *path = NULL;
	uint64_t bits;

	if (getentropy(&bits, sizeof(bits)) != 0)
		bits = clock_ns() * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)getpid();
	for (int i = 0; i < SUFFIX_LETTERS; i++)
		suffix[i] = letters[bits >> (5 * i) & 31];
	if (folder)
		path = mem_format("%s.%.*s.tmp-%s", folder, NAME_KEPT, slash ? slash + 1 : target,
				  suffix);
	free(folder);
	return path;
}

static int make_beside(struct temporary *t, const char *target, mode_t mode, const char *shown)
{
	int made = TAKEN;

	for (int i = 0; i < TRIES && made == TAKEN; i++) {
		t->path = name_beside(target);
		made = t->path ? make(t, mode, shown) : -1;
	}
	return made < 0 ? -1 : made;
}

int temporary_file(struct temporary *t, const char *target, mode_t mode, const char *shown)
{
	*t = (struct temporary){ NULL, NULL, false };
	return make_beside(t, target, mode, shown);
}

int temporary_folder(struct temporary *t, const char *target, mode_t mode, const char *shown)
{
	*t = (struct temporary){ NULL, NULL, true };
	return make_beside(t, target, mode, shown);
}

int temporary_file_at(struct temporary *t, const char *path, const char *shown)
{
	int made;

	*t = (struct temporary){ mem_copy(path, strlen(path)), NULL, false };
	made = t->path ? make(t, 0666, shown) : -1;
	return made < 0 ? -1 : made;
}
