/*
 * kernels/cpu/reduce.c - sum, mean, amax and logsumexp over axes
 *
 * Axes that step evenly are joined. What lies side by side is either folded, and a result is made of runs of it (`rows`), or
 * kept, and a row of results is made of rows (`columns`: the gradient of a bias). Either is cut into pieces by shape: runs of RUN
 * elements, or as many shorter ones as come to that; PIECE rows. Where a result has more than one piece, phase 0 leaves
 * what each comes to, and phase 1 adds them in their order in double.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

#define RUN    4096
#define PIECE  64
#define ACROSS 512 /* columns at a time */

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
		struct group *last = &out->at[out->n - 1];

		if (x->shape[i] == 1)
			continue;
		if (out->n && out->folded[out->n - 1] == folded &&
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

/* --- rows: what a piece comes to --- */

struct result {
	double most, sum;
};

#define CHAINS 4

SIMD_INLINE void fold_run(enum fold f, enum dtype t, const uint8_t *p, size_t n, vf32 shift,
			  vf32 *chain)
{
	size_t i = 0;

	for (; i + CHAINS * SIMD_WIDTH <= n; i += CHAINS * SIMD_WIDTH)
		SIMD_UNROLL
	for (size_t k = 0; k < CHAINS; k++)
		chain[k] =
			fold(f, chain[k],
			     vector_load(t, p + operand_bytes(t, (ptrdiff_t)(i + k * SIMD_WIDTH))),
			     shift);
	for (; i < n; i += SIMD_WIDTH)
		chain[0] =
			fold(f, chain[0],
			     vector_some(t, p + operand_bytes(t, (ptrdiff_t)i), n - i, rest_of(f)),
			     shift);
}

/* A cut of N elements, AT, of COUNT runs from FIRST on. */
struct stretch {
	ptrdiff_t at;
	size_t n, first, count;
};

SIMD_INLINE float fold_stretch(enum fold f, enum dtype t, const struct kernel_call *c,
			       const struct reduction *r, const struct stretch *s, float shift)
{
	vf32 chain[CHAINS], from = simd_f32(shift);
	float lane[SIMD_WIDTH];

	for (size_t k = 0; k < CHAINS; k++)
		chain[k] = simd_f32(start_of(f));
	for (size_t i = 0; i < s->count; i++)
		fold_run(f, t,
			 operand_at(&c->in[0], s->at + place(r->folded, r->n_folded, s->first + i)),
			 s->n, from, chain);
	for (size_t k = 1; k < CHAINS; k++)
		chain[0] = fold(f == FOLD_MOST ? f : FOLD_SUM, chain[0], chain[k], from);
	if (f != FOLD_MOST)
		return rows_sum(chain[0]);
	simd_store(lane, chain[0]);
	for (size_t i = 1; i < SIMD_WIDTH; i++)
		lane[0] = isnan(lane[i]) || lane[i] > lane[0] ? lane[i] : lane[0];
	return lane[0];
}

static float fold_rows(enum fold f, const struct kernel_call *c, const struct reduction *r,
		       const struct stretch *s, float shift)
{
#define EACH(f)                                                                \
 (c->in[0].dtype == DTYPE_F32	 ? fold_stretch(f, DTYPE_F32, c, r, s, shift)  \
  : c->in[0].dtype == DTYPE_BF16 ? fold_stretch(f, DTYPE_BF16, c, r, s, shift) \
				 : fold_stretch(f, DTYPE_F16, c, r, s, shift))
	return f == FOLD_SUM ? EACH(FOLD_SUM) : f == FOLD_MOST ? EACH(FOLD_MOST) : EACH(FOLD_EXP);
#undef EACH
}

static struct result row_piece(const struct kernel_call *c, const struct reduction *r,
			       size_t result, size_t piece)
{
	size_t from = piece % r->cuts * RUN;
	struct stretch s = { .at = place(r->kept, r->n_kept, result) + (ptrdiff_t)from,
			     .n = r->width - from < RUN ? r->width - from : RUN,
			     .first = piece / r->cuts * r->runs_a_piece };
	struct result x = { 0 };

	s.count = r->runs - s.first < r->runs_a_piece ? r->runs - s.first : r->runs_a_piece;
	if (r->what == SUM || r->what == MEAN) {
		x.sum = fold_rows(FOLD_SUM, c, r, &s, 0);
		return x;
	}
	x.most = fold_rows(FOLD_MOST, c, r, &s, 0);
	if (r->what == LOGSUMEXP && isfinite(x.most))
		x.sum = fold_rows(FOLD_EXP, c, r, &s, (float)x.most);
	return x;
}

/* --- what pieces come to --- */

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

static void rows(const struct kernel_call *c, const struct reduction *r)
{
	struct result *left = c->scratch;
	size_t from, to;

	kernel_share(r->results * r->pieces, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct result x = row_piece(c, r, i / r->pieces, i % r->pieces);
		float y;

		if (r->pieces > 1) {
			left[i] = x;
			continue;
		}
		y = value(r, x, folded_elements(r));
		put(c, i, &y, 1);
	}
}

static void add_rows(const struct kernel_call *c, const struct reduction *r)
{
	const struct result *left = c->scratch;
	size_t from, to;

	kernel_share(r->results, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		struct result x = nothing();
		float y;

		for (size_t j = 0; j < r->pieces; j++)
			add(r, &x, left[i * r->pieces + j]);
		y = value(r, x, folded_elements(r));
		put(c, i, &y, 1);
	}
}

/* --- columns --- */

/* ROWS_AT_ONCE rows are added on to each vector of sums while it is there. */
#define ROWS_AT_ONCE 4

SIMD_INLINE void fold_four(enum fold f, enum dtype t, const uint8_t *const *p, size_t rows,
			   size_t n, const float *shift, float *sums)
{
	for (size_t j = 0; j < n; j += SIMD_WIDTH) {
		vf32 sum = simd_load(sums + j), from = shift ? simd_load(shift + j) : sum;

		for (size_t k = 0; k < rows; k++)
			sum = fold(f, sum,
				   vector_some(t, p[k] + operand_bytes(t, (ptrdiff_t)j), n - j,
					       rest_of(f)),
				   from);
		simd_store(sums + j, sum);
	}
}

SIMD_INLINE void fold_block(enum fold f, enum dtype t, const struct kernel_call *c,
			    const struct reduction *r, const struct stretch *s, const float *shift,
			    float *sums)
{
	size_t i = 0;

	for (size_t j = 0; j < rows_room(s->n); j++)
		sums[j] = start_of(f);
	while (i < s->count) {
		const uint8_t *p[ROWS_AT_ONCE];
		size_t many = s->count - i < ROWS_AT_ONCE ? s->count - i : ROWS_AT_ONCE;

		for (size_t k = 0; k < many; k++)
			p[k] = operand_at(&c->in[0],
					  s->at + place(r->folded, r->n_folded, s->first + i + k));
		if (many == ROWS_AT_ONCE)
			fold_four(f, t, p, ROWS_AT_ONCE, s->n, shift, sums);
		else
			fold_four(f, t, p, many, s->n, shift, sums);
		i += many;
	}
}

static void fold_columns(enum fold f, const struct kernel_call *c, const struct reduction *r,
			 const struct stretch *s, const float *shift, float *sums)
{
#define EACH(f)                                     \
 do {                                               \
  if (c->in[0].dtype == DTYPE_F32)                  \
   fold_block(f, DTYPE_F32, c, r, s, shift, sums);  \
  else if (c->in[0].dtype == DTYPE_BF16)            \
   fold_block(f, DTYPE_BF16, c, r, s, shift, sums); \
  else                                              \
   fold_block(f, DTYPE_F16, c, r, s, shift, sums);  \
 } while (0)
	if (f == FOLD_SUM)
		EACH(FOLD_SUM);
	else if (f == FOLD_MOST)
		EACH(FOLD_MOST);
	else
		EACH(FOLD_EXP);
#undef EACH
}

/* What a piece of a block of columns comes to. */
struct block {
	float most[ACROSS], sum[ACROSS];
};

static void column_piece(const struct kernel_call *c, const struct reduction *r,
			 const struct stretch *s, struct block *b)
{
	float shift[ACROSS];

	if (r->what == SUM || r->what == MEAN) {
		fold_columns(FOLD_SUM, c, r, s, NULL, b->sum);
		return;
	}
	fold_columns(FOLD_MOST, c, r, s, NULL, b->most);
	if (r->what != LOGSUMEXP)
		return;
	for (size_t j = 0; j < s->n; j += SIMD_WIDTH)
		simd_store(shift + j, shift_of(simd_load(b->most + j)));
	fold_columns(FOLD_EXP, c, r, s, shift, b->sum);
}

static struct result column_result(const struct reduction *r, const float *most, const float *sum,
				   size_t j)
{
	return (struct result){ .most = r->what == AMAX || r->what == LOGSUMEXP ? most[j] : 0,
				.sum = r->what == AMAX ? 0 : sum[j] };
}

/* Where phase 0 leaves the sums of a piece; the largest lie beyond all of these. */
static float *left_at(const struct kernel_call *c, const struct reduction *r, bool most,
		      size_t result, size_t piece)
{
	size_t all = r->results * r->pieces * r->width;

	return (float *)c->scratch + (most ? all : 0) + (result * r->pieces + piece) * r->width;
}

static void give_block(const struct kernel_call *c, const struct reduction *r, size_t result,
		       size_t piece, size_t column, size_t n, const struct block *b)
{
	float y[ACROSS];

	if (r->pieces > 1) {
		if (r->what != AMAX)
			memcpy(left_at(c, r, false, result, piece) + column, b->sum,
			       n * sizeof(float));
		if (r->what == AMAX || r->what == LOGSUMEXP)
			memcpy(left_at(c, r, true, result, piece) + column, b->most,
			       n * sizeof(float));
		return;
	}
	for (size_t j = 0; j < n; j++)
		y[j] = value(r, column_result(r, b->most, b->sum, j), folded_elements(r));
	put(c, result * r->width + column, y, n);
}

static void columns(const struct kernel_call *c, const struct reduction *r)
{
	size_t across = ceiling(r->width, ACROSS), from, to;

	kernel_share(r->results * r->pieces * across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t result = i / across / r->pieces, piece = i / across % r->pieces;
		size_t column = i % across * ACROSS;
		struct stretch s = { .first = piece * PIECE };
		struct block b;

		s.at = place(r->kept, r->n_kept, result) + (ptrdiff_t)column;
		s.n = r->width - column < ACROSS ? r->width - column : ACROSS;
		s.count = r->runs - s.first < PIECE ? r->runs - s.first : PIECE;
		column_piece(c, r, &s, &b);
		give_block(c, r, result, piece, column, s.n, &b);
	}
}

#define TOGETHER 64

static void add_columns(const struct kernel_call *c, const struct reduction *r)
{
	size_t across = ceiling(r->width, TOGETHER), from, to;

	kernel_share(r->results * across, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t result = i / across, column = i % across * TOGETHER;
		size_t n = r->width - column < TOGETHER ? r->width - column : TOGETHER;
		struct result x[TOGETHER];
		float y[TOGETHER];

		for (size_t j = 0; j < n; j++)
			x[j] = nothing();
		for (size_t k = 0; k < r->pieces; k++) {
			const float *sum = left_at(c, r, false, result, k) + column;
			const float *most = left_at(c, r, true, result, k) + column;

			for (size_t j = 0; j < n; j++)
				add(r, &x[j], column_result(r, most, sum, j));
		}
		for (size_t j = 0; j < n; j++)
			y[j] = value(r, x[j], folded_elements(r));
		put(c, result * r->width + column, y, n);
	}
}

/* --- the kernels --- */

/* Nothing is folded: results, if there are any, are those of nothing. */
static void fill(const struct kernel_call *c, const struct reduction *r)
{
	float y = value(r, nothing(), 0);
	size_t from, to;

	kernel_share(kernel_elements(&c->out[0]), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++)
		put(c, i, &y, 1);
}

static void run(const struct kernel_call *c, enum what what)
{
	struct reduction r = { .what = what };

	if (kernel_elements(&c->in[0]) == 0) {
		if (c->phase == 0)
			fill(c, &r);
		return;
	}
	make_reduction(c, what, &r);
	if (c->phase == 0)
		(r.columns ? columns : rows)(c, &r);
	else if (r.pieces > 1)
		(r.columns ? add_columns : add_rows)(c, &r);
}

static size_t scratch(const struct kernel_call *c, enum what what)
{
	struct reduction r;

	if (kernel_elements(&c->in[0]) == 0)
		return 0;
	make_reduction(c, what, &r);
	if (r.pieces == 1)
		return 0;
	return r.results * r.pieces *
	       (r.columns ? 2 * r.width * sizeof(float) : sizeof(struct result));
}

static bool claims(const struct kernel_call *c)
{
	struct reduction r;

	if (!operand_is_float(c->in[0].dtype) || !operand_is_float(c->out[0].dtype) ||
	    !kernel_dense(&c->out[0]))
		return false;
	return kernel_elements(&c->in[0]) == 0 || make_reduction(c, SUM, &r);
}

#define KERNEL(name, what)                                                            \
 static void run_##name(const struct kernel_call *c)                                  \
 {                                                                                    \
  run(c, what);                                                                       \
 }                                                                                    \
 static size_t scratch_##name(const struct kernel_call *c)                            \
 {                                                                                    \
  return scratch(c, what);                                                            \
 }                                                                                    \
 LEVEL_KERNEL(name, pieces, .claims = claims, .scratch = scratch_##name, .phases = 2, \
	      .run = run_##name)

KERNEL(sum, SUM);
KERNEL(mean, MEAN);
KERNEL(amax, AMAX);
KERNEL(logsumexp, LOGSUMEXP);
