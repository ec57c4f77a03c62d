/*
 * kernels/cpu/layout.c - elements put side by side, padded, or made from nothing
 *
 * A part takes stretches of up to STRETCH elements that lie side by side in the operand and in the result alike; rows of the last
 * axis where there is padding.
 */
#include "kernels/cpu/level.h"

#include "kernels/attributes.h"
#include "kernels/cpu/plain.h"

#define STRETCH 8192

/* The offset of element I of the first N_AXES axes of SHAPE, counted up, in a tensor of these strides. */
static ptrdiff_t outer_at(const size_t *shape, const ptrdiff_t *stride, int n_axes, size_t i)
{
	ptrdiff_t at = 0;

	for (int axis = n_axes - 1; axis >= 0; axis--) {
		at += (ptrdiff_t)(i % shape[axis]) * stride[axis];
		i /= shape[axis];
	}
	return at;
}

/* --- concat --- */

/* An operand and the part of the result that it fills. */
struct piece {
	const struct kernel_tensor *x, *out;
	ptrdiff_t to;  /* of its first element in the result */
	int outer;     /* axes that are walked */
	size_t length; /* of a run over the others */
	size_t cuts;   /* of a run */
	size_t stretches;
};

/* As many axes from the last on as are dense in both; when the last one is not in X, it alone. */
static struct piece make_piece(const struct kernel_tensor *x, const struct kernel_tensor *out,
			       ptrdiff_t to)
{
	struct piece p = { .x = x, .out = out, .to = to, .outer = x->n_axes, .length = 1 };
	size_t outer = 1;

	while (p.outer > 0) {
		int i = p.outer - 1;
		ptrdiff_t dense = (ptrdiff_t)p.length;

		if (x->shape[i] != 1 && (x->stride[i] != dense || out->stride[i] != dense))
			break;
		p.length *= x->shape[i];
		p.outer--;
	}
	if (p.length == 1 && p.outer > 0 && out->stride[p.outer - 1] == 1)
		p.length = x->shape[--p.outer];
	for (int i = 0; i < p.outer; i++)
		outer *= x->shape[i];
	p.cuts = (p.length + STRETCH - 1) / STRETCH;
	p.stretches = outer * p.cuts;
	return p;
}

static void copy_stretch(const struct piece *p, size_t i)
{
	size_t bytes = dtype_info(p->x->dtype)->bytes;
	size_t run = i / p->cuts, first = i % p->cuts * STRETCH;
	size_t n = p->length - first < STRETCH ? p->length - first : STRETCH;
	ptrdiff_t from = outer_at(p->x->shape, p->x->stride, p->outer, run);
	ptrdiff_t to = outer_at(p->x->shape, p->out->stride, p->outer, run) + p->to;
	ptrdiff_t step = p->outer < p->x->n_axes && p->length == p->x->shape[p->outer]
				 ? p->x->stride[p->outer]
				 : 1;
	const uint8_t *x = plain_at(p->x, from + (ptrdiff_t)first * step);
	uint8_t *y = plain_at(p->out, to + (ptrdiff_t)first);

	if (step == 1)
		simd_copy(y, x, n * bytes);
	else
		plain_gather(bytes, x, step, y, n);
}

static void run_concat(const struct kernel_call *c)
{
	const struct axis_attributes *a = c->attributes;
	struct piece pieces[KERNEL_TENSORS];
	size_t total = 0, from, to, begin = 0;
	ptrdiff_t at = 0;

	for (int k = 0; k < c->n_in; k++) {
		pieces[k] = make_piece(&c->in[k], &c->out[0], at);
		at += (ptrdiff_t)c->in[k].shape[a->axis] * c->out[0].stride[a->axis];
		total += pieces[k].stretches;
	}
	kernel_share(total, 1, c->part, c->parts, &from, &to);
	for (int k = 0; k < c->n_in; k++) {
		size_t end = begin + pieces[k].stretches;

		for (; from < to && from < end; from++)
			copy_stretch(&pieces[k], from - begin);
		begin = end;
	}
}

static bool last_is_dense(const struct kernel_tensor *t)
{
	return t->n_axes == 0 || t->shape[t->n_axes - 1] == 1 || t->stride[t->n_axes - 1] == 1;
}

