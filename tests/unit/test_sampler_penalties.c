/*
 * tests/unit/test_sampler_penalties.c - biases, penalties and DRY: which logit a token has after them
 *
 * A token's logit is found by what it wins and loses against: a token beside it that never came. Numbers are worked out by hand.
 */
#include <math.h>

#include "lib/base/err.h"
#include "lib/infer/sampler.h"
#include "tests/tap.h"

enum { DRAWS = 40000, MOST = 16 };

static const struct sampler_options plain = { .temperature = 1, .top_p = 1, .seed = 5 };

/* All but ID are banned; what comes beside it is the token N. */
static double seen_logit(struct sampler_options o, const float *logits, size_t n, int32_t id,
			 const int32_t *history, size_t n_history)
{
	double low = -100, high = 100;
	struct logit_bias bias[MOST];

	for (size_t i = 0; i < n; i++)
		bias[i] = (struct logit_bias){ (int32_t)i, (int32_t)i == id ? 0 : -INFINITY };
	o.temperature = 0;
	o.bias = bias;
	o.n_bias = n;
	for (int step = 0; step < 50; step++) {
		double middle = (low + high) / 2;
		struct sampler *s = NULL;
		float with[MOST + 1];

		for (size_t i = 0; i < n; i++)
			with[i] = logits[i];
		with[n] = (float)middle;
		if (sampler_new(&s, &o, n + 1) < 0)
			return NAN;
		if (sampler_pick(s, with, history, n_history, 0) == id)
			low = middle;
		else
			high = middle;
		sampler_free(s);
	}
	return low;
}

static void logit_is(const struct sampler_options *o, const float *logits, size_t n, int32_t id,
		     const int32_t *history, size_t n_history, double want, const char *what)
{
	double got = seen_logit(*o, logits, n, id, history, n_history);

	tap_ok(fabs(got - want) < 1e-5, "%s: token %d has %.6f, wanted %.6f", what, (int)id, got,
	       want);
}

/* Cases, L05: seen tokens lose, whichever sign. L06: the repetition penalty once, frequency each time, presence once. */
static void test_penalties(void)
{
	static const float two[2] = { 2, -2 };
	static const int32_t both[] = { 0, 1 }, thrice[] = { 0, 0, 1, 0 };
	struct sampler_options o = plain;

	o.repetition_penalty = 1.5;
	logit_is(&o, two, 2, 0, both, 2, 4.0 / 3, "repetition 1.5");
	logit_is(&o, two, 2, 1, both, 2, -3, "repetition 1.5");
	logit_is(&o, two, 2, 0, thrice, 4, 4.0 / 3, "three times, punished once");
	o.penalty_last = 1;
	logit_is(&o, two, 2, 1, thrice, 4, -2, "longer ago than is looked at");
	o = plain;
	o.frequency_penalty = 0.25;
	logit_is(&o, two, 2, 0, thrice, 4, 2 - 0.75, "frequency 0.25, three times");
	o.presence_penalty = 0.5;
	logit_is(&o, two, 2, 0, thrice, 4, 2 - 0.75 - 0.5, "and presence 0.5, once");
	o.repetition_penalty = 2;
	logit_is(&o, two, 2, 1, thrice, 4, -4 - 0.25 - 0.5, "and repetition 2");
	logit_is(&o, two, 2, 0, NULL, 0, 2, "no history, no penalty");
}

/* How often token 0 is drawn is SHARE. */
static void share_is(const struct sampler_options *o, const float *logits, size_t n, double share,
		     const char *what)
{
	static const int32_t zero[] = { 0 };
	struct sampler *s = NULL;
	size_t seen = 0;

	if (!tap_works(sampler_new(&s, o, n), "%s", what))
		return;
	for (uint64_t i = 0; i < DRAWS; i++)
		seen += sampler_pick(s, logits, zero, 1, i) == 0;
	tap_ok(fabs((double)seen / DRAWS - share) <= 5 * sqrt(share * (1 - share) / DRAWS),
	       "%s: %zu of %d, a share of %.3f wanted", what, seen, DRAWS, share);
	sampler_free(s);
}

/* Of 2 and 1 at temperature 0.5: (2 - 1) / 0.5 and 1 / 0.5 are equal; 2 / 0.5 - 1 is 3, the other 2. */
static void test_places(void)
{
	static const char *const after[] = { "temperature", "penalties" };
	static const char *const cut_first[] = { "top-k", "penalties", "temperature" };
	static const float logits[3] = { 2, 1, 1.5 };
	struct sampler_options o = plain;

	o.temperature = 0.5;
	o.presence_penalty = 1;
	share_is(&o, logits, 2, 0.5, "penalties, then temperature");
	sampler_set_order(&o, after, 2);
	share_is(&o, logits, 2, exp(1) / (exp(1) + 1), "temperature, then penalties");
	/* The two largest are 2 and 1.5, and then 1 and 1.5; after the penalty the two largest are 1.5 and one of the equal ones. */
	sampler_set_order(&o, cut_first, 3);
	o.top_k = 2;
	share_is(&o, logits, 3, exp(2) / (exp(2) + exp(3)), "top-k, then penalties");
	o.n_order = 0;
	o.top_k = 1;
	share_is(&o, logits, 3, 0, "penalties, then top-k");
}

