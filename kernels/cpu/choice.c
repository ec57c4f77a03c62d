/*
 * kernels/cpu/choice.c - the kernels of units, and where each serves
 *
 * Rates are GFLOP/s of one thread, from registers, of the two machines that they were measured on: a Xeon with AMX and an EPYC
 * of Zen 5.
 *
 * Units for 8-bit integers (avx_vnni, avx512_vnni, neon_dotprod, and AMX's) serve nothing. They would multiply block-quantized
 * weights by activations rounded to 8 bits in blocks of 32. Measured on 31 weights of SmolLM2 135M (Q4_1 and Q8_0), 16 normal
 * rows each: that is wrong by 0.3 to 0.9 % of the largest result, 0.7 to 3.3 % where four channels are 30 times the others; 2,000 to
 * 23,000 times what ops.def allows matmul. Activations in f32 are wrong by 7e-7.
 */
#include "kernels/cpu/choice.h"

#if defined(__x86_64__)
extern const struct kernel matmul_amx, matmul_acc_amx, matmul_avx512_bf16, matmul_acc_avx512_bf16;

# define EVERYWHERE                                                  \
  {                                                                  \
   [VENDOR_OTHER] = true, [VENDOR_INTEL] = true, [VENDOR_AMD] = true \
  }
# define NOT_INTEL                            \
  {                                           \
   [VENDOR_OTHER] = true, [VENDOR_AMD] = true \
  }
#endif

const struct cpu_choice cpu_choices[] = {
#if defined(__x86_64__)
	/* Xeon: tiles 3,150-3,240, f32 multiply-add 212 */
	{ &matmul_amx, LEVEL_amx, EVERYWHERE },
	{ &matmul_acc_amx, LEVEL_amx, EVERYWHERE },
	/* EPYC: vdpbf16ps 471-485, f32 multiply-add 255-265. Xeon: 104 and 212, so f32 serves there. */
	{ &matmul_avx512_bf16, LEVEL_avx512_bf16, NOT_INTEL },
	{ &matmul_acc_avx512_bf16, LEVEL_avx512_bf16, NOT_INTEL },
#endif
	{ 0 },
};

bool cpu_choice_serves(const struct cpu_choice *row, enum level level, enum level_vendor vendor)
{
	return row->level <= level && level_base(row->level) == level_base(level) &&
	       (vendor == VENDOR_COUNT || row->vendors[vendor]);
}
