/*
 * kernels/ref/quantize_search.c - the scale of a group, by trying some
 *
 * For given integers the scale (and minimum) of least squares has a closed form; for a given scale the best integers are the nearest ones.
 * So each trial starts from a scale, takes its integers, and then the best scale for those.
 */
#include <math.h>

#include "kernels/ref/quantize.h"

#define LONGEST 32 /* group */

static float nearest(float x, float low, float high)
{
	return quantize_round(quantize_hold(x, low, high));
}

/* The value of largest size, with its sign; the first of several. */
static float extreme(const float *x, size_t n)
{
	float most = 0, size = 0;

	for (size_t i = 0; i < n; i++) {
		if (fabsf(x[i]) > size) {
			size = fabsf(x[i]);
			most = x[i];
		}
	}
	return most;
}

/* --- scale * l --- */

/* Sums of w x l and w l l, in the order of the values. */
struct fit {
	float xl, ll;
};

static float weight(const float *x, const float *w, size_t i)
{
	return w ? w[i] : x[i] * x[i];
}

static struct fit fit_symmetric(const struct quantize_symmetric *s, const float *x, const float *w,
				float inverse, float *l)
{
	struct fit f = { 0 };

	for (size_t i = 0; i < s->length; i++) {
		float wi = weight(x, w, i);

		l[i] = nearest(inverse * x[i], (float)-s->half, (float)(s->half - 1));
		f.xl += wi * x[i] * l[i];
		f.ll += wi * l[i] * l[i];
	}
	return f;
}

static void put_integers(const float *l, size_t n, float added, uint8_t *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(l[i] + added);
}

static void sum_weights(const float *x, const float *w, size_t n, float *sum)
{
	if (!sum)
		return;
	*sum = 0;
	for (size_t i = 0; i < n; i++)
		*sum += weight(x, w, i);
}

static float symmetric_group(const struct quantize_symmetric *s, const float *x, const float *w,
			     float *sum, uint8_t *out)
{
	float most = extreme(x, s->length), l[LONGEST], scale, best;
	struct fit f;

	sum_weights(x, w, s->length, sum);
	memset(out, 0, s->length);
	if (fabsf(most) < QUANTIZE_NOTHING)
		return 0;
	f = fit_symmetric(s, x, w, (float)-s->half / most, l);
	put_integers(l, s->length, (float)s->half, out);
	scale = f.ll != 0 ? f.xl / f.ll : 0;
	best = scale * f.xl;
	for (int i = -9; i <= 9; i++) {
		if (i == 0)
			continue;
		f = fit_symmetric(s, x, w, -((float)s->half + 0.1f * (float)i) / most, l);
		if (f.ll > 0 && f.xl * f.xl > best * f.ll) {
			put_integers(l, s->length, (float)s->half, out);
			scale = f.xl / f.ll;
			best = scale * f.xl;
		}
	}
	return scale;
}

/* Value I of the group moves to the integer that is best beside the others, where that is a gain. */
static bool move(const struct quantize_symmetric *s, float x, float *l, struct fit *f)
{
	float w = x * x, to;
	struct fit rest = { f->xl - w * x * *l, f->ll - w * *l * *l };

	if (!(rest.xl > 0))
		return false;
	to = nearest(x * rest.ll / rest.xl, (float)-s->half, (float)(s->half - 1));
	if (to == *l)
		return false;
	rest.xl += w * x * to;
	rest.ll += w * to * to;
	if (!(rest.ll > 0 && rest.xl * rest.xl * f->ll > f->xl * f->xl * rest.ll))
		return false;
	*l = to;
	*f = rest;
	return true;
}

static float descend_group(const struct quantize_symmetric *s, const float *x, uint8_t *out)
{
	float most = extreme(x, s->length), l[LONGEST];
	bool moved = true;
	struct fit f;

	memset(out, 0, s->length);
	if (fabsf(most) < QUANTIZE_NOTHING)
		return 0;
	f = fit_symmetric(s, x, NULL, (float)-s->half / most, l);
	for (int turn = 0; turn < 5 && moved; turn++) {
		moved = false;
		for (size_t i = 0; i < s->length; i++)
			moved |= move(s, x[i], &l[i], &f);
	}
	put_integers(l, s->length, (float)s->half, out);
	return f.ll > 0 ? f.xl / f.ll : 0;
}

/* --- scale * l - min --- */

struct affine {
	const struct quantize_affine *how;
	const float *x, *w;
	float high, sum_w, sum_x;
	float scale, min,
		error; /* the best so far; min is added, and is what the next trial counts from */
};

static float affine_error(const struct affine *g, const float *l, float scale, float min)
{
	float error = 0;

	for (size_t i = 0; i < g->how->length; i++) {
		float difference = scale * l[i] + min - g->x[i];

		difference = g->how->absolute ? fabsf(difference) : difference * difference;
		error += g->w[i] * difference;
	}
	return error;
}

