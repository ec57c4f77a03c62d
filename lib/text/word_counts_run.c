/* lib/text/word_counts_run.c - sorted runs of counted words in files without a name */
#include "lib/text/word_counts_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/temporary.h"

#define NUMBER_BYTES 10 /* of a 64-bit number in LEB128 at most */

struct word_spill {
	char *folder;
	int fd;
	_Atomic uint64_t size; /* that was promised to runs */
};

/* --- the file --- */

static int fail(const struct word_spill *s)
{
	return err_system("%s: words put aside there", s->folder);
}

static int make_file(struct word_spill *s)
{
	char *target = mem_format("%s/nnutils-words", s->folder);
	struct temporary t;
	int fd;

	if (!target)
		return -1;
	fd = temporary_file(&t, target, 0600, s->folder);
	free(target);
	if (fd < 0)
		return -1;
	/* Opened again, to read it too. */
	s->fd = open(t.path, O_RDWR | O_CLOEXEC);
	if (s->fd < 0)
		fail(s);
	temporary_remove(&t); /* the name; the descriptor keeps the file */
	close(fd);
	return s->fd < 0 ? -1 : 0;
}

int word_spill_new(struct word_spill **out, const char *folder)
{
	struct word_spill *s = mem_new(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -1;
	s->fd = -1;
	s->folder = mem_copy(folder, strlen(folder));
	if (!s->folder || make_file(s) < 0) {
		word_spill_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void word_spill_free(struct word_spill *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->folder);
	free(s);
}

static int write_at(struct word_spill *s, const char *data, size_t n, uint64_t at)
{
	while (n) {
		ssize_t put = pwrite(s->fd, data, n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(s);
		data += put;
		n -= (size_t)put;
		at += (uint64_t)put;
	}
	return 0;
}

/* --- numbers --- */

static size_t number_size(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

static size_t put_number(char *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (char)(v | 0x80);
	to[n++] = (char)v;
	return n;
}

/* Bytes of the number at the start of N bytes; 0 when it does not end there. */
static size_t get_number(const char *from, size_t n, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n && i < NUMBER_BYTES; i++) {
		v |= (uint64_t)(from[i] & 0x7F) << (7 * i);
		if (!(from[i] & 0x80)) {
			*out = v;
			return i + 1;
		}
	}
	return 0;
}

uint64_t word_record_size(size_t word, uint64_t count)
{
	return number_size(word) + word + number_size(count);
}

/* --- writing --- */

void word_writer_begin(struct word_writer *w, struct word_spill *s, uint64_t size, char *buffer,
		       size_t capacity)
{
	uint64_t from = atomic_fetch_add(&s->size, size);

	*w = (struct word_writer){
		.spill = s, .buffer = buffer, .capacity = capacity, .from = from, .at = from
	};
}

static int flush(struct word_writer *w)
{
	if (write_at(w->spill, w->buffer, w->filled, w->at) < 0)
		return -1;
	w->at += w->filled;
	w->filled = 0;
	return 0;
}

static int put(struct word_writer *w, const char *data, size_t n)
{
	if (n > w->capacity - w->filled && flush(w) < 0)
		return -1;
	if (n > w->capacity) {
		if (write_at(w->spill, data, n, w->at) < 0)
			return -1;
		w->at += n;
		return 0;
	}
	memcpy(w->buffer + w->filled, data, n);
	w->filled += n;
	return 0;
}

int word_writer_put(struct word_writer *w, struct bytes word, uint64_t count)
{
	char number[NUMBER_BYTES];

	if (put(w, number, put_number(number, word.size)) < 0 || put(w, word.data, word.size) < 0)
		return -1;
	return put(w, number, put_number(number, count));
}

int word_writer_end(struct word_writer *w, struct word_run *out)
{
	uint64_t promised;

	if (flush(w) < 0)
		return -1;
	*out = (struct word_run){ w->from, w->at };
	/* Of a run whose size was not known. */
	promised = atomic_load(&w->spill->size);
	if (promised < w->at)
		atomic_store(&w->spill->size, w->at);
	return 0;
}

/* --- reading --- */

/* To exactly NEED bytes: the longest word decides how much memory reading takes. */
static int grow(struct word_reader *r, size_t need)
{
	char *more = realloc(r->buffer, need);

	if (!more)
		return err_memory(need);
	r->buffer = more;
	r->capacity = need;
	return 0;
}

int word_reader_new(struct word_reader *r, struct word_spill *s, struct word_run run,
		    size_t capacity)
{
	*r = (struct word_reader){ .spill = s, .at = run.from, .to = run.to };
	return grow(r, capacity);
}

void word_reader_free(struct word_reader *r)
{
	free(r->buffer);
	r->buffer = NULL;
}

/* Makes the buffer hold NEED bytes behind what was given out, or all that are left; more where it has room. */
static int fill(struct word_reader *r, size_t need)
{
	size_t have = r->filled - r->done;

	memmove(r->buffer, r->buffer + r->done, have);
	r->done = 0;
	r->filled = have;
	if (need > r->capacity && grow(r, need) < 0)
		return -1;
	while (r->filled < need && r->at < r->to) {
		size_t room = r->capacity - r->filled;
		size_t n = room < r->to - r->at ? room : (size_t)(r->to - r->at);
		ssize_t got = pread(r->spill->fd, r->buffer + r->filled, n, (off_t)r->at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(r->spill);
		if (got == 0)
			break;
		r->filled += (size_t)got;
		r->at += (uint64_t)got;
	}
	return 0;
}

static int broken(const struct word_reader *r)
{
	return err_set(ERR_IO, "%s: words put aside there were changed", r->spill->folder);
}

/* The buffer then holds the whole next record: 1; 0 at the end; -1. */
static int hold_record(struct word_reader *r, size_t *head, uint64_t *size)
{
	if (r->filled - r->done < 2 * NUMBER_BYTES && r->at < r->to &&
	    fill(r, 2 * NUMBER_BYTES) < 0)
		return -1;
	if (r->filled == r->done)
		return r->at < r->to ? broken(r) : 0;
	*head = get_number(r->buffer + r->done, r->filled - r->done, size);
	if (!*head || *size == 0 || *size > SIZE_MAX / 2)
		return broken(r);
	if (r->filled - r->done < *head + *size + NUMBER_BYTES && r->at < r->to &&
	    fill(r, *head + (size_t)*size + NUMBER_BYTES) < 0)
		return -1;
	return r->filled - r->done < *head + *size ? broken(r) : 1;
}

int word_reader_next(struct word_reader *r, struct bytes *word, uint64_t *count)
{
	size_t head = 0, tail, size;
	uint64_t long_size = 0;
	int got = hold_record(r, &head, &long_size);

	if (got <= 0)
		return got;
	size = (size_t)long_size;
	*word = (struct bytes){ r->buffer + r->done + head, size };
	tail = get_number(word->data + size, r->filled - r->done - head - size, count);
	if (!tail)
		return broken(r);
	r->done += head + size + tail;
	return 1;
}
