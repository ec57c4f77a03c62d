/*
 * kernels/cpu/elementwise.c - ops that make each element of equally placed ones, on vectors of f32
 *
 * The elements are walked in runs along the last axis. A run's operands are f32 or, where all are, bf16 where they lie; others are
 * brought to f32 (or a value that is broadcast repeated) in a small buffer; its results are stored or rounded likewise. The end of a run goes
 * through a buffer too, so that tails have the arithmetic of the body.
 */
#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/attributes.h"
#include "kernels/cpu/plain.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/cpu/vector.h"

#define RUN	 1024 /* elements at a time */
#define OPERANDS 3
#define RESULTS	 2

struct run {
	const uint8_t *x[OPERANDS];
	uint8_t *y[RESULTS];
	enum dtype from, to; /* what lies there: f32 or bf16 */
	bool stream;	     /* past the caches */
	const void *attributes;
};

/* N is a multiple of VECTOR_TWO. */
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

static ptrdiff_t last_step(const struct kernel_tensor *t, ptrdiff_t scalar)
{
	return t->n_axes ? t->stride[t->n_axes - 1] : scalar;
}

/* N elements of T from AT on as WANTED, f32 or what T is: where they lie, or in ROOM. */
static const uint8_t *take(const struct kernel_tensor *t, ptrdiff_t at, size_t n, enum dtype wanted,
			   float *room)
{
	ptrdiff_t step = last_step(t, 0);
	const uint8_t *p = operand_at(t, at);

	if (step == 1 && t->dtype == wanted)
		return p;
	if (t->dtype == wanted)
		plain_gather(operand_bytes(wanted, 1), p, step, (uint8_t *)room, n);
	else if (step == 1)
		operand_load(t->dtype, p, room, n);
	else
		for (size_t i = 0; i < n; i++)
			operand_load(t->dtype, operand_at(t, at + (ptrdiff_t)i * step), room + i,
				     1);
	return (const uint8_t *)room;
}

