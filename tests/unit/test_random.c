/*
 * lib/base/random: keying, ranges, distributions, and the very bits.
 *
 * The golden values come from scripts/gen-golden-random, which computes them with exact integers
 * and 40 decimal digits, not with this code.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/philox.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "tests/tap.h"

#define MANY 1000000

static struct random_stream golden_stream(void)
{
	return random_at(42, 7, UINT64_C(0x0123456789abcdef));
}

static void test_golden_words(void)
{
	static const uint64_t elements[] = { 0, 1, 2, 3, 4, (UINT64_C(1) << 34) + 1, UINT64_MAX };
	static const uint32_t want[] = { 0x1497cc8a, 0xbb68af30, 0xa181194e, 0x1d87b236,
					 0xd2d802a3, 0xaf778645, 0xe9e5fdc4 };
	struct random_stream r = golden_stream();

	tap_is_u64(r.key[0], 0xe225fe22, "key, first word");
	tap_is_u64(r.key[1], 0xe19ff8e0, "key, second word");
	for (size_t i = 0; i < 7; i++)
		tap_is_u64(random_u32(&r, 3, elements[i]), want[i], "row 3, element %llu",
			   (unsigned long long)elements[i]);
	tap_is_u64(random_u64(&r, 3, 1), UINT64_C(0x1d87b236a181194e), "words 2 and 3");
}

static void test_golden_normals(void)
{
	static const uint32_t want[16] = { 0x3f74e160, 0xbf305ebd, 0xbef04c4b, 0x3eaf6593,
					   0xbf986009, 0xbfbf552b, 0xbf776a54, 0x3ee83ce3,
					   0xbe95ad38, 0xbfb6a420, 0xbf08ed27, 0xbfb94be9,
					   0x3fa2b780, 0xbc79830d, 0xbeb4474e, 0x3f26aff3 };
	struct random_stream r = golden_stream();

	for (uint64_t e = 0; e < 16; e++) {
		float v = random_normal(&r, 5, e);
		uint32_t bits;

		memcpy(&bits, &v, sizeof(bits));
		tap_is_u64(bits, want[e], "normal %d, bits", (int)e);
	}
}

static void test_many_at_once(void)
{
	struct random_stream r = golden_stream();
	float got[40];
	int wrong = 0;

	for (uint64_t first = 0; first < 9; first++)
		for (size_t n = 0; n < 32; n++) {
			for (size_t i = 0; i < 40; i++)
				got[i] = 9;
			random_normals(&r, 5, first, got, n);
			for (size_t i = 0; i < 40; i++)
				wrong += got[i] != (i < n ? random_normal(&r, 5, first + i) : 9);
		}
	tap_is_i64(wrong, 0, "many at once are those one by one, from any place on");
}

/* FNV-1a over the bits of many normals: one number that any changed bit changes. */
static void test_golden_many(void)
{
	struct random_stream r = golden_stream();
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (uint64_t e = 0; e < MANY; e++) {
		float v = random_normal(&r, 11, e);
		uint32_t bits;

		memcpy(&bits, &v, sizeof(bits));
		h = (h ^ bits) * UINT64_C(0x100000001b3);
	}
	/* The same as from numpy in 80-bit floats, rounded to f32 at the end. */
	tap_is_u64(h, UINT64_C(0x6f45dcf5666e15a4),
		   "a million normals, the same bits by every compiler and machine");
}

static void test_golden_orders(void)
{
	static const uint64_t permuted[10] = { 8, 5, 3, 4, 7, 6, 2, 1, 9, 0 };
	static const uint32_t shuffled[10] = { 6, 4, 5, 7, 1, 0, 3, 9, 8, 2 };
	struct random_stream r = golden_stream();
	uint32_t items[10];

	for (uint32_t i = 0; i < 10; i++) {
		items[i] = i;
		tap_is_u64(random_permute(&r, 1, 10, i), permuted[i], "permute %d of 10", (int)i);
	}
	random_shuffle_u32(&r, 9, items, 10);
	tap_ok(memcmp(items, shuffled, sizeof(items)) == 0, "shuffle of 10");
	tap_is_u64(random_permute(&r, 1, (UINT64_C(1) << 32) + 7, 1), 1502719225,
		   "permute of 2^32 + 7");
	tap_is_u64(random_permute(&r, 2, UINT64_MAX, 0), UINT64_C(0x2a5d58366de1b5bf),
		   "permute of 2^64 - 1");
}

