/*
 * kernels/cpu/linear_kl.c - the divergence of a student's words from those that a teacher kept (head.h)
 *
 * q are the teacher's probabilities over its kept words, renormalised: sum q (log q - (z - l)) = sum q log q - sum q z + l.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/head.h"

static int64_t id_of(const struct head *h, size_t row, size_t k)
{
	const struct kernel_tensor *ids = &h->c->in[3];

	return head_id(ids, (ptrdiff_t)row * ids->stride[0] + (ptrdiff_t)k * ids->stride[1]);
}

static double log_of(const struct head *h, size_t row, size_t k)
{
	const struct kernel_tensor *t = &h->c->in[2];

	return head_get(t, (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)k * t->stride[1]);
}

/* How many words are kept of ROW. */
static size_t kept_of(const struct head *h, size_t row)
{
	size_t n = 0, most = h->c->in[3].shape[1];

	while (n < most && id_of(h, row, n) >= 0 && id_of(h, row, n) < (int64_t)h->vocab)
		n++;
	return n;
}

/* The log of the sum of their probabilities. */
static double total_of(const struct head *h, size_t row, size_t kept)
{
	double top = -INFINITY, sum = 0;

	for (size_t k = 0; k < kept; k++)
		top = log_of(h, row, k) > top ? log_of(h, row, k) : top;
	for (size_t k = 0; k < kept; k++)
		sum += exp(log_of(h, row, k) - top);
	return top + log(sum);
}

static bool live(const struct head *h, size_t row)
{
	return h->c->in[3].shape[1] > 0 && id_of(h, row, 0) >= 0 &&
	       id_of(h, row, 0) < (int64_t)h->vocab;
}

static void begin(const struct head *h, size_t row, struct head_row *r)
{
	r->kept = kept_of(h, row);
	r->log_total = total_of(h, row, r->kept);
	r->rising = true;
	for (size_t k = 1; k < r->kept; k++)
		r->rising &= id_of(h, row, k - 1) <= id_of(h, row, k);
}

/* The next kept word of ROW from *K on that is one of N from FIRST on, or none. Rising ids are passed once only. */
static bool next_word(const struct head *h, size_t row, size_t first, size_t n,
		      const struct head_row *r, size_t *k)
{
	for (; *k < r->kept; ++*k) {
		int64_t at = id_of(h, row, *k) - (int64_t)first;

		if (r->rising && at >= (int64_t)n)
			return false;
		if (at >= 0 && at < (int64_t)n)
			return true;
	}
	return false;
}

static void pick(const struct head *h, size_t row, size_t first, size_t n, const float *z,
		 struct head_row *r)
{
	size_t k = r->next;

	for (; next_word(h, row, first, n, r, &k); k++) {
		double q = exp(log_of(h, row, k) - r->log_total);

		if (q > 0)
			r->picked += q * z[(size_t)id_of(h, row, k) - first];
	}
	r->next = r->rising ? k : 0;
}

static void finish(const struct head *h, size_t row, const struct head_row *r)
{
	double lse = (double)r->most + log(r->sum), loss = 0, total = 0;

	for (size_t k = 0; k < r->kept; k++) {
		double q = log_of(h, row, k) - r->log_total;

		if (exp(q) > 0)
			loss += exp(q) * q;
		total += exp(q);
	}
	head_put(&h->c->out[0], row, r->kept ? loss - r->picked + total * lse : 0);
	head_put(&h->c->out[1], row, lse);
}

static void take(const struct head *h, size_t row, size_t first, size_t n, float *p,
		 struct head_row *r)
{
	size_t k = r->next;

	for (; next_word(h, row, first, n, r, &k); k++)
		p[(size_t)id_of(h, row, k) - first] -= (float)exp(log_of(h, row, k) - r->log_total);
	r->next = r->rising ? k : 0;
}

static const struct head_loss loss = { begin, pick, finish, live, take };

static struct head make(const struct kernel_call *c, bool gradient)
{
	return LEVEL_NAME(head_of)(c, &loss, gradient ? 4 : 0, gradient ? 6 : 4);
}

static bool loss_serves(const struct kernel_call *c)
{
	return operand_is_float(c->in[2].dtype);
}

HEAD_KERNEL(linear_kl, false, head_forward);
HEAD_KERNEL(linear_kl_grad, true, head_backward);
