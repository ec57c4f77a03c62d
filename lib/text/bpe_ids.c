/*
 * lib/text/bpe_ids.c - the ids of many pieces, one after the other
 *
 * Nearly all words are in the cache, whose place is far in memory: those of some words are asked for before the first of them is
 * looked at. Pieces that are longer than its words come in the parts that bpe_cuts gives.
 */
#include "lib/text/bpe_parts.h"

#define AHEAD 16 /* words */

struct word {
	struct bytes text;
	size_t piece; /* that it is of, or part of */
	bool part;
	uint32_t id;		/* of a longer piece that is a token as it is; else TOKEN_NONE */
	struct bpe_place place; /* without a set: not a short word */
};

struct feed {
	const struct text_model *m;
	struct bpe_scratch *s;
	struct bytes text;
	const struct piece *pieces;
	size_t n, next;
	size_t at; /* bytes of the next piece that went before */
};

static void set_word(const struct feed *f, struct word *w, struct bytes text, bool part)
{
	const struct bpe *b = f->m->own;
	struct short_key key;

	*w = (struct word){ .text = text, .piece = f->next, .part = part, .id = TOKEN_NONE };
	if (text.size > SHORT_KEY_MAX)
		return;
	key = f->text.data + f->text.size - text.data >= SHORT_KEY_MAX
		      ? short_key_inside(text.data, text.size)
		      : short_key(text.data, text.size);
	w->place = bpe_cache_place(&f->s->cache, key, text.size, part && b->ignore_merges);
	__builtin_prefetch(w->place.set);
}

/* The next part of PIECE, or all of it where it is a token. */
static void set_part(struct feed *f, struct word *w, struct bytes piece)
{
	const struct bpe *b = f->m->own;
	uint32_t id = TOKEN_NONE;
	size_t end;

	if (f->at == 0 && b->ignore_merges)
		id = vocabulary_find(&f->m->vocabulary, piece.data, piece.size);
	end = id == TOKEN_NONE ? bpe_cuts_next(&b->cuts, piece, f->at) : piece.size;
	if (id == TOKEN_NONE)
		set_word(f, w, (struct bytes){ piece.data + f->at, end - f->at }, true);
	else
		*w = (struct word){ .text = piece, .piece = f->next, .id = id };
	f->at = end;
	if (end == piece.size) {
		f->at = 0;
		f->next++;
	}
}

/* As many of the next words as there is room for. */
static size_t fill(struct feed *f, struct word *words)
{
	const struct bpe *b = f->m->own;
	size_t k = 0;

	while (k < AHEAD && f->next < f->n) {
		struct piece p = f->pieces[f->next];
		struct bytes piece = { f->text.data + p.from, p.to - p.from };

		if (b->cuts.pairs && (piece.size > SHORT_KEY_MAX || !f->m->byte_level)) {
			set_part(f, &words[k++], piece);
		} else {
			set_word(f, &words[k++], piece, false);
			f->next++;
		}
	}
	return k;
}

/* For all words ahead, should they be in the cache. */
static int reserve(struct model_ids *out)
{
	if (out->capacity - out->n >= AHEAD * BPE_CACHED)
		return 0;
	return mem_grow(&out->items, &out->capacity, out->n + AHEAD * BPE_CACHED,
			sizeof(*out->items));
}

/* A word that the cache does not hold, or a long one. */
static int put_other(const struct feed *f, const struct word *w, struct model_ids *out)
{
	const struct bpe *b = f->m->own;
	struct model_tokens *tokens = &f->s->tokens;

	tokens->n = 0;
	if (w->id != TOKEN_NONE ? model_tokens_put(tokens, w->id, 0, w->text.size) < 0
				: bpe_encode_part(f->m, f->s, w->text, 0,
						  !w->part && b->ignore_merges, tokens) < 0)
		return -1;
	return model_ids_put(out, tokens) < 0 ? -1 : reserve(out);
}

static int put_word(const struct feed *f, const struct word *w, struct model_ids *out)
{
	const struct bpe_cached *e = w->place.set ? bpe_cache_at(&w->place) : NULL;

	if (!e)
		return put_other(f, w, out);
	/* All that there could be, as in bpe_cache.c. */
	memcpy(out->items + out->n, e->ids, sizeof(e->ids));
	out->n += e->n;
	return 0;
}

int bpe_encode_ids(const struct text_model *m, void *own, struct bytes text,
		   const struct piece *pieces, size_t n, struct model_ids *out, size_t *done)
{
	struct feed f = { .m = m, .s = own, .text = text, .pieces = pieces, .n = n };
	struct word words[AHEAD];
	size_t k;

	*done = 0;
	while ((k = fill(&f, words)) > 0) {
		if (reserve(out) < 0)
			return -1;
		for (size_t i = 0; i < k; i++) {
			*done = words[i].piece;
			if (put_word(&f, &words[i], out) < 0)
				return -1;
		}
	}
	*done = n;
	return 0;
}
