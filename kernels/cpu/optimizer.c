/*
 * kernels/cpu/optimizer.c - what a training step updates in place, in one pass over memory
 *
 * The arithmetic is that of kernels/ref/optimizer.c in f32. Tensors are taken RUN elements at a time, those of 16 bits through
 * rooms of f32. Sums over a tensor are of pieces of PIECE elements in double, and of the pieces in their order.
 */
#include "kernels/cpu/level.h"

#include "kernels/cpu/optimizer.h"

#define RUN   OPTIMIZER_RUN
#define PIECE 4096

/* --- a run of each op: operands are given as f32, those that are updated first --- */

struct run {
	float *t[4];
	size_t n;
};

typedef void run_fn(const struct kernel_call *c, const struct run *r);

/* The first UPDATED of TENSORS operands are written back, the first as a parameter when the op has attributes. */
SIMD_INLINE void over_runs(const struct kernel_call *c, int tensors, int updated, run_fn *fn)
{
	size_t from, to;

	kernel_share(kernel_elements(&c->out[0]), RUN, c->part, c->parts, &from, &to);
	for (size_t at = from; at < to; at += RUN) {
		float room[4][RUN];
		struct run r = { .n = to - at < RUN ? to - at : RUN };

		for (int i = 0; i < tensors; i++)
			r.t[i] = optimizer_get(&c->in[i], at, r.n, room[i]);
		fn(c, &r);
		for (int i = c->attributes ? 1 : 0; i < updated; i++)
			optimizer_put(&c->out[i], at, r.t[i], r.n);
		if (c->attributes)
			optimizer_put_parameter(c, at, r.t[0], r.n);
	}
}

#define LOAD(i)	    simd_load(r->t[i] + j)
#define STORE(i, x) simd_store(r->t[i] + j, x)
#define EACH	    for (size_t j = 0; j < r->n; j += SIMD_WIDTH)

/* sum += x, of which X is rounded to the sum's dtype as a node of its own would be */
static void accumulate(const struct kernel_call *c, const struct run *r)
{
	if (c->out[0].dtype != c->in[1].dtype && c->out[0].dtype != DTYPE_F32)
		operand_round(c->out[0].dtype, r->t[1], r->n);
	EACH STORE(0, LOAD(0) + LOAD(1));
}

static void scale_by(const struct kernel_call *c, const struct run *r)
{
	vf32 h = simd_f32(optimizer_scalar(c, 1, 0));

	EACH STORE(0, LOAD(0) * h);
}

static void ema(const struct kernel_call *c, const struct run *r)
{
	vf32 decay = simd_f32(optimizer_scalar(c, 2, 0));
	vf32 rest = simd_f32((float)(1 - (double)optimizer_scalar(c, 2, 0)));

	EACH STORE(0, simd_fma(decay, LOAD(0), rest * LOAD(1)));
}

static void sgd(const struct kernel_call *c, const struct run *r)
{
	const struct optimizer_attributes *a = c->attributes;
	vf32 lr = simd_f32(optimizer_scalar(c, 3, 0)), scale = simd_f32(optimizer_scalar(c, 3, 1));
	vf32 beta = simd_f32((float)a->beta1), decay = simd_f32((float)a->weight_decay);

	EACH
	{
		vf32 p = LOAD(0), g = LOAD(2) * scale, m = simd_fma(beta, LOAD(1), g), step = m;

		if (a->nesterov)
			step = simd_fma(beta, m, g);
		STORE(1, m);
		STORE(0, p - lr * simd_fma(decay, p, step));
	}
}

static void adamw(const struct kernel_call *c, const struct run *r)
{
	struct adam a = adam_of(c, 4);

	EACH
	{
		vf32 g = LOAD(3) * a.scale, m = simd_fma(a.beta1, LOAD(1), a.rest1 * g);
		vf32 v = simd_fma(a.beta2, LOAD(2), a.rest2 * g * g);

		STORE(0, adam_step(&a, LOAD(0), m, simd_sqrt(v)));
		STORE(1, m);
		STORE(2, v);
	}
}

static void lion(const struct kernel_call *c, const struct run *r)
{
	const struct optimizer_attributes *a = c->attributes;
	vf32 lr = simd_f32(optimizer_scalar(c, 3, 0)), scale = simd_f32(optimizer_scalar(c, 3, 1)),
	     zero = { 0 };
	vf32 beta1 = simd_f32((float)a->beta1), rest1 = simd_f32((float)(1 - a->beta1));
	vf32 beta2 = simd_f32((float)a->beta2), rest2 = simd_f32((float)(1 - a->beta2));
	vf32 decay = simd_f32((float)a->weight_decay), one = simd_f32(1.0f);

	EACH
	{
		vf32 p = LOAD(0), g = LOAD(2) * scale, m = LOAD(1);
		vf32 u = simd_fma(beta1, m, rest1 * g);
		vf32 sign = simd_keep(u > zero, one) - simd_keep(u < zero, one);

		STORE(1, simd_fma(beta2, m, rest2 * g));
		STORE(0, p - lr * simd_fma(decay, p, sign));
	}
}

static void run_accumulate(const struct kernel_call *c)
{
	over_runs(c, 2, 1, accumulate);
}

static void run_scale_by(const struct kernel_call *c)
{
	over_runs(c, 1, 1, scale_by);
}

static void run_ema(const struct kernel_call *c)
{
	over_runs(c, 2, 1, ema);
}