static void test_keying(void)
{
	struct random_stream a = random_at(1, 2, 3), b;
	struct random_stream others[] = { random_at(2, 2, 3),
					  random_at(1, 3, 3),
					  random_at(1, 2, 4),
					  random_at(1, 3, 2),
					  random_at(1 + (UINT64_C(1) << 32), 2, 3),
					  random_at(1, 2 + (UINT64_C(1) << 32), 3),
					  random_at(1, 2, 3 + (UINT64_C(1) << 32)) };

	b = random_at(1, 2, 3);
	tap_ok(memcmp(&a, &b, sizeof(a)) == 0, "the same place gives the same stream");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		tap_ok(memcmp(&a, &others[i], sizeof(a)) != 0, "another place, another stream: %zu",
		       i);
	tap_ok(random_u32(&a, 0, 0) != random_u32(&a, 1, 0), "rows differ");
	tap_ok(random_u32(&a, 0, 0) != random_u32(&a, UINT64_C(1) << 32, 0), "rows have 64 bits");
	tap_ok(random_u32(&a, 0, 0) != random_u32(&a, 0, UINT64_C(1) << 34),
	       "elements have more than 32 bits");
}

static void test_ranges(void)
{
	struct random_stream r = random_at(7, 0, 0);
	bool ok = true, ok53 = true, below = true;
	uint64_t counts[7] = { 0 };
	double chi2 = 0;

	for (uint64_t e = 0; e < MANY; e++) {
		float u = random_uniform(&r, 0, e);
		double v = random_uniform53(&r, 1, e);
		uint64_t k = random_below(&r, 2, e, 7);

		ok &= u >= 0 && u < 1 && u == (float)(random_u32(&r, 0, e) >> 8) * 0x1p-24f;
		ok53 &= v >= 0 && v < 1 && v * 0x1p53 == floor(v * 0x1p53);
		below &= k < 7;
		counts[k % 7]++;
	}
	tap_ok(ok, "uniform is in [0, 1), in steps of 2^-24");
	tap_ok(ok53, "uniform53 is in [0, 1), in steps of 2^-53");
	tap_ok(below, "below 7");
	for (int i = 0; i < 7; i++)
		chi2 += pow((double)counts[i] - MANY / 7.0, 2) / (MANY / 7.0);
	/* Chi-square with 6 degrees of freedom passes 22.5 once in a thousand seeds. */
	tap_ok(chi2 < 22.5, "below 7 is even: chi-square %.1f", chi2);
	tap_is_u64(random_below(&r, 0, 0, 1), 0, "below 1");
	tap_ok(random_below(&r, 0, 3, UINT64_MAX) >> 32 == random_u64(&r, 0, 3) >> 32 ||
		       random_u64(&r, 0, 3) << 32 == 0,
	       "below 2^64 - 1 is the draw itself, less one at most");
}

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The greatest distance between the sorted draws' distribution and the wanted one. */
static double kolmogorov(const float *sorted, size_t n, double (*cdf)(double))
{
	double worst = 0;

	for (size_t i = 0; i < n; i++) {
		double want = cdf(sorted[i]);
		double above = (double)(i + 1) / (double)n - want;
		double under = want - (double)i / (double)n;

		worst = above > worst ? above : worst;
		worst = under > worst ? under : worst;
	}
	return worst;
}

static double normal_cdf(double x)
{
	return 0.5 * erfc(-x * 0.70710678118654752);
}

static double uniform_cdf(double x)
{
	return x;
}

/* sqrt(n) D passes 1.95 once in a thousand seeds. */
static void check_kolmogorov(float *draws, double (*cdf)(double), const char *name)
{
	double d;

	qsort(draws, MANY, sizeof(*draws), compare_floats);
	d = kolmogorov(draws, MANY, cdf) * sqrt(MANY);
	tap_ok(d < 1.95, "%s: Kolmogorov-Smirnov %.2f", name, d);
}

static double moment(const float *draws, int power)
{
	double sum = 0;

	for (size_t i = 0; i < MANY; i++)
		sum += pow(draws[i], power);
	return sum / MANY;
}

static double neighbours(const float *draws)
{
	double sum = 0;

	for (size_t i = 1; i < MANY; i++)
		sum += (double)draws[i] * draws[i - 1];
	return sum / MANY;
}

/* Bounds of four deviations: 1, sqrt 2, sqrt 15, sqrt 96 and 1 over the root of a million. */
static void test_normal(void)
{
	struct random_stream r = random_at(2024, 1, 5);
	float *draws = mem_new(MANY, sizeof(*draws));

	for (uint64_t e = 0; e < MANY; e++)
		draws[e] = random_normal(&r, 1, e);
	tap_ok(fabs(moment(draws, 1)) < 4e-3, "mean %g", moment(draws, 1));
	tap_ok(fabs(moment(draws, 2) - 1) < 5.7e-3, "variance %g", moment(draws, 2));
	tap_ok(fabs(moment(draws, 3)) < 1.55e-2, "third moment %g", moment(draws, 3));
	tap_ok(fabs(moment(draws, 4) - 3) < 3.92e-2, "fourth moment %g", moment(draws, 4));
	tap_ok(fabs(neighbours(draws)) < 4e-3, "neighbours are apart: %g", neighbours(draws));
	check_kolmogorov(draws, normal_cdf, "normal");
	free(draws);
}

