/*
 * lib/eval/timing.h - what repeated times say
 *
 * The figure is the median, since a machine that others use makes times longer, never shorter, and now and then by much. The spread
 * is where the median would lie if all were measured again, 19 times of 20: the K-th smallest to the K-th largest of the
 * times, with K from the binomial distribution, which asks nothing of how times are distributed (Conover, Practical
 * Nonparametric Statistics, 3.2). Up to eight times it is from the smallest to the largest. It narrows with more times, as
 * smallest to largest does not.
 */
#ifndef LIB_EVAL_TIMING_H
#define LIB_EVAL_TIMING_H

#include <stdbool.h>
#include <stddef.h>

struct spread {
	double median, low, high; /* NaN when n is 0 */
	size_t n;
};

/* Sorts the N values at V. */
struct spread timing_spread(double *v, size_t n);

/* Of a[i] / b[i], times taken in one round each. SCRATCH has room for N values. */
struct spread timing_ratio(const double *a, const double *b, size_t n, double *scratch);

/* Whether the spread of a ratio covers 1. */
bool timing_parity(const struct spread *ratio);

enum timing_verdict {
	TIMING_SAME,   /* within the threshold, or covering 1 after all tries */
	TIMING_FASTER, /* the whole spread is past it */
	TIMING_SLOWER,
	TIMING_UNDECIDED /* the spread covers the threshold: measure again */
};

/* Of new over old. THRESHOLD 0.05: up to 1.05 and down to 1 / 1.05 is the same. */
enum timing_verdict timing_judge(const struct spread *ratio, double threshold);
/* When it will not be measured again: by the median, but parity is the same. */
enum timing_verdict timing_settle(const struct spread *ratio, double threshold);
const char *timing_verdict_name(enum timing_verdict v);

/* --- taking turns --- */

struct timing_runner {
	double (*run)(void *arg); /* the seconds of one run */
	void *arg;
	double *samples; /* owned by the caller: room for LIMITS.most */
};

struct timing_limits {
	size_t least, most; /* rounds; 1 <= least <= most */
	double seconds;	    /* no further round once the times add up to this */
};

/* Every runner once a round, each round beginning with the next one. Returns the number of rounds. */
size_t timing_interleave(const struct timing_runner *r, size_t n,
			 const struct timing_limits *limits);

#endif
