/* lib/base/system.c - what the operating system tells of caches, memory and huge pages */

#include "lib/base/system.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mapfile.h"
#include "lib/base/memory.h"
#include "lib/base/number.h"

#define FILE_MOST ((size_t)4096)
#define CPUS_MOST ((uint64_t)1 << 20)

/* The first line of ROOT/PATH, cut at SIZE. False: not there, or empty. */
static bool read_line(const char *root, const char *path, char *out, size_t size)
{
	char *whole = mem_format("%s%s", root, path), *text = NULL;
	size_t n = 0;

	*out = '\0';
	if (whole && file_read(whole, FILE_MOST, &text, &n) == 0) {
		n = strcspn(text, "\n");
		n = n < size - 1 ? n : size - 1;
		memcpy(out, text, n);
		out[n] = '\0';
	}
	free(text);
	free(whole);
	return *out != '\0';
}

static bool cache_line(const char *root, size_t i, const char *file, char *out, size_t size)
{
	char *path = mem_format("/sys/devices/system/cpu/cpu0/cache/index%zu/%s", i, file);
	bool got = path && read_line(root, path, out, size);

	free(path);
	return got;
}

/* `48K`, `32M` or `64` */
static size_t parse_size(char *text)
{
	size_t n = strlen(text), unit = 1;
	uint64_t value;

	if (n && (text[n - 1] == 'K' || text[n - 1] == 'M')) {
		unit = text[n - 1] == 'K' ? 1024 : 1024 * 1024;
		text[n - 1] = '\0';
	}
	return number_u64(text, 1, UINT32_MAX, &value) < 0 ? 0 : (size_t)value * unit;
}

/* How many processors `0-3,8` lists; 0 for what is no such list. */
static size_t parse_list(char *text)
{
	uint64_t n = 0;

	for (char *next, *word = text; word; word = next) {
		uint64_t from, to;
		char *dash;

		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		dash = strchr(word, '-');
		if (dash)
			*dash = '\0';
		if (number_u64(word, 0, CPUS_MOST, &from) < 0)
			return 0;
		to = from;
		if (dash && number_u64(dash + 1, from, CPUS_MOST, &to) < 0)
			return 0;
		n += to - from + 1;
	}
	return (size_t)n;
}

static bool read_cache(const char *root, size_t i, struct system_cache *c)
{
	char level[8], type[32], size[32], line[32], list[1024];
	uint64_t value;

	if (!cache_line(root, i, "level", level, sizeof(level)) ||
	    !cache_line(root, i, "type", type, sizeof(type)) ||
	    !cache_line(root, i, "size", size, sizeof(size)) || number_u64(level, 1, 9, &value) < 0)
		return false;
	*c = (struct system_cache){ .level = (int)value, .size = parse_size(size), .sharers = 1 };
	c->kind = strcmp(type, "Data") == 0	     ? SYSTEM_CACHE_DATA
		  : strcmp(type, "Instruction") == 0 ? SYSTEM_CACHE_INSTRUCTION
						     : SYSTEM_CACHE_UNIFIED;
	if (cache_line(root, i, "coherency_line_size", line, sizeof(line)))
		c->line = parse_size(line);
	if (cache_line(root, i, "shared_cpu_list", list, sizeof(list)))
		c->sharers = parse_list(list);
	if (c->sharers == 0)
		c->sharers = 1;
	return c->size > 0;
}

size_t system_caches(const char *root, struct system_cache *out, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < 16 && found < n; i++)
		found += read_cache(root, i, &out[found]);
	return found;
}

uint64_t system_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* The word in brackets: `always [madvise] never`. */
void system_huge_pages(const char *root, char when[SYSTEM_WORD], size_t *size)
{
	char line[256], bytes[SYSTEM_WORD];
	char *open, *close;

	*size = 0;
	memcpy(when, "unknown", sizeof("unknown"));
	if (read_line(root, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", bytes,
		      sizeof(bytes)))
		*size = parse_size(bytes);
	if (!read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		return;
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close || close - open - 1 >= SYSTEM_WORD)
		return;
	*close = '\0';
	memcpy(when, open + 1, (size_t)(close - open));
}
