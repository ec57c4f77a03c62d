/* lib/text/bpe_spm.c - BPE by SentencePiece's rules: the model */
#include "lib/base/utf8.h"
#include "lib/text/bpe_heap.h"
#include "lib/text/bpe_spm_parts.h"

static int load(struct text_model *m)
{
	struct bpe_spm *b = mem_new(1, sizeof(*b));

	m->own = b;
	return b ? bpe_spm_load(b, m) : -1;
}

static void unload(void *own)
{
	struct bpe_spm *b = own;

	if (!b)
		return;
	bpe_spm_clear(b);
	free(b);
}

/* --- symbols --- */

static int add(struct bpe_scratch *s, uint32_t id, size_t size)
{
	if (s->n == s->capacity &&
	    mem_grow(&s->symbols, &s->capacity, s->n + 1, sizeof(*s->symbols)) < 0)
		return -1;
	s->symbols[s->n++] = (struct bpe_symbol){ id, (uint32_t)size };
	return 0;
}

/* Appends the characters of TEXT. */
static int add_characters(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes text)
{
	for (size_t at = 0, size; at < text.size; at += size) {
		uint32_t id, point = (unsigned char)text.data[at];

		size = 1;
		if (point >= 0x80)
			size = utf8_decode(text.data + at, text.size - at, &point);
		id = size ? bpe_spm_symbol(b, point) : SYMBOL_UNKNOWN;
		size += !size;
		if (add(s, id, size) < 0)
			return -1;
	}
	return 0;
}

/* --- user-defined pieces --- */

/* The longest one that begins at AT, and its bytes to *SIZE. */
static uint32_t user_at(const struct bpe_spm *b, struct bytes text, size_t at, size_t *size)
{
	uint32_t node = b->users.root, value, id = TOKEN_NONE;

	for (size_t i = at;
	     i < text.size && trie_step(&b->users, &node, (unsigned char)text.data[i], &value); i++)
		if (value != TRIE_NONE) {
			id = value;
			*size = i + 1 - at;
		}
	return id;
}

/* The first one at or after FROM; the end of TEXT when there is none, with *ID TOKEN_NONE. */
static size_t next_user(const struct bpe_spm *b, struct bytes text, size_t from, uint32_t *id,
			size_t *size)
{
	*id = TOKEN_NONE;
	if (!b->users.cells)
		return text.size;
	for (; from < text.size; from++) {
		if (!b->begins[(unsigned char)text.data[from]])
			continue;
		*id = user_at(b, text, from, size);
		if (*id != TOKEN_NONE)
			break;
	}
	return from;
}

/* --- texts without user-defined pieces, word by word --- */

static int put_symbols(const struct bpe_spm *b, const struct bpe_scratch *s,
		       const struct bpe_split *splits, struct bytes word, size_t at,
		       struct model_tokens *out)
{
	const struct bytes piece = { word.data - at, at + word.size };

	for (size_t i = 0; i < s->n; i++) {
		if (bpe_spm_put(b, splits, s->symbols[i], piece, at, out) < 0)
			return -1;
		at += s->symbols[i].size;
	}
	return 0;
}

static int encode_word(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes word, size_t at,
		       struct model_tokens *out)
{
	size_t start = out->n;
	int known = bpe_cache_get(&s->cache, word, false, at, out);

	if (known != 0)
		return known < 0 ? -1 : 0;
	s->n = 0;
	if (add_characters(b, s, word) < 0 || bpe_merge(&b->merges, s) < 0 ||
	    put_symbols(b, s, b->splits, word, at, out) < 0)
		return -1;
	bpe_cache_put(&s->cache, word, false, at, out->items + start, out->n - start);
	return 0;
}

static int encode_words(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece,
			size_t from, size_t to, struct model_tokens *out)
{
	struct bytes text = { piece.data, to };

	for (size_t at = from, next; at < to; at = next) {
		next = bpe_cuts_next(&b->cuts, text, at);
		if (encode_word(b, s, (struct bytes){ piece.data + at, next - at }, at, out) < 0)
			return -1;
	}
	return 0;
}

static int encode_parts(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece,
			struct model_tokens *out)
{
	size_t at = 0, to, size = 0;
	uint32_t id;

	while (at < piece.size) {
		to = next_user(b, piece, at, &id, &size);
		if (encode_words(b, s, piece, at, to, out) < 0)
			return -1;
		if (id != TOKEN_NONE && model_tokens_put(out, id, to, to + size) < 0)
			return -1;
		at = id == TOKEN_NONE ? to : to + size;
	}
	return 0;
}

