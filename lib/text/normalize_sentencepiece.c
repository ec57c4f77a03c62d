/*
 * lib/text/normalize_sentencepiece.c - all that SentencePiece does to a text before its model
 *
 * As sentencepiece 0.2.3's normalizer: from the left, unit by unit. A unit is a text to keep, or what the longest key of
 * the character map stands for, or a character. Spaces are made one by looking at the end of the unit before, and at the
 * ends of the text they go, the escaped ones too. A byte's span begins where its unit began and ends where the next
 * byte's span begins, so that spans are those of sentencepiece's pieces.
 */
#include "lib/text/normalize_parts.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/base/utf8.h"

static const struct bytes mark = { "\xE2\x96\x81", 3 }, space = { " ", 1 };
static const struct bytes replacement = { "\xEF\xBF\xBD", 3 };

/* --- making --- */

static int add_keep(struct step *s, const struct bytes *texts, size_t n)
{
	struct trie_key *keys = mem_new(n, sizeof(*keys));
	int result;

	if (!keys)
		return -1;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct trie_key){ texts[i], 0 };
	result = trie_init(&s->keep, keys, n);
	free(keys);
	return result;
}

/* Whether ASCII character C stays as it is wherever ASCII follows. */
static bool is_plain(const struct step *s, unsigned char c)
{
	uint32_t node = s->keep.root, value;
	struct bytes put;
	char byte = (char)c;

	if (c == ' ' || (s->keep.cells && trie_step(&s->keep, &node, c, &value)))
		return false;
	if (!s->charsmap || !charsmap_begins(s->charsmap, c))
		return true;
	if (charsmap_find(s->charsmap, (struct bytes){ &byte, 1 }, &put))
		return false;
	for (unsigned next = 1; next < 128; next++)
		if (charsmap_begins_two(s->charsmap, c, (unsigned char)next))
			return false;
	return true;
}

int step_prepare_sentencepiece(struct step *s, const struct normalizer_spec *spec)
{
	s->spec = spec;
	if (spec->sentencepiece.charsmap.size &&
	    charsmap_new(&s->charsmap, spec->sentencepiece.charsmap))
		return -1;
	if (spec->sentencepiece.n_keep &&
	    add_keep(s, spec->sentencepiece.keep, spec->sentencepiece.n_keep))
		return -1;
	for (unsigned c = 0; c < 128; c++)
		s->plain[c] = is_plain(s, (unsigned char)c);
	return 0;
}

/* --- running --- */

struct run {
	const struct step *s;
	struct text_rewrite *w;
	const char *data;
	size_t size;
	struct bytes space; /* what a space is written as */
	bool after_space, keeps;
};

/* What stands at AT, and the bytes of the text that it stands for. */
struct unit {
	struct bytes put;
	size_t taken;
	bool keep;
};

static size_t find_keep(const struct step *s, const char *data, size_t size)
{
	uint32_t node = s->keep.root, value;
	size_t longest = 0;

	for (size_t i = 0; i < size && trie_step(&s->keep, &node, (unsigned char)data[i], &value);
	     i++)
		if (value != TRIE_NONE)
			longest = i + 1;
	return longest;
}

static int unit_at(const struct run *r, size_t at, struct unit *u)
{
	const struct step *s = r->s;
	struct bytes rest = { r->data + at, r->size - at };
	uint32_t ignored;
	int found;

	u->put.data = rest.data;
	u->keep = r->keeps && (u->taken = find_keep(s, rest.data, rest.size)) > 0;
	if (u->keep) {
		u->put.size = u->taken;
		return 0;
	}
	if (s->charsmap) {
		found = charsmap_find_longest(s->charsmap, rest, &u->put, &u->taken);
		if (found)
			return found < 0 ? -1 : 0;
	}
	u->taken = utf8_decode(rest.data, rest.size, &ignored);
	u->put = (struct bytes){ rest.data, u->taken };
	if (u->taken)
		return 0;
	u->taken = u->put.size = 1;
	if (s->spec->sentencepiece.replace_invalid)
		u->put = replacement;
	return 0;
}

/* N new bytes that come from place AT of the document. */
static void emit(struct run *r, const char *data, size_t n, size_t at)
{
	struct text *out = r->w->out;
	size_t from = out->size;

	text_put(r->w, data, n, 0);
	if (!out->tracked)
		return;
	for (size_t i = from; i < out->size; i++)
		out->narrow[i] = r->w->in->at + (uint32_t)at;
}

