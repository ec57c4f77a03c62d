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
		int32_t id = sampler_pick(s, logits, NULL, 0, i);

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

/* Each cut is of what the ones before left; where the temperature stands is what the order says (cases, L02). */
static void test_order(void)
{
	static const char *const first[] = { "temperature", "top-p" };
	struct sampler_options o = plain;

	/* Of top-k 3 (0.4 0.25 0.2 of 0.85) the first two are 0.765: enough for 0.75; of all they would be 0.65. */
	o.top_k = 3;
	o.top_p = 0.75;
	check(&o, (const double[]){ 0, 0.4 / 0.65, 0, 0.25 / 0.65, 0 }, "top-k, then top-p");
	/* At temperature 0.5 the first has 0.58: enough for 0.55; at 1 it needs a second, and 16 to 6.25 are drawn. */
	o = plain;
	o.temperature = 0.5;
	o.top_p = 0.55;
	check(&o, (const double[]){ 0, 16 / 22.25, 0, 6.25 / 22.25, 0 }, "top-p, then temperature");
	tap_works(sampler_set_order(&o, first, 2), "another order");
	check(&o, (const double[]){ 0, 1, 0, 0, 0 }, "temperature, then top-p");
}

/* Cases, L02: logits 2, 1, 0, -1 at temperature 0.5 and top-p 0.7. Shares of which .6439 .2369 are at 1, .8650 at 0.5. */
static void test_order_of_the_case(void)
{
	static const char *const first[] = { "temperature", "top-p" };
	static const float logits[4] = { 2, 1, 0, -1 };
	struct sampler_options o = plain;
	size_t seen[4] = { 0 };
	struct sampler *s;

	o.temperature = 0.5;
	o.top_p = 0.7;
	s = make(&o, 4);
	for (uint64_t i = 0; i < 2000; i++)
		seen[sampler_pick(s, logits, NULL, 0, i)]++;
	tap_ok(seen[0] > 1600 && seen[1] > 150 && seen[2] + seen[3] == 0,
	       "temperature last: {0, 1}: %zu %zu %zu %zu", seen[0], seen[1], seen[2], seen[3]);
	sampler_free(s);
	tap_works(sampler_set_order(&o, first, 2), "temperature first");
	s = make(&o, 4);
	seen[0] = 0;
	for (uint64_t i = 0; i < 2000; i++)
		seen[0] += sampler_pick(s, logits, NULL, 0, i) == 0;
	tap_is_u64(seen[0], 2000, "temperature first: {0}");
	sampler_free(s);
}

/* L03: top-k 0 is no cut, and not a cut to one or none. */
static void test_top_k_off(void)
{
	struct sampler_options o = plain;

	o.top_k = 0;
	check(&o, shares, "top-k 0");
	o.top_k = 5;
	check(&o, shares, "top-k of all");
	o.top_k = 9;
	check(&o, shares, "top-k of more than there are");
}

static void test_greedy(void)
{
	struct sampler_options o = plain;
	struct sampler *s;
	const float ties[4] = { 1, 3, 3, 2 }, one[3] = { -INFINITY, -5, -INFINITY };
	const float bad[3] = { 1, NAN, 2 }, none[2] = { -INFINITY, -INFINITY };

	o.temperature = 0;
	s = make(&o, 4);
	tap_is_i64(sampler_pick(s, ties, NULL, 0, 9), 1, "of equal logits the first");
	sampler_free(s);
	s = make(&o, 3);
	tap_is_i64(sampler_pick(s, one, NULL, 0, 0), 1, "the only one that is finite");
	tap_fails(sampler_pick(s, bad, NULL, 0, 0), ERR_ARGUMENT,
		  "the logit of token 1 is not a number", "NaN is refused");
	sampler_free(s);
	o.temperature = 1;
	s = make(&o, 2);
	tap_fails(sampler_pick(s, none, NULL, 0, 0), ERR_MISSING, "no legal token",
		  "nothing to draw");
	sampler_free(s);
	s = make(&o, 3);
	tap_is_i64(sampler_pick(s, one, NULL, 0, 4), 1, "what has no share is never drawn");
	sampler_free(s);
	o.top_k = 1;
	s = make(&o, 4);
	tap_is_i64(sampler_pick(s, ties, NULL, 0, 7), 1, "top-k 1 takes the first of equals");
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
		int32_t x = sampler_pick(a, logits, NULL, 0, i);

		sampler_pick(b, logits, NULL, 0, 1000 + i);
		same += x == sampler_pick(b, logits, NULL, 0, i);
		other += x == sampler_pick(c, logits, NULL, 0, i);
	}
	tap_is_u64(same, 100, "the same place, the same token");
	tap_ok(other < 60, "another seed, other tokens: %zu of 100 alike", other);
	sampler_free(a);
	sampler_free(b);
	sampler_free(c);
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
	tap_run(test_order_of_the_case);
	tap_run(test_top_k_off);
	tap_run(test_refused);
	return tap_done();
}
