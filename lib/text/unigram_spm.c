/*
 * lib/text/unigram_spm.c - the Unigram model by SentencePiece's rules
 *
 * To the id as sentencepiece 0.2.3. Scores are f32, and so are the sums, from the start of the text: in a long one their
 * rounding decides. A sum past 100,000 on either side becomes 0, and those of the places beyond it are moved by as much.
 * Of equals the one whose last piece is the longest stays. A user-defined piece of N bytes scores (N - 1) / 10, an
 * unknown character ten less than the lowest normal piece. What is before a place that no piece crosses is settled,
 * so that the table stays small.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/utf8.h"
#include "lib/text/unigram_parts.h"

#define UNKNOWN_PENALTY 10.0f
#define USER_SCORE	0.1 /* a byte after the first */
#define SUM_MOST	100000.0f
#define WORTH		512u /* bytes that are worth settling */

/* --- loading --- */

static float unknown_score(const struct model_spec *spec)
{
	float least = FLT_MAX;

	for (size_t i = 0; i < spec->n_pieces; i++) {
		float score = (float)spec->pieces[i].score;

		if (spec->piece_types[i] == PIECE_NORMAL && score < least)
			least = score;
	}
	return least - UNKNOWN_PENALTY;
}

static int load_scores(const struct text_model *m, struct unigram *u)
{
	const struct vocabulary *v = &m->vocabulary;

	u->scores = mem_new(v->n, sizeof(*u->scores));
	if (!u->scores)
		return -1;
	u->unknown_score = (double)unknown_score(&m->spec);
	for (size_t i = 0; i < m->spec.n_pieces; i++) {
		const struct piece_spec *p = &m->spec.pieces[i];
		const struct vocabulary_piece *at = vocabulary_at(v, p->id);
		double score = (double)(float)p->score;

		if (!isfinite(score))
			return err_set(ERR_FORMAT, "piece " BYTES_FMT ": its score is not finite",
				       BYTES_ARG(p->text));
		if (m->spec.piece_types[i] == PIECE_USER_DEFINED)
			score = (double)(float)((double)(p->text.size - 1) * USER_SCORE);
		if (at)
			u->scores[at - v->pieces] = score;
	}
	return 0;
}

static bool can_match(uint8_t type)
{
	return type == PIECE_NORMAL || type == PIECE_USER_DEFINED;
}

static int load_trie(const struct text_model *m, struct unigram *u)
{
	const struct model_spec *spec = &m->spec;
	struct trie_key *keys = mem_new(spec->n_pieces, sizeof(*keys));
	size_t n = 0;
	int result;

	if (!keys)
		return -1;
	for (size_t i = 0; i < spec->n_pieces; i++) {
		const struct piece_spec *p = &spec->pieces[i];
		const struct vocabulary_piece *at = vocabulary_at(&m->vocabulary, p->id);

		if (can_match(spec->piece_types[i]) && at)
			keys[n++] =
				(struct trie_key){ p->text, (uint32_t)(at - m->vocabulary.pieces) };
	}
	result = trie_init(&u->trie, keys, n);
	free(keys);
	return result;
}

static void load_bytes(const struct text_model *m, struct unigram *u)
{
	char name[sizeof("<0x00>")];

	u->falls_back = m->spec.byte_fallback;
	for (unsigned i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "<0x%02X>", i);
		u->byte_ids[i] = vocabulary_find(&m->vocabulary, name, 6);
	}
}

static int load(struct text_model *m)
{
	struct unigram *u = mem_new(1, sizeof(*u));

	m->own = u;
	if (!u)
		return -1;
	u->unknown = m->spec.unk;
	if (u->unknown != TOKEN_NONE && u->unknown >= m->vocabulary.size)
		return err_set(ERR_FORMAT, "unk_id %u is not in the vocabulary of %u pieces",
			       u->unknown, m->vocabulary.size);
	load_bytes(m, u);
	return load_scores(m, u) < 0 ? -1 : load_trie(m, u);
}

