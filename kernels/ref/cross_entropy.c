/*
 * kernels/ref/cross_entropy.c - losses over a vocabulary, from the states before the head
 *
 * Logits z = cap(x wᵀ + b), l = log sum exp z, p = exp(z - l). With smoothing e over V words the loss of target t is
 *	(1 - e) (l - z_t) + e (l - mean z) + z_loss l^2
 * and dz = p (1 + 2 z_loss l) - (1 - e) [i = t] - e / V, times dloss, times the cap's slope 1 - (z / c)^2.
 * The divergence from a teacher's q over its kept words, renormalised: sum q (log q - (z - l)); dz = p - q.
 */
#include <math.h>

#include "kernels/ref/ref.h"

struct head {
	const struct kernel_call *c;
	const struct cross_entropy_attributes *a;
	int bias; /* its operand */
	size_t vocab, width;
	const struct kernel_tensor *lse, *dloss;     /* of gradients */
	const struct kernel_tensor *dx, *dw, *dbias; /* dbias: NULL when there is none */
};

static struct head make_head(const struct kernel_call *c, int bias)
{
	return (struct head){ .c = c,
			      .a = c->attributes,
			      .bias = bias,
			      .vocab = c->in[1].shape[0],
			      .width = c->in[0].shape[1] };
}

/* Of a gradient, whose results begin at output FIRST. */
static struct head make_gradient(const struct kernel_call *c, int bias,
				 const struct kernel_tensor *lse, const struct kernel_tensor *dloss,
				 int first)
{
	struct head h = make_head(c, bias);

	h.lse = lse;
	h.dloss = dloss;
	h.dx = &c->out[first];
	h.dw = &c->out[first + 1];
	h.dbias = c->n_out > first + 2 ? &c->out[first + 2] : NULL;
	return h;
}

static double logit(const struct head *h, size_t row, size_t word)
{
	const struct kernel_tensor *x = &h->c->in[0], *w = &h->c->in[1];
	const struct kernel_tensor *b = &h->c->in[h->bias];
	double z = 0, c = h->a->soft_cap;

	for (size_t i = 0; i < h->width; i++)
		z += ref_get(x, (ptrdiff_t)row * x->stride[0] + (ptrdiff_t)i * x->stride[1]) *
		     ref_get(w, (ptrdiff_t)word * w->stride[0] + (ptrdiff_t)i * w->stride[1]);
	if (ref_has(h->c, h->bias))
		z += ref_get(b, (ptrdiff_t)word * b->stride[0]);
	return c == 0 ? z : c * tanh(z / c);
}

struct row {
	double lse, mean, entropy;
};

static struct row row_of(const struct head *h, size_t row)
{
	double most = -INFINITY, sum = 0;
	struct row r = { 0 };

	for (size_t v = 0; v < h->vocab; v++) {
		double z = logit(h, row, v);

		most = isnan(z) || z > most ? z : most;
		r.mean += z / (double)h->vocab;
	}
	for (size_t v = 0; v < h->vocab; v++)
		sum += exp(logit(h, row, v) - most);
	r.lse = most + log(sum);
	for (size_t v = 0; v < h->vocab; v++) {
		double z = logit(h, row, v) - r.lse;

		r.entropy -= exp(z) * z;
	}
	return r;
}

static int64_t target_of(const struct head *h, size_t row)
{
	return (int64_t)ref_get(&h->c->in[2], (ptrdiff_t)row * h->c->in[2].stride[0]);
}

static bool is_ignored(const struct head *h, int64_t target)
{
	return target == h->a->ignore || target < 0 || (size_t)target >= h->vocab;
}

static void put_row(const struct kernel_tensor *t, size_t row, double x)
{
	ref_put(t, (ptrdiff_t)row * t->stride[0], x);
}

