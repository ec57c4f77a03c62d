/* lib/base/machine.c - the processor's name and caches; Linux: /proc/cpuinfo */

#include "lib/base/machine.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/system.h"

#define CACHES 8

/* What follows the colon of the first line that starts with KEY. */
static bool find_line(FILE *f, const char *key, char out[MACHINE_NAME])
{
	char line[256];

	while (fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(out, MACHINE_NAME, "%.*s", (int)strcspn(colon, "\n"), colon);
		return *out != '\0';
	}
	return false;
}

char *machine_name(char out[MACHINE_NAME])
{
	FILE *f = fopen("/proc/cpuinfo", "r");

	if (!f || !find_line(f, "model name", out))
		snprintf(out, MACHINE_NAME, "unknown");
	if (f)
		fclose(f);
	for (char *c = out; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return out;
}

/* Where sysfs tells of no caches the C library may know of them: glibc asks the processor. */
static void ask_library(struct machine_caches *c)
{
#ifdef _SC_LEVEL1_DCACHE_SIZE
	const int names[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
			      _SC_LEVEL3_CACHE_SIZE };
	size_t *const at[] = { &c->l1, &c->l2, &c->l3 };

	for (int i = 0; i < 3; i++) {
		long size = sysconf(names[i]);

		*at[i] = size > 0 ? (size_t)size : 0;
	}
#endif
}

/* SHARE: what falls to one of the processors that share each. */
static struct machine_caches look(bool share)
{
	struct system_cache found[CACHES];
	size_t n = system_caches("", found, CACHES);
	struct machine_caches c = { 0 };
	size_t *const at[] = { &c.l1, &c.l2, &c.l3 };

	for (size_t i = 0; i < n; i++)
		if (found[i].level <= 3 && found[i].kind != SYSTEM_CACHE_INSTRUCTION)
			*at[found[i].level - 1] = found[i].size / (share ? found[i].sharers : 1);
	if (!c.l1)
		ask_library(&c);
	return c;
}

struct machine_caches machine_caches(void)
{
	return look(false);
}

static pthread_once_t shares_once = PTHREAD_ONCE_INIT;
static struct machine_caches shares;

static void look_at_shares(void)
{
	shares = look(true);
}

struct machine_caches machine_cache_shares(void)
{
	pthread_once(&shares_once, look_at_shares);
	return shares;
}
