/* kernels/cpu/elementwise.c - functions of one element or of two on vectors of f32, and casts */

#include "kernels/cpu/level.h"

#include <math.h>

#include "kernels/cpu/elementwise.h"

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

	store_any(r, t, 0, element, two, stream);
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

SIMD_INLINE vf32 relu(vf32 x)
{
	return simd_select(x < zero(), x, zero());
}

BINARY(add, a + b);
BINARY(sub, a - b);
BINARY(mul, a *b);
BINARY(div, a / b);
BINARY_ANY(min, with_nan(a, b, simd_min(a, b)));
BINARY_ANY(max, with_nan(a, b, simd_max(a, b)));
UNARY_ANY(neg, (vf32)((vi32)x ^ (vi32)simd_f32(-0.0f)));
UNARY(exp, simd_exp(x));
UNARY(sqrt, simd_sqrt(x));
UNARY(rsqrt, one() / simd_sqrt(x));
UNARY(square, x *x);
UNARY_ANY(abs, simd_abs(x));
UNARY_FOUR(sigmoid, simd_sigmoid_four);
UNARY(tanh, simd_tanh(x));
UNARY_ANY(relu, relu(x));
UNARY(relu2, relu(x) * relu(x));
UNARY_FOUR(gelu, simd_gelu_four);
UNARY_FOUR(gelu_tanh, simd_gelu_tanh_four);
SCALAR(log, logf(x));
SCALAR(sin, sinf(x));
SCALAR(cos, cosf(x));
SCALAR(atan, atanf(x));
SCALAR(round, nearbyintf(x));
SCALAR(softplus, x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)));
SCALAR(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x);

/* Of bf16 four vectors at a time, since those take longer; of f32 two are faster (Zen 3: 7.4 cycles a vector by two, 7.7 by four; 10.4, 9.6). */
FOUR(silu, simd_silu_four)

SIMD_INLINE void body_silu(const struct run *r, size_t n, enum dtype t, bool stream)
{
	if (t == DTYPE_BF16) {
		four_silu(r, n, t, stream);
		return;
	}
	for (size_t i = 0; i < n; i += VECTOR_TWO) {
		vf32 v[2];

		load(r, t, 0, i, v);
		v[0] = simd_silu(v[0]);
		v[1] = simd_silu(v[1]);
		store(r, t, 0, i, v, stream);
	}
}
RUNS(silu);

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

UNARY_ANY(scale, simd_fma(scalar_a(r), x, scalar_b(r)));
UNARY_ANY(clamp, clamp(x, scalar_a(r), scalar_b(r)));

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
