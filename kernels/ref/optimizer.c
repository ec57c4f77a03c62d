/*
 * kernels/ref/optimizer.c - what a training step updates in place
 *
 * h[0] is the learning rate, h[1] what the gradient is multiplied by (the clip's factor over the number of accumulated
 * steps). Decay is decoupled: p -= lr decay p, beside the step.
 */
#include <math.h>

#include "kernels/random.h"
#include "kernels/ref/ref.h"

static double scalar(const struct kernel_call *c, int i, size_t at)
{
	return ref_get(&c->in[i], (ptrdiff_t)at * c->in[i].stride[0]);
}

/* A place I of tensor T, counted over all its axes. */
static ptrdiff_t place(const struct kernel_tensor *t, size_t i)
{
	struct ref_index at;

	ref_index(t, i, &at);
	return ref_offset(t, &at);
}

static double get(const struct kernel_call *c, int i, size_t at)
{
	return ref_get(&c->in[i], place(&c->in[i], at));
}

static void put(const struct kernel_call *c, int i, size_t at, double x)
{
	ref_put(&c->out[i], place(&c->out[i], at), x);
}

/* --- sums and averages --- */

static void run_accumulate(const struct kernel_call *c)
{
	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++)
		put(c, 0, i, get(c, 0, i) + ref_rounded(c->out[0].dtype, get(c, 1, i)));
}
REF_KERNEL(accumulate, run_accumulate);

static void run_replace(const struct kernel_call *c)
{
	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++)
		put(c, 0, i, get(c, 1, i));
}
REF_KERNEL(replace, run_replace);

static void run_scale_by(const struct kernel_call *c)
{
	double h = scalar(c, 1, 0);

	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++)
		put(c, 0, i, get(c, 0, i) * h);
}
REF_KERNEL(scale_by, run_scale_by);

static void run_ema(const struct kernel_call *c)
{
	double decay = scalar(c, 2, 0);

	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++)
		put(c, 0, i, decay * get(c, 0, i) + (1 - decay) * get(c, 1, i));
}
REF_KERNEL(ema, run_ema);

/* --- rounding of a parameter --- */

/*
 * Stochastic: of the two values of the dtype around X the upper with the chance of X's place between them. The bits of f32 below
 * those of the dtype are added to as many random bits (bf16: 16).
 */
static double stochastic(const struct kernel_call *c, size_t i, double x)
{
	uint32_t words[4], bits;
	float f = (float)x;

	if (c->out[0].dtype != DTYPE_BF16 || !isfinite(f))
		return x;
	random_block(c->key, 0, i / 4, words);
	memcpy(&bits, &f, sizeof(bits));
	bits += words[i % 4] >> 16;
	bits &= 0xffff0000u;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static void put_parameter(const struct kernel_call *c, size_t i, double x)
{
	const struct optimizer_attributes *a = c->attributes;

	put(c, 0, i, a->stochastic & STOCHASTIC_PARAMETER ? stochastic(c, i, x) : x);
}

/* --- optimizers --- */

/* m = beta1 m + g; p -= lr (m, or g + beta1 m) */
static void run_sgd(const struct kernel_call *c)
{
	const struct optimizer_attributes *a = c->attributes;
	double lr = scalar(c, 3, 0), scale = scalar(c, 3, 1);

	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++) {
		double p = get(c, 0, i), g = get(c, 2, i) * scale;
		double m = a->beta1 * get(c, 1, i) + g;

		put(c, 1, i, m);
		put_parameter(c, i,
			      p - lr * (a->nesterov ? g + a->beta1 * m : m) -
				      lr * a->weight_decay * p);
	}
}
REF_KERNEL(sgd, run_sgd);

/* p -= lr (m / c1 / (sqrt(v / c2) + eps) + decay p), with the corrections c1, c2 in h */
static void run_adamw(const struct kernel_call *c)
{
	const struct optimizer_attributes *a = c->attributes;
	double lr = scalar(c, 4, 0), scale = scalar(c, 4, 1);
	double c1 = scalar(c, 4, 2), c2 = scalar(c, 4, 3);

	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++) {
		double p = get(c, 0, i), g = get(c, 3, i) * scale;
		double m = a->beta1 * get(c, 1, i) + (1 - a->beta1) * g;
		double v = a->beta2 * get(c, 2, i) + (1 - a->beta2) * g * g;

		put(c, 1, i, m);
		put(c, 2, i, v);
		put_parameter(c, i,
			      p - lr * (m / c1 / (sqrt(v / c2) + a->eps) + a->weight_decay * p));
	}
}
REF_KERNEL(adamw, run_adamw);

