/*
 * lib/data/documents_gunzip.c - gzip (RFC 1952), through zlib
 *
 * libarchive reads gzip too, but does not look at its checksums, and passes over what follows the data. Members
 * one after the other are read on; every one must be whole.
 */
#include <stdlib.h>
#include <zlib.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

#define BLOCK	    ((size_t)1 << 18)
#define GZIP_WINDOW (15 + 16) /* zlib's way to ask for gzip, with the largest window */

struct gunzip {
	struct input *from;
	z_stream z;
	bool at_start; /* of a member, and not of the first */
	bool ended;
	uint64_t used; /* bytes of FROM */
	uint64_t made;
	unsigned char block[BLOCK];
};

static int fail(const struct gunzip *g, const char *what)
{
	return err_set(ERR_FORMAT, "%s: byte %llu: %s (byte %llu of what it unpacks to)",
		       g->from->name, (unsigned long long)(g->used - g->z.avail_in), what,
		       (unsigned long long)g->made);
}

/* Some input, if there is any. */
static int refill(struct gunzip *g)
{
	size_t got;

	if (g->z.avail_in)
		return 0;
	if (input_read(g->from, g->block, BLOCK, &got))
		return -1;
	g->z.next_in = g->block;
	g->z.avail_in = (uInt)got;
	g->used += got;
	return 0;
}

/* Between members: another one, the end, or something else. */
static int begin_member(struct gunzip *g)
{
	if (!g->at_start)
		return 0;
	if (!g->z.avail_in) {
		g->ended = true;
		return 0;
	}
	if (g->z.next_in[0] != 0x1F)
		return fail(g, "bytes after the end of the compressed data");
	g->at_start = false;
	return inflateReset(&g->z) == Z_OK ? 0 : fail(g, "gzip cannot be begun again");
}

static int take_result(struct gunzip *g, int result)
{
	switch (result) {
	case Z_STREAM_END: g->at_start = true; return 0;
	case Z_OK:
	case Z_BUF_ERROR: return 0;
	case Z_MEM_ERROR: return err_set(ERR_MEMORY, "out of memory for unpacking");
	default: return fail(g, g->z.msg ? g->z.msg : "not gzip");
	}
}

static int read_gunzip(void *state, void *data, size_t n, size_t *got)
{
	struct gunzip *g = state;
	uInt room = n < 1 << 30 ? (uInt)n : 1 << 30;
	int result;

	*got = 0;
	while (!g->ended && *got == 0) {
		if (refill(g) || begin_member(g))
			return -1;
		if (g->ended)
			break;
		if (!g->z.avail_in)
			return fail(g, "the compressed data ends too early");
		g->z.next_out = data;
		g->z.avail_out = room;
		result = inflate(&g->z, Z_NO_FLUSH);
		*got = room - g->z.avail_out;
		g->made += *got;
		/* What came before the damage goes out first; the next call meets it again. */
		if (take_result(g, result) && *got == 0)
			return -1;
	}
	return 0;
}

static void close_gunzip(void *state)
{
	struct gunzip *g = state;

	inflateEnd(&g->z);
	input_close(g->from);
	free(g);
}

int input_gunzip(struct input **out, struct input *from)
{
	struct gunzip *g = mem_new(1, sizeof *g);

	if (!g || inflateInit2(&g->z, GZIP_WINDOW) != Z_OK) {
		input_close(from);
		free(g);
		return err_set(ERR_MEMORY, "out of memory for unpacking");
	}
	g->from = from;
	if (input_new(out, from->name, read_gunzip, close_gunzip, g))
		return -1;
	(*out)->unpacked = true;
	return 0;
}
