/*
 * kernels/cpu/reduce.h - how a reduction is cut into pieces, and what pieces come to
 *
 * Axes that step evenly are joined. What lies side by side is either folded, and a result is made of runs of it (reduce_rows.h), or
 * kept, and a row of results is made of rows (reduce_columns.h: the gradient of a bias). Either is cut into pieces by shape: runs of
 * RUN elements, or as many shorter ones as come to that; PIECE rows. Where a result has more than one piece, phase 0 leaves
 * what each comes to, and phase 1 adds them in their order in double.
 */
#ifndef KERNELS_CPU_REDUCE_H
#define KERNELS_CPU_REDUCE_H

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

#define RUN   4096
#define PIECE 64

enum what { SUM, MEAN, AMAX, LOGSUMEXP };

struct group {
	size_t n;
	ptrdiff_t step;
};

struct reduction {
	enum what what;
	struct group kept[KERNEL_AXES], folded[KERNEL_AXES]; /* but for what lies side by side */
	int n_kept, n_folded;
	bool columns;
	size_t width;	/* what lies side by side */
	size_t results; /* elements, or rows of them */
	size_t runs;	/* that make one */
	size_t cuts;	/* of a run; 1 for columns */
	size_t runs_a_piece, pieces;
};

static size_t ceiling(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

/* --- the shape --- */

struct axes {
	struct group at[KERNEL_AXES];
	bool folded[KERNEL_AXES];
	int n;
};

static void join_axes(const struct kernel_call *c, struct axes *out)
{
	const struct axes_attributes *a = c->attributes;
	const struct kernel_tensor *x = &c->in[0];

	out->n = 0;
	for (int i = 0; i < x->n_axes; i++) {
		bool folded = a->axes >> i & 1;
		struct group *last = out->n ? &out->at[out->n - 1] : NULL;

		if (x->shape[i] == 1)
			continue;
		if (last && out->folded[out->n - 1] == folded &&
		    last->step == x->stride[i] * (ptrdiff_t)x->shape[i]) {
			last->n *= x->shape[i];
			last->step = x->stride[i];
			continue;
		}
		out->folded[out->n] = folded;
		out->at[out->n++] = (struct group){ x->shape[i], x->stride[i] };
	}
}

static size_t count(const struct group *g, int n)
{
	size_t product = 1;

	for (int i = 0; i < n; i++)
		product *= g[i].n;
	return product;
}

static ptrdiff_t place(const struct group *g, int n, size_t i)
{
	ptrdiff_t at = 0;

	for (int j = n - 1; j >= 0; j--) {
		at += (ptrdiff_t)(i % g[j].n) * g[j].step;
		i /= g[j].n;
	}
	return at;
}

static void cut(struct reduction *r)
{
	r->results = count(r->kept, r->n_kept);
	r->runs = count(r->folded, r->n_folded);
	r->cuts = r->columns ? 1 : ceiling(r->width, RUN);
	r->runs_a_piece = r->columns ? PIECE : r->cuts > 1 ? 1 : RUN / r->width;
	r->pieces = r->cuts * ceiling(r->runs, r->runs_a_piece);
}

/* False where nothing lies side by side, or what is kept lies so but is not last in the result. */
static bool make_reduction(const struct kernel_call *c, enum what what, struct reduction *r)
{
	struct axes axes;
	int inner = -1;

	join_axes(c, &axes);
	*r = (struct reduction){ .what = what, .width = 1 };
	for (int i = 0; i < axes.n; i++)
		if (axes.at[i].step == 1)
			inner = i;
	for (int i = 0; i < axes.n; i++) {
		if (i == inner)
			continue;
		if (axes.folded[i])
			r->folded[r->n_folded++] = axes.at[i];
		else if (inner >= 0 && !axes.folded[inner] && i > inner)
			return false;
		else
			r->kept[r->n_kept++] = axes.at[i];
	}
	if (inner >= 0) {
		r->columns = !axes.folded[inner];
		r->width = axes.at[inner].n;
	}
	cut(r);
	return inner >= 0 || axes.n == 0;
}

/* A cut of N elements, AT, of COUNT runs from FIRST on. */
struct stretch {
	ptrdiff_t at;
	size_t n, first, count;
};

/* --- vectors --- */

enum fold { FOLD_SUM, FOLD_MOST, FOLD_EXP };

/* SHIFT is what exponentials are taken from. */
SIMD_INLINE vf32 fold(enum fold f, vf32 sum, vf32 x, vf32 shift)
{
	if (f == FOLD_SUM)
		return sum + x;
	if (f == FOLD_EXP)
		return sum + simd_exp_below(x - shift);
	return simd_select((x != x) | (sum != sum), simd_max(x, sum), x + sum);
}

static float start_of(enum fold f)
{
	return f == FOLD_MOST ? -INFINITY : 0;
}

/* Lanes past the end change nothing. */
SIMD_INLINE float rest_of(enum fold f)
{
	return f == FOLD_SUM ? 0 : -INFINITY;
}

/* What exponentials are taken from: the largest, but 0 when that is no number to subtract. */
SIMD_INLINE vf32 shift_of(vf32 most)
{
	return simd_keep(most - most == simd_f32(0.0f), most);
}

/* --- what pieces come to --- */

struct result {
	double most, sum;
};

static struct result nothing(void)
{
	return (struct result){ .most = -INFINITY };
}

static void add(const struct reduction *r, struct result *a, struct result b)
{
	double most = isnan(a->most) || a->most > b.most ? a->most : b.most;

	if (r->what == LOGSUMEXP && isfinite(most)) {
		a->sum = a->sum * exp(a->most - most) + b.sum * exp(b.most - most);
		a->most = most;
		return;
	}
	a->sum += b.sum;
	a->most = most;
}

static float value(const struct reduction *r, struct result x, double n)
{
	switch (r->what) {
	case SUM: return (float)x.sum;
	case MEAN: return (float)(x.sum / n);
	case AMAX: return (float)x.most;
	default: return (float)(isfinite(x.most) ? x.most + log(x.sum) : x.most);
	}
}

static double folded_elements(const struct reduction *r)
{
	return (double)r->runs * (double)(r->columns ? 1 : r->width);
}

static void put(const struct kernel_call *c, size_t at, const float *x, size_t n)
{
	const struct kernel_tensor *out = &c->out[0];

	operand_store(out->dtype, x,
		      (uint8_t *)out->data + operand_bytes(out->dtype, (ptrdiff_t)at), n);
}

#endif
