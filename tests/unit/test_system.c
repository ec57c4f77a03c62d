/* tests/unit/test_system.c - caches and huge pages, from folders that look like those of the kernel */

#include "lib/base/system.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/machine.h"
#include "tests/tap.h"

static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s", tap_path(path));
	for (char *c = whole + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(whole, 0700);
		*c = '/';
	}
	f = fopen(whole, "w");
	if (!tap_ok(f != NULL, "%s", whole))
		return;
	fputs(text, f);
	fclose(f);
}

static void put_cache(const char *root, int i, const char *const *text)
{
	static const char *const files[] = { "level", "type", "size", "coherency_line_size",
					     "shared_cpu_list" };
	char path[256];

	for (int k = 0; k < 5; k++) {
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu0/cache/index%d/%s",
			 root, i, files[k]);
		if (text[k])
			put(path, text[k]);
	}
}

static void test_caches(void)
{
	struct system_cache c[4];

	put_cache("a", 0, (const char *const[]){ "1\n", "Data\n", "48K\n", "64\n", "0,64\n" });
	put_cache("a", 1, (const char *const[]){ "1\n", "Instruction\n", "32K\n", "64\n", "0\n" });
	put_cache("a", 2,
		  (const char *const[]){ "3\n", "Unified\n", "105M\n", "128\n", "0-7,16-19\n" });
	tap_is_u64(system_caches(tap_path("a"), c, 4), 3, "three");
	tap_ok(c[0].level == 1 && c[0].kind == SYSTEM_CACHE_DATA && c[0].size == 49152 &&
		       c[0].line == 64 && c[0].sharers == 2,
	       "48K of two threads of one core");
	tap_ok(c[1].kind == SYSTEM_CACHE_INSTRUCTION && c[1].sharers == 1, "of instructions");
	tap_ok(c[2].level == 3 && c[2].kind == SYSTEM_CACHE_UNIFIED && c[2].size == 110100480 &&
		       c[2].line == 128 && c[2].sharers == 12,
	       "105M of twelve");
	tap_is_u64(system_caches(tap_path("a"), c, 2), 2, "no more than there is room for");
	tap_is_u64(system_caches(tap_path("none"), c, 4), 0, "no folder");
}

static void test_caches_of_nonsense(void)
{
	static const char *const sizes[] = { "", "K", "0K", "-5K", "12G", "99999999999999999999K" };
	static const char *const lists[] = { "x", "3-1", "0-99999999999", "1,,2", "-" };
	struct system_cache c;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		put_cache("b", 0, (const char *const[]){ "1", "Data", sizes[i], "64", "0" });
		tap_is_u64(system_caches(tap_path("b"), &c, 1), 0, "size '%s'", sizes[i]);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		put_cache("b", 0, (const char *const[]){ "2", "Data", "64K", "?", lists[i] });
		tap_is_u64(system_caches(tap_path("b"), &c, 1), 1, "list '%s'", lists[i]);
		tap_ok(c.sharers == 1 && c.line == 0, "one at least");
	}
	put_cache("b", 0, (const char *const[]){ "x", "Data", "64K", "64", "0" });
	tap_is_u64(system_caches(tap_path("b"), &c, 1), 0, "level x");
}

/* Of the machine that this runs on: what kernels cut their work by is what falls to one of those that share a cache. */
static void test_shares(void)
{
	struct machine_caches whole = machine_caches(), share = machine_cache_shares();
	const size_t sizes[] = { whole.l1, whole.l2, whole.l3 };
	const size_t shares[] = { share.l1, share.l2, share.l3 };
	struct system_cache c[8];
	size_t n = system_caches("", c, 8);

	for (size_t i = 0; i < n; i++) {
		if (c[i].kind == SYSTEM_CACHE_INSTRUCTION || c[i].level > 3)
			continue;
		tap_is_u64(sizes[c[i].level - 1], c[i].size, "L%d", c[i].level);
		tap_is_u64(shares[c[i].level - 1], c[i].size / c[i].sharers, "L%d, shared by %zu",
			   c[i].level, c[i].sharers);
	}
	for (int i = 0; i < 3; i++)
		tap_ok(shares[i] <= sizes[i], "no more of L%d than there is", i + 1);
}

static void test_huge_pages(void)
{
	char when[SYSTEM_WORD];
	size_t size;

	system_huge_pages(tap_path("none"), when, &size);
	tap_is_text(when, "unknown", "nothing there");
	tap_is_u64(size, 0, "no size");
	put("c/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	put("c/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
	system_huge_pages(tap_path("c"), when, &size);
	tap_is_text(when, "madvise", "the word in brackets");
	tap_is_u64(size, 2097152, "2 MiB");
	put("c/sys/kernel/mm/transparent_hugepage/enabled",
	    "[a word that is much longer than there is any room for in it]\n");
	system_huge_pages(tap_path("c"), when, &size);
	tap_is_text(when, "unknown", "a long word");
}

int main(void)
{
	tap_run(test_caches);
	tap_run(test_caches_of_nonsense);
	tap_run(test_shares);
	tap_run(test_huge_pages);
	return tap_done();
}
