/*
 * lib/text/train_bpe_fresh.c - the pairs that a merge brings up: their places, and their entries in the queue
 *
 * Each thread has written down its places; how many come before them in a pair's list is known, so all threads write
 * into one list at once.
 */
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/text/train_bpe_step.h"

int train_fresh_lists(struct step *s, struct fresh *fresh, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t places = fresh[i].n;

		fresh[i].n = 0;
		if (train_lists_new(&s->t->lists, &fresh[i].places, places) < 0)
			return -1;
		fresh[i].n = places;
	}
	return 0;
}

void train_fresh_aim(struct step *s, bool left)
{
	struct fresh *fresh = left ? s->left : s->right;
	size_t n = left ? s->n_left : s->n_right;

	for (size_t i = 0; i < n; i++) {
		uint32_t *places = train_places(&fresh[i].places, fresh[i].n);

		for (int k = 0; k < s->parts; k++) {
			struct train_worker *w = &s->t->workers[k];
			struct neighbour *by = left ? w->left.by_symbol : w->right.by_symbol;

			by[fresh[i].symbol].place = places + (k ? by[fresh[i].symbol].n : 0);
		}
	}
}

/* The pair (z, z) can come up on both sides: one list, in order. */
static int unite(struct step *s, struct fresh *to, struct fresh *from)
{
	struct fresh both = *to;
	const uint32_t *x = train_places(&to->places, to->n);
	const uint32_t *y = train_places(&from->places, from->n);
	uint32_t *out, i = 0, k = 0;

	if (train_lists_new(&s->t->lists, &both.places, to->n + from->n) < 0)
		return -1;
	both.n = to->n + from->n;
	out = train_places(&both.places, both.n);
	while (i < to->n || k < from->n) {
		if (k == from->n || (i < to->n && x[i] < y[k]))
			*out++ = x[i++];
		else
			*out++ = y[k++];
	}
	train_lists_free(&s->t->lists, &to->places, to->n);
	train_lists_free(&s->t->lists, &from->places, from->n);
	from->n = 0;
	*to = both;
	return 0;
}

static int unite_twins(struct step *s)
{
	struct fresh *left = NULL, *right = NULL;

	for (size_t i = 0; i < s->n_left && !left; i++)
		left = s->left[i].symbol == s->z ? &s->left[i] : NULL;
	for (size_t i = 0; left && i < s->n_right && !right; i++)
		right = s->right[i].symbol == s->z ? &s->right[i] : NULL;
	return left && right ? unite(s, left, right) : 0;
}

/* An entry for what came up of a pair, in its own record or in one more. */
static int queue_fresh(struct step *s, struct fresh *f)
{
	struct train_pairs *pairs = &s->t->pairs;
	uint64_t now = pairs->items[f->record].count;
	uint32_t record = f->record;
	struct train_pair *p;

	if (f->n == 0)
		return 0;
	if (now == 0) {
		train_lists_free(&s->t->lists, &f->places, f->n);
		f->n = 0;
		return 0;
	}
	if (pairs->items[record].listed && train_pairs_extra(pairs, f->record, &record) < 0)
		return -1;
	p = &pairs->items[record];
	p->queued = now;
	p->places = f->places;
	p->n = f->n;
	p->step = s->t->steps & TRAIN_STEPS;
	p->listed = 1;
	f->n = 0;
	return train_queue_push(&s->t->queue, pairs, record);
}

static int queue_all(struct step *s, struct fresh *fresh, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (queue_fresh(s, &fresh[i]) < 0)
			return -1;
	return 0;
}

int train_fresh_queue(struct step *s)
{
	if (unite_twins(s) < 0 || queue_all(s, s->left, s->n_left) < 0)
		return -1;
	return queue_all(s, s->right, s->n_right);
}

void train_fresh_free(struct step *s, struct fresh *fresh, size_t n)
{
	for (size_t i = 0; i < n; i++)
		train_lists_free(&s->t->lists, &fresh[i].places, fresh[i].n);
	free(fresh);
}
