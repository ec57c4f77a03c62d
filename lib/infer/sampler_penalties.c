/* lib/infer/sampler_penalties.c - biases, and what is taken from tokens that came already */

#include <math.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/infer/sampler_parts.h"

/* qsort's order. */
static int by_id(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

size_t tally_join(struct tally *t, size_t n, bool largest)
{
	size_t kept = 0;

	qsort(t, n, sizeof(*t), by_id);
	for (size_t i = 0; i < n; i++) {
		struct tally *last = kept ? &t[kept - 1] : NULL;

		if (!last || last->id != t[i].id)
			t[kept++] = t[i];
		else if (!largest)
			last->count += t[i].count;
		else if (t[i].count > last->count)
			last->count = t[i].count;
	}
	return kept;
}

static int touch(struct choice *c, const struct tally *t, size_t n)
{
	c->scanned = false;
	return c->listed ? 0 : choice_change(c, t, n);
}

/* --- biases --- */

int choice_bias(struct choice *c)
{
	const struct sampler_options *o = &c->sampler->options;
	struct sampler_room *r = c->room;
	size_t n;

	if (o->n_bias == 0)
		return 0;
	if (mem_grow(&r->tally, &r->tally_room, o->n_bias, sizeof(*r->tally)) < 0)
		return -1;
	for (size_t i = 0; i < o->n_bias; i++)
		r->tally[i] = (struct tally){ o->bias[i].id, 1 };
	n = tally_join(r->tally, o->n_bias, false);
	if (touch(c, r->tally, n) < 0)
		return -1;
	for (size_t i = 0; i < o->n_bias; i++)
		choice_find(c, o->bias[i].id)->logit += o->bias[i].value;
	return 0;
}

/* --- penalties --- */

static float punish(const struct sampler_options *o, double logit, uint32_t count, double t)
{
	double factor = o->repetition_penalty > 0 ? o->repetition_penalty : 1;

	if (logit == -INFINITY)
		return -INFINITY;
	logit = logit > 0 ? logit / factor : logit * factor;
	/* What is taken off is of logits at the temperature so far. */
	logit -= t * ((double)count * o->frequency_penalty + o->presence_penalty);
	return (float)logit;
}

static int count_history(struct choice *c, size_t *n)
{
	const struct sampler_options *o = &c->sampler->options;
	struct sampler_room *r = c->room;
	size_t last =
		o->penalty_last && o->penalty_last < c->n_history ? o->penalty_last : c->n_history;
	const int32_t *ids = c->history + (c->n_history - last);

	*n = 0;
	if (mem_grow(&r->tally, &r->tally_room, last, sizeof(*r->tally)) < 0)
		return -1;
	for (size_t i = 0; i < last; i++)
		if (ids[i] >= 0 && (size_t)ids[i] < c->sampler->vocabulary)
			r->tally[(*n)++] = (struct tally){ ids[i], 1 };
	*n = tally_join(r->tally, *n, false);
	return 0;
}

int choice_penalties(struct choice *c)
{
	struct sampler_room *r = c->room;
	size_t n;

	if (count_history(c, &n) < 0 || touch(c, r->tally, n) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct candidate *at = choice_find(c, r->tally[i].id);

		if (at)
			at->logit = punish(&c->sampler->options, (double)at->logit,
					   r->tally[i].count, c->t);
	}
	return 0;
}