/* --- unknown characters --- */

static int missing(struct bytes c)
{
	return err_set(ERR_FORMAT, "no piece for " BYTES_FMT ", and the model has no unknown token",
		       BYTES_ARG(c));
}

static int put_unknown(const struct unigram *u, struct bytes piece, size_t from, size_t to,
		       struct model_tokens *out)
{
	bool has_bytes = u->falls_back;
	struct model_token *last = out->n ? &out->items[out->n - 1] : NULL;

	for (size_t i = from; i < to; i++)
		has_bytes &= u->byte_ids[(unsigned char)piece.data[i]] != TOKEN_NONE;
	if (!has_bytes && u->unknown == TOKEN_NONE)
		return missing((struct bytes){ piece.data + from, to - from });
	if (!has_bytes && last && last->id == u->unknown && last->to == from) {
		last->to = (uint32_t)to;
		return 0;
	}
	if (!has_bytes)
		return model_tokens_put(out, u->unknown, from, to);
	for (size_t i = from; i < to; i++)
		if (model_tokens_put(out, u->byte_ids[(unsigned char)piece.data[i]], i, i + 1) < 0)
			return -1;
	return 0;
}

/* --- the best way --- */

struct step {
	float score;
	uint32_t from; /* TOKEN_NONE: nothing has come here yet */
	uint32_t place;
};

struct search {
	const struct text_model *model;
	const struct unigram *unigram;
	struct unigram_scratch *scratch;
	struct bytes piece;
	size_t base;	/* all before it is settled; places count from it */
	size_t cleared; /* places below it have been made empty */
	size_t reach;	/* the farthest place that something has come to */
};

static inline struct step *steps_of(const struct search *s)
{
	return s->scratch->rounded;
}

static inline void offer(struct step *to, float sum, size_t from, uint32_t place)
{
	if (to->from == TOKEN_NONE || sum > to->score)
		*to = (struct step){ sum, (uint32_t)from, place };
}

/* Room for all that can be offered from place AT, made empty. */
static int clear_ahead(struct search *s, size_t at)
{
	size_t need = at + s->model->vocabulary.longest + 5;

	if (need > s->scratch->rounded_capacity &&
	    mem_grow(&s->scratch->rounded, &s->scratch->rounded_capacity, need,
		     sizeof(struct step)) < 0)
		return -1;
	for (struct step *steps = steps_of(s); s->cleared < need; s->cleared++)
		steps[s->cleared] = (struct step){ 0, TOKEN_NONE, UNIGRAM_UNKNOWN };
	return 0;
}

/* Makes the sum at AT 0, and moves those of the places that are open. */
static void rebase(struct search *s, size_t at)
{
	struct step *steps = steps_of(s);
	float sum = steps[at].score;

	for (size_t i = at; i <= s->reach; i++)
		if (steps[i].from != TOKEN_NONE || i == at)
			steps[i].score -= sum;
}

/* Bytes of the character at AT; 1 for a byte that begins none. */
static inline size_t width_at(struct bytes piece, size_t at)
{
	uint32_t ignored;
	size_t n;

	if ((unsigned char)piece.data[at] < 0x80)
		return 1;
	n = utf8_decode(piece.data + at, piece.size - at, &ignored);
	return n ? n : 1;
}

/* Offers what begins at place AT, a character of WIDTH bytes first, to where it ends. */
static void offer_from(struct search *s, size_t at, size_t width)
{
	const struct unigram *u = s->unigram;
	const unsigned char *p = (const unsigned char *)s->piece.data + s->base;
	size_t left = s->piece.size - s->base, end = at;
	struct step *steps = steps_of(s);
	float before = steps[at].score;
	uint32_t node = u->trie.root, place;
	bool single = false;

	while (end < left && trie_step(&u->trie, &node, p[end], &place)) {
		end++;
		if (place == TRIE_NONE)
			continue;
		offer(&steps[end], (float)u->scores[place] + before, at, place);
		single |= end - at == width;
		s->reach = end > s->reach ? end : s->reach;
	}
	if (single)
		return;
	end = at + width;
	offer(&steps[end], (float)u->unknown_score + before, at, UNIGRAM_UNKNOWN);
	s->reach = end > s->reach ? end : s->reach;
}

