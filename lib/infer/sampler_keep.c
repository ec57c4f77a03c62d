/* lib/infer/sampler_keep.c - what is left of the set by the values of logits: from a value on, the K largest; and how far they spread */

#include <math.h>

#include "lib/base/memory.h"
#include "lib/infer/sampler_parts.h"

/* --- cutting --- */

static int list_from(struct choice *c, double least)
{
	struct sampler_room *r = c->room;
	struct walk w = walk_of(c);

	c->n = 0;
	for (size_t b = 0; walk_on(&w); b++) {
		if ((double)r->tops[b] < least || r->tops[b] == -INFINITY)
			continue;
		if (mem_grow(&r->list, &r->list_room, c->n + w.n, sizeof(*r->list)) < 0)
			return -1;
		for (size_t i = 0; i < w.n; i++)
			if ((double)w.values[i] >= least && w.values[i] > -INFINITY)
				r->list[c->n++] =
					(struct candidate){ w.values[i], (int32_t)(w.from + i) };
	}
	c->listed = true;
	return 0;
}

int choice_keep_from(struct choice *c, double least)
{
	struct candidate *list = c->room->list;
	size_t kept = 0;

	if (choice_scan(c) < 0)
		return -1;
	if (!c->listed)
		return list_from(c, least);
	for (size_t i = 0; i < c->n; i++)
		if ((double)list[i].logit >= least)
			list[kept++] = list[i];
	c->n = kept;
	return 0;
}

int choice_list(struct choice *c)
{
	if (choice_scan(c) < 0)
		return -1;
	return choice_keep_from(c, (double)c->top.logit + SAMPLER_SHARE_LN * c->t);
}

/* --- the K largest --- */

static void swap(float *a, float *b)
{
	float t = *a;

	*a = *b;
	*b = t;
}

/* The K-th largest of N, K from 1 on; the K - 1 larger ones stand before it then (Hoare's selection; the pivot is the middle of three). */
static float select_largest(float *x, size_t n, size_t k)
{
	size_t low = 0, high = n;

	while (high - low > 1) {
		size_t i = low, j = high - 1, middle = low + (high - low) / 2;
		float pivot;

		if (x[middle] > x[low])
			swap(x + middle, x + low);
		if (x[j] > x[low])
			swap(x + j, x + low);
		if (x[j] > x[middle])
			swap(x + j, x + middle);
		pivot = x[middle];
		for (;;) {
			while (x[i] > pivot)
				i++;
			while (x[j] < pivot)
				j--;
			if (i >= j)
				break;
			swap(x + i++, x + j--);
		}
		/* Where they met stands the pivot, in its place; where they crossed the halves touch. */
		if (i == j && k - 1 == j)
			break;
		if (k - 1 < i)
			high = i;
		else
			low = i == j ? i + 1 : i;
	}
	return x[k - 1];
}

/* Values of at most twice K tokens, among them the K largest: what is below the K-th so far never comes in. How many. */
static size_t gather_whole(struct choice *c, size_t k, size_t room)
{
	struct sampler_room *r = c->room;
	struct walk w = walk_of(c);
	float least = -INFINITY;
	size_t n = 0;

	for (size_t b = 0; walk_on(&w); b++) {
		if (r->tops[b] <= least)
			continue;
		for (size_t i = 0; i < w.n; i++) {
			if (w.values[i] <= least)
				continue;
			r->values[n++] = w.values[i];
			if (n == room) {
				least = select_largest(r->values, n, k);
				n = k;
			}
		}
	}
	return n;
}

static size_t gather_list(struct choice *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->room->values[i] = c->room->list[i].logit;
	return c->n;
}

/* Of those that are LEAST, the last ones go until K are left. */
static void drop_ties(struct choice *c, size_t k, float least)
{
	struct candidate *list = c->room->list;
	size_t kept = 0, above = 0, ties;

	for (size_t i = 0; i < c->n; i++)
		above += list[i].logit > least;
	ties = k - above;
	for (size_t i = 0; i < c->n; i++) {
		bool tie = list[i].logit == least;

		if (tie && ties == 0)
			continue;
		ties -= tie;
		list[kept++] = list[i];
	}
	c->n = kept;
}

int choice_keep_largest(struct choice *c, size_t k)
{
	size_t most = c->listed ? c->n : c->sampler->vocabulary, n;
	struct sampler_room *r = c->room;
	size_t room = k < most / 2 ? 2 * k + SAMPLER_BLOCK : most + 1;
	float least;

	if (k >= most)
		return 0;
	if (choice_scan(c) < 0 ||
	    mem_grow(&r->values, &r->values_room, c->listed ? most : room, sizeof(*r->values)) < 0)
		return -1;
	n = c->listed ? gather_list(c) : gather_whole(c, k, room);
	if (n < k)
		return choice_keep_from(c, -INFINITY);
	least = select_largest(r->values, n, k);
	if (choice_keep_from(c, (double)least) < 0)
		return -1;
	if (c->n > k)
		drop_ties(c, k, least);
	return 0;
}

/* --- spread --- */

static void add_values(const float *x, size_t n, double mean, double *sum, size_t *count)
{
	double part = 0;

	for (size_t i = 0; i < n; i++)
		if (x[i] > -INFINITY) {
			double d = (double)x[i] - mean;

			part += isnan(mean) ? (double)x[i] : d * d;
			++*count;
		}
	*sum += part;
}

/* The mean of all that is left, or, around a MEAN that is a number, of the squares. */
static double average(const struct choice *c, double mean)
{
	double sum = 0;
	size_t count = 0;
	struct walk w;

	if (c->listed) {
		for (size_t i = 0; i < c->n; i++)
			add_values(&c->room->list[i].logit, 1, mean, &sum, &count);
		return sum / (double)count;
	}
	w = walk_of(c);
	while (walk_on(&w))
		add_values(w.values, w.n, mean, &sum, &count);
	return sum / (double)count;
}

int choice_deviation(struct choice *c, double *out)
{
	if (choice_scan(c) < 0)
		return -1;
	*out = sqrt(average(c, average(c, NAN)));
	return 0;
}
