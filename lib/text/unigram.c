/*
 * lib/text/unigram.c - the Unigram model: the best way to cut a piece of text, by Viterbi
 *
 * To the id as `tokenizers` 0.23.3 (its models::Unigram): sums in f64 from the left, of equal sums the one
 * whose last piece is the longest. Every place of the text, from the left, offers its pieces to the places where they
 * end. Where no piece crosses a place, all ways come through it, and what is before it is settled: so
 * the table stays small however long the text is, unless its pieces overlap without end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/text/unigram_parts.h"

#define UNKNOWN_PENALTY 10.0
#define SETTLE		512 /* bytes that are worth settling */

/* --- loading --- */

static int load_scores(const struct text_model *m, struct unigram *u)
{
	const struct vocabulary *v = &m->vocabulary;
	double lowest = INFINITY;

	u->scores = mem_new(v->n, sizeof(*u->scores));
	if (!u->scores)
		return -1;
	for (size_t i = 0; i < m->spec.n_pieces; i++) {
		const struct piece_spec *p = &m->spec.pieces[i];
		const struct vocabulary_piece *at = vocabulary_at(v, p->id);

		if (!isfinite(p->score))
			return err_set(ERR_FORMAT, "piece " BYTES_FMT ": its score is not finite",
				       BYTES_ARG(p->text));
		if (at)
			u->scores[at - v->pieces] = p->score;
		if (p->score < lowest)
			lowest = p->score;
	}
	u->unknown_score = lowest - UNKNOWN_PENALTY;
	return 0;
}

static int load_trie(const struct text_model *m, struct unigram *u)
{
	const struct vocabulary *v = &m->vocabulary;
	struct trie_key *keys = mem_new(v->n, sizeof(*keys));
	size_t n = 0;
	int result;

	if (!keys)
		return -1;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct vocabulary_piece *p = &v->pieces[i];

		if (vocabulary_place(v, p->data, p->size) == i)
			keys[n++] = (struct trie_key){ { p->data, p->size }, i };
	}
	result = trie_init(&u->trie, keys, n);
	free(keys);
	return result;
}

static void load_bytes(const struct text_model *m, struct unigram *u)
{
	char name[sizeof("<0x00>")];

	u->falls_back = m->spec.byte_fallback;
	for (unsigned int i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "<0x%02X>", i);
		u->byte_ids[i] = vocabulary_find(&m->vocabulary, name, 6);
	}
}

static int load(struct text_model *m)
{
	struct unigram *u = mem_new(1, sizeof(*u));

	if (!u)
		return -1;
	m->own = u;
	u->unknown = m->spec.unk;
	if (u->unknown != TOKEN_NONE && u->unknown >= m->vocabulary.size)
		return err_set(ERR_FORMAT, "unk_id %u is not in the vocabulary of %u pieces",
			       u->unknown, m->vocabulary.size);
	load_bytes(m, u);
	return load_scores(m, u) < 0 ? -1 : load_trie(m, u);
}

static void unload(void *own)
{
	struct unigram *u = own;

	if (!u)
		return;
	trie_clear(&u->trie);
	free(u->scores);
	free(u);
}

static int scratch_new(void **out, const struct text_model *m)
{
	struct unigram_scratch *s = mem_new(1, sizeof(*s));

	*out = s;
	return s ? 0 : -1;
}

static void scratch_free(void *own)
{
	struct unigram_scratch *s = own;

	if (!s)
		return;
	unigram_paths_free(s->paths);
	free(s->steps);
	free(s->scores);
	free(s->raw.items);
	free(s);
}

/* --- the best way --- */

/* A search under way. Places are bytes from `base` on; all before `base` is settled. */
struct search {
	const struct text_model *model;
	const struct unigram *unigram;
	struct unigram_scratch *scratch;
	struct bytes piece;
	size_t base;
	size_t cleared; /* places from 0 up to here have been made empty */
	size_t reach;	/* the farthest place that something has come to */
	bool met_unknown;
};

static int missing(struct bytes piece, size_t at, size_t width)
{
	return err_set(ERR_FORMAT,
		       "byte %zu of the piece: no piece for " BYTES_FMT
		       ", and the model has no unknown token",
		       at, BYTES_ARG(((struct bytes){ piece.data + at, width })));
}

