/*
 * tests/kernel/test_cast.c - casts of doubles at the edges of every plain type, of each level, beside ref and beside known values
 *
 * To nearest even, past the ends to the ends, NaN to 0 where a type has none: what cases of ops.def, which are made of f32 and of small
 * numbers, do not reach.
 */
#include <math.h>
#include <string.h>

#include "lib/graph/backend.h"
#include "lib/graph/op_table.h"
#include "tests/tap.h"

#define MOST 24

static const double values[] = { NAN,	 -INFINITY, -1e300,	-0x1p63, -0x1p31 - 1, -32769,
				 -129,	 -1,	    -0.75,	-0.5,	 -0.0,	      0.25,
				 0.5,	 1.5,	    2.5,	127.5,	 255.5,	      65535.5,
				 0x1p31, 0x1p32,    0x1p53 + 2, 0x1p64,	 1e300,	      INFINITY };
#define N (sizeof(values) / sizeof(values[0]))
_Static_assert(N == MOST, "all values fit");

static struct kernel_tensor row(enum dtype t, void *data)
{
	return (struct kernel_tensor){
		.data = data, .dtype = t, .n_axes = 1, .shape = { N }, .stride = { 1 }
	};
}

/* Of LEVEL, or of ref (-1). */
static bool cast(int level, enum dtype to, uint8_t *out)
{
	struct kernel_tensor x = row(DTYPE_F64, (void *)(uintptr_t)values), y = row(to, out);
	struct kernel_call c = { .in = &x, .out = &y, .n_in = 1, .n_out = 1, .parts = 1 };
	const struct kernel *k = op_info(OP_CAST)->ref;

	if (level >= 0)
		k = backend_choose(backend_level((enum level)level), "cast", &c);
	memset(out, 0x5a, 8 * MOST);
	if (k)
		k->run(&c);
	return k != NULL;
}

/* NaN has many bits. */
static bool same(enum dtype t, const uint8_t *got, const uint8_t *want)
{
	float a[MOST], b[MOST];

	if (memcmp(got, want, 8 * MOST) == 0)
		return true;
	if (t != DTYPE_F32 && t != DTYPE_F16 && t != DTYPE_BF16)
		return false;
	dtype_to_f32(t, got, a, N);
	dtype_to_f32(t, want, b, N);
	return isnan(a[0]) && isnan(b[0]) && memcmp(a + 1, b + 1, sizeof(a) - sizeof(a[0])) == 0;
}

static void check_known(void)
{
	static const uint32_t words[] = {
		0,   0,	    0,		 0,	     0,		 0,	     0,		 0,
		0,   0,	    0,		 0,	     0,		 2,	     2,		 128,
		256, 65536, 0x80000000u, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX
	};
	static const int8_t bytes[] = { 0,   -128, -128, -128, -128, -128, -128, -1,
					-1,  0,	   0,	 0,    0,    2,	   2,	 127,
					127, 127,  127,	 127,  127,  127,  127,	 127 };
	uint8_t got[8 * MOST];

	cast(-1, DTYPE_U32, got);
	tap_ok(memcmp(got, words, sizeof(words)) == 0, "ref: u32");
	cast(-1, DTYPE_I8, got);
	tap_ok(memcmp(got, bytes, sizeof(bytes)) == 0, "ref: i8");
}

int main(void)
{
	static const enum dtype to[] = { DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I64,
					 DTYPE_I32, DTYPE_I16, DTYPE_I8,  DTYPE_U64,  DTYPE_U32,
					 DTYPE_U16, DTYPE_U8,  DTYPE_BOOL };
	uint8_t got[8 * MOST], want[8 * MOST];

	check_known();
	for (int level = 0; level < LEVEL_COUNT; level++)
		for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
			if (!level_available((enum level)level))
				continue;
			cast(-1, to[i], want);
			tap_ok(cast(level, to[i], got) && same(to[i], got, want),
			       "%s: f64 to %s as ref", level_name((enum level)level),
			       dtype_name(to[i]));
		}
	return tap_done();
}
