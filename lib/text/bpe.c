/*
 * lib/text/bpe.c - byte pair encoding: the model
 *
 * A word is looked for in the thread's cache, then as a whole piece where the model says ignore_merges, and merged only
 * then. That merging would give the whole piece could be worked out for each beforehand; it was measured to cost more than it
 * saves.
 */
#include "lib/text/bpe_parts.h"

static void unload(void *own)
{
	struct bpe *b = own;

	if (!b)
		return;
	bpe_merges_clear(&b->merges);
	bpe_cuts_clear(&b->cuts);
	bpe_characters_clear(&b->characters);
	free(b->derived);
	free(b);
}

void bpe_scratch_free(void *own)
{
	struct bpe_scratch *s = own;

	if (!s)
		return;
	bpe_cache_clear(&s->cache);
	free(s->symbols);
	free(s->nodes);
	free(s->heap);
	free(s->skipped);
	free(s->starts);
	free(s->tokens.items);
	free(s->joined);
	free(s);
}

static int scratch_make(struct bpe_scratch **out, const struct text_model *m)
{
	struct bpe_scratch *s = mem_new(1, sizeof(*s));

	*out = s;
	if (!s)
		return -1;
	s->joined =
		mem_new(m->spec.continuing_prefix.size + m->spec.end_of_word_suffix.size + 4, 1);
	return s->joined ? 0 : -1;
}

int bpe_scratch_new(void **out, const struct text_model *m)
{
	struct bpe_scratch *s;

	if (scratch_make(&s, m) < 0 || bpe_cache_init(&s->cache) < 0) {
		bpe_scratch_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

int bpe_put_symbols(const struct bpe_scratch *s, struct bytes word, size_t at,
		    struct model_tokens *out)
{
	size_t from = 0;

	for (size_t i = 0; i < s->n; i++) {
		size_t to = from + s->symbols[i].size;

		/* Bytes of a prefix or a suffix count in the peer too, and may lead past the end. */
		to = to < word.size ? to : word.size;
		if (model_tokens_put(out, s->symbols[i].id, at + from, at + to) < 0)
			return -1;
		from = to;
	}
	return 0;
}

int bpe_encode_word(const struct text_model *m, struct bpe_scratch *s, struct bytes word, size_t at,
		    struct model_tokens *out)
{
	const struct bpe *b = m->own;
	uint64_t dropped = s->dropped;

	if ((b->characters.index ? bpe_characters : bpe_symbols)(m, s, word) < 0 ||
	    bpe_merge(&b->merges, s) < 0)
		return -1;
	if (s->dropped != dropped && m->byte_level)
		return bpe_put_lossy(b, s, word, at, out);
	return bpe_put_symbols(s, word, at, out);
}

static int load_merges(struct text_model *m, struct bpe *b, struct bpe_scratch *s)
{
	/* tiktoken looks for the whole piece first. */
	b->ignore_merges = m->spec.ignore_merges || m->spec.merge_by_rank;
	if (m->spec.merge_by_rank)
		return bpe_ranks_load(b, m, s);
	return bpe_merges_load(&b->merges, &m->spec, &m->vocabulary);
}

static int load(struct text_model *m)
{
	struct bpe *b = mem_new(1, sizeof(*b));
	struct bpe_scratch *s = NULL;
	int result = -1;

	m->own = b;
	if (!b || scratch_make(&s, m) < 0)
		goto out;
	if (bpe_symbols_init(b, m) < 0 || load_merges(m, b, s) < 0 ||
	    bpe_cuts_init(&b->cuts, m) < 0)
		goto out;
	result = m->byte_level && b->cuts.pairs ? bpe_characters_init(&b->characters, m, s) : 0;
out:
	bpe_scratch_free(s);
	return result;
}

/* WHOLE: a piece that is the word's text is what it becomes. */
int bpe_encode_part(const struct text_model *m, struct bpe_scratch *s, struct bytes word, size_t at,
		    bool whole, struct model_tokens *out)
{
	bool part = !whole && ((const struct bpe *)m->own)->ignore_merges;
	uint64_t dropped = s->dropped;
	size_t start = out->n;
	int known = bpe_cache_get(&s->cache, word, part, at, out);
	uint32_t id = TOKEN_NONE;

	if (known != 0)
		return known < 0 ? -1 : 0;
	if (whole)
		id = vocabulary_find(&m->vocabulary, word.data, word.size);
	if (id != TOKEN_NONE) {
		if (model_tokens_put(out, id, at, at + word.size) < 0)
			return -1;
	} else if (bpe_encode_word(m, s, word, at, out) < 0) {
		return -1;
	}
	/* A word that lost something is counted each time. */
	if (s->dropped == dropped)
		bpe_cache_put(&s->cache, word, part, at, out->items + start, out->n - start);
	return 0;
}

/*
 * A piece that is most likely more than a word: in scripts without spaces, or without pre-tokenizer. From *AT until there are
 * MOST tokens, or more.
 */
static int encode_parts(const struct text_model *m, struct bpe_scratch *s, struct bytes piece,
			size_t *at, size_t most, struct model_tokens *out)
{
	const struct bpe *b = m->own;
	size_t next;

	if (b->ignore_merges && *at == 0) {
		uint32_t id = vocabulary_find(&m->vocabulary, piece.data, piece.size);

		if (id != TOKEN_NONE) {
			*at = piece.size;
			return model_tokens_put(out, id, 0, piece.size);
		}
	}
	for (; *at < piece.size && out->n < most; *at = next) {
		next = bpe_cuts_next(&b->cuts, piece, *at);
		if (bpe_encode_part(m, s, (struct bytes){ piece.data + *at, next - *at }, *at,
				    false, out) < 0)
			return -1;
	}
	return 0;
}

static int encode_most(const struct text_model *m, void *own, struct bytes piece, size_t *at,
		       size_t most, struct model_tokens *out)
{
	const struct bpe *b = m->own;

	if (b->cuts.pairs && (piece.size > SHORT_KEY_MAX || !m->byte_level))
		return encode_parts(m, own, piece, at, most, out);
	*at = piece.size;
	return bpe_encode_part(m, own, piece, 0, b->ignore_merges, out);
}

int bpe_encode(const struct text_model *m, void *own, struct bytes piece, struct model_tokens *out)
{
	size_t at = 0;

	return encode_most(m, own, piece, &at, SIZE_MAX, out);
}

static int encode_from(const struct text_model *m, void *own, struct bytes piece, size_t *at,
		       struct model_tokens *out)
{
	return encode_most(m, own, piece, at, out->n + BPE_MANY, out);
}

static uint64_t dropped_so_far(const void *own)
{
	return ((const struct bpe_scratch *)own)->dropped;
}

const struct model_parts model_bpe = {
	.load = load,
	.unload = unload,
	.scratch_new = bpe_scratch_new,
	.scratch_free = bpe_scratch_free,
	.encode = bpe_encode,
	.encode_from = encode_from,
	.encode_ids = bpe_encode_ids,
	.sample = bpe_sample,
	.dropped = dropped_so_far,
};
