/* lib/base/target.c - what stands where output is to go */
#include "lib/base/target.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"

#define LINKS_MAX 40 /* as the kernel */

char *target_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mem_copy(path, (size_t)(slash - path) + 1) : mem_copy("./", 2);
}

/* Whether PATH names a descriptor of this process, and which. */
static bool is_descriptor(const char *path, int *descriptor)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(folders[i]);
		long value;
		char *end;

		if (strncmp(path, folders[i], n) != 0 || path[n] < '0' || path[n] > '9')
			continue;
		errno = 0;
		value = strtol(path + n, &end, 10);
		if (*end || errno || value > INT_MAX)
			continue;
		*descriptor = (int)value;
		return true;
	}
	return false;
}

/* What the link at PATH points to, as seen from where PATH is; NULL with the error set. */
static char *follow(const char *path)
{
	char text[PATH_MAX], *folder, *joined;
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0) {
		err_system("%s", path);
		return NULL;
	}
	text[n] = 0;
	if (text[0] == '/')
		return mem_copy(text, (size_t)n);
	folder = target_folder(path);
	joined = folder ? mem_format("%s%s", folder, text) : NULL;
	free(folder);
	return joined;
}

static void set_kind(struct target *t, const struct stat *st)
{
	t->mode = st->st_mode & 07777;
	t->kind = S_ISREG(st->st_mode)	 ? TARGET_FILE
		  : S_ISDIR(st->st_mode) ? TARGET_FOLDER
					 : TARGET_OTHER;
}

/* Looks at T's path. 1 when it is a link, which is then followed; 0 at the end; -1 on an error. */
static int look(struct target *t)
{
	struct stat st;
	char *next;

	if (is_descriptor(t->path, &t->descriptor)) {
		t->kind = TARGET_DESCRIPTOR;
		return 0;
	}
	if (lstat(t->path, &st) != 0) {
		t->kind = TARGET_NONE;
		return errno == ENOENT ? 0 : err_system("%s", t->path);
	}
	if (!S_ISLNK(st.st_mode)) {
		set_kind(t, &st);
		return 0;
	}
	next = follow(t->path);
	if (!next)
		return -1;
	free(t->path);
	t->path = next;
	return 1;
}

int target_find(struct target *out, const char *path)
{
	struct target t = { TARGET_NONE, mem_copy(path, strlen(path)), 0, -1 };
	int more = t.path ? 1 : -1;

	for (int i = 0; i < LINKS_MAX && more == 1; i++)
		more = look(&t);
	if (more == 1)
		more = err_set(ERR_IO, "%s: Too many levels of symbolic links", path);
	if (more != 0) {
		free(t.path);
		return -1;
	}
	*out = t;
	return 0;
}
