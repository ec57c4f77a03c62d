/* lib/infer/sampler.c - a token from logits: the options, and the steps one after the other */

#include "lib/infer/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/infer/sampler_parts.h"

/* --- options --- */

static bool is_share(double x)
{
	return x >= 0 && x <= 1;
}

static int check_cuts(const struct sampler_options *o)
{
	if (!(o->temperature >= 0) || !isfinite(o->temperature))
		return err_set(ERR_ARGUMENT, "a temperature of %g", o->temperature);
	if (!(o->top_p > 0 && o->top_p <= 1) || !is_share(o->min_p))
		return err_set(ERR_ARGUMENT,
			       "top-p %g, min-p %g: top-p is above 0 and at most 1, min-p 0 to 1",
			       o->top_p, o->min_p);
	if (!is_share(o->typical))
		return err_set(ERR_ARGUMENT, "typical %g: it is 0 to 1", o->typical);
	if (!(o->top_n_sigma >= 0) || !isfinite(o->top_n_sigma))
		return err_set(ERR_ARGUMENT, "top-n-sigma %g", o->top_n_sigma);
	return 0;
}

static int check_penalties(const struct sampler_options *o)
{
	if (!(o->repetition_penalty >= 0) || !isfinite(o->repetition_penalty))
		return err_set(ERR_ARGUMENT, "a repetition penalty of %g", o->repetition_penalty);
	if (!isfinite(o->frequency_penalty) || !isfinite(o->presence_penalty))
		return err_set(ERR_ARGUMENT, "a frequency penalty of %g, a presence penalty of %g",
			       o->frequency_penalty, o->presence_penalty);
	if (!(o->dry_multiplier >= 0) || !isfinite(o->dry_multiplier))
		return err_set(ERR_ARGUMENT, "a dry multiplier of %g", o->dry_multiplier);
	if (o->dry_multiplier > 0 &&
	    (!(o->dry_base >= 1) || !isfinite(o->dry_base) || o->dry_allowed == 0))
		return err_set(ERR_ARGUMENT,
			       "dry: a base of %g, %zu tokens allowed: both are at least 1",
			       o->dry_base, o->dry_allowed);
	return 0;
}

static int check_order(const struct sampler_options *o)
{
	unsigned seen = 0;

	if (o->n_order > SAMPLER_STEPS)
		return err_set(ERR_ARGUMENT, "%zu steps of sampling", o->n_order);
	for (size_t i = 0; i < o->n_order; i++) {
		if (o->order[i] >= SAMPLER_STEPS || (seen >> o->order[i] & 1))
			return err_set(ERR_ARGUMENT, "step %zu of sampling is none, or comes twice",
				       i);
		seen |= 1u << o->order[i];
	}
	return 0;
}

static int check_bias(const struct sampler_options *o, size_t vocabulary)
{
	for (size_t i = 0; i < o->n_bias; i++) {
		if (o->bias[i].id < 0 || (size_t)o->bias[i].id >= vocabulary)
			return err_set(ERR_ARGUMENT,
				       "a bias for the token %" PRId32 "; the vocabulary has %zu",
				       o->bias[i].id, vocabulary);
		if (isnan(o->bias[i].value) || o->bias[i].value == INFINITY)
			return err_set(ERR_ARGUMENT, "a bias of %g for the token %" PRId32,
				       (double)o->bias[i].value, o->bias[i].id);
	}
	return 0;
}

/* --- making --- */

static int copy_bias(struct sampler *s, const struct sampler_options *o)
{
	struct logit_bias *copy = mem_new(o->n_bias, sizeof(*copy));

	s->options.bias = copy;
	for (size_t i = 0; copy && i < o->n_bias; i++)
		copy[i] = o->bias[i];
	return copy ? 0 : -1;
}

static int mark_breakers(struct sampler *s, const struct sampler_options *o)
{
	s->options.breakers = NULL;
	if (!sampler_has(o, SAMPLER_DRY))
		return 0;
	s->is_breaker = mem_new(s->vocabulary / 8 + 1, 1);
	if (!s->is_breaker)
		return -1;
	for (size_t i = 0; i < o->n_breakers; i++) {
		int32_t id = o->breakers[i];

		if (id >= 0 && (size_t)id < s->vocabulary)
			s->is_breaker[id / 8] |= (unsigned char)(1u << (id % 8));
	}
	return 0;
}

