/*
 * tests/unit/test_sampler_cuts.c - cuts that sort nothing beside the same cuts of a sorted vocabulary
 *
 * The reference sorts all candidates by probability in double, cuts as the definitions say, and draws with the same uniform number
 * over what is left, in the order of ids.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/random.h"
#include "lib/infer/sampler_parts.h"
#include "tests/tap.h"

enum { VOCABULARY = 3000, PLACES = 40 };

struct token {
	int32_t id;
	double logit, share, key;
};

static struct token tokens[VOCABULARY];

static int by_key(const void *a, const void *b)
{
	const struct token *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void normalise(size_t n, double t)
{
	double top = -INFINITY, sum = 0;

	for (size_t i = 0; i < n; i++)
		top = fmax(top, tokens[i].logit);
	for (size_t i = 0; i < n; i++)
		sum += tokens[i].share = exp((tokens[i].logit - top) / t);
	for (size_t i = 0; i < n; i++)
		tokens[i].share /= sum;
}

static size_t first_with(size_t n, double p)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if ((sum += tokens[i].share) >= p)
			return i + 1;
	return n;
}

static void sort_by_logit(size_t n)
{
	for (size_t i = 0; i < n; i++)
		tokens[i].key = -tokens[i].logit;
	qsort(tokens, n, sizeof(*tokens), by_key);
}

static size_t cut(const struct sampler_options *o, enum sampler_step step, size_t n, double t)
{
	double mean = 0, square = 0, entropy = 0;
	size_t kept = 0;

	sort_by_logit(n);
	normalise(n, t);
	switch (step) {
	case SAMPLER_TOP_K: return o->top_k && o->top_k < n ? o->top_k : n;
	case SAMPLER_TOP_P: return o->top_p < 1 ? first_with(n, o->top_p) : n;
	case SAMPLER_MIN_P:
		while (kept < n && tokens[kept].share >= o->min_p * tokens[0].share)
			kept++;
		return kept;
	case SAMPLER_TOP_N_SIGMA:
		for (size_t i = 0; i < n; i++)
			mean += tokens[i].logit / (double)n;
		for (size_t i = 0; i < n; i++)
			square += pow(tokens[i].logit - mean, 2) / (double)n;
		while (kept < n &&
		       (o->top_n_sigma == 0 ||
			tokens[kept].logit >= tokens[0].logit - o->top_n_sigma * sqrt(square)))
			kept++;
		return kept;
	case SAMPLER_TYPICAL:
		if (o->typical == 0)
			return n;
		for (size_t i = 0; i < n; i++)
			entropy -= tokens[i].share * log(tokens[i].share);
		for (size_t i = 0; i < n; i++)
			tokens[i].key = fabs(-log(tokens[i].share) - entropy);
		qsort(tokens, n, sizeof(*tokens), by_key);
		return first_with(n, o->typical);
	default: return n;
	}
}

static size_t reference(const struct sampler_options *o, const float *logits, double *t)
{
	size_t n = VOCABULARY;

	*t = 1;
	for (size_t i = 0; i < n; i++)
		tokens[i] = (struct token){ .id = (int32_t)i, .logit = (double)logits[i] };
	for (size_t i = 0; i < (o->n_order ? o->n_order : SAMPLER_STEPS); i++) {
		enum sampler_step step = o->n_order ? o->order[i] : (enum sampler_step)i;

		if (step == SAMPLER_TEMPERATURE)
			*t = o->temperature;
		else
			n = cut(o, step, n, *t);
	}
	for (size_t i = 0; i < n; i++)
		tokens[i].key = tokens[i].id;
	qsort(tokens, n, sizeof(*tokens), by_key);
	normalise(n, *t);
	return n;
}

static int32_t draw(const struct sampler_options *o, size_t n, uint64_t place)
{
	struct random_stream stream = random_at(o->seed, o->sample, hash_short("sampler", 7, 0));
	double at = random_uniform53(&stream, place, 0);
	size_t i = 0;

	while (i + 1 < n && at >= tokens[i].share)
		at -= tokens[i++].share;
	return tokens[i].id;
}

static size_t compare(const struct sampler_options *o, const float *logits)
{
	struct sampler *s = NULL;
	size_t wrong = 0, n;
	double t;

	if (!tap_works(sampler_new(&s, o, VOCABULARY), "a sampler"))
		return PLACES;
	n = reference(o, logits, &t);
	for (uint64_t place = 0; place < PLACES; place++)
		wrong += sampler_pick(s, logits, NULL, 0, place) != draw(o, n, place);
	sampler_free(s);
	return wrong;
}

/* Shares of equal logits must not sum to a cut exactly, where rounding decides: hence 0.9003.
 *
 * Logits of several kinds: normal, with many equal ones, flat, one far above the rest, spread so far that most have no share. */
