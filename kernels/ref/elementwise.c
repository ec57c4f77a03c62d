/*
 * kernels/ref/elementwise.c - ops that make each element of equally placed ones
 *
 * One walk serves all: a function of up to three operands, in double.
 */
#include <math.h>

#include "kernels/random.h"
#include "kernels/ref/ref.h"

typedef double element_fn(const double *x, const void *attributes);

/* Every operand has the axes of output 0. */
static void each(const struct kernel_call *c, element_fn *fn)
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		double x[3] = { 0 };

		ref_index(out, i, &at);
		for (int j = 0; j < c->n_in; j++)
			x[j] = ref_get(&c->in[j], ref_offset(&c->in[j], &at));
		ref_put(out, ref_offset(out, &at), fn(x, c->attributes));
	}
}

#define ELEMENT(name, expression)                                      \
 static double element_##name(const double *x, const void *attributes) \
 {                                                                     \
  return expression;                                                   \
 }                                                                     \
 static void run_##name(const struct kernel_call *c)                   \
 {                                                                     \
  each(c, element_##name);                                             \
 }                                                                     \
 REF_KERNEL(name, run_##name)

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double gelu(double x)
{
	return 0.5 * x * (1 + erf(x / sqrt(2)));
}

#define SQRT_2_OVER_PI 0.79788456080286535588

static double gelu_tanh(double x)
{
	return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)));
}

static double softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double smaller(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}

static double larger(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

static double compare(double a, double b, uint32_t kind)
{
	switch (kind) {
	case COMPARE_EQ: return a == b;
	case COMPARE_NE: return a != b;
	case COMPARE_LT: return a < b;
	case COMPARE_LE: return a <= b;
	case COMPARE_GT: return a > b;
	default: return a >= b;
	}
}

static double sign(double x)
{
	return isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0;
}

static double clamp(double x, const struct scalars_attributes *a)
{
	return x < a->a ? a->a : x > a->b ? a->b : x;
}

/* d/dx of x Phi(x) is Phi(x) + x phi(x) */
static double gelu_slope(double x)
{
	return 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-0.5 * x * x) * 0.39894228040143267794;
}

static double gelu_tanh_slope(double x)
{
	double t = tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x));

	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x);
}

static double slope(double x, uint32_t kind)
{
	double s;

	switch (kind) {
	case UNARY_SIGMOID: s = sigmoid(x); return s * (1 - s);
	case UNARY_TANH: s = tanh(x); return 1 - s * s;
	case UNARY_RELU: return x > 0;
	case UNARY_RELU2: return x > 0 ? 2 * x : 0;
	case UNARY_SILU: s = sigmoid(x); return s * (1 + x * (1 - s));
	case UNARY_GELU: return gelu_slope(x);
	case UNARY_GELU_TANH: return gelu_tanh_slope(x);
	default: return sigmoid(x);
	}
}

ELEMENT(add, x[0] + x[1]);
ELEMENT(sub, x[0] - x[1]);
ELEMENT(mul, x[0] * x[1]);
ELEMENT(div, x[0] / x[1]);
ELEMENT(min, smaller(x[0], x[1]));
ELEMENT(max, larger(x[0], x[1]));
ELEMENT(pow, pow(x[0], x[1]));
ELEMENT(compare, compare(x[0], x[1], ((const struct kind_attributes *)attributes)->kind));
ELEMENT(where, x[0] != 0 ? x[1] : x[2]);
ELEMENT(neg, -x[0]);
ELEMENT(exp, exp(x[0]));
ELEMENT(log, log(x[0]));
ELEMENT(sqrt, sqrt(x[0]));
ELEMENT(rsqrt, 1 / sqrt(x[0]));
ELEMENT(square, x[0] * x[0]);
ELEMENT(abs, fabs(x[0]));
ELEMENT(sign, sign(x[0]));
ELEMENT(sin, sin(x[0]));
ELEMENT(cos, cos(x[0]));
ELEMENT(atan, atan(x[0]));
ELEMENT(round, nearbyint(x[0]));
ELEMENT(sigmoid, sigmoid(x[0]));
ELEMENT(tanh, tanh(x[0]));
ELEMENT(relu, larger(x[0], 0));
ELEMENT(relu2, larger(x[0], 0) * larger(x[0], 0));
ELEMENT(silu, x[0] * sigmoid(x[0]));
ELEMENT(gelu, gelu(x[0]));
ELEMENT(gelu_tanh, gelu_tanh(x[0]));
ELEMENT(softplus, softplus(x[0]));
ELEMENT(unary_grad, x[1] * slope(x[0], ((const struct kind_attributes *)attributes)->kind));
ELEMENT(scale, ((const struct scalars_attributes *)attributes)->a *x[0] +
		       ((const struct scalars_attributes *)attributes)->b);
ELEMENT(clamp, clamp(x[0], attributes));
ELEMENT(cast, x[0]);
ELEMENT(copy, x[0]);
ELEMENT(swiglu, x[0] * sigmoid(x[0]) * x[1]);
ELEMENT(geglu,
	(((const struct gated_attributes *)attributes)->tanh ? gelu_tanh(x[0]) : gelu(x[0])) *
		x[1]);

/* gate, up, dy: dgate = dy up f'(gate), dup = dy f(gate) */
static void gated_grad(const struct kernel_call *c, double (*f)(double), uint32_t kind)
{
	const struct kernel_tensor *out = &c->out[0];

	REF_SHARE(c, kernel_elements(out), from, to);
	for (size_t i = from; i < to; i++) {
		struct ref_index at;
		double gate, up, dy;

		ref_index(out, i, &at);
		gate = ref_get(&c->in[0], ref_offset(&c->in[0], &at));
		up = ref_get(&c->in[1], ref_offset(&c->in[1], &at));
		dy = ref_get(&c->in[2], ref_offset(&c->in[2], &at));
		ref_put(out, ref_offset(out, &at), dy * up * slope(gate, kind));
		ref_put(&c->out[1], ref_offset(&c->out[1], &at), dy * f(gate));
	}
}

static double silu(double x)
{
	return x * sigmoid(x);
}

static void run_swiglu_grad(const struct kernel_call *c)
{
	gated_grad(c, silu, UNARY_SILU);
}
REF_KERNEL(swiglu_grad, run_swiglu_grad);

static void run_geglu_grad(const struct kernel_call *c)
{
	const struct gated_attributes *a = c->attributes;

	gated_grad(c, a->tanh ? gelu_tanh : gelu, a->tanh ? UNARY_GELU_TANH : UNARY_GELU);
}
REF_KERNEL(geglu_grad, run_geglu_grad);

/* Word e % 4 of block e / 4 of the row says whether element e of it stays. */
static void run_dropout(const struct kernel_call *c)
{
	const struct dropout_attributes *a = c->attributes;
	const struct kernel_tensor *out = &c->out[0];
	size_t n = kernel_elements(out),
	       width = out->n_axes && out->shape[0] ? n / out->shape[0] : 1;

	REF_SHARE(c, n, from, to);
	for (size_t i = from; i < to; i++) {
		size_t row = i / width, element = i % width;
		struct ref_index at;
		uint32_t words[4];
		double x;

		random_block(c->key, c->row + row, element / 4, words);
		ref_index(out, i, &at);
		x = ref_get(&c->in[0], ref_offset(&c->in[0], &at));
		if (random_uniform_of(words[element % 4]) < (float)a->p)
			x = 0;
		ref_put(out, ref_offset(out, &at), x / (1 - a->p));
	}
}
REF_KERNEL(dropout, run_dropout);
