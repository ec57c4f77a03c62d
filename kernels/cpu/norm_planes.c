/*
 * kernels/cpu/norm_planes.c - normalisation of images: of groups of channels, of a channel over the batch, and their gradients
 *
 * A plane is what lies behind one image and one channel, side by side. What is normalised together is a set of planes: some channels of
 * an image, or a channel of all images. With x^ = (x - m) r and g = dy w: dx = r (g - mean(g) - x^ mean(g x^)); dw = sum(dy x^)
 * and db = sum(dy) are of planes in phase 0, of a channel's planes in the order of the images in phase 1.
 *
 * Moments are of RUN elements in f32, joined in double (Chan, Golub, LeVeque 1979), so that a plane is read once for them.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector.h"

#define RUN 512

struct planes {
	const struct kernel_call *c;
	const struct norm_attributes *a;
	size_t images, channels, inner;
	size_t sets, members;			   /* planes of a set */
	size_t groups;				   /* 0: by channel */
	const struct kernel_tensor *weight, *bias; /* NULL: none */
};

static const struct kernel_tensor *vector_of(const struct kernel_call *c, int i)
{
	return i < c->n_in && c->in[i].n_axes ? &c->in[i] : NULL;
}

/* Weight and bias are operands WEIGHT and WEIGHT + 1; BATCH: sets are channels. */
static struct planes planes_of(const struct kernel_call *c, bool batch, int weight)
{
	const struct kernel_tensor *x = &c->in[0];
	struct planes p = { .c = c, .a = c->attributes };

	p.images = x->shape[0];
	p.channels = x->shape[1];
	p.inner = 1;
	for (int i = 2; i < x->n_axes; i++)
		p.inner *= x->shape[i];
	p.groups = batch ? 0 : p.a->groups;
	p.sets = batch ? p.channels : p.images * p.groups;
	p.members = batch ? p.images : p.channels / p.groups;
	p.weight = vector_of(c, weight);
	p.bias = vector_of(c, weight + 1);
	return p;
}

struct plane {
	size_t image, channel;
};

static struct plane plane_of(const struct planes *p, size_t set, size_t member)
{
	if (!p->groups)
		return (struct plane){ member, set };
	return (struct plane){ set / p->groups, set % p->groups * p->members + member };
}

static ptrdiff_t plane_at(const struct kernel_tensor *t, struct plane i)
{
	return (ptrdiff_t)i.image * t->stride[0] + (ptrdiff_t)i.channel * t->stride[1];
}

/* N elements of T from AT on as f32, where they lie or in ROOM. */
static const float *take(const struct kernel_tensor *t, ptrdiff_t at, size_t n, float *room)
{
	if (t->dtype == DTYPE_F32)
		return (const float *)t->data + at;
	operand_load(t->dtype, operand_at(t, at), room, n);
	return room;
}

static float *place(const struct kernel_tensor *t, ptrdiff_t at, float *room)
{
	return t->dtype == DTYPE_F32 ? (float *)t->data + at : room;
}

static void put(const struct kernel_tensor *t, ptrdiff_t at, const float *y, size_t n)
{
	if (t->dtype != DTYPE_F32)
		operand_store(t->dtype, y, (uint8_t *)t->data + operand_bytes(t->dtype, at), n);
}

static double element_of(const struct kernel_tensor *t, size_t i)
{
	float x;

	operand_load(t->dtype, operand_at(t, (ptrdiff_t)i * t->stride[0]), &x, 1);
	return x;
}

static void put_element(const struct kernel_tensor *t, size_t i, double x)
{
	float f = (float)x;
	ptrdiff_t at = (ptrdiff_t)i * t->stride[0];

	operand_store(t->dtype, &f, (uint8_t *)t->data + operand_bytes(t->dtype, at), 1);
}

static double weight_of(const struct planes *p, size_t channel)
{
	return p->weight ? element_of(p->weight, channel) + p->a->offset : 1;
}

/* --- moments --- */

struct moments {
	double n, mean, squares; /* of (x - mean) */
};

static void join(struct moments *m, double n, double mean, double squares)
{
	double all = m->n + n, apart = mean - m->mean;

	m->squares += squares + apart * apart * m->n * n / all;
	m->mean += apart * n / all;
	m->n = all;
}

static void add_run(struct moments *m, const float *x, size_t n)
{
	vf32 sum = { 0 }, squares = { 0 };
	float mean;

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		sum += rows_load(x + i, n - i);
	mean = rows_sum(sum) / (float)n;
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 d = vector_some(DTYPE_F32, (const uint8_t *)(x + i), n - i, mean) -
			 simd_f32(mean);

		squares = simd_fma(d, d, squares);
	}

	join(m, (double)n, mean, rows_sum(squares));
}

