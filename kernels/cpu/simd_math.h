/*
 * kernels/cpu/simd_math.h - exponentials and their kin on vectors of f32
 *
 * Within 2 units of the last place of the exact value (test_op_levels holds them to ref in double), the same arithmetic in every
 * lane, tail and level of equal width of multiply-add. No mathematical library decides a bit.
 */
#ifndef KERNELS_CPU_SIMD_MATH_H
#define KERNELS_CPU_SIMD_MATH_H

#include "kernels/cpu/simd.h"

/* Y where MASK is all ones, else X. */
SIMD_INLINE vf32 simd_select(vi32 mask, vf32 x, vf32 y)
{
#if SIMD_WIDTH == 8
	return (vf32)_mm256_blendv_ps((__m256)x, (__m256)y, (__m256)mask);
#else
	return (vf32)((mask & (vi32)y) | (~mask & (vi32)x));
#endif
}

/* 2^n for -126 <= n <= 127. */
SIMD_INLINE vf32 simd_power_of_two(vi32 n)
{
	return (vf32)((n + 127) << 23);
}

/*
 * e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln 2 / 2, and e^r by its series to the 7th power (what is left out is below
 * 6e-9). 2^n in two factors, so that subnormal results come out rounded once. Past the range: 0 and infinity; NaN stays.
 */
SIMD_INLINE vf32 simd_exp(vf32 x)
{
	const vf32 magic = simd_f32(0x1.8p23f); /* adding it rounds to an integer */
	vf32 within = simd_min(simd_max(x, simd_f32(-104.0f)), simd_f32(89.0f));
	vf32 shifted = simd_fma(within, simd_f32(0x1.715476p+0f), magic);
	vf32 n = shifted - magic, r, p;
	vi32 whole = (vi32)shifted - (vi32)magic, half = whole >> 1;

	r = simd_fma(n, simd_f32(-0x1.62e400p-1f), within);
	r = simd_fma(n, simd_f32(-0x1.7f7d1cp-20f), r);
	p = simd_fma(simd_f32(1.0f / 5040), r, simd_f32(1.0f / 720));
	p = simd_fma(p, r, simd_f32(1.0f / 120));
	p = simd_fma(p, r, simd_f32(1.0f / 24));
	p = simd_fma(p, r, simd_f32(1.0f / 6));
	p = simd_fma(p, r, simd_f32(0.5f));
	p = simd_fma(p, r, simd_f32(1.0f));
	p = simd_fma(p, r, simd_f32(1.0f));
	p = p * simd_power_of_two(half) * simd_power_of_two(whole - half);
	return simd_select(x != x, p, x);
}

/*
 * The same in half the steps where x is at most 88, as what a softmax raises is: 2^n in one factor, and e^r by the polynomial of degree
 * 5 whose largest relative error over |r| <= ln 2 / 2 is least (9e-8; 1 at 0). Below -87.7, where results would be subnormal: 0.
 */
SIMD_INLINE vf32 simd_exp_below(vf32 x)
{
	const vf32 magic =
		simd_f32(0x1.8p23f + 127); /* rounds, and leaves n + 127 in the low bits */
	vf32 within = simd_max(simd_f32(-88.0f), x); /* NaN stays */
	vf32 shifted = simd_fma(within, simd_f32(0x1.715476p+0f), magic);
	vf32 n = shifted - magic, r, p;

	r = simd_fma(n, simd_f32(-0x1.62e400p-1f), within);
	r = simd_fma(n, simd_f32(-0x1.7f7d1cp-20f), r);
	p = simd_fma(simd_f32(0.008290272206f), r, simd_f32(0.04189816117f));
	p = simd_fma(p, r, simd_f32(0.1666763872f));
	p = simd_fma(p, r, simd_f32(0.4999914765f));
	p = simd_fma(p, r, simd_f32(0.999999702f));
	p = simd_fma(p, r, simd_f32(1.0f));
	return p * (vf32)((vi32)shifted << 23);
}

/* The same for any x: infinite from 88.4 on. */
SIMD_INLINE vf32 simd_exp_normal(vf32 x)
{
	return simd_exp_below(simd_min(simd_f32(89.0f), x)); /* NaN stays */
}

