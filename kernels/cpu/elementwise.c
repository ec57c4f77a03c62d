/*
 * kernels/cpu/elementwise.c - ops that make each element of equally placed ones, on vectors of f32
 *
 * The elements are walked in runs along the last axis. A run's operands are f32 where they lie, or are brought to f32 (16-bit
 * floats, a value that is broadcast) in a small buffer; its results are stored or rounded likewise. The end of a run goes
 * through a buffer too, so that tails have the arithmetic of the body.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/simd_math.h"

#define RUN	 512 /* elements at a time */
#define OPERANDS 3
#define RESULTS	 2

struct run {
	const float *x[OPERANDS];
	float *y[RESULTS];
	const void *attributes;
};

/* N is a multiple of SIMD_WIDTH. */
typedef void run_fn(const struct run *r, size_t n);

/* --- the walk --- */

/* The offset of operand T's run number OUTER, all axes but the last counted up. */
static ptrdiff_t outer_at(const struct kernel_tensor *t, size_t outer)
{
	ptrdiff_t at = 0;

	for (int i = t->n_axes - 2; i >= 0; i--) {
		at += (ptrdiff_t)(outer % t->shape[i]) * t->stride[i];
		outer /= t->shape[i];
	}
	return at;
}

/* N elements of T from AT on in f32: where they lie, or in ROOM. */
static const float *take(const struct kernel_tensor *t, ptrdiff_t at, size_t n, float *room)
{
	ptrdiff_t step = t->n_axes ? t->stride[t->n_axes - 1] : 0;

	if (step == 1 && t->dtype == DTYPE_F32)
		return (const float *)t->data + at;
	if (step == 1) {
		operand_load(t->dtype, operand_at(t, at), room, n);
		return room;
	}
	if (step == 0) {
		operand_load(t->dtype, operand_at(t, at), room, 1);
		for (size_t i = 1; i < n; i++)
			room[i] = room[0];
		return room;
	}
	for (size_t i = 0; i < n; i++)
		operand_load(t->dtype, operand_at(t, at + (ptrdiff_t)i * step), room + i, 1);
	return room;
}

