/* formats/tokenizer_gunzip.c - a small gzip file as a whole, through zlib */

#include <stdlib.h>
#include <zlib.h>

#include "formats/tokenizer_lines.h"
#include "lib/base/buffer.h"
#include "lib/base/err.h"

#define GZIP_WINDOW (15 + 16) /* the largest window, and a gzip header */

static int refuse(const z_stream *z, const char *name)
{
	return err_set(ERR_FORMAT, "%s: byte %lu: damaged gzip: %s", name, z->total_in,
		       z->msg ? z->msg : "it ends early");
}

/* One member after another, as gzip does; anything else behind one is refused by the next. */
static int inflate_all(z_stream *z, const char *name, size_t limit, struct buffer *b)
{
	unsigned char part[16384];
	int got = Z_OK;

	while (got != Z_STREAM_END || z->avail_in) {
		if (got == Z_STREAM_END && inflateReset(z) != Z_OK)
			return refuse(z, name);
		z->next_out = part;
		z->avail_out = sizeof(part);
		got = inflate(z, Z_NO_FLUSH);
		if (got != Z_OK && got != Z_STREAM_END)
			return refuse(z, name);
		buffer_put(b, part, sizeof(part) - z->avail_out);
		if (b->size > limit)
			return err_set(ERR_LIMIT, "%s: more than %zu bytes when unpacked", name,
				       limit);
	}
	return buffer_check(b);
}

int tokenizer_gunzip(struct bytes data, const char *name, size_t limit, char **out, size_t *size)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)data.data };
	struct buffer b = { 0 };
	int result;

	if (data.size > UINT32_MAX)
		return err_set(ERR_LIMIT, "%s: %zu bytes of gzip", name, data.size);
	z.avail_in = (unsigned)data.size;
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return err_memory(sizeof(z));
	result = inflate_all(&z, name, limit, &b);
	inflateEnd(&z);
	if (result < 0) {
		buffer_free(&b);
		return -1;
	}
	*out = b.data;
	*size = b.size;
	return 0;
}
