/*
 * lib/data/documents_members.c - the members of a tar or zip archive, through libarchive
 *
 * A zip archive in a file is read by its directory, which is at the end; one from elsewhere, and every
 * tar, from front to back. After the last member the rest is read too: what is left over of a
 * compressed stream may be damaged, and a tar that does not end in its two blocks of zeros was cut.
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/data/documents_parts.h"

#define BLOCK	   ((size_t)1 << 18)
#define END_MARKER 1024 /* zeros after the last member of a tar */

struct members {
	struct input *from;
	struct archive *archive;
	enum input_kind kind;
	bool from_failed; /* the error is FROM's own, and is set */
	bool ended;
	size_t zeros;	    /* that the bytes given so far end in, at most END_MARKER */
	struct buffer path; /* of the present member */
	struct blocks blocks;
	char block[BLOCK];
};

/* --- what libarchive calls --- */

static void count_zeros(struct members *m, size_t n)
{
	size_t zeros = 0;

	while (zeros < n && zeros < END_MARKER && m->block[n - 1 - zeros] == '\0')
		zeros++;
	m->zeros = zeros == n ? m->zeros + zeros : zeros;
	if (m->zeros > END_MARKER)
		m->zeros = END_MARKER;
}

static la_ssize_t give_block(struct archive *a, void *state, const void **block)
{
	struct members *m = state;
	size_t got;

	if (input_read(m->from, m->block, BLOCK, &got)) {
		m->from_failed = true;
		archive_set_error(a, 1, "read");
		return -1;
	}
	count_zeros(m, got);
	*block = m->block;
	return (la_ssize_t)got;
}

static la_int64_t seek_block(struct archive *a, void *state, la_int64_t offset, int whence)
{
	struct members *m = state;
	int64_t from = whence == SEEK_SET ? 0 : (int64_t)m->from->offset;

	if (whence == SEEK_END)
		from = (int64_t)lseek(m->from->fd, 0, SEEK_END);
	if (from < 0 || offset < -from || input_seek(m->from, (uint64_t)(from + offset)) < 0) {
		archive_set_error(a, 1, "seek");
		return ARCHIVE_FATAL;
	}
	return from + offset;
}

/* --- opening --- */

static int fail(struct members *m)
{
	const char *what = blocks_error(m->archive);

	if (m->from_failed)
		return -1;
	if (m->path.size)
		return err_set(ERR_FORMAT, "%s:" BYTES_FMT ": byte %llu: %s", m->from->name,
			       BYTES_ARG(m->path), (unsigned long long)m->blocks.given, what);
	return err_set(ERR_FORMAT, "%s: byte %llu: %s", m->from->name,
		       (unsigned long long)archive_filter_bytes(m->archive, -1), what);
}

void members_close(struct members *m)
{
	if (!m)
		return;
	archive_read_free(m->archive);
	input_close(m->from);
	buffer_free(&m->path);
	free(m);
}

static int start(struct members *m)
{
	struct archive *a = m->archive;

	if (m->kind == INPUT_TAR) {
		archive_read_support_format_tar(a);
		archive_read_set_format_option(a, "tar", "read_concatenated_archives", "1");
		archive_read_support_format_empty(a);
	} else if (m->from->fd >= 0) {
		archive_read_support_format_zip(a);
		archive_read_set_seek_callback(a, seek_block);
	} else {
		archive_read_support_format_zip_streamable(a);
	}
	return archive_read_open(a, m, NULL, give_block, NULL) == ARCHIVE_OK ? 0 : fail(m);
}

int members_open(struct members **out, struct input *from, enum input_kind kind)
{
	struct members *m = mem_new(1, sizeof *m);

	if (m)
		m->archive = archive_read_new();
	if (!m || !m->archive) {
		input_close(from);
		free(m);
		return err_set(ERR_MEMORY, "out of memory for an archive");
	}
	m->from = from;
	m->kind = kind;
	if (start(m)) {
		members_close(m);
		return -1;
	}
	*out = m;
	return 0;
}

/* --- members --- */

/* Reads what follows the last member, and looks whether the archive is whole. */
static int end_archive(struct members *m)
{
	const void *block;
	la_ssize_t got;

	m->ended = true;
	if (m->kind == INPUT_ZIP && m->from->fd >= 0)
		return 0;
	do
		got = give_block(m->archive, m, &block);
	while (got > 0);
	if (got < 0)
		return -1;
	if (m->kind == INPUT_TAR && m->zeros < END_MARKER)
		return err_set(ERR_FORMAT, "%s: byte %llu: the archive ends without its end marker",
			       m->from->name, (unsigned long long)m->from->offset);
	return 0;
}

/* Names are bytes. One that cannot be told in this locale is no trouble when it is there in UTF-8. */
static const char *entry_name(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname_utf8(entry);

	return name ? name : archive_entry_pathname(entry);
}

static bool is_harmless(struct archive *a)
{
	const char *what = archive_error_string(a);

	return what && strstr(what, "convert");
}

static enum member_kind entry_kind(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return MEMBER_LINK;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG: return MEMBER_FILE;
	case AE_IFDIR: return MEMBER_FOLDER;
	case AE_IFLNK: return MEMBER_LINK;
	default: return MEMBER_SPECIAL;
	}
}

int members_next(struct members *m, struct bytes *path, enum member_kind *kind)
{
	struct archive_entry *entry;
	const char *name;
	int r;

	if (m->ended)
		return 0;
	buffer_clear(&m->path);
	m->blocks = (struct blocks){ 0 };
	r = archive_read_next_header(m->archive, &entry);
	if (r == ARCHIVE_EOF)
		return end_archive(m);
	if (r == ARCHIVE_WARN && is_harmless(m->archive))
		r = ARCHIVE_OK;
	name = r == ARCHIVE_OK ? entry_name(entry) : NULL;
	if (!name)
		return fail(m);
	buffer_put_text(&m->path, name);
	*path = buffer_bytes(&m->path);
	*kind = entry_kind(entry);
	return buffer_check(&m->path) ? -1 : 1;
}

static int read_member(void *state, void *data, size_t n, size_t *got)
{
	struct members *m = state;

	return blocks_read(&m->blocks, m->archive, data, n, got) ? fail(m) : 0;
}

static void close_member(void *state)
{
}

int members_input(struct members *m, struct input **out)
{
	char *name = mem_format("%s:%.*s", m->from->name, (int)m->path.size, m->path.data);
	int result;

	if (!name)
		return -1;
	result = input_new(out, name, read_member, close_member, m);
	free(name);
	return result;
}

const char *members_name(const struct members *m)
{
	return m->from->name;
}