static struct moments moments_of(const struct planes *p, size_t set)
{
	const struct kernel_tensor *x = &p->c->in[0];
	struct moments m = { 0 };
	float room[RUN];

	for (size_t i = 0; i < p->members; i++) {
		ptrdiff_t at = plane_at(x, plane_of(p, set, i));

		for (size_t j = 0; j < p->inner; j += RUN) {
			size_t n = p->inner - j < RUN ? p->inner - j : RUN;

			add_run(&m, take(x, at + (ptrdiff_t)j, n, room), n);
		}
	}
	return m;
}

static double variance_of(const struct moments *m)
{
	return m->squares / m->n;
}

static double scale_of(const struct planes *p, const struct moments *m)
{
	return 1 / sqrt(variance_of(m) + p->a->eps);
}

/* --- forward --- */

/* y = (x - mean) slope + bias */
static void forward_plane(const struct planes *p, struct plane i, float mean, float slope,
			  float bias)
{
	const struct kernel_tensor *x = &p->c->in[0], *y = &p->c->out[0];
	ptrdiff_t from = plane_at(x, i), to = plane_at(y, i);
	float rooms[2][RUN];

	for (size_t j = 0; j < p->inner; j += RUN) {
		size_t n = p->inner - j < RUN ? p->inner - j : RUN;
		const float *in = take(x, from + (ptrdiff_t)j, n, rooms[0]);
		float *out = place(y, to + (ptrdiff_t)j, rooms[1]);

		for (size_t k = 0; k < n; k += SIMD_WIDTH) {
			vf32 d = rows_load(in + k, n - k) - simd_f32(mean);

			rows_store(out + k, simd_fma(d, simd_f32(slope), simd_f32(bias)), n - k);
		}
		put(y, to + (ptrdiff_t)j, out, n);
	}
}

static void forward(const struct kernel_call *c, bool batch)
{
	struct planes p = planes_of(c, batch, 1);
	size_t from, to;

	kernel_share(p.sets, 1, c->part, c->parts, &from, &to);
	for (size_t set = from; set < to; set++) {
		struct moments m = moments_of(&p, set);
		double scale = scale_of(&p, &m);

		for (size_t i = 0; i < p.members; i++) {
			struct plane at = plane_of(&p, set, i);
			double bias = p.bias ? element_of(p.bias, at.channel) : 0;

			forward_plane(&p, at, (float)m.mean,
				      (float)(scale * weight_of(&p, at.channel)), (float)bias);
		}
		if (batch) {
			put_element(&c->out[1], set, m.mean);
			put_element(&c->out[2], set, variance_of(&m));
		}
	}
}

static void run_group_norm(const struct kernel_call *c)
{
	forward(c, false);
}

static void run_batch_norm(const struct kernel_call *c)
{
	forward(c, true);
}

/* --- backward: x, dy, ..., w at operand WEIGHT --- */

/* Of a plane: sum(dy), sum(dy x^). */
struct sums {
	double dy, dyx;
};

static struct sums *sums_at(const struct planes *p, struct plane i)
{
	return (struct sums *)p->c->scratch + i.image * p->channels + i.channel;
}

static struct sums sums_of(const struct planes *p, struct plane i, float mean, float scale)
{
	const struct kernel_tensor *x = &p->c->in[0], *dy = &p->c->in[1];
	ptrdiff_t x_at = plane_at(x, i), dy_at = plane_at(dy, i);
	struct sums s = { 0 };
	float rooms[2][RUN];

	for (size_t j = 0; j < p->inner; j += RUN) {
		size_t n = p->inner - j < RUN ? p->inner - j : RUN;
		const float *in = take(x, x_at + (ptrdiff_t)j, n, rooms[0]);
		const float *d = take(dy, dy_at + (ptrdiff_t)j, n, rooms[1]);
		vf32 sum = { 0 }, by_x = { 0 };

		for (size_t k = 0; k < n; k += SIMD_WIDTH) {
			vf32 v = rows_load(d + k, n - k); /* 0 past the end */

			sum += v;
			by_x = simd_fma(
				v, (rows_load(in + k, n - k) - simd_f32(mean)) * simd_f32(scale),
				by_x);
		}
		s.dy += rows_sum(sum);
		s.dyx += rows_sum(by_x);
	}
	return s;
}