/* The loss of each row to output FIRST, its log-sum-exp to the next and to LSE (or NULL), the entropy to the one after that when asked. */
static void put_losses(const struct head *h, int first, const struct kernel_tensor *lse)
{
	const struct kernel_call *c = h->c;

	REF_SHARE(c, c->out[first].shape[0], from, to);
	for (size_t i = from; i < to; i++) {
		int64_t target = target_of(h, i);
		struct row r = row_of(h, i);
		double e = h->a->smoothing, loss = 0;

		if (!is_ignored(h, target))
			loss = (1 - e) * (r.lse - logit(h, i, (size_t)target)) +
			       (e == 0 ? 0 : e * (r.lse - r.mean)) + h->a->z_loss * r.lse * r.lse;
		put_row(&c->out[first], i, loss);
		put_row(&c->out[first + 1], i, r.lse);
		if (lse)
			put_row(lse, i, r.lse);
		if (h->a->entropy)
			put_row(&c->out[first + 2], i, r.entropy);
	}
}

static void run_linear_ce(const struct kernel_call *c)
{
	struct head h = make_head(c, 3);

	put_losses(&h, 0, NULL);
}
REF_KERNEL(linear_ce, run_linear_ce);

/* --- gradients: what dloss makes of the product x wᵀ at (row, word) --- */

typedef double slope_fn(const struct head *h, size_t row, size_t word, double z, double lse);

static double ce_slope(const struct head *h, size_t row, size_t word, double z, double lse)
{
	int64_t target = target_of(h, row);
	double e = h->a->smoothing;

	if (is_ignored(h, target))
		return 0;
	return exp(z - lse) * (1 + 2 * h->a->z_loss * lse) - (1 - e) * (word == (size_t)target) -
	       e / (double)h->vocab;
}

static double product_slope(const struct head *h, slope_fn *fn, size_t row, size_t word)
{
	double z = logit(h, row, word), c = h->a->soft_cap;
	double l = ref_get(h->lse, (ptrdiff_t)row * h->lse->stride[0]);
	double d = ref_get(h->dloss, (ptrdiff_t)row * h->dloss->stride[0]);
	double slope = fn(h, row, word, z, l);

	return slope == 0 ? 0 : d * slope * (c == 0 ? 1 : 1 - z / c * (z / c));
}

static void grad_states(const struct head *h, slope_fn *fn)
{
	const struct kernel_tensor *w = &h->c->in[1], *dx = h->dx;

	REF_SHARE(h->c, kernel_elements(dx), from, to);
	for (size_t n = from; n < to; n++) {
		size_t row = n / h->width, i = n % h->width;
		double sum = 0;

		for (size_t v = 0; v < h->vocab; v++) {
			double slope = product_slope(h, fn, row, v);

			if (slope != 0)
				sum += slope * ref_get(w, (ptrdiff_t)v * w->stride[0] +
								  (ptrdiff_t)i * w->stride[1]);
		}
		ref_put(dx, (ptrdiff_t)row * dx->stride[0] + (ptrdiff_t)i * dx->stride[1], sum);
	}
}

static void grad_words(const struct head *h, slope_fn *fn)
{
	const struct kernel_tensor *x = &h->c->in[0], *dw = h->dw;

	REF_SHARE(h->c, h->vocab, from, to);
	for (size_t v = from; v < to; v++) {
		double bias = 0;

		for (size_t i = 0; i < h->width; i++) {
			double sum = 0;

			for (size_t row = 0; row < x->shape[0]; row++) {
				double slope = product_slope(h, fn, row, v);

				if (slope != 0)
					sum += slope *
					       ref_get(x, (ptrdiff_t)row * x->stride[0] +
								  (ptrdiff_t)i * x->stride[1]);
			}
			ref_put(dw, (ptrdiff_t)v * dw->stride[0] + (ptrdiff_t)i * dw->stride[1],
				sum);
		}
		for (size_t row = 0; row < x->shape[0] && h->dbias; row++)
			bias += product_slope(h, fn, row, v);
		if (h->dbias)
			ref_put(h->dbias, (ptrdiff_t)v * h->dbias->stride[0], bias);
	}
}

static void run_linear_ce_grad(const struct kernel_call *c)
{
	struct head h = make_gradient(c, 5, &c->in[3], &c->in[4], 0);

	grad_states(&h, ce_slope);
	grad_words(&h, ce_slope);
}
REF_KERNEL(linear_ce_grad, run_linear_ce_grad);

