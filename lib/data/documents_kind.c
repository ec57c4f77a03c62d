/*
 * lib/data/documents_kind.c - what an input is: by its first bytes, then by its name
 *
 * The signatures are those of the formats' own descriptions (RFC 1952 for gzip, RFC 8878 for zstd, …). A tar
 * header has no signature in old archives, but a checksum (POSIX.1-2008, pax, ustar format).
 */
#include "lib/data/documents_parts.h"

#define TAR_BLOCK	  512
#define TAR_CHECKSUM	  148 /* eight characters, octal */
#define TAR_CHECKSUM_SIZE 8

struct signature {
	const char *bytes;
	size_t size;
	enum input_kind kind;
};

#define SIGNATURE(text, kind)  \
 {                             \
  text, sizeof(text) - 1, kind \
 }

static const struct signature signatures[] = {
	SIGNATURE("\x1F\x8B\x08", INPUT_GZIP),
	SIGNATURE("BZh", INPUT_COMPRESSED),	      /* bzip2; see below */
	SIGNATURE("\xFD\x37zXZ\0", INPUT_COMPRESSED), /* xz */
	SIGNATURE("\x28\xB5\x2F\xFD", INPUT_ZSTD),
	SIGNATURE("\x04\x22\x4D\x18", INPUT_COMPRESSED), /* lz4 */
	SIGNATURE("\x02\x21\x4C\x18", INPUT_COMPRESSED), /* lz4, the old frame */
	SIGNATURE("LZIP\x01", INPUT_COMPRESSED),	 /* lzip */
	SIGNATURE("\x1F\x9D", INPUT_COMPRESSED),	 /* compress */
	SIGNATURE("\x5D\x00\x00", INPUT_COMPRESSED),	 /* lzma, as everybody writes it */
	SIGNATURE("PK\x03\x04", INPUT_ZIP),		 /* a member first */
	SIGNATURE("PK\x05\x06", INPUT_ZIP),		 /* no member */
	SIGNATURE("PK\x07\x08PK\x03\x04", INPUT_ZIP),	 /* a part of several */
};

static const struct {
	const char *ending;
	enum input_kind kind;
} endings[] = {
	{ ".gz", INPUT_GZIP },	       { ".tgz", INPUT_GZIP },	      { ".bz2", INPUT_COMPRESSED },
	{ ".tbz2", INPUT_COMPRESSED }, { ".xz", INPUT_COMPRESSED },   { ".txz", INPUT_COMPRESSED },
	{ ".zst", INPUT_COMPRESSED },  { ".tzst", INPUT_COMPRESSED }, { ".lz4", INPUT_COMPRESSED },
	{ ".lz", INPUT_COMPRESSED },   { ".lzma", INPUT_COMPRESSED }, { ".Z", INPUT_COMPRESSED },
	{ ".tar", INPUT_TAR },	       { ".zip", INPUT_ZIP },	      { ".jsonl", INPUT_RECORDS },
	{ ".ndjson", INPUT_RECORDS },
};

static const char *const kind_names[] = {
	[INPUT_GZIP] = "gzip",
	[INPUT_COMPRESSED] = "compressed data",
	[INPUT_TAR] = "a tar archive",
	[INPUT_ZIP] = "a zip archive",
};

/* The header's bytes are added with the checksum's own taken for spaces. */
static bool is_tar_header(struct bytes head)
{
	const unsigned char *p = (const unsigned char *)head.data;
	uint32_t sum = ' ' * TAR_CHECKSUM_SIZE, stored = 0;
	size_t i = TAR_CHECKSUM, digits = 0;

	if (head.size < TAR_BLOCK || p[0] == '\0')
		return false;
	for (size_t k = 0; k < TAR_BLOCK; k++)
		sum += k - TAR_CHECKSUM < TAR_CHECKSUM_SIZE ? 0 : p[k];
	while (i < TAR_CHECKSUM + TAR_CHECKSUM_SIZE && p[i] == ' ')
		i++;
	for (; i < TAR_CHECKSUM + TAR_CHECKSUM_SIZE && p[i] >= '0' && p[i] <= '7'; i++, digits++)
		stored = stored * 8 + (p[i] - '0');
	return digits > 0 && stored == sum;
}

