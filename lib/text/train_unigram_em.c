/*
 * lib/text/train_unigram_em.c - expectation and maximisation, and the best ways that pruning asks for
 *
 * The expectation of a piece is the sum over words of the chance that a way to cut the word uses it; forward and
 * backward sums of products of chances, and of their logarithms where a long word makes the products too small.
 * The new score is digamma(expected) - digamma(sum), which favours few pieces (P. Liang and D. Klein 2007,
 * "Structured Bayesian nonparametric models", as used by SentencePiece).
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/text/train_unigram_parts.h"

#define UNKNOWN_PENALTY 10.0
#define LEAST_EXPECTED	0.5
#define SMALLEST	1e-250 /* a product of chances that is trusted */

/* --- a word's lattice --- */

int train_unigram_prepare(struct training *t)
{
	size_t n = t->pieces.n;
	struct trie_key *keys = mem_new(n, sizeof(*keys));
	double lowest = INFINITY;
	int result = -1;

	if (!keys || mem_grow(&t->chances, &t->chances_capacity, n, sizeof(*t->chances)) < 0)
		goto end;
	for (size_t i = 1; i < n; i++) {
		const struct train_piece *p = &t->pieces.items[i];

		keys[i - 1] = (struct trie_key){ { p->text, p->size }, (uint32_t)i };
		t->chances[i] = exp(p->score);
		lowest = p->score < lowest ? p->score : lowest;
	}
	t->unknown_score = lowest - UNKNOWN_PENALTY;
	t->chances[0] = exp(t->unknown_score);
	trie_clear(&t->trie);
	if (trie_init(&t->trie, keys, n - 1) < 0)
		goto end;
	for (int i = 0; i < TRAIN_SHARES; i++) {
		free(t->scratch[i].sums);
		t->scratch[i].sums = mem_new(n, sizeof(double));
		if (!t->scratch[i].sums)
			goto end;
	}
	result = 0;
end:
	free(keys);
	return result;
}

static int make_places(struct train_scratch *s, size_t n)
{
	if (n <= s->places)
		return 0;
	free(s->ahead);
	free(s->behind);
	free(s->via);
	s->places = n * 2;
	s->ahead = mem_new(s->places, sizeof(*s->ahead));
	s->behind = mem_new(s->places, sizeof(*s->behind));
	s->via = mem_new(s->places, sizeof(*s->via));
	if (s->ahead && s->behind && s->via)
		return 0;
	s->places = 0;
	return -1;
}

static int put_edge(struct train_scratch *s, size_t from, size_t to, uint32_t piece)
{
	if (mem_grow(&s->edges, &s->edges_capacity, s->n_edges + 1, sizeof(*s->edges)) < 0)
		return -1;
	s->edges[s->n_edges++] = (struct train_edge){ (uint32_t)from, (uint32_t)to, piece };
	return 0;
}

static size_t width_at(struct bytes text, size_t at)
{
	size_t n = 1;

	while (at + n < text.size && ((unsigned char)text.data[at + n] & 0xc0) == 0x80)
		n++;
	return n;
}

int train_unigram_edges(const struct training *t, struct train_scratch *s, struct bytes text)
{
	size_t width;

	s->n_edges = 0;
	if (make_places(s, text.size + 1) < 0)
		return -1;
	for (size_t at = 0; at < text.size; at += width) {
		uint32_t node = t->trie.root, piece;
		bool single = false;

		width = width_at(text, at);
		for (size_t i = at; i < text.size; i++) {
			if (!trie_step(&t->trie, &node, (unsigned char)text.data[i], &piece))
				break;
			if (piece == TRIE_NONE)
				continue;
			single |= i + 1 - at == width;
			if (put_edge(s, at, i + 1, piece) < 0)
				return -1;
		}
		if (!single && put_edge(s, at, at + width, 0) < 0)
			return -1;
	}
	return 0;
}

static double edge_score(const struct training *t, const struct train_edge *e)
{
	return e->piece ? t->pieces.items[e->piece].score : t->unknown_score;
}

double train_unigram_best(const struct training *t, struct train_scratch *s, size_t size,
			  uint32_t barred)
{
	for (size_t i = 0; i <= size; i++)
		s->ahead[i] = -INFINITY;
	s->ahead[0] = 0;
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct train_edge *e = &s->edges[i];
		double score = s->ahead[e->from] + edge_score(t, e);

		if (score > s->ahead[e->to] && e->piece != barred) {
			s->ahead[e->to] = score;
			s->via[e->to] = (uint32_t)i;
		}
	}
	return s->ahead[size];
}

/* --- expectation --- */

