/*
 * lib/text/bpe_symbols.c - the symbols that a word begins with
 *
 * A character is looked up with continuing_subword_prefix before it unless it is the first, and end_of_word_suffix after it
 * if it is the last. What is no piece becomes its bytes' tokens, all of them or none, and else the unknown token. Two
 * habits of the peer are kept: the bytes are those of prefix and suffix too, and an unknown token that waits to be
 * fused goes out after byte tokens that follow it. One is not: it drops what has no token at all, in
 * silence; that is an error here.
 */
#include <stdio.h>

#include "lib/base/utf8.h"
#include "lib/text/bpe_parts.h"
#include "lib/text/bytelevel.h"

/* A piece that is prefix + one character + suffix, in the way that N and LAST say: that character's bytes. */
static bool strip(struct bytes text, struct bytes prefix, struct bytes suffix, struct bytes *out)
{
	if (text.size <= prefix.size + suffix.size)
		return false;
	if (prefix.size && memcmp(text.data, prefix.data, prefix.size) != 0)
		return false;
	if (suffix.size &&
	    memcmp(text.data + text.size - suffix.size, suffix.data, suffix.size) != 0)
		return false;
	*out = (struct bytes){ text.data + prefix.size, text.size - prefix.size - suffix.size };
	return true;
}

/* The byte that TEXT, as a file spells it, stands for alone; -1: none. */
static int lone_byte(const struct text_model *m, struct bytes text)
{
	uint32_t code_point;

	if (text.size > 2 || utf8_decode(text.data, text.size, &code_point) != text.size)
		return -1;
	if (!m->byte_level)
		return code_point < 0x80 ? (int)code_point : -1;
	return bytelevel_byte(code_point);
}

static void note_piece(struct bpe *b, const struct text_model *m, const struct piece_spec *p)
{
	const struct model_spec *spec = &m->spec;
	const struct bytes none = { "", 0 };
	struct bytes inner;

	for (int form = 0; form < 4; form++) {
		int byte;

		if (!strip(p->text, form & 2 ? spec->continuing_prefix : none,
			   form & 1 ? spec->end_of_word_suffix : none, &inner))
			continue;
		byte = lone_byte(m, inner);
		if (byte >= 0)
			b->symbols[form][byte] = p->id;
	}
}

int bpe_symbols_init(struct bpe *b, const struct text_model *m)
{
	char code[16];

	memset(b->symbols, 0xFF, sizeof(b->symbols));
	for (size_t i = 0; i < m->spec.n_pieces; i++)
		note_piece(b, m, &m->spec.pieces[i]);
	for (int i = 0; i < 256; i++) {
		snprintf(code, sizeof(code), "<0x%02X>", (unsigned)i);
		b->fallback[i] = vocabulary_find(&m->vocabulary, code, 6);
	}
	return 0;
}

/* --- one word --- */

/* An unknown token that has not gone out yet. */
struct unknown {
	bool waits;
	uint32_t id, size;
};

int bpe_symbols_add(struct bpe_scratch *s, uint32_t id, uint32_t size)
{
	if (s->n == s->capacity &&
	    mem_grow(&s->symbols, &s->capacity, s->n + 1, sizeof(*s->symbols)) < 0)
		return -1;
	s->symbols[s->n++] = (struct bpe_symbol){ id, size };
	return 0;
}

static int flush(struct bpe_scratch *s, struct unknown *u)
{
	if (!u->waits)
		return 0;
	u->waits = false;
	return bpe_symbols_add(s, u->id, u->size);
}

/* Prefix, character (byte-level: as the alphabet spells it) and suffix. */
static struct bytes spell(const struct text_model *m, char *out, struct bytes c, int form)
{
	const struct model_spec *spec = &m->spec;
	size_t n = 0;

	if (form & 2 && spec->continuing_prefix.size) {
		memcpy(out, spec->continuing_prefix.data, spec->continuing_prefix.size);
		n = spec->continuing_prefix.size;
	}
	if (m->byte_level) {
		n += utf8_encode(bytelevel_code_point((uint8_t)c.data[0]), out + n);
	} else {
		memcpy(out + n, c.data, c.size);
		n += c.size;
	}
	if (form & 1 && spec->end_of_word_suffix.size) {
		memcpy(out + n, spec->end_of_word_suffix.data, spec->end_of_word_suffix.size);
		n += spec->end_of_word_suffix.size;
	}
	return (struct bytes){ out, n };
}

