/* tests/unit/test_logprobs.c - logarithms of probabilities computed by hand, order, ties, logits that overflow */

#include <math.h>

#include "lib/infer/logprobs.h"
#include "tests/tap.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

/* Shares of 1, 2, 4 and 1 in 8. */
static void test_by_hand(void)
{
	const float logits[] = { 0, 0.693147182f, 1.38629436f, 0 };
	const double sum = 1 + exp((double)logits[1]) + exp((double)logits[2]) + 1;
	struct logprob top[4];
	double own;

	logprobs(logits, 4, 3, top, 3, &own);
	tap_ok(near(own, -log(sum)) && fabs(own + log(8)) < 1e-7, "own: %.12f", own);
	tap_ok(top[0].id == 2 && near(top[0].value, (double)logits[2] - log(sum)), "a half first");
	tap_ok(top[1].id == 1 && fabs(top[1].value + log(4)) < 1e-7, "then a quarter");
	tap_ok(top[2].id == 0 && near(top[2].value, own), "of equal ones the lower id");
	logprobs(logits, 4, 4, top, 2, &own);
	tap_ok(top[3].id == 3 && near(own, top[0].value), "all of them");
	logprobs(logits, 4, 0, NULL, 1, &own);
	tap_ok(fabs(own + log(4)) < 1e-7, "none of them");
}

static void test_far(void)
{
	const float logits[] = { -INFINITY, 3e38f, 1, 3e38f, -3e38f };
	struct logprob top[5];
	double own;

	logprobs(logits, 5, 5, top, 0, &own);
	tap_ok(isinf(own) && own < 0, "no chance: %g", own);
	tap_ok(top[0].id == 1 && near(top[0].value, -log(2)), "half each: %g", top[0].value);
	tap_ok(top[1].id == 3 && near(top[1].value, -log(2)), "half each: %g", top[1].value);
	tap_ok(top[2].id == 2 && top[3].id == 4 && top[4].id == 0, "the others in their order");
}

/* Beside a search for the largest that are left, over a row with many ties. */
static void test_order(void)
{
	enum { N = 500, K = 40 };
	float logits[N];
	struct logprob top[K];
	double own;
	size_t bad = 0;

	for (int i = 0; i < N; i++)
		logits[i] = (float)(i * 7919 % 97) / 16;
	logprobs(logits, N, K, top, 0, &own);
	for (int k = 0; k < K; k++) {
		int best = -1;

		for (int i = 0; i < N; i++)
			if (!isnan(logits[i]) && (best < 0 || logits[i] > logits[best]))
				best = i;
		bad += top[k].id != best;
		logits[best] = NAN;
	}
	tap_is_u64(bad, 0, "places with another token");
}

int main(void)
{
	tap_run(test_by_hand);
	tap_run(test_far);
	tap_run(test_order);
	return tap_done();
}
