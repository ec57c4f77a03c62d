/*
 * kernels/cpu/pool.c - the largest and the mean of windows of images, resizing, and their gradients
 *
 * A channel of an image is a task, in planes of f32 of scratch; gradients are scattered there in the order of the places of dy.
 * What is what: kernels/ref/pool.c.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/operand.h"

static size_t plane_size(const struct kernel_tensor *t)
{
	return (t->shape[2] * t->shape[3] + 15) / 16 * 16;
}

/* A part's plane of the input, and of the result. */
static float *plane_in(const struct kernel_call *c)
{
	return (float *)c->scratch +
	       (size_t)c->part * (plane_size(&c->in[0]) + plane_size(&c->out[0]));
}

static float *plane_out(const struct kernel_call *c)
{
	return plane_in(c) + plane_size(&c->in[0]);
}

static size_t scratch(const struct kernel_call *c)
{
	return (size_t)c->parts * (plane_size(&c->in[0]) + plane_size(&c->out[0])) * sizeof(float);
}

static ptrdiff_t plane_at(const struct kernel_tensor *t, size_t i)
{
	return (ptrdiff_t)(i / t->shape[1]) * t->stride[0] +
	       (ptrdiff_t)(i % t->shape[1]) * t->stride[1];
}

/* Plane I of the input as f32, its rows side by side. */
static const float *get_plane(const struct kernel_call *c, size_t i)
{
	const struct kernel_tensor *x = &c->in[0];
	float *out = plane_in(c);

	for (size_t row = 0; row < x->shape[2]; row++)
		operand_load(x->dtype,
			     operand_at(x, plane_at(x, i) + (ptrdiff_t)row * x->stride[2]),
			     out + row * x->shape[3], x->shape[3]);
	return out;
}

static void put_plane(const struct kernel_call *c, size_t i, const float *y)
{
	const struct kernel_tensor *out = &c->out[0];

	operand_store(out->dtype, y,
		      (uint8_t *)out->data + operand_bytes(out->dtype, plane_at(out, i)),
		      out->shape[2] * out->shape[3]);
}

static bool plane_is_dense(const struct kernel_tensor *t)
{
	struct kernel_tensor plane = *t;

	plane.shape[0] = plane.shape[1] = 1;
	return kernel_dense(&plane);
}

static bool claims(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0];

	return operand_is_float(x->dtype) && operand_is_float(c->out[0].dtype) &&
	       (x->stride[3] == 1 || x->shape[3] == 1) && plane_is_dense(&c->out[0]);
}

/* Places are i32 planes beside floats. */
static bool claims_places(const struct kernel_call *c)
{
	const struct kernel_tensor *places = c->n_in > 1 ? &c->in[1] : &c->out[1];

	return claims(c) && places->dtype == DTYPE_I32 && plane_is_dense(places);
}

static void each_plane(const struct kernel_call *c,
		       void (*fn)(const struct kernel_call *c, size_t i, const float *x, float *y))
{
	size_t from, to;

	kernel_share(c->out[0].shape[0] * c->out[0].shape[1], 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		fn(c, i, get_plane(c, i), plane_out(c));
		put_plane(c, i, plane_out(c));
	}
}

/* --- windows --- */

struct window {
	size_t from, to; /* places in the image */
	size_t padded;	 /* how many it has with the padding */
};

static struct window window_of(const struct kernel_call *c, int axis, size_t i, size_t length)
{
	const struct pool_attributes *a = c->attributes;
	int64_t first = (int64_t)i * a->stride[axis] - a->pad[axis], last = first + a->kernel[axis];
	struct window w = { .padded = a->kernel[axis] };

	w.from = first < 0 ? 0 : (size_t)first;
	w.to = last > (int64_t)length ? length : (size_t)last;
	return w;
}

/* The largest of a window of rows WIDTH long, the first of equal ones; a NaN is. */
static float window_most(const float *x, struct window h, struct window w, size_t width,
			 int32_t *place)
{
	float most = -INFINITY;

	*place = (int32_t)(h.from * width + w.from);
	for (size_t i = h.from; i < h.to; i++)
		for (size_t j = w.from; j < w.to; j++) {
			float v = x[i * width + j];

			if (v > most || (isnan(v) && !isnan(most))) {
				most = v;
				*place = (int32_t)(i * width + j);
			}
		}
	return most;
}

