/* kernels/cpu/quantize_level.h - what every level has of kernels/quantize.h's encoders */
#ifndef KERNELS_CPU_QUANTIZE_LEVEL_H
#define KERNELS_CPU_QUANTIZE_LEVEL_H

#include "kernels/ref/quantize.h"

#define QUANTIZE_LEVEL(name)                                                                    \
 quantize_plain quantize_q4_0_##name, quantize_q4_1_##name, quantize_q5_0_##name,               \
	 quantize_q5_1_##name, quantize_q8_0_##name, quantize_f16_##name, quantize_bf16_##name; \
 extern const struct quantize_search quantize_search_##name;
LEVEL_BASES(QUANTIZE_LEVEL)
#undef QUANTIZE_LEVEL

#endif
