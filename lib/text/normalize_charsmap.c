/*
 * lib/text/normalize_charsmap.c - Precompiled
 *
 * As `tokenizers` does it: a grapheme cluster below 6 bytes is looked up whole, and where a key is a prefix of it the
 * whole cluster is replaced; otherwise each of its characters is looked up. What vanishes is taken off the change
 * of the character before it; at the very start of the text it is forgotten, so that later spans lag behind.
 */
#include "lib/text/cluster.h"
#include "lib/text/normalize_parts.h"

#include "lib/base/memory.h"

#define WHOLE_BELOW 6 /* bytes of a cluster that is looked up whole */

struct mapping {
	const struct charsmap *map;
	struct text_rewrite *w;
	/* The last character made, which what follows may still change. */
	char bytes[4];
	size_t n; /* 0: none yet */
	ptrdiff_t change;
};

static void flush(struct mapping *m)
{
	if (m->n)
		text_change(m->w, m->bytes, m->n, m->change);
	m->n = 0;
}

static void push(struct mapping *m, const char *data, size_t n, ptrdiff_t change)
{
	flush(m);
	memcpy(m->bytes, data, n);
	m->n = n;
	m->change = change;
}

static size_t count_chars(const char *data, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (data[i] & 0xC0) != 0x80;
	return count;
}

/* NEW in place of OLD characters. */
static void replace(struct mapping *m, struct bytes new, size_t old)
{
	size_t i = 0, length;

	for (size_t at = 0; at < new.size; at += length, i++) {
		length = char_length(new.data + at, new.size - at);
		push(m, new.data + at, length, i >= old);
	}
	if (i < old && m->n)
		m->change -= (ptrdiff_t)(old - i);
}

/* Looks up each character from FROM to TO. */
static int map_chars(struct mapping *m, const char *data, size_t from, size_t to)
{
	struct bytes put;
	size_t length;
	int found;

	for (size_t at = from; at < to; at += length) {
		length = char_length(data + at, to - at);
		found = charsmap_find(m->map, (struct bytes){ data + at, length }, &put);
		if (found < 0)
			return -1;
		if (found)
			replace(m, put, 1);
		else
			push(m, data + at, length, 0);
	}
	return 0;
}

static int map_cluster(struct mapping *m, const char *data, size_t from, size_t to)
{
	struct bytes put;
	int found = 0;

	if (to - from < WHOLE_BELOW)
		found = charsmap_find(m->map, (struct bytes){ data + from, to - from }, &put);
	if (found < 0)
		return -1;
	if (!found)
		return map_chars(m, data, from, to);
	replace(m, put, count_chars(data + from, to - from));
	return 0;
}

/* ASCII that the map leaves alone, from AT on, without the last one: a mark may follow that. */
static size_t plain_end(const struct step *s, const char *data, size_t size, size_t at)
{
	size_t to = at;

	while (to < size && !(data[to] & 0x80) && s->plain[(unsigned char)data[to]])
		to++;
	return to > at && to < size ? to - 1 : to;
}

/* A run that stays as it is. Its last character goes through push, since what vanishes after it changes it. */
static void keep_plain(struct mapping *m, size_t from, size_t to)
{
	flush(m);
	if (!m->w->in->tracked)
		text_skip(m->w, from);
	if (m->w->at == from) {
		text_keep(m->w, to - 1 - from);
		from = to - 1;
	}
	for (; from < to; from++)
		push(m, m->w->in->data + from, 1, 0);
}

static int rewrite_charsmap(const struct step *s, struct text_rewrite *w)
{
	struct mapping m = { .map = s->charsmap, .w = w };
	const char *data = w->in->data;
	size_t size = w->in->size, at = w->at, to;

	/* The last settled character, so that it can be changed. */
	if (at > 0) {
		size_t before = char_before(data, at);

		w->out->size -= at - before;
		text_skip(w, before);
		push(&m, data + before, at - before, 0);
	}
	while (at < size && !w->failed) {
		to = plain_end(s, data, size, at);
		if (to > at) {
			keep_plain(&m, at, to);
		} else {
			to = cluster_end(data, size, at);
			if (map_cluster(&m, data, at, to))
				return -1;
		}
		at = to;
	}
	flush(&m);
	text_skip(w, size);
	return 0;
}

static size_t charsmap_settled(const struct step *s, const char *data, size_t size, bool more)
{
	size_t at = plain_end(s, data, size, 0);

	return at > 0 && at == size && more ? at - 1 : at;
}

const struct step_kind step_charsmap = { charsmap_settled, rewrite_charsmap };

void step_find_plain(struct step *s)
{
	struct bytes put;

	for (unsigned c = 0; c < 128; c++) {
		char byte = (char)c;

		s->plain[c] =
			c != '\r' && !charsmap_find(s->charsmap, (struct bytes){ &byte, 1 }, &put);
	}
}
