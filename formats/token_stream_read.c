/*
 * formats/token_stream_read.c - reads a token stream
 *
 * One buffer of fixed size. Bytes are hashed when they are about to leave it, in large pieces.
 */
#include "formats/token_stream.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/token_stream_parts.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"

#define BUFFER_SIZE ((size_t)256 << 10)

struct token_reader {
	int fd;
	bool owned;
	char *name;
	struct token_header header;
	uint32_t width;
	struct hasher *hasher;
	unsigned char *buffer;
	size_t at, filled;   /* the next byte, and the end of what was read */
	size_t hashed;	     /* what is before it in the buffer has been hashed */
	uint64_t base;	     /* the place in the stream of the buffer's first byte */
	uint32_t kind, left; /* the record being read, and how many of its items are to come */
	uint64_t sent;	     /* tokens of this document */
	uint64_t runs_end;   /* the end of its last run */
	bool in_document;    /* something of it came */
	struct token_counts counts;
	bool ended, failed;
	uint32_t ids[TOKEN_EVENT_IDS_MAX];
};

static uint64_t offset(const struct token_reader *r)
{
	return r->base + r->at;
}

__attribute__((format(printf, 2, 3))) static int fail(struct token_reader *r, const char *format,
						      ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return err_set(ERR_FORMAT, "%s: byte %" PRIu64 ": %s", r->name, offset(r), text);
}

/* --- bytes ---------------------------------------------------------------------------- */

static void hash_read(struct token_reader *r)
{
	hasher_add(r->hasher, r->buffer + r->hashed, r->at - r->hashed);
	r->hashed = r->at;
}

/* Moves what is left to the front, so that the rest of the buffer is free. */
static void make_room(struct token_reader *r)
{
	hash_read(r);
	memmove(r->buffer, r->buffer + r->at, r->filled - r->at);
	r->base += r->at;
	r->filled -= r->at;
	r->at = r->hashed = 0;
}

/* One read: the bytes that came, 0 at the end of the input, -1 with the error set. */
static ssize_t fill(struct token_reader *r)
{
	ssize_t got;

	do
		got = read(r->fd, r->buffer + r->filled, BUFFER_SIZE - r->filled);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_system("%s", r->name);
	r->filled += (size_t)got;
	return got;
}

/* At least N bytes in the buffer; WHAT they are, for the message. */
static int need(struct token_reader *r, size_t n, const char *what)
{
	if (r->filled - r->at >= n)
		return 0;
	make_room(r);
	while (r->filled < n) {
		ssize_t got = fill(r);

		if (got < 0)
			return -1;
		if (got == 0)
			return fail(r, "the stream is cut: %s needs %zu bytes, %zu left", what, n,
				    r->filled);
	}
	return 0;
}

static uint32_t get_u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

static uint64_t get_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

/* --- opening -------------------------------------------------------------------------- */

void token_reader_close(struct token_reader *r)
{
	if (!r)
		return;
	if (r->owned && r->fd >= 0)
		close(r->fd);
	hasher_free(r->hasher);
	free(r->buffer);
	free(r->name);
	free(r);
}

static int read_header(struct token_reader *r)
{
	/* A short input that is something else is told as that, not as cut. */
	if (need(r, 8, "the header") != 0)
		return -1;
	if ((memcmp(r->buffer, TOKEN_STREAM_MAGIC, 8) == 0 &&
	     need(r, TOKEN_HEADER_SIZE, "the header") != 0) ||
	    token_header_decode(&r->header, TOKEN_STREAM_MAGIC, r->buffer, r->filled, r->name) != 0)
		return -1;
	r->at += TOKEN_HEADER_SIZE;
	r->width = token_width(r->header.vocab);
	return 0;
}

