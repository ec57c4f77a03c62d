/*
 * kernels/cpu/choice.c - the kernels of units, and where each serves
 *
 * Rates are GFLOP/s of one thread, from registers, of the two machines that they were measured on: a Xeon with AMX and an EPYC
 * of Zen 5.
 *
 * Units for 8-bit integers serve products that are told to round what block-quantized weights multiply (matmul_attributes.round,
 * kernels/rounding.h), and no others: rounding is a choice of whoever asks for the product, never a kernel's. Measured on 31
 * weights of SmolLM2 135M (Q4_1 and Q8_0), 16 normal rows each, it is wrong by 0.3 to 0.9 % of the largest result, 0.7 to 3.3 %
 * where four channels are 30 times the others; activations in f32 by 7e-7. Given the rounding, all kernels have the same integers and
 * are held to the same tolerance as any product. VPDPBUSD and SDOT make four products a lane in one instruction, where AVX2 takes
 * three and NEON five: those rows stand by that count, and are to be measured on such machines.
 */
#include "kernels/cpu/choice.h"

#define EVERYWHERE                                                  \
 {                                                                  \
  [VENDOR_OTHER] = true, [VENDOR_INTEL] = true, [VENDOR_AMD] = true \
 }

#if defined(__aarch64__)
extern const struct kernel matmul_rounded_neon_dotprod, matmul_packed_neon_dotprod;
#endif
#if defined(__x86_64__)
extern const struct kernel matmul_rounded_avx_vnni, matmul_rounded_avx512_vnni;
extern const struct kernel matmul_packed_avx_vnni, matmul_packed_avx512_vnni;
extern const struct kernel matmul_amx, matmul_acc_amx, matmul_avx512_bf16, matmul_acc_avx512_bf16;

# define NOT_INTEL                            \
  {                                           \
   [VENDOR_OTHER] = true, [VENDOR_AMD] = true \
  }
#endif

const struct cpu_choice cpu_choices[] = {
#if defined(__aarch64__)
	{ &matmul_packed_neon_dotprod, LEVEL_neon_dotprod, EVERYWHERE },
	{ &matmul_rounded_neon_dotprod, LEVEL_neon_dotprod, EVERYWHERE },
#endif
#if defined(__x86_64__)
	{ &matmul_packed_avx512_vnni, LEVEL_avx512_vnni, EVERYWHERE },
	{ &matmul_rounded_avx512_vnni, LEVEL_avx512_vnni, EVERYWHERE },
	{ &matmul_packed_avx_vnni, LEVEL_avx_vnni, EVERYWHERE },
	{ &matmul_rounded_avx_vnni, LEVEL_avx_vnni, EVERYWHERE },
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
