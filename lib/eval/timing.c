/* lib/eval/timing.c - medians, their spread, and runners that take turns */

#include "lib/eval/timing.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * How many of N at each end lie outside the spread, K - 1: K is the largest with 2 P(binomial(N, 1/2) < K) <= 1/20, the chance
 * that the median lies beyond the K-th from either end. Past 64 values the normal approximation serves.
 */
static size_t places_outside(size_t n)
{
	double chance = ldexp(1, -(int)(n < 64 ? n : 64)), sum = 0;
	size_t k = 0;

	if (n > 64)
		return (size_t)((double)n / 2 - 0.98 * sqrt((double)n)) - 1;
	/* chance is that of exactly k. */
	while (2 * (sum + chance) <= 0.05) {
		sum += chance;
		chance *= (double)(n - k) / (double)(k + 1);
		k++;
	}
	return k ? k - 1 : 0;
}

struct spread timing_spread(double *v, size_t n)
{
	size_t outside;

	if (n == 0)
		return (struct spread){ NAN, NAN, NAN, 0 };
	qsort(v, n, sizeof(*v), by_value);
	outside = places_outside(n);
	return (struct spread){
		.median = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2,
		.low = v[outside],
		.high = v[n - 1 - outside],
		.n = n,
	};
}

struct spread timing_ratio(const double *a, const double *b, size_t n, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = a[i] / b[i];
	return timing_spread(scratch, n);
}

bool timing_parity(const struct spread *ratio)
{
	return ratio->low <= 1 && ratio->high >= 1;
}

enum timing_verdict timing_judge(const struct spread *ratio, double threshold)
{
	double most = 1 + threshold, least = 1 / most;

	if (ratio->low >= least && ratio->high <= most)
		return TIMING_SAME;
	if (ratio->low > most)
		return TIMING_SLOWER;
	if (ratio->high < least)
		return TIMING_FASTER;
	return TIMING_UNDECIDED;
}

enum timing_verdict timing_settle(const struct spread *ratio, double threshold)
{
	if (timing_parity(ratio))
		return TIMING_SAME;
	if (ratio->median > 1 + threshold)
		return TIMING_SLOWER;
	return ratio->median < 1 / (1 + threshold) ? TIMING_FASTER : TIMING_SAME;
}

const char *timing_verdict_name(enum timing_verdict v)
{
	static const char *const names[] = {
		[TIMING_SAME] = "same",
		[TIMING_FASTER] = "faster",
		[TIMING_SLOWER] = "slower",
		[TIMING_UNDECIDED] = "undecided",
	};

	return names[v];
}

size_t timing_interleave(const struct timing_runner *r, size_t n,
			 const struct timing_limits *limits)
{
	double total = 0;
	size_t round = 0;

	while (round < limits->most && (round < limits->least || total < limits->seconds)) {
		for (size_t i = 0; i < n; i++) {
			size_t at = (round + i) % n;

			r[at].samples[round] = r[at].run(r[at].arg);
			total += r[at].samples[round];
		}
		round++;
	}
	return round;
}
