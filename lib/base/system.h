/*
 * lib/base/system.h - what the operating system tells of caches, memory and huge pages
 *
 * Linux: sysfs (kernel documentation, ABI/testing/sysfs-devices-system-cpu, admin-guide/mm/transhuge). ROOT stands before its paths:
 * "" but in tests. What cannot be read or makes no sense is left out.
 */
#ifndef LIB_BASE_SYSTEM_H
#define LIB_BASE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

enum system_cache_kind { SYSTEM_CACHE_DATA, SYSTEM_CACHE_INSTRUCTION, SYSTEM_CACHE_UNIFIED };

struct system_cache {
	int level;
	enum system_cache_kind kind;
	size_t size, line;
	size_t sharers; /* processors that share it, 1 or more */
};

/* The caches of the first processor, at most N; returns how many there are. */
size_t system_caches(const char *root, struct system_cache *out, size_t n);

/* Bytes of memory in all; 0: not known. */
uint64_t system_memory(void);

#define SYSTEM_WORD 32
/* When they are used: `always`, `madvise`, `never`, or `unknown`. *SIZE: bytes of one, 0 if not known. */
void system_huge_pages(const char *root, char when[SYSTEM_WORD], size_t *size);

#endif
