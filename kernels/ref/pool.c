/*
 * kernels/ref/pool.c - windows of images: their largest, their mean; and resizing
 *
 * Resizing follows PyTorch: with align_corners place i lies at i (in - 1) / (out - 1), else at (i + 1/2) in / out - 1/2 (for bilinear
 * not below 0), for nearest at floor(i in / out). Bicubic is Keys' kernel with a = -0.75 and edges repeated.
 */
#include <math.h>

#include "kernels/ref/ref.h"

struct window {
	size_t from, to; /* places in the image */
	size_t padded;	 /* how many places it would have without edges */
};

static struct window window_of(const struct pool_attributes *a, int axis, size_t i, size_t length)
{
	int64_t first = (int64_t)i * a->stride[axis] - a->pad[axis], last = first + a->kernel[axis];
	int64_t end = (int64_t)length + a->pad[axis];
	struct window w = { .padded = (size_t)((last < end ? last : end) - first) };

	w.from = first < 0 ? 0 : (size_t)first;
	w.to = last > (int64_t)length ? length : (size_t)last;
	return w;
}

static void run_max_pool(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0], *places = &c->out[1];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at, in;
		struct window h, w;
		double most = -INFINITY;
		size_t place;

		ref_index(out, n, &at);
		h = window_of(c->attributes, 0, at.at[2], x->shape[2]);
		w = window_of(c->attributes, 1, at.at[3], x->shape[3]);
		place = h.from * x->shape[3] + w.from;
		in = at;
		for (in.at[2] = h.from; in.at[2] < h.to; in.at[2]++)
			for (in.at[3] = w.from; in.at[3] < w.to; in.at[3]++) {
				double v = ref_get(x, ref_offset(x, &in));

				if (v > most || (isnan(v) && !isnan(most))) {
					most = v;
					place = in.at[2] * x->shape[3] + in.at[3];
				}
			}
		ref_put(out, ref_offset(out, &at), most);
		ref_put(places, ref_offset(places, &at), (double)place);
	}
}
REF_KERNEL(max_pool, run_max_pool);

static void run_max_pool_grad(const struct kernel_call *c)
{
	const struct kernel_tensor *dy = &c->in[0], *places = &c->in[1], *dx = &c->out[0];

	REF_SHARE(c, kernel_elements(dx), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at, y;
		double sum = 0;

		ref_index(dx, n, &at);
		y = at;
		for (y.at[2] = 0; y.at[2] < dy->shape[2]; y.at[2]++)
			for (y.at[3] = 0; y.at[3] < dy->shape[3]; y.at[3]++)
				if (ref_get(places, ref_offset(places, &y)) ==
				    (double)(at.at[2] * dx->shape[3] + at.at[3]))
					sum += ref_get(dy, ref_offset(dy, &y));
		ref_put(dx, ref_offset(dx, &at), sum);
	}
}
REF_KERNEL(max_pool_grad, run_max_pool_grad);

static double divisor(const struct pool_attributes *a, struct window h, struct window w)
{
	return a->count_pad ? (double)(h.padded * w.padded)
			    : (double)((h.to - h.from) * (w.to - w.from));
}

static void run_avg_pool(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at, in;
		struct window h, w;
		double sum = 0;

		ref_index(out, n, &at);
		h = window_of(c->attributes, 0, at.at[2], x->shape[2]);
		w = window_of(c->attributes, 1, at.at[3], x->shape[3]);
		in = at;
		for (in.at[2] = h.from; in.at[2] < h.to; in.at[2]++)
			for (in.at[3] = w.from; in.at[3] < w.to; in.at[3]++)
				sum += ref_get(x, ref_offset(x, &in));
		ref_put(out, ref_offset(out, &at), sum / divisor(c->attributes, h, w));
	}
}
REF_KERNEL(avg_pool, run_avg_pool);

static bool holds(struct window w, size_t at)
{
	return at >= w.from && at < w.to;
}

