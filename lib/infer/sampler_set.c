/* lib/infer/sampler_set.c - what may still be chosen: the whole vocabulary with a few values changed, or a list */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/sampler_parts.h"

/* --- what is changed --- */

/* bsearch's order of candidates, by an id. */
static int by_id(const void *id, const void *candidate)
{
	int32_t a = *(const int32_t *)id, b = ((const struct candidate *)candidate)->id;

	return a < b ? -1 : a > b;
}

struct candidate *choice_find(struct choice *c, int32_t id)
{
	return c->listed ? bsearch(&id, c->room->list, c->n, sizeof(*c->room->list), by_id)
			 : bsearch(&id, c->room->changed, c->n_changed, sizeof(*c->room->changed),
				   by_id);
}

int choice_change(struct choice *c, const struct tally *ids, size_t n)
{
	struct sampler_room *r = c->room;
	size_t old = c->n_changed, fresh = 0, at;

	if (mem_grow(&r->changed, &r->changed_room, old + n, sizeof(*r->changed)) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		fresh += choice_find(c, ids[i].id) == NULL;
	/* From the end, so that what is there moves once. */
	at = old + fresh;
	c->n_changed = at;
	while (n) {
		int32_t id = ids[n - 1].id;

		if (old && r->changed[old - 1].id >= id) {
			n -= r->changed[old - 1].id == id;
			r->changed[--at] = r->changed[old - 1];
			old--;
			continue;
		}
		r->changed[--at] = (struct candidate){ c->logits[id], id };
		n--;
	}
	c->scanned = false;
	return 0;
}

/* --- blocks --- */

struct walk walk_of(const struct choice *c)
{
	struct walk w;

	w.c = c;
	w.from = w.n = w.next = 0;
	w.raw = w.values = NULL;
	return w;
}

bool walk_on(struct walk *w)
{
	const struct choice *c = w->c;
	const struct candidate *changed = c->room->changed;
	size_t vocabulary = c->sampler->vocabulary;

	w->from += w->n;
	if (w->from == vocabulary)
		return false;
	w->n = vocabulary - w->from < SAMPLER_BLOCK ? vocabulary - w->from : SAMPLER_BLOCK;
	w->raw = w->values = c->logits + w->from;
	if (w->next == c->n_changed || (size_t)changed[w->next].id >= w->from + w->n)
		return true;
	memcpy(w->patched, w->raw, w->n * sizeof(*w->raw));
	for (; w->next < c->n_changed && (size_t)changed[w->next].id < w->from + w->n; w->next++)
		w->patched[(size_t)changed[w->next].id - w->from] = changed[w->next].logit;
	w->values = w->patched;
	return true;
}

typedef float lanes __attribute__((vector_size(16)));
typedef int32_t lane_masks __attribute__((vector_size(16)));

#define AT_ONCE 4 /* vectors: each has a largest value of its own */
#define STRIDE	(AT_ONCE * sizeof(lanes) / sizeof(float))

/* The largest of each lane of whole strides of X; *BAD: where there is a NaN. */
static lanes largest_lanes(const float *x, size_t n, lane_masks *bad)
{
	lanes most[AT_ONCE], v[AT_ONCE];

	for (int k = 0; k < AT_ONCE; k++)
		most[k] = (lanes){ 0 } - INFINITY;
	*bad = (lane_masks){ 0 };
	for (size_t i = 0; i + STRIDE <= n; i += STRIDE) {
		memcpy(v, x + i, sizeof(v));
		for (int k = 0; k < AT_ONCE; k++) {
			lane_masks more = v[k] > most[k];

			most[k] =
				(lanes)((more & (lane_masks)v[k]) | (~more & (lane_masks)most[k]));
			*bad |= v[k] != v[k];
		}
	}
	for (int k = 1; k < AT_ONCE; k++) {
		lane_masks more = most[k] > most[0];

		most[0] = (lanes)((more & (lane_masks)most[k]) | (~more & (lane_masks)most[0]));
	}
	return most[0];
}

/* The largest of N values; NaN where there is one among them. */
static float largest_of(const float *x, size_t n)
{
	lane_masks bad;
	lanes most = largest_lanes(x, n, &bad);
	float top = -INFINITY;
	int any = 0;

	for (size_t i = n / STRIDE * STRIDE; i < n; i++) {
		top = x[i] > top ? x[i] : top;
		any |= x[i] != x[i];
	}
	for (size_t k = 0; k < sizeof(lanes) / sizeof(float); k++) {
		top = most[k] > top ? most[k] : top;
		any |= bad[k];
	}
	return any ? NAN : top;
}

static size_t place_of(const float *x, float value)
{
	size_t i = 0;

	while (x[i] != value)
		i++;
	return i;
}

/* Names the first value of a block that is no logit. (What is changed hides none: NaN stays NaN, and less infinity it becomes one.) */
static int refuse(const struct walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (isnan(w->raw[i]))
			return err_set(ERR_ARGUMENT, "the logit of token %zu is not a number",
				       w->from + i);
		if (w->raw[i] == INFINITY)
			return err_set(ERR_ARGUMENT, "the logit of token %zu is infinite",
				       w->from + i);
	}
	return err_set(ERR_ARGUMENT, "a logit is not finite");
}

static int scan_whole(struct choice *c)
{
	struct sampler_room *r = c->room;
	size_t blocks = (c->sampler->vocabulary + SAMPLER_BLOCK - 1) / SAMPLER_BLOCK;
	struct walk w = walk_of(c);

	if (mem_grow(&r->tops, &r->tops_room, blocks, sizeof(*r->tops)) < 0)
		return -1;
	for (size_t b = 0; walk_on(&w); b++) {
		float top = largest_of(w.values, w.n);

		if (isnan(top) || top == INFINITY)
			return refuse(&w);
		r->tops[b] = top;
		if (top > c->top.logit)
			c->top = (struct candidate){ top,
						     (int32_t)(w.from + place_of(w.values, top)) };
	}
	return 0;
}

static void scan_list(struct choice *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->room->list[i].logit > c->top.logit)
			c->top = c->room->list[i];
}

int choice_scan(struct choice *c)
{
	if (c->scanned)
		return 0;
	c->top = (struct candidate){ -INFINITY, -1 };
	if (!c->listed && scan_whole(c) < 0)
		return -1;
	if (c->listed)
		scan_list(c);
	c->scanned = true;
	return c->top.id >= 0 ? 0
			      : err_set(ERR_MISSING, "no legal token: every one of them is banned");
}