static inline void offer(struct unigram_step *to, double score, uint32_t from, uint32_t place)
{
	if (score > to->score || to->from == TOKEN_NONE)
		*to = (struct unigram_step){ score, from, place };
}

/* Room for all that can be offered from place AT, made empty. */
static int clear_ahead(struct search *s, size_t at)
{
	size_t need = at + s->model->vocabulary.longest + 5;

	if (need > s->scratch->steps_capacity &&
	    mem_grow(&s->scratch->steps, &s->scratch->steps_capacity, need,
		     sizeof(*s->scratch->steps)) < 0)
		return -1;
	for (; s->cleared < need; s->cleared++)
		s->scratch->steps[s->cleared] =
			(struct unigram_step){ -INFINITY, TOKEN_NONE, UNIGRAM_UNKNOWN };
	return 0;
}

/* Offers what begins at place AT to where it ends. */
static int offer_from(struct search *s, size_t at, size_t width)
{
	const struct unigram *u = s->unigram;
	const unsigned char *p = (const unsigned char *)s->piece.data + s->base;
	size_t left = s->piece.size - s->base, end = at;
	struct unigram_step *steps = s->scratch->steps;
	double before = steps[at].score;
	uint32_t node = u->trie.root, place;
	bool single = false;

	while (end < left && trie_step(&u->trie, &node, p[end], &place)) {
		end++;
		if (place == TRIE_NONE)
			continue;
		offer(&steps[end], before + u->scores[place], (uint32_t)at, place);
		single |= end - at == width;
		s->reach = end > s->reach ? end : s->reach;
	}
	if (single)
		return 0;
	end = at + width;
	offer(&steps[end], before + u->unknown_score, (uint32_t)at, UNIGRAM_UNKNOWN);
	s->reach = end > s->reach ? end : s->reach;
	s->met_unknown = true;
	if (u->unknown == TOKEN_NONE && steps[end].place == UNIGRAM_UNKNOWN)
		return missing(s->piece, s->base + at, width);
	return 0;
}

static void reverse(struct model_token *items, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct model_token other = items[n - 1 - i];

		items[n - 1 - i] = items[i];
		items[i] = other;
	}
}

/* Appends the tokens of the best way to place AT, and begins a new table there. */
static int settle(struct search *s, size_t at, struct model_tokens *out)
{
	struct unigram_step *steps = s->scratch->steps;
	size_t first = out->n;
	double score = steps[at].score;

	for (size_t end = at; end > 0; end = steps[end].from) {
		uint32_t id = unigram_id(s->model, steps[end].place);

		s->met_unknown |= id == s->unigram->unknown;
		if (model_tokens_put(out, id, s->base + steps[end].from, s->base + end) < 0)
			return -1;
	}
	reverse(out->items + first, out->n - first);
	s->base += at;
	s->cleared = s->reach = 0;
	if (clear_ahead(s, 0) < 0)
		return -1;
	s->scratch->steps[0].score = score;
	return 0;
}

int unigram_encode(const struct text_model *m, void *own, struct bytes piece,
		   struct model_tokens *out)
{
	struct search s = { m, m->own, own, piece, 0, 0, 0, false };
	size_t first = out->n, at = 0, width;

	if (clear_ahead(&s, 0) < 0)
		return -1;
	s.scratch->steps[0].score = 0;
	while (s.base + at < piece.size) {
		if (at == s.reach && at >= SETTLE) {
			if (settle(&s, at, out) < 0)
				return -1;
			at = 0;
		}
		width = unigram_width(m, piece, s.base + at);
		if (clear_ahead(&s, at) < 0 || offer_from(&s, at, width) < 0)
			return -1;
		at += width;
	}
	if (settle(&s, at, out) < 0)
		return -1;
	return s.met_unknown ? unigram_join_unknown(m, own, piece, first, out) : 0;
}

const struct model_parts model_unigram = {
	.load = load,
	.unload = unload,
	.scratch_new = scratch_new,
	.scratch_free = scratch_free,
	.encode = unigram_encode,
	.sample = unigram_sample,
};
