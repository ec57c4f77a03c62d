/*
 * test_tensor_stats.c - statistics: the definition on small cases, every level against it bit by bit
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/bits.h"
#include "kernels/tensor_stats.h"
#include "tests/corrupt.h"
#include "tests/kernel/values.h"
#include "tests/tap.h"

static struct tensor_stats of(enum dtype t, const void *data, size_t n)
{
	struct tensor_stats s;

	tensor_stats_chunk_ref(t, data, n, &s);
	return s;
}

static void test_definition(void)
{
	static const float x[] = { 3, -4, 0, -0.0f, INFINITY, -INFINITY, NAN, 0.5f };
	static const int64_t big[] = { (INT64_C(1) << 53) - 1, -5 };
	static const uint32_t wide[] = { UINT32_MAX, 16777217 };
	struct tensor_stats s = of(DTYPE_F32, x, 8);

	tap_is_u64(s.n, 8, "n");
	tap_is_u64(s.zeros, 2, "zeros of both signs");
	tap_is_u64(s.nans, 1, "NaN");
	tap_is_u64(s.positive_infs, 1, "+inf");
	tap_is_u64(s.negative_infs, 1, "-inf");
	tap_ok(s.min == -INFINITY && s.max == INFINITY, "infinities are extremes");
	tap_ok(s.sum == -0.5 && s.sum_squares == 25.25, "sums are over finite values");
	tap_ok(tensor_stats_mean(&s) == -0.1, "mean of five");
	tap_ok(fabs(tensor_stats_rms(&s) - 2.2472205054244232) < 1e-15, "root of 25.25 / 5");
	s = of(DTYPE_F32, x, 2);
	tap_ok(s.min == -4 && s.max == 3, "finite extremes");
	s = of(DTYPE_I64, big, 2);
	tap_ok(s.max == 9007199254740991.0 && s.min == -5, "i64 is not squeezed through f32");
	s = of(DTYPE_U32, wide, 2);
	tap_ok(s.min == 16777217 && s.sum == 4311744512.0, "nor is u32");
}

static void test_nothing_and_nan_alone(void)
{
	static const float nan2[] = { NAN, NAN }, negative_zero = -0.0f;
	struct tensor_stats s = of(DTYPE_F32, NULL, 0);

	tap_ok(s.n == 0 && s.min == INFINITY && s.max == -INFINITY, "nothing");
	tap_ok(tensor_stats_mean(&s) == 0 && tensor_stats_rms(&s) == 0, "no mean");
	s = of(DTYPE_F32, nan2, 2);
	tap_ok(s.nans == 2 && s.min > s.max && s.sum == 0, "NaN alone");
	s = of(DTYPE_F32, &negative_zero, 1);
	tap_ok(!signbit(s.min) && !signbit(s.max), "a zero comes out as +0");
}

static void test_the_order_of_summation(void)
{
	float x[32] = { 0 };
	double expected;

	/* Lanes: 2^60 in lane 0, 1 in lane 8, -2^60 in lane 4: (0 + 8) first, then + 4. */
	x[0] = 0x1p60f;
	x[8] = 1;
	x[4] = -0x1p60f;
	expected = (0x1p60 + 1) + -0x1p60;
	tap_ok(of(DTYPE_F32, x, 32).sum == expected, "k + 8 is added before k + 4");
	/* 1 into lane 12 meets -2^60 of lane 4 before 2^60: lost too; into lane 1 it is not. */
	x[8] = 0;
	x[1] = 1;
	tap_ok(of(DTYPE_F32, x, 32).sum == 1, "lanes are apart until the tree");
	/* Element 16 follows element 0 in lane 0. */
	x[1] = 0;
	x[16] = 1;
	tap_ok(of(DTYPE_F32, x, 32).sum == 0, "element 16 is of lane 0");
}

static void test_chunks_add_up(void)
{
	static const float x[] = { 1, -2, NAN, 0, 5, INFINITY };
	struct tensor_stats total, part, all = of(DTYPE_F32, x, 6);

	tensor_stats_start(&total);
	for (int i = 0; i < 6; i += 3) {
		tensor_stats_chunk(level_best(), DTYPE_F32, x + i, 3, &part);
		tensor_stats_add(&total, &part);
	}
	tap_ok(total.n == 6 && total.nans == 1 && total.zeros == 1, "counts");
	tap_ok(total.positive_infs == 1 && total.negative_infs == 0, "infinities");
	tap_ok(total.min == -2 && total.max == INFINITY, "extremes");
	tap_ok(total.sum == all.sum && total.sum_squares == 30, "sums");
}

static bool same(const struct tensor_stats *a, const struct tensor_stats *b)
{
	return a->n == b->n && a->zeros == b->zeros && a->nans == b->nans &&
	       a->positive_infs == b->positive_infs && a->negative_infs == b->negative_infs &&
	       f64_bits(a->min) == f64_bits(b->min) && f64_bits(a->max) == f64_bits(b->max) &&
	       f64_bits(a->sum) == f64_bits(b->sum) &&
	       f64_bits(a->sum_squares) == f64_bits(b->sum_squares);
}

/* N elements that end at a guard page, and ones that start OFF bytes after one. */
static bool level_agrees(enum level level, enum dtype t, enum values kind, size_t n, size_t off)
{
	size_t bytes = n / dtype_info(t)->block * dtype_info(t)->bytes;
	uint8_t *at_end = guard_new(bytes + 1), *at_start = guard_new_before(bytes + off);
	struct tensor_stats want, got;
	bool ok;

	values_fill(t, kind, at_end + 1, n, n * 31 + off);
	memcpy(at_start + off, at_end + 1, bytes);
	tensor_stats_chunk_ref(t, at_end + 1, n, &want);
	tensor_stats_chunk(level, t, at_end + 1, n, &got);
	ok = same(&want, &got);
	tensor_stats_chunk(level, t, at_start + off, n, &got);
	ok = ok && same(&want, &got);
	guard_free(at_end);
	guard_free(at_start);
	return ok;
}

static void check_level(enum level level, enum dtype t, enum values kind)
{
	static const size_t longer[] = { 1023, 1024, 1025, 1040, 2047, 5000, TENSOR_CHUNK };
	size_t block = dtype_info(t)->block, wrong = SIZE_MAX;

	for (size_t n = 0; n <= 70 && wrong == SIZE_MAX; n++)
		if (n % block == 0 && !level_agrees(level, t, kind, n, n % 16))
			wrong = n;
	for (size_t i = 0; i < sizeof(longer) / sizeof(*longer) && wrong == SIZE_MAX; i++)
		if (longer[i] % block == 0 && !level_agrees(level, t, kind, longer[i], i))
			wrong = longer[i];
	tap_is_u64(wrong, SIZE_MAX, "%s %s %s: the size that is wrong", level_name(level),
		   dtype_name(t), values_name(kind));
}

static void test_every_level(void)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64,
					    DTYPE_I8,  DTYPE_I64,  DTYPE_Q8_0 };

	for (int level = 0; level < LEVEL_COUNT; level++) {
		if (!level_available((enum level)level)) {
			tap_skip("cpu: this machine lacks the level",
				 level_name((enum level)level));
			continue;
		}
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			for (int kind = 0; kind < VALUES_COUNT; kind++)
				check_level((enum level)level, types[i], (enum values)kind);
	}
}

int main(void)
{
	tap_run(test_definition);
	tap_run(test_nothing_and_nan_alone);
	tap_run(test_the_order_of_summation);
	tap_run(test_chunks_add_up);
	tap_run(test_every_level);
	return tap_done();
}