static bool claims_concat(const struct kernel_call *c)
{
	for (int k = 0; k < c->n_in; k++)
		if (c->in[k].dtype != c->out[0].dtype)
			return false;
	return plain_serves(c->out[0].dtype) && last_is_dense(&c->out[0]);
}

/* --- one value many times --- */

#define REPEAT(name, type)                                      \
 static void name(const uint8_t *value, uint8_t *out, size_t n) \
 {                                                              \
  type v;                                                       \
  memcpy(&v, value, sizeof(v));                                 \
  for (size_t i = 0; i < n; i++)                                \
   memcpy(out + i * sizeof(v), &v, sizeof(v));                  \
 }
REPEAT(repeat1, uint8_t)
REPEAT(repeat2, uint16_t)
REPEAT(repeat4, uint32_t)
REPEAT(repeat8, uint64_t)

static void repeat(size_t bytes, const uint8_t *value, uint8_t *out, size_t n)
{
	switch (bytes) {
	case 1: repeat1(value, out, n); return;
	case 2: repeat2(value, out, n); return;
	case 4: repeat4(value, out, n); return;
	default: repeat8(value, out, n);
	}
}

/* --- pad --- */

/* Row I of the result, all axes but the last counted up. */
static void pad_row(const struct kernel_call *c, size_t i, const uint8_t *value)
{
	const struct pad_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];
	size_t bytes = dtype_info(out->dtype)->bytes;
	int last = out->n_axes - 1;
	size_t before = a->before[last], n = x->shape[last], length = out->shape[last];
	uint8_t *y = plain_at(out, outer_at(out->shape, out->stride, last, i));
	ptrdiff_t from = 0;
	bool inside = true;

	for (int axis = last - 1; axis >= 0; axis--) {
		size_t at = i % out->shape[axis];

		i /= out->shape[axis];
		inside = inside && at >= a->before[axis] && at - a->before[axis] < x->shape[axis];
		from += (ptrdiff_t)(at - a->before[axis]) * x->stride[axis];
	}
	if (!inside) {
		repeat(bytes, value, y, length);
		return;
	}
	repeat(bytes, value, y, before);
	if (x->stride[last] == 1)
		simd_copy(y + before * bytes, plain_at(x, from), n * bytes);
	else
		plain_gather(bytes, plain_at(x, from), x->stride[last], y + before * bytes, n);
	repeat(bytes, value, y + (before + n) * bytes, length - before - n);
}

static void run_pad(const struct kernel_call *c)
{
	const struct pad_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];
	size_t rows = 1, from, to;
	uint8_t value[8];

	plain_from_doubles(out->dtype, &a->value, value, 1);
	for (int i = 0; i < out->n_axes - 1; i++)
		rows *= out->shape[i];
	kernel_share(rows, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		pad_row(c, i, value);
}

static bool claims_pad(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];

	return c->in[0].dtype == out->dtype && plain_converts(out->dtype) && out->n_axes > 0 &&
	       last_is_dense(out);
}

/* --- from nothing: the attributes begin with two doubles --- */

static void run_fill(const struct kernel_call *c)
{
	const struct scalars_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];
	uint8_t value[8];
	size_t from, to;

	plain_from_doubles(out->dtype, &a->a, value, 1);
	kernel_share(kernel_elements(out), 64, c->part, c->parts, &from, &to);
	repeat(dtype_info(out->dtype)->bytes, value, plain_at(out, (ptrdiff_t)from), to - from);
}

static void run_arange(const struct kernel_call *c)
{
	const struct scalars_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];
	size_t from, to;

	kernel_share(kernel_elements(out), PLAIN_CHUNK, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i += PLAIN_CHUNK) {
		size_t n = to - i < PLAIN_CHUNK ? to - i : PLAIN_CHUNK;
		double x[PLAIN_CHUNK];

		for (size_t j = 0; j < n; j++)
			x[j] = a->a + a->b * (double)(i + j);
		plain_from_doubles(out->dtype, x, plain_at(out, (ptrdiff_t)i), n);
	}
}

static bool claims_made(const struct kernel_call *c)
{
	return plain_converts(c->out[0].dtype) && kernel_dense(&c->out[0]);
}

#define KERNEL(name, kind, claim) LEVEL_KERNEL(name, kind, .claims = claim, .run = run_##name)

KERNEL(concat, stretches, claims_concat);
KERNEL(pad, rows, claims_pad);
KERNEL(fill, stretches, claims_made);
KERNEL(arange, stretches, claims_made);
