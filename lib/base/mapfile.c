/*
 * lib/base/mapfile.c - a file as memory, read only
 *
 * The live maps stand in a list for mapfile_path_at, which a signal handler calls at any moment:
 * nodes are added at its head and never leave it, and a closed map's node serves the next one.
 */
#include "lib/base/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

/* Where a live map lies. SIZE is 0 while the node serves none; it is set last and cleared first. */
struct place {
	struct place *next; /* fixed once the node is in the list */
	atomic_bool taken;
	atomic_uintptr_t start;
	atomic_size_t size;
	_Atomic(const char *) path;
};

struct mapfile {
	int fd;
	char *path;
	void *data; /* NULL for an empty file */
	size_t size;
	struct place *place;
};

static _Atomic(struct place *) places;

/* A node that serves no map, new or from the list; NULL with the error set. */
static struct place *take_place(void)
{
	struct place *p;

	for (p = atomic_load(&places); p; p = p->next)
		if (!atomic_exchange(&p->taken, true))
			return p;
	p = mem_new(1, sizeof(*p));
	if (!p)
		return NULL;
	atomic_store(&p->taken, true);
	p->next = atomic_load(&places);
	while (!atomic_compare_exchange_weak(&places, &p->next, p))
		;
	return p;
}

static void fill_place(struct place *p, const void *data, size_t size, const char *path)
{
	atomic_store(&p->start, (uintptr_t)data);
	atomic_store(&p->path, path);
	atomic_store(&p->size, size);
}

static void leave_place(struct place *p)
{
	atomic_store(&p->size, 0);
	atomic_store(&p->path, NULL);
	atomic_store(&p->taken, false);
}

const char *mapfile_path_at(const void *address)
{
	uintptr_t at = (uintptr_t)address;

	for (struct place *p = atomic_load(&places); p; p = p->next) {
		size_t size = atomic_load(&p->size);
		uintptr_t start = atomic_load(&p->start);
		const char *path = atomic_load(&p->path);

		/* Below START the difference wraps to more than any size. */
		if (at - start < size)
			return path;
	}
	return NULL;
}

/* As err_system, but a file that is not there is ERR_MISSING. */
static int open_error(const char *path)
{
	if (errno == ENOENT)
		return err_set(ERR_MISSING, "%s: No such file or directory", path);
	return err_system("%s", path);
}

/* Refuses by name what cannot be mapped. */
static int check_regular(const char *path, const struct stat *st)
{
	const char *what = S_ISDIR(st->st_mode)	   ? "a folder"
			   : S_ISFIFO(st->st_mode) ? "a pipe"
			   : S_ISSOCK(st->st_mode) ? "a socket"
						   : "a device";

	if (S_ISREG(st->st_mode))
		return 0;
	return err_set(ERR_ARGUMENT, "%s: is %s, not a regular file", path, what);
}

/* Maps M's open file. */
static int map_file(struct mapfile *m)
{
	struct stat st;

	if (fstat(m->fd, &st) != 0)
		return err_system("%s", m->path);
	if (check_regular(m->path, &st) != 0)
		return -1;
	if ((uintmax_t)st.st_size > SIZE_MAX / 2)
		return err_set(ERR_LIMIT, "%s: too large to map", m->path);
	m->size = (size_t)st.st_size;
	if (m->size == 0)
		return 0;
	m->data = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, m->fd, 0);
	if (m->data == MAP_FAILED) {
		m->data = NULL;
		return err_system("%s", m->path);
	}
	m->place = take_place();
	if (!m->place)
		return -1;
	fill_place(m->place, m->data, m->size, m->path);
	return 0;
}

int mapfile_open(struct mapfile **out, const char *path)
{
	struct mapfile *m = mem_new(1, sizeof(*m));

	if (!m)
		return -1;
	m->fd = -1;
	m->path = mem_copy(path, strlen(path));
	if (!m->path)
		goto fail;
	/* Not to wait for a writer, should it be a pipe. */
	m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (m->fd < 0) {
		open_error(path);
		goto fail;
	}
	if (map_file(m) != 0)
		goto fail;
	*out = m;
	return 0;
fail:
	mapfile_close(m);
	return -1;
}

void mapfile_close(struct mapfile *m)
{
	if (!m)
		return;
	if (m->place)
		leave_place(m->place);
	if (m->data)
		munmap(m->data, m->size);
	if (m->fd >= 0)
		close(m->fd);
	free(m->path);
	free(m);
}

struct bytes mapfile_bytes(const struct mapfile *m)
{
	return (struct bytes){ m->data ? m->data : "", m->size };
}

const char *mapfile_path(const struct mapfile *m)
{
	return m->path;
}

void mapfile_forget(const struct mapfile *m)
{
	if (m->data)
		madvise(m->data, m->size, MADV_DONTNEED);
}

void mapfile_expect(const struct mapfile *m)
{
	if (m->data)
		madvise(m->data, m->size, MADV_HUGEPAGE);
}

int mapfile_fd(const struct mapfile *m)
{
	return m->fd;
}

/* A first guess of what there is to read: the file's size where it has one, never above LIMIT. */
static size_t expected_size(int fd, size_t limit)
{
	struct stat st;
	size_t size = 4096;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		size = (uintmax_t)st.st_size < limit ? (size_t)st.st_size : limit;
	return size < limit ? size : limit;
}

/* Reads FD to its end into *DATA, *CAPACITY. At most LIMIT + 1 bytes; their number, or -1. */
static ssize_t read_all(int fd, const char *path, size_t limit, char **data, size_t *capacity)
{
	size_t size = 0;

	while (size <= limit) {
		size_t room;
		ssize_t got;

		/* One byte to see the end, one for the NUL. */
		if (size + 2 > *capacity && mem_grow(data, capacity, size + 2, 1) != 0)
			return -1;
		room = *capacity - 1 - size;
		if (room > limit + 1 - size)
			room = limit + 1 - size;
		got = read(fd, *data + size, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_system("%s", path);
		if (got == 0)
			break;
		size += (size_t)got;
	}
	return (ssize_t)size;
}

int file_read(const char *path, size_t limit, char **out, size_t *size)
{
	char *data = NULL;
	size_t capacity = 0;
	ssize_t got = -1;
	int fd;

	if (limit > SIZE_MAX / 4)
		limit = SIZE_MAX / 4;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return open_error(path);
	if (mem_grow(&data, &capacity, expected_size(fd, limit) + 2, 1) == 0)
		got = read_all(fd, path, limit, &data, &capacity);
	close(fd);
	if (got >= 0 && (size_t)got > limit)
		got = err_set(ERR_LIMIT, "%s: more than the limit of %zu bytes", path, limit);
	if (got < 0) {
		free(data);
		return -1;
	}
	data[got] = 0;
	*out = data;
	*size = (size_t)got;
	return 0;
}
