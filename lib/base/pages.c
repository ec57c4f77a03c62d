/* lib/base/pages.c - memory straight from the system */
#include "lib/base/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/size.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define ROOM	  ((size_t)64 << 20)
#define SMALL	  ((size_t)256 << 10) /* has pages of its own: a room would cost a huge page */

/* What can be given back by itself. */
static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* SIZE in whole ALIGNs, at least one. False when there is no such number. */
static bool round_up(size_t size, size_t align, size_t *out)
{
	size_t more = size ? size : 1;

	if (more > PTRDIFF_MAX - align)
		return false;
	*out = (more + align - 1) / align * align;
	return true;
}

static void *map(size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED) {
		err_memory(size);
		return NULL;
	}
	return data;
}

/* SIZE bytes from a huge page on; SIZE is whole ones. */
static char *map_room(size_t size)
{
	char *data = map(size + HUGE_PAGE);
	size_t before;

	if (!data)
		return NULL;
	before = (HUGE_PAGE - (uintptr_t)data % HUGE_PAGE) % HUGE_PAGE;
	if (before)
		munmap(data, before);
	munmap(data + before + size, HUGE_PAGE - before);
	madvise(data + before, size, MADV_HUGEPAGE);
	return data + before;
}

static int new_room(struct pages *p, size_t need)
{
	size_t size = ROOM;
	char *room;

	if (need > ROOM && !round_up(need, HUGE_PAGE, &size)) {
		err_memory(need);
		return -1;
	}
	room = map_room(size);
	if (!room)
		return -1;
	pages_end(p);
	*p = (struct pages){ room, size };
	return 0;
}

void *pages_take(struct pages *p, size_t size)
{
	size_t whole;
	char *data;

	if (!round_up(size, page_size(), &whole)) {
		err_memory(size);
		return NULL;
	}
	if (whole < SMALL)
		return map(whole);
	if (p->left < whole && new_room(p, whole) < 0)
		return NULL;
	data = p->at;
	p->at += whole;
	p->left -= whole;
	return data;
}

void pages_give(void *data, size_t size)
{
	size_t whole;

	if (data && round_up(size, page_size(), &whole))
		munmap(data, whole);
}

void pages_end(struct pages *p)
{
	if (p->left)
		munmap(p->at, p->left);
	*p = (struct pages){ 0 };
}
