/*
 * lib/data/documents_unzstd.c - zstd (RFC 8878), through its own library
 *
 * libarchive reads it too, with a copy more of every byte. Frames one after the other are read on, frames of user
 * data are passed over; every one must be whole.
 */
#include <stdlib.h>
#include <zstd.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

#define BLOCK ((size_t)1 << 18)

struct unzstd {
	struct input *from;
	ZSTD_DStream *stream;
	ZSTD_inBuffer in; /* over BLOCK */
	bool between;	  /* a frame ended, and what comes is not known yet */
	bool ended;
	const char *failed; /* what was wrong, met behind bytes that went out */
	uint64_t used;	    /* bytes of FROM */
	uint64_t made;
	char block[BLOCK];
};

static int fail(const struct unzstd *z)
{
	return err_set(ERR_FORMAT, "%s: byte %llu: %s (byte %llu of what it unpacks to)",
		       z->from->name, (unsigned long long)(z->used - (z->in.size - z->in.pos)),
		       z->failed, (unsigned long long)z->made);
}

/* Some input, if there is any. */
static int refill(struct unzstd *z)
{
	size_t got;

	if (z->in.pos < z->in.size)
		return 0;
	if (input_read(z->from, z->block, BLOCK, &got))
		return -1;
	z->in = (ZSTD_inBuffer){ z->block, got, 0 };
	z->used += got;
	return 0;
}

/* What is there into OUT. */
static void unpack(struct unzstd *z, ZSTD_outBuffer *out)
{
	bool was_between = z->between, no_more = z->in.size == 0;
	size_t left;

	if (was_between && no_more) {
		z->ended = true;
		return;
	}
	left = ZSTD_decompressStream(z->stream, out, &z->in);
	z->between = left == 0;
	if (ZSTD_isError(left))
		z->failed = was_between ? "bytes after the end of the compressed data"
					: ZSTD_getErrorName(left);
	else if (no_more && left && out->pos == 0)
		z->failed = "the compressed data ends too early";
}

static int read_unzstd(void *state, void *data, size_t n, size_t *got)
{
	struct unzstd *z = state;
	ZSTD_outBuffer out = { data, n, 0 };

	*got = 0;
	while (!z->ended && !z->failed && out.pos == 0) {
		if (refill(z))
			return -1;
		unpack(z, &out);
	}
	z->made += out.pos;
	*got = out.pos;
	return z->failed && out.pos == 0 ? fail(z) : 0;
}

static void close_unzstd(void *state)
{
	struct unzstd *z = state;

	ZSTD_freeDStream(z->stream);
	input_close(z->from);
	free(z);
}

int input_unzstd(struct input **out, struct input *from)
{
	struct unzstd *z = mem_new(1, sizeof *z);

	if (z)
		z->stream = ZSTD_createDStream();
	if (!z || !z->stream) {
		input_close(from);
		free(z);
		return err_set(ERR_MEMORY, "out of memory for unpacking");
	}
	z->from = from;
	if (input_new(out, from->name, read_unzstd, close_unzstd, z))
		return -1;
	(*out)->unpacked = true;
	return 0;
}
