/* formats/tokenizer_gunzip.c - a small gzip file as a whole, through libarchive */

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

#include "formats/tokenizer_lines.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"

static int read_all(struct archive *a, const char *name, size_t limit, struct buffer *b)
{
	char part[16384];
	la_ssize_t got;

	while ((got = archive_read_data(a, part, sizeof(part))) > 0) {
		buffer_put(b, part, (size_t)got);
		if (b->size > limit)
			return err_set(ERR_LIMIT, "%s: more than %zu bytes when unpacked", name,
				       limit);
	}
	if (got < 0)
		return err_set(ERR_FORMAT, "%s: %s", name, archive_error_string(a));
	return buffer_check(b);
}

static int open_gzip(struct archive *a, struct bytes data, const char *name)
{
	struct archive_entry *entry;

	if (archive_read_support_filter_gzip(a) != ARCHIVE_OK ||
	    archive_read_support_format_raw(a) != ARCHIVE_OK ||
	    archive_read_open_memory(a, data.data, data.size) != ARCHIVE_OK ||
	    archive_read_next_header(a, &entry) != ARCHIVE_OK) {
		const char *text = archive_error_string(a);

		return err_set(ERR_FORMAT, "%s: %s", name, text ? text : "no gzip file");
	}
	/* Without a filter that fits, the bytes come as they are. */
	if (archive_filter_code(a, 0) != ARCHIVE_FILTER_GZIP)
		return err_set(ERR_FORMAT, "%s: begins as a gzip file and is none", name);
	return 0;
}

int tokenizer_gunzip(struct bytes data, const char *name, size_t limit, char **out, size_t *size)
{
	struct archive *a = archive_read_new();
	struct buffer b = { 0 };
	int result = -1;

	if (!a)
		return err_memory(data.size);
	if (open_gzip(a, data, name) == 0 && read_all(a, name, limit, &b) == 0)
		result = 0;
	archive_read_free(a);
	if (result < 0) {
		buffer_free(&b);
		return -1;
	}
	*out = b.data;
	*size = b.size;
	return 0;
}
