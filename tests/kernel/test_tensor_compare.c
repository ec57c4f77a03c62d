/*
 * test_tensor_compare.c - comparison: the definition on small cases (S05 among them), every level
 * against it bit by bit
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/bits.h"
#include "kernels/tensor_compare.h"
#include "tests/corrupt.h"
#include "tests/kernel/values.h"
#include "tests/tap.h"

static const struct tensor_tolerance exact = { 0, 0 };

static struct tensor_compare of(const float *a, const float *b, size_t n, struct tensor_tolerance t)
{
	struct tensor_compare c;

	tensor_compare_chunk_ref(DTYPE_F32, a, DTYPE_F32, b, n, t, &c);
	return c;
}

static void test_equal(void)
{
	static const float a[] = { 1, -2, 0, 3 }, b[] = { 1, -2, -0.0f, 3 };
	struct tensor_compare c = of(a, b, 4, exact);

	tap_ok(c.n == 4 && c.n_differ == 0 && c.first_differ == TENSOR_NOWHERE, "equal");
	tap_ok(c.max_abs == 0 && c.max_abs_at == TENSOR_NOWHERE, "no difference, nowhere");
	tap_ok(c.max_rel == 0 && c.max_rel_at == TENSOR_NOWHERE, "no difference, nowhere");
	tap_ok(c.dot == 14 && c.a_squares == 14 && c.b_squares == 14, "sums");
	tap_ok(tensor_compare_cosine(&c) == 1, "cosine");
}

static void test_differences(void)
{
	static const float a[] = { 1, 10, 0.5f, 4, 7 }, b[] = { 1, 12, 0.25f, 0, 5 };
	struct tensor_compare c = of(a, b, 5, exact);

	tap_ok(c.n_differ == 4 && c.first_differ == 1, "four differ");
	tap_ok(c.max_abs == 4 && c.max_abs_at == 3, "the largest");
	tap_ok(c.max_rel == 1 && c.max_rel_at == 2, "relative to b, where that is not 0");
	tap_ok(c.dot == 1 + 120 + 0.125 + 35, "a b");
	tap_ok(c.a_squares == 1 + 100 + 0.25 + 16 + 49, "a a");
	tap_ok(c.b_squares == 1 + 144 + 0.0625 + 25, "b b");
	c = of(a, b, 5, (struct tensor_tolerance){ 2, 0 });
	tap_ok(c.n_differ == 1 && c.first_differ == 3, "atol is inclusive");
	c = of(a, b, 5, (struct tensor_tolerance){ 0, 0.4 });
	tap_ok(c.n_differ == 2 && c.first_differ == 2, "rtol is of b, inclusive");
	c = of(a, b, 5, (struct tensor_tolerance){ 0.15, 0.4 });
	tap_ok(c.n_differ == 1 && c.first_differ == 3, "both add");
	tap_ok(c.max_abs == 4 && c.max_rel == 1, "extremes do not know the tolerance");
}

static void test_the_first_of_equal_differences(void)
{
	static const float a[] = { 1, 2, 2, 3 }, b[] = { 1, 1, 1, 2 };
	struct tensor_compare c = of(a, b, 4, exact);

	tap_ok(c.max_abs == 1 && c.max_abs_at == 1, "absolute");
	tap_ok(c.max_rel == 1 && c.max_rel_at == 1, "relative");
}

/* Case S05. */
static void test_what_is_not_finite(void)
{
	static const float a[] = { INFINITY, -INFINITY, 1, NAN, NAN, 2 };
	static const float b[] = { INFINITY, -INFINITY, 1, NAN, 5, NAN };
	static const float c1[] = { INFINITY, 3, INFINITY }, c2[] = { -INFINITY, -INFINITY, 4 };
	struct tensor_compare c = of(a, b, 6, (struct tensor_tolerance){ 1e30, 1e30 });

	tap_ok(c.n_differ == 2 && c.first_differ == 4, "a NaN differs, whatever the tolerance");
	tap_ok(c.nan_one == 2 && c.nan_both == 1 && c.first_nan == 3,
	       "NaN are counted, with place");
	tap_ok(c.max_abs == 0 && c.max_rel == 0, "the same infinity is equal, NaN has no size");
	tap_ok(c.dot == 1 && c.a_squares == 1, "sums are over finite pairs");
	c = of(c1, c2, 3, (struct tensor_tolerance){ 1e30, 1e30 });
	tap_ok(c.n_differ == 3 && c.first_differ == 0, "another infinity, or a number: differ");
	tap_ok(c.max_abs == INFINITY && c.max_abs_at == 0, "by infinity");
	tap_ok(c.max_rel == INFINITY && c.max_rel_at == 0, "by infinity");
}

