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

/* One byte down from *NODE; false when no key goes on so. ENDS: a key ends here, and *NODE is where its value lies. */
static bool descend(const struct charsmap *m, size_t *node, unsigned char byte, bool *ends)
{
	uint32_t unit;

	*node ^= byte;
	if (*node >= m->n_units)
		return false;
	unit = unit_at(m, *node);
	if (!byte || unit_label(unit) != byte)
		return false;
	*node ^= unit_offset(unit);
	*ends = unit_ends_key(unit);
	return true;
}

/* What the key stands for whose value lies at NODE. */
static int value_at(const struct charsmap *m, size_t node, struct bytes *put)
{
	if (node >= m->n_units)
		return err_set(ERR_FORMAT, "character map: a value lies at unit %zu of %zu", node,
			       m->n_units);
	return text_at(m, unit_at(m, node) & 0x7FFFFFFF, put);
}

int charsmap_find(const struct charsmap *m, struct bytes text, struct bytes *put)
{
	size_t node = unit_offset(unit_at(m, 0));
	bool ends;

	for (size_t i = 0; i < text.size; i++) {
		if (!descend(m, &node, (unsigned char)text.data[i], &ends))
			return 0;
		if (ends)
			return value_at(m, node, put);
	}
	return 0;
}

int charsmap_find_longest(const struct charsmap *m, struct bytes text, struct bytes *put,
			  size_t *taken)
{
	size_t node = unit_offset(unit_at(m, 0)), value = 0;
	bool ends;

	*taken = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (!descend(m, &node, (unsigned char)text.data[i], &ends))
			break;
		if (ends) {
			*taken = i + 1;
			value = node;
		}
	}
	return *taken ? value_at(m, value, put) : 0;
}

bool charsmap_begins(const struct charsmap *m, unsigned char a)
{
	size_t node = unit_offset(unit_at(m, 0));
	bool ends;

	return descend(m, &node, a, &ends);
}

bool charsmap_begins_two(const struct charsmap *m, unsigned char a, unsigned char b)
{
	size_t node = unit_offset(unit_at(m, 0));
	bool ends;

	return descend(m, &node, a, &ends) && descend(m, &node, b, &ends);
}
