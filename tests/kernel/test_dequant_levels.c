/* tests/kernel/test_dequant_levels.c - block-quantized rows at every base level against their definition, to the bit */

#include <string.h>

#include "kernels/cpu/level.h"
#include "kernels/dtype.h"
#include "lib/base/random.h"
#include "tests/corrupt.h"
#include "tests/tap.h"

typedef void row_function(enum dtype t, const uint8_t *p, float *out, size_t n);

#define DECLARE(level) row_function dequant_row_##level;
LEVEL_BASES(DECLARE)
#define ENTRY(level) [LEVEL_##level] = dequant_row_##level,
static row_function *const rows[LEVEL_COUNT] = { LEVEL_BASES(ENTRY) };

#define BLOCKS_MAX 20

/* Any bytes are a block: scales that are infinite, subnormal or NaN among them, of which NaN alone has more than one form. */
static bool same(const float *a, const float *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(a + i, b + i, sizeof(*a)) != 0 && (a[i] == a[i] || b[i] == b[i]))
			return false;
	return true;
}

/* Blocks at an odd address; they and the row end at a guard page. */
static void check(enum dtype t, enum level level, size_t blocks, uint64_t seed)
{
	struct random_stream r = random_at(seed, (uint64_t)t, blocks);
	size_t bytes = blocks * dtype_info(t)->bytes, n = blocks * dtype_info(t)->block;
	uint8_t *p = guard_new(bytes + 1);
	float *want = guard_new(n * sizeof(float)), *got = guard_new(n * sizeof(float));

	for (size_t i = 0; i < bytes; i++)
		p[i + 1] = (uint8_t)random_below(&r, 0, i, 256);
	dtype_to_f32(t, p + 1, want, n);
	memset(got, 0xff, n * sizeof(float));
	rows[level](t, p + 1, got, n);
	tap_ok(same(got, want, n), "%s, %s, %zu blocks: the bits of the definition", dtype_name(t),
	       level_name(level), blocks);
	guard_free(p);
	guard_free(want);
	guard_free(got);
}

int main(void)
{
	for (int level = 0; level < LEVEL_COUNT; level++)
		for (int t = 1;
		     t < DTYPE_COUNT && rows[level] && level_available((enum level)level); t++)
			for (size_t blocks = 1;
			     blocks <= BLOCKS_MAX && dtype_info((enum dtype)t)->block > 1 &&
			     dtype_decodes((enum dtype)t);
			     blocks += blocks < 3 ? 1 : 5)
				for (uint64_t seed = 1; seed <= 5; seed++)
					check((enum dtype)t, (enum level)level, blocks, seed);
	return tap_done();
}
