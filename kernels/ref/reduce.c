/* kernels/ref/reduce.c - sums, maxima and orders over axes */

#include <math.h>

#include "kernels/ref/ref.h"

/* --- over chosen axes: for each element of the result a walk over the reduced ones --- */

struct reduction {
	double sum, most;
	size_t n;
	bool nan;
};

/* The index in the input of the result's element; the reduced axes at 0. */
static void input_index(const struct kernel_call *c, const struct ref_index *out,
			struct ref_index *in)
{
	const struct axes_attributes *a = c->attributes;
	int o = 0;

	for (int i = 0; i < c->in[0].n_axes; i++) {
		bool reduced = a->axes >> i & 1;

		in->at[i] = reduced ? 0 : out->at[o];
		o += !reduced || a->keep;
	}
}

/* The next index over the reduced axes; false after the last. */
static bool next_reduced(const struct kernel_call *c, struct ref_index *in)
{
	const struct axes_attributes *a = c->attributes;

	for (int i = c->in[0].n_axes - 1; i >= 0; i--) {
		if (!(a->axes >> i & 1))
			continue;
		if (++in->at[i] < c->in[0].shape[i])
			return true;
		in->at[i] = 0;
	}
	return false;
}

static bool nothing_reduced(const struct kernel_call *c)
{
	const struct axes_attributes *a = c->attributes;

	for (int i = 0; i < c->in[0].n_axes; i++)
		if ((a->axes >> i & 1) && c->in[0].shape[i] == 0)
			return true;
	return false;
}

static double reduced(const struct kernel_call *c, const struct ref_index *out,
		      double (*value)(double x, double most), double most)
{
	struct ref_index in;
	double sum = 0;

	input_index(c, out, &in);
	if (nothing_reduced(c))
		return 0;
	do
		sum += value(ref_get(&c->in[0], ref_offset(&c->in[0], &in)), most);
	while (next_reduced(c, &in));
	return sum;
}

static double most_of(const struct kernel_call *c, const struct ref_index *out)
{
	struct ref_index in;
	double most = -INFINITY;

	input_index(c, out, &in);
	if (nothing_reduced(c))
		return most;
	do {
		double x = ref_get(&c->in[0], ref_offset(&c->in[0], &in));

		if (isnan(x))
			return x;
		most = x > most ? x : most;
	} while (next_reduced(c, &in));
	return most;
}

static double itself(double x, double most)
{
	return x;
}

static double one(double x, double most)
{
	return 1;
}

static double exp_below(double x, double most)
{
	return exp(x - most);
}

static double sum_of(const struct kernel_call *c, const struct ref_index *out)
{
	return reduced(c, out, itself, 0);
}

static double mean_of(const struct kernel_call *c, const struct ref_index *out)
{
	return reduced(c, out, itself, 0) / reduced(c, out, one, 0);
}

static double logsumexp_of(const struct kernel_call *c, const struct ref_index *out)
{
	double most = most_of(c, out);

	return isinf(most) || isnan(most) ? most : most + log(reduced(c, out, exp_below, most));
}

static void each_result(const struct kernel_call *c,
			double (*fn)(const struct kernel_call *, const struct ref_index *))
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;

		ref_index(out, i, &at);
		ref_put(out, ref_offset(out, &at), fn(c, &at));
	}
}

