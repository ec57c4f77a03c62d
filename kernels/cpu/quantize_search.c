/*
 * kernels/cpu/quantize_search.c - searches of kernels/ref/quantize_search.c, a group in each lane: scale * l, and scales of scales
 */
#include "kernels/cpu/quantize_lanes.h"

/* The value of largest size, with its sign; the first of several. */
static vf32 extreme(const vf32 *x, size_t length)
{
	vf32 most = { 0 }, size = { 0 };

	for (size_t i = 0; i < length; i++) {
		vf32 a = simd_abs(x[i]);

		most = simd_select((vi32)(a > size), most, x[i]);
		size = simd_max(a, size);
	}
	return most;
}

/* --- scale * l --- */

struct fit {
	vf32 xl, ll;
};

struct symmetric {
	size_t length;
	vf32 low, high;
	vf32 x[QUANTIZE_LONGEST], w[QUANTIZE_LONGEST],
		wx[QUANTIZE_LONGEST]; /* values, weights, products */
};

static void symmetric_load(struct symmetric *s, const struct quantize_symmetric *how,
			   const float *x, const float *w, size_t groups)
{
	s->length = how->length;
	s->low = simd_f32((float)-how->half);
	s->high = simd_f32((float)(how->half - 1));
	quantize_spread(x, how->length, groups, s->x);
	if (w)
		quantize_spread(w, how->length, groups, s->w);
	for (size_t i = 0; i < how->length; i++) {
		if (!w)
			s->w[i] = s->x[i] * s->x[i];
		s->wx[i] = s->w[i] * s->x[i];
	}
}

SIMD_INLINE void fit_add(const struct symmetric *s, size_t i, vf32 inverse, struct fit *f)
{
	vf32 l = quantize_nearest(inverse * s->x[i], s->low, s->high);

	f->xl += s->wx[i] * l;
	f->ll += s->w[i] * l * l;
}

/* Three trials at once, so that no sum waits for itself. */
SIMD_INLINE void fit_three(const struct symmetric *s, const vf32 *inverse, struct fit *f)
{
	f[0] = f[1] = f[2] = (struct fit){ 0 };
	for (size_t i = 0; i < s->length; i++) {
		fit_add(s, i, inverse[0], &f[0]);
		fit_add(s, i, inverse[1], &f[1]);
		fit_add(s, i, inverse[2], &f[2]);
	}
}

/* The best so far: its scale, what it gains, and what the integers came from. */
struct best {
	vf32 scale, gain, inverse;
};

SIMD_INLINE void take_better(const struct fit *f, vf32 inverse, struct best *b)
{
	vi32 better = (vi32)(f->ll > 0) & (vi32)(f->xl * f->xl > b->gain * f->ll);
	vf32 scale = f->xl / f->ll;

	b->scale = simd_select(better, b->scale, scale);
	b->gain = simd_select(better, b->gain, scale * f->xl);
	b->inverse = simd_select(better, b->inverse, inverse);
}

/* The trials of I - 1, I, I + 1 tenths. */
static void try_three(const struct symmetric *s, float half, int at, vf32 most, struct best *b)
{
	vf32 inverse[3];
	struct fit f[3];

	for (int k = 0; k < 3; k++)
		inverse[k] = simd_f32(-(half + 0.1f * (float)(at + k - 1))) / most;
	fit_three(s, inverse, f);
	for (int k = 0; k < 3; k++)
		if (at + k - 1 != 0)
			take_better(&f[k], inverse[k], b);
}

static void symmetric_search(const struct symmetric *s, float half, vf32 most, struct best *b)
{
	vf32 inverse = simd_f32(-half) / most;
	struct fit f = { 0 };

	for (size_t i = 0; i < s->length; i++)
		fit_add(s, i, inverse, &f);
	b->scale = simd_keep((vi32)(f.ll != 0), f.xl / f.ll);
	b->gain = b->scale * f.xl;
	b->inverse = inverse;
	for (int at = -8; at <= 8; at += 3)
		try_three(s, half, at, most, b);
	/* -8, -5, -2, 1, 4, 7 and their neighbours: what is left is 9. */
	inverse = simd_f32(-(half + 0.1f * 9)) / most;
	f = (struct fit){ 0 };
	for (size_t i = 0; i < s->length; i++)
		fit_add(s, i, inverse, &f);
	take_better(&f, inverse, b);
}

static vf32 sum_of(const vf32 *x, size_t length)
{
	vf32 sum = { 0 };

	for (size_t i = 0; i < length; i++)
		sum += x[i];
	return sum;
}

