/* tests/unit/test_pages.c - pages from the system: zero, apart from each other, given back one by one */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/pages.h"
#include "tests/tap.h"

#define MIB ((size_t)1 << 20)
#define N   7

static const size_t sizes[N] = { 0, 5000, MIB, 40 * MIB + 1, 30 * MIB, 65 * MIB, 3 * MIB - 1 };

static bool is_zero(const unsigned char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static bool is_mapped(void *p)
{
	unsigned char there;

	return mincore(p, 1, &there) == 0;
}

int main(void)
{
	struct pages p = { 0 };
	unsigned char *data[N];
	bool zero = true, kept = true, aligned = true;

	for (size_t i = 0; i < N; i++) {
		data[i] = pages_take(&p, sizes[i]);
		if (!tap_ok(data[i] != NULL, "%zu bytes", sizes[i]))
			return tap_done();
		aligned = aligned && (uintptr_t)data[i] % (uintptr_t)sysconf(_SC_PAGESIZE) == 0;
		zero = zero && is_zero(data[i], sizes[i]);
		memset(data[i], (int)i + 1, sizes[i]);
	}
	tap_ok(zero, "zeroed");
	tap_ok(aligned, "at pages");
	for (size_t i = 0; i < N; i++)
		kept = kept && (!sizes[i] || (data[i][0] == i + 1 && is_zero(data[i], 0) &&
					      data[i][sizes[i] - 1] == i + 1));
	tap_ok(kept, "apart");
	for (size_t i = 0; i < N; i += 2)
		pages_give(data[i], sizes[i]);
	for (size_t i = 0; i < N; i++)
		tap_ok(is_mapped(data[i]) == (i % 2 == 1), "%zu bytes: %s", sizes[i],
		       i % 2 ? "still there" : "given back");
	pages_end(&p);
	tap_ok(data[5][0] == 6 && data[5][65 * MIB - 1] == 6, "what was taken outlives the rest");
	tap_fails(pages_take(&p, SIZE_MAX) ? 0 : -1, ERR_MEMORY, "", "all there is");
	tap_fails(pages_take(&p, PTRDIFF_MAX) ? 0 : -1, ERR_MEMORY, "", "nearly all");
	return tap_done();
}
