/*
 * kernels/cpu/simd_math.h - exponentials and their kin on vectors of f32
 *
 * Within 2 units of the last place of the exact value (test_op_levels holds them to ref in double) but where less is said, the same
 * arithmetic in every lane, tail and level of equal width of multiply-add. No mathematical library decides a bit.
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

#define SIMD_EXP_MAGIC (0x1.8p23f + 127) /* rounds, and leaves n + 127 in the low bits */

/*
 * The same in half the steps where x is at most 88, as what a softmax raises is: 2^n in one factor, and e^r by the polynomial of degree
 * 5 whose largest relative error over |r| <= ln 2 / 2 is least (9e-8; 1 at 0). Below -87.7, where results would be subnormal: 0.
 */
SIMD_INLINE vf32 simd_exp_below(vf32 x)
{
	const vf32 magic = simd_f32(SIMD_EXP_MAGIC);
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

/*
 * e^(x factor / log2 e) = p 2^n, p returned, for products up to 128: x factor = n + f, |f| <= 1/2, and p = 2^f by the polynomial of degree 5
 * whose largest relative error is least (9e-8; 1 at 0). FACTOR is log2 e or that negative, whose own rounding adds a relative error of
 * 1.3e-8 |x|: the product is rounded nowhere else where the level fuses. Below n = -126: 0.
 */
#define SIMD_LOG2_E 0x1.715476p+0f

#define SIMD_EXP_C1 0.6931470037f
#define SIMD_EXP_C2 0.2402224243f
#define SIMD_EXP_C3 0.05550733581f
#define SIMD_EXP_C4 0.009671512991f
#define SIMD_EXP_C5 0.001326472731f

SIMD_INLINE vf32 simd_exp_parts(vf32 x, vf32 factor, vf32 *power)
{
	const vf32 magic = simd_f32(SIMD_EXP_MAGIC);
	vf32 shifted = simd_fma(x, factor, magic), n = shifted - magic;
	vf32 f = simd_fma(x, factor, -n), p;

	p = simd_fma(simd_f32(SIMD_EXP_C5), f, simd_f32(SIMD_EXP_C4));
	p = simd_fma(p, f, simd_f32(SIMD_EXP_C3));
	p = simd_fma(p, f, simd_f32(SIMD_EXP_C2));
	p = simd_fma(p, f, simd_f32(SIMD_EXP_C1));
	p = simd_fma(p, f, simd_f32(1.0f));
	*power = (vf32)((vi32)shifted << 23);
	return p;
}

/* e^x for x <= 88 with the precision of simd_exp_parts, which serves where what is summed is not small beside its terms. */
SIMD_INLINE vf32 simd_exp_quick(vf32 x)
{
	vf32 power,
		p = simd_exp_parts(simd_max(simd_f32(-88.0f), x), simd_f32(SIMD_LOG2_E), &power);

	return p * power;
}

/* 1 + e^-x: infinite up to x = -88.4. */
SIMD_INLINE vf32 simd_one_plus_exp(vf32 x)
{
	vf32 within = simd_max(simd_f32(-89.0f), simd_min(simd_f32(88.0f), x)); /* NaN stays */
	vf32 power, p = simd_exp_parts(within, simd_f32(-SIMD_LOG2_E), &power);

	return simd_fma(p, power, simd_f32(1.0f));
}

/* The relative error grows below -8, with 1.3e-8 |x|. So it does in what follows. */
SIMD_INLINE vf32 simd_sigmoid(vf32 x)
{
	return simd_f32(1.0f) / simd_one_plus_exp(x);
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
	far = simd_f32(1.0f) - simd_f32(2.0f) / simd_one_plus_exp(-(a + a));
	far = (vf32)((vi32)far | ((vi32)x & (vi32)simd_f32(-0.0f)));
	far = simd_select(x != x, far, x);
	return simd_select(a < simd_f32(0.625f), far, near);
}

/*
 * Phi(x), and in BELL e^(-x x / 2) on the way. Phi(-a) = bell t Q(t) for a >= 0, t = 1 / (1 + 0.35 a), where Q is the polynomial of degree
 * 8 whose largest relative error up to a = 13.4 is least (3.2e-8). So small values are right in themselves: their relative error is that of
 * the exponent, below 4e-8 x x. From 13.25 on Phi(-a) is 0.
 */
SIMD_INLINE vf32 simd_normal(vf32 x, vf32 *bell)
{
	vf32 a = simd_min(simd_f32(13.25f), simd_abs(x)); /* NaN stays */
	vf32 t = simd_f32(1.0f) / simd_fma(simd_f32(0.35f), a, simd_f32(1.0f)), tt = t * t;
	vf32 power, e = simd_exp_parts(a, simd_f32(-0.5f * SIMD_LOG2_E) * a, &power), even, odd;

	even = simd_fma(simd_f32(-0.02912067509f), tt, simd_f32(-0.2554502492f));
	odd = simd_fma(simd_f32(0.1438464909f), tt, simd_f32(0.1588658082f));
	even = simd_fma(even, tt, simd_f32(-0.02289232093f));
	odd = simd_fma(odd, tt, simd_f32(0.1054134318f));
	even = simd_fma(even, tt, simd_f32(0.1198575297f));
	odd = simd_fma(odd, tt, simd_f32(0.1398583557f));
	even = simd_fma(even, tt, simd_f32(0.1396216131f));
	*bell = e * power;
	e = simd_fma(odd, t, even) * t * *bell;
	return simd_select((vi32)x >> 31, simd_f32(1.0f) - e, e);
}

SIMD_INLINE vf32 simd_normal_cdf(vf32 x)
{
	vf32 bell;

	return simd_normal(x, &bell);
}

SIMD_INLINE vf32 simd_silu(vf32 x)
{
	return x / simd_one_plus_exp(x);
}

SIMD_INLINE vf32 simd_gelu(vf32 x)
{
	return x * simd_normal_cdf(x);
}

/* 2 u, u = sqrt(2 / pi) (x + 0.044715 x^3), and its slope. */
SIMD_INLINE vf32 simd_gelu_inner(vf32 x)
{
	return x * simd_fma(simd_f32(0.071354816f), x * x, simd_f32(1.59576912f));
}

SIMD_INLINE vf32 simd_gelu_inner_slope(vf32 x)
{
	return simd_fma(simd_f32(0.214064449f), x * x, simd_f32(1.59576912f));
}

/* x sigmoid(2 u) is x (1 + tanh u) / 2, and keeps its relative precision where tanh nears -1. */
SIMD_INLINE vf32 simd_gelu_tanh(vf32 x)
{
	return x / simd_one_plus_exp(simd_gelu_inner(x));
}

#endif
