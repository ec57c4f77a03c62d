/* kernels/ref/index.c - ops by index, and those that only move or make elements */

#include <math.h>

#include "kernels/ref/ref.h"

/* Element I of ids, counted over all its axes. */
static int64_t id_at(const struct kernel_tensor *ids, size_t i)
{
	struct ref_index at;

	ref_index(ids, i, &at);
	return (int64_t)ref_get(ids, ref_offset(ids, &at));
}

/* table [V, ...], ids [...]: the last axes of an element of the result are the table's. A negative id gives 0. */
static void run_gather_rows(const struct kernel_call *c)
{
	const struct kernel_tensor *table = &c->in[0], *ids = &c->in[1], *out = &c->out[0];
	size_t width = 1;

	for (int i = 1; i < table->n_axes; i++)
		width *= table->shape[i];
	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		int64_t id = id_at(ids, i / width);
		struct ref_index at, in;

		ref_index(out, i, &at);
		in.at[0] = (size_t)id;
		for (int j = 1; j < table->n_axes; j++)
			in.at[j] = at.at[ids->n_axes + j - 1];
		ref_put(out, ref_offset(out, &at),
			id < 0				? 0
			: (size_t)id >= table->shape[0] ? NAN
							: ref_get(table, ref_offset(table, &in)));
	}
}
REF_KERNEL(gather_rows, run_gather_rows);

/* The sum of the rows of X whose id is INDEX's first, at the rest of INDEX. */
static double rows_sum(const struct kernel_tensor *x, const struct kernel_tensor *ids,
		       const struct ref_index *index)
{
	struct ref_index at = *index;
	double sum = 0;

	for (size_t row = 0; row < ids->shape[0]; row++) {
		if (id_at(ids, row) != (int64_t)index->at[0])
			continue;
		at.at[0] = row;
		sum += ref_get(x, ref_offset(x, &at));
	}
	return sum;
}

static void scatter(const struct kernel_call *c, int x, bool add)
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		double sum;

		ref_index(out, i, &at);
		sum = ref_rounded(out->dtype, rows_sum(&c->in[x], &c->in[x + 1], &at));
		if (add)
			sum += ref_get(out, ref_offset(out, &at));
		ref_put(out, ref_offset(out, &at), sum);
	}
}

static void run_scatter_add_rows(const struct kernel_call *c)
{
	scatter(c, 0, false);
}
REF_KERNEL(scatter_add_rows, run_scatter_add_rows);

static void run_scatter_acc(const struct kernel_call *c)
{
	scatter(c, 1, true);
}
REF_KERNEL(scatter_acc, run_scatter_acc);

static void run_take_along(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *ids = &c->in[1], *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at, in;
		int64_t id;

		ref_index(out, i, &at);
		id = (int64_t)ref_get(ids, ref_offset(ids, &at));
		in = at;
		in.at[x->n_axes - 1] = (size_t)id;
		ref_put(out, ref_offset(out, &at),
			id < 0 || (size_t)id >= x->shape[x->n_axes - 1]
				? NAN
				: ref_get(x, ref_offset(x, &in)));
	}
}
REF_KERNEL(take_along, run_take_along);

static void run_put_along(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[0], *ids = &c->in[1], *out = &c->out[0];
	int last = x->n_axes - 1;

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at, in;
		double sum = 0;

		ref_index(out, i, &at);
		in = at;
		for (size_t k = 0; k < x->shape[last]; k++) {
			in.at[last] = k;
			if (ref_get(ids, ref_offset(ids, &in)) == (double)at.at[last])
				sum += ref_get(x, ref_offset(x, &in));
		}
		ref_put(out, ref_offset(out, &at), sum);
	}
}
REF_KERNEL(put_along, run_put_along);

/* --- layout --- */

static void run_concat(const struct kernel_call *c)
{
	const struct axis_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at, in;
		int k = 0;

		ref_index(out, i, &at);
		in = at;
		while (in.at[a->axis] >= c->in[k].shape[a->axis])
			in.at[a->axis] -= c->in[k++].shape[a->axis];
		ref_put(out, ref_offset(out, &at), ref_get(&c->in[k], ref_offset(&c->in[k], &in)));
	}
}
REF_KERNEL(concat, run_concat);

static void run_pad(const struct kernel_call *c)
{
	const struct pad_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at, in;
		bool inside = true;

		ref_index(out, i, &at);
		for (int j = 0; j < out->n_axes; j++) {
			in.at[j] = at.at[j] - a->before[j];
			inside &= at.at[j] >= a->before[j] && in.at[j] < x->shape[j];
		}
		ref_put(out, ref_offset(out, &at),
			inside ? ref_get(x, ref_offset(x, &in)) : a->value);
	}
}
REF_KERNEL(pad, run_pad);

/* --- from nothing: the attributes begin with two doubles --- */

static void fill(const struct kernel_call *c, bool counting)
{
	const struct scalars_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;

		ref_index(out, i, &at);
		ref_put(out, ref_offset(out, &at), counting ? a->a + a->b * (double)i : a->a);
	}
}

static void run_fill(const struct kernel_call *c)
{
	fill(c, false);
}
REF_KERNEL(fill, run_fill);

static void run_arange(const struct kernel_call *c)
{
	fill(c, true);
}
REF_KERNEL(arange, run_arange);
