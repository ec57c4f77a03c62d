/*
 * formats/safetensors_index.c - writing model.safetensors.index.json
 *
 * The bytes are those of Python's json.dumps(…, indent=2, sort_keys=True) and a line feed, which is
 * what huggingface_hub and transformers write: only ASCII, all else as \uXXXX.
 */
#include <inttypes.h>

#include "formats/safetensors_parts.h"
#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

static void put_code_point(struct buffer *b, uint32_t c)
{
	static const char plain[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
	const char *at = c && c < 0x80 ? strchr(plain, (int)c) : NULL;

	if (at)
		buffer_format(b, "\\%c", letter[at - plain]);
	else if (c >= 0x20 && c < 0x7F)
		buffer_put_u8(b, (uint8_t)c);
	else if (c < 0x10000)
		buffer_format(b, "\\u%04" PRIx32, c);
	else
		buffer_format(b, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xD800 + ((c - 0x10000) >> 10),
			      0xDC00 + ((c - 0x10000) & 0x3FF));
}

static int put_ascii(struct buffer *b, struct bytes s)
{
	uint32_t c;
	size_t n;

	buffer_put_u8(b, '"');
	for (size_t i = 0; i < s.size; i += n) {
		n = utf8_decode(s.data + i, s.size - i, &c);
		if (n == 0)
			return err_set(ERR_ARGUMENT, "name \"" BYTES_FMT "\" is not UTF-8",
				       BYTES_ARG(s));
		put_code_point(b, c);
	}
	buffer_put_u8(b, '"');
	return 0;
}

struct named {
	struct bytes name, file;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return bytes_compare(x->name, y->name);
}

static int put_map(struct buffer *b, const struct named *map, size_t n)
{
	buffer_put_text(b, "  \"weight_map\": {");
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && bytes_equal(map[i].name, map[i - 1].name))
			return err_set(ERR_ARGUMENT, "duplicate name " BYTES_FMT,
				       BYTES_ARG(map[i].name));
		buffer_put_text(b, i == 0 ? "\n    " : ",\n    ");
		if (put_ascii(b, map[i].name) < 0)
			return -1;
		buffer_put_text(b, ": ");
		if (put_ascii(b, map[i].file) < 0)
			return -1;
	}
	buffer_put_text(b, n == 0 ? "}\n}\n" : "\n  }\n}\n");
	return buffer_check(b);
}

int safetensors_write_index(struct outfile *f, const struct bytes *names, const struct bytes *files,
			    size_t n, uint64_t total_size)
{
	struct named *map = mem_new(n, sizeof *map);
	struct buffer b = { 0 };
	int rc = -1;

	if (!map)
		return -1;
	for (size_t i = 0; i < n; i++)
		map[i] = (struct named){ names[i], files[i] };
	if (n > 1)
		qsort(map, n, sizeof *map, by_name);
	buffer_format(&b, "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64 "\n  },\n",
		      total_size);
	if (put_map(&b, map, n) < 0)
		err_prefix("%s", outfile_path(f));
	else
		rc = outfile_write(f, b.data, b.size);
	buffer_free(&b);
	free(map);
	return rc;
}
