/* formats/token_spool.c - bytes that are put aside until it is their turn */
#include "formats/token_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/temporary.h"

#define BUFFER_SIZE ((size_t)1 << 20)

struct token_spool {
	char *near;
	unsigned char *buffer;
	size_t filled, capacity;
	int fd;		  /* -1 until the buffer has overflowed */
	int read_fd;	  /* the same file, for the map */
	uint64_t written; /* bytes in the file */
	void *map;
	size_t map_size;
};

static void unmap(struct token_spool *s)
{
	if (s->map)
		munmap(s->map, s->map_size);
	s->map = NULL;
}

void token_spool_free(struct token_spool *s)
{
	if (!s)
		return;
	unmap(s);
	if (s->fd >= 0)
		close(s->fd);
	if (s->read_fd >= 0)
		close(s->read_fd);
	free(s->buffer);
	free(s->near);
	free(s);
}

int token_spool_new(struct token_spool **out, const char *near)
{
	struct token_spool *s = mem_new(1, sizeof(*s));

	if (!s)
		return -1;
	s->fd = s->read_fd = -1;
	s->near = mem_copy(near, strlen(near));
	if (!s->near) {
		token_spool_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static int make_file(struct token_spool *s)
{
	struct temporary t;
	int result = 0;

	s->fd = temporary_file(&t, s->near, 0600, s->near);
	if (s->fd < 0)
		return -1;
	s->read_fd = open(t.path, O_RDONLY | O_CLOEXEC);
	if (s->read_fd < 0)
		result = err_system("%s: what is put aside", s->near);
	temporary_remove(&t); /* the name; the descriptors keep the file */
	return result;
}

static int write_file(struct token_spool *s, const unsigned char *data, size_t n)
{
	if (s->fd < 0 && make_file(s) != 0)
		return -1;
	while (n) {
		ssize_t put = write(s->fd, data, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_system("%s: what is put aside", s->near);
		data += put;
		n -= (size_t)put;
		s->written += (uint64_t)put;
	}
	return 0;
}

static int flush(struct token_spool *s)
{
	size_t n = s->filled;

	s->filled = 0;
	return n ? write_file(s, s->buffer, n) : 0;
}

int token_spool_write(struct token_spool *s, const void *data, size_t n)
{
	unmap(s);
	if (n > BUFFER_SIZE - s->filled && flush(s) != 0)
		return -1;
	if (n >= BUFFER_SIZE)
		return write_file(s, data, n);
	if (mem_grow(&s->buffer, &s->capacity, s->filled + n, 1) != 0)
		return -1;
	if (n)
		memcpy(s->buffer + s->filled, data, n);
	s->filled += n;
	return 0;
}

uint64_t token_spool_size(const struct token_spool *s)
{
	return s->written + s->filled;
}

int token_spool_bytes(struct token_spool *s, struct bytes *out)
{
	unmap(s);
	if (s->fd < 0) {
		*out = (struct bytes){ (const char *)s->buffer, s->filled };
		return 0;
	}
	if (flush(s) != 0)
		return -1;
	s->map_size = (size_t)s->written;
	s->map = mmap(NULL, s->map_size, PROT_READ, MAP_SHARED, s->read_fd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return err_system("%s: what is put aside", s->near);
	}
	*out = (struct bytes){ s->map, s->map_size };
	return 0;
}
