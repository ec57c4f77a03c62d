/*
 * tests/unit/test_sampler.c - tokens from logits: which are left by each filter, and how often each is drawn
 *
 * Shares are worked out by hand from logits that are logarithms; frequencies are held to five deviations of the binomial.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/infer/sampler.h"
#include "tests/tap.h"

#define DRAWS 40000

/* Shares 0.1, 0.4, 0.05, 0.25, 0.2 of the tokens 0 to 4. */
static const double shares[] = { 0.1, 0.4, 0.05, 0.25, 0.2 };
enum { TOKENS = 5 };

static void logits_of(float out[TOKENS])
{
	for (size_t i = 0; i < TOKENS; i++)
		out[i] = (float)(log(shares[i]) + 3);
}

static const struct sampler_options plain = { .temperature = 1, .top_p = 1, .seed = 5 };

static struct sampler *make(const struct sampler_options *o, size_t n)
{
	struct sampler *s = NULL;

	tap_works(sampler_new(&s, o, n), "a sampler of %zu", n);
	return s;
}

/* Draws at places 0 to DRAWS - 1 have the shares WANT. */
static void check(const struct sampler_options *o, const double want[TOKENS], const char *what)
{
	struct sampler *s = make(o, TOKENS);
	size_t seen[TOKENS] = { 0 }, bad = 0;
	float logits[TOKENS];

	logits_of(logits);
	for (size_t i = 0; s && i < DRAWS; i++) {
		int32_t id = sampler_pick(s, logits, i);

		if (id < 0 || id >= TOKENS)
			bad++;
		else
			seen[id]++;
	}
	tap_is_u64(bad, 0, "%s: every draw is a token", what);
	for (size_t i = 0; i < TOKENS; i++) {
		double mean = DRAWS * want[i], bound = 5 * sqrt(mean * (1 - want[i]));

		tap_ok(fabs((double)seen[i] - mean) <= bound,
		       "%s: token %zu %zu times, %.0f wanted", what, i, seen[i], mean);
	}
	sampler_free(s);
}

static void test_filters(void)
{
	struct sampler_options o = plain;

	check(&o, shares, "as they are");
	o.top_k = 2;
	check(&o, (const double[]){ 0, 0.4 / 0.65, 0, 0.25 / 0.65, 0 }, "top-k 2");
	o = plain;
	/* 0.4 and 0.25 are 0.65: a third is needed to reach 0.7, and all that is left sums to 0.85. */
	o.top_p = 0.7;
	check(&o, (const double[]){ 0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85 }, "top-p 0.7");
	o = plain;
	/* Half of 0.4 is 0.2, a hair above or below after logarithms: 0.49 leaves it. */
	o.min_p = 0.49;
	check(&o, (const double[]){ 0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85 }, "min-p 0.49");
	o = plain;
	o.temperature = 0.5; /* squares: 0.01 0.16 0.0025 0.0625 0.04, of 0.275 */
	check(&o,
	      (const double[]){ 0.01 / 0.275, 0.16 / 0.275, 0.0025 / 0.275, 0.0625 / 0.275,
				0.04 / 0.275 },
	      "temperature 0.5");
}

/* Each filter works on what the one before left, and the temperature is first. */
static void test_order(void)
{
	struct sampler_options o = plain;

	/* Of top-k 3 (0.4 0.25 0.2 of 0.85) the first two are 0.765: enough for 0.75; of all they would be 0.65. */
	o.top_k = 3;
	o.top_p = 0.75;
	check(&o, (const double[]){ 0, 0.4 / 0.65, 0, 0.25 / 0.65, 0 }, "top-k, then top-p");
	/* At temperature 0.5 the first has 0.58: enough for 0.55; at 1 it would need a second. */
	o = plain;
	o.temperature = 0.5;
	o.top_p = 0.55;
	check(&o, (const double[]){ 0, 1, 0, 0, 0 }, "temperature, then top-p");
}