SIMD_INLINE vf32 simd_sigmoid(vf32 x)
{
	return simd_f32(1.0f) / (simd_f32(1.0f) + simd_exp_normal(-x));
}

/*
 * |x| < 0.625: x + x z P(z), z = x x, with the coefficients of Cephes' tanhf (Moshier); beyond, 1 - 2 / (e^2|x| + 1) with the
 * sign of x.
 */
SIMD_INLINE vf32 simd_tanh(vf32 x)
{
	vf32 a = simd_abs(x), z = x * x, near, far;

	near = simd_fma(simd_f32(-5.70498872745e-3f), z, simd_f32(2.06390887954e-2f));
	near = simd_fma(near, z, simd_f32(-5.37397155531e-2f));
	near = simd_fma(near, z, simd_f32(1.33314422036e-1f));
	near = simd_fma(near, z, simd_f32(-3.33332819422e-1f));
	near = simd_fma(near * z, x, x);
	far = simd_f32(1.0f) - simd_f32(2.0f) / (simd_exp_normal(a + a) + simd_f32(1.0f));
	far = (vf32)((vi32)far | ((vi32)x & (vi32)simd_f32(-0.0f)));
	far = simd_select(x != x, far, x);
	return simd_select(a < simd_f32(0.625f), far, near);
}

/*
 * Phi(x), and in BELL e^(-x x / 2) on the way. Phi(-a) = bell t Q(t) for a >= 0, t = 1 / (1 + 0.35 a), where Q is the polynomial of degree
 * 8 whose largest relative error up to a = 13.4 is least (3.2e-8); so small values are exact to themselves. The square is split, so that
 * its rounding does not grow with x; from 13.3 on Phi(-a) is 0.
 */
SIMD_INLINE vf32 simd_normal(vf32 x, vf32 *bell)
{
	vf32 a = simd_min(simd_abs(x), simd_f32(14.0f)), half = simd_f32(-0.5f) * a;
	vf32 t = simd_f32(1.0f) / simd_fma(simd_f32(0.35f), a, simd_f32(1.0f));
	vf32 square = half * a, rest = simd_fma(half, a, -square), e = simd_exp_below(square), p;

	p = simd_fma(simd_f32(-0.02912067509f), t, simd_f32(0.1438464909f));
	p = simd_fma(p, t, simd_f32(-0.2554502492f));
	p = simd_fma(p, t, simd_f32(0.1588658082f));
	p = simd_fma(p, t, simd_f32(-0.02289232093f));
	p = simd_fma(p, t, simd_f32(0.1054134318f));
	p = simd_fma(p, t, simd_f32(0.1198575297f));
	p = simd_fma(p, t, simd_f32(0.1398583557f));
	p = simd_fma(p, t, simd_f32(0.1396216131f));
	*bell = simd_fma(e, rest, e);
	p = p * t * *bell;
	p = simd_select(x > simd_f32(0.0f), p, simd_f32(1.0f) - p);
	return simd_select(x != x, p, x);
}

SIMD_INLINE vf32 simd_normal_cdf(vf32 x)
{
	vf32 bell;

	return simd_normal(x, &bell);
}

#define SIMD_SQRT_2_OVER_PI 0.79788456f

SIMD_INLINE vf32 simd_silu(vf32 x)
{
	return x / (simd_f32(1.0f) + simd_exp_normal(-x));
}

SIMD_INLINE vf32 simd_gelu(vf32 x)
{
	return x * simd_normal_cdf(x);
}

SIMD_INLINE vf32 simd_gelu_inner(vf32 x)
{
	return simd_f32(SIMD_SQRT_2_OVER_PI) * simd_fma(simd_f32(0.044715f) * x * x, x, x);
}

/* x sigmoid(2 u) is x (1 + tanh u) / 2, and keeps its relative precision where tanh nears -1. */
SIMD_INLINE vf32 simd_gelu_tanh(vf32 x)
{
	vf32 u = simd_gelu_inner(x);

	return x * simd_sigmoid(u + u);
}

#endif