/* Writes TEXT with its spaces escaped. */
static void emit_escaped(struct run *r, struct bytes text, size_t at)
{
	while (text.size) {
		const char *found = memchr(text.data, ' ', text.size);
		size_t n = found ? (size_t)(found - text.data) : text.size;

		if (n)
			emit(r, text.data, n, at);
		if (found)
			emit(r, r->space.data, r->space.size, at);
		n += found != NULL;
		text = (struct bytes){ text.data + n, text.size - n };
	}
}

/* A unit that is the text's own, without a space: it waits to be copied with its neighbours. */
static bool stays(const struct run *r, const struct unit *u, size_t at)
{
	return u->put.data == r->data + at && !(u->keep && r->w->in->tracked) &&
	       !memchr(u->put.data, ' ', u->taken);
}

/* Takes the unit at AT, with everything before it written. */
static void take(struct run *r, const struct unit *u, size_t at)
{
	struct bytes put = u->put;

	text_skip(r->w, at);
	while (r->after_space && put.size && *put.data == ' ')
		put = (struct bytes){ put.data + 1, put.size - 1 };
	if (put.size) {
		emit_escaped(r, put, at);
		r->after_space = r->s->spec->sentencepiece.remove_extra_whitespaces &&
				 put.data[put.size - 1] == ' ';
	}
	text_skip(r->w, at + u->taken);
}

static int take_all(struct run *r, size_t at)
{
	const struct step *s = r->s;
	struct unit u;

	text_skip(r->w, at);
	while (at < r->size && !r->w->failed) {
		unsigned char c = (unsigned char)r->data[at];

		if (c < 0x80 && s->plain[c] &&
		    (at + 1 == r->size || (unsigned char)r->data[at + 1] < 0x80 || !s->charsmap)) {
			r->after_space = false;
			at++;
			continue;
		}
		if (unit_at(r, at, &u) < 0)
			return -1;
		if (stays(r, &u, at)) {
			r->after_space = false;
		} else {
			text_keep(r->w, at - r->w->at);
			take(r, &u, at);
		}
		at += u.taken;
	}
	text_keep(r->w, at - r->w->at);
	return 0;
}

/* Past the units at the start that are one space each. */
static int skip_spaces(struct run *r, size_t *at)
{
	struct unit u;

	while (*at < r->size) {
		if (unit_at(r, *at, &u) < 0)
			return -1;
		if (!bytes_equal(u.put, space))
			break;
		*at += u.taken;
	}
	return 0;
}

/* Takes the spaces at the end away; where they began goes to *AT. */
static void drop_spaces(const struct run *r, size_t *at)
{
	struct text *out = r->w->out;

	while (out->size >= r->space.size &&
	       memcmp(out->data + out->size - r->space.size, r->space.data, r->space.size) == 0) {
		out->size -= r->space.size;
		if (out->tracked)
			*at = out->narrow[out->size] - r->w->in->at;
	}
}

static int rewrite(const struct step *s, struct text_rewrite *w)
{
	const struct normalizer_spec *spec = s->spec;
	struct run r = { .s = s,
			 .w = w,
			 .data = w->in->data,
			 .size = w->in->size,
			 .space = spec->sentencepiece.escape_whitespaces ? mark : space,
			 .after_space = spec->sentencepiece.remove_extra_whitespaces };

	bool prefix = spec->sentencepiece.add_dummy_prefix;
	bool suffix = prefix && spec->sentencepiece.whitespace_as_suffix;
	size_t at = 0, end = r.size;

	text_rewrite_chained(w);
	/* Elsewhere a text to keep changes nothing but spans. */
	r.keeps = s->keep.cells && (s->charsmap || r.after_space || w->in->tracked);
	if (r.after_space && skip_spaces(&r, &at) < 0)
		return -1;
	if (at < r.size) {
		if (prefix && !suffix)
			emit(&r, r.space.data, r.space.size, at);
		if (take_all(&r, at) < 0)
			return -1;
		if (spec->sentencepiece.remove_extra_whitespaces)
			drop_spaces(&r, &end);
		if (suffix)
			emit(&r, r.space.data, r.space.size, end);
	}
	text_skip(w, r.size);
	w->out->end = w->in->at + (uint32_t)end;
	return 0;
}

static size_t settled(const struct step *s, const char *data, size_t size, bool more)
{
	(void)s;
	(void)data;
	(void)size;
	(void)more;
	return 0;
}

const struct step_kind step_sentencepiece = { settled, rewrite };
