/* kernels/cpu/gates.c - gated activations, and the slopes of these and of activations alone */

#include "kernels/cpu/level.h"

#include "kernels/cpu/elementwise.h"

/* --- slopes --- */

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

/* --- gates --- */

BINARY(swiglu, simd_silu(a) * b);

SIMD_INLINE bool by_tanh(const struct run *r)
{
	return ((const struct gated_attributes *)r->attributes)->tanh;
}

/* The gate of operand 0, times operand 1. */
SIMD_INLINE void gated(const struct run *r, size_t n, enum dtype t, bool stream,
		       void (*gate)(vf32 x[4]))
{
	for (size_t i = 0; i < n; i += STEP) {
		vf32 x[4], up[4];

		load_four(r, t, 0, i, x);
		load_four(r, t, 1, i, up);
		gate(x);
		SIMD_FOUR(x[j] = x[j] * up[j]);
		store_four(r, t, 0, i, x, stream);
	}
}

SIMD_INLINE void body_geglu(const struct run *r, size_t n, enum dtype t, bool stream)
{
	if (by_tanh(r))
		gated(r, n, t, stream, simd_gelu_tanh_four);
	else
		gated(r, n, t, stream, simd_gelu_four);
}
RUNS(geglu);

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