static void affine_integers(const struct affine *g, float inverse, float *l)
{
	for (size_t i = 0; i < g->how->length; i++)
		l[i] = nearest(inverse * (g->x[i] - g->min), 0, (float)g->how->most);
}

/* A trial of INVERSE steps a unit; whether it is the best so far. */
static bool affine_try(struct affine *g, float inverse, float *l)
{
	float sum_l = 0, sum_ll = 0, sum_xl = 0, determinant, scale, min, error;

	affine_integers(g, inverse, l);
	for (size_t i = 0; i < g->how->length; i++) {
		sum_l += g->w[i] * l[i];
		sum_ll += g->w[i] * l[i] * l[i];
		sum_xl += g->w[i] * l[i] * g->x[i];
	}
	determinant = g->sum_w * sum_ll - sum_l * sum_l;
	if (!(determinant > 0))
		return false;
	scale = (g->sum_w * sum_xl - g->sum_x * sum_l) / determinant;
	min = (sum_ll * g->sum_x - sum_l * sum_xl) / determinant;
	if (min > 0) {
		min = 0;
		scale = sum_xl / sum_ll;
	}
	error = affine_error(g, l, scale, min);
	if (!(error < g->error))
		return false;
	g->error = error;
	g->scale = scale;
	g->min = min;
	return true;
}

static void affine_weights(const struct quantize_affine *a, const float *x, float *w)
{
	float squares = 0, rms = 0;

	if (a->weights == WEIGHTS_RMS_SIZE) {
		for (size_t i = 0; i < a->length; i++)
			squares += x[i] * x[i];
		rms = sqrtf(squares / (float)a->length);
	}
	for (size_t i = 0; i < a->length; i++)
		w[i] = rms + fabsf(x[i]);
}

/* Min is at most 0. */
static void affine_begin(struct affine *g)
{
	g->min = g->high = g->x[0];
	g->sum_w = g->w[0];
	g->sum_x = g->w[0] * g->x[0];
	for (size_t i = 1; i < g->how->length; i++) {
		g->min = g->x[i] < g->min ? g->x[i] : g->min;
		g->high = g->x[i] > g->high ? g->x[i] : g->high;
		g->sum_w += g->w[i];
		g->sum_x += g->w[i] * g->x[i];
	}
	g->min = g->min > 0 ? 0 : g->min;
}

static void affine_search(struct affine *g, uint8_t *out)
{
	const struct quantize_affine *a = g->how;
	float inverse = (float)a->most / (g->high - g->min), l[LONGEST];

	g->scale = 1 / inverse;
	affine_integers(g, inverse, l);
	put_integers(l, a->length, 0, out);
	g->error = affine_error(g, l, g->scale, g->min);
	for (int i = 0; i <= a->steps; i++) {
		inverse = (a->first + a->step * (float)i + (float)a->most) / (g->high - g->min);
		if (affine_try(g, inverse, l))
			put_integers(l, a->length, 0, out);
	}
}

static float affine_group(const struct quantize_affine *a, const float *x, const float *w,
			  float *min, float *sum, uint8_t *out)
{
	struct affine g = { .how = a, .x = x, .w = w };
	float own[LONGEST] = { 0 };

	if (a->weights != WEIGHTS_GIVEN) {
		affine_weights(a, x, own);
		g.w = own;
	}
	affine_begin(&g);
	*sum = g.sum_w;
	memset(out, 0, a->length);
	if (g.high > g.min)
		affine_search(&g, out);
	*min = -g.min;
	return g.scale;
}

/* --- scales of groups as small integers times one of the block --- */

static float positive_error(const float *x, const float *w, size_t n, float inverse, float most)
{
	float scale = 1 / inverse, error = 0;

	for (size_t i = 0; i < n; i++) {
		float difference = x[i] - scale * nearest(inverse * x[i], 0, most);

		error += w[i] * difference * difference;
	}
	return error;
}

/* As move(), of values that are not negative, each with a weight of its own. */
static bool move_positive(float x, float w, float most, float *l, struct fit *f)
{
	struct fit rest = { f->xl - w * x * *l, f->ll - w * *l * *l };
	float to;

	if (!(rest.xl > 0 && rest.ll > 0))
		return false;
	to = nearest(x * rest.ll / rest.xl, 0, most);
	if (to == *l)
		return false;
	rest.xl += w * x * to;
	rest.ll += w * to * to;
	if (!(rest.xl * rest.xl * f->ll > f->xl * f->xl * rest.ll))
		return false;
	*l = to;
	*f = rest;
	return true;
}

static float positive_inverse(const float *x, const float *w, size_t n, float most, float largest)
{
	float best = most / largest, error = positive_error(x, w, n, best, most);

	for (int i = -4; i <= 4; i++) {
		float inverse = (0.1f * (float)i + most) / largest, e;

		if (i == 0)
			continue;
		e = positive_error(x, w, n, inverse, most);
		if (e < error) {
			error = e;
			best = inverse;
		}
	}
	return best;
}

