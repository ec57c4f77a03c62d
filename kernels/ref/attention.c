/*
 * kernels/ref/attention.c - rope, attention and the cache
 *
 * Attention of query i over keys j: s = cap(scale q_i . k_j) + bias, p = softmax(s) over the keys that i may see, out = sum p v.
 * With D = dout . out of a query, and its log-sum-exp l: p = exp(s - l), dv_j += p dout, dp = dout . v_j, ds = p (dp - D),
 * dbias = ds, and through the cap c tanh(t / c), whose slope is 1 - (s / c)^2, and the scale to dq and dk.
 */
#include <math.h>

#include "kernels/blocks.h"
#include "kernels/half.h"
#include "kernels/ref/ref.h"
#include "kernels/rounding.h"

/* --- rope --- */

static double turn_of(const struct kernel_call *c, size_t row, size_t pair)
{
	const struct kernel_tensor *positions = &c->in[1], *frequencies = &c->in[2];
	size_t axis = 0;

	if (ref_has(c, 3))
		axis = (size_t)ref_get(&c->in[3], (ptrdiff_t)pair * c->in[3].stride[0]);
	return ref_get(positions, (ptrdiff_t)row * positions->stride[0] +
					  (ptrdiff_t)axis * positions->stride[1]) *
	       ref_get(frequencies, (ptrdiff_t)pair * frequencies->stride[0]);
}

static void run_rope(const struct kernel_call *c)
{
	const struct rope_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0], *out = &c->out[0];
	size_t pairs = c->in[2].shape[0];
	double scale = a->scale == 0 ? 1 : a->scale;

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at, other;
		size_t e, pair;
		bool second;
		double angle, v, w;

		ref_index(out, i, &at);
		e = at.at[2];
		v = ref_get(x, ref_offset(x, &at));
		if (e >= 2 * pairs) {
			ref_put(out, ref_offset(out, &at), v);
			continue;
		}
		second = a->interleaved ? e % 2 : e >= pairs;
		pair = a->interleaved ? e / 2 : e % pairs;
		other = at;
		other.at[2] = a->interleaved ? e ^ 1 : second ? e - pairs : e + pairs;
		w = ref_get(x, ref_offset(x, &other));
		angle = turn_of(c, at.at[0], pair) * (a->inverse ? -1 : 1);
		/* (x, y) -> (x cos - y sin, y cos + x sin) */
		v = v * cos(angle) * scale + (second ? w : -w) * sin(angle) * scale;
		ref_put(out, ref_offset(out, &at), v);
	}
}
REF_KERNEL(rope, run_rope);

/* --- attention --- */

enum { Q, K, V, BIAS, MASK, Q_DOCUMENTS, K_DOCUMENTS, Q_POSITIONS, K_POSITIONS, PAGES };

/* The operands of attention from FIRST on. */
struct view {
	const struct kernel_call *c;
	const struct attention_attributes *a;
	int first;
	size_t keys, group; /* query heads a head of keys */
	double scale;
};

static const struct kernel_tensor *operand(const struct view *v, int i)
{
	return &v->c->in[v->first + i];
}

static bool has(const struct view *v, int i)
{
	return ref_has(v->c, v->first + i);
}

static struct view make_view(const struct kernel_call *c, int first)
{
	struct view v = { .c = c, .a = c->attributes, .first = first };
	const struct kernel_tensor *q = &c->in[first + Q], *k = &c->in[first + K];

	v.keys = has(&v, PAGES) ? operand(&v, PAGES)->shape[0] * v.a->page : k->shape[0];
	if (has(&v, K_POSITIONS) && operand(&v, K_POSITIONS)->shape[0] < v.keys)
		v.keys = operand(&v, K_POSITIONS)->shape[0];
	v.group = q->shape[1] / k->shape[1];
	v.scale = v.a->scale == 0 ? 1 / sqrt((double)q->shape[2]) : v.a->scale;
	return v;
}

static double number(const struct view *v, int i, size_t at)
{
	const struct kernel_tensor *t = operand(v, i);

	return ref_get(t, (ptrdiff_t)at * t->stride[0]);
}