static void test_wide_types(void)
{
	static const int64_t a[] = { INT64_C(1) << 60, INT64_MIN };
	static const int64_t b[] = { (INT64_C(1) << 60) + 1, INT64_MAX };
	static const double x = 1e300, y = 1e300 * (1 + 1e-15);
	static const float f = 16777216;
	static const int32_t i = 16777217;
	struct tensor_compare c;

	tensor_compare_chunk_ref(DTYPE_I64, a, DTYPE_I64, b, 2, exact, &c);
	tap_ok(c.n_differ == 2 && c.first_differ == 0, "64-bit integers differ by one");
	tap_ok(c.max_abs == 0x1p64 && c.max_abs_at == 1, "and by more than they hold");
	tensor_compare_chunk_ref(DTYPE_F64, &x, DTYPE_F64, &y, 1, exact, &c);
	tap_ok(c.n_differ == 1 && c.max_rel > 5e-16, "f64");
	tensor_compare_chunk_ref(DTYPE_F32, &f, DTYPE_I32, &i, 1, exact, &c);
	tap_ok(c.n_differ == 1 && c.max_abs == 1, "f32 beside i32");
}

static void test_unlike_types(void)
{
	static const float a[] = { 1, 2.5f, -3 };
	static const int8_t b[] = { 1, 2, -3 };
	struct tensor_compare c;

	tensor_compare_chunk(level_best(), DTYPE_F32, a, DTYPE_I8, b, 3, exact, &c);
	tap_ok(c.n_differ == 1 && c.first_differ == 1 && c.max_abs == 0.5, "f32 beside i8");
	tap_ok(c.max_rel == 0.25, "relative to the second");
}

static void test_cosine(void)
{
	static const float a[] = { 1, 0 }, b[] = { 0, 2 }, zero[] = { 0, 0 };
	struct tensor_compare c = of(a, b, 2, exact);

	tap_ok(tensor_compare_cosine(&c) == 0, "at right angles");
	c = of(zero, zero, 2, exact);
	tap_ok(tensor_compare_cosine(&c) == 1, "both zero");
	c = of(a, zero, 2, exact);
	tap_ok(tensor_compare_cosine(&c) == 0, "one zero");
}

static bool same(const struct tensor_compare *a, const struct tensor_compare *b)
{
	return a->n == b->n && a->n_differ == b->n_differ && a->first_differ == b->first_differ &&
	       a->nan_one == b->nan_one && a->nan_both == b->nan_both &&
	       a->first_nan == b->first_nan && f64_bits(a->max_abs) == f64_bits(b->max_abs) &&
	       f64_bits(a->max_rel) == f64_bits(b->max_rel) && a->max_abs_at == b->max_abs_at &&
	       a->max_rel_at == b->max_rel_at && f64_bits(a->dot) == f64_bits(b->dot) &&
	       f64_bits(a->a_squares) == f64_bits(b->a_squares) &&
	       f64_bits(a->b_squares) == f64_bits(b->b_squares);
}

static void test_chunks_add_up(void)
{
	static const float a[] = { 1, 2, NAN, 8, 5, NAN, 3, 5 }, b[] = { 1, 3, NAN, 7, 1, 1, 3, 1 };
	struct tensor_compare total, part, all = of(a, b, 8, exact);

	tensor_compare_start(&total);
	for (int i = 0; i < 8; i += 2) {
		tensor_compare_chunk(level_best(), DTYPE_F32, a + i, DTYPE_F32, b + i, 2, exact,
				     &part);
		tensor_compare_add(&total, &part);
	}
	tap_ok(same(&total, &all), "four chunks as one");
	tap_ok(total.max_abs_at == 4 && total.max_rel_at == 4, "the first of the largest");
	tap_ok(total.first_differ == 1 && total.first_nan == 2, "places");
}

/* How B comes from A. */
enum relation { SAME, CLOSE, ONE_OFF, OTHER, RELATIONS };

static const char *const relation_names[] = { "same", "close", "one off", "other" };

static void fill_second(enum dtype t, enum relation how, enum values kind, const uint8_t *a,
			uint8_t *b, size_t n, uint64_t seed)
{
	size_t bytes = n / dtype_info(t)->block * dtype_info(t)->bytes;

	memcpy(b, a, bytes);
	if (how == OTHER)
		values_fill(t, kind, b, n, seed + 1);
	for (size_t i = 0; how == CLOSE && i < bytes; i += dtype_info(t)->bytes)
		b[i] ^= (uint8_t)(values_random(&seed) % 3);
	if (how == ONE_OFF && bytes)
		b[values_random(&seed) % bytes] ^= 0x10;
}

