/*
 * lib/text/unigram_unknown.c - what becomes of unknown characters
 *
 * As `tokenizers` does it (fuse_unk is always on there): neighbours are joined, whether they are unknown
 * characters or the unknown token's own text. If what they spell is a piece it is that one; else, with byte
 * fallback, the pieces of its bytes, if all are there, each with the offsets of the whole; else the unknown token.
 */
#include "lib/base/utf8.h"
#include "lib/text/bytelevel.h"
#include "lib/text/unigram_parts.h"

/* Byte C of the text as the peer sees it: in byte-level models a character of ByteLevel's alphabet. */
static size_t spelled(const struct text_model *m, unsigned char c, char out[4])
{
	out[0] = (char)c;
	return m->byte_level ? utf8_encode(bytelevel_code_point(c), out) : 1;
}

static uint32_t byte_id(const struct text_model *m, char c)
{
	const struct unigram *u = m->own;

	return u->byte_ids[(unsigned char)c];
}

static bool has_all_bytes(const struct text_model *m, struct bytes run)
{
	char text[4];

	for (size_t i = 0; i < run.size; i++) {
		size_t n = spelled(m, (unsigned char)run.data[i], text);

		for (size_t j = 0; j < n; j++) {
			if (byte_id(m, text[j]) == TOKEN_NONE)
				return false;
		}
	}
	return true;
}

static int put_bytes(const struct text_model *m, struct bytes run, size_t from,
		     struct model_tokens *out)
{
	char text[4];

	for (size_t i = 0; i < run.size; i++) {
		size_t n = spelled(m, (unsigned char)run.data[i], text);

		for (size_t j = 0; j < n; j++) {
			if (model_tokens_put(out, byte_id(m, text[j]), from, from + run.size) < 0)
				return -1;
		}
	}
	return 0;
}

static int put_run(const struct text_model *m, struct bytes piece, size_t from, size_t to,
		   struct model_tokens *out)
{
	const struct unigram *u = m->own;
	struct bytes run = { piece.data + from, to - from };
	uint32_t id = vocabulary_find(&m->vocabulary, run.data, run.size);

	if (id == TOKEN_NONE && u->falls_back && has_all_bytes(m, run))
		return put_bytes(m, run, from, out);
	return model_tokens_put(out, id == TOKEN_NONE ? u->unknown : id, from, to);
}

int unigram_join_unknown(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
			 size_t first, struct model_tokens *out)
{
	const struct unigram *u = m->own;
	size_t n = out->n - first, i = 0, next;

	if (u->unknown == TOKEN_NONE || n == 0)
		return 0;
	if (mem_grow(&s->raw.items, &s->raw.capacity, n, sizeof(*s->raw.items)) < 0)
		return -1;
	memcpy(s->raw.items, out->items + first, n * sizeof(*s->raw.items));
	out->n = first;
	for (; i < n; i = next) {
		const struct model_token *t = &s->raw.items[i];

		next = i + 1;
		if (t->id != u->unknown) {
			if (model_tokens_put(out, t->id, t->from, t->to) < 0)
				return -1;
			continue;
		}
		while (next < n && s->raw.items[next].id == u->unknown)
			next++;
		if (put_run(m, piece, t->from, s->raw.items[next - 1].to, out) < 0)
			return -1;
	}
	return 0;
}