/* The row of the cache that key J lies in; -1: its page is not there. */
static int64_t key_row(const struct view *v, size_t j)
{
	int64_t page;

	if (!has(v, PAGES))
		return (int64_t)j;
	page = (int64_t)number(v, PAGES, j / v->a->page);
	return page < 0 ? -1 : page * v->a->page + (int64_t)(j % v->a->page);
}

/* Without positions the last query stands at the last key. */
static int64_t query_position(const struct view *v, size_t i)
{
	if (has(v, Q_POSITIONS))
		return (int64_t)number(v, Q_POSITIONS, i);
	return (int64_t)(i + v->keys) - (int64_t)operand(v, Q)->shape[0];
}

static int64_t key_position(const struct view *v, size_t j)
{
	return has(v, K_POSITIONS) ? (int64_t)number(v, K_POSITIONS, j) : (int64_t)j;
}

static bool sees(const struct view *v, size_t i, size_t j)
{
	int64_t back = query_position(v, i) - key_position(v, j);
	const struct kernel_tensor *mask = operand(v, MASK);

	if (key_row(v, j) < 0 || key_position(v, j) < 0)
		return false;
	if (v->a->causal && back < 0)
		return false;
	if (v->a->window &&
	    (back >= (int64_t)v->a->window || (!v->a->causal && -back >= (int64_t)v->a->window)))
		return false;
	if (has(v, Q_DOCUMENTS) && has(v, K_DOCUMENTS) &&
	    number(v, Q_DOCUMENTS, i) != number(v, K_DOCUMENTS, j))
		return false;
	if (has(v, MASK)) {
		double bits = ref_get(mask, (ptrdiff_t)i * mask->stride[0] +
						    (ptrdiff_t)(j / 8) * mask->stride[1]);

		return (unsigned)bits >> j % 8 & 1;
	}
	return true;
}

static double row_dot(const struct kernel_tensor *a, ptrdiff_t at_a, const struct kernel_tensor *b,
		      ptrdiff_t at_b)
{
	double sum = 0;

	for (size_t i = 0; i < a->shape[2]; i++)
		sum += ref_get(a, at_a + (ptrdiff_t)i * a->stride[2]) *
		       ref_get(b, at_b + (ptrdiff_t)i * b->stride[2]);
	return sum;
}

static ptrdiff_t row_at(const struct kernel_tensor *t, int64_t row, size_t head)
{
	return (ptrdiff_t)row * t->stride[0] + (ptrdiff_t)head * t->stride[1];
}

/* The capped score without the bias to *CAPPED (or NULL); with it as the result. */
static double score(const struct view *v, size_t i, size_t h, size_t j, double *capped)
{
	const struct kernel_tensor *q = operand(v, Q), *k = operand(v, K), *b = operand(v, BIAS);
	double s = v->scale *
		   row_dot(q, row_at(q, (int64_t)i, h), k, row_at(k, key_row(v, j), h / v->group));

	if (v->a->soft_cap)
		s = v->a->soft_cap * tanh(s / v->a->soft_cap);
	if (capped)
		*capped = s;
	if (has(v, BIAS))
		s += ref_get(b, (b->shape[0] == 1 ? 0 : (ptrdiff_t)h * b->stride[0]) +
					(ptrdiff_t)i * b->stride[1] + (ptrdiff_t)j * b->stride[2]);
	return s;
}

/* -inf when query I sees no key. */
static double log_sum(const struct view *v, size_t i, size_t h)
{
	double most = -INFINITY, sum = 0;

	for (size_t j = 0; j < v->keys; j++)
		if (sees(v, i, j)) {
			double s = score(v, i, h, j, NULL);

			most = isnan(s) || s > most ? s : most;
		}
	if (isinf(most) && most < 0)
		return most;
	for (size_t j = 0; j < v->keys; j++)
		if (sees(v, i, j))
			sum += exp(score(v, i, h, j, NULL) - most);
	return most + log(sum);
}

