/* tests/unit/test_trie.c - byte strings in a tree, against a search through all of them */
#include "lib/text/trie.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/random.h"
#include "tests/tap.h"

#define KEYS  3000
#define TEXTS 20000
#define LONG  40

static char texts[KEYS][LONG];
static struct trie_key keys[KEYS];

/* What the trie says of TEXT as a whole. */
static uint32_t find(const struct trie *t, struct bytes text)
{
	uint32_t node = t->root, value = TRIE_NONE;

	for (size_t i = 0; i < text.size; i++) {
		if (!trie_step(t, &node, (unsigned char)text.data[i], &value))
			return TRIE_NONE;
	}
	return value;
}

/* The last key that is TEXT. */
static uint32_t find_slowly(size_t n, struct bytes text)
{
	while (n-- > 0) {
		if (bytes_equal(keys[n].text, text))
			return keys[n].value;
	}
	return TRIE_NONE;
}

static struct bytes draw(const struct random_stream *r, uint64_t row, char out[LONG], uint64_t most,
			 uint64_t letters)
{
	size_t n = 1 + (size_t)random_below(r, row, 0, most);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)(random_below(r, row, i + 1, letters) * 85);
	return (struct bytes){ out, n };
}

/* LETTERS distinct bytes, MOST bytes a key at most. */
static void check(uint64_t most, uint64_t letters)
{
	struct random_stream r = random_at(1, most, letters);
	size_t wrong = 0, found = 0;
	struct trie t = { 0 };
	char text[LONG];

	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (struct trie_key){ draw(&r, i, texts[i], most, letters), (uint32_t)i };
	tap_works(trie_init(&t, keys, KEYS), "keys of up to %d bytes of %d", (int)most,
		  (int)letters);
	for (size_t i = 0; i < KEYS; i++)
		wrong += find(&t, keys[i].text) != find_slowly(KEYS, keys[i].text);
	tap_is_u64(wrong, 0, "every key is found, of equal ones the last");
	for (size_t i = 0; i < TEXTS / 20; i++) {
		struct bytes other = draw(&r, KEYS + i, text, most, letters);
		uint32_t value = find(&t, other);

		wrong += value != find_slowly(KEYS, other);
		found += value != TRIE_NONE;
	}
	tap_is_u64(wrong, 0, "other texts: %zu are keys, the rest is not found", found);
	trie_clear(&t);
}

static void test_random(void)
{
	check(6, 3); /* dense: nearly all are keys */
	check(LONG, 3);
	check(3, 256);
	check(10, 256);
}

static void test_edges(void)
{
	struct trie_key some[] = { { { "", 0 }, 1 }, { { "\0", 1 }, 2 }, { { "\0\0", 2 }, 3 } };
	struct trie t = { 0 };
	uint32_t node, value;

	tap_works(trie_init(&t, NULL, 0), "no keys");
	node = t.root;
	for (unsigned int c = 0; c < 256; c++) {
		if (trie_step(&t, &node, (unsigned char)c, &value))
			break;
		node++;
	}
	tap_is_u64(node, t.root + 256, "nothing goes on from the root");
	trie_clear(&t);

	tap_works(trie_init(&t, some, 3), "NUL bytes and an empty text");
	tap_is_u64(find(&t, some[1].text), 2, "one NUL");
	tap_is_u64(find(&t, some[2].text), 3, "two NULs");
	tap_is_u64(find(&t, (struct bytes){ "\0\0\0", 3 }), TRIE_NONE, "three are not there");
	trie_clear(&t);
	trie_clear(&t);

	some[0].value = TRIE_VALUE_MAX + 1;
	tap_fails(trie_init(&t, some, 1), ERR_LIMIT, "pieces", "a value that is too large");
	some[1].value = TRIE_VALUE_MAX;
	tap_works(trie_init(&t, some + 1, 1), "the largest value");
	tap_is_u64(find(&t, some[1].text), TRIE_VALUE_MAX, "is kept");
	trie_clear(&t);
}

/* One key of a million bytes: no recursion by its length. */
static void test_deep(void)
{
	size_t n = 1000000;
	char *text = calloc(n, 1);
	struct trie_key key = { { text, n }, 7 };
	struct trie t = { 0 };

	tap_works(trie_init(&t, &key, 1), "a key of a million bytes");
	tap_is_u64(find(&t, key.text), 7, "is found");
	key.text.size--;
	tap_is_u64(find(&t, key.text), TRIE_NONE, "one byte less is not");
	trie_clear(&t);
	free(text);
}

int main(void)
{
	tap_run(test_random);
	tap_run(test_edges);
	tap_run(test_deep);
	return tap_done();
}
