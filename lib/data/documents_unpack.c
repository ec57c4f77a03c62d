/*
 * lib/data/documents_unpack.c - what a compressed input unpacks to, through libarchive
 *
 * The filters are those that libarchive has itself; the ones for which it would start a program are
 * left out. What follows the compressed data is an error: some of the filters would pass over it.
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

#define BLOCK ((size_t)1 << 18)

struct unpacker {
	struct input *from;
	struct archive *archive;
	bool from_failed; /* the error is FROM's own, and is set */
	bool ended;
	uint64_t given; /* bytes of FROM that libarchive got */
	struct blocks blocks;
	char block[BLOCK];
};

static la_ssize_t give_block(struct archive *a, void *state, const void **block)
{
	struct unpacker *u = state;
	size_t got;

	if (input_read(u->from, u->block, BLOCK, &got)) {
		u->from_failed = true;
		archive_set_error(a, 1, "read");
		return -1;
	}
	u->given += got;
	*block = u->block;
	return (la_ssize_t)got;
}

static int fail(struct unpacker *u)
{
	if (u->from_failed)
		return -1;
	return err_set(ERR_FORMAT, "%s: byte %llu of what it unpacks to: %s", u->from->name,
		       (unsigned long long)u->blocks.given, blocks_error(u->archive));
}

/* Every byte of FROM belonged to the compressed data. */
static int check_end(struct unpacker *u)
{
	uint64_t used = (uint64_t)archive_filter_bytes(u->archive, -1);
	const void *block;

	if (used == u->given && give_block(u->archive, u, &block) < 0)
		return -1;
	if (used != u->given)
		return err_set(ERR_FORMAT,
			       "%s: byte %llu: bytes after the end of the compressed data",
			       u->from->name, (unsigned long long)used);
	return 0;
}

static int read_unpacked(void *state, void *data, size_t n, size_t *got)
{
	struct unpacker *u = state;

	*got = 0;
	if (u->ended)
		return 0;
	if (blocks_read(&u->blocks, u->archive, data, n, got))
		return fail(u);
	u->ended = *got == 0;
	return u->ended ? check_end(u) : 0;
}

static void close_unpacker(void *state)
{
	struct unpacker *u = state;

	archive_read_free(u->archive);
	input_close(u->from);
	free(u);
}

static int start(struct unpacker *u)
{
	struct archive *a = u->archive;
	struct archive_entry *entry;
	int r;

	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_filter_lzip(a);
	archive_read_support_filter_compress(a);
	archive_read_support_format_raw(a);
	archive_read_support_format_empty(a);
	if (archive_read_open(a, u, NULL, give_block, NULL) != ARCHIVE_OK)
		return fail(u);
	r = archive_read_next_header(a, &entry);
	if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
		return fail(u);
	u->ended = r == ARCHIVE_EOF;
	return u->ended ? check_end(u) : 0;
}

int input_unpack(struct input **out, struct input *from)
{
	struct unpacker *u = mem_new(1, sizeof *u);

	if (u)
		u->archive = archive_read_new();
	if (!u || !u->archive) {
		input_close(from);
		free(u);
		return err_set(ERR_MEMORY, "out of memory for unpacking");
	}
	u->from = from;
	if (start(u)) {
		close_unpacker(u);
		return -1;
	}
	if (input_new(out, from->name, read_unpacked, close_unpacker, u))
		return -1;
	(*out)->unpacked = true;
	return 0;
}
