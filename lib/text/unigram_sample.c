/*
 * lib/text/unigram_sample.c - a way to cut a piece of text, drawn by chance
 *
 * The chance of a way is proportional to exp(alpha x its score) (Kudo 2018, section 3.2). From the right, the weight of
 * all ways from each place to the end is summed, as logarithms; from the left, each piece is then drawn with the share
 * that the ways through it have. It is forward filtering and backward sampling, mirrored, so that the pieces at
 * a place can be looked up again instead of being kept.
 */
#include <math.h>

#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/text/unigram_parts.h"

void unigram_edges_begin(struct unigram_edges *e, const struct text_model *m, struct bytes piece,
			 size_t at)
{
	const struct unigram *u = m->own;

	*e = (struct unigram_edges){ .model = m,
				     .piece = piece,
				     .at = at,
				     .next = at,
				     .width = unigram_width(m, piece, at),
				     .node = u->trie.root };
}

bool unigram_edges_next(struct unigram_edges *e, struct unigram_edge *out)
{
	const struct unigram *u = e->model->own;
	const unsigned char *p = (const unsigned char *)e->piece.data;
	uint32_t place;

	while (!e->ended && e->next < e->piece.size &&
	       trie_step(&u->trie, &e->node, p[e->next], &place)) {
		e->next++;
		if (place == TRIE_NONE)
			continue;
		e->single |= e->next - e->at == e->width;
		*out = (struct unigram_edge){ (uint32_t)e->next, place, u->scores[place] };
		return true;
	}
	e->ended = true;
	if (e->single || u->unknown == TOKEN_NONE)
		return false;
	e->single = true;
	*out = (struct unigram_edge){ (uint32_t)(e->at + e->width), UNIGRAM_UNKNOWN,
				      u->unknown_score };
	return true;
}

double unigram_draw(const struct model_sampling *how, size_t place)
{
	struct random_stream r = random_at(how->seed, how->document,
					   hash_short("unigram", sizeof("unigram") - 1, 0));

	return random_uniform53(&r, how->position, place);
}

/* A sum of weights of which only the logarithms are known. */
struct log_sum {
	double largest, sum;
};

static void log_sum_add(struct log_sum *s, double x)
{
	if (x > s->largest) {
		s->sum = s->sum * exp(s->largest - x) + 1;
		s->largest = x;
	} else if (x > -INFINITY) {
		s->sum += exp(x - s->largest);
	}
}

/* scores[i] becomes the logarithm of the weight of all ways from byte I to the end. */
static int weigh(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
		 double alpha)
{
	if (mem_grow(&s->scores, &s->scores_capacity, piece.size + 1, sizeof(*s->scores)) < 0)
		return -1;
	s->scores[piece.size] = 0;
	for (size_t at = piece.size; at-- > 0;) {
		struct log_sum sum = { -INFINITY, 0 };
		struct unigram_edges edges;
		struct unigram_edge e;

		unigram_edges_begin(&edges, m, piece, at);
		while (unigram_edges_next(&edges, &e))
			log_sum_add(&sum, alpha * e.score + s->scores[e.to]);
		s->scores[at] = sum.sum > 0 ? sum.largest + log(sum.sum) : -INFINITY;
	}
	if (s->scores[0] > -INFINITY)
		return 0;
	return err_set(ERR_FORMAT,
		       "no pieces for " BYTES_FMT ", and the model has no unknown token",
		       BYTES_ARG(piece));
}

/* The piece at AT that the draw CHANCE, in [0, 1), falls on. */
static struct unigram_edge choose(const struct text_model *m, const struct unigram_scratch *s,
				  struct bytes piece, size_t at, double alpha, double chance)
{
	struct unigram_edge e, last = { 0 };
	struct unigram_edges edges;

	unigram_edges_begin(&edges, m, piece, at);
	while (chance >= 0 && unigram_edges_next(&edges, &e)) {
		if (s->scores[e.to] == -INFINITY)
			continue;
		last = e;
		chance -= exp(alpha * e.score + s->scores[e.to] - s->scores[at]);
	}
	return last;
}

int unigram_sample_all(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
		       const struct model_sampling *how, struct model_tokens *out)
{
	if (weigh(m, s, piece, how->alpha) < 0)
		return -1;
	for (size_t at = 0; at < piece.size;) {
		struct unigram_edge e = choose(m, s, piece, at, how->alpha, unigram_draw(how, at));

		if (model_tokens_put(out, unigram_id(m, e.place), at, e.to) < 0)
			return -1;
		at = e.to;
	}
	return 0;
}

int unigram_sample(const struct text_model *m, void *own, struct bytes piece,
		   const struct model_sampling *how, struct model_tokens *out)
{
	size_t first = out->n;
	int result;

	if (!(how->alpha >= 0 && how->alpha <= 1e6))
		return err_set(ERR_ARGUMENT, "alpha %g is not between 0 and 1e6", how->alpha);
	if (how->alpha == 0 || how->n_best == 1)
		return unigram_encode(m, own, piece, out);
	result = how->n_best ? unigram_sample_best(m, own, piece, how, out)
			     : unigram_sample_all(m, own, piece, how, out);
	return result < 0 ? -1 : unigram_join_unknown(m, own, piece, first, out);
}
