/*
 * formats/jsonl.c - JSON lines from a file or a pipe
 *
 * One buffer holds the unread bytes. A line that does not end in it is moved to the front when it
 * takes less than half of the buffer, and the buffer is doubled otherwise; so each read has half a
 * buffer of room, and all moving and copying is linear in the input. No byte is searched twice.
 */
#include "formats/jsonl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"

#define FIRST_BUFFER ((size_t)1 << 20)
#define ENOUGH	     (2 * FIRST_BUFFER)
#define MUCH	     (4 * FIRST_BUFFER)

struct jsonl {
	char *name;
	jsonl_reader *read;
	void *arg;
	int fd; /* of jsonl_open_fd */
	bool owns_fd, at_end, failed;
	char *data;
	size_t capacity;
	size_t from, searched, to; /* the line begins, no LF before here, bytes read */
	size_t line_max;
	uint64_t lines;	 /* that ended */
	uint64_t passed; /* bytes of the input before data[0] */
	uint64_t record_offset;
};

/* --- opening --- */

int jsonl_open_reader(struct jsonl **out, jsonl_reader *read_some, void *arg, const char *name,
		      const struct jsonl_options *o)
{
	struct jsonl *r = mem_new(1, sizeof *r);

	if (!r)
		return -1;
	r->read = read_some;
	r->arg = arg;
	r->line_max = o && o->line_max ? o->line_max : JSONL_LINE_MAX;
	r->capacity = o && o->buffer ? o->buffer : FIRST_BUFFER;
	r->name = mem_copy(name, strlen(name));
	r->data = mem_new(r->capacity, 1);
	if (!r->name || !r->data) {
		jsonl_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

/* From the descriptor of the reader ARG. */
static int read_fd(void *arg, void *data, size_t n, size_t *got)
{
	const struct jsonl *r = arg;
	ssize_t size;

	do
		size = read(r->fd, data, n);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return err_system("%s", r->name);
	*got = (size_t)size;
	return 0;
}

int jsonl_open_fd(struct jsonl **out, int fd, const char *name, const struct jsonl_options *o)
{
	if (jsonl_open_reader(out, read_fd, NULL, name, o))
		return -1;
	(*out)->arg = *out;
	(*out)->fd = fd;
	return 0;
}

int jsonl_open(struct jsonl **out, const char *path, const struct jsonl_options *o)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_set(ERR_MISSING, "%s: No such file or directory", path);
	if (fd < 0)
		return err_system("%s", path);
	if (jsonl_open_fd(out, fd, path, o)) {
		close(fd);
		return -1;
	}
	(*out)->owns_fd = true;
	return 0;
}

void jsonl_close(struct jsonl *r)
{
	if (!r)
		return;
	if (r->owns_fd)
		close(r->fd);
	free(r->data);
	free(r->name);
	free(r);
}

/* --- filling --- */

static int fail_long(struct jsonl *r)
{
	return err_set(ERR_LIMIT, "%s:%llu: the line is longer than %zu bytes", r->name,
		       (unsigned long long)r->lines + 1, r->line_max);
}

/* Makes room behind the unread bytes, which it may move. */
static int make_room(struct jsonl *r)
{
	size_t unread = r->to - r->from;

	if (r->to < r->capacity)
		return 0;
	if (r->from > 0) {
		memmove(r->data, r->data + r->from, unread);
		r->passed += r->from;
		r->searched -= r->from;
		r->from = 0;
		r->to = unread;
	}
	if (unread <= r->capacity / 2)
		return 0;
	return mem_grow(&r->data, &r->capacity, r->capacity + 1, 1);
}

/* Reads what comes, at least a byte or the end. */
static int fill(struct jsonl *r)
{
	size_t n, got;

	if (make_room(r))
		return -1;
	/* Not as much as there is room for: behind a long line little is held then. */
	n = r->capacity - r->to < FIRST_BUFFER ? r->capacity - r->to : FIRST_BUFFER;
	if (r->read(r->arg, r->data + r->to, n, &got))
		return -1;
	r->at_end = got == 0;
	r->to += got;
	return 0;
}

/* --- lines --- */

/*
 * The next line with its LF, if it has one, to *LINE: 1, 0 at the end, -1. A line may be longer than
 * the limit by its end, CR LF, and no more is kept of one that does not end.
 */
static int next_line(struct jsonl *r, struct bytes *line)
{
	for (;;) {
		const char *from = r->data + r->searched;
		const char *lf = memchr(from, '\n', r->to - r->searched);

		r->searched = lf ? (size_t)(lf + 1 - r->data) : r->to;
		*line = (struct bytes){ r->data + r->from, r->searched - r->from };
		if (lf || (r->at_end && line->size))
			return 1;
		if (r->at_end)
			return 0;
		if (line->size > r->line_max && line->size - r->line_max > 1)
			return fail_long(r);
		if (fill(r))
			return -1;
	}
}

static struct bytes without_end(struct bytes line)
{
	if (line.size && line.data[line.size - 1] == '\n')
		line.size--;
	if (line.size && line.data[line.size - 1] == '\r')
		line.size--;
	return line;
}

/* A byte order mark at the start of the input is none of its text; one anywhere else is. */
static struct bytes without_mark(struct bytes line)
{
	if (line.size >= 3 && memcmp(line.data, "\xef\xbb\xbf", 3) == 0) {
		line.data += 3;
		line.size -= 3;
	}
	return line;
}

static bool is_blank(struct bytes line)
{
	size_t i = 0;

	while (i < line.size &&
	       (line.data[i] == ' ' || line.data[i] == '\t' || line.data[i] == '\r'))
		i++;
	return i == line.size;
}

/* One line: 1 and a record, 2 when there was none in it, 0 at the end, -1. */
static int try_next(struct jsonl *r, struct bytes *record)
{
	struct bytes line;
	int got = next_line(r, &line);

	if (got <= 0)
		return got;
	*record = without_end(line);
	if (r->lines == 0)
		*record = without_mark(*record);
	if (record->size > r->line_max)
		return fail_long(r);
	r->record_offset = r->passed + (uint64_t)(record->data - r->data);
	r->from = r->searched;
	r->lines++;
	return is_blank(*record) ? 2 : 1;
}

int jsonl_next(struct jsonl *r, struct bytes *record)
{
	int got;

	if (r->failed)
		return err_set(ERR_ARGUMENT, "%s: read on after an error", r->name);
	do
		got = try_next(r, record);
	while (got == 2);
	r->failed = got < 0;
	return got;
}

void jsonl_shrink(struct jsonl *r)
{
	size_t unread = r->to - r->from;
	char *data;

	if (r->capacity <= MUCH || unread > ENOUGH)
		return;
	/* Where there is no memory for it, all stays as it is. */
	data = malloc(ENOUGH);
	if (!data)
		return;
	memcpy(data, r->data + r->from, unread);
	free(r->data);
	r->data = data;
	r->capacity = ENOUGH;
	r->passed += r->from;
	r->searched -= r->from;
	r->to = unread;
	r->from = 0;
}

uint64_t jsonl_line(const struct jsonl *r)
{
	return r->lines;
}

uint64_t jsonl_offset(const struct jsonl *r)
{
	return r->record_offset;
}

const char *jsonl_name(const struct jsonl *r)
{
	return r->name;
}
