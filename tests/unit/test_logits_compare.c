/* tests/unit/test_logits_compare.c - figures worked out by hand, infinities, NaN, ties, threads */

#include <math.h>
#include <string.h>

#include "lib/eval/logits_compare.h"
#include "tests/tap.h"

static struct team *team;

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static struct logits_position one(const float *a, const float *b, size_t n, int64_t next,
				  uint32_t top)
{
	struct logits_position p;

	logits_compare(team, a, b, 1, n, &next, top, &p);
	return p;
}

/* P = 1/2 1/4 1/4, Q = 1/4 1/2 1/4: KL = 1/2 ln 2 - 1/4 ln 2, variation 1/4. The logits of Q have 1 added to them. */
static void test_by_hand(void)
{
	const float a[] = { 0.693147182f, 0, 0 }, b[] = { 1, 1.693147182f, 1 };
	struct logits_position p = one(a, b, 3, 0, 2);

	tap_ok(near(p.kl, 0.25 * log(2)), "divergence %.9f", p.kl);
	tap_ok(near(p.variation, 0.25), "variation %.9f", p.variation);
	tap_ok(near(p.max_abs, 1.693147182) &&
		       near(p.mean_abs, (0.306852818 + 1.693147182 + 1) / 3),
	       "differences %.9f %.9f", p.max_abs, p.mean_abs);
	tap_ok(near(p.largest, 0.693147182), "the largest of the first: %.9f", p.largest);
	tap_ok(near(p.loss_a, log(2)) && near(p.loss_b, log(4)), "losses");
	tap_ok(p.top_a == 0 && p.top_b == 1 && p.overlap == 2, "the two likeliest are the same");
	p = one(a, b, 3, -1, 1);
	tap_ok(p.overlap == 0 && isnan(p.loss_a) && isnan(p.loss_b), "one, and no token after");
	p = one(a, a, 3, 2, 3);
	tap_ok(p.kl == 0 && p.variation == 0 && p.max_abs == 0 && p.overlap == 3, "with itself");
}

static void test_infinities(void)
{
	const float a[] = { 0, 0, -INFINITY }, b[] = { 0, -INFINITY, -INFINITY };
	struct logits_position p = one(a, a, 3, 2, 2);

	tap_ok(p.kl == 0 && p.max_abs == 0 && !p.nan_a, "equal ones differ by nothing");
	tap_ok(isinf(p.loss_a), "a token that cannot come");
	p = one(a, b, 3, 0, 2);
	tap_ok(isinf(p.kl) && isinf(p.max_abs) && near(p.variation, 0.5), "q = 0 < p");
	p = one(b, a, 3, 0, 2);
	tap_ok(near(p.kl, log(2)) && near(p.variation, 0.5), "p = 0 adds nothing: %g", p.kl);
}

static void test_no_law(void)
{
	const float good[] = { 0, 1 }, nan[] = { 0, NAN }, up[] = { INFINITY, 0 },
		    none[] = { -INFINITY, -INFINITY };
	struct logits_position p = one(good, nan, 2, 0, 1);

	tap_ok(!p.nan_a && p.nan_b, "a NaN of the second");
	p = one(nan, good, 2, 0, 1);
	tap_ok(p.nan_a && !p.nan_b, "of the first");
	tap_ok(one(up, good, 2, 0, 1).nan_a, "a positive infinity");
	tap_ok(one(good, none, 2, 0, 1).nan_b, "nothing that is finite");
}

static void test_ties(void)
{
	const float a[] = { 1, 2, 2, 2, 0 }, b[] = { 2, 2, 1, 2, 2 };
	struct logits_position p = one(a, b, 5, 0, 2);

	tap_ok(p.top_a == 1 && p.top_b == 0, "of equal ones the first");
	tap_ok(p.overlap == 1, "1 2 and 0 1: %u", p.overlap);
}

static void test_summary(void)
{
	struct logits_position p[1000];
	struct logits_summary s;

	for (int i = 0; i < 1000; i++)
		p[i] = (struct logits_position){ .kl = i % 10 == 3 ? 1.0 * i : 0,
						 .max_abs = i == 700 ? 5 : 1,
						 .mean_abs = 0.5,
						 .largest = 20,
						 .top_b = i < 250,
						 .overlap = 4,
						 .loss_a = i < 500 ? 2 : NAN,
						 .loss_b = i < 500 ? 3 : NAN };
	p[5].nan_b = true;
	tap_works(logits_summarize(p, 1000, 5, &s), "summed up");
	tap_ok(s.nan == 1 && s.first_nan == 5, "the NaN");
	tap_ok(s.max_abs == 5 && s.max_at == 700 && s.max_relative == 0.25, "the largest");
	tap_ok(s.kl_max == 993 && s.kl_max_at == 993 && near(s.kl, 49800.0 / 999), "divergence: %g",
	       s.kl);
	/* Of 999 sorted values, 899 are 0, then 3, 13, ... 993. */
	tap_ok(s.kl_median == 0 && s.kl_90 == 3 && s.kl_99 == 903 && s.kl_999 == 993,
	       "its tail: %g %g %g", s.kl_90, s.kl_99, s.kl_999);
	tap_ok(near(s.top1, 750.0 / 999) && near(s.overlap, 0.8), "shares: %g", s.top1);
	tap_ok(s.scored == 499 && s.loss_a == 2 && s.loss_b == 3, "losses");
	p[0].nan_a = true;
	tap_works(logits_summarize(p, 1, 5, &s), "a NaN alone");
	tap_ok(isnan(s.max_abs) && isnan(s.kl) && isnan(s.max_relative) && s.nan == 1,
	       "says nothing else");
}

static void test_threads(void)
{
	enum { ROWS = 20, VOCAB = 301 };
	static float a[ROWS * VOCAB], b[ROWS * VOCAB];
	struct logits_position p[ROWS], q[ROWS];
	struct team *three;
	int64_t next[ROWS];

	for (int i = 0; i < ROWS * VOCAB; i++) {
		a[i] = (float)(i * 7919 % 1009) / 100;
		b[i] = (float)(i * 104729 % 997) / 100;
	}
	for (int i = 0; i < ROWS; i++)
		next[i] = i;
	memset(p, 0, sizeof(p));
	memset(q, 0, sizeof(q));
	tap_works(team_new(&three, 3), "a team");
	logits_compare(team, a, b, ROWS, VOCAB, next, 10, p);
	logits_compare(three, a, b, ROWS, VOCAB, next, 10, q);
	tap_ok(memcmp(p, q, sizeof(p)) == 0, "the same with three threads");
	team_free(three);
}

int main(void)
{
	if (team_new(&team, 1) < 0)
		return 1;
	tap_run(test_by_hand);
	tap_run(test_infinities);
	tap_run(test_no_law);
	tap_run(test_ties);
	tap_run(test_summary);
	tap_run(test_threads);
	team_free(team);
	return tap_done();
}