static void symmetric_lanes(const struct quantize_symmetric *how, const float *x, const float *w,
			    size_t groups, float *scale, float *sum, uint8_t *l)
{
	vf32 most, integers[QUANTIZE_LONGEST];
	struct symmetric s;
	struct best b;
	vi32 some;

	symmetric_load(&s, how, x, w, groups);
	if (sum)
		quantize_put_floats(sum_of(s.w, s.length), groups, sum);
	most = extreme(s.x, s.length);
	some = (vi32)(simd_abs(most) >= simd_f32(QUANTIZE_NOTHING));
	symmetric_search(&s, (float)how->half, most, &b);
	quantize_put_floats(simd_keep(some, b.scale), groups, scale);
	for (size_t i = 0; i < s.length; i++)
		integers[i] = quantize_nearest(b.inverse * s.x[i], s.low, s.high);
	quantize_put_integers(integers, some, (float)how->half, s.length, groups, l);
}

static void symmetric(const struct quantize_symmetric *how, const float *x, const float *w,
		      size_t groups, float *scale, float *sum, uint8_t *l)
{
	for (size_t g = 0; g < groups; g += SIMD_WIDTH)
		symmetric_lanes(how, x + g * how->length, w ? w + g * how->length : NULL,
				quantize_lanes(groups - g), scale + g, sum ? sum + g : NULL,
				l + g * how->length);
}

/* --- one integer after the other --- */

/*
 * WX and SIMD_WIDTH of a value whose integer is L: moves it to the best one beside the others, in lanes where that is a gain. POSITIVE: the rest
 * must have more than zeros.
 */
SIMD_INLINE vi32 move(vf32 x, vf32 w, vf32 low, vf32 high, bool positive, vf32 *l, struct fit *f)
{
	vf32 wx = w * x, xl = f->xl - wx * *l, ll = f->ll - w * *l * *l;
	vf32 to = quantize_nearest(x * ll / xl, low, high);
	vi32 moved = (vi32)(xl > 0) & (vi32)(to != *l);

	if (positive)
		moved &= (vi32)(ll > 0);
	xl += wx * to;
	ll += w * to * to;
	moved &= (vi32)(xl * xl * f->ll > f->xl * f->xl * ll);
	if (!positive)
		moved &= (vi32)(ll > 0);
	*l = simd_select(moved, *l, to);
	f->xl = simd_select(moved, f->xl, xl);
	f->ll = simd_select(moved, f->ll, ll);
	return moved;
}

static vf32 fit_scale(const struct fit *f)
{
	return simd_keep((vi32)(f->ll > 0), f->xl / f->ll);
}

/* Lanes of groups on their way down; several such are moved in turn, since each step waits for the one before. */
#define DESCENTS 4

struct descent {
	struct symmetric s;
	vf32 integers[QUANTIZE_LONGEST];
	struct fit f;
	vi32 some;
};

static void descent_begin(struct descent *d, const struct quantize_symmetric *how, const float *x,
			  size_t groups)
{
	vf32 most, inverse;

	symmetric_load(&d->s, how, x, NULL, groups);
	most = extreme(d->s.x, d->s.length);
	d->some = (vi32)(simd_abs(most) >= simd_f32(QUANTIZE_NOTHING));
	inverse = simd_f32((float)-how->half) / most;
	d->f = (struct fit){ 0 };
	for (size_t i = 0; i < d->s.length; i++) {
		d->integers[i] = quantize_nearest(inverse * d->s.x[i], d->s.low, d->s.high);
		fit_add(&d->s, i, inverse, &d->f);
	}
}

/* Whether any lane moved; one that has come to rest stays as it is. */
SIMD_INLINE bool descent_turn(struct descent *d, size_t n)
{
	vi32 moved = { 0 };

	for (size_t i = 0; i < d->s.length; i++) {
		SIMD_UNROLL
		for (size_t k = 0; k < n; k++) {
			struct symmetric *s = &d[k].s;

			moved |= d[k].some & move(s->x[i], s->w[i], s->low, s->high, false,
						  &d[k].integers[i], &d[k].f);
		}
	}
	return simd_any(moved);
}

static void descend_some(struct descent *d, size_t n)
{
	for (int turn = 0; turn < 5; turn++)
		if (!(n == DESCENTS ? descent_turn(d, DESCENTS) : descent_turn(d, n)))
			break;
}

static void descend(const struct quantize_symmetric *how, const float *x, size_t groups,
		    float *scale, uint8_t *l)
{
	struct descent d[DESCENTS];
	size_t here[DESCENTS], n;

	for (size_t g = 0; g < groups;) {
		size_t at = g;

		for (n = 0; n < DESCENTS && g < groups; n++, g += SIMD_WIDTH) {
			here[n] = quantize_lanes(groups - g);
			descent_begin(&d[n], how, x + g * how->length, here[n]);
		}
		descend_some(d, n);
		for (size_t k = 0; k < n; k++, at += SIMD_WIDTH) {
			quantize_put_floats(simd_keep(d[k].some, fit_scale(&d[k].f)), here[k],
					    scale + at);
			quantize_put_integers(d[k].integers, d[k].some, (float)how->half,
					      how->length, here[k], l + at * how->length);
		}
	}
}

