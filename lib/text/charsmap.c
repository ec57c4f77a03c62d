/* lib/text/charsmap.c - SentencePiece's precompiled character map */
#include "lib/text/charsmap.h"

#include "lib/base/cursor.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

struct charsmap {
	const unsigned char *units;
	size_t n_units;
	struct bytes texts;
};

static int read_map(struct charsmap *m, struct cursor *c)
{
	struct bytes units;
	uint32_t size;

	if (cursor_u32(c, &size, "size of the trie"))
		return -1;
	if (size == 0 || size % 4)
		return cursor_fail(c, "a trie of %u bytes: not a number of units", (unsigned)size);
	if (cursor_bytes(c, size, &units, "trie") ||
	    cursor_bytes(c, cursor_left(c), &m->texts, "texts"))
		return -1;
	m->units = (const unsigned char *)units.data;
	m->n_units = size / 4;
	if (utf8_valid_prefix(m->texts.data, m->texts.size) < m->texts.size)
		return cursor_fail(c, "the texts are not UTF-8");
	return 0;
}

int charsmap_new(struct charsmap **out, struct bytes data)
{
	struct charsmap *m = mem_new(1, sizeof(*m));
	struct cursor c;

	*out = NULL;
	if (!m)
		return -1;
	cursor_init(&c, data.data, data.size, "character map");
	if (read_map(m, &c)) {
		free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void charsmap_free(struct charsmap *m)
{
	free(m);
}

/* --- the trie: a unit has a label, whether a key ends there, and where its children are --- */

static uint32_t unit_at(const struct charsmap *m, size_t i)
{
	const unsigned char *p = m->units + 4 * i;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t unit_label(uint32_t unit)
{
	return unit & (1u << 31 | 0xFF);
}

static uint32_t unit_offset(uint32_t unit)
{
	return unit >> 10 << ((unit & 1u << 9) >> 6);
}

static bool unit_ends_key(uint32_t unit)
{
	return unit >> 8 & 1;
}

/* The text that begins at OFFSET, up to its NUL. */
static int text_at(const struct charsmap *m, uint32_t offset, struct bytes *put)
{
	const char *data = m->texts.data, *end;

	if (offset > m->texts.size || (offset < m->texts.size && (data[offset] & 0xC0) == 0x80))
		return err_set(ERR_FORMAT,
			       "character map: a key stands for the text at byte %u of %zu",
			       (unsigned)offset, m->texts.size);
	put->data = data + offset;
	end = memchr(put->data, 0, m->texts.size - offset);
	put->size = end ? (size_t)(end - put->data) : m->texts.size - offset;
	return 1;
}

int charsmap_find(const struct charsmap *m, struct bytes text, struct bytes *put)
{
	size_t node = unit_offset(unit_at(m, 0));
	uint32_t unit;

	for (size_t i = 0; i < text.size && text.data[i]; i++) {
		unsigned char byte = (unsigned char)text.data[i];

		node ^= byte;
		if (node >= m->n_units)
			return 0;
		unit = unit_at(m, node);
		if (unit_label(unit) != byte)
			return 0;
		node ^= unit_offset(unit);
		if (!unit_ends_key(unit))
			continue;
		if (node >= m->n_units)
			return err_set(ERR_FORMAT, "character map: a value lies at unit %zu of %zu",
				       node, m->n_units);
		return text_at(m, unit_at(m, node) & 0x7FFFFFFF, put);
	}
	return 0;
}
