/*
 * kernels/ref/conv.c - convolutions of images and their gradients
 *
 * y[n, o, i, j] = sum over the group's channels ch and the taps (r, s) of x[n, ch, i stride + r dilation - pad, ...] w[o, ch, r, s].
 */
#include "kernels/ref/ref.h"

/* The place in the image of tap R at result I along axis AXIS (0: height, 1: width); -1: padding. */
static int64_t image_at(const struct conv_attributes *a, int axis, size_t i, size_t r,
			size_t length)
{
	int64_t at = (int64_t)i * a->stride[axis] + (int64_t)r * a->dilation[axis] - a->pad[axis];

	return at < 0 || at >= (int64_t)length ? -1 : at;
}

static ptrdiff_t at4(const struct kernel_tensor *t, size_t a, size_t b, size_t c, size_t d)
{
	return (ptrdiff_t)a * t->stride[0] + (ptrdiff_t)b * t->stride[1] +
	       (ptrdiff_t)c * t->stride[2] + (ptrdiff_t)d * t->stride[3];
}

/* The sum for output channel O at (I, J) of image N. */
static double tap_sum(const struct kernel_call *c, const struct ref_index *y)
{
	const struct conv_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *w = &c->in[1];
	size_t per_group = w->shape[1], group = y->at[1] / (w->shape[0] / a->groups);
	double sum = 0;

	for (size_t ch = 0; ch < per_group; ch++)
		for (size_t r = 0; r < w->shape[2]; r++)
			for (size_t s = 0; s < w->shape[3]; s++) {
				int64_t i = image_at(a, 0, y->at[2], r, x->shape[2]);
				int64_t j = image_at(a, 1, y->at[3], s, x->shape[3]);

				if (i < 0 || j < 0)
					continue;
				sum += ref_get(x, at4(x, y->at[0], group * per_group + ch,
						      (size_t)i, (size_t)j)) *
				       ref_get(w, at4(w, y->at[1], ch, r, s));
			}
	return sum;
}

static double bias_of(const struct kernel_call *c, size_t channel)
{
	return ref_has(c, 2) ? ref_get(&c->in[2], (ptrdiff_t)channel * c->in[2].stride[0]) : 0;
}

static void run_conv2d(const struct kernel_call *c)
{
	const struct conv_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at;
		double y;

		ref_index(out, n, &at);
		y = tap_sum(c, &at) + bias_of(c, at.at[1]);
		if (a->activation)
			y = ref_activation(ref_rounded(out->dtype, y), a->activation);
		ref_put(out, ref_offset(out, &at), y);
	}
}
REF_KERNEL(conv2d, run_conv2d);

/* The result's place along AXIS whose tap R falls on image place AT, or -1. */
static int64_t result_at(const struct conv_attributes *a, int axis, size_t at, size_t r,
			 size_t length)
{
	int64_t i = (int64_t)at + a->pad[axis] - (int64_t)r * a->dilation[axis];

	if (i < 0 || i % a->stride[axis] != 0 || i / a->stride[axis] >= (int64_t)length)
		return -1;
	return i / a->stride[axis];
}

static double back_sum(const struct kernel_call *c, const struct ref_index *x)
{
	const struct conv_attributes *a = c->attributes;
	const struct kernel_tensor *dy = &c->in[0], *w = &c->in[1];
	size_t group = x->at[1] / w->shape[1], channel = x->at[1] % w->shape[1];
	size_t outs = w->shape[0] / a->groups;
	double sum = 0;

	for (size_t o = group * outs; o < (group + 1) * outs; o++)
		for (size_t r = 0; r < w->shape[2]; r++)
			for (size_t s = 0; s < w->shape[3]; s++) {
				int64_t i = result_at(a, 0, x->at[2], r, dy->shape[2]);
				int64_t j = result_at(a, 1, x->at[3], s, dy->shape[3]);

				if (i < 0 || j < 0)
					continue;
				sum += ref_get(dy, at4(dy, x->at[0], o, (size_t)i, (size_t)j)) *
				       ref_get(w, at4(w, o, channel, r, s));
			}
	return sum;
}

static void run_conv2d_dx(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at;

		ref_index(out, n, &at);
		ref_put(out, ref_offset(out, &at), back_sum(c, &at) + bias_of(c, at.at[1]));
	}
}
REF_KERNEL(conv2d_dx, run_conv2d_dx);

static double weight_sum(const struct kernel_call *c, const struct ref_index *w)
{
	const struct conv_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *dy = &c->in[1];
	size_t per_group = c->out[0].shape[1], group = w->at[0] / (c->out[0].shape[0] / a->groups);
	double sum = 0;

	for (size_t n = 0; n < x->shape[0]; n++)
		for (size_t i = 0; i < dy->shape[2]; i++)
			for (size_t j = 0; j < dy->shape[3]; j++) {
				int64_t h = image_at(a, 0, i, w->at[2], x->shape[2]);
				int64_t v = image_at(a, 1, j, w->at[3], x->shape[3]);

				if (h < 0 || v < 0)
					continue;
				sum += ref_get(x, at4(x, n, group * per_group + w->at[1], (size_t)h,
						      (size_t)v)) *
				       ref_get(dy, at4(dy, n, w->at[0], i, j));
			}
	return sum;
}

static void run_conv2d_dw(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at;

		ref_index(out, n, &at);
		ref_put(out, ref_offset(out, &at), weight_sum(c, &at));
	}
}
REF_KERNEL(conv2d_dw, run_conv2d_dw);
