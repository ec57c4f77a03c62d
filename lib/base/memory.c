/* lib/base/memory.c - allocation that says what it could not get */
#include "lib/base/memory.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/err.h"
#include "lib/base/size.h"

#define FEWEST_ITEMS 16
#define HUGE_PAGE    ((size_t)2 << 20)
#define PAGE	     ((size_t)4096)
#define LARGE	     (2 * HUGE_PAGE)

static int refuse_product(size_t n, size_t size)
{
	return err_set(ERR_MEMORY, "out of memory: %zu items of %zu bytes refused", n, size);
}

/* No object is larger than PTRDIFF_MAX, so the allocator need not be asked. */
static bool product(size_t n, size_t size, size_t *out)
{
	return size_mul(n, size, out) && *out <= PTRDIFF_MAX;
}

/*
 * What is large and new comes from the system untouched; huge pages then take a tenth of the time to come by. All of the pages that the
 * allocator took: a mapping of which a part were advised would be two, and the system does not move two at once when they grow.
 */
static void advise(void *p, size_t total)
{
	uintptr_t from = (uintptr_t)p / PAGE * PAGE, to;

	if (total < LARGE)
		return;
	to = ((uintptr_t)p + malloc_usable_size(p) + PAGE - 1) / PAGE * PAGE;
	madvise((char *)p - ((uintptr_t)p - from), to - from, MADV_HUGEPAGE);
}

void *mem_new(size_t n, size_t size)
{
	size_t total;
	void *p;

	if (!product(n, size, &total)) {
		refuse_product(n, size);
		return NULL;
	}
	p = calloc(1, total ? total : 1);
	if (!p)
		err_memory(total);
	else
		advise(p, total);
	return p;
}

void *mem_pages(size_t n)
{
	void *p;

	if (n > PTRDIFF_MAX || posix_memalign(&p, n < HUGE_PAGE ? sizeof(p) : HUGE_PAGE, n) != 0) {
		err_memory(n);
		return NULL;
	}
	if (n >= HUGE_PAGE)
		madvise(p, n, MADV_HUGEPAGE);
	return p;
}

void *mem_table(size_t n, size_t size)
{
	size_t total;
	void *p;

	if (!product(n, size, &total) || total < HUGE_PAGE)
		return mem_new(n, size);
	p = mem_pages(total);
	if (p)
		memset(p, 0, total);
	return p;
}

char *mem_copy(const void *p, size_t n)
{
	char *copy = n < PTRDIFF_MAX ? malloc(n + 1) : NULL;

	if (!copy) {
		err_memory(n);
		return NULL;
	}
	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

int mem_grow(void *items, size_t *capacity, size_t need, size_t size)
{
	size_t more = *capacity > SIZE_MAX / 2 ? SIZE_MAX : *capacity * 2, total;
	void *old, *grown;

	if (need <= *capacity)
		return 0;
	if (more < FEWEST_ITEMS)
		more = FEWEST_ITEMS;
	if (more < need || !product(more, size, &total))
		more = need;
	if (!product(more, size, &total))
		return refuse_product(need, size);

	/* ITEMS points to a pointer of any type; its bytes are those of a void pointer. */
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, total ? total : 1);
	if (!grown)
		return err_memory(total);
	advise(grown, total);
	memcpy(items, &grown, sizeof(grown));
	*capacity = more;
	return 0;
}

char *mem_format(const char *format, ...)
{
	va_list args;
	char *s;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0) {
		err_system("a text cannot be formatted");
		return NULL;
	}
	s = malloc((size_t)n + 1);
	if (!s) {
		err_memory((size_t)n + 1);
		return NULL;
	}
	va_start(args, format);
	vsnprintf(s, (size_t)n + 1, format, args);
	va_end(args);
	return s;
}