static void max_plane(const struct kernel_call *c, size_t n, const float *x, float *y)
{
	const struct kernel_tensor *out = &c->out[0];
	int32_t *places = (int32_t *)c->out[1].data + plane_at(&c->out[1], n);
	const size_t *size = c->in[0].shape;

	for (size_t i = 0; i < out->shape[2]; i++)
		for (size_t j = 0; j < out->shape[3]; j++)
			*y++ = window_most(x, window_of(c, 0, i, size[2]),
					   window_of(c, 1, j, size[3]), size[3], places++);
}

static void run_max_pool(const struct kernel_call *c)
{
	each_plane(c, max_plane);
}

static void max_back(const struct kernel_call *c, size_t n, const float *dy, float *dx)
{
	const int32_t *places = (const int32_t *)c->in[1].data + plane_at(&c->in[1], n);
	size_t count = c->in[0].shape[2] * c->in[0].shape[3];
	size_t size = c->out[0].shape[2] * c->out[0].shape[3];

	memset(dx, 0, size * sizeof(float));
	for (size_t i = 0; i < count; i++)
		if (places[i] >= 0 && (size_t)places[i] < size)
			dx[places[i]] += dy[i];
}

static void run_max_pool_grad(const struct kernel_call *c)
{
	each_plane(c, max_back);
}

static float divisor(const struct kernel_call *c, struct window h, struct window w)
{
	const struct pool_attributes *a = c->attributes;

	return a->count_pad ? (float)(h.padded * w.padded)
			    : (float)((h.to - h.from) * (w.to - w.from));
}

static void mean_plane(const struct kernel_call *c, size_t n, const float *x, float *y)
{
	const struct kernel_tensor *out = &c->out[0];
	const size_t *size = c->in[0].shape;

	for (size_t i = 0; i < out->shape[2]; i++)
		for (size_t j = 0; j < out->shape[3]; j++) {
			struct window h = window_of(c, 0, i, size[2]);
			struct window w = window_of(c, 1, j, size[3]);
			float sum = 0;

			for (size_t r = h.from; r < h.to; r++)
				for (size_t s = w.from; s < w.to; s++)
					sum += x[r * size[3] + s];
			*y++ = sum / divisor(c, h, w);
		}
}

static void run_avg_pool(const struct kernel_call *c)
{
	each_plane(c, mean_plane);
}

static void mean_back(const struct kernel_call *c, size_t n, const float *dy, float *dx)
{
	const struct kernel_tensor *in = &c->in[0];
	const size_t *size = c->out[0].shape;

	memset(dx, 0, size[2] * size[3] * sizeof(float));
	for (size_t i = 0; i < in->shape[2]; i++)
		for (size_t j = 0; j < in->shape[3]; j++) {
			struct window h = window_of(c, 0, i, size[2]);
			struct window w = window_of(c, 1, j, size[3]);
			float share = *dy++ / divisor(c, h, w);

			for (size_t r = h.from; r < h.to; r++)
				for (size_t s = w.from; s < w.to; s++)
					dx[r * size[3] + s] += share;
		}
}

static void run_avg_pool_grad(const struct kernel_call *c)
{
	each_plane(c, mean_back);
}

#define KERNEL(name, claim) \
 LEVEL_KERNEL(name, planes, .claims = claim, .scratch = scratch, .run = run_##name)

KERNEL(max_pool, claims_places);
KERNEL(max_pool_grad, claims_places);
KERNEL(avg_pool, claims);
KERNEL(avg_pool_grad, claims);

/* --- resizing --- */

#define TAPS 4

/* Which places of an axis of LENGTH a place is made of, and how. */
struct taps {
	size_t n, at[TAPS];
	float weight[TAPS];
};

static double source_place(const struct resize_attributes *a, size_t i, size_t length, size_t made)
{
	if (a->align_corners)
		return made > 1 ? (double)i * (double)(length - 1) / (double)(made - 1) : 0;
	return ((double)i + 0.5) * (double)length / (double)made - 0.5;
}

/* Keys 1981, with a = -0.75. */
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
	double place = source_place(a, i, length, made), rest;
	struct taps t = { 0 };
	int64_t first;

	if (a->mode == RESIZE_NEAREST)
		return (struct taps){ 1, { clamped((int64_t)(i * length / made), length) }, { 1 } };
	if (a->mode == RESIZE_BILINEAR && place < 0)
		place = 0;
	first = (int64_t)floor(place);
	rest = place - (double)first;
	if (a->mode == RESIZE_BILINEAR)
		return (struct taps){ 2,
				      { clamped(first, length), clamped(first + 1, length) },
				      { (float)(1 - rest), (float)rest } };
	for (t.n = 0; t.n < TAPS; t.n++) {
		t.at[t.n] = clamped(first - 1 + (int64_t)t.n, length);
		t.weight[t.n] = (float)keys(rest + 1 - (double)t.n);
	}
	return t;
}