static void give(const struct kernel_tensor *t, ptrdiff_t at, const float *y, size_t n)
{
	ptrdiff_t step = t->n_axes ? t->stride[t->n_axes - 1] : 1;
	uint8_t *p = (uint8_t *)t->data;

	if (step == 1) {
		operand_store(t->dtype, y, p + operand_bytes(t->dtype, at), n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		operand_store(t->dtype, y + i,
			      p + operand_bytes(t->dtype, at + (ptrdiff_t)i * step), 1);
}

/* The last few elements, in buffers of a whole vector. */
static void run_tail(const struct kernel_call *c, run_fn *fn, const struct run *r, size_t done,
		     size_t n)
{
	float x[OPERANDS][SIMD_WIDTH] = { { 0 } }, y[RESULTS][SIMD_WIDTH];
	struct run tail = { .attributes = r->attributes };

	for (int i = 0; i < c->n_in; i++) {
		memcpy(x[i], r->x[i] + done, (n - done) * sizeof(float));
		tail.x[i] = x[i];
	}
	for (int i = 0; i < c->n_out; i++)
		tail.y[i] = y[i];
	fn(&tail, SIMD_WIDTH);
	for (int i = 0; i < c->n_out; i++)
		memcpy(r->y[i] + done, y[i], (n - done) * sizeof(float));
}

/* N elements of run OUTER from FIRST on. */
static void run_some(const struct kernel_call *c, run_fn *fn, size_t outer, size_t first, size_t n)
{
	float x[OPERANDS][RUN], y[RESULTS][RUN];
	ptrdiff_t at[RESULTS];
	struct run r = { .attributes = c->attributes };
	size_t whole = n / SIMD_WIDTH * SIMD_WIDTH;

	for (int i = 0; i < c->n_in; i++) {
		const struct kernel_tensor *t = &c->in[i];
		ptrdiff_t step = t->n_axes ? t->stride[t->n_axes - 1] : 0;

		r.x[i] = take(t, outer_at(t, outer) + (ptrdiff_t)first * step, n, x[i]);
	}
	for (int i = 0; i < c->n_out; i++) {
		const struct kernel_tensor *t = &c->out[i];
		ptrdiff_t step = t->n_axes ? t->stride[t->n_axes - 1] : 1;

		at[i] = outer_at(t, outer) + (ptrdiff_t)first * step;
		r.y[i] = step == 1 && t->dtype == DTYPE_F32 ? (float *)t->data + at[i] : y[i];
	}
	if (whole)
		fn(&r, whole);
	if (whole < n)
		run_tail(c, fn, &r, whole, n);
	for (int i = 0; i < c->n_out; i++)
		if (r.y[i] == y[i])
			give(&c->out[i], at[i], y[i], n);
}

static void each(const struct kernel_call *c, run_fn *fn)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t length = out->n_axes ? out->shape[out->n_axes - 1] : 1;
	size_t runs = (length + RUN - 1) / RUN, from, to;
	size_t outer = length ? kernel_elements(out) / length : 0;

	kernel_share(outer * runs, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t first = i % runs * RUN;

		run_some(c, fn, i / runs, first, length - first < RUN ? length - first : RUN);
	}
}

static bool claims(const struct kernel_call *c)
{
	for (int i = 0; i < c->n_in; i++)
		if (!operand_is_float(c->in[i].dtype))
			return false;
	for (int i = 0; i < c->n_out; i++)
		if (!operand_is_float(c->out[i].dtype))
			return false;
	return true;
}

/* --- the functions --- */

#define KERNEL(name, claim)                          \
 static void run_##name(const struct kernel_call *c) \
 {                                                   \
  each(c, runs_##name);                              \
 }                                                   \
 const struct kernel LEVEL_NAME(name##_runs);        \
 const struct kernel LEVEL_NAME(name##_runs) = {     \
	 .op = #name,                                \
	 .variant = "runs",                          \
	 .claims = claim,                            \
	 .run = run_##name,                          \
 }

#define UNARY(name, expression)                         \
 static void runs_##name(const struct run *r, size_t n) \
 {                                                      \
  for (size_t i = 0; i < n; i += SIMD_WIDTH) {          \
   vf32 x = simd_load(r->x[0] + i);                     \
   simd_store(r->y[0] + i, expression);                 \
  }                                                     \
 }                                                      \
 KERNEL(name, claims)

#define BINARY(name, expression)                        \
 static void runs_##name(const struct run *r, size_t n) \
 {                                                      \
  for (size_t i = 0; i < n; i += SIMD_WIDTH) {          \
   vf32 a = simd_load(r->x[0] + i);                     \
   vf32 b = simd_load(r->x[1] + i);                     \
   simd_store(r->y[0] + i, expression);                 \
  }                                                     \
 }                                                      \
 KERNEL(name, claims)

/* What the vector layer lacks, an element at a time. */
#define SCALAR(name, expression)                        \
 static void runs_##name(const struct run *r, size_t n) \
 {                                                      \
  for (size_t i = 0; i < n; i++) {                      \
   float x = r->x[0][i];                                \
   r->y[0][i] = expression;                             \
  }                                                     \
 }                                                      \
 KERNEL(name, claims)

static vf32 with_nan(vf32 a, vf32 b, vf32 picked)
{
	return simd_select((a != a) | (b != b), picked, a + b);
}

SIMD_INLINE vf32 zero(void)
{
	return simd_f32(0.0f);
}

SIMD_INLINE vf32 one(void)
{
	return simd_f32(1.0f);
}

SIMD_INLINE vf32 relu(vf32 x)
{
	return simd_select(x < zero(), x, zero());
}

BINARY(add, a + b);
BINARY(sub, a - b);
BINARY(mul, a *b);
BINARY(div, a / b);
BINARY(min, with_nan(a, b, simd_min(a, b)));
BINARY(max, with_nan(a, b, simd_max(a, b)));
UNARY(neg, (vf32)((vi32)x ^ (vi32)simd_f32(-0.0f)));
UNARY(exp, simd_exp(x));
UNARY(sqrt, simd_sqrt(x));
UNARY(rsqrt, one() / simd_sqrt(x));
UNARY(square, x *x);
UNARY(abs, simd_abs(x));
UNARY(sigmoid, simd_sigmoid(x));
UNARY(tanh, simd_tanh(x));
UNARY(relu, relu(x));
UNARY(relu2, relu(x) * relu(x));
UNARY(silu, simd_silu(x));
UNARY(gelu, simd_gelu(x));
UNARY(gelu_tanh, simd_gelu_tanh(x));
UNARY(cast, x);
SCALAR(log, logf(x));
SCALAR(sin, sinf(x));
SCALAR(cos, cosf(x));
SCALAR(atan, atanf(x));
SCALAR(round, nearbyintf(x));
SCALAR(softplus, x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)));
SCALAR(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x);

static void runs_pow(const struct run *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->y[0][i] = powf(r->x[0][i], r->x[1][i]);
}
KERNEL(pow, claims);

static void runs_scale(const struct run *r, size_t n)
{
	const struct scalars_attributes *s = r->attributes;
	vf32 a = simd_f32((float)s->a), b = simd_f32((float)s->b);

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		simd_store(r->y[0] + i, simd_fma(a, simd_load(r->x[0] + i), b));
}
KERNEL(scale, claims);

static void runs_clamp(const struct run *r, size_t n)
{
	const struct scalars_attributes *s = r->attributes;
	vf32 a = simd_f32((float)s->a), b = simd_f32((float)s->b);

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 x = simd_load(r->x[0] + i);

		x = simd_select(x < a, x, a);
		simd_store(r->y[0] + i, simd_select(x > b, x, b));
	}
}
KERNEL(clamp, claims);

