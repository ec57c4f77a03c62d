/*
 * test_level.c - which instruction set is chosen: against the compiler's own detection
 */
#include <stdlib.h>

#include "kernels/cpu/level.h"
#include "tests/tap.h"

static int choose(const char *value, enum level *out, const char **word)
{
	if (value)
		setenv("NNUTILS_ISA", value, 1);
	else
		unsetenv("NNUTILS_ISA");
	return level_choose(out, word);
}

static void test_the_environment(void)
{
	enum level level = LEVEL_COUNT;
	const char *word;

	tap_ok(choose(NULL, &level, &word) == 0 && level == level_best() && !word, "not set");
	tap_ok(choose("", &level, &word) == 0 && level == level_best() && !word, "empty");
	tap_ok(choose("generic", &level, &word) == 0 && level == LEVEL_generic, "generic");
	tap_is_text(word, "generic", "the word");
	tap_is_i64(choose("avx3", &level, &word), -1, "no level");
	tap_is_text(word, "avx3", "the word");
	tap_is_i64(choose("Generic", &level, NULL), -1, "the case counts");
	for (int i = 0; i < LEVEL_COUNT; i++) {
		int want = level_available((enum level)i) ? 0 : -1;

		level = LEVEL_COUNT;
		tap_is_i64(choose(level_name((enum level)i), &level, NULL), want, "%s",
			   level_name((enum level)i));
		tap_is_i64(level, want ? LEVEL_COUNT : i, "and only then");
	}
}

static void test_levels_and_bases(void)
{
	tap_ok(level_available(LEVEL_generic), "generic is everywhere");
	tap_ok(!level_available(LEVEL_COUNT), "no level");
	for (int i = 0; i < LEVEL_COUNT; i++) {
		enum level level = (enum level)i, base = level_base(level);

		tap_ok(base <= level && level_base(base) == base, "%s stands on %s",
		       level_name(level), level_name(base));
		tap_ok(!level_available(level) || level_available(base), "and needs it");
		tap_ok(!level_available(level) || level <= level_best(), "the best is the last");
	}
	tap_ok(level_available(level_best()), "the best is there");
	tap_is_text(level_name(LEVEL_COUNT), "unknown", "no level");
}

/* Kernels of tiles ask again in each thread; where there are none, nothing asks. */
static void test_tiles(void)
{
#if defined(__x86_64__)
	if (level_available(LEVEL_amx))
		tap_ok(level_tiles() && level_tiles(), "tiles are granted");
#endif
	tap_ok(level_vendor() < VENDOR_COUNT, "made by %s", level_vendor_name(level_vendor()));
}

#if defined(__x86_64__)
/* In the emulated library every level stands on AVX2. */
static bool emulated(void)
{
	return level_available(LEVEL_amx) && !__builtin_cpu_supports("avx512f");
}

static void test_what_the_compiler_finds(void)
{
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		    __builtin_cpu_supports("bmi2");
	bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
		      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		      __builtin_cpu_supports("avx512vl");

	tap_is_text(level_names(), "generic, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, amx",
		    "names");
	tap_ok(level_available(LEVEL_avx2) == avx2, "avx2");
	if (emulated()) {
		tap_ok(level_best() == LEVEL_amx && avx2, "all levels are emulated on avx2");
		return;
	}
	tap_ok(level_available(LEVEL_avx512) == avx512, "avx512");
	tap_ok(level_available(LEVEL_avx512_vnni) ==
		       (avx512 && __builtin_cpu_supports("avx512vnni")),
	       "avx512_vnni");
	tap_ok(level_available(LEVEL_avx512_bf16) ==
		       (avx512 && __builtin_cpu_supports("avx512bf16")),
	       "avx512_bf16");
	tap_ok((level_vendor() == VENDOR_INTEL) == (__builtin_cpu_is("intel") != 0), "Intel");
	tap_ok((level_vendor() == VENDOR_AMD) == (__builtin_cpu_is("amd") != 0), "AMD");
}
#elif defined(__aarch64__)
static void test_what_the_compiler_finds(void)
{
	tap_is_text(level_names(), "generic, neon, neon_dotprod, neon_bf16", "names");
	tap_ok(level_available(LEVEL_neon), "every processor has NEON");
}
#else
static void test_what_the_compiler_finds(void)
{
	tap_is_text(level_names(), "generic", "names");
}
#endif

int main(void)
{
	tap_run(test_the_environment);
	tap_run(test_levels_and_bases);
	tap_run(test_tiles);
	tap_run(test_what_the_compiler_finds);
	return tap_done();
}
