/*
 * lib/infer/answers_begin.c - whose turn it is: places, room in the cache, and what of a prompt is there already
 *
 * A text begins when its pages, up to the most tokens that it may come to, are left beside those that the texts under way may yet take; so none
 * has to stop for want of room. Sequences that ended are kept as beginnings of others until their pages or numbers are needed.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/infer/answers_parts.h"

/* --- places and room --- */

static struct place *free_place(struct answers *b)
{
	for (size_t i = 0; i < b->o.parallel; i++)
		if (!b->places[i].entry)
			return &b->places[i];
	return NULL;
}

static size_t pages_to_come(const struct answers *b, const struct place *p)
{
	const struct engine *e = b->o.engine;

	return engine_pages_need(e, p->sequence, place_most(p) - engine_length(e, p->sequence));
}

/* Whether all texts under way can become as long as they may. */
static bool all_fit(const struct answers *b)
{
	size_t need = 0;

	for (size_t i = 0; i < b->o.parallel; i++)
		if (b->places[i].entry)
			need += pages_to_come(b, &b->places[i]);
	return need <= engine_pages_left(b->o.engine);
}

static void forget_oldest(struct answers *b)
{
	engine_end(b->o.engine, b->kept[0]);
	memmove(b->kept, b->kept + 1, --b->n_kept * sizeof(*b->kept));
}

static bool make_room(struct answers *b)
{
	while (!all_fit(b) && b->n_kept)
		forget_oldest(b);
	return all_fit(b);
}

/* --- what is there already --- */

struct source {
	int sequence; /* -1: none */
	size_t tokens;
};

static void consider(const struct answers *b, const struct request *r, int sequence,
		     struct source *best)
{
	size_t common = engine_common(b->o.engine, sequence, r->ids, r->n_ids);

	if (common > best->tokens)
		*best = (struct source){ sequence, common };
}

static struct source find_source(const struct answers *b, const struct request *r)
{
	struct source best = { .sequence = -1 };

	for (size_t i = 0; i < b->o.parallel; i++)
		if (b->places[i].entry)
			consider(b, r, b->places[i].sequence, &best);
	for (size_t i = 0; i < b->n_kept; i++)
		consider(b, r, b->kept[i], &best);
	return best;
}

/* Whether a prompt that this step reads has more of R's than MOST tokens: it is worth waiting for. */
static bool comes_with_this_step(const struct answers *b, const struct request *r, size_t most)
{
	for (size_t i = 0; i < b->o.parallel; i++) {
		const struct place *p = &b->places[i];
		size_t n = most + ENGINE_PAGE;

		if (p->entry && engine_length(b->o.engine, p->sequence) < n && p->n_ids >= n &&
		    r->n_ids > n && memcmp(p->ids, r->ids, n * sizeof(*r->ids)) == 0)
			return true;
	}
	return false;
}

static int take_sequence(struct answers *b, struct source s)
{
	if (s.sequence >= 0)
		return engine_fork(b->o.engine, s.sequence, s.tokens);
	return engine_begin(b->o.engine);
}

/* --- answers --- */

/* At place P. 1: begun, 0: it has to wait, -1: no memory. */
static int begin_at(struct answers *b, struct place *p, struct entry *e, bool trunk,
		    struct source s)
{
	p->trunk = trunk;
	p->sequence = take_sequence(b, s);
	if (p->sequence < 0 || place_begin(b, p, e) < 0) {
		if (p->sequence >= 0)
			engine_end(b->o.engine, p->sequence);
		place_end(p);
		return -1;
	}
	if (make_room(b))
		return 1;
	engine_end(b->o.engine, p->sequence);
	place_end(p);
	return 0;
}

/* One more answer to a prompt that was read: its first token comes at once. */
static int begin_from_trunk(struct answers *b, struct entry *e)
{
	struct place *p = free_place(b);
	const struct source all = { e->trunk, e->request->n_ids };
	int begun = begin_at(b, p, e, false, all), more;

	if (begun <= 0)
		return begun;
	e->begun++;
	more = place_draw(b, p, e->logits);
	if (more == 0)
		answers_end_place(b, p);
	return more < 0 ? -1 : 1;
}

static int begin_prompt(struct answers *b, struct entry *e)
{
	struct source s = find_source(b, e->request);
	bool trunk = e->request->options.samples > 1;
	int begun;

	if (comes_with_this_step(b, e->request, s.tokens))
		return 0;
	begun = begin_at(b, free_place(b), e, trunk, s);
	if (begun <= 0)
		return begun;
	if (trunk)
		e->reading = true;
	else
		e->begun++;
	b->counts.prompt_tokens += e->request->n_ids;
	b->counts.shared_tokens += s.tokens;
	return 1;
}

/* As begin_at; 0 too where the rest of its answers wait for the prompt to be read. */
static int begin_answers(struct answers *b, struct entry *e)
{
	int begun = 1;

	while (begun > 0 && e->begun < e->request->options.samples && !e->request->error) {
		if (!free_place(b) || e->reading)
			return 0;
		begun = e->trunk >= 0 ? begin_from_trunk(b, e) : begin_prompt(b, e);
	}
	if (begun > 0 && e->trunk >= 0) {
		answers_keep(b, e->trunk);
		e->trunk = -1;
	}
	return begun;
}

int answers_begin(struct answers *b)
{
	while (b->waiting) {
		int begun = begin_answers(b, b->entries[(b->last - b->waiting) % b->capacity]);

		if (begun <= 0)
			return begun;
		b->waiting--;
	}
	return 0;
}
