/*
 * kernels/cpu/level.c - finds out what the processor and the operating system have
 *
 * x86-64: Intel's manual, volume 2A, CPUID: leaf 1 ECX, leaf 7 EBX; and XGETBV, which tells
 * whether the operating system keeps the wide registers (volume 1, 13.3).
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/level.h"

#if defined(__x86_64__)
# include <cpuid.h>
# include <stdint.h>

# define BIT(n) (1u << (n))

/* XCR0, for which OSXSAVE must be set. */
static uint32_t kept_registers(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static enum level detect(void)
{
	const uint32_t one = BIT(12) | BIT(27) | BIT(28) | BIT(29);  /* FMA OSXSAVE AVX F16C */
	const uint32_t seven = BIT(5) | BIT(8);			     /* AVX2 BMI2 */
	const uint32_t wide = BIT(16) | BIT(17) | BIT(30) | BIT(31); /* AVX512 F DQ BW VL */
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & one) != one)
		return LEVEL_generic;
	if ((kept_registers() & 0x06) != 0x06) /* SSE and AVX registers */
		return LEVEL_generic;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & seven) != seven)
		return LEVEL_generic;
	if ((b & wide) != wide || (kept_registers() & 0xe6) != 0xe6) /* masks, all 32 of 512 bits */
		return LEVEL_avx2;
	return LEVEL_avx512;
}
#else
static enum level detect(void)
{
	return LEVEL_generic;
}
#endif

static const char *const names[LEVEL_COUNT] = {
#define NAME(name) [LEVEL_##name] = #name,
	LEVEL_LIST(NAME)
#undef NAME
};

bool level_available(enum level level)
{
	return (unsigned)level < LEVEL_COUNT && level <= detect();
}

enum level level_best(void)
{
	return detect();
}

const char *level_name(enum level level)
{
	return (unsigned)level < LEVEL_COUNT ? names[level] : "unknown";
}

const char *level_names(void)
{
#define LISTED(name) ", " #name
	return &(LEVEL_LIST(LISTED))[2];
#undef LISTED
}

int level_choose(enum level *out, const char **word)
{
	const char *value = getenv("NNUTILS_ISA");

	if (value && !*value)
		value = NULL;
	if (word)
		*word = value;
	if (!value) {
		*out = level_best();
		return 0;
	}
	for (int i = 0; i < LEVEL_COUNT; i++)
		if (strcmp(value, names[i]) == 0 && level_available((enum level)i)) {
			*out = (enum level)i;
			return 0;
		}
	return -1;
}
