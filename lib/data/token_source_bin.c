/*
 * lib/data/token_source_bin.c - the .bin files of llm.c and nanoGPT
 *
 * llm.c: dev/data/data_common.py, write_datafile; nanoGPT: data/openwebtext/prepare.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cursor.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/data/token_source_parts.h"

struct bin {
	int fd;
	uint32_t width;
	bool counted;	    /* LEFT is known */
	uint64_t left;	    /* ids still to be read */
	bool begins;	    /* a separator begins a document, else it ends one */
	size_t n, at;	    /* ids in the buffer, and how many were given */
	bool inside, ended; /* a document was begun; the file was read to its end */
	uint32_t ids[TOKEN_EVENT_IDS_MAX];
	unsigned char bytes[TOKEN_EVENT_IDS_MAX * 4];
};

/* N bytes, or what there is before the end. -1 with the error set. */
static ssize_t read_fully(const struct token_source *s, struct bin *b, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = read(b->fd, b->bytes + have, n - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_system("%s", s->name);
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static int open_file(struct token_source *s, const char *path)
{
	struct bin *b = mem_new(1, sizeof(*b));

	s->state = b;
	if (!b)
		return -1;
	b->width = 2;
	b->fd = open(path, O_RDONLY | O_CLOEXEC);
	return b->fd < 0 ? err_system("%s", path) : 0;
}

static int nanogpt_open(struct token_source *s, const char *path)
{
	return open_file(s, path);
}

static int llmc_header(struct token_source *s, struct bin *b, size_t n)
{
	uint32_t magic, version, count;
	struct cursor c;

	cursor_init(&c, b->bytes, n, s->name);
	if (cursor_u32(&c, &magic, "magic") != 0 || cursor_u32(&c, &version, "version") != 0 ||
	    cursor_u32(&c, &count, "number of ids") != 0)
		return -1;
	if (magic != LLMC_MAGIC_2 && magic != LLMC_MAGIC_4)
		return err_set(ERR_FORMAT, "%s: byte 0: is no file of llm.c: magic %" PRIu32,
			       s->name, magic);
	if (version != (magic == LLMC_MAGIC_2 ? LLMC_VERSION_2 : LLMC_VERSION_4))
		return err_set(ERR_UNSUPPORTED, "%s: byte 4: version %" PRIu32 " of magic %" PRIu32,
			       s->name, version, magic);
	if (count >= LLMC_IDS_MAX)
		return err_set(ERR_FORMAT, "%s: byte 8: %" PRIu32 " ids, but it is below 2^31",
			       s->name, count);
	if (cursor_seek(&c, LLMC_HEADER_SIZE, "header") != 0)
		return -1;
	b->width = magic == LLMC_MAGIC_2 ? 2 : 4;
	b->counted = true;
	b->left = count;
	return 0;
}

static int llmc_open(struct token_source *s, const char *path)
{
	struct bin *b;
	ssize_t got;

	if (open_file(s, path) != 0)
		return -1;
	b = s->state;
	b->begins = true;
	got = read_fully(s, b, LLMC_HEADER_SIZE);
	return got < 0 ? -1 : llmc_header(s, b, (size_t)got);
}

/* After the last id that the header tells of. */
static int check_no_more(const struct token_source *s, struct bin *b)
{
	ssize_t got = read_fully(s, b, 1);

	b->ended = true;
	if (got > 0)
		return err_set(ERR_FORMAT, "%s: bytes after the ids that the header tells of",
			       s->name);
	return got < 0 ? -1 : 0;
}

/* The next ids into the buffer; none at the end. */
static int read_ids(const struct token_source *s, struct bin *b)
{
	size_t want = TOKEN_EVENT_IDS_MAX;
	ssize_t got;

	b->n = b->at = 0;
	if (b->counted && b->left < want)
		want = (size_t)b->left;
	if (b->counted && want == 0)
		return check_no_more(s, b);
	got = read_fully(s, b, want * b->width);
	if (got < 0)
		return -1;
	if ((size_t)got % b->width)
		return err_set(ERR_FORMAT, "%s: is cut within an id", s->name);
	b->n = (size_t)got / b->width;
	if (b->counted && b->n < want)
		return err_set(ERR_FORMAT, "%s: is cut: %" PRIu64 " ids are missing", s->name,
			       b->left - b->n);
	b->left -= b->counted ? b->n : 0;
	b->ended = b->n == 0;
	return token_source_check(s, token_ids_decode(b->ids, b->bytes, b->n, b->width));
}

/* How many of the ids in the buffer belong to the document, the separator at its end included. */
static size_t stretch(const struct token_source *s, const struct bin *b)
{
	size_t i = b->at;

	/* A separator that begins the document is passed over. */
	if (b->begins && !b->inside)
		i++;
	while (i < b->n && b->ids[i] != s->separator)
		i++;
	return i - b->at + (!b->begins && i < b->n);
}

/* Whether the document is complete, given what is in the buffer. */
static bool is_complete(const struct token_source *s, const struct bin *b)
{
	if (!b->inside)
		return false;
	if (b->at == b->n)
		return b->ended;
	return b->begins && s->separator != TOKEN_NONE && b->ids[b->at] == s->separator;
}

static int bin_next(struct token_source *s, struct token_event *e)
{
	struct bin *b = s->state;
	size_t n;

	if (b->at == b->n && !b->ended && read_ids(s, b) != 0)
		return -1;
	if (is_complete(s, b)) {
		b->inside = false;
		*e = (struct token_event){ .kind = TOKEN_EVENT_END };
		return 1;
	}
	if (b->at == b->n)
		return 0;
	n = stretch(s, b);
	*e = (struct token_event){ .kind = TOKEN_EVENT_IDS, .ids = b->ids + b->at, .n = n };
	b->at += n;
	b->inside = true;
	return 1;
}

/* nanoGPT: the separator was the last id that was given. */
static int nanogpt_next(struct token_source *s, struct token_event *e)
{
	struct bin *b = s->state;

	if (b->inside && s->separator != TOKEN_NONE && b->at > 0 &&
	    b->ids[b->at - 1] == s->separator) {
		b->inside = false;
		*e = (struct token_event){ .kind = TOKEN_EVENT_END };
		return 1;
	}
	return bin_next(s, e);
}

static void bin_close(void *state)
{
	struct bin *b = state;

	if (b && b->fd >= 0)
		close(b->fd);
	free(b);
}

const struct token_source_kind token_source_llmc = { llmc_open, bin_next, bin_close };
const struct token_source_kind token_source_nanogpt = { nanogpt_open, nanogpt_next, bin_close };