/* exp(s - l); 0 of a query that no key counts for. */
static double share(double s, double l)
{
	return l == -INFINITY ? 0 : exp(s - l);
}

static void run_attention(const struct kernel_call *c)
{
	struct view v = make_view(c, 0);
	const struct kernel_tensor *values = &c->in[V], *out = &c->out[0], *lse = &c->out[1];
	size_t heads = c->in[Q].shape[1];

	REF_SHARE(c, c->in[Q].shape[0] * heads, from, to);
	for (size_t r = from; r < to; r++) {
		size_t i = r / heads, h = r % heads;
		double l = log_sum(&v, i, h);

		for (size_t e = 0; e < values->shape[2]; e++) {
			double sum = 0;

			for (size_t j = 0; j < v.keys; j++)
				if (sees(&v, i, j))
					sum += share(score(&v, i, h, j, NULL), l) *
					       ref_get(values,
						       row_at(values, key_row(&v, j), h / v.group) +
							       (ptrdiff_t)e * values->stride[2]);
			ref_put(out, row_at(out, (int64_t)i, h) + (ptrdiff_t)e * out->stride[2],
				sum);
		}
		ref_put(lse, (ptrdiff_t)i * lse->stride[0] + (ptrdiff_t)h * lse->stride[1], l);
	}
}
REF_KERNEL(attention, run_attention);

/* --- its gradient: dout, out, lse, q, k, v, ... --- */

struct pair {
	double p, ds, capped;
};

static struct pair pair_of(const struct view *v, size_t i, size_t h, size_t j)
{
	const struct kernel_tensor *dout = &v->c->in[0], *out = &v->c->in[1];
	const struct kernel_tensor *values = operand(v, V);
	ptrdiff_t at = row_at(dout, (int64_t)i, h);
	double d = row_dot(dout, at, out, row_at(out, (int64_t)i, h));
	double dp = row_dot(dout, at, values, row_at(values, (int64_t)j, h / v->group));
	struct pair x;

	x.p = share(score(v, i, h, j, &x.capped), log_sum(v, i, h));
	x.ds = x.p * (dp - d);
	return x;
}

/* Through the cap and the scale, to q . k. */
static double to_product(const struct view *v, struct pair x)
{
	double c = v->a->soft_cap, slope = c == 0 ? 1 : 1 - x.capped / c * (x.capped / c);

	return x.ds * slope * v->scale;
}

static void add_at(const struct kernel_tensor *t, ptrdiff_t at, double *sums, size_t n)
{
	for (size_t e = 0; e < n; e++)
		ref_put(t, at + (ptrdiff_t)e * t->stride[2], sums[e]);
}

#define HEAD_MAX 512

static void grad_queries(const struct kernel_call *c, const struct view *v)
{
	const struct kernel_tensor *q = operand(v, Q), *k = operand(v, K), *dq = &c->out[0];
	size_t heads = q->shape[1];

	REF_SHARE(c, q->shape[0] * heads, from, to);
	for (size_t r = from; r < to; r++) {
		size_t i = r / heads, h = r % heads;
		double sums[HEAD_MAX] = { 0 };

		for (size_t j = 0; j < v->keys; j++) {
			double w;

			if (!sees(v, i, j))
				continue;
			w = to_product(v, pair_of(v, i, h, j));
			for (size_t e = 0; e < q->shape[2]; e++)
				sums[e] += w * ref_get(k, row_at(k, (int64_t)j, h / v->group) +
								  (ptrdiff_t)e * k->stride[2]);
		}
		add_at(dq, row_at(dq, (int64_t)i, h), sums, q->shape[2]);
	}
}