static void test_greedy(void)
{
	struct sampler_options o = plain;
	struct sampler *s;
	const float ties[4] = { 1, 3, 3, 2 }, one[3] = { -INFINITY, -5, -INFINITY };
	const float bad[3] = { 1, NAN, 2 }, none[2] = { -INFINITY, -INFINITY };

	o.temperature = 0;
	s = make(&o, 4);
	tap_is_i64(sampler_pick(s, ties, 9), 1, "of equal logits the first");
	sampler_free(s);
	s = make(&o, 3);
	tap_is_i64(sampler_pick(s, one, 0), 1, "the only one that is finite");
	tap_fails(sampler_pick(s, bad, 0), ERR_ARGUMENT, "the logit of token 1 is not a number",
		  "NaN is refused");
	sampler_free(s);
	o.temperature = 1;
	s = make(&o, 2);
	tap_fails(sampler_pick(s, none, 0), ERR_ARGUMENT, "no logit is finite", "nothing to draw");
	sampler_free(s);
	s = make(&o, 3);
	tap_is_i64(sampler_pick(s, one, 4), 1, "what has no share is never drawn");
	sampler_free(s);
	o.top_k = 1;
	s = make(&o, 4);
	tap_is_i64(sampler_pick(s, ties, 7), 1, "top-k 1 takes the first of equals");
	sampler_free(s);
}

/* The draw goes by seed and place, not by what was drawn before. */
static void test_place(void)
{
	struct sampler_options o = plain;
	struct sampler *a = make(&o, TOKENS), *b = make(&o, TOKENS), *c;
	float logits[TOKENS];
	size_t same = 0, other = 0;

	logits_of(logits);
	o.seed = 6;
	c = make(&o, TOKENS);
	for (uint64_t i = 0; i < 100; i++) {
		int32_t x = sampler_pick(a, logits, i);

		sampler_pick(b, logits, 1000 + i);
		same += x == sampler_pick(b, logits, i);
		other += x == sampler_pick(c, logits, i);
	}
	tap_is_u64(same, 100, "the same place, the same token");
	tap_ok(other < 60, "another seed, other tokens: %zu of 100 alike", other);
	sampler_free(a);
	sampler_free(b);
	sampler_free(c);
}

/* The K best of many, with equal ones among them, are those that sorting gives. */
static void test_select(void)
{
	enum { MANY = 5000 };
	float *logits = malloc(MANY * sizeof(*logits));
	struct sampler_options o = plain;
	size_t wrong = 0;

	for (size_t i = 0; logits && i < MANY; i++)
		logits[i] = (float)(i * 7919 % 997); /* each value about five times */
	for (o.top_k = 1; logits && o.top_k <= 40; o.top_k++) {
		struct sampler *s = make(&o, MANY);
		float least = 996 - (float)((o.top_k - 1) / 5) - 1;

		for (uint64_t i = 0; i < 200; i++)
			wrong += logits[sampler_pick(s, logits, i)] < least;
		sampler_free(s);
	}
	tap_is_u64(wrong, 0, "no draw from below the best");
	free(logits);
}

static void test_refused(void)
{
	struct sampler *s;
	struct sampler_options o = plain;

	o.temperature = -1;
	tap_fails(sampler_new(&s, &o, 5), ERR_ARGUMENT, "a temperature of -1", "below 0");
	o = plain;
	o.top_p = 0;
	tap_fails(sampler_new(&s, &o, 5), ERR_ARGUMENT, "top-p 0", "nothing would be left");
	o = plain;
	o.min_p = 1.5;
	tap_fails(sampler_new(&s, &o, 5), ERR_ARGUMENT, "min-p 1.5", "above 1");
}

int main(void)
{
	tap_run(test_filters);
	tap_run(test_order);
	tap_run(test_greedy);
	tap_run(test_place);
	tap_run(test_select);
	tap_run(test_refused);
	return tap_done();
}