static bool level_agrees(enum level level, enum dtype t, enum values kind, enum relation how,
			 size_t n, struct tensor_tolerance tolerance)
{
	size_t bytes = n / dtype_info(t)->block * dtype_info(t)->bytes;
	uint8_t *a = guard_new(bytes + 1), *b = guard_new_before(bytes + n % 7);
	struct tensor_compare want, got;

	values_fill(t, kind, a + 1, n, n * 17 + (unsigned)how);
	fill_second(t, how, kind, a + 1, b + n % 7, n, n);
	tensor_compare_chunk_ref(t, a + 1, t, b + n % 7, n, tolerance, &want);
	tensor_compare_chunk(level, t, a + 1, t, b + n % 7, n, tolerance, &got);
	guard_free(a);
	guard_free(b);
	return same(&want, &got);
}

static void check_level(enum level level, enum dtype t, enum values kind, enum relation how)
{
	static const size_t longer[] = { 511, 512, 513, 1024, 1040, 5000, 70000 };
	static const struct tensor_tolerance tolerances[] = { { 0, 0 },
							      { 1e-3, 1e-2 },
							      { 0.5, 0 } };
	size_t block = dtype_info(t)->block, wrong = SIZE_MAX;

	for (size_t k = 0; k < 3; k++) {
		struct tensor_tolerance tolerance = tolerances[k];

		for (size_t n = 0; n <= 70 && wrong == SIZE_MAX; n++)
			if (n % block == 0 && !level_agrees(level, t, kind, how, n, tolerance))
				wrong = n;
		for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++)
			if (wrong == SIZE_MAX && longer[i] % block == 0 &&
			    !level_agrees(level, t, kind, how, longer[i], tolerance))
				wrong = longer[i];
	}
	tap_is_u64(wrong, SIZE_MAX, "%s %s %s, %s: the size that is wrong", level_name(level),
		   dtype_name(t), values_name(kind), relation_names[how]);
}

static void test_every_level(void)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16,
					    DTYPE_F64, DTYPE_I16,  DTYPE_Q4_0 };

	for (int level = 0; level < LEVEL_COUNT; level++) {
		if (!level_available((enum level)level)) {
			tap_skip("cpu: this machine lacks the level",
				 level_name((enum level)level));
			continue;
		}
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			for (int kind = 0; kind < VALUES_COUNT; kind++)
				for (int how = 0; how < RELATIONS; how++)
					check_level((enum level)level, types[i], (enum values)kind,
						    (enum relation)how);
	}
}

/* Differences and quotients that are subnormal or grow at every step: where a bound could round wrongly. */
static void test_hidden_news(void)
{
	size_t n = 4096;
	float *a = guard_new(n * sizeof(float)), *b = guard_new(n * sizeof(float));

	for (int kind = 0; kind < 4; kind++) {
		for (size_t i = 0; i < n; i++) {
			uint32_t base = kind == 0 ? 0x00800000 : kind == 1 ? 0x3f800000 : 0x100;

			b[i] = f32_of_bits(base + (uint32_t)(i * 2654435761u % 8191));
			a[i] = f32_of_bits(f32_bits(b[i]) +
					   (uint32_t)(kind == 3 ? i : 1 + i / 512));
		}
		for (int level = 0; level < LEVEL_COUNT; level++) {
			struct tensor_compare want = of(a, b, n, exact), got;

			if (!level_available((enum level)level))
				continue;
			tensor_compare_chunk((enum level)level, DTYPE_F32, a, DTYPE_F32, b, n,
					     exact, &got);
			tap_ok(same(&want, &got), "%s, kind %d", level_name((enum level)level),
			       kind);
		}
	}
	guard_free(a);
	guard_free(b);
}

/* Past the tolerance, yet neither difference is the largest: those before are large beside their b. */
static void test_past_without_being_large(void)
{
	static float a[4096], b[4096];
	struct tensor_tolerance tolerance = { 1, 0.1 };
	struct tensor_compare c;

	a[0] = 1050, b[0] = 1000;
	a[1] = 1.1f, b[1] = 0.1f;
	a[3000] = 15, b[3000] = 10;
	for (int level = 0; level < LEVEL_COUNT; level++) {
		if (!level_available((enum level)level))
			continue;
		tensor_compare_chunk((enum level)level, DTYPE_F32, a, DTYPE_F32, b, 4096, tolerance,
				     &c);
		tap_ok(c.n_differ == 1 && c.first_differ == 3000, "%s: found",
		       level_name((enum level)level));
		tap_ok(c.max_abs_at == 0 && c.max_rel_at == 1,
		       "and the largest are where they are");
	}
}

int main(void)
{
	tap_run(test_equal);
	tap_run(test_differences);
	tap_run(test_the_first_of_equal_differences);
	tap_run(test_what_is_not_finite);
	tap_run(test_wide_types);
	tap_run(test_unlike_types);
	tap_run(test_cosine);
	tap_run(test_chunks_add_up);
	tap_run(test_every_level);
	tap_run(test_hidden_news);
	tap_run(test_past_without_being_large);
	return tap_done();
}
