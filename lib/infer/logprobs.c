/*
 * lib/infer/logprobs.c - natural logarithms of the probabilities that logits stand for
 *
 * The best so far are kept in order: few are asked for, and most tokens are worse than the last of them.
 */

#include "lib/infer/logprobs.h"

#include <math.h>

static double largest(const float *logits, size_t n)
{
	double top = -INFINITY;

	for (size_t i = 0; i < n; i++)
		top = (double)logits[i] > top ? (double)logits[i] : top;
	return top;
}

/* The logarithm of the sum of exponentials, from TOP on: no sum overflows. */
static double log_sum(const float *logits, size_t n, double top)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += exp((double)logits[i] - top);
	return log(sum);
}

/* Into its place among the HELD best, of which K are kept; how many are held then. Equal ones stay before it. */
static size_t put(struct logprob *top, size_t held, size_t k, int32_t id, double value)
{
	size_t at = held < k ? held : k - 1;

	while (at > 0 && top[at - 1].value < value) {
		top[at] = top[at - 1];
		at--;
	}
	top[at] = (struct logprob){ id, value };
	return held < k ? held + 1 : k;
}

void logprobs(const float *logits, size_t n, size_t k, struct logprob *top, int32_t id, double *own)
{
	/* Taken off one after the other: what is small is lost beside a logit that is not. */
	double first = largest(logits, n), sum = log_sum(logits, n, first);
	size_t held = 0;

	for (size_t i = 0; i < n && k; i++)
		if (held < k || (double)logits[i] > top[k - 1].value)
			held = put(top, held, k, (int32_t)i, (double)logits[i]);
	for (size_t i = 0; i < held; i++)
		top[i].value = top[i].value - first - sum;
	*own = (double)logits[id] - first - sum;
}