/* From f32. */
static void give(const struct kernel_tensor *t, ptrdiff_t at, const float *y, size_t n)
{
	ptrdiff_t step = last_step(t, 1);
	uint8_t *p = (uint8_t *)t->data;

	if (step == 1) {
		operand_store(t->dtype, y, p + operand_bytes(t->dtype, at), n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		operand_store(t->dtype, y + i,
			      p + operand_bytes(t->dtype, at + (ptrdiff_t)i * step), 1);
}

/* The last few elements, in buffers of whole vectors. */
static void run_tail(const struct kernel_call *c, run_fn *fn, const struct run *r, size_t done,
		     size_t n)
{
	uint8_t x[OPERANDS][4 * VECTOR_TWO] = { { 0 } }, y[RESULTS][4 * VECTOR_TWO];
	size_t in = operand_bytes(r->from, 1), out = operand_bytes(r->to, 1);
	struct run tail = { .from = r->from, .to = r->to, .attributes = r->attributes };

	for (int i = 0; i < c->n_in; i++) {
		memcpy(x[i], r->x[i] + done * in, (n - done) * in);
		tail.x[i] = x[i];
	}
	for (int i = 0; i < c->n_out; i++)
		tail.y[i] = y[i];
	fn(&tail, VECTOR_TWO);
	for (int i = 0; i < c->n_out; i++)
		memcpy(r->y[i] + done * out, y[i], (n - done) * out);
}

/* N elements of run OUTER from FIRST on. LIKE: what lies there, and whether it goes past the caches. */
static void run_some(const struct kernel_call *c, run_fn *fn, const struct run *like, size_t outer,
		     size_t first, size_t n)
{
	float x[OPERANDS][RUN], y[RESULTS][RUN];
	ptrdiff_t at[RESULTS];
	struct run r = *like;
	size_t whole = n / VECTOR_TWO * VECTOR_TWO;

	for (int i = 0; i < c->n_in; i++) {
		const struct kernel_tensor *t = &c->in[i];

		r.x[i] = take(t, outer_at(t, outer) + (ptrdiff_t)first * last_step(t, 0), n, r.from,
			      x[i]);
	}
	for (int i = 0; i < c->n_out; i++) {
		const struct kernel_tensor *t = &c->out[i];

		at[i] = outer_at(t, outer) + (ptrdiff_t)first * last_step(t, 1);
		r.y[i] = last_step(t, 1) == 1 && t->dtype == r.to
				 ? (uint8_t *)t->data + operand_bytes(t->dtype, at[i])
				 : (uint8_t *)y[i];
		r.stream = r.stream && r.y[i] != (uint8_t *)y[i] && vector_aligned(r.y[i]);
	}
	if (whole)
		fn(&r, whole);
	if (whole < n)
		run_tail(c, fn, &r, whole, n);
	for (int i = 0; i < c->n_out; i++)
		if (r.y[i] == (uint8_t *)y[i])
			give(&c->out[i], at[i], y[i], n);
}

static bool all_are(const struct kernel_tensor *t, int n, enum dtype wanted)
{
	for (int i = 0; i < n; i++)
		if (t[i].dtype != wanted)
			return false;
	return true;
}

static bool results_side_by_side(const struct kernel_call *c)
{
	for (int i = 0; i < c->n_out; i++)
		if (last_step(&c->out[i], 1) != 1)
			return false;
	return true;
}

/*
 * What runs of C take and give: bf16 where nothing else is there, else f32. Two results written in turn past the caches took a fifth
 * longer than through them (Zen 3).
 */
static struct run run_like(const struct kernel_call *c)
{
	bool brain = all_are(c->in, c->n_in, DTYPE_BF16) && all_are(c->out, c->n_out, DTYPE_BF16) &&
		     results_side_by_side(c);
	enum dtype t = brain ? DTYPE_BF16 : DTYPE_F32;

	return (struct run){ .attributes = c->attributes,
			     .from = t,
			     .to = t,
			     .stream = c->n_out == 1 && vector_streams(&c->out[0]) };
}

static void each(const struct kernel_call *c, run_fn *fn, const struct run *like)
{
	const struct kernel_tensor *out = &c->out[0];
	size_t length = out->n_axes ? out->shape[out->n_axes - 1] : 1;
	size_t runs = (length + RUN - 1) / RUN, from, to;
	size_t outer = length ? kernel_elements(out) / length : 0;

	kernel_share(outer * runs, 1, c->part, c->parts, &from, &to);
	for (size_t i = from; i < to; i++) {
		size_t first = i % runs * RUN;

		run_some(c, fn, like, i / runs, first, length - first < RUN ? length - first : RUN);
	}
	if (like->stream)
		simd_stream_end();
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
  struct run like = run_like(c);                     \
  each(c, runs_##name, &like);                       \
 }                                                   \
 LEVEL_KERNEL(name, runs, .claims = claim, .run = run_##name)

/*
 * Two vectors of operand or result I at ELEMENT of a run of T, in an order of their own. What comes AHEAD bytes later is asked for, be it
 * there or not: a step takes so long that the processor does not look far enough past it by itself.
 */
#define AHEAD 1024

SIMD_INLINE void load(const struct run *r, enum dtype t, int i, size_t element, vf32 two[2])
{
	const uint8_t *p = r->x[i] + operand_bytes(t, (ptrdiff_t)element);

	__builtin_prefetch((const void *)((uintptr_t)p + AHEAD), 0, 3);
	vector_split(t, p, two);
}

SIMD_INLINE void store(const struct run *r, enum dtype t, int i, size_t element, const vf32 two[2],
		       bool stream)
{
	vector_join(t, r->y[i] + operand_bytes(t, (ptrdiff_t)element), two, stream);
}

/*
 * runs_NAME of body_NAME(run, n, dtype, stream), for the dtypes that runs are of. The run is a local one: what is stored is none of it.
 */
#define RUNS(name)                                        \
 static void runs_##name(const struct run *run, size_t n) \
 {                                                        \
  struct run r = *run;                                    \
  if (r.from == DTYPE_BF16 && r.stream)                   \
   body_##name(&r, n, DTYPE_BF16, true);                  \
  else if (r.from == DTYPE_BF16)                          \
   body_##name(&r, n, DTYPE_BF16, false);                 \
  else if (r.stream)                                      \
   body_##name(&r, n, DTYPE_F32, true);                   \
  else                                                    \
   body_##name(&r, n, DTYPE_F32, false);                  \
 }                                                        \
 KERNEL(name, claims)

#define UNARY(name, expression)                                                         \
 SIMD_INLINE void body_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  for (size_t i = 0; i < n; i += VECTOR_TWO) {                                          \
   vf32 v[2];                                                                           \
   load(r, t, 0, i, v);                                                                 \
   SIMD_UNROLL                                                                          \
   for (size_t j = 0; j < 2; j++) {                                                     \
    vf32 x = v[j];                                                                      \
    v[j] = expression;                                                                  \
   }                                                                                    \
   store(r, t, 0, i, v, stream);                                                        \
  }                                                                                     \
 }                                                                                      \
 RUNS(name)

#define BINARY(name, expression)                                                        \
 SIMD_INLINE void body_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  for (size_t i = 0; i < n; i += VECTOR_TWO) {                                          \
   vf32 v[2], w[2];                                                                     \
   load(r, t, 0, i, v);                                                                 \
   load(r, t, 1, i, w);                                                                 \
   SIMD_UNROLL                                                                          \
   for (size_t j = 0; j < 2; j++) {                                                     \
    vf32 a = v[j], b = w[j];                                                            \
    v[j] = expression;                                                                  \
   }                                                                                    \
   store(r, t, 0, i, v, stream);                                                        \
  }                                                                                     \
 }                                                                                      \
 RUNS(name)

/* What the vector layer lacks, an element at a time. */
SIMD_INLINE void load_floats(const struct run *r, enum dtype t, int i, size_t element, float *x)
{
	vf32 v[2];

	load(r, t, i, element, v);
	simd_store(x, v[0]);
	simd_store(x + SIMD_WIDTH, v[1]);
}

SIMD_INLINE void store_floats(const struct run *r, enum dtype t, size_t element, const float *y,
			      bool stream)
{
	vf32 two[2] = { simd_load(y), simd_load(y + SIMD_WIDTH) };

	store(r, t, 0, element, two, stream);
}

#define SCALAR(name, expression)                                                        \
 SIMD_INLINE void body_##name(const struct run *r, size_t n, enum dtype t, bool stream) \
 {                                                                                      \
  for (size_t i = 0; i < n; i += VECTOR_TWO) {                                          \
   float y[VECTOR_TWO];                                                                 \
   load_floats(r, t, 0, i, y);                                                          \
   for (size_t j = 0; j < VECTOR_TWO; j++) {                                            \
    float x = y[j];                                                                     \
    y[j] = expression;                                                                  \
   }                                                                                    \
   store_floats(r, t, i, y, stream);                                                    \
  }                                                                                     \
 }                                                                                      \
 RUNS(name)

SIMD_INLINE vf32 with_nan(vf32 a, vf32 b, vf32 picked)
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
SCALAR(log, logf(x));
SCALAR(sin, sinf(x));
SCALAR(cos, cosf(x));
SCALAR(atan, atanf(x));
SCALAR(round, nearbyintf(x));
SCALAR(softplus, x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)));
SCALAR(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x);

