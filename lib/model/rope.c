/*
 * lib/model/rope.c - the frequencies of rotary positions (Su et al. 2021), stretched for longer contexts
 *
 * linear: Chen et al. 2023. dynamic and yarn: Peng et al. 2023. longrope: Ding et al. 2024. llama3: Dubey et al. 2024. Where those
 * leave something open, what transformers' modeling_rope_utils takes; it rounds to f32 on the way, here that is done once at the end.
 */
#include <math.h>

#include "lib/model/lm.h"

#define TWO_PI 6.283185307179586476925

struct stretch {
	const struct hf_rope *r;
	size_t dim; /* elements that are turned, two a pair */
	double model_context, context, original, factor;
};

/* theta^(-2 i / dim) */
static double plain(const struct stretch *s, double theta, size_t i)
{
	return pow(theta, -2.0 * (double)i / (double)s->dim);
}

/* --- dynamic: a larger base, once positions pass what the model was trained with --- */

static double grown_theta(const struct stretch *s)
{
	double context = fmax(s->context, s->model_context), dim = (double)s->dim;
	double times = s->factor * context / s->model_context - (s->factor - 1);

	return dim > 2 ? s->r->theta * pow(times, dim / (dim - 2)) : s->r->theta;
}

/* --- yarn: slow pairs are stretched, fast ones are not, with a ramp between --- */

/* The pair, as a real number, that turns so often over the original context. */
static double pair_of_turns(const struct stretch *s, double turns)
{
	return (double)s->dim * log(s->original / (turns * TWO_PI)) / (2 * log(s->r->theta));
}

static void ramp_bounds(const struct stretch *s, double *low, double *high)
{
	*low = pair_of_turns(s, s->r->beta_fast > 0 ? s->r->beta_fast : 32);
	*high = pair_of_turns(s, s->r->beta_slow > 0 ? s->r->beta_slow : 1);
	if (s->r->truncate) {
		*low = floor(*low);
		*high = ceil(*high);
	}
	*low = fmax(*low, 0);
	*high = fmin(*high, (double)s->dim - 1);
	if (*low == *high)
		*high += 0.001;
}

static double yarn(const struct stretch *s, size_t i)
{
	double low, high, stretched, f = plain(s, s->r->theta, i);

	ramp_bounds(s, &low, &high);
	stretched = fmin(fmax(((double)i - low) / (high - low), 0), 1);
	return f / s->factor * stretched + f * (1 - stretched);
}

static double yarn_term(double factor, double weight)
{
	return factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1;
}

static double yarn_scale(const struct stretch *s)
{
	const struct hf_rope *r = s->r;

	if (r->attention_factor > 0)
		return r->attention_factor;
	if (r->mscale > 0 && r->mscale_all_dim > 0)
		return yarn_term(s->factor, r->mscale) / yarn_term(s->factor, r->mscale_all_dim);
	return yarn_term(s->factor, 1);
}

/* --- longrope: a divisor for each pair, of two sets --- */

static double longrope(const struct stretch *s, size_t i)
{
	bool far = s->context > s->original;
	const double *factors = far ? s->r->long_factor : s->r->short_factor;
	size_t n = far ? s->r->n_long_factors : s->r->n_short_factors;

	return plain(s, s->r->theta, i) / (i < n ? factors[i] : 1);
}

static double longrope_scale(const struct stretch *s)
{
	if (s->r->attention_factor > 0)
		return s->r->attention_factor;
	return s->factor <= 1 ? 1 : sqrt(1 + log(s->factor) / log(s->original));
}

/* --- llama3: by wavelength --- */

static double llama3(const struct stretch *s, size_t i)
{
	double f = plain(s, s->r->theta, i), wave = TWO_PI / f, smooth;
	double low = s->r->low_freq_factor, high = s->r->high_freq_factor;

	if (wave < s->original / high)
		return f;
	if (wave > s->original / low)
		return f / s->factor;
	smooth = (s->original / wave - low) / (high - low);
	return (1 - smooth) * f / s->factor + smooth * f;
}

/* --- all --- */

static double frequency(const struct stretch *s, size_t i)
{
	switch (s->r->type) {
	case HF_ROPE_LINEAR: return plain(s, s->r->theta, i) / s->factor;
	case HF_ROPE_DYNAMIC: return plain(s, grown_theta(s), i);
	case HF_ROPE_YARN: return yarn(s, i);
	case HF_ROPE_LONGROPE: return longrope(s, i);
	case HF_ROPE_LLAMA3: return llama3(s, i);
	default: return plain(s, s->r->theta, i);
	}
}

/* Yarn and longrope may leave the factor to the two contexts. */
static double find_factor(const struct stretch *s)
{
	bool implied = s->r->type == HF_ROPE_YARN || s->r->type == HF_ROPE_LONGROPE;

	if (s->r->factor > 0)
		return s->r->factor;
	return implied ? s->model_context / s->original : 1;
}

size_t lm_rope(const struct hf_rope *r, uint32_t head_dim, uint64_t model_context, uint64_t context,
	       float frequencies[LM_PAIRS_MAX], double *scale)
{
	struct stretch s = { .r = r,
			     .dim = (size_t)(head_dim * r->partial),
			     .model_context = (double)model_context,
			     .context = (double)context,
			     .original = (double)model_context };
	size_t pairs = s.dim / 2;

	if (r->original_context > 0)
		s.original = r->original_context;
	s.factor = find_factor(&s);
	for (size_t i = 0; i < pairs; i++)
		frequencies[i] = (float)frequency(&s, i);
	*scale = r->type == HF_ROPE_YARN       ? yarn_scale(&s)
		 : r->type == HF_ROPE_LONGROPE ? longrope_scale(&s)
					       : 1;
	return pairs;
}
