/* tests/unit/test_names.c - which number a name has */
#include "lib/base/names.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/tap.h"

#define MANY 1000000

#define BYTES(literal) ((struct bytes){ literal, sizeof(literal) - 1 })

static void test_few(void)
{
	struct names *n = NULL;
	uint32_t value = 77, old = 77;

	tap_works(names_new(&n), "a new table");
	tap_ok(!names_find(n, BYTES("a"), &value) && value == 77, "an empty table has no name");
	tap_is_i64(names_add(n, BYTES("a"), 5, &old), 1, "a is added");
	tap_is_u64(old, 77, "and had no value before");
	tap_is_i64(names_add(n, BYTES("a"), 6, &old), 0, "a is not added twice");
	tap_is_u64(old, 5, "its value is told");
	tap_is_i64(names_add(n, BYTES("a"), 6, NULL), 0, "or not, when nobody asks");
	tap_ok(names_find(n, BYTES("a"), &value) && value == 5, "and stays");
	tap_ok(names_find(n, BYTES("a"), NULL), "a is there");
	tap_is_i64(names_add(n, BYTES(""), UINT32_MAX, NULL), 1, "the empty name is a name");
	tap_ok(names_find(n, (struct bytes){ NULL, 0 }, &value) && value == UINT32_MAX,
	       "and is found without data");
	tap_is_i64(names_add(n, BYTES("a\0b"), 1, NULL), 1, "a name with a NUL");
	tap_is_i64(names_add(n, BYTES("a\0c"), 2, NULL), 1, "another, unlike only after it");
	tap_is_i64(names_add(n, BYTES("a\0"), 3, NULL), 1, "and one that ends in it");
	tap_ok(names_find(n, BYTES("a\0c"), &value) && value == 2, "each has its own value");
	names_clear(n);
	tap_ok(!names_find(n, BYTES("a"), NULL) && !names_find(n, BYTES(""), NULL),
	       "cleared: no name is left");
	tap_is_i64(names_add(n, BYTES("a"), 9, NULL), 1, "and a can be added again");
	names_free(n);
	names_free(NULL);
}

/*
 * Names that weak hashes throw together: numbers, one bit apart, the same bytes in another order, long
 * equal beginnings and ends, multiples of the table's size, runs of zeros.
 */
static struct bytes make_name(char *pool, uint32_t i)
{
	static char zeros[5000];
	uint32_t k = i / 8 + 1, shifted = k << 12, mirrored = 0;
	char *at = pool + (size_t)i * 48;

	for (int bit = 0; bit < 32; bit++)
		mirrored |= (k >> bit & 1) << (31 - bit);
	switch (i % 8) {
	case 0:
		if (k < sizeof(zeros))
			return (struct bytes){ zeros, k };
		memcpy(at, &k, 4);
		memcpy(at + 4, &k, 4);
		return (struct bytes){ at, 8 };
	case 1: return (struct bytes){ at, (size_t)snprintf(at, 48, "%u", k) };
	case 2: return (struct bytes){ at, (size_t)snprintf(at, 48, "model.layers.%u.weight", k) };
	case 3: return (struct bytes){ at, (size_t)snprintf(at, 48, "%032u.bias", k) };
	case 4: memcpy(at, &shifted, 4); return (struct bytes){ at, 4 };
	case 5: memcpy(at + 36, &k, 4); return (struct bytes){ at, 40 };
	case 6: memcpy(at, &k, 4); return (struct bytes){ at, 41 };
	default: memcpy(at + 5, &mirrored, 4); return (struct bytes){ at, 9 };
	}
}

/* A table that fell back to comparing names one by one would need hours here. */
static void test_many(void)
{
	char *pool = calloc(MANY, 48);
	struct bytes *names = malloc(MANY * sizeof(*names));
	uint32_t added = 0, found = 0, again = 0, absent = 0, value = 0;
	struct names *n = NULL;

	tap_works(names_new(&n), "a new table");
	for (uint32_t i = 0; i < MANY; i++) {
		names[i] = make_name(pool, i);
		added += names_add(n, names[i], i, NULL) == 1;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		char longer[64];

		found += names_find(n, names[i], &value) && value == i;
		again += names_add(n, names[i], 0, &value) == 0 && value == i;
		if (i % 8 == 0)
			continue;
		memcpy(longer, names[i].data, names[i].size);
		longer[names[i].size] = '!';
		absent += !names_find(n, (struct bytes){ longer, names[i].size + 1 }, NULL);
	}
	tap_is_u64(added, MANY, "a million names are added");
	tap_is_u64(found, MANY, "each is found with its value");
	tap_is_u64(again, MANY, "none is added again");
	tap_is_u64(absent, MANY - MANY / 8, "a byte more is another name");
	names_clear(n);
	for (uint32_t i = 0; i < MANY; i++)
		again -= !names_find(n, names[i], NULL);
	tap_is_u64(again, 0, "cleared: none is found");
	names_free(n);
	free(names);
	free(pool);
}

static void test_reserve(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	struct names *n = NULL;
	uint32_t value, found = 0;

	tap_works(names_new(&n), "a new table");
	for (uint32_t i = 0; i < 13; i++)
		names_add(n, (struct bytes){ letters + i, 1 }, i, NULL);
	tap_works(names_reserve(n, 1000), "room for more than it has");
	tap_works(names_reserve(n, 10), "room for fewer changes nothing");
	for (uint32_t i = 13; i < 26; i++)
		names_add(n, (struct bytes){ letters + i, 1 }, i, NULL);
	for (uint32_t i = 0; i < 26; i++)
		found += names_find(n, (struct bytes){ letters + i, 1 }, &value) && value == i;
	tap_is_u64(found, 26, "names from before and after are found");
	tap_fails(names_reserve(n, SIZE_MAX), ERR_MEMORY, "names refused",
		  "more room than there can be");
	tap_ok(names_find(n, (struct bytes){ letters, 1 }, NULL), "then the names are still there");
	names_free(n);
}

int main(void)
{
	tap_run(test_few);
	tap_run(test_reserve);
	tap_run(test_many);
	return tap_done();
}