/* Those of all places of the longer side, made once a part: rows, then columns, beyond the planes. */
static struct taps *taps_room(const struct kernel_call *c, const struct kernel_tensor *made)
{
	char *beyond = (char *)c->scratch + scratch(c);

	return (struct taps *)beyond + (size_t)c->part * (made->shape[2] + made->shape[3]);
}

static const struct taps *make_taps(const struct kernel_call *c, const struct kernel_tensor *from,
				    const struct kernel_tensor *made)
{
	struct taps *t = taps_room(c, made);

	for (size_t i = 0; i < made->shape[2]; i++)
		t[i] = taps_of(c->attributes, i, from->shape[2], made->shape[2]);
	for (size_t j = 0; j < made->shape[3]; j++)
		t[made->shape[2] + j] = taps_of(c->attributes, j, from->shape[3], made->shape[3]);
	return t;
}

static void resize_plane(const struct kernel_call *c, size_t n, const float *x, float *y)
{
	const struct taps *h = taps_room(c, &c->out[0]), *w = h + c->out[0].shape[2];
	size_t width = c->in[0].shape[3];

	for (size_t i = 0; i < c->out[0].shape[2]; i++)
		for (size_t j = 0; j < c->out[0].shape[3]; j++) {
			float sum = 0;

			for (size_t r = 0; r < h[i].n; r++) {
				const float *row = x + h[i].at[r] * width;
				float across = 0;

				for (size_t s = 0; s < w[j].n; s++)
					across += w[j].weight[s] * row[w[j].at[s]];
				sum += h[i].weight[r] * across;
			}
			*y++ = sum;
		}
}

static void run_resize(const struct kernel_call *c)
{
	make_taps(c, &c->in[0], &c->out[0]);
	each_plane(c, resize_plane);
}

static void resize_back(const struct kernel_call *c, size_t n, const float *dy, float *dx)
{
	const struct taps *h = taps_room(c, &c->in[0]), *w = h + c->in[0].shape[2];
	size_t width = c->out[0].shape[3];

	memset(dx, 0, c->out[0].shape[2] * width * sizeof(float));
	for (size_t i = 0; i < c->in[0].shape[2]; i++)
		for (size_t j = 0; j < c->in[0].shape[3]; j++, dy++)
			/* A tap of weight 0 takes nothing, not even what is not finite. */
			for (size_t r = 0; r < h[i].n; r++) {
				float *row = dx + h[i].at[r] * width;
				float down = h[i].weight[r] * *dy;

				for (size_t s = 0; s < w[j].n && h[i].weight[r] != 0; s++)
					if (w[j].weight[s] != 0)
						row[w[j].at[s]] += down * w[j].weight[s];
			}
}

static void run_resize_grad(const struct kernel_call *c)
{
	make_taps(c, &c->out[0], &c->in[0]);
	each_plane(c, resize_back);
}

static size_t scratch_resize(const struct kernel_call *c)
{
	size_t in = c->in[0].shape[2] + c->in[0].shape[3];
	size_t out = c->out[0].shape[2] + c->out[0].shape[3];

	return scratch(c) + (size_t)c->parts * (in > out ? in : out) * sizeof(struct taps);
}

#define RESIZE(name) \
 LEVEL_KERNEL(name, planes, .claims = claims, .scratch = scratch_resize, .run = run_##name)

RESIZE(resize);
RESIZE(resize_grad);
