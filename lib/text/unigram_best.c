/*
 * lib/text/unigram_best.c - the N best ways to cut a piece of text, and one of them by chance
 *
 * A* as in SentencePiece, mirrored: the best score from every place to the end is known beforehand, so the estimate of
 * a beginning is the score of its best completion, and beginnings come out in the order of their best
 * completions. Hence no more than N beginnings need to wait at a time, which bounds the agenda without losing any. Equal
 * estimates: the longer beginning first, then the older.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/text/unigram_parts.h"

#define KEPT_MAX ((size_t)1 << 24) /* pieces of beginnings, 12 bytes each */
#define NOTHING	 UINT32_MAX

/* A beginning's last piece. */
struct kept {
	uint32_t before; /* the beginning that it goes on from; NOTHING: the start of the text */
	uint32_t to, place;
};

/* A beginning that waits. */
struct waiting {
	double estimate, score;
	uint64_t age;
	struct kept last;
};

struct path {
	double score;
	uint32_t last; /* in kept */
};

struct unigram_paths {
	struct kept *kept;
	size_t n_kept, kept_capacity;
	struct waiting *heap; /* the first in order on top */
	size_t n_heap, heap_capacity;
	struct waiting *sorted;
	size_t sorted_capacity;
	struct path *found;
	size_t n_found, found_capacity;
	uint64_t age;
};

void unigram_paths_free(struct unigram_paths *p)
{
	if (!p)
		return;
	free(p->kept);
	free(p->heap);
	free(p->sorted);
	free(p->found);
	free(p);
}

static bool goes_first(const struct waiting *a, const struct waiting *b)
{
	if (a->estimate != b->estimate)
		return a->estimate > b->estimate;
	if (a->last.to != b->last.to)
		return a->last.to > b->last.to;
	return a->age < b->age;
}

static int heap_push(struct unigram_paths *p, const struct waiting *w)
{
	size_t at = p->n_heap;

	if (mem_grow(&p->heap, &p->heap_capacity, at + 1, sizeof(*p->heap)) < 0)
		return -1;
	p->n_heap++;
	for (; at && goes_first(w, &p->heap[(at - 1) / 2]); at = (at - 1) / 2)
		p->heap[at] = p->heap[(at - 1) / 2];
	p->heap[at] = *w;
	return 0;
}

static struct waiting heap_pop(struct unigram_paths *p)
{
	struct waiting top = p->heap[0], last = p->heap[--p->n_heap];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < p->n_heap) {
		if (child + 1 < p->n_heap && goes_first(&p->heap[child + 1], &p->heap[child]))
			child++;
		if (!goes_first(&p->heap[child], &last))
			break;
		p->heap[at] = p->heap[child];
		at = child;
	}
	p->heap[at] = last;
	return top;
}

