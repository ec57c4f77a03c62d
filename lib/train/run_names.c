/* lib/train/run_names.c - the names in a run folder, matched exactly: what is not ours is never touched */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/train/run_parts.h"

#define STEP	 "step-"
#define STEP_MAX (UINT64_C(1) << 53)

/* Decimal digits without leading zeros, up to SUFFIX, which ends the name. */
static bool digits_then(const char *s, const char *suffix, uint64_t *out)
{
	const char *first = s;
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9' && v <= STEP_MAX)
		v = v * 10 + (uint64_t)(*s++ - '0');
	*out = v;
	return s > first && (*first != '0' || s == first + 1) && v <= STEP_MAX &&
	       strcmp(s, suffix) == 0;
}

bool run_step_name(const char *name, const char *suffix, uint64_t *step)
{
	return strncmp(name, STEP, strlen(STEP)) == 0 &&
	       digits_then(name + strlen(STEP), suffix, step);
}

/* `.step-N.new.tmp-XXXXXX`, which lib/base/outfile.h makes while it writes `step-N.new`. */
static bool is_temporary(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t n = strlen(name), tail = strlen("XXXXXX");
	char suffix[32] = ".new.tmp-";
	uint64_t step;

	if (n < tail + 2 || name[0] != '.' || strspn(name + n - tail, letters) != tail)
		return false;
	memcpy(suffix + strlen(suffix), name + n - tail, tail + 1);
	return run_step_name(name + 1, suffix, &step);
}

bool run_is_leftover(const char *name)
{
	uint64_t step;

	return run_step_name(name, ".new", &step) || run_step_name(name, ".old", &step) ||
	       strcmp(name, "last.new") == 0 || strcmp(name, "best.new") == 0 || is_temporary(name);
}

/* Takes the string over. */
static const char *kept(struct run_folder *r, char *text)
{
	const char *copy = text ? arena_copy(r->arena, bytes_of(text)) : NULL;

	free(text);
	return copy;
}

const char *run_path(struct run_folder *r, const char *name)
{
	return kept(r, mem_format("%s/%s", r->path, name));
}

const char *run_step_path(struct run_folder *r, uint64_t step, const char *suffix)
{
	return kept(r, mem_format("%s/" STEP "%" PRIu64 "%s", r->path, step, suffix));
}

/* --- lists --- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct run_list *l, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (mem_grow(&l->names, &l->capacity, l->n + 1, sizeof(*l->names)) < 0)
		return -1;
	l->names[l->n] = mem_copy(name, strlen(name));
	return l->names[l->n++] ? 0 : -1;
}

int run_list_read(struct run_list *l, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int result = 0;

	*l = (struct run_list){ 0 };
	if (!dir)
		return err_system("%s", path);
	while (result == 0 && (errno = 0, entry = readdir(dir)))
		result = add_name(l, entry->d_name);
	if (result == 0 && errno)
		result = err_system("%s", path);
	closedir(dir);
	if (result < 0)
		run_list_free(l);
	else if (l->n)
		qsort(l->names, l->n, sizeof(*l->names), by_name);
	return result;
}

void run_list_free(struct run_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct run_list){ 0 };
}

bool run_list_has(const struct run_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return true;
	return false;
}
