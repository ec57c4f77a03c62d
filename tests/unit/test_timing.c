/* tests/unit/test_timing.c - medians, spreads and verdicts of known numbers; who runs when */
#include "lib/eval/timing.h"

#include <math.h>
#include <string.h>

#include "tests/tap.h"

static bool is(const struct spread *s, double median, double low, double high)
{
	return s->median == median && s->low == low && s->high == high;
}

/* 1 to N in another order. */
static struct spread of_first(size_t n)
{
	double v[400];

	for (size_t i = 0; i < n; i++)
		v[i] = (double)(i * 7919 % n) + 1;
	return timing_spread(v, n);
}

static void test_spread(void)
{
	/* Which places a 95 % interval of the median takes: Conover's table for small n; B(100, 1/2) for 100. */
	static const struct {
		size_t n, low;
	} places[] = { { 1, 1 },  { 2, 1 },  { 5, 1 },	{ 6, 1 },   { 8, 1 },	{ 9, 2 },
		       { 11, 2 }, { 12, 3 }, { 20, 6 }, { 50, 18 }, { 64, 24 }, { 100, 40 } };
	struct spread s = timing_spread(NULL, 0);

	tap_ok(isnan(s.median) && s.n == 0, "of nothing");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t n = places[i].n;

		s = of_first(n);
		tap_ok(is(&s, (double)(n + 1) / 2, (double)places[i].low,
			  (double)(n + 1 - places[i].low)),
		       "of %zu: median %g, %g to %g", n, s.median, s.low, s.high);
	}
	s = timing_spread((double[]){ 5, 1, 1000, 2 }, 4);
	tap_ok(is(&s, 3.5, 1, 1000), "of an even number, the middle of two");
}

static void test_ratio(void)
{
	const double a[] = { 2, 3, 8 }, b[] = { 1, 2, 2 };
	double scratch[3];
	struct spread s = timing_ratio(a, b, 3, scratch);

	tap_ok(is(&s, 2, 1.5, 4), "round by round: %g, %g to %g", s.median, s.low, s.high);
	tap_ok(!timing_parity(&s), "not parity");
	s.low = 1;
	tap_ok(timing_parity(&s), "a spread that touches 1 is parity");
	s = (struct spread){ 0.9, 0.8, 0.99, 3 };
	tap_ok(!timing_parity(&s), "nor is one below");
}

static void judged(double low, double median, double high, const char *first, const char *last)
{
	struct spread s = { median, low, high, 5 };

	tap_is_text(timing_verdict_name(timing_judge(&s, 0.05)), first, "%g to %g", low, high);
	tap_is_text(timing_verdict_name(timing_settle(&s, 0.05)), last, "%g of %g to %g in the end",
		    median, low, high);
}

static void test_verdicts(void)
{
	judged(0.99, 1, 1.01, "same", "same");
	judged(1.01, 1.02, 1.04, "same", "same");
	judged(1.06, 1.1, 1.2, "slower", "slower");
	judged(0.8, 0.9, 0.94, "faster", "faster");
	judged(0.97, 1.1, 1.3, "undecided", "same");
	judged(1.01, 1.1, 1.3, "undecided", "slower");
	judged(1.01, 1.03, 1.3, "undecided", "same");
	judged(0.8, 0.9, 0.99, "undecided", "faster");
	judged(0.8, 0.97, 0.99, "undecided", "same");
}

static char order[64];

static double leave_letter(void *arg)
{
	const char *letter = arg;

	strncat(order, letter, 1);
	return *letter - 'a' + 1;
}

static void test_interleave(void)
{
	static char names[][2] = { "a", "b", "c" };
	double a[4], b[4], c[4];
	struct timing_runner r[] = { { leave_letter, names[0], a },
				     { leave_letter, names[1], b },
				     { leave_letter, names[2], c } };

	order[0] = '\0';
	tap_is_u64(timing_interleave(r, 3, &(struct timing_limits){ 1, 4, 12 }), 2,
		   "rounds of 6 seconds until there are 12");
	tap_is_text(order, "abcbca", "each once a round, the next one first");
	tap_ok(a[1] == 1 && b[1] == 2 && c[1] == 3, "each has its own times");
	tap_is_u64(timing_interleave(r, 3, &(struct timing_limits){ 3, 4, 0 }), 3,
		   "three at least");
	tap_is_u64(timing_interleave(r, 3, &(struct timing_limits){ 1, 4, 1e9 }), 4,
		   "four at most");
}

int main(void)
{
	tap_run(test_spread);
	tap_run(test_ratio);
	tap_run(test_verdicts);
	tap_run(test_interleave);
	return tap_done();
}
