/*
 * kernels/cpu/quantize_affine.c - searches of kernels/ref/quantize_search.c, a group in each lane: scale * l - min, and IQ4_NL's table
 */
#include "kernels/cpu/quantize_lanes.h"

struct affine {
	const struct quantize_affine *how;
	vf32 x[QUANTIZE_LONGEST], w[QUANTIZE_LONGEST];
	vf32 most; /* the largest integer */
	vf32 high, sum_w, sum_x;
	vf32 scale, min,
		error; /* the best so far; min is added, and the next trial counts from it */
	vf32 best_inverse, best_from; /* what the best integers came from */
};

static void load_weights(struct affine *g)
{
	size_t n = g->how->length;
	vf32 squares = { 0 }, rms = { 0 };

	if (g->how->weights == WEIGHTS_RMS_SIZE) {
		for (size_t i = 0; i < n; i++)
			squares += g->x[i] * g->x[i];
		rms = simd_sqrt(squares / simd_f32((float)n));
	}
	for (size_t i = 0; i < n; i++)
		g->w[i] = rms + simd_abs(g->x[i]);
}

static void begin(struct affine *g)
{
	vf32 zero = { 0 };

	g->most = simd_f32((float)g->how->most);
	g->min = g->high = g->x[0];
	g->sum_w = g->w[0];
	g->sum_x = g->w[0] * g->x[0];
	for (size_t i = 1; i < g->how->length; i++) {
		g->min = simd_min(g->x[i], g->min);
		g->high = simd_max(g->x[i], g->high);
		g->sum_w += g->w[i];
		g->sum_x += g->w[i] * g->x[i];
	}
	g->min = simd_select((vi32)(g->min > 0), g->min, zero);
}

SIMD_INLINE vf32 integer(const struct affine *g, size_t i, vf32 inverse)
{
	return quantize_nearest(inverse * (g->x[i] - g->min), (vf32){ 0 }, g->most);
}

SIMD_INLINE vf32 error_of(const struct affine *g, size_t i, vf32 l, vf32 scale, vf32 min,
			  bool absolute)
{
	vf32 difference = scale * l + min - g->x[i];

	return g->w[i] * (absolute ? simd_abs(difference) : difference * difference);
}

/* The closed form; MIN is held to 0 or less. */
SIMD_INLINE void least_squares(const struct affine *g, vf32 l, vf32 ll, vf32 xl, vf32 determinant,
			       vf32 *scale, vf32 *min)
{
	vi32 above;

	*scale = (g->sum_w * xl - g->sum_x * l) / determinant;
	*min = (ll * g->sum_x - l * xl) / determinant;
	above = (vi32)(*min > 0);
	if (simd_any(above)) {
		*scale = simd_select(above, *scale, xl / ll);
		*min = simd_select(above, *min, (vf32){ 0 });
	}
}

/* A trial of INVERSE steps a unit. LENGTH and ABSOLUTE are g->how's, constants here. */
SIMD_INLINE void try_one(struct affine *g, vf32 inverse, size_t length, bool absolute)
{
	vf32 sum_l = { 0 }, sum_ll = { 0 }, sum_xl = { 0 }, determinant, scale, min;
	vf32 l[QUANTIZE_LONGEST], error = { 0 };
	vi32 better;

	for (size_t i = 0; i < length; i++) {
		vf32 wl;

		l[i] = integer(g, i, inverse);
		wl = g->w[i] * l[i];
		sum_l += wl;
		sum_ll += wl * l[i];
		sum_xl += wl * g->x[i];
	}
	determinant = g->sum_w * sum_ll - sum_l * sum_l;
	least_squares(g, sum_l, sum_ll, sum_xl, determinant, &scale, &min);
	for (size_t i = 0; i < length; i++)
		error += error_of(g, i, l[i], scale, min, absolute);
	better = (vi32)(determinant > 0) & (vi32)(error < g->error);
	g->error = simd_select(better, g->error, error);
	g->best_inverse = simd_select(better, g->best_inverse, inverse);
	g->best_from = simd_select(better, g->best_from, g->min);
	g->scale = simd_select(better, g->scale, scale);
	g->min = simd_select(better, g->min, min);
}

SIMD_INLINE void search(struct affine *g, size_t length, bool absolute)
{
	const struct quantize_affine *a = g->how;
	vf32 inverse = g->most / (g->high - g->min);

	g->scale = simd_f32(1) / inverse;
	g->best_inverse = inverse;
	g->best_from = g->min;
	g->error = (vf32){ 0 };
	for (size_t i = 0; i < length; i++)
		g->error += error_of(g, i, integer(g, i, inverse), g->scale, g->min, absolute);
	for (int i = 0; i <= a->steps; i++) {
		inverse = simd_f32(a->first + a->step * (float)i + (float)a->most) /
			  (g->high - g->min);
		try_one(g, inverse, length, absolute);
	}
}

