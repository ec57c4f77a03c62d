/* lib/eval/logits_compare.c - two rows of logits, and what many of them come to */

#include "lib/eval/logits_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

/* --- one row --- */

/* A NaN, a positive infinity, or nothing that is finite. */
static bool no_law(const float *x, size_t n)
{
	size_t bad = 0, finite = 0;

	for (size_t i = 0; i < n; i++) {
		bad += !(x[i] < INFINITY);
		finite += x[i] > -INFINITY;
	}
	return bad || !finite;
}

static size_t largest_of(const float *x, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (x[i] > x[best])
			best = i;
	return best;
}

/* ln of the sum of e^x; TOP is the largest. */
static double log_sum(const float *x, size_t n, double top)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += exp((double)x[i] - top);
	return top + log(sum);
}

/* Ids of the K largest, of equal ones the first, into OUT. */
static void top_ids(const float *x, size_t n, uint32_t k, uint32_t *out)
{
	uint32_t held = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t at;

		if (held == k && x[i] <= x[out[k - 1]])
			continue;
		at = held < k ? held++ : k - 1;
		for (; at > 0 && x[i] > x[out[at - 1]]; at--)
			out[at] = out[at - 1];
		out[at] = (uint32_t)i;
	}
}

static uint32_t overlap_of(const uint32_t *a, const uint32_t *b, uint32_t k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k; i++)
		for (uint32_t j = 0; j < k; j++)
			n += a[i] == b[j];
	return n;
}

static void compare_values(const float *a, const float *b, size_t n, struct logits_position *out)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double d = a[i] == b[i] ? 0 : fabs((double)a[i] - (double)b[i]);

		sum += d;
		if (d > out->max_abs)
			out->max_abs = d;
		if (isfinite(a[i]) && fabs((double)a[i]) > out->largest)
			out->largest = fabs((double)a[i]);
	}
	out->mean_abs = sum / (double)n;
}

/* SUM_A and SUM_B: the logarithms of the sums of e to the logits. */
static void compare_laws(const float *a, const float *b, size_t n, double sum_a, double sum_b,
			 struct logits_position *out)
{
	double kl = 0, variation = 0;

	for (size_t i = 0; i < n; i++) {
		double log_p = (double)a[i] - sum_a, log_q = (double)b[i] - sum_b;
		double p = exp(log_p);

		if (p > 0)
			kl += p * (log_p - log_q);
		variation += fabs(p - exp(log_q));
	}
	/* Rounding of equal laws may leave a little below nothing. */
	out->kl = kl > 0 ? kl : 0;
	out->variation = variation / 2;
}

static double loss_of(const float *x, double sum, int64_t next)
{
	return next < 0 ? NAN : sum - (double)x[next];
}

static void compare_row(const float *a, const float *b, size_t n, int64_t next, uint32_t top,
			struct logits_position *out)
{
	uint32_t ids[2][LOGITS_TOP_MOST];
	double sum_a, sum_b;

	*out = (struct logits_position){ .nan_a = no_law(a, n), .nan_b = no_law(b, n) };
	if (out->nan_a || out->nan_b)
		return;
	out->top_a = (uint32_t)largest_of(a, n);
	out->top_b = (uint32_t)largest_of(b, n);
	sum_a = log_sum(a, n, (double)a[out->top_a]);
	sum_b = log_sum(b, n, (double)b[out->top_b]);
	compare_values(a, b, n, out);
	compare_laws(a, b, n, sum_a, sum_b, out);
	top_ids(a, n, top, ids[0]);
	top_ids(b, n, top, ids[1]);
	out->overlap = overlap_of(ids[0], ids[1], top);
	out->loss_a = loss_of(a, sum_a, next);
	out->loss_b = loss_of(b, sum_b, next);
}

/* --- many --- */

struct rows {
	const float *a, *b;
	size_t vocab;
	const int64_t *next;
	uint32_t top;
	struct logits_position *out;
};

static void compare_chunk(void *arg, size_t i)
{
	const struct rows *r = arg;

	compare_row(r->a + i * r->vocab, r->b + i * r->vocab, r->vocab, r->next[i], r->top,
		    r->out + i);
}

void logits_compare(struct team *team, const float *a, const float *b, size_t n, size_t vocab,
		    const int64_t *next, uint32_t top, struct logits_position *out)
{
	team_chunks(team, n, compare_chunk, &(struct rows){ a, b, vocab, next, top, out });
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value that a SHARE of them do not pass (the nearest rank). */
static double quantile(const double *sorted, size_t n, double share)
{
	size_t rank = (size_t)ceil(share * (double)n);

	return sorted[rank ? rank - 1 : 0];
}

static void add_position(struct logits_summary *s, const struct logits_position *p, size_t at)
{
	if (p->max_abs > s->max_abs || s->max_at == UINT64_MAX) {
		s->max_abs = p->max_abs;
		s->max_at = at;
	}
	if (p->kl > s->kl_max || s->kl_max_at == UINT64_MAX) {
		s->kl_max = p->kl;
		s->kl_max_at = at;
	}
	s->largest = fmax(s->largest, p->largest);
	s->variation_max = fmax(s->variation_max, p->variation);
	s->mean_abs += p->mean_abs;
	s->kl += p->kl;
	s->variation += p->variation;
	s->top1 += p->top_a == p->top_b;
	s->overlap += p->overlap;
	if (!isnan(p->loss_a)) {
		s->scored++;
		s->loss_a += p->loss_a;
		s->loss_b += p->loss_b;
	}
}

static void take_means(struct logits_summary *s, double n, uint32_t top)
{
	const double scored = (double)s->scored;

	s->mean_abs /= n;
	s->kl /= n;
	s->variation /= n;
	s->top1 /= n;
	s->overlap /= n * (double)top;
	s->loss_a /= scored;
	s->loss_b /= scored;
	s->max_relative = s->max_abs > 0 ? s->max_abs / s->largest : 0;
}

int logits_summarize(const struct logits_position *p, size_t n, uint32_t top,
		     struct logits_summary *out)
{
	double *kl = mem_new(n + 1, sizeof(*kl));
	size_t held = 0;

	if (!kl)
		return -1;
	*out = (struct logits_summary){ .positions = n,
					.first_nan = UINT64_MAX,
					.max_at = UINT64_MAX,
					.kl_max_at = UINT64_MAX };
	for (size_t i = 0; i < n; i++) {
		if (p[i].nan_a || p[i].nan_b) {
			if (out->nan++ == 0)
				out->first_nan = i;
			continue;
		}
		add_position(out, &p[i], i);
		kl[held++] = p[i].kl;
	}
	take_means(out, (double)held, top);
	if (held) {
		qsort(kl, held, sizeof(*kl), by_value);
		out->kl_median = quantile(kl, held, 0.5);
		out->kl_90 = quantile(kl, held, 0.9);
		out->kl_99 = quantile(kl, held, 0.99);
		out->kl_999 = quantile(kl, held, 0.999);
	} else {
		out->max_abs = out->max_relative = out->kl_max = out->kl_median = out->kl_90 =
			out->kl_99 = out->kl_999 = out->variation_max = NAN;
	}
	free(kl);
	return 0;
}