static void run_sgd(const struct kernel_call *c)
{
	over_runs(c, 3, 2, sgd);
}

static void run_adamw(const struct kernel_call *c)
{
	over_runs(c, 4, 3, adamw);
}

static void run_lion(const struct kernel_call *c)
{
	over_runs(c, 3, 2, lion);
}

static void run_replace(const struct kernel_call *c)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t from, to;

	kernel_share(kernel_elements(out), RUN, c->part, c->parts, &from, &to);
	for (size_t at = from; at < to; at += RUN) {
		size_t n = to - at < RUN ? to - at : RUN;
		float room[RUN];
		const float *x = optimizer_get(&c->in[1], at, n, room);

		operand_store(out->dtype, x,
			      (uint8_t *)out->data + operand_bytes(out->dtype, (ptrdiff_t)at), n);
	}
}

/* --- sums over a tensor --- */

static size_t pieces(const struct kernel_call *c)
{
	return (kernel_elements(&c->in[0]) + PIECE - 1) / PIECE;
}

static size_t scratch_pieces(const struct kernel_call *c)
{
	return pieces(c) * sizeof(double);
}

/* Products of f32 are exact in double. */
static double squares(const float *x, size_t n)
{
	vf64 sum[4] = { { 0 } };
	double lane[SIMD_WIDTH / 2], total = 0;
	size_t whole = n / (2 * SIMD_WIDTH) * (2 * SIMD_WIDTH);

	for (size_t i = 0; i < whole; i += 2 * SIMD_WIDTH) {
		simd_prefetch((const uint8_t *)(x + i));
		SIMD_UNROLL
		for (size_t j = 0; j < 4; j++) {
			vf64 v = simd_widen(x + i + j * (SIMD_WIDTH / 2));

			sum[j] = simd_any_fma64(v, v, sum[j]);
		}
	}
	simd_store64(lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
	for (int i = 0; i < SIMD_WIDTH / 2; i++)
		total += lane[i];
	for (size_t i = whole; i < n; i++)
		total += (double)x[i] * x[i];
	return total;
}

static double nonfinite(const float *x, size_t n)
{
	vi32 count = { 0 };
	double total = 0;

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		count -= ((vi32)rows_load(x + i, n - i) & 0x7f800000) == 0x7f800000;
	for (int i = 0; i < SIMD_WIDTH; i++)
		total += count[i];
	return total;
}

/* Phase 0: pieces; phase 1: their sum, by part 0. */
SIMD_INLINE double over_pieces(const struct kernel_call *c, double (*fn)(const float *x, size_t n))
{
	size_t n = kernel_elements(&c->in[0]), from, to;
	double *sums = c->scratch, total = 0;
	size_t step = c->in[0].dtype == DTYPE_F32 && n % SIMD_WIDTH == 0 ? PIECE : RUN;

	if (c->phase == 1) {
		for (size_t i = 0; i < pieces(c); i++)
			total += sums[i];
		return total;
	}
	kernel_share(pieces(c), 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t last = (i + 1) * PIECE < n ? (i + 1) * PIECE : n;

		sums[i] = 0;
		for (size_t at = i * PIECE; at < last; at += step) {
			float room[RUN];
			size_t many = last - at < step ? last - at : step;

			sums[i] += fn(optimizer_get(&c->in[0], at, many, room), many);
		}
	}
	return 0;
}

static void run_sum_squares(const struct kernel_call *c)
{
	double total = over_pieces(c, squares);

	if (c->phase == 1 && c->part == 0)
		*(float *)c->out[0].data = (float)total;
}

static void run_count_nonfinite(const struct kernel_call *c)
{
	double total = over_pieces(c, nonfinite);

	if (c->phase == 1 && c->part == 0)
		*(int32_t *)c->out[0].data = total > INT32_MAX ? INT32_MAX : (int32_t)total;
}

/* --- what is claimed: floats side by side --- */

/* The first TENSORS operands of the op: all but the scalars. */
static bool serve(const struct kernel_call *c, int tensors)
{
	for (int i = 0; i < tensors; i++)
		if (!optimizer_dense(&c->in[i]))
			return false;
	return true;
}

static bool claims_all(const struct kernel_call *c)
{
	return serve(c, c->n_in);
}

static bool claims_updates(const struct kernel_call *c)
{
	return serve(c, c->n_in - 1) && c->in[c->n_in - 1].dtype == DTYPE_F32;
}

static bool claims_sum(const struct kernel_call *c)
{
	return optimizer_dense(&c->in[0]) && c->out[0].dtype == DTYPE_F32;
}

static bool claims_count(const struct kernel_call *c)
{
	return optimizer_dense(&c->in[0]) && c->out[0].dtype == DTYPE_I32;
}

#define KERNEL(name, claim, room_needed, n_phases)                                     \
 LEVEL_KERNEL(name, flat, .claims = claim, .scratch = room_needed, .phases = n_phases, \
	      .run = run_##name)

KERNEL(accumulate, claims_all, NULL, 1);
KERNEL(replace, claims_all, NULL, 1);
KERNEL(scale_by, claims_updates, NULL, 1);
KERNEL(ema, claims_updates, NULL, 1);
KERNEL(sgd, claims_updates, NULL, 1);
KERNEL(adamw, claims_updates, NULL, 1);
KERNEL(lion, claims_updates, NULL, 1);
KERNEL(sum_squares, claims_sum, scratch_pieces, 2);
KERNEL(count_nonfinite, claims_count, scratch_pieces, 2);
