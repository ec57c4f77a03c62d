/* lib/base/machine.c - the processor's name and caches; Linux: /proc/cpuinfo and sysfs-devices-system-cpu of the kernel's ABI documentation */

#include "lib/base/machine.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"

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

/* One line of a file of the first processor's cache I, without its line end. */
static bool cache_word(int i, const char *file, char out[32])
{
	char path[96];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	got = fgets(out, 32, f) != NULL;
	fclose(f);
	if (got)
		out[strcspn(out, "\n")] = '\0';
	return got;
}

/* `512K` */
static size_t cache_size(char *text)
{
	size_t n = strlen(text);
	uint64_t size;

	if (n < 2 || text[n - 1] != 'K')
		return 0;
	text[n - 1] = '\0';
	return number_u64(text, 1, 1u << 30, &size) < 0 ? 0 : (size_t)size * 1024;
}

struct machine_caches machine_caches(void)
{
	struct machine_caches c = { 0 };
	size_t *const at[] = { &c.l1, &c.l2, &c.l3 };
	char level[32], type[32], size[32];

	for (int i = 0; cache_word(i, "level", level); i++) {
		if (!cache_word(i, "type", type) || !cache_word(i, "size", size))
			continue;
		if (level[0] >= '1' && level[0] <= '3' && strcmp(type, "Instruction") != 0)
			*at[level[0] - '1'] = cache_size(size);
	}
	return c;
}
