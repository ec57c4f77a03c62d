/*
 * lib/infer/sampler_mass.c - the fewest tokens that have a share together: top-p, typical
 *
 * Nothing is sorted: a cut goes through shares by ranges of a key, and looks ever closer at the one range that it is in.
 */

#include <math.h>

#include "lib/base/memory.h"
#include "lib/infer/sampler_parts.h"

#define RANGES 256

/* Candidates by key: in [from, to] lies the one that the cut is behind; those before have the share `before`. */
struct cut {
	double from, to, before, wanted;
};

static size_t range_of(const struct cut *cut, double key)
{
	double at = (key - cut->from) / (cut->to - cut->from) * RANGES;

	return at < RANGES ? (size_t)at : RANGES - 1;
}

/*
 * Cuts the range to that part of it where the sum of shares reaches what is wanted, or to the last, where rounding left it below: to the least
 * and the largest key there. The two ends lie in different parts, so the range always gets smaller.
 */
static void narrow(struct cut *cut, const double *keys, const double *shares, size_t n)
{
	double sums[RANGES] = { 0 }, least[RANGES], most[RANGES];
	size_t last = 0, part = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k;

		if (keys[i] < cut->from || keys[i] > cut->to)
			continue;
		k = range_of(cut, keys[i]);
		if (sums[k] == 0 || keys[i] < least[k])
			least[k] = keys[i];
		if (sums[k] == 0 || keys[i] > most[k])
			most[k] = keys[i];
		sums[k] += shares[i];
		last = k > last ? k : last;
	}
	for (; part < last && cut->before + sums[part] < cut->wanted; part++)
		cut->before += sums[part];
	cut->from = least[part];
	cut->to = most[part];
}

/* Leaves what is before the cut, and of those that have its key the first until the share is reached. */
static void keep_before(struct choice *c, struct cut cut)
{
	struct sampler_room *r = c->room;
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (r->keys[i] > cut.from)
			continue;
		if (r->keys[i] == cut.from) {
			if (cut.before >= cut.wanted)
				continue;
			cut.before += r->shares[i];
		}
		r->list[kept++] = r->list[i];
	}
	c->n = kept;
}

/* Leaves the fewest with the smallest keys, of equal ones the lower ids first, whose shares reach P of SUM. */
static int keep_mass(struct choice *c, double p, double sum)
{
	struct sampler_room *r = c->room;
	struct cut cut = { .wanted = p * sum, .from = INFINITY, .to = -INFINITY };

	for (size_t i = 0; i < c->n; i++) {
		cut.from = r->keys[i] < cut.from ? r->keys[i] : cut.from;
		cut.to = r->keys[i] > cut.to ? r->keys[i] : cut.to;
	}
	while (cut.from < cut.to)
		narrow(&cut, r->keys, r->shares, c->n);
	keep_before(c, cut);
	c->scanned = false;
	return 0;
}

static int make_keys(struct choice *c)
{
	struct sampler_room *r = c->room;

	return mem_grow(&r->keys, &r->keys_room, c->n, sizeof(*r->keys));
}

/*
 * All tokens whose share is at most (1 - P) SUM / N have (1 - P) SUM together at most: what is left reaches P without them. The largest
 * such logit, and a little less.
 */
static double tail_of(const struct choice *c, double p, double sum)
{
	return (double)c->top.logit +
	       c->t * log(0.999 * (1 - p) * sum / (double)c->sampler->vocabulary);
}

int choice_top_p(struct choice *c, double p)
{
	struct sampler_room *r = c->room;
	double sum, of_list;

	if (choice_scan(c) < 0)
		return -1;
	if (c->listed) {
		if (choice_weigh_list(c, &sum) < 0)
			return -1;
	} else if (choice_weigh_whole(c, &sum, NULL) < 0 ||
		   choice_keep_from(c, tail_of(c, p, sum)) < 0 ||
		   choice_weigh_list(c, &of_list) < 0) {
		return -1;
	}
	if (make_keys(c) < 0)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		r->keys[i] = (double)c->top.logit - (double)r->list[i].logit;
	return keep_mass(c, p, sum);
}

/* The mean of how far below the largest the list's tokens are. */
static double fall_of(const struct choice *c, double sum)
{
	const struct sampler_room *r = c->room;
	double fall = 0;

	for (size_t i = 0; i < c->n; i++)
		fall += r->shares[i] * (((double)c->top.logit - (double)r->list[i].logit) / c->t);
	return fall / sum;
}

/*
 * Of the whole: what top-p would keep reaches P; so do all tokens whose information is as near to the entropy as that of the farthest
 * of these. On the side of the improbable ones that is a logit.
 */
static double far_side(const struct choice *c, double p, double sum, double fall)
{
	double top = (double)c->top.logit, tail = (top - tail_of(c, p, sum)) / c->t;
	double far = fabs(tail - fall) > fall ? fabs(tail - fall) : fall;

	return top - c->t * (fall + far);
}

/*
 * The information of a token is the negative logarithm of its probability; the entropy is its mean. Both less the logarithm of the sum: how far
 * a token is below the largest, and the mean of that.
 */
int choice_typical(struct choice *c, double p)
{
	struct sampler_room *r = c->room;
	double sum, of_list, fall;

	if (choice_scan(c) < 0)
		return -1;
	if (c->listed) {
		if (choice_weigh_list(c, &sum) < 0)
			return -1;
		fall = fall_of(c, sum);
	} else if (choice_weigh_whole(c, &sum, &fall) < 0 ||
		   choice_keep_from(c, far_side(c, p, sum, fall)) < 0 ||
		   choice_weigh_list(c, &of_list) < 0) {
		return -1;
	}
	if (make_keys(c) < 0)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		r->keys[i] = fabs(((double)c->top.logit - (double)r->list[i].logit) / c->t - fall);
	return keep_mass(c, p, sum);
}
