/*
 * kernels/ref/norm.c - normalisations, and their gradients
 *
 * With x^ = (x - m) r, r = 1 / sqrt(variance + eps), y = x^ w + b, and g = dy w:
 *	dx = r (g - mean(g) - x^ mean(g x^)),  dw = sum(dy x^),  db = sum(dy)
 * where the means are over what was normalised together. Without the mean taken off (rms) the term mean(g) goes:
 * d(x r)/dx = r - r^3 x xᵀ / n.
 */
#include <math.h>

#include "kernels/ref/ref.h"

/*
 * What is normalised together: N elements, each with a channel. A set of axes of one index: for a row the last axis, for a
 * group some channels of an image, for a batch one channel of all images.
 */
struct together {
	const struct kernel_call *c;
	size_t n;		/* elements */
	size_t first, channels; /* of channels, when the elements are [channels, inner] */
	size_t which;		/* the row, image x group, or channel */
	enum { BY_ROW, BY_GROUP, BY_CHANNEL } by;
	bool centred;
};

static size_t inner_size(const struct kernel_tensor *x)
{
	size_t n = 1;

	for (int i = 2; i < x->n_axes; i++)
		n *= x->shape[i];
	return n;
}

/* Element I of T: its place in X's order, and its channel. */
static size_t element(const struct together *t, size_t i, size_t *channel)
{
	const struct kernel_tensor *x = &t->c->in[0];
	size_t inner = inner_size(x);

	switch (t->by) {
	case BY_ROW: *channel = i; return t->which * t->n + i;
	case BY_GROUP: *channel = t->first + i / inner; return t->which * t->n + i;
	default:
		*channel = t->which;
		return (i / inner * x->shape[1] + t->which) * inner + i % inner;
	}
}

static double at_place(const struct kernel_tensor *t, size_t place)
{
	struct ref_index at;

	ref_index(t, place, &at);
	return ref_get(t, ref_offset(t, &at));
}

static void put_place(const struct kernel_tensor *t, size_t place, double x)
{
	struct ref_index at;

	ref_index(t, place, &at);
	ref_put(t, ref_offset(t, &at), x);
}

static double channel_of(const struct kernel_call *c, int i, size_t channel, double otherwise)
{
	return ref_has(c, i) ? ref_get(&c->in[i], (ptrdiff_t)channel * c->in[i].stride[0])
			     : otherwise;
}

struct moments {
	double mean, scale;
};

static double variance_of(const struct together *t, double mean)
{
	double sum = 0;
	size_t channel;

	for (size_t i = 0; i < t->n; i++) {
		double d = at_place(&t->c->in[0], element(t, i, &channel)) - mean;

		sum += d * d;
	}
	return sum / (double)t->n;
}

static struct moments moments_of(const struct together *t, double eps)
{
	struct moments m = { 0 };
	size_t channel;

	for (size_t i = 0; i < t->n && t->centred; i++)
		m.mean += at_place(&t->c->in[0], element(t, i, &channel)) / (double)t->n;
	m.scale = 1 / sqrt(variance_of(t, m.mean) + eps);
	return m;
}

static size_t sets(const struct kernel_call *c, struct together *t)
{
	const struct norm_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0];
	size_t all = kernel_elements(x);

	t->c = c;
	switch (t->by) {
	case BY_ROW: t->n = x->shape[x->n_axes - 1]; break;
	case BY_GROUP:
		t->channels = x->shape[1] / a->groups;
		t->n = t->channels * inner_size(x);
		break;
	default: t->n = x->shape[0] * inner_size(x);
	}
	return t->n ? all / t->n : 0;
}

static void choose(struct together *t, size_t which)
{
	const struct norm_attributes *a = t->c->attributes;

	t->which = which;
	if (t->by == BY_GROUP)
		t->first = which % a->groups * t->channels;
}

/* --- forward --- */

static void forward(const struct kernel_call *c, struct together t, struct moments *given)
{
	const struct norm_attributes *a = c->attributes;

	REF_SHARE(c, sets(c, &t), from, to);
	for (size_t s = from; s < to; s++) {
		struct moments m;

		choose(&t, s);
		m = moments_of(&t, a->eps);
		if (given)
			*given = m;
		for (size_t i = 0; i < t.n; i++) {
			size_t channel, place = element(&t, i, &channel);
			double x = (at_place(&c->in[0], place) - m.mean) * m.scale;

			put_place(&c->out[0], place,
				  x * (channel_of(c, 1, channel, 1 - a->offset) + a->offset) +
					  channel_of(c, 2, channel, 0));
		}
	}
}

static void run_rms_norm(const struct kernel_call *c)
{
	forward(c, (struct together){ .by = BY_ROW }, NULL);
}
REF_KERNEL(rms_norm, run_rms_norm);

