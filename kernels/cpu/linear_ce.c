/*
 * kernels/cpu/linear_ce.c - cross-entropy over a vocabulary, from the states before the head (head.h)
 *
 * The loss of target t, l = log sum exp z: (1 - e) (l - z_t) + e (l - mean z) + z_loss l^2; the entropy is l - sum p z.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/head.h"

static int64_t target_of(const struct head *h, size_t row)
{
	return head_id(&h->c->in[2], (ptrdiff_t)row * h->c->in[2].stride[0]);
}

static bool live(const struct head *h, size_t row)
{
	int64_t target = target_of(h, row);

	return target != h->a->ignore && target >= 0 && (size_t)target < h->vocab;
}

static void pick(const struct head *h, size_t row, size_t first, size_t n, const float *z,
		 struct head_row *r)
{
	int64_t at = target_of(h, row) - (int64_t)first;

	if (at >= 0 && at < (int64_t)n)
		r->picked = z[at];
}

static void finish(const struct head *h, size_t row, const struct head_row *r)
{
	double lse = (double)r->most + log(r->sum), loss = 0, e = h->a->smoothing;

	if (live(h, row)) {
		loss = (1 - e) * (lse - r->picked) + h->a->z_loss * lse * lse;
		if (e != 0)
			loss += e * (lse - r->total / (double)h->vocab);
	}
	head_put(&h->c->out[0], row, loss);
	head_put(&h->c->out[1], row, lse);
	if (h->c->n_out > 2)
		head_put(&h->c->out[2], row, log(r->sum) - r->weighted / r->sum);
}

static void take(const struct head *h, size_t row, size_t first, size_t n, float *p,
		 struct head_row *r)
{
	int64_t at = target_of(h, row) - (int64_t)first;

	(void)r;
	if (at >= 0 && at < (int64_t)n)
		p[at] -= (float)(1 - h->a->smoothing);
}

static const struct head_loss loss = { NULL, pick, finish, live, take };

static struct head make(const struct kernel_call *c, bool gradient)
{
	struct head h = LEVEL_NAME(head_of)(c, &loss, gradient ? 3 : 0, gradient ? 5 : 3);

	h.smoothing = h.a->smoothing;
	h.z_loss = h.a->z_loss;
	return h;
}

/* Targets may lie anywhere. */
static bool loss_serves(const struct kernel_call *c)
{
	return c->in[2].dtype == DTYPE_I32;
}

HEAD_KERNEL(linear_ce, false, head_forward);
HEAD_KERNEL(linear_ce_grad, true, head_backward);