/* Adds COUNT times each edge's chance to the sums. False when the products are too small to be trusted. */
static bool expect(const struct training *t, struct train_scratch *s, size_t size, double count)
{
	double *ahead = s->ahead, *behind = s->behind, share;

	memset(ahead, 0, (size + 1) * sizeof(*ahead));
	memset(behind, 0, (size + 1) * sizeof(*behind));
	ahead[0] = behind[size] = 1;
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct train_edge *e = &s->edges[i];

		ahead[e->to] += ahead[e->from] * t->chances[e->piece];
	}
	if (!(ahead[size] > SMALLEST))
		return false;
	share = count / ahead[size];
	for (size_t i = s->n_edges; i-- > 0;) {
		const struct train_edge *e = &s->edges[i];
		double chance = t->chances[e->piece] * behind[e->to];

		behind[e->from] += chance;
		s->sums[e->piece] += ahead[e->from] * chance * share;
	}
	return true;
}

static double log_add(double a, double b)
{
	double high = a > b ? a : b, low = a > b ? b : a;

	return low == -INFINITY ? high : high + log1p(exp(low - high));
}

/* As expect, in logarithms. */
static void expect_logs(const struct training *t, struct train_scratch *s, size_t size,
			double count)
{
	double *ahead = s->ahead, *behind = s->behind;

	for (size_t i = 0; i <= size; i++)
		ahead[i] = behind[i] = -INFINITY;
	ahead[0] = behind[size] = 0;
	for (size_t i = 0; i < s->n_edges; i++) {
		const struct train_edge *e = &s->edges[i];

		ahead[e->to] = log_add(ahead[e->to], ahead[e->from] + edge_score(t, e));
	}
	for (size_t i = s->n_edges; i-- > 0;) {
		const struct train_edge *e = &s->edges[i];
		double score = edge_score(t, e) + behind[e->to];

		behind[e->from] = log_add(behind[e->from], score);
		s->sums[e->piece] += count * exp(ahead[e->from] + score - ahead[size]);
	}
}

static int expect_share(const struct training *t, struct train_scratch *s, size_t low, size_t high)
{
	for (size_t i = low; i < high; i++) {
		const struct train_word *w = &t->words[i];

		if (train_unigram_edges(t, s, w->text) < 0)
			return -1;
		if (!expect(t, s, w->text.size, (double)w->count))
			expect_logs(t, s, w->text.size, (double)w->count);
	}
	return 0;
}

/* --- the shares --- */

struct run {
	struct training *training;
	train_share_fn *fn;
};

static void run_share(void *arg, size_t share)
{
	struct run *r = arg;
	struct training *t = r->training;
	struct train_scratch *s = &t->scratch[share];

	memset(s->sums, 0, t->pieces.n * sizeof(*s->sums));
	s->result = r->fn(t, s, t->n_words * share / TRAIN_SHARES,
			  t->n_words * (share + 1) / TRAIN_SHARES);
}

int train_unigram_run(struct training *t, train_share_fn *fn, double *out)
{
	struct run r = { t, fn };

	if (t->options.team)
		team_chunks(t->options.team, TRAIN_SHARES, run_share, &r);
	for (size_t i = 0; i < TRAIN_SHARES; i++) {
		if (!t->options.team)
			run_share(&r, i);
		/* Nothing but memory can fail in there. */
		if (t->scratch[i].result < 0)
			return err_set(ERR_MEMORY, "out of memory in the training of Unigram");
	}
	for (size_t k = 0; k < t->pieces.n; k++) {
		out[k] = 0;
		for (int i = 0; i < TRAIN_SHARES; i++)
			out[k] += t->scratch[i].sums[k];
	}
	return 0;
}

/* --- maximisation --- */

/* The logarithm's derivative of the gamma function, x > 0: Abramowitz and Stegun 6.3.5 up to 10, then 6.3.18. */
static double digamma(double x)
{
	double sum = 0, r;

	for (; x < 10; x++)
		sum -= 1 / x;
	r = 1 / (x * x);
	return sum + log(x) - 1 / (2 * x) -
	       r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

int train_unigram_step(struct training *t)
{
	double *expected = mem_new(t->pieces.n, sizeof(*expected)), sum = 0;
	struct train_piece *p = t->pieces.items;
	size_t n = 1;

	if (!expected || train_unigram_run(t, expect_share, expected) < 0) {
		free(expected);
		return -1;
	}
	for (size_t i = 1; i < t->pieces.n; i++) {
		if (!(expected[i] >= LEAST_EXPECTED))
			continue;
		p[n] = p[i];
		p[n++].score = expected[i];
		sum += expected[i];
	}
	for (size_t i = 1; i < n; i++)
		p[i].score = digamma(p[i].score) - digamma(sum);
	t->pieces.n = n;
	free(expected);
	return train_unigram_prepare(t);
}
