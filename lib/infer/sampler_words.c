/* lib/infer/sampler_words.c - the steps of the sampler, by name and in words */

#include <string.h>

#include "lib/base/err.h"
#include "lib/base/number.h"
#include "lib/infer/sampler.h"

static const char *const names[SAMPLER_STEPS] = {
	[SAMPLER_PENALTIES] = "penalties",
	[SAMPLER_DRY] = "dry",
	[SAMPLER_TOP_N_SIGMA] = "top-n-sigma",
	[SAMPLER_TOP_K] = "top-k",
	[SAMPLER_TYPICAL] = "typical",
	[SAMPLER_TOP_P] = "top-p",
	[SAMPLER_MIN_P] = "min-p",
	[SAMPLER_TEMPERATURE] = "temperature",
};

const char *sampler_step_name(enum sampler_step step)
{
	return names[step];
}

static int find(const char *name)
{
	for (int i = 0; i < SAMPLER_STEPS; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

int sampler_set_order(struct sampler_options *o, const char *const *words, size_t n)
{
	o->n_order = 0;
	if (n == 0)
		return err_set(ERR_ARGUMENT, "no step is named");
	for (size_t i = 0; i < n; i++) {
		int step = find(words[i]);

		if (step < 0)
			return err_set(ERR_ARGUMENT,
				       "'%s' is not one of penalties, dry, top-n-sigma, top-k, "
				       "typical, top-p, min-p and temperature",
				       words[i]);
		for (size_t k = 0; k < i; k++)
			if (strcmp(words[k], words[i]) == 0)
				return err_set(ERR_ARGUMENT, "'%s' comes twice", words[i]);
		o->order[o->n_order++] = (enum sampler_step)step;
	}
	return 0;
}

static bool has_penalties(const struct sampler_options *o)
{
	return (o->repetition_penalty != 0 && o->repetition_penalty != 1) ||
	       o->frequency_penalty != 0 || o->presence_penalty != 0;
}

bool sampler_has(const struct sampler_options *o, enum sampler_step step)
{
	switch (step) {
	case SAMPLER_PENALTIES: return has_penalties(o);
	case SAMPLER_DRY: return o->dry_multiplier > 0;
	case SAMPLER_TOP_N_SIGMA: return o->top_n_sigma > 0;
	case SAMPLER_TOP_K: return o->top_k > 0;
	case SAMPLER_TYPICAL: return o->typical > 0 && o->typical < 1;
	case SAMPLER_TOP_P: return o->top_p < 1;
	case SAMPLER_MIN_P: return o->min_p > 0;
	case SAMPLER_TEMPERATURE: return o->temperature != 1;
	default: return false;
	}
}

static void put_number(struct buffer *out, const char *name, double value)
{
	char text[NUMBER_TEXT];

	buffer_format(out, "%s %s", name, number_f64(value, text));
}

static void put_last(struct buffer *out, size_t last)
{
	if (last)
		buffer_format(out, " of the last %zu", last);
	else
		buffer_put_text(out, " of all");
}

static void put_penalties(struct buffer *out, const struct sampler_options *o)
{
	const char *between = "penalties (";

	if (o->repetition_penalty != 0 && o->repetition_penalty != 1) {
		buffer_put_text(out, between);
		put_number(out, "repetition", o->repetition_penalty);
		between = ", ";
	}
	if (o->frequency_penalty != 0) {
		buffer_put_text(out, between);
		put_number(out, "frequency", o->frequency_penalty);
		between = ", ";
	}
	if (o->presence_penalty != 0) {
		buffer_put_text(out, between);
		put_number(out, "presence", o->presence_penalty);
	}
	put_last(out, o->penalty_last);
	buffer_put_u8(out, ')');
}

static void put_dry(struct buffer *out, const struct sampler_options *o)
{
	put_number(out, "dry (multiplier", o->dry_multiplier);
	put_number(out, ", base", o->dry_base);
	buffer_format(out, ", allowed %zu", o->dry_allowed);
	put_last(out, o->dry_last);
	buffer_put_u8(out, ')');
}

static void put_step(struct buffer *out, const struct sampler_options *o, enum sampler_step step)
{
	switch (step) {
	case SAMPLER_PENALTIES: put_penalties(out, o); break;
	case SAMPLER_DRY: put_dry(out, o); break;
	case SAMPLER_TOP_K: buffer_format(out, "top-k %zu", o->top_k); break;
	case SAMPLER_TOP_N_SIGMA: put_number(out, names[step], o->top_n_sigma); break;
	case SAMPLER_TYPICAL: put_number(out, names[step], o->typical); break;
	case SAMPLER_TOP_P: put_number(out, names[step], o->top_p); break;
	case SAMPLER_MIN_P: put_number(out, names[step], o->min_p); break;
	default: put_number(out, names[step], o->temperature); break;
	}
}

/* What a temperature of 0 leaves to be done. */
static bool is_done(const struct sampler_options *o, enum sampler_step step)
{
	if (o->temperature == 0)
		return step <= SAMPLER_DRY && sampler_has(o, step);
	return step == SAMPLER_TEMPERATURE || sampler_has(o, step);
}

void sampler_describe(const struct sampler_options *o, struct buffer *out)
{
	size_t n = o->n_order ? o->n_order : SAMPLER_STEPS, done = 0;

	for (size_t i = 0; i < n; i++) {
		enum sampler_step step = o->n_order ? o->order[i] : (enum sampler_step)i;

		if (!is_done(o, step))
			continue;
		buffer_put_text(out, done++ ? ", " : "");
		put_step(out, o, step);
	}
	if (o->temperature == 0)
		buffer_put_text(out, done ? ", greedy" : "greedy");
	else if (done == 0)
		buffer_put_text(out, "the draw alone");
}