static float positive_group(const float *x, const float *w, size_t n, int most, uint8_t *out)
{
	float largest = 0, l[LONGEST], inverse;
	struct fit f = { 0 };
	bool moved = true;

	for (size_t i = 0; i < n; i++)
		largest = x[i] > largest ? x[i] : largest;
	memset(out, 0, n);
	if (largest < QUANTIZE_NOTHING)
		return 0;
	inverse = positive_inverse(x, w, n, (float)most, largest);
	for (size_t i = 0; i < n; i++) {
		l[i] = nearest(inverse * x[i], 0, (float)most);
		f.xl += w[i] * x[i] * l[i];
		f.ll += w[i] * l[i] * l[i];
	}
	for (int turn = 0; turn < 5 && moved; turn++) {
		moved = false;
		for (size_t i = 0; i < n; i++)
			moved |= move_positive(x[i], w[i], (float)most, &l[i], &f);
	}
	put_integers(l, n, 0, out);
	return f.ll > 0 ? f.xl / f.ll : 0;
}

/* --- places in a table --- */

static const float places[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
				  1,	13,   25,  38,	53,  69,  89,  113 };

/* The nearest; the upper one of two. */
static uint8_t place(float x)
{
	uint8_t at = 0;

	while (at < 15 && x >= (places[at] + places[at + 1]) / 2)
		at++;
	return at;
}

static struct fit fit_table(const float *x, const float *w, float inverse)
{
	struct fit f = { 0 };

	for (size_t i = 0; i < 32; i++) {
		float q = places[place(inverse * x[i])], wi = weight(x, w, i);

		f.xl += wi * q * x[i];
		f.ll += wi * q * q;
	}
	return f;
}

static float search_table(const float *x, const float *w, float most)
{
	struct fit f = fit_table(x, w, 1 / (-most / places[0]));
	float scale = f.ll > 0 ? f.xl / f.ll : 0, best = scale * f.xl;

	for (int i = -7; i <= 7; i++) {
		f = fit_table(x, w, ((float)i + places[0]) / most);
		if (f.ll > 0 && f.xl * f.xl > best * f.ll) {
			scale = f.xl / f.ll;
			best = scale * f.xl;
		}
	}
	return scale;
}

static float table_group(const float *x, const float *w, uint8_t *out)
{
	float most = extreme(x, 32), scale = 0, inverse;

	if (fabsf(most) >= QUANTIZE_NOTHING)
		scale = search_table(x, w, most);
	inverse = scale != 0 ? 1 / scale : 0;
	for (int i = 0; i < 32; i++)
		out[i] = place(inverse * x[i]);
	return scale;
}

/* --- many groups --- */

static void affine_ref(const struct quantize_affine *a, const float *x, const float *w,
		       size_t groups, float *scale, float *min, float *sum, uint8_t *l)
{
	size_t length = a->length;

	for (size_t g = 0; g < groups; g++)
		scale[g] = affine_group(a, x + g * length, w ? w + g * length : NULL, &min[g],
					&sum[g], l + g * length);
}

static void symmetric_ref(const struct quantize_symmetric *s, const float *x, const float *w,
			  size_t groups, float *scale, float *sum, uint8_t *l)
{
	size_t length = s->length;

	for (size_t g = 0; g < groups; g++)
		scale[g] = symmetric_group(s, x + g * length, w ? w + g * length : NULL,
					   sum ? &sum[g] : NULL, l + g * length);
}

static void descend_ref(const struct quantize_symmetric *s, const float *x, size_t groups,
			float *scale, uint8_t *l)
{
	size_t length = s->length;

	for (size_t g = 0; g < groups; g++)
		scale[g] = descend_group(s, x + g * length, l + g * length);
}

static void positive_ref(const float *x, const float *w, size_t groups, size_t length, int most,
			 float *scale, uint8_t *l)
{
	for (size_t g = 0; g < groups; g++, x += length, w += length, l += length)
		scale[g] = positive_group(x, w, length, most, l);
}

static void table_ref(const float *x, const float *w, size_t groups, float *scale, uint8_t *l)
{
	for (size_t g = 0; g < groups; g++)
		scale[g] = table_group(x + g * 32, w ? w + g * 32 : NULL, l + g * 32);
}

static void weigh_ref(const float *x, const float *importance, const float *added, size_t groups,
		      size_t length, float *w)
{
	for (size_t i = 0; i < groups * length; i++)
		w[i] = importance[i] * sqrtf(added[i / length] + x[i] * x[i]);
}

static void nearest_ref(const float *x, const float *scale, const float *min, size_t groups,
			size_t length, float low, float high, uint8_t *l)
{
	for (size_t g = 0; g < groups; g++, x += length, l += length)
		for (size_t i = 0; i < length && scale[g] != 0; i++)
			l[i] = (uint8_t)(nearest((x[i] + min[g]) / scale[g], low, high) - low);
}

const struct quantize_search quantize_search_ref = {
	.affine = affine_ref,
	.symmetric = symmetric_ref,
	.descend = descend_ref,
	.positive = positive_ref,
	.table = table_ref,
	.weigh = weigh_ref,
	.nearest = nearest_ref,
};