/* Keeps the first N that wait. In order, they are a heap again. */
static int heap_shorten(struct unigram_paths *p, size_t n)
{
	if (mem_grow(&p->sorted, &p->sorted_capacity, n, sizeof(*p->sorted)) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		p->sorted[i] = heap_pop(p);
	memcpy(p->heap, p->sorted, n * sizeof(*p->heap));
	p->n_heap = n;
	return 0;
}

/* scores[i] becomes the best score from byte I to the end; -INFINITY where there is none. */
static int estimate(const struct text_model *m, struct unigram_scratch *s, struct bytes piece)
{
	if (mem_grow(&s->scores, &s->scores_capacity, piece.size + 1, sizeof(*s->scores)) < 0)
		return -1;
	s->scores[piece.size] = 0;
	for (size_t at = piece.size; at-- > 0;) {
		struct unigram_edges edges;
		struct unigram_edge e;

		s->scores[at] = -INFINITY;
		unigram_edges_begin(&edges, m, piece, at);
		while (unigram_edges_next(&edges, &e)) {
			if (e.score + s->scores[e.to] > s->scores[at])
				s->scores[at] = e.score + s->scores[e.to];
		}
	}
	if (s->scores[0] > -INFINITY)
		return 0;
	return err_set(ERR_FORMAT,
		       "no pieces for " BYTES_FMT ", and the model has no unknown token",
		       BYTES_ARG(piece));
}

/* All that goes on by one piece from W, which is the beginning BEFORE. */
static int extend(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
		  const struct waiting *w, uint32_t before)
{
	struct unigram_edges edges;
	struct unigram_edge e;

	unigram_edges_begin(&edges, m, piece, w->last.to);
	while (unigram_edges_next(&edges, &e)) {
		struct waiting next = { .score = w->score + e.score,
					.age = s->paths->age++,
					.last = { before, e.to, e.place } };

		next.estimate = next.score + s->scores[e.to];
		if (next.estimate > -INFINITY && heap_push(s->paths, &next) < 0)
			return -1;
	}
	return 0;
}

/* Makes W a beginning that others can go on from: its place in kept. */
static int keep(struct unigram_paths *p, const struct waiting *w, uint32_t *out)
{
	if (p->n_kept == KEPT_MAX)
		return err_set(ERR_LIMIT,
			       "a piece too long for sampling of so many best ways: more than %zu "
			       "beginnings",
			       KEPT_MAX);
	if (mem_grow(&p->kept, &p->kept_capacity, p->n_kept + 1, sizeof(*p->kept)) < 0)
		return -1;
	*out = (uint32_t)p->n_kept;
	p->kept[p->n_kept++] = w->last;
	return 0;
}

static int find_paths(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
		      size_t n)
{
	struct unigram_paths *p = s->paths;
	struct waiting w = { .last = { NOTHING, 0, UNIGRAM_UNKNOWN } };
	uint32_t at = NOTHING;

	p->n_kept = p->n_heap = p->n_found = 0;
	p->age = 0;
	if (extend(m, s, piece, &w, NOTHING) < 0)
		return -1;
	while (p->n_heap && p->n_found < n) {
		w = heap_pop(p);
		if (keep(p, &w, &at) < 0)
			return -1;
		if (w.last.to < piece.size) {
			if (extend(m, s, piece, &w, at) < 0)
				return -1;
		} else {
			if (mem_grow(&p->found, &p->found_capacity, p->n_found + 1,
				     sizeof(*p->found)) < 0)
				return -1;
			p->found[p->n_found++] = (struct path){ w.score, at };
		}
		if (p->n_heap / 4 > n && heap_shorten(p, n) < 0)
			return -1;
	}
	return 0;
}

/* The path that the draw CHANCE falls on; the first has the highest score. */
static const struct path *choose(const struct unigram_paths *p, double alpha, double chance)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->n_found; i++)
		sum += exp(alpha * (p->found[i].score - p->found[0].score));
	chance *= sum;
	for (i = 0; i + 1 < p->n_found; i++) {
		chance -= exp(alpha * (p->found[i].score - p->found[0].score));
		if (chance < 0)
			break;
	}
	return &p->found[i];
}

static int put_path(const struct text_model *m, const struct unigram_paths *p, uint32_t last,
		    struct model_tokens *out)
{
	size_t n = 0, first = out->n;

	for (uint32_t i = last; i != NOTHING; i = p->kept[i].before)
		n++;
	if (mem_grow(&out->items, &out->capacity, first + n, sizeof(*out->items)) < 0)
		return -1;
	out->n = first + n;
	for (uint32_t i = last; i != NOTHING; i = p->kept[i].before) {
		const struct kept *k = &p->kept[i];
		uint32_t from = k->before == NOTHING ? 0 : p->kept[k->before].to;

		out->items[first + --n] =
			(struct model_token){ unigram_id(m, k->place), from, k->to };
	}
	return 0;
}

int unigram_sample_best(const struct text_model *m, struct unigram_scratch *s, struct bytes piece,
			const struct model_sampling *how, struct model_tokens *out)
{
	if (!s->paths)
		s->paths = mem_new(1, sizeof(*s->paths));
	if (!s->paths || estimate(m, s, piece) < 0 || find_paths(m, s, piece, how->n_best) < 0)
		return -1;
	return put_path(m, s->paths, choose(s->paths, how->alpha, unigram_draw(how, 0))->last, out);
}
