/*
 * lib/text/wordpiece.c - the WordPiece model: from the left, the longest piece that fits
 *
 * To the id as `tokenizers` 0.23.3: pieces after the first are looked for with the continuing prefix
 * before them; a word that cannot be cut to its end, or has too many characters, is one unknown token. The prefix's node
 * in the trie is where each later piece begins, so no text is put together.
 */
#include <stdlib.h>

#include "lib/text/model_parts.h"
#include "lib/text/trie.h"

struct wordpiece {
	struct trie trie;     /* text to place in the vocabulary's pieces */
	uint32_t continuing;  /* the node after the continuing prefix */
	bool never_continues; /* no piece begins with the prefix */
	uint32_t unknown;     /* or TOKEN_NONE */
};

static int load(struct text_model *m)
{
	struct wordpiece *w = mem_new(1, sizeof(*w));
	struct bytes prefix = m->spec.continuing_prefix, unknown = m->spec.unk_text;
	uint32_t value;

	if (!w)
		return -1;
	m->own = w;
	w->unknown = m->spec.unk;
	if (w->unknown == TOKEN_NONE && m->spec.has_unk_text)
		w->unknown = vocabulary_find(&m->vocabulary, unknown.data, unknown.size);
	if (vocabulary_trie(&m->vocabulary, &w->trie) < 0)
		return -1;
	w->continuing = w->trie.root;
	for (size_t i = 0; i < prefix.size && !w->never_continues; i++)
		w->never_continues =
			!trie_step(&w->trie, &w->continuing, (unsigned char)prefix.data[i], &value);
	return 0;
}

static void unload(void *own)
{
	struct wordpiece *w = own;

	if (!w)
		return;
	trie_clear(&w->trie);
	free(w);
}

/* Whether PIECE has more than LIMIT characters; in byte-level models each byte is one. */
static bool is_too_long(const struct text_model *m, struct bytes piece, size_t limit)
{
	size_t n = 0;

	if (piece.size <= limit)
		return false;
	if (m->byte_level)
		return true;
	for (size_t i = 0; i < piece.size && n <= limit; i++)
		n += ((unsigned char)piece.data[i] & 0xc0) != 0x80;
	return n > limit;
}

/* The end of the longest piece that begins at AT, and its place; AT when there is none. */
static size_t longest(const struct wordpiece *w, struct bytes piece, size_t at, uint32_t *place)
{
	uint32_t node = at ? w->continuing : w->trie.root, value;
	size_t best = at, end = at;

	if (at && w->never_continues)
		return at;
	while (end < piece.size &&
	       trie_step(&w->trie, &node, (unsigned char)piece.data[end], &value)) {
		end++;
		if (value == TRIE_NONE)
			continue;
		best = end;
		*place = value;
	}
	return best;
}

static int put_unknown(const struct wordpiece *w, struct bytes piece, struct model_tokens *out)
{
	if (w->unknown == TOKEN_NONE)
		return err_set(ERR_FORMAT,
			       "no pieces for " BYTES_FMT ", and the model has no unknown token",
			       BYTES_ARG(piece));
	return model_tokens_put(out, w->unknown, 0, piece.size);
}

static int encode(const struct text_model *m, void *own, struct bytes piece,
		  struct model_tokens *out)
{
	const struct wordpiece *w = m->own;
	size_t first = out->n, at = 0, end;
	uint32_t place = 0;

	if (is_too_long(m, piece, m->spec.max_word_chars))
		return put_unknown(w, piece, out);
	for (; at < piece.size; at = end) {
		end = longest(w, piece, at, &place);
		if (end == at) {
			out->n = first;
			return put_unknown(w, piece, out);
		}
		if (model_tokens_put(out, m->vocabulary.pieces[place].id, at, end) < 0)
			return -1;
	}
	return 0;
}

const struct model_parts model_wordpiece = { .load = load, .unload = unload, .encode = encode };