/* bzip2's signature is text; the level and the first block's mark, or the end's, follow it. */
static bool is_bzip2(struct bytes head)
{
	return head.size >= 10 && head.data[3] >= '1' && head.data[3] <= '9' &&
	       (memcmp(head.data + 4, "1AY&SY", 6) == 0 ||
		memcmp(head.data + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

/* The frames of user data that zstd and lz4 pass over, followed by anything. */
static bool is_skippable_frame(struct bytes head)
{
	return head.size >= 8 && ((unsigned char)head.data[0] & 0xF0) == 0x50 &&
	       memcmp(head.data + 1, "\x2A\x4D\x18", 3) == 0;
}

static int kind_by_bytes(struct bytes head)
{
	for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
		const struct signature *s = &signatures[i];

		if (head.size >= s->size && memcmp(head.data, s->bytes, s->size) == 0 &&
		    (s->bytes[0] != 'B' || is_bzip2(head)))
			return s->kind;
	}
	if (is_skippable_frame(head))
		return INPUT_COMPRESSED;
	return is_tar_header(head) ? (int)INPUT_TAR : -1;
}

static int kind_by_name(struct bytes name)
{
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (bytes_end_with(name, endings[i].ending))
			return endings[i].kind;
	return -1;
}

size_t input_plain_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	int kind = dot ? kind_by_name(bytes_of(dot)) : -1;

	return kind == INPUT_GZIP || kind == INPUT_COMPRESSED ? (size_t)(dot - name) : strlen(name);
}

/* --- JSON lines --- */

/* Whether the object that LINE begins has the FIELD, or text_base64, before the line ends or errs. */
static bool has_field(struct json *json, struct bytes line, const char *field)
{
	struct bytes key;

	json_init(json, line.data, line.size, "", NULL);
	if (json_object(json))
		return false;
	while (json_key(json, &key) > 0) {
		if (bytes_are(key, field) || bytes_are(key, "text_base64"))
			return true;
		if (json_skip(json, NULL))
			return false;
	}
	return false;
}

/* The first line that is not blank, and whether its end is there. */
static struct bytes first_line(struct bytes head, bool *whole)
{
	size_t from = 0;
	const char *end;

	if (bytes_start_with(head, "\xEF\xBB\xBF"))
		from = 3;
	while (from < head.size && memchr(" \t\r\n", head.data[from], 4))
		from++;
	end = memchr(head.data + from, '\n', head.size - from);
	*whole = end != NULL;
	return (struct bytes){ head.data + from,
			       (size_t)((end ? end : head.data + head.size) - head.data) - from };
}

/* 1 when it is a record; looks no further than the first line that is not blank. */
static int starts_with_record(struct input *in, struct json *json, const char *field, size_t max)
{
	size_t n = 4096;
	struct bytes head, line;
	bool whole;

	for (;;) {
		if (input_peek(in, n, &head))
			return -1;
		line = first_line(head, &whole);
		if (line.size && line.data[0] != '{')
			return 0;
		if (has_field(json, line, field))
			return 1;
		if (whole || head.size < n || n > max)
			return 0;
		n *= 2;
	}
}

/* The name says something that the bytes do not bear out. */
static int refuse_name(const struct input *in, int named)
{
	return err_set(ERR_FORMAT, "%s: byte 0: not %s, as its name says", in->name,
		       kind_names[named]);
}

/* What the name says; of what was unpacked, the name without the compression's ending. */
static int named_kind(const struct input *in)
{
	size_t plain = input_plain_name(in->name);

	if (in->unpacked && in->name[plain])
		return kind_by_name((struct bytes){ in->name, plain });
	return kind_by_name(bytes_of(in->name));
}

int input_kind(struct input *in, struct json *json, const char *field, size_t max_bytes)
{
	int kind, named = named_kind(in);
	struct bytes head;

	if (input_peek(in, TAR_BLOCK, &head))
		return -1;
	kind = kind_by_bytes(head);
	if (kind >= 0 || named == INPUT_RECORDS)
		return kind >= 0 ? kind : named;
	if (named == INPUT_TAR && head.size && head.data[0] == '\0')
		return INPUT_TAR; /* one without members */
	if (named >= 0)
		return refuse_name(in, named);
	kind = starts_with_record(in, json, field, max_bytes);
	return kind < 0 ? -1 : kind ? INPUT_RECORDS : INPUT_TEXT;
}
