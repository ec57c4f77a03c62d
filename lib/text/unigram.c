/*
 * lib/text/unigram.c - the Unigram model: the best way to cut a piece of text, by Viterbi
 *
 * To the id as `tokenizers` 0.23.3 (its models::Unigram): sums in f64 from the left, of equal sums the one
 * whose last piece is the longest. Every place of the text, from the left, offers its pieces to the places where they
 * end. What is before a place that all ways come through is settled: so the table stays small however long the text is.
 * That is found at once where no piece crosses a place; elsewhere the ways are followed back now and then.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/text/unigram_parts.h"

#define UNKNOWN_PENALTY 10.0
#define WORTH		512u /* bytes that are worth settling where no piece crosses a place */
#define LONG_WAY	(1u << 16) /* bytes after which it is tried elsewhere too */
#define OPEN		(1u << 31) /* in `place`: a mark while it is tried */

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
	return load_scores(m, u) < 0 ? -1 : vocabulary_trie(&m->vocabulary, &u->trie);
}

void unigram_unload(void *own)
{
	struct unigram *u = own;

	if (!u)
		return;
	trie_clear(&u->trie);
	free(u->scores);
	free(u);
}

int unigram_scratch_new(void **out, const struct text_model *m)
{
	struct unigram_scratch *s = mem_new(1, sizeof(*s));

	*out = s;
	return s ? 0 : -1;
}

void unigram_scratch_free(void *own)
{
	struct unigram_scratch *s = own;

	if (!s)
		return;
	unigram_paths_free(s->paths);
	free(s->steps);
	free(s->rounded);
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
	size_t try_at;	/* where the ways are followed back */
	bool met_unknown;
};

static int missing(struct bytes piece, size_t at, size_t width)
{
	return err_set(ERR_FORMAT, "no piece for " BYTES_FMT ", and the model has no unknown token",
		       BYTES_ARG(((struct bytes){ piece.data + at, width })));
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

/* Appends the tokens of the best way to place TO, which all ways come through, and makes it place 0. */
static int settle(struct search *s, size_t to, struct model_tokens *out)
{
	struct unigram_step *steps = s->scratch->steps;
	size_t first = out->n;

	for (size_t end = to; end > 0; end = steps[end].from) {
		uint32_t id = unigram_id(s->model, steps[end].place);

		s->met_unknown |= id == s->unigram->unknown;
		if (model_tokens_put(out, id, s->base + steps[end].from, s->base + end) < 0)
			return -1;
	}
	reverse(out->items + first, out->n - first);
	s->cleared -= to;
	s->reach -= to;
	s->base += to;
	memmove(steps, steps + to, s->cleared * sizeof(*steps));
	/* Where a step began before TO, no way that is still open has it. */
	for (size_t i = 1; i <= s->reach; i++) {
		if (steps[i].from != TOKEN_NONE)
			steps[i].from -= (uint32_t)to;
	}
	return 0;
}

/* The last place that all ways to AT and beyond come through. */
static size_t common_place(struct search *s, size_t at)
{
	struct unigram_step *steps = s->scratch->steps;
	size_t open = 0, i;

	for (i = at; i <= s->reach; i++) {
		if (steps[i].from != TOKEN_NONE) {
			steps[i].place |= OPEN;
			open++;
		}
	}
	/* The farthest open place gives way to the one before it, until one is left. */
	for (i = s->reach; open > 1 || !(steps[i].place & OPEN); i--) {
		if (!(steps[i].place & OPEN))
			continue;
		steps[i].place &= ~OPEN;
		if (steps[steps[i].from].place & OPEN)
			open--;
		steps[steps[i].from].place |= OPEN;
	}
	steps[i].place &= ~OPEN;
	return i;
}

/* Settles what can be before *AT, when that is worth it. */
static int settle_some(struct search *s, size_t *at, struct model_tokens *out)
{
	size_t to = *at;

	if (*at != s->reach && *at < s->try_at)
		return 0;
	if (*at != s->reach)
		to = common_place(s, *at);
	s->try_at = (*at - to) * 2 < LONG_WAY ? LONG_WAY : (*at - to) * 2;
	*at -= to;
	return settle(s, to, out);
}

int unigram_encode(const struct text_model *m, void *own, struct bytes piece,
		   struct model_tokens *out)
{
	struct search s = {
		.model = m, .unigram = m->own, .scratch = own, .piece = piece, .try_at = LONG_WAY
	};
	size_t first = out->n, at = 0, width;

	if (clear_ahead(&s, 0) < 0)
		return -1;
	s.scratch->steps[0].score = 0;
	while (s.base + at < piece.size) {
		if (at >= WORTH && settle_some(&s, &at, out) < 0)
			return -1;
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
	.unload = unigram_unload,
	.scratch_new = unigram_scratch_new,
	.scratch_free = unigram_scratch_free,
	.encode = unigram_encode,
	.sample = unigram_sample,
};
