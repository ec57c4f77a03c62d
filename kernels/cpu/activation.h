/* kernels/cpu/activation.h - what products and convolutions apply to their sums, last */
#ifndef KERNELS_CPU_ACTIVATION_H
#define KERNELS_CPU_ACTIVATION_H

#include "kernels/attributes.h"
#include "kernels/cpu/simd_math.h"

SIMD_INLINE vf32 activation_of(vf32 x, uint32_t activation)
{
	switch (activation) {
	case ACTIVATION_RELU: return simd_select(x < simd_f32(0.0f), x, simd_f32(0.0f));
	case ACTIVATION_RELU2: x = simd_select(x < simd_f32(0.0f), x, simd_f32(0.0f)); return x * x;
	case ACTIVATION_SILU: return simd_silu(x);
	case ACTIVATION_GELU: return simd_gelu(x);
	case ACTIVATION_GELU_TANH: return simd_gelu_tanh(x);
	case ACTIVATION_SIGMOID: return simd_sigmoid(x);
	default: return simd_tanh(x);
	}
}

/* N values in whole vectors: past the end too. */
SIMD_INLINE void activation_row(float *x, size_t n, uint32_t activation)
{
	for (size_t j = 0; j < n; j += SIMD_WIDTH)
		simd_store(x + j, activation_of(simd_load(x + j), activation));
}

#endif
