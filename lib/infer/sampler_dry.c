/*
 * lib/infer/sampler_dry.c - what would make a repetition longer
 *
 * DRY, "don't repeat yourself", as its author gave it to text-generation-webui (pull request 5677): for each place of the history, how
 * many tokens before it are those at the end of the history as well; the token that stood there is punished by that number.
 * All numbers at once by the Z algorithm over the history read backwards (Gusfield 1997, 1.4), in linear time.
 */

#include <math.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/infer/sampler_parts.h"

static bool is_breaker(const struct sampler *s, int32_t id)
{
	return (size_t)id >= s->vocabulary || (s->is_breaker[id / 8] >> (id % 8) & 1);
}

/* Tokens at the end that no breaker is among: a repetition has no more. */
static size_t reach(const struct sampler *s, const int32_t *ids, size_t n)
{
	size_t most = 0;

	while (most < n && !is_breaker(s, ids[n - 1 - most]))
		most++;
	return most;
}

/* LENGTHS[i]: how many tokens before the last I are those at the end; read backwards, the prefix that begins again at I. */
static void match(const int32_t *ids, size_t n, uint32_t *lengths)
{
	const int32_t *end = ids + n - 1;
	size_t from = 0, to = 0; /* the match that reaches farthest */

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		if (i < to)
			k = lengths[i - from] < to - i ? lengths[i - from] : to - i;
		while (i + k < n && end[-(ptrdiff_t)k] == end[-(ptrdiff_t)(i + k)])
			k++;
		lengths[i] = (uint32_t)k;
		if (i + k > to) {
			from = i;
			to = i + k;
		}
	}
}

/* The tokens that came after such places, and the longest repetition that each would go on. */
static int find(struct choice *c, const int32_t *ids, size_t n, size_t most, size_t *found)
{
	const struct sampler *s = c->sampler;
	struct sampler_room *r = c->room;

	if (mem_grow(&r->lengths, &r->lengths_room, n, sizeof(*r->lengths)) < 0 ||
	    mem_grow(&r->tally, &r->tally_room, n, sizeof(*r->tally)) < 0)
		return -1;
	match(ids, n, r->lengths);
	*found = 0;
	for (size_t i = 1; i < n; i++) {
		size_t length = r->lengths[i] < most ? r->lengths[i] : most;
		int32_t next = ids[n - i];

		if (length >= s->options.dry_allowed && !is_breaker(s, next))
			r->tally[(*found)++] = (struct tally){ next, (uint32_t)length };
	}
	*found = tally_join(r->tally, *found, true);
	return 0;
}

int choice_dry(struct choice *c)
{
	const struct sampler_options *o = &c->sampler->options;
	size_t n = o->dry_last && o->dry_last < c->n_history ? o->dry_last : c->n_history;
	const int32_t *ids = c->history + (c->n_history - n);
	size_t most = reach(c->sampler, ids, n), found;

	if (n > UINT32_MAX || most < o->dry_allowed)
		return 0;
	if (find(c, ids, n, most, &found) < 0)
		return -1;
	c->scanned = false;
	if (!c->listed && choice_change(c, c->room->tally, found) < 0)
		return -1;
	for (size_t i = 0; i < found; i++) {
		const struct tally *t = &c->room->tally[i];
		struct candidate *at = choice_find(c, t->id);
		double over = (double)(t->count - o->dry_allowed);

		if (at)
			at->logit -= (float)(c->t * o->dry_multiplier * pow(o->dry_base, over));
	}
	return 0;
}