static void run_layer_norm(const struct kernel_call *c)
{
	forward(c, (struct together){ .by = BY_ROW, .centred = true }, NULL);
}
REF_KERNEL(layer_norm, run_layer_norm);

static void run_group_norm(const struct kernel_call *c)
{
	forward(c, (struct together){ .by = BY_GROUP, .centred = true }, NULL);
}
REF_KERNEL(group_norm, run_group_norm);

/* Also the mean and the biased variance of each channel. */
static void run_batch_norm(const struct kernel_call *c)
{
	const struct norm_attributes *a = c->attributes;
	struct together t = { .by = BY_CHANNEL, .centred = true };

	forward(c, t, NULL);
	REF_SHARE(c, sets(c, &t), from, to);
	for (size_t s = from; s < to; s++) {
		struct moments m;

		choose(&t, s);
		m = moments_of(&t, a->eps);
		ref_put(&c->out[1], (ptrdiff_t)s * c->out[1].stride[0], m.mean);
		ref_put(&c->out[2], (ptrdiff_t)s * c->out[2].stride[0], variance_of(&t, m.mean));
	}
}
REF_KERNEL(batch_norm, run_batch_norm);

/* --- backward: x, dy, ..., w at operand WEIGHT --- */

static void backward_x(const struct kernel_call *c, struct together t, int weight)
{
	const struct norm_attributes *a = c->attributes;

	REF_SHARE(c, sets(c, &t), from, to);
	for (size_t s = from; s < to; s++) {
		struct moments m;
		double mean_g = 0, mean_gx = 0;

		choose(&t, s);
		m = moments_of(&t, a->eps);
		for (size_t i = 0; i < t.n; i++) {
			size_t channel, place = element(&t, i, &channel);
			double x = (at_place(&c->in[0], place) - m.mean) * m.scale;
			double g = at_place(&c->in[1], place) *
				   (channel_of(c, weight, channel, 1 - a->offset) + a->offset);

			mean_g += t.centred ? g / (double)t.n : 0;
			mean_gx += g * x / (double)t.n;
		}
		for (size_t i = 0; i < t.n; i++) {
			size_t channel, place = element(&t, i, &channel);
			double x = (at_place(&c->in[0], place) - m.mean) * m.scale;
			double g = at_place(&c->in[1], place) *
				   (channel_of(c, weight, channel, 1 - a->offset) + a->offset);

			put_place(&c->out[0], place, m.scale * (g - mean_g - x * mean_gx));
		}
	}
}

/* Sums over all sets, for the channels of this part. */
static void backward_channels(const struct kernel_call *c, struct together t)
{
	const struct norm_attributes *a = c->attributes;
	size_t n = sets(c, &t);

	if (c->n_out < 2)
		return;
	REF_SHARE(c, c->out[1].shape[0], from, to);
	for (size_t k = from; k < to; k++) {
		double dw = 0, db = 0;

		for (size_t s = 0; s < n; s++) {
			struct moments m;

			choose(&t, s);
			m = moments_of(&t, a->eps);
			for (size_t i = 0; i < t.n; i++) {
				size_t channel, place = element(&t, i, &channel);
				double dy = channel == k ? at_place(&c->in[1], place) : 0;

				if (channel != k)
					continue;
				dw += dy * (at_place(&c->in[0], place) - m.mean) * m.scale;
				db += dy;
			}
		}
		ref_put(&c->out[1], (ptrdiff_t)k * c->out[1].stride[0], dw);
		if (c->n_out > 2)
			ref_put(&c->out[2], (ptrdiff_t)k * c->out[2].stride[0], db);
	}
}

static void backward(const struct kernel_call *c, struct together t, int weight)
{
	backward_x(c, t, weight);
	backward_channels(c, t);
}

static void run_rms_norm_grad(const struct kernel_call *c)
{
	backward(c, (struct together){ .by = BY_ROW }, 2);
}
REF_KERNEL(rms_norm_grad, run_rms_norm_grad);

static void run_layer_norm_grad(const struct kernel_call *c)
{
	backward(c, (struct together){ .by = BY_ROW, .centred = true }, 2);
}
REF_KERNEL(layer_norm_grad, run_layer_norm_grad);

static void run_group_norm_grad(const struct kernel_call *c)
{
	backward(c, (struct together){ .by = BY_GROUP, .centred = true }, 2);
}
REF_KERNEL(group_norm_grad, run_group_norm_grad);

/* The batch's mean and variance are computed again from x: in f32 they have lost too much for a reference. */
static void run_batch_norm_grad(const struct kernel_call *c)
{
	backward(c, (struct together){ .by = BY_CHANNEL, .centred = true }, 4);
}
REF_KERNEL(batch_norm_grad, run_batch_norm_grad);