static void grad_keys(const struct kernel_call *c, const struct view *v)
{
	const struct kernel_tensor *q = operand(v, Q), *k = operand(v, K), *dout = &c->in[0];
	const struct kernel_tensor *dk = &c->out[1], *dv = &c->out[2];
	size_t heads = k->shape[1];

	REF_SHARE(c, v->keys * heads, from, to);
	for (size_t r = from; r < to; r++) {
		size_t j = r / heads, g = r % heads;
		double sum_k[HEAD_MAX] = { 0 }, sum_v[HEAD_MAX] = { 0 };

		for (size_t h = g * v->group; h < (g + 1) * v->group; h++)
			for (size_t i = 0; i < q->shape[0]; i++) {
				struct pair x;
				double w;

				if (!sees(v, i, j))
					continue;
				x = pair_of(v, i, h, j);
				w = to_product(v, x);
				for (size_t e = 0; e < q->shape[2]; e++)
					sum_k[e] +=
						w * ref_get(q, row_at(q, (int64_t)i, h) +
								       (ptrdiff_t)e * q->stride[2]);
				for (size_t e = 0; e < dv->shape[2]; e++)
					sum_v[e] += x.p *
						    ref_get(dout,
							    row_at(dout, (int64_t)i, h) +
								    (ptrdiff_t)e * dout->stride[2]);
			}
		add_at(dk, row_at(dk, (int64_t)j, g), sum_k, q->shape[2]);
		add_at(dv, row_at(dv, (int64_t)j, g), sum_v, dv->shape[2]);
	}
}

static void grad_bias(const struct kernel_call *c, const struct view *v)
{
	const struct kernel_tensor *q = operand(v, Q), *db = &c->out[3];
	size_t heads = q->shape[1];

	REF_SHARE(c, kernel_elements(db), from, to);
	for (size_t n = from; n < to; n++) {
		struct ref_index at;
		double sum = 0;

		ref_index(db, n, &at);
		for (size_t h = 0; h < heads; h++)
			if ((db->shape[0] == 1 || h == at.at[0]) && sees(v, at.at[1], at.at[2]))
				sum += pair_of(v, at.at[1], h, at.at[2]).ds;
		ref_put(db, ref_offset(db, &at), sum);
	}
}

static void run_attention_grad(const struct kernel_call *c)
{
	struct view v = make_view(c, 3);

	grad_queries(c, &v);
	grad_keys(c, &v);
	if (c->n_out > 3)
		grad_bias(c, &v);
}
REF_KERNEL(attention_grad, run_attention_grad);

/* --- the cache --- */

/* N elements, whole blocks: each rounded, its scale in f16. */
static void write_blocks(const struct kernel_tensor *x, ptrdiff_t from,
			 const struct kernel_tensor *cache, ptrdiff_t to, size_t n)
{
	struct block_q8_0 *b = (struct block_q8_0 *)cache->data + to / ROUNDING_BLOCK;

	for (size_t i = 0; i < n; i += ROUNDING_BLOCK, b++) {
		float values[ROUNDING_BLOCK];

		for (size_t j = 0; j < ROUNDING_BLOCK; j++)
			values[j] = (float)ref_get(x, from + (ptrdiff_t)(i + j) * x->stride[2]);
		store_u16(b->d, half_from_f32(rounding_block(values, ROUNDING_BLOCK, b->qs)));
	}
}

static void run_kv_write(const struct kernel_call *c)
{
	const struct kernel_tensor *x = &c->in[1], *slots = &c->in[2], *cache = &c->out[0];

	REF_SHARE(c, x->shape[1], from, to);
	for (size_t head = from; head < to; head++)
		for (size_t row = 0; row < x->shape[0]; row++) {
			int64_t slot = (int64_t)ref_get(slots, (ptrdiff_t)row * slots->stride[0]);

			if (slot < 0 || (size_t)slot >= cache->shape[0])
				continue;
			if (cache->dtype == DTYPE_Q8_0) {
				write_blocks(x, row_at(x, (int64_t)row, head), cache,
					     row_at(cache, slot, head), x->shape[2]);
				continue;
			}
			for (size_t e = 0; e < x->shape[2]; e++)
				ref_put(cache,
					row_at(cache, slot, head) + (ptrdiff_t)e * cache->stride[2],
					ref_get(x, row_at(x, (int64_t)row, head) +
							   (ptrdiff_t)e * x->stride[2]));
		}
}
REF_KERNEL(kv_write, run_kv_write);