/* p -= lr (sign(beta1 m + (1 - beta1) g) + decay p); m = beta2 m + (1 - beta2) g */
static void run_lion(const struct kernel_call *c)
{
	const struct optimizer_attributes *a = c->attributes;
	double lr = scalar(c, 3, 0), scale = scalar(c, 3, 1);

	REF_SHARE(c, kernel_elements(&c->out[0]), from, to);
	for (size_t i = from; i < to; i++) {
		double p = get(c, 0, i), g = get(c, 2, i) * scale, m = get(c, 1, i);
		double u = a->beta1 * m + (1 - a->beta1) * g;

		put(c, 1, i, a->beta2 * m + (1 - a->beta2) * g);
		put_parameter(c, i, p - lr * ((u > 0) - (u < 0) + a->weight_decay * p));
	}
}
REF_KERNEL(lion, run_lion);

/*
 * Moments of 8 bits in blocks of 256: the first is scale q / 127, q from -127 to 127; the second's root is scale q / 255, so that
 * small ones keep some bits. Scales are the blocks' largest. A root that is not 0 is at least 1 / 255: rounded to 0, it would
 * begin anew with every step, and each would be sqrt(1 / (1 - beta2)) too large.
 *
 * To the nearest, a first moment would not fall below 5 / 127 when gradients end, nor rise from 0 before they are 5 / 127, and a
 * root would never fall. Rounded stochastically, both are right in the mean. The words are those of row 1: the lower
 * 12 bits for the first moment, the next 12 for the root.
 */
#define BLOCK 256

/* X, or the integer above or below it with the chance of its place between them. CHANCE: 12 bits. */
static double whole(const struct kernel_call *c, double x, uint32_t chance)
{
	const struct optimizer_attributes *a = c->attributes;

	return a->stochastic & STOCHASTIC_MOMENTS ? floor(x + ((chance & 4095) + 0.5) / 4096) : x;
}

static void put_moments(const struct kernel_call *c, size_t at, double m, double r)
{
	uint32_t words[4];

	random_block(c->key, 1, at / 4, words);
	put(c, 1, at, whole(c, m, words[at % 4]));
	r = r > 0 && r < 1 ? 1 : whole(c, r, words[at % 4] >> 12);
	put(c, 2, at, r);
}

static void adam_block(const struct kernel_call *c, size_t block, size_t n)
{
	const struct optimizer_attributes *a = c->attributes;
	double lr = scalar(c, 6, 0), scale = scalar(c, 6, 1);
	double c1 = scalar(c, 6, 2), c2 = scalar(c, 6, 3);
	double m[BLOCK], r[BLOCK], most_m = 0, most_r = 0;
	double scale_m = scalar(c, 3, block), scale_r = scalar(c, 4, block);

	for (size_t i = 0; i < n; i++) {
		size_t at = block * BLOCK + i;
		double p = get(c, 0, at), g = get(c, 5, at) * scale, old;

		m[i] = a->beta1 * get(c, 1, at) * scale_m / 127 + (1 - a->beta1) * g;
		old = get(c, 2, at) * scale_r / 255;
		r[i] = sqrt(a->beta2 * old * old + (1 - a->beta2) * g * g);
		most_m = fabs(m[i]) > most_m ? fabs(m[i]) : most_m;
		most_r = r[i] > most_r ? r[i] : most_r;
		put_parameter(
			c, at,
			p - lr * (m[i] / c1 / (r[i] / sqrt(c2) + a->eps) + a->weight_decay * p));
	}
	most_m = (float)most_m;
	most_r = (float)most_r;
	for (size_t i = 0; i < n; i++)
		put_moments(c, block * BLOCK + i, most_m == 0 ? 0 : m[i] / most_m * 127,
			    most_r == 0 ? 0 : r[i] / most_r * 255);
	ref_put(&c->out[3], (ptrdiff_t)block * c->out[3].stride[0], most_m);
	ref_put(&c->out[4], (ptrdiff_t)block * c->out[4].stride[0], most_r);
}

static void run_adamw8(const struct kernel_call *c)
{
	size_t n = kernel_elements(&c->out[0]);

	REF_SHARE(c, (n + BLOCK - 1) / BLOCK, from, to);
	for (size_t block = from; block < to; block++)
		adam_block(c, block, n - block * BLOCK < BLOCK ? n - block * BLOCK : BLOCK);
}
REF_KERNEL(adamw8, run_adamw8);
