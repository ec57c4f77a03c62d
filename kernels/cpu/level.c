/*
 * kernels/cpu/level.c - finds out what the processor and the operating system have
 *
 * x86-64: Intel's manual, volume 2A, CPUID: leaf 0; leaf 1 ECX; leaf 7 EBX, ECX and EDX, and EAX of its sub-leaf 1; and XGETBV,
 * which tells which registers the operating system keeps (volume 1, 13.3). aarch64: the kernel's AT_HWCAP and AT_HWCAP2
 * (Linux, Documentation/arch/arm64/elf_hwcaps.rst).
 *
 * With LEVEL_EMULATED (the Makefile's emulated library) the wide levels need AVX2 alone: intrinsics.h stands in for the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/level.h"

#define BIT(n) (1u << (n))

#if defined(__x86_64__)
# include <cpuid.h>
# include <sys/syscall.h>
# include <unistd.h>

# define ARCH_REQ_XCOMP_PERM 0x1023 /* arch_prctl's */
# define XFEATURE_XTILEDATA  18

/* XCR0, for which OSXSAVE must be set. */
static uint32_t kept_registers(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

/* What a level needs of leaf 7, and of XCR0, besides its base's. */
struct needs {
	uint32_t b, c, d; /* EBX, ECX, EDX of leaf 7 */
	uint32_t a1;	  /* EAX of its sub-leaf 1 */
	uint32_t kept;
};

static const struct needs needs[LEVEL_COUNT] = {
	[LEVEL_avx2] = { .b = BIT(5) | BIT(8),
			 .kept = 0x06 }, /* AVX2 BMI2; SSE and AVX registers */
	[LEVEL_avx_vnni] = { .a1 = BIT(4) },
	/* AVX512 F DQ BW VL; masks, all 32 of 512 bits */
	[LEVEL_avx512] = { .b = BIT(16) | BIT(17) | BIT(30) | BIT(31), .kept = 0xe0 },
	[LEVEL_avx512_vnni] = { .c = BIT(11) },
	[LEVEL_avx512_bf16] = { .a1 = BIT(5) },
	/* AMX BF16 TILE INT8, AVX512_BF16; what configures tiles, and tiles */
	[LEVEL_amx] = { .d = BIT(22) | BIT(24) | BIT(25), .a1 = BIT(5), .kept = BIT(17) | BIT(18) },
};

/* FMA OSXSAVE AVX F16C of leaf 1, which every level but generic needs. */
static bool has_avx(void)
{
	const uint32_t want = BIT(12) | BIT(27) | BIT(28) | BIT(29);
	uint32_t a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & want) == want;
}

static bool has(enum level level)
{
	const struct needs *n = &needs[level];
	uint32_t a, b, c, d, a1 = 0, b1, c1, d1;

	if (level == LEVEL_generic)
		return true;
	if (!has_avx() || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return false;
	if (a >= 1)
		__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1);
	return (b & n->b) == n->b && (c & n->c) == n->c && (d & n->d) == n->d &&
	       (a1 & n->a1) == n->a1 && (kept_registers() & n->kept) == n->kept;
}

enum level_vendor level_vendor(void)
{
	uint32_t a, name[3];

	if (!__get_cpuid(0, &a, &name[0], &name[2], &name[1]))
		return VENDOR_OTHER;
	return memcmp(name, "GenuineIntel", 12) == 0   ? VENDOR_INTEL
	       : memcmp(name, "AuthenticAMD", 12) == 0 ? VENDOR_AMD
						       : VENDOR_OTHER;
}

bool level_tiles(void)
{
# if defined(LEVEL_EMULATED)
	return true;
# else
	static _Thread_local int asked; /* 1: granted, -1: refused */

	if (!asked)
		asked = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 ? 1
											      : -1;
	return asked > 0;
# endif
}

static bool ready(enum level level)
{
	return level != LEVEL_amx || level_tiles();
}

#elif defined(__aarch64__)
# include <sys/auxv.h>

static bool has(enum level level)
{
	switch (level) {
	case LEVEL_neon_dotprod: return getauxval(AT_HWCAP) & BIT(20); /* ASIMDDP */
	case LEVEL_neon_bf16: return getauxval(AT_HWCAP2) & BIT(14);   /* BF16 */
	default: return true; /* every processor of this architecture has NEON */
	}
}
#else
static bool has(enum level level)
{
	return true;
}
#endif

#if !defined(__x86_64__)
enum level_vendor level_vendor(void)
{
	return VENDOR_OTHER;
}

bool level_tiles(void)
{
	return false;
}

static bool ready(enum level level)
{
	return true;
}
#endif

static const struct {
	const char *name;
	enum level base;
} levels[LEVEL_COUNT] = {
#define ROW(name, base) [LEVEL_##name] = { #name, LEVEL_##base },
	LEVEL_LIST(ROW)
#undef ROW
};

enum level level_base(enum level level)
{
	return levels[level].base;
}

bool level_available(enum level level)
{
	if ((unsigned)level >= LEVEL_COUNT)
		return false;
#if defined(LEVEL_EMULATED) && defined(__x86_64__)
	return has(level == LEVEL_generic ? LEVEL_generic : LEVEL_avx2);
#endif
	/* What a unit needs stands on its base, and avx512 on avx2. */
	for (int i = 0; i <= (int)levels[level].base; i++)
		if (levels[i].base == (enum level)i && !has((enum level)i))
			return false;
	return has(level) && ready(level);
}

enum level level_best(void)
{
	int level = LEVEL_COUNT - 1;

	while (level > 0 && !level_available((enum level)level))
		level--;
	return (enum level)level;
}

const char *level_name(enum level level)
{
	return (unsigned)level < LEVEL_COUNT ? levels[level].name : "unknown";
}

const char *level_names(void)
{
#define LISTED(name, base) ", " #name
	return &(LEVEL_LIST(LISTED))[2];
#undef LISTED
}

const char *level_vendor_name(enum level_vendor vendor)
{
	return vendor == VENDOR_INTEL ? "Intel" : vendor == VENDOR_AMD ? "AMD" : "other";
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
		if (strcmp(value, levels[i].name) == 0 && level_available((enum level)i)) {
			*out = (enum level)i;
			return 0;
		}
	return -1;
}