SIMD_INLINE void body_pow(const struct run *r, size_t n, enum dtype t, bool stream)
{
	for (size_t i = 0; i < n; i += VECTOR_TWO) {
		float x[VECTOR_TWO], y[VECTOR_TWO];

		load_floats(r, t, 0, i, x);
		load_floats(r, t, 1, i, y);
		for (size_t j = 0; j < VECTOR_TWO; j++)
			y[j] = powf(x[j], y[j]);
		store_floats(r, t, i, y, stream);
	}
}
RUNS(pow);

/* --- scale, clamp --- */

SIMD_INLINE vf32 scalar_a(const struct run *r)
{
	return simd_f32((float)((const struct scalars_attributes *)r->attributes)->a);
}

SIMD_INLINE vf32 scalar_b(const struct run *r)
{
	return simd_f32((float)((const struct scalars_attributes *)r->attributes)->b);
}

SIMD_INLINE vf32 clamp(vf32 x, vf32 a, vf32 b)
{
	x = simd_select(x < a, x, a);
	return simd_select(x > b, x, b);
}

UNARY(scale, simd_fma(scalar_a(r), x, scalar_b(r)));
UNARY(clamp, clamp(x, scalar_a(r), scalar_b(r)));

/* --- cast --- */

SIMD_INLINE void cast_of(const struct run *r, size_t n, enum dtype from, enum dtype to)
{
	for (size_t i = 0; i < n; i += VECTOR_TWO) {
		const uint8_t *x = r->x[0] + operand_bytes(from, (ptrdiff_t)i);

		vector_store_two(to, r->y[0] + operand_bytes(to, (ptrdiff_t)i),
				 vector_load(from, x),
				 vector_load(from, x + operand_bytes(from, SIMD_WIDTH)), r->stream);
	}
}

static void runs_cast(const struct run *r, size_t n)
{
	if (r->from == DTYPE_F32 && r->to == DTYPE_F32)
		cast_of(r, n, DTYPE_F32, DTYPE_F32);
	else if (r->from == DTYPE_F32)
		cast_of(r, n, DTYPE_F32, DTYPE_BF16);
	else
		cast_of(r, n, DTYPE_BF16, DTYPE_F32);
}

static void run_cast(const struct kernel_call *c)
{
	struct run like = run_like(c);
	enum dtype from = c->in[0].dtype, to = c->out[0].dtype;

	like.from = from == DTYPE_BF16 && to != DTYPE_BF16 ? DTYPE_BF16 : DTYPE_F32;
	like.to = to == DTYPE_BF16 && from != DTYPE_BF16 && results_side_by_side(c) ? DTYPE_BF16
										    : DTYPE_F32;
	each(c, runs_cast, &like);
}