static int fill(struct sampler *s, const struct sampler_options *o)
{
	s->options.bias = NULL;
	if (copy_bias(s, o) < 0 || mark_breakers(s, o) < 0)
		return -1;
	if (!o->room && sampler_room_new(&s->own_room) < 0)
		return -1;
	s->room = o->room ? o->room : s->own_room;
	return 0;
}

int sampler_new(struct sampler **out, const struct sampler_options *o, size_t vocabulary)
{
	struct sampler *s;

	*out = NULL;
	if (vocabulary == 0 || vocabulary > INT32_MAX)
		return err_set(ERR_ARGUMENT, "a vocabulary of %zu", vocabulary);
	if (check_cuts(o) < 0 || check_penalties(o) < 0 || check_order(o) < 0 ||
	    check_bias(o, vocabulary) < 0)
		return -1;
	s = mem_new(1, sizeof(*s));
	if (!s)
		return -1;
	s->options = *o;
	s->vocabulary = vocabulary;
	if (fill(s, o) < 0) {
		sampler_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	free((void *)s->options.bias);
	free(s->is_breaker);
	sampler_room_free(s->own_room);
	free(s);
}

void sampler_set_sample(struct sampler *s, uint64_t sample)
{
	s->options.sample = sample;
}

int sampler_room_new(struct sampler_room **out)
{
	*out = mem_new(1, sizeof(**out));
	return *out ? 0 : -1;
}

void sampler_room_free(struct sampler_room *r)
{
	if (!r)
		return;
	free(r->list);
	free(r->changed);
	free(r->tops);
	free(r->values);
	free(r->shares);
	free(r->keys);
	free(r->tally);
	free(r->lengths);
	free(r);
}

/* --- a pick --- */

static int keep_sigmas(struct choice *c, double n)
{
	double deviation;

	if (choice_deviation(c, &deviation) < 0)
		return -1;
	return choice_keep_from(c, (double)c->top.logit - n * deviation);
}

static int keep_min_p(struct choice *c, double p)
{
	if (choice_scan(c) < 0)
		return -1;
	return choice_keep_from(c, (double)c->top.logit + c->t * log(p));
}

static int take_step(struct choice *c, enum sampler_step step)
{
	const struct sampler_options *o = &c->sampler->options;

	switch (step) {
	case SAMPLER_PENALTIES: return choice_penalties(c);
	case SAMPLER_DRY: return choice_dry(c);
	case SAMPLER_TOP_N_SIGMA: return keep_sigmas(c, o->top_n_sigma);
	case SAMPLER_TOP_K: return choice_keep_largest(c, o->top_k);
	case SAMPLER_TYPICAL: return choice_typical(c, o->typical);
	case SAMPLER_TOP_P: return choice_top_p(c, o->top_p);
	case SAMPLER_MIN_P: return keep_min_p(c, o->min_p);
	default: c->t = o->temperature; return 0;
	}
}

static int take_steps(struct choice *c)
{
	const struct sampler_options *o = &c->sampler->options;
	size_t n = o->n_order ? o->n_order : SAMPLER_STEPS;

	for (size_t i = 0; i < n; i++) {
		enum sampler_step step = o->n_order ? o->order[i] : (enum sampler_step)i;

		/* Where the largest is taken nothing is cut. */
		if (!sampler_has(o, step) || (o->temperature == 0 && step > SAMPLER_DRY))
			continue;
		if (take_step(c, step) < 0)
			return -1;
	}
	return 0;
}

int32_t sampler_pick(struct sampler *s, const float *logits, const int32_t *history,
		     size_t n_history, uint64_t place)
{
	struct choice c = { .sampler = s,
			    .room = s->room,
			    .logits = logits,
			    .history = history,
			    .n_history = n_history,
			    .t = 1 };

	if (choice_bias(&c) < 0 || take_steps(&c) < 0)
		return -1;
	if (s->options.temperature != 0)
		return choice_draw(&c, place);
	return choice_scan(&c) < 0 ? -1 : c.top.id;
}
