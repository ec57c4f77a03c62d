/*
 * lib/base/hash: wanted digests are from the Python package xxhash 4.1.0 (xxHash 0.8.4), which
 * hashed the pieces of 2^20 bytes, then the digests' bytes in order.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "tests/tap.h"

#define LARGEST (3 * HASH_PIECE + 5)

static const struct {
	size_t n;
	const char *want;
} cases[] = {
	{ 0, "99aa06d3014798d86001c324468d497f" },
	{ 1, "75d7027aedb46a3b8db45f78c8c8def3" },
	{ 3, "a632069f27e8d4aea94f42714f345db0" },
	{ 17, "4428efcf36fc61bd884fb8b1d7e589a4" },
	{ 129, "19cec1c043d80ccf06318682ca59468a" },
	{ 240, "24c89f53605a80f91966615e9f3d6fc1" },
	{ 241, "f0befc16d0fd167eca2ff7b39488408f" },
	{ 1024, "61bf66e73ea1a8683ad7715bfdc76c9c" },
	{ HASH_PIECE - 1, "6b3fe30cbdff1cb034f406dd65046363" },
	{ HASH_PIECE, "226d0d1a083a92f9b2b532a6681df440" },
	{ HASH_PIECE + 1, "0968a4e9d463b131552e2df41e62a249" },
	{ 2 * HASH_PIECE, "d89475cc32ff9bfde7386accb60b978f" },
	{ LARGEST, "c33831e5b5ebf41bf43616806be93724" },
};
#define CASES (sizeof(cases) / sizeof(*cases))

static unsigned char *data;

/* The top bytes of a linear congruential generator (Knuth's MMIX constants), from 1. */
static void fill_data(void)
{
	uint64_t x = 1;

	data = mem_new(LARGEST, 1);
	for (size_t i = 0; i < LARGEST; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		data[i] = (unsigned char)(x >> 56);
	}
}

static void test_memory(void)
{
	for (size_t i = 0; i < CASES; i++) {
		struct hash128 h;
		char text[HASH_HEX];

		tap_works(hash_memory(NULL, data, cases[i].n, &h), "%zu bytes", cases[i].n);
		hash_hex(&h, text);
		tap_is_text(text, cases[i].want, "hash of %zu bytes", cases[i].n);
	}
}

static void test_teams(void)
{
	static const int sizes[] = { 1, 2, 3, 7 };

	for (size_t s = 0; s < 4; s++) {
		struct team *team;

		if (!tap_works(team_new(&team, sizes[s]), "a team of %d", sizes[s]))
			continue;
		for (size_t i = 0; i < CASES; i++) {
			struct hash128 h;
			char text[HASH_HEX];

			hash_memory(team, data, cases[i].n, &h);
			hash_hex(&h, text);
			tap_is_text(text, cases[i].want, "%d threads, %zu bytes", sizes[s],
				    cases[i].n);
		}
		team_free(team);
	}
}

/* Feeds N bytes in bites of FIRST, then more and more, with empty ones between. */
static void feed(struct hasher *h, size_t n, size_t first)
{
	size_t bite = first;

	for (size_t at = 0; at < n;) {
		size_t take = bite < n - at ? bite : n - at;

		hasher_add(h, data + at, take);
		hasher_add(h, NULL, 0);
		at += take;
		bite = bite * 3 + 1;
	}
}

static void test_stream(void)
{
	static const size_t firsts[] = {
		1, 7, 65537, HASH_PIECE - 1, HASH_PIECE, HASH_PIECE + 1, LARGEST
	};

	for (size_t i = 0; i < CASES; i++) {
		bool same = true;

		for (size_t k = 0; k < sizeof(firsts) / sizeof(*firsts); k++) {
			struct hasher *h;
			struct hash128 value;
			char text[HASH_HEX];

			if (hasher_new(&h) != 0)
				break;
			feed(h, cases[i].n, firsts[k]);
			value = hasher_value(h);
			hash_hex(&value, text);
			same &= strcmp(text, cases[i].want) == 0;
			hasher_free(h);
		}
		tap_ok(same, "a stream of %zu bytes, in bites of seven kinds", cases[i].n);
	}
}

/* A value in the middle changes nothing of what follows. */
static void test_value_between(void)
{
	struct hasher *h;
	size_t at = 0;

	tap_works(hasher_new(&h), "a hasher");
	for (size_t i = 0; i < CASES; i++) {
		struct hash128 value;
		char text[HASH_HEX];

		hasher_add(h, data + at, cases[i].n - at);
		at = cases[i].n;
		value = hasher_value(h);
		value = hasher_value(h);
		hash_hex(&value, text);
		tap_is_text(text, cases[i].want, "value after %zu bytes", at);
	}
	hasher_free(h);
	hasher_free(NULL);
}

static void test_text(void)
{
	struct hash128 h = { { 0 } }, back;
	char text[HASH_HEX];

	for (int i = 0; i < 16; i++)
		h.digest[i] = (unsigned char)(i * 17);
	hash_hex(&h, text);
	tap_is_text(text, "00112233445566778899aabbccddeeff", "most significant first");
	tap_works(hash_parse(text, &back), "parse");
	tap_ok(memcmp(&h, &back, sizeof(h)) == 0, "parse gives it back");
	tap_works(hash_parse("00112233445566778899AABBCCDDEEFF", &back), "capitals are read");
	tap_ok(memcmp(&h, &back, sizeof(h)) == 0, "as the same");
}

static void test_bad_text(void)
{
	static const char *const bad[] = { "",
					   "0",
					   "00112233445566778899aabbccddeef",
					   "00112233445566778899aabbccddeeff0",
					   "00112233445566778899aabbccddeefg",
					   "g0112233445566778899aabbccddeeff",
					   " 00112233445566778899aabbccddeef" };
	struct hash128 h;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(&h, 1, sizeof(h));
		tap_fails(hash_parse(bad[i], &h), ERR_FORMAT, "32 hexadecimal digits", "`%s`",
			  bad[i]);
		tap_ok(h.digest[0] == 1 && h.digest[15] == 1, "and the result is left alone");
	}
}

static void test_short(void)
{
	tap_is_u64(hash_short("", 0, 0), UINT64_C(0x2d06800538d394c2), "XXH3-64 of nothing");
	tap_is_u64(hash_short("model.layers.0", 14, 0), UINT64_C(0x6141c4579cda8d0c), "of a name");
	tap_is_u64(hash_short("model.layers.0", 14, 42), UINT64_C(0x668f6894be65a519),
		   "with a seed");
}

int main(void)
{
	fill_data();
	tap_run(test_memory);
	tap_run(test_teams);
	tap_run(test_stream);
	tap_run(test_value_between);
	tap_run(test_text);
	tap_run(test_bad_text);
	tap_run(test_short);
	free(data);
	return tap_done();
}
