/*
 * Philox 4x32-10 against the known-answer vectors of the Random123 library (its file
 * tests/kat_vectors, lines `philox4x32 10`), and the arithmetic of kernels/random.h against libm.
 */
#include <math.h>

#include "kernels/philox.h"
#include "kernels/random.h"
#include "tests/tap.h"

static const struct {
	uint32_t counter[4], key[2], want[4];
} vectors[] = {
	{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
	{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
	  { 0xffffffff, 0xffffffff },
	  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
	{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
	  { 0xa4093822, 0x299f31d0 },
	  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

static void test_vectors(void)
{
	for (size_t v = 0; v < sizeof(vectors) / sizeof(*vectors); v++) {
		uint32_t out[4];

		philox4x32(vectors[v].counter, vectors[v].key, out);
		for (int i = 0; i < 4; i++)
			tap_is_u64(out[i], vectors[v].want[i], "vector %zu, word %d", v, i);
	}
}

static void test_in_place(void)
{
	uint32_t counter[4] = { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 };

	philox4x32(counter, vectors[2].key, counter);
	tap_ok(memcmp(counter, vectors[2].want, sizeof(counter)) == 0, "counter and result as one");
}

static void test_block(void)
{
	uint32_t counter[4] = { 0x89abcdef, 0x01234567, 0x76543210, 0xfedcba98 };
	uint32_t want[4], got[4];

	philox4x32(counter, vectors[2].key, want);
	random_block(vectors[2].key, UINT64_C(0xfedcba9876543210), UINT64_C(0x0123456789abcdef),
		     got);
	tap_ok(memcmp(got, want, sizeof(got)) == 0,
	       "the counter is block, then row, low words first");
}

static void test_uniform(void)
{
	tap_ok(random_uniform_of(0) == 0.0f, "the least word is 0");
	tap_ok(random_uniform_of(0xff) == 0.0f, "the low 8 bits do not count");
	tap_ok(random_uniform_of(0x100) == 0x1p-24f, "the step is 2^-24");
	tap_ok(random_uniform_of(0xffffffff) == 1.0f - 0x1p-24f, "the greatest word is below 1");
}

/* |GOT - WANT| in units of the last place of WANT. */
static double units(double got, double want)
{
	double ulp = nextafter(fabs(want), INFINITY) - fabs(want);

	return fabs(got - want) / ulp;
}

static uint32_t word_of(uint32_t i)
{
	uint32_t counter[4] = { i, 0, 0, 0 }, key[2] = { 1, 2 }, out[4];

	philox4x32(counter, key, out);
	return out[0];
}

static void test_log(void)
{
	double worst = 0;

	for (uint32_t i = 0; i < 200000; i++) {
		double u = (double)(2 * (uint64_t)word_of(i) + 1) * 0x1p-33;

		worst = fmax(worst, units(random_log(u), log(u)));
		/* Near 1 and near 0, where words are rare. */
		worst = fmax(worst, units(random_log(1 - ldexp(u, -20)), log(1 - ldexp(u, -20))));
		worst = fmax(worst, units(random_log(ldexp(u, -20)), log(ldexp(u, -20))));
	}
	tap_note("log: at most %.2f units of the last place from libm", worst);
	tap_ok(worst <= 2, "log is within 2 units of libm's");
	tap_ok(random_log(1) == 0, "log 1 is 0");
	tap_ok(units(random_log(2), log(2)) <= 1 && units(random_log(0.5), log(0.5)) <= 1,
	       "log 2 and log 1/2");
	tap_ok(units(random_log(0x1p-33), -33 * log(2)) <= 1, "the least draw");
}

static void test_sincos(void)
{
	static const uint32_t edges[] = { 0,	      1,	  0x1fffffff, 0x20000000,
					  0x3fffffff, 0x40000000, 0x5fffffff, 0x60000000,
					  0x7fffffff, 0x80000000, 0x9fffffff, 0xa0000000,
					  0xbfffffff, 0xc0000000, 0xdfffffff, 0xe0000000,
					  0xfffffffe, 0xffffffff };
	const long double two_pi = 6.283185307179586476925286766559L;
	size_t n_edges = sizeof(edges) / sizeof(*edges);
	double worst = 0;

	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t word = i < n_edges ? edges[i] : word_of(i);
		long double turns = ((long double)word + 0.5L) * 0x1p-32L;
		double sine, cosine, e;

		random_sincos(word, &sine, &cosine);
		/* Near a zero the wanted value's own last place is far below 2^-53. */
		e = fmax(fabs(sine - (double)sinl(turns * two_pi)),
			 fabs(cosine - (double)cosl(turns * two_pi)));
		worst = fmax(worst, e);
	}
	tap_note("sine and cosine: at most %.2f x 2^-53 from libm", worst * 0x1p53);
	tap_ok(worst <= 0x1p-52, "sine and cosine are within 2^-52 of libm's");
}

static uint64_t mix_bits(uint64_t h, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return (h ^ bits) * UINT64_C(0x100000001b3);
}

/*
 * Every bit of the doubles, which the bounds above do not see: the smallest change of a
 * coefficient or of the order moves some. The values were found by this code, and must stay.
 */
static void test_double_bits(void)
{
	uint64_t logs = 0, turns = 0;

	for (uint32_t i = 0; i < 200000; i++) {
		double sine, cosine;

		logs = mix_bits(logs, random_log((double)(2 * (uint64_t)word_of(i) + 1) * 0x1p-33));
		random_sincos(word_of(i), &sine, &cosine);
		turns = mix_bits(mix_bits(turns, sine), cosine);
	}
	tap_is_u64(logs, UINT64_C(0x578ad8c86446d598), "the bits of 200,000 logarithms");
	tap_is_u64(turns, UINT64_C(0x65fbdf5ecffcc07d), "the bits of 200,000 sines and cosines");
}

static void test_normal_pair(void)
{
	float even, odd, worst = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t a = word_of(2 * i), b = word_of(2 * i + 1);
		double length = sqrt(-2 * log(((double)a + 0.5) * 0x1p-32));
		double turn = ((double)b + 0.5) * 0x1p-32 * 6.283185307179586;

		random_normal_pair(a, b, &even, &odd);
		worst = fmaxf(worst, fabsf(even - (float)(length * cos(turn))));
		worst = fmaxf(worst, fabsf(odd - (float)(length * sin(turn))));
	}
	tap_ok(worst <= 0x1p-22f, "normals are those of libm, to a unit of f32 (%g)", worst);
	random_normal_pair(0, 0, &even, &odd);
	tap_ok(even > 6.763f && even < 6.765f && odd > 0, "the greatest normal is 6.764: %g", even);
	random_normal_pair(0xffffffff, 0, &even, &odd);
	tap_ok(even > 0 && even < 2e-5f, "the smallest radius is sqrt(2^-32): %g", even);
}

int main(void)
{
	tap_run(test_vectors);
	tap_run(test_in_place);
	tap_run(test_block);
	tap_run(test_uniform);
	tap_run(test_log);
	tap_run(test_sincos);
	tap_run(test_double_bits);
	tap_run(test_normal_pair);
	return tap_done();
}
