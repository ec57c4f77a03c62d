/* lib/data/documents_input.c - a stream of bytes that can be looked at before it is read */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

int input_new(struct input **out, const char *name, input_reader *read, void (*close)(void *),
	      void *state)
{
	struct input *in = mem_new(1, sizeof *in);

	if (in)
		in->name = mem_copy(name, strlen(name));
	if (!in || !in->name) {
		close(state);
		free(in);
		return -1;
	}
	in->read = read;
	in->close = close;
	in->state = state;
	in->fd = -1;
	*out = in;
	return 0;
}

void input_close(struct input *in)
{
	if (!in)
		return;
	in->close(in->state);
	buffer_free(&in->head);
	free(in->error);
	free(in->name);
	free(in);
}

/* --- reading --- */

static size_t take_head(struct input *in, void *data, size_t n)
{
	size_t left = in->head.size - in->head_at;

	if (n > left)
		n = left;
	memcpy(data, in->head.data + in->head_at, n);
	in->head_at += n;
	in->offset += n;
	if (in->head_at == in->head.size) {
		buffer_free(&in->head);
		in->head_at = 0;
	}
	return n;
}

int input_read(struct input *in, void *data, size_t n, size_t *got)
{
	*got = 0;
	if (in->head_at < in->head.size) {
		*got = take_head(in, data, n);
		return 0;
	}
	if (in->failed)
		return err_set(in->failed, "%s", in->error ? in->error : "out of memory");
	if (in->at_end || n == 0)
		return 0;
	if (in->read(in->state, data, n, got))
		return -1;
	in->at_end = *got == 0;
	in->offset += *got;
	return 0;
}

/* The error waits until what came before it has been read. */
static int keep_error(struct input *in)
{
	if (in->head.size == in->head_at)
		return -1;
	in->failed = err_last();
	in->error = mem_copy(err_text(), strlen(err_text()));
	return 0;
}

int input_peek(struct input *in, size_t n, struct bytes *out)
{
	while (in->head.size - in->head_at < n && !in->at_end && !in->failed) {
		size_t more = n - (in->head.size - in->head_at), got;

		if (buffer_reserve(&in->head, more))
			return -1;
		if (in->read(in->state, in->head.data + in->head.size, more, &got)) {
			if (keep_error(in))
				return -1;
			break;
		}
		in->at_end = got == 0;
		in->head.size += got;
	}
	*out = (struct bytes){ in->head.data ? in->head.data + in->head_at : "",
			       in->head.size - in->head_at };
	return 0;
}

/* --- files --- */

struct file {
	int fd;
	bool owned;
	char *name;
};

static int read_file(void *state, void *data, size_t n, size_t *got)
{
	struct file *f = state;
	ssize_t r;

	do
		r = read(f->fd, data, n);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_system("%s", f->name);
	*got = (size_t)r;
	return 0;
}

static void close_file(void *state)
{
	struct file *f = state;

	if (f->owned)
		close(f->fd);
	free(f->name);
	free(f);
}

static int open_path(const char *path, bool follow)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));

	if (fd < 0 && errno == ENOENT)
		return err_set(ERR_MISSING, "%s: No such file or directory", path);
	return fd < 0 ? err_system("%s", path) : fd;
}

int input_open(struct input **out, const char *path, bool follow)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct file *f = mem_new(1, sizeof *f);
	struct stat st;

	if (!f)
		return -1;
	f->owned = !is_stdin;
	f->fd = is_stdin ? STDIN_FILENO : open_path(path, follow);
	if (f->fd < 0) {
		free(f);
		return -1;
	}
	f->name = is_stdin ? mem_copy("stdin", 5) : mem_copy(path, strlen(path));
	if (!f->name) {
		close_file(f);
		return -1;
	}
	if (input_new(out, f->name, read_file, close_file, f))
		return -1;
	(*out)->regular = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
	if ((*out)->regular)
		(*out)->size_hint = (uint64_t)st.st_size;
	/* Stdin may be a file that somebody read a part of: it is never gone back in. */
	if (!is_stdin && lseek(f->fd, 0, SEEK_CUR) == 0)
		(*out)->fd = f->fd;
	return 0;
}

int input_seek(struct input *in, uint64_t offset)
{
	if (lseek(in->fd, (off_t)offset, SEEK_SET) < 0)
		return err_system("%s", in->name);
	buffer_clear(&in->head);
	in->head_at = 0;
	in->offset = offset;
	in->at_end = false;
	return 0;
}