#define REDUCTION(name)                              \
 static void run_##name(const struct kernel_call *c) \
 {                                                   \
  each_result(c, name##_of);                         \
 }                                                   \
 REF_KERNEL(name, run_##name)
#define amax_of most_of
REDUCTION(sum);
REDUCTION(mean);
REDUCTION(amax);
REDUCTION(logsumexp);

/* --- rows: the last axis of everything before it --- */

struct row {
	const struct kernel_tensor *t;
	ptrdiff_t at, step;
	size_t n;
};

static size_t row_count(const struct kernel_tensor *t)
{
	size_t n = 1;

	for (int i = 0; i < t->n_axes - 1; i++)
		n *= t->shape[i];
	return n;
}

static struct row row_of(const struct kernel_tensor *t, size_t i)
{
	struct kernel_tensor outer = *t;
	struct ref_index at;

	outer.n_axes--;
	ref_index(&outer, i, &at);
	return (struct row){ t, ref_offset(&outer, &at), t->stride[t->n_axes - 1],
			     t->shape[t->n_axes - 1] };
}

static double row_get(const struct row *r, size_t i)
{
	return ref_get(r->t, r->at + (ptrdiff_t)i * r->step);
}

static void row_put(const struct row *r, size_t i, double x)
{
	ref_put(r->t, r->at + (ptrdiff_t)i * r->step, x);
}

/* A before B: the larger first, NaN larger than all; equal ones keep their order. */
static bool larger(double a, double b)
{
	return isnan(a) ? !isnan(b) : a > b;
}

static void run_argmax(const struct kernel_call *c)
{
	REF_SHARE(c, row_count(&c->in[0]), from, to);
	for (size_t i = from; i < to; i++) {
		struct row x = row_of(&c->in[0], i);
		struct ref_index at;
		size_t best = 0;

		for (size_t j = 1; j < x.n; j++)
			if (larger(row_get(&x, j), row_get(&x, best)))
				best = j;
		ref_index(&c->out[0], i, &at);
		ref_put(&c->out[0], ref_offset(&c->out[0], &at), (double)best);
	}
}
REF_KERNEL(argmax, run_argmax);

static double row_most(const struct row *x)
{
	double most = -INFINITY;

	for (size_t j = 0; j < x->n; j++) {
		double v = row_get(x, j);

		most = isnan(v) || v > most ? v : most;
		if (isnan(most))
			break;
	}
	return most;
}

static double row_sum_exp(const struct row *x, double most)
{
	double sum = 0;

	for (size_t j = 0; j < x->n; j++)
		sum += exp(row_get(x, j) - most);
	return sum;
}

static void run_softmax(const struct kernel_call *c)
{
	REF_SHARE(c, row_count(&c->in[0]), from, to);
	for (size_t i = from; i < to; i++) {
		struct row x = row_of(&c->in[0], i), y = row_of(&c->out[0], i);
		double most = row_most(&x);
		double sum = isinf(most) && most < 0 ? 0 : row_sum_exp(&x, most);

		for (size_t j = 0; j < x.n; j++)
			row_put(&y, j, sum == 0 ? 0 : exp(row_get(&x, j) - most) / sum);
	}
}
REF_KERNEL(softmax, run_softmax);

static void run_log_softmax(const struct kernel_call *c)
{
	REF_SHARE(c, row_count(&c->in[0]), from, to);
	for (size_t i = from; i < to; i++) {
		struct row x = row_of(&c->in[0], i), y = row_of(&c->out[0], i);
		double most = row_most(&x), sum = row_sum_exp(&x, most);

		for (size_t j = 0; j < x.n; j++)
			row_put(&y, j, row_get(&x, j) - most - log(sum));
	}
}
REF_KERNEL(log_softmax, run_log_softmax);

/* y, dy: y (dy - sum(y dy)) */
static void run_softmax_grad(const struct kernel_call *c)
{
	REF_SHARE(c, row_count(&c->in[0]), from, to);
	for (size_t i = from; i < to; i++) {
		struct row y = row_of(&c->in[0], i), dy = row_of(&c->in[1], i);
		struct row dx = row_of(&c->out[0], i);
		double sum = 0;

		for (size_t j = 0; j < y.n; j++)
			sum += row_get(&y, j) * row_get(&dy, j);
		for (size_t j = 0; j < y.n; j++)
			row_put(&dx, j, row_get(&y, j) * (row_get(&dy, j) - sum));
	}
}
REF_KERNEL(softmax_grad, run_softmax_grad);

/* --- orders --- */

/* How many elements of X come before element J; the rank of each is its place. */
static size_t rank_of(const struct row *x, size_t j, bool falling)
{
	double v = row_get(x, j);
	size_t rank = 0;

	for (size_t k = 0; k < x->n; k++) {
		double w = row_get(x, k);
		bool nan = isnan(v) || isnan(w);
		/* NaN comes last, whatever the direction. */
		bool before = nan ? !isnan(w) && isnan(v) : falling ? w > v : w < v;
		bool equal = nan ? isnan(v) && isnan(w) : w == v;

		rank += before || (equal && k < j);
	}
	return rank;
}

static void run_argsort(const struct kernel_call *c)
{
	const struct axis_attributes *a = c->attributes;

	REF_SHARE(c, row_count(&c->in[0]), from, to);
	for (size_t i = from; i < to; i++) {
		struct row x = row_of(&c->in[0], i), y = row_of(&c->out[0], i);

		for (size_t j = 0; j < x.n; j++)
			row_put(&y, rank_of(&x, j, a->reverse), (double)j);
	}
}
REF_KERNEL(argsort, run_argsort);

/* NaN is largest. */
static size_t top_rank(const struct row *x, size_t j)
{
	double v = row_get(x, j);
	size_t rank = 0;

	for (size_t k = 0; k < x->n; k++) {
		double w = row_get(x, k);

		rank += larger(w, v) || (!larger(v, w) && k < j);
	}
	return rank;
}

static void run_top_k(const struct kernel_call *c)
{
	REF_SHARE(c, row_count(&c->in[0]), from, to);
	for (size_t i = from; i < to; i++) {
		struct row x = row_of(&c->in[0], i), y = row_of(&c->out[0], i);
		struct row places = row_of(&c->out[1], i);

		for (size_t j = 0; j < x.n; j++) {
			size_t rank = top_rank(&x, j);

			if (rank >= y.n)
				continue;
			row_put(&y, rank, row_get(&x, j));
			row_put(&places, rank, (double)j);
		}
	}
}
REF_KERNEL(top_k, run_top_k);

/* --- along an axis --- */

static void run_cumsum(const struct kernel_call *c)
{
	const struct axis_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *y = &c->out[0];
	struct kernel_tensor lines = *x;
	size_t n = x->shape[a->axis];

	lines.shape[a->axis] = 1;
	REF_SHARE(c, n ? kernel_elements(&lines) : 0, from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		double sum = 0;

		ref_index(&lines, i, &at);
		for (size_t j = 0; j < n; j++) {
			double v;

			at.at[a->axis] = a->reverse ? n - 1 - j : j;
			v = ref_get(x, ref_offset(x, &at));
			ref_put(y, ref_offset(y, &at), a->exclusive ? sum : sum + v);
			sum += v;
		}
	}
}
REF_KERNEL(cumsum, run_cumsum);

/* --- to one number; a part does it alone --- */

static void run_histogram(const struct kernel_call *c)
{
	const struct kernel_tensor *ids = &c->in[0], *out = &c->out[0];
	size_t n = kernel_elements(ids);

	REF_SHARE(c, out->shape[0], from, to);
	for (size_t bin = from; bin < to; bin++) {
		double count = 0;

		for (size_t i = 0; i < n; i++) {
			struct ref_index at;

			ref_index(ids, i, &at);
			count += ref_get(ids, ref_offset(ids, &at)) == (double)bin;
		}
		ref_put(out, (ptrdiff_t)bin * out->stride[0], count);
	}
}
REF_KERNEL(histogram, run_histogram);

static double total(const struct kernel_tensor *x, double (*value)(double))
{
	size_t n = kernel_elements(x);
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct ref_index at;

		ref_index(x, i, &at);
		sum += value(ref_get(x, ref_offset(x, &at)));
	}
	return sum;
}

static double squared(double x)
{
	return x * x;
}

static double nonfinite(double x)
{
	return !isfinite(x);
}

static void run_sum_squares(const struct kernel_call *c)
{
	if (c->part == 0)
		ref_put(&c->out[0], 0, total(&c->in[0], squared));
}
REF_KERNEL(sum_squares, run_sum_squares);

static void run_count_nonfinite(const struct kernel_call *c)
{
	if (c->part == 0)
		ref_put(&c->out[0], 0, total(&c->in[0], nonfinite));
}
REF_KERNEL(count_nonfinite, run_count_nonfinite);