static int open_reader(struct token_reader **out, int fd, const char *name, bool owned)
{
	struct token_reader *r = mem_new(1, sizeof(*r));

	if (!r) {
		if (owned)
			close(fd);
		return -1;
	}
	r->fd = fd;
	r->owned = owned;
	r->name = mem_copy(name, strlen(name));
	r->buffer = mem_new(1, BUFFER_SIZE);
	if (!r->name || !r->buffer || hasher_new(&r->hasher) != 0 || read_header(r) != 0) {
		token_reader_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

int token_reader_open_fd(struct token_reader **out, int fd, const char *name)
{
	return open_reader(out, fd, name, false);
}

int token_reader_open(struct token_reader **out, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_system("%s", path);
	return open_reader(out, fd, path, true);
}

/* --- records -------------------------------------------------------------------------- */

static int next_ids(struct token_reader *r, struct token_event *e)
{
	size_t n = r->left < TOKEN_EVENT_IDS_MAX ? r->left : TOKEN_EVENT_IDS_MAX;
	uint32_t top;

	if (need(r, n * r->width, "a record of ids") != 0)
		return -1;
	top = token_ids_decode(r->ids, r->buffer + r->at, n, r->width);
	if (top >= r->header.vocab)
		return fail(r,
			    "token id %" PRIu32
			    " among the next %zu is not below the vocabulary size "
			    "%" PRIu32,
			    top, n, r->header.vocab);
	r->at += n * r->width;
	r->left -= (uint32_t)n;
	r->sent += n;
	r->counts.tokens += n;
	*e = (struct token_event){ .kind = TOKEN_EVENT_IDS, .ids = r->ids, .n = n };
	return 1;
}

static int next_run(struct token_reader *r, struct token_event *e)
{
	const char *wrong;

	if (need(r, TOKEN_RUN_SIZE, "a run") != 0)
		return -1;
	*e = (struct token_event){ .kind = TOKEN_EVENT_RUN };
	wrong = token_run_decode(&e->run, r->buffer + r->at);
	if (wrong)
		return fail(r, "%s", wrong);
	if (e->run.start < r->runs_end)
		return fail(r, "a run from %" PRIu64 " on, after one that ends at %" PRIu64,
			    e->run.start, r->runs_end);
	if (e->run.start + e->run.length > r->sent)
		return fail(r, "a run to %" PRIu64 ", and %" PRIu64 " tokens of the document came",
			    e->run.start + e->run.length, r->sent);
	r->runs_end = e->run.start + e->run.length;
	r->at += TOKEN_RUN_SIZE;
	r->left--;
	return 1;
}

static int end_document(struct token_reader *r, struct token_event *e)
{
	r->counts.documents++;
	r->sent = r->runs_end = 0;
	r->in_document = false;
	*e = (struct token_event){ .kind = TOKEN_EVENT_END };
	return 1;
}

static int check_counts(struct token_reader *r, uint64_t documents, uint64_t tokens)
{
	if (documents == r->counts.documents && tokens == r->counts.tokens)
		return 0;
	return fail(r,
		    "the end record tells of %" PRIu64 " documents and %" PRIu64 " tokens; %" PRIu64
		    " and %" PRIu64 " came",
		    documents, tokens, r->counts.documents, r->counts.tokens);
}

static int check_no_more(struct token_reader *r)
{
	if (r->at == r->filled) {
		ssize_t got;

		make_room(r);
		got = fill(r);
		if (got <= 0)
			return (int)got;
	}
	return fail(r, "bytes after the end of the stream");
}

static int end_stream(struct token_reader *r)
{
	const unsigned char *p;
	struct hash128 hash;

	if (r->in_document)
		return fail(r, "the stream ends within a document");
	if (need(r, END_RECORD_SIZE, "the end record") != 0)
		return -1;
	p = r->buffer + r->at;
	if (check_counts(r, get_u64(p), get_u64(p + 8)) != 0)
		return -1;
	r->at += END_RECORD_SIZE - sizeof(hash.digest);
	hash_read(r);
	hash = hasher_value(r->hasher);
	if (memcmp(hash.digest, r->buffer + r->at, sizeof(hash.digest)) != 0)
		return fail(r, "the hash disagrees: the stream is damaged");
	r->at += sizeof(hash.digest);
	r->ended = true;
	return check_no_more(r);
}

/* The next record's header; a record of no items is passed over. */
static int begin_record(struct token_reader *r)
{
	uint32_t kind, count;

	if (need(r, RECORD_HEADER_SIZE, "a record") != 0)
		return -1;
	kind = get_u32(r->buffer + r->at);
	count = get_u32(r->buffer + r->at + 4);
	if (kind < RECORD_IDS || kind > RECORD_END)
		return fail(r, "a record of kind %" PRIu32 ", which is not known", kind);
	if (kind >= RECORD_DOCUMENT_END && count)
		return fail(r, "an end with a count of %" PRIu32, count);
	r->at += RECORD_HEADER_SIZE;
	r->kind = kind;
	r->left = count;
	if (kind < RECORD_DOCUMENT_END)
		r->in_document = true;
	return 0;
}

static int next_event(struct token_reader *r, struct token_event *e)
{
	while (r->left == 0) {
		if (begin_record(r) != 0)
			return -1;
		if (r->kind == RECORD_DOCUMENT_END)
			return end_document(r, e);
		if (r->kind == RECORD_END)
			return end_stream(r);
	}
	return r->kind == RECORD_IDS ? next_ids(r, e) : next_run(r, e);
}

int token_reader_next(struct token_reader *r, struct token_event *e)
{
	int got;

	if (r->failed)
		return err_set(ERR_FORMAT, "%s: could not be read before", r->name);
	if (r->ended)
		return 0;
	got = next_event(r, e);
	r->failed = got < 0;
	return got;
}

const struct token_header *token_reader_header(const struct token_reader *r)
{
	return &r->header;
}

const char *token_reader_name(const struct token_reader *r)
{
	return r->name;
}

struct token_counts token_reader_counts(const struct token_reader *r)
{
	return r->counts;
}