/* 1 when all bytes of TEXT have tokens and these were added, else 0. */
static int add_bytes(const struct bpe *b, struct bpe_scratch *s, struct bytes text)
{
	for (size_t i = 0; i < text.size; i++)
		if (b->fallback[(unsigned char)text.data[i]] == TOKEN_NONE)
			return 0;
	for (size_t i = 0; i < text.size; i++)
		if (bpe_symbols_add(s, b->fallback[(unsigned char)text.data[i]], 1) < 0)
			return -1;
	return 1;
}

static int refuse(const struct text_model *m, struct bytes c)
{
	uint32_t code_point;

	if (m->spec.has_unk_text && m->spec.unk == TOKEN_NONE)
		return err_set(ERR_FORMAT,
			       "the unknown token " BYTES_FMT
			       " is needed and is not in the vocabulary",
			       BYTES_ARG(m->spec.unk_text));
	if (!m->byte_level && utf8_decode(c.data, c.size, &code_point))
		return err_set(ERR_UNSUPPORTED,
			       "U+%04X has no piece, and the model has no unknown token",
			       code_point);
	return err_set(ERR_UNSUPPORTED,
		       "byte 0x%02X has no piece, and the model has no unknown token",
		       (unsigned char)c.data[0]);
}

static int add_missing(const struct text_model *m, struct bpe_scratch *s, struct bytes c, int form,
		       struct unknown *u)
{
	if (m->spec.byte_fallback) {
		int added = add_bytes(m->own, s, spell(m, s->joined, c, form));

		if (added != 0)
			return added < 0 ? -1 : 0;
	}
	if (m->spec.unk == TOKEN_NONE && m->spec.drop_unknown && !m->spec.has_unk_text) {
		s->dropped++;
		return 0;
	}
	if (m->spec.unk == TOKEN_NONE)
		return refuse(m, c);
	if (u->waits && !m->spec.fuse_unk && flush(s, u) < 0)
		return -1;
	if (!u->waits)
		*u = (struct unknown){ true, m->spec.unk, 0 };
	u->size += (uint32_t)c.size;
	return 0;
}

static uint32_t find(const struct text_model *m, struct bpe_scratch *s, struct bytes c, int form)
{
	const struct bpe *b = m->own;
	struct bytes text = c;

	if (m->byte_level || (c.size == 1 && (unsigned char)c.data[0] < 0x80))
		return b->symbols[form][(unsigned char)c.data[0]];
	if (m->spec.continuing_prefix.size || m->spec.end_of_word_suffix.size)
		text = spell(m, s->joined, c, form);
	return vocabulary_find(&m->vocabulary, text.data, text.size);
}

/* Bytes of the character at the start of TEXT; one when it is not well-formed. */
static size_t character(const struct text_model *m, const char *data, size_t n)
{
	uint32_t code_point;
	size_t size;

	if (m->byte_level || (unsigned char)data[0] < 0x80)
		return 1;
	size = utf8_decode(data, n, &code_point);
	return size ? size : 1;
}

int bpe_symbols(const struct text_model *m, struct bpe_scratch *s, struct bytes word)
{
	struct unknown u = { false, 0, 0 };

	s->n = 0;
	for (size_t i = 0, size; i < word.size; i += size) {
		struct bytes c = { word.data + i, character(m, word.data + i, word.size - i) };
		int form = (i > 0) * 2 + (i + c.size == word.size);
		uint32_t id = find(m, s, c, form);

		size = c.size;
		if (id == TOKEN_NONE) {
			if (add_missing(m, s, c, form, &u) < 0)
				return -1;
		} else if (flush(s, &u) < 0 || bpe_symbols_add(s, id, (uint32_t)size) < 0) {
			return -1;
		}
	}
	return flush(s, &u);
}