/* Losses first, then what the log-sum-exp is needed for, which is kept in double. */
static void run_linear_ce_sum(const struct kernel_call *c)
{
	struct kernel_tensor lse = { .data = c->scratch,
				     .dtype = DTYPE_F64,
				     .n_axes = 1,
				     .shape = { c->in[0].shape[0] },
				     .stride = { 1 } };
	struct head h = make_gradient(c, 4, &lse, &c->in[3], 3);
	double sum = 0;

	if (c->phase == 0) {
		put_losses(&h, 1, &lse);
		return;
	}
	grad_states(&h, ce_slope);
	grad_words(&h, ce_slope);
	if (c->part > 0)
		return;
	for (size_t i = 0; i < c->in[0].shape[0]; i++)
		sum += ref_get(&c->in[3], (ptrdiff_t)i * c->in[3].stride[0]) *
		       ref_get(&c->out[1], (ptrdiff_t)i * c->out[1].stride[0]);
	ref_put(&c->out[0], 0, sum);
}

static size_t scratch_linear_ce_sum(const struct kernel_call *c)
{
	return c->in[0].shape[0] * sizeof(double);
}

const struct kernel ref_linear_ce_sum;
const struct kernel ref_linear_ce_sum = {
	.op = "linear_ce_sum",
	.variant = "ref",
	.scratch = scratch_linear_ce_sum,
	.phases = 2,
	.run = run_linear_ce_sum,
};

/* --- from a teacher: log-probabilities [T, k] at ids [T, k] --- */

static int64_t teacher_id(const struct head *h, size_t row, size_t k)
{
	const struct kernel_tensor *ids = &h->c->in[3];

	return (int64_t)ref_get(ids,
				(ptrdiff_t)row * ids->stride[0] + (ptrdiff_t)k * ids->stride[1]);
}

static double teacher_log(const struct head *h, size_t row, size_t k)
{
	const struct kernel_tensor *t = &h->c->in[2];

	return ref_get(t, (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)k * t->stride[1]);
}

/* How many words are kept of ROW, and the log of their sum. */
static size_t teacher_kept(const struct head *h, size_t row, double *log_total)
{
	size_t n = 0, most = h->c->in[3].shape[1];
	double top = -INFINITY, sum = 0;

	while (n < most && teacher_id(h, row, n) >= 0 &&
	       teacher_id(h, row, n) < (int64_t)h->vocab) {
		double q = teacher_log(h, row, n++);

		top = q > top ? q : top;
	}
	for (size_t k = 0; k < n; k++)
		sum += exp(teacher_log(h, row, k) - top);
	*log_total = top + log(sum);
	return n;
}

static void run_linear_kl(const struct kernel_call *c)
{
	struct head h = make_head(c, 4);

	REF_SHARE(c, c->out[0].shape[0], from, to);
	for (size_t i = from; i < to; i++) {
		struct row r = row_of(&h, i);
		double total, loss = 0;
		size_t kept = teacher_kept(&h, i, &total);

		for (size_t k = 0; k < kept; k++) {
			double q = teacher_log(&h, i, k) - total;

			if (!(exp(q) <= 0))
				loss += exp(q) *
					(q - (logit(&h, i, (size_t)teacher_id(&h, i, k)) - r.lse));
		}
		put_row(&c->out[0], i, loss);
		put_row(&c->out[1], i, r.lse);
	}
}
REF_KERNEL(linear_kl, run_linear_kl);

static double kl_slope(const struct head *h, size_t row, size_t word, double z, double lse)
{
	double total, q = 0;
	size_t kept = teacher_kept(h, row, &total);

	if (kept == 0)
		return 0;
	for (size_t k = 0; k < kept; k++)
		if (teacher_id(h, row, k) == (int64_t)word)
			q += exp(teacher_log(h, row, k) - total);
	return exp(z - lse) - q;
}

static void run_linear_kl_grad(const struct kernel_call *c)
{
	struct head h = make_gradient(c, 6, &c->in[4], &c->in[5], 0);

	grad_states(&h, kl_slope);
	grad_words(&h, kl_slope);
}
REF_KERNEL(linear_kl_grad, run_linear_kl_grad);
