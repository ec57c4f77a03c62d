/*
 * tests/kernel/fnv.h - FNV-1a, 64 bits (Fowler, Noll, Vo), as scripts/gen-fixtures-dtype has it
 */
#ifndef TESTS_KERNEL_FNV_H
#define TESTS_KERNEL_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_add(uint64_t hash, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
