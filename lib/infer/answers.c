/* lib/infer/answers.c - requests in their order, and steps for those under way */

#include "lib/infer/answers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/answers_parts.h"

#define AHEAD 64 /* requests a place that may wait for an earlier one to end */

/* Beside those under way one whose prompt several answers have, and some that are beginnings of others. */
size_t answers_sequences(size_t parallel)
{
	return parallel > 1 ? 2 * parallel : 3;
}

size_t answers_tokens(size_t parallel, size_t context)
{
	return parallel * (context + 2 * ENGINE_PAGE);
}

/* --- making --- */

static int make(struct answers *b)
{
	size_t n = b->o.parallel;

	b->most_kept = answers_sequences(n) - n - 1;
	b->places = mem_new(n, sizeof(*b->places));
	b->kept = mem_new(n + 1, sizeof(*b->kept));
	b->items = mem_new(n, sizeof(*b->items));
	b->owners = mem_new(n, sizeof(*b->owners));
	b->capacity = n * AHEAD;
	b->entries = mem_new(b->capacity, sizeof(*b->entries));
	if (!b->places || !b->kept || !b->items || !b->owners || !b->entries)
		return -1;
	return sampler_room_new(&b->room);
}

int answers_new(struct answers **out, const struct answers_options *o)
{
	struct answers *b = mem_new(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return -1;
	b->o = *o;
	if (make(b) < 0) {
		answers_free(b);
		return -1;
	}
	*out = b;
	return 0;
}

static void free_entry(struct entry *e)
{
	request_free(e->request);
	free(e->logits);
	free(e);
}

void answers_free(struct answers *b)
{
	if (!b)
		return;
	for (size_t i = 0; b->places && i < b->o.parallel; i++)
		if (b->places[i].entry) {
			engine_end(b->o.engine, b->places[i].sequence);
			place_end(&b->places[i]);
		}
	for (size_t i = b->first; i < b->last; i++) {
		struct entry *e = b->entries[i % b->capacity];

		if (e->trunk >= 0)
			engine_end(b->o.engine, e->trunk);
		free_entry(e);
	}
	for (size_t i = 0; i < b->n_kept; i++)
		engine_end(b->o.engine, b->kept[i]);
	sampler_room_free(b->room);
	free(b->places);
	free(b->entries);
	free(b->kept);
	free(b->items);
	free(b->owners);
	free(b);
}

/* --- requests --- */

bool answers_wants(const struct answers *b)
{
	size_t taken = b->waiting;

	for (size_t i = 0; i < b->o.parallel; i++)
		taken += b->places[i].entry != NULL;
	return taken < b->o.parallel && b->last - b->first < b->capacity;
}

int answers_add(struct answers *b, struct request *r)
{
	struct entry *e = mem_new(1, sizeof(*e));

	if (!e)
		return -1;
	e->request = r;
	e->trunk = -1;
	b->entries[b->last++ % b->capacity] = e;
	b->waiting++;
	return 0;
}

struct request *answers_next(struct answers *b)
{
	struct entry *e = b->entries[b->first % b->capacity];
	struct request *r;

	if (b->last - b->first <= b->waiting || e->ended < e->begun)
		return NULL;
	r = e->request;
	e->request = NULL;
	free_entry(e);
	b->first++;
	b->counts.requests++;
	b->counts.failed += r->error != NULL;
	return r;
}

const struct answers_counts *answers_counts(const struct answers *b)
{
	return &b->counts;
}

/* --- steps --- */

void answers_keep(struct answers *b, int sequence)
{
	b->kept[b->n_kept++] = sequence;
	if (b->n_kept <= b->most_kept)
		return;
	engine_end(b->o.engine, b->kept[0]);
	memmove(b->kept, b->kept + 1, --b->n_kept * sizeof(*b->kept));
}

void answers_end_place(struct answers *b, struct place *p)
{
	p->entry->ended++;
	answers_keep(b, p->sequence);
	place_end(p);
}

/* What the sequences under way have yet to read; how many there are. */
static size_t collect(struct answers *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->o.parallel; i++) {
		const struct place *p = &b->places[i];
		size_t at;

		if (!p->entry)
			continue;
		at = engine_length(b->o.engine, p->sequence);
		b->owners[n] = i;
		b->items[n++] = (struct engine_item){
			.sequence = p->sequence,
			.ids = p->ids + at,
			.n = p->n_ids - at,
			.text = p->n_ids == p->entry->request->n_ids ? p->n_ids : 1,
			.logits = true,
		};
	}
	return n;
}

/* The prompt of several answers was read: its logits outlive the step. */
static int end_trunk(struct answers *b, struct place *p, const float *logits)
{
	struct entry *e = p->entry;
	size_t size = (size_t)b->o.config->vocab_size * sizeof(*logits);

	e->logits = mem_pages(size);
	if (!e->logits)
		return -1;
	memcpy(e->logits, logits, size);
	e->trunk = p->sequence;
	e->reading = false;
	place_end(p);
	return 0;
}

static int draw(struct answers *b, struct place *p)
{
	const float *logits = engine_logits(b->o.engine, p->sequence);
	int more;

	if (p->trunk)
		return end_trunk(b, p, logits);
	more = place_draw(b, p, logits);
	if (more == 0)
		answers_end_place(b, p);
	return more < 0 ? -1 : 0;
}

int answers_step(struct answers *b)
{
	size_t n;

	if (answers_begin(b) < 0)
		return -1;
	n = collect(b);
	if (n == 0 && b->waiting)
		return err_set(ERR_LIMIT, "a request for which the cache has never room");
	if (n == 0)
		return 0;
	b->counts.steps++;
	if (engine_run(b->o.engine, b->items, n) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (draw(b, &b->places[b->owners[i]]) < 0)
			return -1;
	return 1;
}