static void test_uniform(void)
{
	struct random_stream r = random_at(2024, 1, 5);
	float *draws = mem_new(MANY, sizeof(*draws));

	for (uint64_t e = 0; e < MANY; e++)
		draws[e] = random_uniform(&r, 0, e);
	check_kolmogorov(draws, uniform_cdf, "uniform");
	free(draws);
}

static bool is_bijection(const struct random_stream *r, uint64_t n)
{
	bool *seen = mem_new((size_t)n, sizeof(*seen)), ok = true;

	for (uint64_t i = 0; i < n && ok; i++) {
		uint64_t at = random_permute(r, n, n, i);

		ok = at < n && !seen[at];
		if (ok)
			seen[at] = true;
	}
	free(seen);
	return ok;
}

static void test_permute_bijection(void)
{
	struct random_stream r = random_at(3, 0, 9);
	uint64_t bad = 0;

	for (uint64_t n = 1; n <= 2000 && !bad; n++)
		bad = is_bijection(&r, n) ? 0 : n;
	tap_is_u64(bad, 0, "a bijection for every n to 2000");
	tap_ok(is_bijection(&r, 65536), "for 2^16");
	tap_ok(is_bijection(&r, 65537), "for 2^16 + 1");
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A range too large to try: no two of many places meet, and all are inside. */
static void test_permute_large(void)
{
	static const uint64_t sizes[] = { (UINT64_C(1) << 32) + 7, UINT64_C(1) << 63, UINT64_MAX };
	struct random_stream r = random_at(3, 0, 9);
	uint64_t *at = mem_new(100000, sizeof(*at));

	for (size_t s = 0; s < 3; s++) {
		bool inside = true, apart = true;

		for (uint64_t i = 0; i < 100000; i++) {
			at[i] = random_permute(&r, 0, sizes[s], i % 2 ? sizes[s] - 1 - i : i);
			inside &= at[i] < sizes[s];
		}
		qsort(at, 100000, sizeof(*at), compare_u64);
		for (size_t i = 1; i < 100000; i++)
			apart &= at[i] != at[i - 1];
		tap_ok(inside && apart, "100,000 places of %llu", (unsigned long long)sizes[s]);
	}
	free(at);
}

/* The number of the order in 0..119, by Lehmer's code. */
static unsigned order_of(const uint32_t items[5])
{
	unsigned order = 0;

	for (unsigned i = 0; i < 5; i++) {
		unsigned smaller = 0;

		for (unsigned j = i + 1; j < 5; j++)
			smaller += items[j] < items[i];
		order = order * (5 - i) + smaller;
	}
	return order;
}

/* Chi-square with 119 degrees of freedom passes 173 once in a thousand seeds. */
static void check_orders(const unsigned counts[120], unsigned draws, const char *name)
{
	double want = draws / 120.0, chi2 = 0;

	for (int i = 0; i < 120; i++)
		chi2 += (counts[i] - want) * (counts[i] - want) / want;
	tap_ok(chi2 < 173, "%s: all 120 orders of 5 alike often, chi-square %.0f", name, chi2);
}

static void test_orders(void)
{
	struct random_stream r = random_at(99, 1, 1);
	unsigned shuffles[120] = { 0 }, permutes[120] = { 0 };

	for (uint64_t row = 0; row < 60000; row++) {
		uint32_t items[5] = { 0, 1, 2, 3, 4 };

		random_shuffle_u32(&r, row, items, 5);
		shuffles[order_of(items)]++;
		for (uint64_t i = 0; i < 5; i++)
			items[i] = (uint32_t)random_permute(&r, row, 5, i);
		permutes[order_of(items)]++;
	}
	check_orders(shuffles, 60000, "shuffle");
	check_orders(permutes, 60000, "permute");
}

static void test_permute_apart(void)
{
	struct random_stream r = random_at(5, 0, 0);
	unsigned fixed = 0, steps = 0;

	/* A shuffle of n has one fixed point on average, and n / (n - 1) steps of +1. */
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t at = random_permute(&r, 0, MANY, i);

		fixed += at == i;
		steps += i + 1 < MANY && random_permute(&r, 0, MANY, i + 1) == at + 1;
	}
	tap_ok(fixed < 8 && steps < 8, "%u fixed points, %u kept neighbours of a million", fixed,
	       steps);
}

int main(void)
{
	tap_run(test_golden_words);
	tap_run(test_golden_normals);
	tap_run(test_many_at_once);
	tap_run(test_golden_many);
	tap_run(test_golden_orders);
	tap_run(test_keying);
	tap_run(test_ranges);
	tap_run(test_uniform);
	tap_run(test_normal);
	tap_run(test_permute_bijection);
	tap_run(test_permute_large);
	tap_run(test_orders);
	tap_run(test_permute_apart);
	return tap_done();
}