/* --- scales of groups as small integers times one of the block --- */

struct positive {
	size_t length;
	vf32 x[QUANTIZE_LONGEST], w[QUANTIZE_LONGEST];
	vf32 most;
};

static vf32 positive_error(const struct positive *p, vf32 inverse)
{
	vf32 scale = simd_f32(1) / inverse, error = { 0 }, zero = { 0 };

	for (size_t i = 0; i < p->length; i++) {
		vf32 d = p->x[i] - scale * quantize_nearest(inverse * p->x[i], zero, p->most);

		error += p->w[i] * d * d;
	}
	return error;
}

static vf32 positive_inverse(const struct positive *p, vf32 largest)
{
	vf32 best = p->most / largest, error = positive_error(p, best);

	for (int i = -4; i <= 4; i++) {
		vf32 inverse = (simd_f32(0.1f * (float)i) + p->most) / largest;
		vf32 e = positive_error(p, inverse);
		vi32 better = i ? (vi32)(e < error) : (vi32){ 0 };

		best = simd_select(better, best, inverse);
		error = simd_select(better, error, e);
	}
	return best;
}

static void positive_descend(const struct positive *p, vf32 inverse, vf32 *l, struct fit *f)
{
	vf32 zero = { 0 };

	for (size_t i = 0; i < p->length; i++) {
		l[i] = quantize_nearest(inverse * p->x[i], zero, p->most);
		f->xl += p->w[i] * p->x[i] * l[i];
		f->ll += p->w[i] * l[i] * l[i];
	}
	for (int turn = 0; turn < 5; turn++) {
		vi32 moved = { 0 };

		for (size_t i = 0; i < p->length; i++)
			moved |= move(p->x[i], p->w[i], zero, p->most, true, &l[i], f);
		if (!simd_any(moved))
			break;
	}
}

static void positive_lanes(const float *x, const float *w, size_t groups, size_t length, int most,
			   float *scale, uint8_t *l)
{
	struct positive p = { .length = length, .most = simd_f32((float)most) };
	vf32 largest = { 0 }, integers[QUANTIZE_LONGEST];
	struct fit f = { 0 };
	vi32 some;

	quantize_spread(x, length, groups, p.x);
	quantize_spread(w, length, groups, p.w);
	for (size_t i = 0; i < length; i++)
		largest = simd_max(p.x[i], largest);
	some = (vi32)(largest >= simd_f32(QUANTIZE_NOTHING));
	positive_descend(&p, positive_inverse(&p, largest), integers, &f);
	quantize_put_floats(simd_keep(some, fit_scale(&f)), groups, scale);
	quantize_put_integers(integers, some, 0, length, groups, l);
}

static void positive(const float *x, const float *w, size_t groups, size_t length, int most,
		     float *scale, uint8_t *l)
{
	for (size_t g = 0; g < groups; g += SIMD_WIDTH)
		positive_lanes(x + g * length, w + g * length, quantize_lanes(groups - g), length,
			       most, scale + g, l + g * length);
}

/* --- values where they lie --- */

static void weigh(const float *x, const float *importance, const float *added, size_t groups,
		  size_t length, float *w)
{
	for (size_t i = 0; i < groups * length; i += SIMD_WIDTH) {
		vf32 v = simd_load(x + i);

		simd_store(w + i, simd_load(importance + i) *
					  simd_sqrt(simd_f32(added[i / length]) + v * v));
	}
}

/* 32 values at most, of a group. */
SIMD_INLINE void nearest_group(const float *x, size_t n, float scale, float min, float low,
			       float high, uint8_t *l)
{
	vf32 v[QUANTIZE_VECTORS] = { { 0 } };
	uint8_t bytes[32];

	for (size_t i = 0; i < n / SIMD_WIDTH; i++)
		v[i] = quantize_nearest((simd_load(x + i * SIMD_WIDTH) + simd_f32(min)) /
						simd_f32(scale),
					simd_f32(low), simd_f32(high)) -
		       simd_f32(low);
	quantize_bytes(v, false, false, bytes);
	memcpy(l, bytes, n);
}

static void nearest_values(const float *x, const float *scale, const float *min, size_t groups,
			   size_t length, float low, float high, uint8_t *l)
{
	for (size_t g = 0; g < groups; g++, x += length, l += length) {
		if (scale[g] == 0)
			continue;
		if (length == 32)
			nearest_group(x, 32, scale[g], min[g], low, high, l);
		else
			nearest_group(x, 16, scale[g], min[g], low, high, l);
	}
}

const struct quantize_search LEVEL_NAME(quantize_search) = {
	.affine = LEVEL_NAME(quantize_affine),
	.symmetric = symmetric,
	.descend = descend,
	.positive = positive,
	.table = LEVEL_NAME(quantize_table),
	.weigh = weigh,
	.nearest = nearest_values,
};