const struct kernel LEVEL_NAME(cast_runs);
const struct kernel LEVEL_NAME(cast_runs) = {
	.op = "cast",
	.variant = "runs",
	.claims = claims,
	.run = run_cast,
};

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
	vf32 bell, normal = simd_normal(x, &bell);

	return simd_fma(x * simd_f32(0.39894228f), bell, normal);
}

/* With s = sigmoid(2 u): s + x s (1 - s) 2 u' */
SIMD_INLINE vf32 gelu_tanh_rise(vf32 x, vf32 s)
{
	return simd_fma(x * s * (one() - s), simd_gelu_inner_slope(x), s);
}

SIMD_INLINE vf32 gelu_tanh_slope(vf32 x)
{
	return gelu_tanh_rise(x, simd_sigmoid(simd_gelu_inner(x)));
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

/* KIND is a constant where it is frequent, so that the choice is made once. */
SIMD_INLINE void slopes(const struct run *r, size_t n, enum dtype t, uint32_t kind, bool stream)
{
	for (size_t i = 0; i < n; i += VECTOR_TWO) {
		vf32 x[2], dy[2];

		load(r, t, 0, i, x);
		load(r, t, 1, i, dy);
		SIMD_UNROLL
		for (size_t j = 0; j < 2; j++)
			dy[j] = dy[j] * slope(x[j], kind);
		store(r, t, 0, i, dy, stream);
	}
}

SIMD_INLINE void body_unary_grad(const struct run *r, size_t n, enum dtype t, bool stream)
{
	const struct kind_attributes *a = r->attributes;

	switch (a->kind) {
	case UNARY_SILU: slopes(r, n, t, UNARY_SILU, stream); return;
	case UNARY_GELU: slopes(r, n, t, UNARY_GELU, stream); return;
	case UNARY_GELU_TANH: slopes(r, n, t, UNARY_GELU_TANH, stream); return;
	default: slopes(r, n, t, a->kind, stream);
	}
}
RUNS(unary_grad);

BINARY(swiglu, simd_silu(a) * b);

SIMD_INLINE bool by_tanh(const struct run *r)
{
	return ((const struct gated_attributes *)r->attributes)->tanh;
}

BINARY(geglu, (by_tanh(r) ? simd_gelu_tanh(a) : simd_gelu(a)) * b);

/* A gate's value and slope at X. */
SIMD_INLINE void gate_silu(vf32 x, vf32 *value, vf32 *rise)
{
	vf32 s = simd_sigmoid(x);

	*value = x * s;
	*rise = s * simd_fma(x, one() - s, one());
}

SIMD_INLINE void gate_gelu(vf32 x, vf32 *value, vf32 *rise)
{
	vf32 bell, normal = simd_normal(x, &bell);

	*value = x * normal;
	*rise = simd_fma(x * simd_f32(0.39894228f), bell, normal);
}

SIMD_INLINE void gate_gelu_tanh(vf32 x, vf32 *value, vf32 *rise)
{
	vf32 s = simd_sigmoid(simd_gelu_inner(x));

	*value = x * s;
	*rise = gelu_tanh_rise(x, s);
}

/* gate, up, dy: dy up f'(gate), dy f(gate) */
SIMD_INLINE void gates(const struct run *r, size_t n, enum dtype t, bool stream,
		       void (*gate)(vf32 x, vf32 *value, vf32 *rise))
{
	for (size_t i = 0; i < n; i += VECTOR_TWO) {
		vf32 x[2], up[2], dy[2];

		load(r, t, 0, i, x);
		load(r, t, 1, i, up);
		load(r, t, 2, i, dy);
		SIMD_UNROLL
		for (size_t j = 0; j < 2; j++) {
			vf32 value, rise;

			gate(x[j], &value, &rise);
			x[j] = dy[j] * up[j] * rise;
			up[j] = dy[j] * value;
		}
		store(r, t, 0, i, x, stream);
		store(r, t, 1, i, up, stream);
	}
}

SIMD_INLINE void body_swiglu_grad(const struct run *r, size_t n, enum dtype t, bool stream)
{
	gates(r, n, t, stream, gate_silu);
}
RUNS(swiglu_grad);

SIMD_INLINE void body_geglu_grad(const struct run *r, size_t n, enum dtype t, bool stream)
{
	if (by_tanh(r))
		gates(r, n, t, stream, gate_gelu_tanh);
	else
		gates(r, n, t, stream, gate_gelu);
}
RUNS(geglu_grad);
