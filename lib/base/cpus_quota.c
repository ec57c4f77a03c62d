/*
 * lib/base/cpus_quota.c - the CPUs that this process may use: the control group's quota
 *
 * /proc/self/cgroup gives the group in each hierarchy, /proc/self/mountinfo where the hierarchy is
 * mounted and which of its groups is seen there. A group's limit binds its children too, so the
 * path is walked up to the mount. What cannot be read or makes no sense is taken as no limit.
 */
#include "lib/base/cpus.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/mapfile.h"
#include "lib/base/memory.h"

#define TABLE_MAX ((size_t)4 << 20) /* bytes of mountinfo that are looked at */

/* Where one hierarchy is mounted, and which of its groups is the root there. */
struct mount {
	char *point, *group;
};

static void mount_free(struct mount *m)
{
	free(m->point);
	free(m->group);
	*m = (struct mount){ NULL, NULL };
}

/* The text of ROOT/DIR/NAME, or NULL. The caller frees. */
static char *read_text(const char *root, const char *dir, const char *name)
{
	char *path = mem_format("%s%s/%s", root, dir, name), *text = NULL;
	size_t size;

	if (path && file_read(path, TABLE_MAX, &text, &size) != 0)
		text = NULL;
	free(path);
	return text;
}

/* Whether the comma-separated LIST has WORD. */
static bool list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == 0))
			return true;
	}
	return false;
}

/* Cuts the next line off *AT, NUL in place of its end; NULL after the last. */
static char *next_line(char **at)
{
	char *line = *at, *end;

	if (!*line)
		return NULL;
	end = line + strcspn(line, "\n");
	*at = *end ? end + 1 : end;
	*end = 0;
	return line;
}

/*
 * The group of this process, a copy: the path on the line `N:…,cpu,…:PATH` (version 1) or
 * `0::PATH` (version 2) of the table in /proc/self/cgroup. NULL when there is no such line.
 */
static char *own_group(const char *root, bool v2)
{
	char *text = read_text(root, "/proc/self", "cgroup"), *at = text, *line, *found = NULL;

	while (text && !found && (line = next_line(&at))) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		if (v2 ? list[1] == 0 : list_has(list + 1, "cpu"))
			found = mem_copy(path, strlen(path));
	}
	free(text);
	return found;
}

/* The next of a line's words, which one space parts; NULL after the last. */
static char *next_word(char **at)
{
	char *word = *at;

	if (!*word)
		return NULL;
	*at += strcspn(word, " ");
	if (**at)
		*(*at)++ = 0;
	return word;
}

/*
 * Whether a line of mountinfo mounts the hierarchy; its fourth and fifth words are then in *GROUP
 * and *POINT. After a word `-` come the type, the source and the options of the file system.
 */
static bool mount_line(char *line, bool v2, char **group, char **point)
{
	char *word, *type, *options;

	for (int i = 0; i < 5; i++) {
		word = next_word(&line);
		if (!word)
			return false;
		if (i == 3)
			*group = word;
	}
	*point = word;
	do
		word = next_word(&line);
	while (word && strcmp(word, "-") != 0);
	type = word ? next_word(&line) : NULL;
	options = type && next_word(&line) ? next_word(&line) : NULL;
	if (!type)
		return false;
	if (v2)
		return strcmp(type, "cgroup2") == 0;
	return strcmp(type, "cgroup") == 0 && options && list_has(options, "cpu");
}

static bool find_mount(const char *root, bool v2, struct mount *out)
{
	char *text = read_text(root, "/proc/self", "mountinfo"), *at = text, *line;
	char *group = NULL, *point = NULL;

	*out = (struct mount){ NULL, NULL };
	while (text && !out->point && (line = next_line(&at))) {
		if (!mount_line(line, v2, &group, &point))
			continue;
		out->point = mem_copy(point, strlen(point));
		out->group = mem_copy(group, strlen(group));
	}
	free(text);
	return out->point && out->group;
}

/* QUOTA of each PERIOD, rounded up to whole CPUs; 0 for no limit. */
static int whole_cpus(long long quota, long long period)
{
	long long n;

	if (quota <= 0 || period <= 0)
		return 0;
	n = quota / period + (quota % period != 0);
	return n > INT_MAX ? INT_MAX : (int)n;
}

/* The limit of one group alone. A quota of `max` or -1 is none. */
static int group_quota(const char *root, const char *dir, bool v2)
{
	char *quota = read_text(root, dir, v2 ? "cpu.max" : "cpu.cfs_quota_us");
	char *period = v2 ? NULL : read_text(root, dir, "cpu.cfs_period_us");
	char *end;
	int n = 0;

	if (quota) {
		long long amount = strtoll(quota, &end, 10);

		if (end != quota && (v2 || period))
			n = whole_cpus(amount, strtoll(v2 ? end : period, NULL, 10));
	}
	free(quota);
	free(period);
	return n;
}

/* The part of GROUP below the mount's own; "" when it is not below, as in a container. */
static const char *below(const char *group, const char *mounted)
{
	size_t n = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);

	if (strncmp(group, mounted, n) != 0 || (group[n] != '/' && group[n] != 0) ||
	    strstr(group, "/.."))
		return "";
	return strcmp(group + n, "/") == 0 ? "" : group + n;
}

static int least(int a, int b)
{
	return a == 0 ? b : b == 0 || a < b ? a : b;
}

/* Of one version of control groups: the least limit from the group up to the mount. */
static int hierarchy_quota(const char *root, bool v2)
{
	struct mount m = { NULL, NULL };
	char *group = own_group(root, v2), *dir = NULL;
	int n = 0;

	if (!group || !find_mount(root, v2, &m))
		goto done;
	dir = mem_format("%s%s", m.point, below(group, m.group));
	while (dir && strlen(dir) >= strlen(m.point)) {
		char *slash = strrchr(dir, '/');

		n = least(n, group_quota(root, dir, v2));
		if (!slash)
			break;
		*slash = 0;
	}
done:
	free(group);
	free(dir);
	mount_free(&m);
	return n;
}

int cpus_quota(const char *root)
{
	return least(hierarchy_quota(root, false), hierarchy_quota(root, true));
}
