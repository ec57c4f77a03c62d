/*
 * lib/infer/sampler.c - a token from logits
 *
 * Probabilities are doubles. Candidates are sorted by logit, of equal ones the lower id first, so that a filter cuts them at a place;
 * only where top-k says how many are left are no more than those sorted.
 */

#include "lib/infer/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"

#define SCOPE "sampler"

struct candidate {
	float logit;
	int32_t id;
};

struct sampler {
	struct sampler_options options;
	size_t vocabulary;
	struct random_stream stream;
	struct candidate *candidates; /* owned */
	double *shares;		      /* owned: not normalised */
};

int sampler_new(struct sampler **out, const struct sampler_options *o, size_t vocabulary)
{
	struct sampler *s;

	*out = NULL;
	if (!(o->temperature >= 0) || !isfinite(o->temperature))
		return err_set(ERR_ARGUMENT, "a temperature of %g", o->temperature);
	if (!(o->top_p > 0 && o->top_p <= 1) || !(o->min_p >= 0 && o->min_p <= 1))
		return err_set(ERR_ARGUMENT,
			       "top-p %g, min-p %g: top-p is above 0 and at most 1, min-p 0 to 1",
			       o->top_p, o->min_p);
	if (vocabulary == 0 || vocabulary > INT32_MAX)
		return err_set(ERR_ARGUMENT, "a vocabulary of %zu", vocabulary);
	s = mem_new(1, sizeof(*s));
	if (!s)
		return -1;
	s->options = *o;
	s->vocabulary = vocabulary;
	s->stream = random_at(o->seed, 0, hash_short(SCOPE, sizeof(SCOPE) - 1, 0));
	s->candidates = mem_new(vocabulary, sizeof(*s->candidates));
	s->shares = mem_new(vocabulary, sizeof(*s->shares));
	if (!s->candidates || !s->shares) {
		sampler_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	free(s->candidates);
	free(s->shares);
	free(s);
}

/* The largest, of equal ones the first; -1 with the error set. */
static int32_t largest(const float *logits, size_t n)
{
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(logits[i]))
			return (int32_t)err_set(ERR_ARGUMENT,
						"the logit of token %zu is not a number", i);
		if (logits[i] > logits[best])
			best = i;
	}
	if (!isfinite(logits[best]))
		return (int32_t)err_set(ERR_ARGUMENT, "no logit is finite");
	return (int32_t)best;
}

/* --- the best candidates first --- */

static bool before(struct candidate a, struct candidate b)
{
	return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* qsort's order. */
static int by_logit(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return before(*x, *y) ? -1 : before(*y, *x) ? 1 : 0;
}

static void swap(struct candidate *a, struct candidate *b)
{
	struct candidate t = *a;

	*a = *b;
	*b = t;
}

/* Moves the K that come first of N to the front, in any order (Hoare's selection; the pivot is the middle of three). */
static void select_first(struct candidate *c, size_t n, size_t k)
{
	size_t low = 0, high = n;

	while (high - low > 1 && k > low && k < high) {
		size_t middle = low + (high - low) / 2, i = low, j = high - 1;
		struct candidate pivot;

		if (before(c[middle], c[low]))
			swap(c + middle, c + low);
		if (before(c[high - 1], c[low]))
			swap(c + high - 1, c + low);
		if (before(c[high - 1], c[middle]))
			swap(c + high - 1, c + middle);
		pivot = c[middle];
		for (;;) {
			while (before(c[i], pivot))
				i++;
			while (before(pivot, c[j]))
				j--;
			if (i >= j)
				break;
			swap(c + i++, c + j--);
		}
		/* Where they met stands the pivot, in its place; where they crossed the halves touch. */
		middle = i == j ? j : j + 1;
		if (k <= middle)
			high = middle;
		else
			low = i == j ? j + 1 : middle;
	}
}

/* The candidates that top-k leaves, sorted; how many. */
static size_t sorted(struct sampler *s, const float *logits)
{
	size_t n = s->vocabulary, k = s->options.top_k;

	for (size_t i = 0; i < n; i++)
		s->candidates[i] = (struct candidate){ logits[i], (int32_t)i };
	if (k == 0 || k >= n)
		k = n;
	else
		select_first(s->candidates, n, k);
	qsort(s->candidates, k, sizeof(*s->candidates), by_logit);
	return k;
}

/* --- probabilities --- */

/* Shares of the first N, of which the first has 1; their sum. */
static double weigh(struct sampler *s, size_t n)
{
	double top = (double)s->candidates[0].logit, sum = 0;

	for (size_t i = 0; i < n; i++) {
		s->shares[i] = exp(((double)s->candidates[i].logit - top) / s->options.temperature);
		sum += s->shares[i];
	}
	return sum;
}

/* How many of N are the fewest whose shares reach P of SUM; *SUM becomes theirs. */
static size_t cut_top_p(const struct sampler *s, size_t n, double p, double *sum)
{
	double reached = 0;

	for (size_t i = 0; i < n; i++) {
		reached += s->shares[i];
		if (reached >= p * *sum) {
			*sum = reached;
			return i + 1;
		}
	}
	return n;
}

/* Those that have at least MIN_P of the first one's share. */
static size_t cut_min_p(const struct sampler *s, size_t n, double min_p, double *sum)
{
	double kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (s->shares[i] < min_p * s->shares[0]) {
			*sum = kept;
			return i;
		}
		kept += s->shares[i];
	}
	return n;
}

static int32_t draw(const struct sampler *s, size_t n, double sum, uint64_t place)
{
	double at = random_uniform53(&s->stream, place, 0) * sum;

	for (size_t i = 0; i + 1 < n; i++) {
		if (at < s->shares[i])
			return s->candidates[i].id;
		at -= s->shares[i];
	}
	return s->candidates[n - 1].id;
}

int32_t sampler_pick(struct sampler *s, const float *logits, uint64_t place)
{
	const struct sampler_options *o = &s->options;
	int32_t best = largest(logits, s->vocabulary);
	size_t n;
	double sum;

	if (best < 0 || o->temperature == 0)
		return best;
	n = sorted(s, logits);
	sum = weigh(s, n);
	if (o->top_p < 1)
		n = cut_top_p(s, n, o->top_p, &sum);
	if (o->min_p > 0)
		n = cut_min_p(s, n, o->min_p, &sum);
	return draw(s, n, sum, place);
}