/* --- texts as a whole --- */

static int add_all(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece)
{
	size_t at = 0, to, size = 0;
	uint32_t id;

	s->n = 0;
	while (at < piece.size) {
		to = next_user(b, piece, at, &id, &size);
		if (add_characters(b, s, (struct bytes){ piece.data + at, to - at }) < 0)
			return -1;
		if (id != TOKEN_NONE && add(s, id, size) < 0)
			return -1;
		at = id == TOKEN_NONE ? to : to + size;
	}
	return 0;
}

/* The pair that begins at node AT waits to be merged: should it make an unused piece, this is how that is cut. */
static void note_pair(const struct bpe_spm *b, const struct bpe_scratch *s,
		      struct bpe_split *splits, uint32_t at)
{
	const struct bpe_node *node = &s->nodes[at];

	if (node->rank != RANK_NONE && b->types[node->result] == PIECE_UNUSED)
		splits[node->result] =
			(struct bpe_split){ node->id, s->nodes[node->next].id, node->size };
}

static int merge_noting(const struct bpe_spm *b, struct bpe_scratch *s, struct bpe_split *splits)
{
	size_t n;

	if (bpe_heap_begin(&b->merges, s, &n) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		note_pair(b, s, splits, i);
	while (n > 0) {
		uint64_t entry = heap_pop(s->heap, &n);
		uint32_t at = (uint32_t)entry;

		if (!bpe_heap_join(&b->merges, s, entry, &n))
			continue;
		if (s->nodes[at].previous != NODE_NONE)
			note_pair(b, s, splits, s->nodes[at].previous);
		note_pair(b, s, splits, at);
	}
	bpe_heap_end(s);
	return 0;
}

/* Where an unused piece can be made in several ways, the last in the whole text counts. */
static int encode_whole(const struct bpe_spm *b, struct bpe_scratch *s, struct bytes piece,
			struct model_tokens *out)
{
	struct bpe_split *splits = mem_new(b->size, sizeof(*splits));
	int result = -1;

	if (!splits)
		return -1;
	memcpy(splits, b->splits, b->size * sizeof(*splits));
	if (add_all(b, s, piece) == 0 && merge_noting(b, s, splits) == 0)
		result = put_symbols(b, s, splits, piece, 0, out);
	free(splits);
	return result;
}

/* Neighbours that are unknown become one. */
static void join_unknown(const struct bpe_spm *b, size_t first, struct model_tokens *out)
{
	size_t n = first;

	for (size_t i = first; i < out->n; i++) {
		struct model_token *t = &out->items[i];

		if (n > first && t->id == b->unknown && out->items[n - 1].id == b->unknown)
			out->items[n - 1].to = t->to;
		else
			out->items[n++] = *t;
	}
	out->n = n;
}

static int encode(const struct text_model *m, void *own, struct bytes piece,
		  struct model_tokens *out)
{
	const struct bpe_spm *b = m->own;
	size_t first = out->n;
	int result =
		b->ambiguous ? encode_whole(b, own, piece, out) : encode_parts(b, own, piece, out);

	if (result == 0 && b->unknown != TOKEN_NONE)
		join_unknown(b, first, out);
	return result;
}

/* An unused piece that can be made in several ways is cut in the way that the file's order gives last. */
static int sample(const struct text_model *m, void *own, struct bytes piece,
		  const struct model_sampling *how, struct model_tokens *out)
{
	const struct bpe_spm *b = m->own;
	struct bpe_scratch *s = own;
	size_t first = out->n;

	if (!(how->dropout >= 0 && how->dropout <= 1))
		return err_set(ERR_ARGUMENT, "dropout %g: it is from 0 to 1", how->dropout);
	if (how->dropout == 0)
		return encode(m, own, piece, out);
	if (add_all(b, s, piece) < 0 || bpe_merge_dropout(&b->merges, s, how) < 0 ||
	    put_symbols(b, s, b->splits, piece, 0, out) < 0)
		return -1;
	join_unknown(b, first, out);
	return 0;
}

const struct model_parts model_bpe_spm = {
	.load = load,
	.unload = unload,
	.scratch_new = bpe_scratch_new,
	.scratch_free = bpe_scratch_free,
	.encode = encode,
	.sample = sample,
};