/* --- gates and slopes --- */

/* d/dx x sigmoid(x) = s (1 + x (1 - s)) */
SIMD_INLINE vf32 silu_slope(vf32 x)
{
	vf32 s = simd_sigmoid(x);

	return s * simd_fma(x, one() - s, one());
}

/* Phi(x) + x phi(x) */
SIMD_INLINE vf32 gelu_slope(vf32 x)
{
	vf32 density = simd_exp_below(simd_f32(-0.5f) * x * x) * simd_f32(0.39894228f);

	return simd_fma(x, density, simd_normal_cdf(x));
}

/* With s = sigmoid(2 u): s + x s' 2 u', u' = sqrt(2 / pi) (1 + 3 0.044715 x x) */
SIMD_INLINE vf32 gelu_tanh_slope(vf32 x)
{
	vf32 u = simd_gelu_inner(x), s = simd_sigmoid(u + u);
	vf32 du = simd_f32(SIMD_SQRT_2_OVER_PI) * simd_fma(simd_f32(0.134145f) * x, x, one());

	return simd_fma(x * s * (one() - s), du + du, s);
}

SIMD_INLINE vf32 slope(vf32 x, uint32_t kind)
{
	vf32 s;

	switch (kind) {
	case UNARY_SIGMOID: s = simd_sigmoid(x); return s * (one() - s);
	case UNARY_TANH: s = simd_tanh(x); return simd_fma(-s, s, one());
	case UNARY_RELU: return simd_keep(x > zero(), one());
	case UNARY_RELU2: return simd_keep(x > zero(), x + x);
	case UNARY_SILU: return silu_slope(x);
	case UNARY_GELU: return gelu_slope(x);
	case UNARY_GELU_TANH: return gelu_tanh_slope(x);
	default: return simd_sigmoid(x);
	}
}

static void runs_unary_grad(const struct run *r, size_t n)
{
	const struct kind_attributes *a = r->attributes;

	for (size_t i = 0; i < n; i += SIMD_WIDTH)
		simd_store(r->y[0] + i,
			   simd_load(r->x[1] + i) * slope(simd_load(r->x[0] + i), a->kind));
}
KERNEL(unary_grad, claims);

BINARY(swiglu, simd_silu(a) * b);

SIMD_INLINE vf32 gelu_by(const struct run *r, vf32 x)
{
	const struct gated_attributes *a = r->attributes;

	return a->tanh ? simd_gelu_tanh(x) : simd_gelu(x);
}

BINARY(geglu, gelu_by(r, a) * b);

/* gate, up, dy: dy up f'(gate), dy f(gate) */
static void runs_swiglu_grad(const struct run *r, size_t n)
{
	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 gate = simd_load(r->x[0] + i), up = simd_load(r->x[1] + i);
		vf32 dy = simd_load(r->x[2] + i), s = simd_sigmoid(gate);

		simd_store(r->y[0] + i, dy * up * (s * simd_fma(gate, one() - s, one())));
		simd_store(r->y[1] + i, dy * (gate * s));
	}
}
KERNEL(swiglu_grad, claims);

static void runs_geglu_grad(const struct run *r, size_t n)
{
	const struct gated_attributes *a = r->attributes;

	for (size_t i = 0; i < n; i += SIMD_WIDTH) {
		vf32 gate = simd_load(r->x[0] + i), up = simd_load(r->x[1] + i);
		vf32 dy = simd_load(r->x[2] + i);

		simd_store(r->y[0] + i,
			   dy * up * (a->tanh ? gelu_tanh_slope(gate) : gelu_slope(gate)));
		simd_store(r->y[1] + i, dy * gelu_by(r, gate));
	}
}
KERNEL(geglu_grad, claims);