/* dx = slope dy - x^ by_x - less */
static void backward_plane(const struct planes *p, struct plane i, float mean, float scale,
			   float slope, float by_x, float less)
{
	const struct kernel_tensor *x = &p->c->in[0], *dy = &p->c->in[1], *dx = &p->c->out[0];
	ptrdiff_t x_at = plane_at(x, i), dy_at = plane_at(dy, i), to = plane_at(dx, i);
	float rooms[3][RUN];

	for (size_t j = 0; j < p->inner; j += RUN) {
		size_t n = p->inner - j < RUN ? p->inner - j : RUN;
		const float *in = take(x, x_at + (ptrdiff_t)j, n, rooms[0]);
		const float *d = take(dy, dy_at + (ptrdiff_t)j, n, rooms[1]);
		float *out = place(dx, to + (ptrdiff_t)j, rooms[2]);

		for (size_t k = 0; k < n; k += SIMD_WIDTH) {
			vf32 v = (rows_load(in + k, n - k) - simd_f32(mean)) * simd_f32(scale);
			vf32 y =
				simd_fma(rows_load(d + k, n - k), simd_f32(slope), simd_f32(-less));

			rows_store(out + k, simd_fma(-v, simd_f32(by_x), y), n - k);
		}
		put(dx, to + (ptrdiff_t)j, out, n);
	}
}

static void backward_set(const struct planes *p, size_t set)
{
	struct moments m = moments_of(p, set);
	double scale = scale_of(p, &m), mean_g = 0, mean_gx = 0;

	for (size_t i = 0; i < p->members; i++) {
		struct plane at = plane_of(p, set, i);
		struct sums *s = sums_at(p, at);
		double w = weight_of(p, at.channel) / m.n;

		*s = sums_of(p, at, (float)m.mean, (float)scale);
		mean_g += w * s->dy;
		mean_gx += w * s->dyx;
	}
	for (size_t i = 0; i < p->members; i++) {
		struct plane at = plane_of(p, set, i);

		backward_plane(p, at, (float)m.mean, (float)scale,
			       (float)(scale * weight_of(p, at.channel)), (float)(scale * mean_gx),
			       (float)(scale * mean_g));
	}
}

static void finish_channels(const struct planes *p)
{
	const struct kernel_call *c = p->c;
	size_t from, to;

	kernel_share(c->n_out > 1 ? p->channels : 0, 1, c->part, c->parts, &from, &to);
	for (size_t channel = from; channel < to; channel++) {
		struct sums s = { 0 };

		for (size_t image = 0; image < p->images; image++) {
			s.dy += sums_at(p, (struct plane){ image, channel })->dy;
			s.dyx += sums_at(p, (struct plane){ image, channel })->dyx;
		}
		put_element(&c->out[1], channel, s.dyx);
		if (c->n_out > 2)
			put_element(&c->out[2], channel, s.dy);
	}
}

static void backward(const struct kernel_call *c, bool batch)
{
	struct planes p = planes_of(c, batch, batch ? 4 : 2);
	size_t from, to;

	if (c->phase == 1) {
		finish_channels(&p);
		return;
	}
	kernel_share(p.sets, 1, c->part, c->parts, &from, &to);
	for (size_t set = from; set < to; set++)
		backward_set(&p, set);
}

static void run_group_norm_grad(const struct kernel_call *c)
{
	backward(c, false);
}

/* The batch's moments are computed again, as ref does. */
static void run_batch_norm_grad(const struct kernel_call *c)
{
	backward(c, true);
}

static size_t scratch_sums(const struct kernel_call *c)
{
	return c->in[0].shape[0] * c->in[0].shape[1] * sizeof(struct sums);
}

/* --- what is claimed: planes that lie side by side, and have elements --- */

static bool serves(const struct kernel_tensor *t)
{
	size_t n = 1;

	if (!operand_is_float(t->dtype) || t->n_axes < 2 || kernel_elements(t) == 0)
		return false;
	for (int i = t->n_axes - 1; i >= 2; i--) {
		if (t->shape[i] != 1 && t->stride[i] != (ptrdiff_t)n)
			return false;
		n *= t->shape[i];
	}
	return true;
}

static bool vectors_serve(const struct kernel_call *c, int from)
{
	for (int i = from; i < c->n_in; i++)
		if (c->in[i].n_axes && !operand_is_float(c->in[i].dtype))
			return false;
	for (int i = 1; i < c->n_out; i++)
		if (!operand_is_float(c->out[i].dtype))
			return false;
	return true;
}

static bool claims_forward(const struct kernel_call *c)
{
	return serves(&c->in[0]) && serves(&c->out[0]) && vectors_serve(c, 1);
}

static bool claims_backward(const struct kernel_call *c)
{
	return serves(&c->in[0]) && serves(&c->in[1]) && serves(&c->out[0]) && vectors_serve(c, 2);
}

#define KERNEL(name, claim, room_needed, n_phases)                                       \
 LEVEL_KERNEL(name, planes, .claims = claim, .scratch = room_needed, .phases = n_phases, \
	      .run = run_##name)

KERNEL(group_norm, claims_forward, NULL, 1);
KERNEL(batch_norm, claims_forward, NULL, 1);
KERNEL(group_norm_grad, claims_backward, scratch_sums, 2);
KERNEL(batch_norm_grad, claims_backward, scratch_sums, 2);
