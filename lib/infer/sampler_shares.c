/* lib/infer/sampler_shares.c - shares of what is left, and the draw */

#include <math.h>

#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "lib/infer/sampler_parts.h"

#define SCOPE "sampler"

/* In four sums, which do not wait for one another. */
static double sum_of(const double *x, size_t n)
{
	double sums[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			sums[k] += x[i + k];
	for (; i < n; i++)
		sums[0] += x[i];
	return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static size_t block_at(size_t n, size_t from)
{
	return n - from < SAMPLER_BLOCK ? n - from : SAMPLER_BLOCK;
}

/* --- of the whole, block by block --- */

/* Nothing in block B has a share. */
static bool is_empty(const struct choice *c, size_t b)
{
	return (double)c->room->tops[b] < (double)c->top.logit + SAMPLER_SHARE_LN * c->t;
}

/* How far tokens are below TOP, each as its share is. */
static double fall_of(const float *logits, double *shares, size_t n, double top)
{
	for (size_t i = 0; i < n; i++)
		if (shares[i] > 0)
			shares[i] *= top - (double)logits[i];
	return sum_of(shares, n);
}

/* The sum of each block into `shares`, and of all. FALL, unless NULL: see the header. */
int choice_weigh_whole(struct choice *c, double *sum, double *fall)
{
	struct sampler_room *r = c->room;
	size_t blocks = (c->sampler->vocabulary + SAMPLER_BLOCK - 1) / SAMPLER_BLOCK;
	struct walk w = walk_of(c);
	double shares[SAMPLER_BLOCK], top = (double)c->top.logit, falls = 0;

	if (mem_grow(&r->shares, &r->shares_room, blocks, sizeof(*r->shares)) < 0)
		return -1;
	*sum = 0;
	for (size_t b = 0; walk_on(&w); b++) {
		r->shares[b] = 0;
		if (is_empty(c, b))
			continue;
		sampler_shares(w.values, w.n, top, c->t, shares);
		r->shares[b] = sum_of(shares, w.n);
		*sum += r->shares[b];
		if (fall)
			falls += fall_of(w.values, shares, w.n, top);
	}
	if (fall)
		*fall = falls / c->t / *sum;
	return 0;
}

/* The token whose part of all shares AT falls into. */
static int32_t find_in_whole(const struct choice *c, double at)
{
	struct walk w = walk_of(c);
	double shares[SAMPLER_BLOCK];
	int32_t last = c->top.id;

	for (size_t b = 0; walk_on(&w); b++) {
		if (at >= c->room->shares[b] && w.from + w.n < c->sampler->vocabulary) {
			at -= c->room->shares[b];
			continue;
		}
		sampler_shares(w.values, w.n, (double)c->top.logit, c->t, shares);
		for (size_t i = 0; i < w.n; i++) {
			if (shares[i] == 0)
				continue;
			last = (int32_t)(w.from + i);
			if (at < shares[i])
				return last;
			at -= shares[i];
		}
	}
	return last;
}

/* --- of the list --- */

int choice_weigh_list(struct choice *c, double *sum)
{
	struct sampler_room *r = c->room;
	float logits[SAMPLER_BLOCK];

	if (choice_list(c) < 0 ||
	    mem_grow(&r->shares, &r->shares_room, c->n, sizeof(*r->shares)) < 0)
		return -1;
	*sum = 0;
	for (size_t from = 0; from < c->n; from += SAMPLER_BLOCK) {
		size_t n = block_at(c->n, from);

		for (size_t i = 0; i < n; i++)
			logits[i] = r->list[from + i].logit;
		sampler_shares(logits, n, (double)c->top.logit, c->t, r->shares + from);
		*sum += sum_of(r->shares + from, n);
	}
	return 0;
}

static int32_t find_in_list(const struct choice *c, double at)
{
	const double *shares = c->room->shares;
	size_t i = 0;

	while (i + 1 < c->n && at >= shares[i])
		at -= shares[i++];
	return c->room->list[i].id;
}

/* --- the draw --- */

int32_t choice_draw(struct choice *c, uint64_t place)
{
	const struct sampler_options *o = &c->sampler->options;
	struct random_stream stream =
		random_at(o->seed, o->sample, hash_short(SCOPE, sizeof(SCOPE) - 1, 0));
	double at = random_uniform53(&stream, place, 0), sum;

	if (choice_scan(c) < 0 ||
	    (c->listed ? choice_weigh_list(c, &sum) : choice_weigh_whole(c, &sum, NULL)) < 0)
		return -1;
	return c->listed ? find_in_list(c, at * sum) : find_in_whole(c, at * sum);
}
