/* lib/text/pretokenize_cut.c - the five behaviours: what becomes of what a pattern matched */
#include "lib/text/pretokenize_parts.h"

#include "lib/base/memory.h"

int pieces_add(struct pieces *out, size_t from, size_t to)
{
	if (from == to)
		return 0;
	if (out->n == out->capacity &&
	    mem_grow(&out->items, &out->capacity, out->n + 1, sizeof(*out->items)))
		return -1;
	out->items[out->n++] = (struct piece){ from, to };
	return 0;
}

void cutter_begin(struct cutter *c, const struct step *step, struct pieces *out)
{
	*c = (struct cutter){ .behavior = step->behavior, .invert = step->invert, .out = out };
}

static void emit(struct cutter *c, size_t from, size_t to)
{
	if (!c->failed && pieces_add(c->out, from, to))
		c->failed = true;
}

static void release(struct cutter *c)
{
	if (c->holds)
		emit(c, c->held.from, c->held.to);
	c->holds = false;
}

static void hold(struct cutter *c, size_t from, size_t to)
{
	release(c);
	c->held = (struct piece){ from, to };
	c->holds = true;
}

/* Only the last match of a run goes to what follows: the ones before it are pieces of their own. */
static void merge_with_next(struct cutter *c, size_t from, size_t to, bool match)
{
	if (match) {
		hold(c, from, to);
	} else if (c->holds) {
		c->held.to = to;
		release(c);
	} else {
		emit(c, from, to);
	}
}

void cutter_add(struct cutter *c, size_t from, size_t to, bool match)
{
	bool joins = false;

	match ^= c->invert;
	switch (c->behavior) {
	case SPLIT_ISOLATED: emit(c, from, to); return;
	case SPLIT_REMOVED:
		if (!match)
			emit(c, from, to);
		return;
	case SPLIT_MERGED_WITH_NEXT: merge_with_next(c, from, to, match); return;
	case SPLIT_MERGED_WITH_PREVIOUS: joins = match && !c->previous; break;
	case SPLIT_CONTIGUOUS: joins = match == c->previous; break;
	}
	if (joins && c->holds)
		c->held.to = to;
	else
		hold(c, from, to);
	c->previous = match;
}

int cutter_end(struct cutter *c)
{
	release(c);
	return c->failed ? -1 : 0;
}
