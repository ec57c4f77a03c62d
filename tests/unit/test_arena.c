/* tests/unit/test_arena.c - many small things that die together */
#include "lib/base/arena.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/tap.h"

#define ITEMS 20000

/* Sizes from 0 to 99, and now and then one larger than any chunk. */
static size_t size_of(size_t i)
{
	return i % 5000 == 4999 ? 3000000 : i * 7919 % 100;
}

static bool all_are(const unsigned char *p, size_t n, unsigned char c)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != c)
			return false;
	}
	return true;
}

static void test_many(void)
{
	unsigned char **items = malloc(ITEMS * sizeof(*items));
	size_t aligned = 0, zeroed = 0, kept = 0;
	struct arena *a = NULL;

	tap_works(arena_new(&a), "a new arena");
	for (size_t i = 0; i < ITEMS; i++) {
		items[i] = arena_alloc(a, size_of(i), 1);
		aligned += items[i] && (uintptr_t)items[i] % 16 == 0;
		zeroed += all_are(items[i], size_of(i), 0);
		memset(items[i], (int)(i % 255 + 1), size_of(i));
	}
	for (size_t i = 0; i < ITEMS; i++)
		kept += all_are(items[i], size_of(i), (unsigned char)(i % 255 + 1));
	tap_is_u64(aligned, ITEMS, "each is aligned to 16 bytes");
	tap_is_u64(zeroed, ITEMS, "each is zeroed");
	tap_is_u64(kept, ITEMS, "none lies in another");
	arena_free(a);
	free(items);
	arena_free(NULL);
}

/* What is not freed with it is a leak to the sanitizer's lane. */
static void test_kept(void)
{
	struct arena *a = NULL;
	char *blocks[3];
	size_t same = 0;

	tap_works(arena_new(&a), "a new arena");
	for (size_t i = 0; i < 3; i++) {
		blocks[i] = malloc(5000000);
		memset(blocks[i], (int)i + 1, 5000000);
		same += arena_keep(a, blocks[i]) == blocks[i];
		arena_alloc(a, 100, 1);
	}
	tap_is_u64(same, 3, "what malloc gave stays where it is");
	for (size_t i = 0; i < 3; i++)
		same += all_are((unsigned char *)blocks[i], 5000000, (unsigned char)(i + 1));
	tap_is_u64(same, 6, "and as it was");
	tap_ok(!arena_keep(a, NULL), "nothing is nothing");
	arena_free(a);
}

static void test_edges(void)
{
	struct arena *a = NULL;
	unsigned char *p, *q;
	uint64_t *numbers;

	tap_works(arena_new(&a), "a new arena");
	p = arena_alloc(a, 0, 8);
	q = arena_alloc(a, 8, 0);
	tap_ok(p && q && p != q, "nothing has an address of its own");
	numbers = arena_alloc(a, 1000, sizeof(*numbers));
	tap_ok(numbers && all_are((unsigned char *)numbers, 8000, 0), "1,000 numbers of 8 bytes");
	tap_fails(arena_alloc(a, SIZE_MAX / 8 + 2, 8) ? 0 : -1, ERR_MEMORY, "items of 8 bytes",
		  "a product that wraps to 8");
	tap_fails(arena_alloc(a, SIZE_MAX, 1) ? 0 : -1, ERR_MEMORY, "refused",
		  "a size that wraps when rounded up");
	tap_fails(arena_alloc(a, SIZE_MAX - 31, 1) ? 0 : -1, ERR_MEMORY, "refused",
		  "a size that wraps with its chunk's head");
	tap_ok(arena_alloc(a, 1, 1), "a refusal does no harm");
	arena_free(a);
}

static void test_copy(void)
{
	struct arena *a = NULL;
	char *copy;

	tap_works(arena_new(&a), "a new arena");
	copy = arena_copy(a, (struct bytes){ "a\0bX", 3 });
	tap_is_bytes(((struct bytes){ copy, 4 }), ((struct bytes){ "a\0b", 4 }),
		     "a copy, and a NUL");
	copy = arena_copy(a, (struct bytes){ NULL, 0 });
	tap_is_text(copy, "", "a copy of nothing");
	/* Sixteen bytes fill their place, so that the NUL needs the next. */
	copy = arena_copy(a, bytes_of("0123456789abcdef"));
	arena_copy(a, bytes_of("next"));
	tap_is_text(copy, "0123456789abcdef", "the NUL is inside");
	arena_free(a);
}

int main(void)
{
	tap_run(test_many);
	tap_run(test_kept);
	tap_run(test_edges);
	tap_run(test_copy);
	return tap_done();
}
