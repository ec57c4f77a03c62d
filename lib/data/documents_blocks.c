/*
 * lib/data/documents_blocks.c - bytes from libarchive, none lost before an error
 *
 * archive_read_data forgets what it had copied when a later block is damaged; this hands out block by
 * block. What a sparse member does not store is zeros.
 */
#include <archive.h>

#include "lib/data/documents_parts.h"

/* The next block that has something to give; 0 also at the end. */
static int next_block(struct blocks *b, struct archive *a)
{
	int64_t offset = 0;
	int r;

	do {
		b->data = NULL;
		b->size = 0;
		r = archive_read_data_block(a, &b->data, &b->size, &offset);
		if (r != ARCHIVE_OK && r != ARCHIVE_EOF)
			return -1;
		b->ended = r == ARCHIVE_EOF;
		if (b->ended)
			b->size = 0;
		b->hole = offset > (int64_t)b->given ? (uint64_t)offset - b->given : 0;
	} while (!b->ended && b->size == 0 && b->hole == 0);
	b->at = 0;
	return 0;
}

int blocks_read(struct blocks *b, struct archive *a, void *data, size_t n, size_t *got)
{
	*got = 0;
	if (b->hole == 0 && b->at == b->size && !b->ended && next_block(b, a))
		return -1;
	if (b->hole > 0) {
		*got = n < b->hole ? n : (size_t)b->hole;
		memset(data, 0, *got);
		b->hole -= *got;
	} else if (b->at < b->size) {
		*got = n < b->size - b->at ? n : b->size - b->at;
		memcpy(data, (const char *)b->data + b->at, *got);
		b->at += *got;
	}
	b->given += *got;
	return 0;
}

const char *blocks_error(struct archive *a)
{
	const char *what = archive_error_string(a);

	if (!what)
		return "truncated or damaged";
	/* How xz says that its input ended, or did not end where it should. */
	if (strstr(what, "No progress is possible"))
		return "truncated, or followed by something else";
	return what;
}