static void test_bias(void)
{
	const float logits[4] = { 1, 3, 3, 2 };
	struct logit_bias bias[] = { { 3, 0.75f }, { 1, -INFINITY }, { 3, 0.5f }, { 2, 0 } };
	struct sampler_options o = plain;
	struct sampler *s;

	o.temperature = 0;
	o.bias = bias;
	for (o.n_bias = 2; o.n_bias <= 4; o.n_bias += 2) {
		if (!tap_works(sampler_new(&s, &o, 4), "%zu biases", o.n_bias))
			return;
		tap_is_i64(sampler_pick(s, logits, NULL, 0, 0), o.n_bias == 2 ? 2 : 3, "%zu biases",
			   o.n_bias);
		sampler_free(s);
	}
}

/* Cases, L08 and L09: nothing is left; and no ban hides a NaN. */
static void test_bans(void)
{
	const float logits[3] = { 1, 3, 2 }, nan[3] = { 1, NAN, 2 }, inf[3] = { 1, 2, INFINITY };
	struct logit_bias all[] = { { 0, -INFINITY }, { 1, -INFINITY }, { 2, -INFINITY } };
	struct sampler_options o = plain;
	struct sampler *s;

	o.bias = all;
	o.n_bias = 3;
	for (int i = 0; i < 2; i++) {
		o.temperature = i;
		if (!tap_works(sampler_new(&s, &o, 3), "temperature %d", i))
			return;
		tap_fails(sampler_pick(s, logits, NULL, 0, 0), ERR_MISSING, "no legal token",
			  "all banned, temperature %d", i);
		tap_fails(sampler_pick(s, nan, NULL, 0, 0), ERR_ARGUMENT,
			  "the logit of token 1 is not a number", "NaN, though banned");
		tap_fails(sampler_pick(s, inf, NULL, 0, 0), ERR_ARGUMENT,
			  "the logit of token 2 is infinite", "infinite, though banned");
		sampler_free(s);
	}
}

static void test_dry(void)
{
	static const float logits[8] = { 0 };
	static const int32_t seven[] = { 1, 2, 3, 4, 1, 2, 3 };
	static const int32_t ones[] = { 1, 1, 1, 1, 1 };
	static const int32_t ten[] = { 5, 1, 2, 6, 1, 2, 7, 5, 1, 2 };
	struct sampler_options o = plain;

	o.dry_multiplier = 0.5;
	o.dry_base = 2;
	o.dry_allowed = 2;
	logit_is(&o, logits, 8, 4, seven, 7, -1, "0.5 * 2^(3 - 2)");
	logit_is(&o, logits, 8, 1, seven, 7, 0, "another token goes on nothing");
	o.dry_allowed = 4;
	logit_is(&o, logits, 8, 4, seven, 7, 0, "three are allowed");
	o.dry_allowed = 1;
	logit_is(&o, logits, 8, 1, ones, 5, -4, "a run of five: 0.5 * 2^(4 - 1)");
	logit_is(&o, logits, 8, 6, ten, 10, -2, "after the same three");
	logit_is(&o, logits, 8, 7, ten, 10, -1, "after the same two");
	o.dry_last = 8;
	logit_is(&o, logits, 8, 6, ten, 10, -0.5, "of the three but one is looked at");
	o.dry_last = 0;
	o.breakers = (const int32_t[]){ 2, 100, -1 };
	o.n_breakers = 3;
	logit_is(&o, logits, 8, 4, seven, 7, -0.5, "a breaker among them: one is left");
	o.breakers = (const int32_t[]){ 4 };
	o.n_breakers = 1;
	logit_is(&o, logits, 8, 4, seven, 7, 0, "a breaker is never punished");
	o.breakers = (const int32_t[]){ 3 };
	logit_is(&o, logits, 8, 4, seven, 7, 0, "nothing goes on behind a breaker");
}

/* By trying every place, as DRY was first written. */
static size_t longest_before(const int32_t *ids, size_t n, int32_t next)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++) {
		size_t k = 0;

		while (k < i && ids[i - 1 - k] == ids[n - 1 - k])
			k++;
		if (ids[i] == next && k > best)
			best = k;
	}
	return best;
}

static void test_dry_all(void)
{
	static const float logits[3] = { 0 };
	int32_t ids[12];
	size_t wrong = 0;

	for (unsigned code = 0; code < 531441; code += 997) {
		struct sampler_options o = {
			.top_p = 1, .dry_multiplier = 1, .dry_base = 1.25, .dry_allowed = 1
		};
		unsigned rest = code;

		for (size_t i = 0; i < 12; i++, rest /= 3)
			ids[i] = (int32_t)(rest % 3);
		for (int32_t id = 0; id < 3; id++) {
			size_t length = longest_before(ids, 12, id);
			double want = length ? -pow(1.25, (double)length - 1) : 0;

			wrong += fabs(seen_logit(o, logits, 3, id, ids, 12) - want) > 1e-5;
		}
	}
	tap_is_u64(wrong, 0, "every token after histories of twelve");
}

int main(void)
{
	tap_run(test_penalties);
	tap_run(test_places);
	tap_run(test_bias);
	tap_run(test_bans);
	tap_run(test_dry);
	tap_run(test_dry_all);
	return tap_done();
}