/* Turns the links of the best way to place TO round: each place that it comes through names the next. */
static void turn_round(struct step *steps, size_t to)
{
	uint32_t next = (uint32_t)to, place = steps[to].place;

	for (size_t at = steps[to].from;;) {
		uint32_t from = steps[at].from, own = steps[at].place;

		steps[at].from = next;
		steps[at].place = place;
		if (at == 0)
			return;
		next = (uint32_t)at;
		place = own;
		at = from;
	}
}

/* Appends the tokens of the best way to place TO, which all ways come through, and makes it place 0. */
static int settle(struct search *s, size_t to, struct model_tokens *out)
{
	struct step *steps = steps_of(s);
	float score = steps[to].score;
	int result = 0;

	if (to == 0)
		return 0;
	turn_round(steps, to);
	for (size_t at = 0; at < to && result == 0; at = steps[at].from) {
		size_t from = s->base + at, end = s->base + steps[at].from;
		uint32_t place = steps[at].place;

		result = place == UNIGRAM_UNKNOWN
				 ? put_unknown(s->unigram, s->piece, from, end, out)
				 : model_tokens_put(out, s->model->vocabulary.pieces[place].id,
						    from, end);
	}
	s->base += to;
	s->cleared = 0;
	s->reach = 0;
	steps[0].score = score;
	return result;
}

static int begin(struct search *s, float score)
{
	if (clear_ahead(s, 0) < 0)
		return -1;
	steps_of(s)[0].score = score;
	return 0;
}

static int encode(const struct text_model *m, void *own, struct bytes piece,
		  struct model_tokens *out)
{
	struct search s = { .model = m, .unigram = m->own, .scratch = own, .piece = piece };
	size_t at = 0, width;

	if (begin(&s, 0) < 0)
		return -1;
	while (s.base + at < piece.size) {
		/* No piece goes past here. */
		if (at >= WORTH && at == s.reach) {
			float score = steps_of(&s)[at].score;

			if (settle(&s, at, out) < 0 || begin(&s, score) < 0)
				return -1;
			at = 0;
		}
		width = width_at(piece, s.base + at);
		if (clear_ahead(&s, at) < 0)
			return -1;
		if (fabsf(steps_of(&s)[at].score) > SUM_MOST)
			rebase(&s, at);
		offer_from(&s, at, width);
		at += width;
	}
	return settle(&s, at, out);
}

static int sample(const struct text_model *m, void *own, struct bytes piece,
		  const struct model_sampling *how, struct model_tokens *out)
{
	struct unigram_scratch *s = own;
	struct model_tokens *raw = &s->raw;
	int result;

	if (!(how->alpha >= 0 && how->alpha <= 1e6))
		return err_set(ERR_ARGUMENT, "alpha %g is not between 0 and 1e6", how->alpha);
	if (how->alpha == 0 || how->n_best == 1)
		return encode(m, own, piece, out);
	raw->n = 0;
	result = how->n_best ? unigram_sample_best(m, s, piece, how, raw)
			     : unigram_sample_all(m, s, piece, how, raw);
	for (size_t i = 0; i < raw->n && result == 0; i++) {
		const struct model_token *t = &raw->items[i];

		result = t->id == m->spec.unk ? put_unknown(m->own, piece, t->from, t->to, out)
					      : model_tokens_put(out, t->id, t->from, t->to);
	}
	return result;
}

const struct model_parts model_unigram_spm = {
	.load = load,
	.unload = unigram_unload,
	.scratch_new = unigram_scratch_new,
	.scratch_free = unigram_scratch_free,
	.encode = encode,
	.sample = sample,
};