static void fill(float *logits, int kind, uint64_t seed)
{
	struct random_stream r = random_at(seed, 0, 1);

	random_normals(&r, 0, 0, logits, VOCABULARY);
	for (size_t i = 0; i < VOCABULARY; i++) {
		if (kind == 1)
			logits[i] = roundf(logits[i] * 4) / 4;
		else if (kind == 2)
			logits[i] = 0.5f;
		else if (kind == 3)
			logits[i] += i == 1234 ? 12 : 0;
		else if (kind == 4)
			logits[i] *= 40;
	}
}

static const struct sampler_options chains[] = {
	{ .top_p = 1 },
	{ .top_p = 1, .top_k = 1 },
	{ .top_p = 1, .top_k = 2 },
	{ .top_p = 1, .top_k = 40 },
	{ .top_p = 1, .top_k = 1499 },
	{ .top_p = 1, .top_k = 1500 },
	{ .top_p = 1, .top_k = 2999 },
	{ .top_p = 0.9003 },
	{ .top_p = 0.5003 },
	{ .top_p = 1e-9 },
	{ .top_p = 0.9999 },
	{ .top_p = 1, .min_p = 0.05 },
	{ .top_p = 1, .min_p = 0.6 },
	{ .top_p = 1, .typical = 0.9003 },
	{ .top_p = 1, .typical = 0.2003 },
	{ .top_p = 1, .top_n_sigma = 1 },
	{ .top_p = 1, .top_n_sigma = 0.3 },
	{ .top_p = 0.9003, .top_k = 100, .min_p = 0.3 },
	{ .top_p = 0.9503, .top_k = 400, .typical = 0.8003, .top_n_sigma = 2 },
};

static void test_cuts(void)
{
	static const char *const orders[][5] = {
		{ NULL },
		{ "temperature", "top-p", "top-k", "min-p", NULL },
		{ "min-p", "typical", "temperature", "top-p", NULL },
		{ "top-p", "temperature", "typical", "top-n-sigma", "top-k" },
	};
	float *logits = malloc(VOCABULARY * sizeof(*logits));

	for (size_t i = 0; logits && i < sizeof(chains) / sizeof(*chains); i++) {
		size_t wrong = 0;

		for (int kind = 0; kind < 5; kind++) {
			fill(logits, kind, i);
			for (int k = 0; k < 4; k++) {
				struct sampler_options o = chains[i];
				size_t n = 0;

				o.temperature = k == 3 ? 1.7 : 0.6;
				o.seed = 3 + i;
				o.sample = (uint64_t)kind;
				while (n < 5 && orders[k][n])
					n++;
				if (n)
					sampler_set_order(&o, orders[k], n);
				wrong += compare(&o, logits);
			}
		}
		tap_is_u64(wrong, 0, "chain %zu: draws that are not the reference's", i);
	}
	free(logits);
}

/* Shares are the C library's exponentials to a few units in the last place. */
static void test_shares(void)
{
	double worst = 0, none;

	for (int i = 0; i <= 100000; i++) {
		float x = -50.0f * (float)i / 100000;
		double got;

		sampler_shares(&x, 1, 0.25, 1.25, &got);
		if (i < 99000)
			worst = fmax(worst, fabs(got / exp(((double)x - 0.25) / 1.25) - 1));
	}
	tap_ok(worst < 1e-15, "the largest relative error is %g", worst);
	sampler_shares(&(float){ -50.1f }, 1, 0, 1, &none);
	tap_ok(none == 0, "less than e^-50 is none");
	sampler_shares(&(float){ -INFINITY }, 1, 0, 1, &none);
	tap_ok(none == 0, "nothing is none");
}

int main(void)
{
	tap_run(test_cuts);
	tap_run(test_shares);
	return tap_done();
}
