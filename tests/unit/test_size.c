/* tests/unit/test_size.c - sums and products at the edge of what fits, and memory of such sizes */
#include "lib/base/size.h"

#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "tests/tap.h"

static void test_add(void)
{
	size_t out = 77;

	tap_ok(size_add(2, 3, &out) && out == 5, "2 + 3");
	tap_ok(size_add(SIZE_MAX, 0, &out) && out == SIZE_MAX, "the greatest sum");
	out = 77;
	tap_ok(!size_add(SIZE_MAX, 1, &out), "one more does not fit");
	tap_ok(!size_add(SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1, &out), "two halves do not fit");
	tap_is_u64(out, 77, "and leaves the result alone");
}

static void test_mul(void)
{
	size_t out = 77, half = (size_t)1 << (sizeof(size_t) * 4);

	tap_ok(size_mul(6, 7, &out) && out == 42, "6 x 7");
	tap_ok(size_mul(0, SIZE_MAX, &out) && out == 0, "0 x the greatest");
	tap_ok(size_mul(half - 1, half + 1, &out) && out == SIZE_MAX, "the greatest product");
	out = 77;
	tap_ok(!size_mul(half, half, &out), "2^32 x 2^32 does not fit (H08)");
	tap_ok(!size_mul(SIZE_MAX, 2, &out), "twice the greatest does not fit");
	tap_is_u64(out, 77, "and leaves the result alone");
}

static void test_round_up(void)
{
	size_t out = 77;

	tap_ok(size_round_up(0, 32, &out) && out == 0, "0 stays (H06)");
	tap_ok(size_round_up(1, 32, &out) && out == 32, "1 goes up to 32");
	tap_ok(size_round_up(32, 32, &out) && out == 32, "32 stays (H06)");
	tap_ok(size_round_up(33, 32, &out) && out == 64, "33 goes up to 64");
	tap_ok(size_round_up(10, 3, &out) && out == 12, "a step that is no power of two");
	tap_ok(size_round_up(SIZE_MAX, 1, &out) && out == SIZE_MAX, "a step of 1 changes nothing");
	tap_ok(size_round_up(SIZE_MAX - 31, 32, &out) && out == SIZE_MAX - 31, "the last multiple");
	out = 77;
	tap_ok(!size_round_up(SIZE_MAX - 30, 32, &out) && out == 77, "past it does not fit");
}

static void test_product(void)
{
	static const uint64_t some[] = { 2, 3, 7 },
			      huge[] = { (uint64_t)1 << 33, (uint64_t)1 << 33 },
			      zero[] = { UINT64_MAX, UINT64_MAX, 0 },
			      wraps[] = { (uint64_t)1 << 63, 2, 5 }, most[] = { SIZE_MAX, 1, 1 };
	size_t out = 77;

	tap_ok(size_product(some, 3, &out) && out == 42, "2 x 3 x 7");
	tap_ok(size_product(some, 0, &out) && out == 1, "no factor gives 1");
	tap_ok(size_product(zero, 3, &out) && out == 0, "0 beside factors that overflow");
	tap_ok(size_product(most, 3, &out) && out == SIZE_MAX, "the greatest product");
	out = 77;
	tap_ok(!size_product(huge, 2, &out), "2^33 x 2^33 does not fit (H08)");
	tap_ok(!size_product(wraps, 3, &out), "2^63 x 2 x 5 does not wrap to 0");
	tap_is_u64(out, 77, "and leaves the result alone");
}

static void test_memory(void)
{
	unsigned char *p = mem_new(1000, 3);
	size_t set = 0;
	char *s;

	for (size_t i = 0; p && i < 3000; i++)
		set += p[i];
	tap_ok(p && set == 0, "new memory is zeroed");
	free(p);
	p = mem_new(0, 8);
	tap_ok(p, "a size of 0 gives a pointer");
	free(p);
	tap_fails(mem_new(SIZE_MAX / 2 + 2, 2) ? 0 : -1, ERR_MEMORY, "items of 2 bytes",
		  "a product that wraps to a small one");
	tap_fails(mem_new(SIZE_MAX, 1) ? 0 : -1, ERR_MEMORY, "refused", "a size past all memory");
	s = mem_copy("a\0bX", 3);
	tap_is_bytes(((struct bytes){ s, 4 }), ((struct bytes){ "a\0b", 4 }), "a copy, and a NUL");
	free(s);
	s = mem_copy(NULL, 0);
	tap_is_text(s, "", "a copy of nothing is an empty string");
	free(s);
	tap_fails(mem_copy("", SIZE_MAX) ? 0 : -1, ERR_MEMORY, "refused", "a copy past all memory");
	s = mem_format("%d %s %300d", 1, "b", 2);
	tap_is_u64(s ? strlen(s) : 0, 304, "a formatted string of any length");
	free(s);
}

static void test_grow(void)
{
	uint32_t *items = NULL;
	size_t capacity = 0, moves = 0, good = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = capacity;

		if (mem_grow(&items, &capacity, i + 1, sizeof(*items)))
			break;
		moves += capacity != before;
		items[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		good += items[i] == i;
	tap_is_u64(good, 100000, "items stay while a list grows");
	tap_ok(moves < 20, "it doubles: %zu moves for 100,000 items", moves);
	tap_works(mem_grow(&items, &capacity, 500000, sizeof(*items)), "far more at once");
	tap_ok(capacity >= 500000, "gives at least what was asked");
	moves = capacity;
	tap_fails(mem_grow(&items, &capacity, SIZE_MAX / 2, sizeof(*items)), ERR_MEMORY,
		  "items of 4 bytes", "a product that wraps");
	tap_ok(capacity == moves && items[99999] == 99999, "which leaves the list as it was");
	free(items);
}

int main(void)
{
	tap_run(test_add);
	tap_run(test_mul);
	tap_run(test_round_up);
	tap_run(test_product);
	tap_run(test_memory);
	tap_run(test_grow);
	return tap_done();
}
