/* tests/unit/test_shuffle.c - the shuffle buffer, and the set of hashes */
#include <stdlib.h>

#include "lib/data/hash_set.h"
#include "lib/data/shuffle.h"
#include "tests/tap.h"

#define N 500

/* The order in which documents 0..N-1 come out. */
static void shuffle_order(size_t held, uint64_t seed, unsigned *order)
{
	struct document in = { .source = { "s", 1 }, .utf8 = true }, out;
	struct shuffle *s;
	size_t at = 0;

	tap_works(shuffle_new(&s, held, seed), "new");
	for (unsigned i = 0; i < N; i++) {
		in.text = (struct bytes){ (const char *)&i, sizeof i };
		if (shuffle_put(s, &in, &out) > 0)
			memcpy(&order[at++], out.text.data, sizeof i);
	}
	tap_is_u64(at, N - held, "all but those that are held are out");
	while (at < N && shuffle_drain(s, &out)) {
		memcpy(&order[at++], out.text.data, sizeof *order);
		if (!out.utf8 || !bytes_are(out.source, "s") || out.fields.size)
			tap_ok(false, "the parts of a document stay together");
	}
	tap_is_i64(shuffle_drain(s, &out), 0, "and then none");
	tap_is_u64(at, N, "documents");
	shuffle_free(s);
}

static void test_each_once(void)
{
	static const size_t sizes[] = { 1, 2, 17, N - 1, N };
	unsigned order[N], again[N];

	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t wrong = 0, early = 0;
		bool seen[N] = { 0 };

		shuffle_order(sizes[k], 3, order);
		for (size_t i = 0; i < N; i++) {
			wrong += order[i] >= N || seen[order[i]];
			seen[order[i] % N] = true;
			early += order[i] > i + sizes[k];
		}
		tap_is_u64(wrong, 0, "each once, with %zu held", sizes[k]);
		tap_is_u64(early, 0, "none more than that before its time");
		shuffle_order(sizes[k], 3, again);
		tap_ok(memcmp(order, again, sizeof order) == 0, "the same again");
		shuffle_order(sizes[k], 4, again);
		tap_ok((memcmp(order, again, sizeof order) == 0) == (sizes[k] == 1),
		       "another seed, another order");
	}
}

/* With three held of three, each of the six orders as often as the others: 6,000 seeds, a chi-squared
   test with five degrees of freedom, whose value stays below 20.5 in 999 cases of 1,000. */
static void test_fair(void)
{
	unsigned counts[27] = { 0 };
	double chi = 0;

	for (uint64_t seed = 0; seed < 6000; seed++) {
		struct document in = { .utf8 = true }, out;
		struct shuffle *s;
		int code = 0;

		if (shuffle_new(&s, 3, seed))
			abort();
		for (char c = 0; c < 3; c++) {
			in.text = (struct bytes){ &c, 1 };
			shuffle_put(s, &in, &out);
		}
		while (shuffle_drain(s, &out))
			code = code * 3 + out.text.data[0];
		shuffle_free(s);
		counts[code]++;
	}
	for (size_t i = 0; i < 27; i++)
		chi += counts[i] ? (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0 : 0;
	tap_ok(chi < 20.5, "six orders alike often: %.1f", chi);
}

static void test_set(void)
{
	struct hash_set s = { 0 };
	struct hash128 h = { { 0 } };
	size_t added = 0, again = 0;

	tap_is_i64(hash_set_add(&s, &h), 1, "the hash of zeros");
	tap_is_i64(hash_set_add(&s, &h), 0, "once");
	/* Hashes that all want the same few places. */
	for (uint32_t i = 1; i <= 3000; i++) {
		h.digest[8] = (unsigned char)i;
		h.digest[12] = (unsigned char)(i >> 8);
		added += hash_set_add(&s, &h) == 1;
		again += hash_set_add(&s, &h) == 0;
	}
	tap_is_u64(added, 3000, "each is new");
	tap_is_u64(again, 3000, "and then is not");
	tap_is_u64(hash_set_bytes(&s), 4096 * 16, "places for them");
	hash_set_free(&s);
	tap_is_u64(hash_set_bytes(&s), 0, "none");
}

int main(void)
{
	tap_run(test_each_once);
	tap_run(test_fair);
	tap_run(test_set);
	return tap_done();
}