static void search_lanes(struct affine *g)
{
	if (g->how->absolute)
		search(g, 16, true);
	else if (g->how->length == 16)
		search(g, 16, false);
	else
		search(g, 32, false);
}

static void put_result(const struct affine *g, vi32 some, vf32 low, size_t groups, float *scale,
		       float *min, float *sum, uint8_t *l)
{
	vf32 integers[QUANTIZE_LONGEST];

	quantize_put_floats(simd_keep(some, g->scale), groups, scale);
	quantize_put_floats(-simd_select(some, low, g->min), groups, min);
	quantize_put_floats(g->sum_w, groups, sum);
	for (size_t i = 0; i < g->how->length; i++)
		integers[i] = quantize_nearest(g->best_inverse * (g->x[i] - g->best_from),
					       (vf32){ 0 }, g->most);
	quantize_put_integers(integers, some, 0, g->how->length, groups, l);
}

void LEVEL_NAME(quantize_affine)(const struct quantize_affine *a, const float *x, const float *w,
				 size_t groups, float *scale, float *min, float *sum, uint8_t *l)
{
	for (size_t at = 0; at < groups; at += SIMD_WIDTH) {
		size_t here = quantize_lanes(groups - at), from = at * a->length;
		struct affine g = { .how = a };
		vi32 some;
		vf32 low;

		quantize_spread(x + from, a->length, here, g.x);
		if (a->weights == WEIGHTS_GIVEN)
			quantize_spread(w + from, a->length, here, g.w);
		else
			load_weights(&g);
		begin(&g);
		some = (vi32)(g.high > g.min);
		low = g.min;
		search_lanes(&g);
		put_result(&g, some, low, here, scale + at, min + at, sum + at, l + from);
	}
}

/* --- IQ4_NL --- */

static const float places[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
				  1,	13,   25,  38,	53,  69,  89,  113 };

struct table {
	vf32 x[32], w[32];
};

/* The place that is nearest, and what stands there. */
SIMD_INLINE vf32 nearest_place(vf32 x, vf32 *at)
{
	vf32 q = simd_f32(places[0]);

	*at = (vf32){ 0 };
	SIMD_UNROLL
	for (int k = 0; k < 15; k++) {
		vi32 above = (vi32)(x >= simd_f32((places[k] + places[k + 1]) / 2));

		q += simd_keep(above, simd_f32(places[k + 1] - places[k]));
		*at += simd_keep(above, simd_f32(1));
	}
	return q;
}

static void fit_table(const struct table *t, vf32 inverse, vf32 *xl, vf32 *ll)
{
	*xl = *ll = (vf32){ 0 };
	for (size_t i = 0; i < 32; i++) {
		vf32 at, q = nearest_place(inverse * t->x[i], &at);

		*xl += t->w[i] * q * t->x[i];
		*ll += t->w[i] * q * q;
	}
}

static vf32 search_table(const struct table *t, vf32 most)
{
	vf32 xl, ll, scale, gain;

	fit_table(t, simd_f32(1) / (-most / simd_f32(places[0])), &xl, &ll);
	scale = simd_keep((vi32)(ll > 0), xl / ll);
	gain = scale * xl;
	for (int i = -7; i <= 7; i++) {
		vi32 better;

		fit_table(t, simd_f32((float)i + places[0]) / most, &xl, &ll);
		better = (vi32)(ll > 0) & (vi32)(xl * xl > gain * ll);
		scale = simd_select(better, scale, xl / ll);
		gain = simd_select(better, gain, xl / ll * xl);
	}
	return scale;
}

static vf32 table_scale(const struct table *t)
{
	vf32 most = { 0 };

	for (size_t i = 0; i < 32; i++)
		most = simd_select((vi32)(simd_abs(t->x[i]) > simd_abs(most)), most, t->x[i]);
	return simd_keep((vi32)(simd_abs(most) >= simd_f32(QUANTIZE_NOTHING)),
			 search_table(t, most));
}

void LEVEL_NAME(quantize_table)(const float *x, const float *w, size_t groups, float *scale,
				uint8_t *l)
{
	for (size_t g = 0; g < groups; g += SIMD_WIDTH) {
		size_t here = quantize_lanes(groups - g);
		vf32 integers[32], inverse, of;
		struct table t;

		quantize_spread(x + g * 32, 32, here, t.x);
		if (w)
			quantize_spread(w + g * 32, 32, here, t.w);
		for (size_t i = 0; i < 32 && !w; i++)
			t.w[i] = t.x[i] * t.x[i];
		of = table_scale(&t);
		inverse = simd_keep((vi32)(of != 0), simd_f32(1) / of);
		for (size_t i = 0; i < 32; i++)
			nearest_place(inverse * t.x[i], &integers[i]);
		quantize_put_floats(of, here, scale + g);
		quantize_put_integers(integers, (vi32)(of == of), 0, 32, here, l + g * 32);
	}
}