static void run_avg_pool_grad(const struct kernel_call *c)
{
	const struct kernel_tensor *dy = &c->in[0], *dx = &c->out[0];

	REF_SHARE(c, kernel_elements(dx), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at, y;
		double sum = 0;

		ref_index(dx, n, &at);
		y = at;
		for (y.at[2] = 0; y.at[2] < dy->shape[2]; y.at[2]++)
			for (y.at[3] = 0; y.at[3] < dy->shape[3]; y.at[3]++) {
				struct window h =
					window_of(c->attributes, 0, y.at[2], dx->shape[2]);
				struct window w =
					window_of(c->attributes, 1, y.at[3], dx->shape[3]);

				if (holds(h, at.at[2]) && holds(w, at.at[3]))
					sum += ref_get(dy, ref_offset(dy, &y)) /
					       divisor(c->attributes, h, w);
			}
		ref_put(dx, ref_offset(dx, &at), sum);
	}
}
REF_KERNEL(avg_pool_grad, run_avg_pool_grad);

/* --- resizing --- */

#define TAPS 4

/* Which places of an axis of LENGTH the place I of one of MADE is made of, and how. */
struct taps {
	size_t n, at[TAPS];
	double weight[TAPS];
};

static double source_place(const struct resize_attributes *a, size_t i, size_t length, size_t made)
{
	if (a->align_corners)
		return made > 1 ? (double)i * (double)(length - 1) / (double)(made - 1) : 0;
	return ((double)i + 0.5) * (double)length / (double)made - 0.5;
}

static double keys(double x)
{
	const double a = -0.75;

	x = fabs(x);
	if (x <= 1)
		return ((a + 2) * x - (a + 3)) * x * x + 1;
	return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

static size_t clamped(int64_t i, size_t length)
{
	return i < 0 ? 0 : i >= (int64_t)length ? length - 1 : (size_t)i;
}

static struct taps taps_of(const struct resize_attributes *a, size_t i, size_t length, size_t made)
{
	double place = source_place(a, i, length, made);
	struct taps t = { 0 };
	int64_t first;

	if (a->mode == RESIZE_NEAREST)
		return (struct taps){ 1, { clamped((int64_t)(i * length / made), length) }, { 1 } };
	if (a->mode == RESIZE_BILINEAR && place < 0)
		place = 0;
	first = (int64_t)floor(place);
	if (a->mode == RESIZE_BILINEAR)
		return (struct taps){ 2,
				      { clamped(first, length), clamped(first + 1, length) },
				      { 1 - (place - (double)first), place - (double)first } };
	for (t.n = 0; t.n < TAPS; t.n++) {
		int64_t at = first - 1 + (int64_t)t.n;

		t.at[t.n] = clamped(at, length);
		t.weight[t.n] = keys(place - (double)at);
	}
	return t;
}

static void run_resize(const struct kernel_call *c)
{
	const struct resize_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at, in;
		struct taps h, w;
		double sum = 0;

		ref_index(out, n, &at);
		h = taps_of(a, at.at[2], x->shape[2], out->shape[2]);
		w = taps_of(a, at.at[3], x->shape[3], out->shape[3]);
		in = at;
		for (size_t i = 0; i < h.n; i++)
			for (size_t j = 0; j < w.n; j++) {
				in.at[2] = h.at[i];
				in.at[3] = w.at[j];
				sum += h.weight[i] * w.weight[j] * ref_get(x, ref_offset(x, &in));
			}
		ref_put(out, ref_offset(out, &at), sum);
	}
}
REF_KERNEL(resize, run_resize);

/* How much of place AT goes into T. */
static double share_of(const struct taps *t, size_t at)
{
	double sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += t->at[i] == at ? t->weight[i] : 0;
	return sum;
}

static void run_resize_grad(const struct kernel_call *c)
{
	const struct resize_attributes *a = c->attributes;
	const struct kernel_tensor *dy = &c->in[0], *dx = &c->out[0];

	REF_SHARE(c, kernel_elements(dx), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at, y;
		double sum = 0;

		ref_index(dx, n, &at);
		y = at;
		for (y.at[2] = 0; y.at[2] < dy->shape[2]; y.at[2]++) {
			struct taps h = taps_of(a, y.at[2], dx->shape[2], dy->shape[2]);
			double share = share_of(&h, at.at[2]);

			for (y.at[3] = 0; share != 0 && y.at[3] < dy->shape[3]; y.at[3]++) {
				struct taps w = taps_of(a, y.at[3], dx->shape[3], dy->shape[3]);
				double both = share * share_of(&w, at.at[3]);

				sum += both == 0 ? 0 : both * ref_get(dy, ref_offset(dy, &y));
			}
		}
		ref_put(dx, ref_offset(dx, &at), sum);
	}
}
REF_KERNEL(resize_grad, run_resize_grad);
